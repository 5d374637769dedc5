//! The report that tests in a browser read.

use serde_json::{Value, json};

use crate::User;

fn report_of(user: &User) -> Value {
    serde_json::from_str(&user.harness.state().report()).unwrap()
}

#[test]
fn the_report_says_what_is_shown() {
    let mut user = User::opens("game=skirmish&model=rollback&players=3&net=lte&seed=9");
    user.waits(120);
    user.clicks("Pause");
    let report = report_of(&user);
    let live = user.live_match();
    for (key, expected) in [
        ("tab", json!("Sandbox")),
        ("game", json!("skirmish")),
        ("model", json!("rollback")),
        ("next_model", json!("")),
        ("seed", json!("9")),
        ("players", json!(3)),
        ("paused", json!(true)),
        ("steps", json!(live.steps())),
        ("checksum", json!(format!("{:016x}", live.checksum()))),
        ("link", json!(user.link())),
        ("desyncs", json!(0)),
    ] {
        assert_eq!(report[key], expected, "{key}");
    }
    assert_eq!(report["gauges"][0]["samples"], live.gauges(0).taken());
    let rate = report["frame_rate"].as_f64().unwrap();
    assert!((59.0..61.0).contains(&rate), "{rate}");
    let round_trip = report["gauges"][0]["round-trip"].as_f64().unwrap();
    assert!(round_trip > 30.0);
}

#[test]
fn everything_that_can_be_used_is_in_the_report_with_its_place() {
    let mut user = User::opens("game=skirmish&players=4&net=lan");
    user.waits(10);
    user.harness.state().report();
    user.waits(2);
    let report = report_of(&user);
    let widgets = report["widgets"].as_array().unwrap();
    for name in [
        "Skirmish",
        "Lockstep",
        "4 players",
        "Size",
        "Seed",
        "New seed",
        "Bad Wi-Fi",
        "Connection of player 4",
        "Latency",
        "Rate",
        "Pause",
        "Step",
        "Time",
        "Speed 0.25",
        "Copy link",
        "Save recording",
        "Who plays player 4",
        "Screen of player 4",
        "Ghost",
        "Rollback depth",
        "Tamper with the state of player 1",
        "Replays",
    ] {
        let mut newest = widgets.iter().rev();
        let widget = newest.find(|widget| widget["label"] == name);
        let widget = widget.unwrap_or_else(|| panic!("no {name}"));
        let number = |key: &str| widget[key].as_f64().unwrap();
        let (x, y, w, h) = (number("x"), number("y"), number("w"), number("h"));
        assert!(w > 5.0 && h > 5.0, "{name}: {w} x {h}");
        assert!(x >= 0.0 && x + w <= 1280.5, "{name}: {x} + {w}");
        assert!(y >= 0.0 && y + h <= 720.5, "{name}: {y} + {h}");
    }
}

#[test]
fn everything_has_its_place_on_a_large_screen_and_on_a_small_one() {
    for size in [[1920.0, 1080.0], [1280.0, 720.0], [900.0, 560.0]] {
        for players in 2..=4 {
            let mut user = User::opens_at(&format!("players={players}&net=lan"), size);
            user.waits(5);
            for player in 1..=players {
                let name = format!("Screen of player {player}");
                let rect =
                    egui_kittest::kittest::Queryable::get_by_label(&user.harness, &name).rect();
                assert!(
                    rect.width() > 200.0 && rect.height() > 90.0,
                    "{size:?}: {rect:?}"
                );
            }
        }
    }
}
