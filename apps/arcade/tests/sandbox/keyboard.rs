//! Playing oneself.

use eframe::egui::Key;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable;

use crate::User;

/// A match in which somebody plays for player 1, up to a step.
fn played(layout: &str, key: Option<Key>) -> u64 {
    let mut user = User::opens("game=sublockus&model=lockstep&net=perfect&seed=3");
    user.clicks("Pause");
    user.clicks_a(Role::ComboBox, "Who plays player 1");
    user.clicks(layout);
    let until = 90;
    if let Some(key) = key {
        user.harness.key_down(key);
        user.waits(1);
    }
    user.harness.get_by_label("Play").click_accesskit();
    while user.live_match().steps() < until {
        user.waits(1);
    }
    user.live_match().checksum()
}

#[test]
fn keys_move_a_character() {
    for (layout, left, right) in [
        ("WASD + mouse", Key::A, Key::D),
        ("Arrow keys", Key::ArrowLeft, Key::ArrowRight),
    ] {
        let idle = played(layout, None);
        assert_eq!(played(layout, None), idle);
        let (left, right) = (played(layout, Some(left)), played(layout, Some(right)));
        assert!(left != idle && right != idle && left != right, "{layout}");
    }
}

#[test]
fn a_key_that_is_pressed_while_time_is_slow_is_not_lost() {
    let jump = |press: bool| {
        let mut user = User::opens("game=sublockus&model=lockstep&net=perfect&seed=3");
        user.clicks("Pause");
        user.clicks_a(Role::ComboBox, "Who plays player 1");
        user.clicks("WASD + mouse");
        while user.live_match().steps() < 60 {
            user.presses(Key::Period);
        }
        if press {
            user.presses(Key::W);
        }
        while user.live_match().steps() < 75 {
            user.presses(Key::Period);
        }
        user.live_match().checksum()
    };
    assert_ne!(jump(true), jump(false));
}

#[test]
fn only_one_player_has_the_same_keys() {
    let mut user = User::opens("net=lan");
    for player in [1, 2] {
        user.clicks_a(Role::ComboBox, &format!("Who plays player {player}"));
        user.clicks("WASD + mouse");
    }
    let driver = |player| user.live_match().driver(player);
    assert_eq!(driver(0), samestep_sandbox::Driver::Bot);
    assert_eq!(driver(1), samestep_sandbox::Driver::Human);
}

#[test]
fn keys_are_explained() {
    let mut user = User::opens("net=lan");
    assert!(!user.sees("Everywhere"));
    user.presses(Key::F1);
    assert!(user.sees("Right shift or enter"));
    user.presses(Key::Escape);
    assert!(!user.sees("Right shift or enter"));
    user.clicks("Keys");
    assert!(user.sees("Right shift or enter"));
}
