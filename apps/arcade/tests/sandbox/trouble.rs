//! States that differ, and recordings.

use egui_kittest::kittest::Queryable;
use samestep_arcade::platform::File;

use crate::User;

#[test]
fn a_state_that_differs_is_found_told_of_and_can_be_looked_at() {
    let mut user = User::opens("model=lockstep&net=lan");
    user.waits(60);
    user.clicks("Tamper with the state of player 2");
    user.waits(300);
    assert!(!user.live_match().desyncs().is_empty());
    let banner = user.banner();
    assert!(banner.starts_with("Player 2's state differs"), "{banner}");
    assert!(banner.contains("with the others"), "{banner}");
    user.clicks("Look at it");
    let report = user.harness.state().report();
    assert!(report.contains("\"tab\":\"Replays\""), "{report}");
}

#[test]
fn a_recording_is_saved_as_a_file() {
    let mut user = User::opens("game=skirmish&net=lan&seed=6");
    user.waits(60);
    user.clicks("Save recording");
    let saved = user.platform.saved.borrow();
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0].name, "skirmish-6.replay");
    assert!(saved[0].bytes.len() > 100);
    assert!(user.banner().contains("noted"));
}

#[test]
fn a_recording_opens_as_a_replay() {
    let mut user = User::opens("net=lan");
    user.waits(60);
    user.clicks("Open as a replay");
    user.waits(5);
    let report = user.harness.state().report();
    assert!(report.contains("\"tab\":\"Replays\""));
    user.clicks("Sandbox");
    let steps = user.live_match().steps();
    user.waits(10);
    assert!(user.live_match().steps() > steps);
}

#[test]
fn a_file_that_is_no_recording_is_refused_and_nothing_is_lost() {
    let mut user = User::opens("net=lan");
    user.waits(30);
    let file = File {
        name: "holiday.jpg".into(),
        bytes: b"nothing of ours".to_vec(),
    };
    *user.platform.opened.borrow_mut() = Some(Ok(file));
    user.waits(5);
    assert!(
        user.harness
            .query_by_label_contains("holiday.jpg")
            .is_some()
    );
    user.clicks("Sandbox");
    user.waits(5);
    assert!(user.live_match().steps() > 30);
}

#[test]
fn a_file_that_cannot_be_read_is_told_of() {
    let mut user = User::opens("net=lan");
    *user.platform.opened.borrow_mut() = Some(Err("it is on fire".into()));
    user.waits(5);
    assert_eq!(user.banner(), "it is on fire");
}
