//! Time.

use eframe::egui::Key;
use egui_kittest::kittest::Queryable;

use crate::User;

#[test]
fn time_stands_still_and_goes_step_by_step() {
    let mut user = User::opens("net=lan");
    user.waits(20);
    user.clicks("Pause");
    let steps = user.live_match().steps();
    user.waits(30);
    assert!(user.is_paused());
    assert_eq!(user.live_match().steps(), steps);
    user.clicks("Step");
    assert_eq!(user.live_match().steps(), steps + 1);
    user.presses(Key::Period);
    assert_eq!(user.live_match().steps(), steps + 2);
    user.presses(Key::Space);
    user.waits(10);
    assert!(!user.is_paused());
    assert!(user.live_match().steps() >= steps + 12);
}

#[test]
fn time_can_be_slow_or_quick() {
    let mut user = User::opens("net=lan");
    for (name, frames, steps) in [("Speed 0.1", 100, 10..=13), ("Speed 4", 30, 120..=136)] {
        user.clicks(name);
        let before = user.live_match().steps();
        user.waits(frames);
        let made = user.live_match().steps() - before;
        assert!(steps.contains(&made), "{name}: {made}");
    }
}

#[test]
fn one_can_look_back_and_watch_it_again() {
    let mut user = User::opens("net=lan");
    user.waits(90);
    user.sets("Time", 30.0);
    assert!(user.is_paused());
    assert_eq!(user.shown_step(), 30);
    let newest = user.live_match().steps();
    user.clicks("Play");
    user.waits(10);
    assert!((38..=46).contains(&user.shown_step()));
    assert_eq!(
        user.live_match().steps(),
        newest,
        "the match itself waits meanwhile"
    );
    user.waits(100);
    assert!(user.live_match().steps() > newest, "and then goes on");
    assert_eq!(user.shown_step(), user.live_match().steps());
    user.sets("Time", 50.0);
    user.clicks("Back to now");
    assert_eq!(user.shown_step(), user.live_match().steps());
}

#[test]
fn going_on_from_a_step_gives_the_same_again_while_nobody_intervenes() {
    let mut user = User::opens("net=lte&seed=4");
    user.waits(60);
    user.sets("Latency", 90.0);
    user.waits(120);
    user.clicks("Pause");
    let (steps, checksum) = (user.live_match().steps(), user.live_match().checksum());
    user.sets("Time", 120.0);
    // A frame has time for some ten steps.
    user.platform.passes.set(0.001);
    user.clicks("Go on from here");
    assert!(user.sees("Stop"), "it takes a while");
    while user.sees("Stop") {
        user.waits(1);
    }
    assert!(user.live_match().steps() < steps);
    assert!(!user.is_paused());
    user.clicks("Pause");
    while user.live_match().steps() < steps {
        user.presses(Key::Period);
    }
    assert_eq!(user.live_match().steps(), steps);
    assert_eq!(user.live_match().checksum(), checksum);
    assert!(user.link().contains("latency=90"));
}

#[test]
fn winding_back_can_be_stopped() {
    let mut user = User::opens("net=lan");
    user.waits(100);
    user.sets("Time", 80.0);
    let steps = user.live_match().steps();
    user.platform.passes.set(0.02);
    user.clicks("Go on from here");
    user.clicks("Stop");
    assert_eq!((user.live_match().steps(), user.shown_step()), (steps, 80));
    assert!(user.sees("Go on from here"));
}

#[test]
fn a_slow_computer_falls_behind_and_says_so() {
    let mut user = User::opens("net=lan");
    user.platform.passes.set(0.02);
    user.clicks("Speed 4");
    let before = user.live_match().steps();
    user.waits(120);
    assert!(user.live_match().steps() - before < 300);
    let words = user.harness.query_by_label_contains("% speed");
    assert!(words.is_some());
}

#[test]
fn a_click_on_a_plot_looks_at_that_time() {
    let mut user = User::opens("net=lan");
    user.waits(240);
    user.clicks_a(eframe::egui::accesskit::Role::Unknown, "Round trip");
    assert!(user.is_paused());
    assert!(user.shown_step() < user.live_match().steps());
}
