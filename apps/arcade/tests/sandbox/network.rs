//! Lines and links.

use eframe::egui::Modifiers;
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use samestep_sandbox::{Gauge, Scenario};

use crate::User;

#[test]
fn sliders_change_everybodys_line_the_link_and_the_plots() {
    let mut user = User::opens("net=lan");
    user.waits(120);
    let round_trip =
        |user: &User, player| user.live_match().gauges(player).latest(Gauge::RoundTrip);
    assert!(round_trip(&user, 0) < Some(30.0));
    user.sets("Latency", 120.0);
    user.sets("Loss", 5.0);
    let scenario = user.live_match().scenario();
    assert_eq!(scenario.conditions(0), scenario.conditions(1));
    assert_eq!(scenario.conditions(0).latency_ms, 120.0);
    assert_eq!(scenario.conditions(0).loss, 0.05);
    assert!(user.link().contains("latency=120&loss=0.05"));
    user.waits(240);
    for player in 0..2 {
        let now = round_trip(&user, player);
        assert!(now > Some(220.0), "{now:?}");
    }
}

#[test]
fn one_players_line_can_be_another() {
    let mut user = User::opens("net=lan&players=3");
    user.clicks("Connection of player 2");
    user.clicks("Bad Wi-Fi");
    user.sets("Jitter", 33.0);
    let scenario = user.live_match().scenario();
    assert_eq!(scenario.conditions(0).profile(), "lan");
    assert_eq!(scenario.conditions(1).profile(), "bad-wifi");
    assert_eq!(scenario.conditions(1).jitter_ms, 33.0);
    assert_eq!(Scenario::from_link(&user.link()).as_ref(), Ok(scenario));
    // For everybody, only what is changed changes.
    user.clicks("Everybody");
    user.sets("Duplicates", 10.0);
    let scenario = user.live_match().scenario();
    assert_eq!(scenario.conditions(1).profile(), "bad-wifi");
    for player in 0..3 {
        assert_eq!(scenario.conditions(player).duplicate, 0.1);
    }
}

#[test]
fn every_preset_stays_what_it_is() {
    for (name, title) in samestep_sandbox::PRESETS {
        let mut user = User::opens("net=lte");
        user.clicks(title);
        user.waits(5);
        for player in 0..2 {
            let line = user.live_match().scenario().conditions(player);
            assert_eq!((line.profile(), line.is_changed()), (name, false));
        }
    }
}

#[test]
fn the_rate_ends_with_no_limit() {
    let mut user = User::opens("net=perfect");
    user.sets("Rate", 64.0);
    assert_eq!(
        user.live_match().scenario().conditions(0).rate_kbps,
        Some(64.0)
    );
    user.sets("Rate", 2_000_000.0);
    assert_eq!(user.live_match().scenario().conditions(0).rate_kbps, None);
}

#[test]
fn a_slider_follows_the_mouse() {
    let mut user = User::opens("net=lan");
    let slider = user.harness.get_by_role_and_label(Role::Slider, "Latency");
    let rect = slider.rect();
    user.harness.drag_at(rect.left_center());
    user.waits(1);
    user.harness.hover_at(rect.center());
    user.waits(1);
    user.harness.drop_at(rect.center());
    user.waits(2);
    let latency = user.live_match().scenario().conditions(0).latency_ms;
    assert!((140.0..160.0).contains(&latency), "{latency}");
}

#[test]
fn the_address_follows_when_nothing_changes_for_a_moment() {
    let mut user = User::opens("net=lan&seed=2");
    user.waits(60);
    let before = user.platform.link.borrow().clone();
    assert_eq!(before, user.link());
    user.sets("Latency", 70.0);
    assert_eq!(*user.platform.link.borrow(), before);
    user.waits(60);
    assert_eq!(*user.platform.link.borrow(), user.link());
    assert!(user.platform.link.borrow().contains("latency=70"));
}

#[test]
fn the_link_is_copied_whole() {
    let mut user = User::opens("net=lte&seed=77");
    user.harness.get_by_label("Copy link").hover();
    user.waits(1);
    let pos = user.harness.get_by_label("Copy link").rect().center();
    for pressed in [true, false] {
        user.harness.event(eframe::egui::Event::PointerButton {
            pos,
            button: eframe::egui::PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
    }
    user.harness.step();
    let commands = &user.harness.output().platform_output.commands;
    let wanted = format!("somewhere#{}", user.link());
    let copied = commands.iter().any(
        |command| matches!(command, eframe::egui::OutputCommand::CopyText(text) if *text == wanted),
    );
    assert!(copied, "{commands:?}");
    assert!(user.banner().contains("copied"));
}

#[test]
fn a_wrong_link_is_answered_in_words_and_something_plays() {
    for (link, words) in [
        ("model=telepathy", "there are lockstep"),
        ("game=chess", "there are sublockus"),
        ("latency=-3", "from 0 on"),
        ("game=sublockus&size=7", "leave out the size"),
        ("game=skirmish&size=1", "can have"),
    ] {
        let mut user = User::opens(link);
        user.waits(60);
        assert!(user.banner().contains(words), "{link}: {}", user.banner());
        assert!(user.live_match().steps() >= 60);
        assert_eq!(
            *user.platform.link.borrow(),
            "",
            "the address stays as it was"
        );
        user.clicks("Close the message");
        assert_eq!(user.banner(), "");
    }
}
