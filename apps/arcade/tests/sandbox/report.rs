//! The report that tests in a browser read.

use crate::User;

/// What is after a key of the report, up to where the next begins.
fn value<'a>(report: &'a str, key: &str) -> &'a str {
    let key = format!("\"{key}\":");
    let at = report.find(&key).unwrap_or_else(|| panic!("no {key}"));
    let rest = &report[at + key.len()..];
    rest.split([',', '}', ']']).next().unwrap_or_default()
}

#[test]
fn the_report_says_what_is_shown() {
    let mut user = User::opens("game=skirmish&model=rollback&players=3&net=lte&seed=9");
    user.waits(120);
    user.clicks("Pause");
    let report = user.harness.state().report();
    let live = user.live_match();
    for (key, expected) in [
        ("tab", "\"Sandbox\"".into()),
        ("game", "\"skirmish\"".into()),
        ("model", "\"rollback\"".into()),
        ("next_model", "\"\"".into()),
        ("seed", "\"9\"".into()),
        ("players", "3".into()),
        ("paused", "true".into()),
        ("steps", live.steps().to_string()),
        ("checksum", format!("\"{:016x}\"", live.checksum())),
        ("link", format!("\"{}\"", user.link())),
        ("desyncs", "0".to_string()),
        ("samples", live.gauges(0).taken().to_string()),
    ] {
        assert_eq!(value(&report, key), expected, "{key}");
    }
    let rate: f64 = value(&report, "frame_rate").parse().unwrap();
    assert!((59.0..61.0).contains(&rate), "{rate}");
    let round_trip: f64 = value(&report, "round-trip").parse().unwrap();
    assert!(round_trip > 30.0);
}

#[test]
fn everything_that_can_be_used_is_in_the_report_with_its_place() {
    let mut user = User::opens("game=skirmish&players=4&net=lan");
    user.waits(10);
    user.harness.state().report();
    user.waits(2);
    let report = user.harness.state().report();
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
        let label = format!("{{\"label\":\"{name}\"");
        let at = report.rfind(&label).unwrap_or_else(|| panic!("no {name}"));
        let number = |key| value(&report[at..], key).parse::<f64>().unwrap();
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
