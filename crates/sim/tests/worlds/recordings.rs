//! Every participant's recording can be played and verified, under every model.

use samestep_sim::NodeId;
use samestep_sync::{
    Live, Lockstep, Model, Playback, Replay, Rewind, Rollback, Snapshot, StateSync, VerifyError,
};

use crate::tally::{Room, Tally, links};

/// A host, a guest, somebody who joins late and somebody who watches play over a bad network; then everyone's file is verified.
fn every_recording_verifies<M: Model>(model: impl Fn() -> M) {
    let mut room = Room::of(false, [model(), model()]);
    room.testbed.set_links(links(40, 0.05));
    room.play(3);
    room.join(1, model());
    room.join(0, model());
    room.run(1000);
    room.play(5);
    room.run(1000);
    room.assert_recorded();
    for node in room.nodes() {
        let recorder = room.game(node).world().recorder().expect("records");
        let replay = Replay::parse(recorder.bytes()).unwrap();
        let mut playback =
            Playback::new(replay, Live::without_recording(Tally::default())).unwrap();
        playback.seek(playback.replay().end()).unwrap();
        let (played, truth) = (playback.world().state(), room.state(NodeId(0)));
        assert_eq!(played.of, truth.of, "{node}");
    }
}

#[test]
fn under_lockstep() {
    every_recording_verifies(Lockstep::default);
}

#[test]
fn under_rollback() {
    every_recording_verifies(Rollback::default);
}

#[test]
fn under_snapshot() {
    every_recording_verifies(Snapshot::default);
}

#[test]
fn under_state_sync() {
    every_recording_verifies(StateSync::default);
}

#[test]
fn under_rewind() {
    every_recording_verifies(Rewind::default);
}

#[test]
fn a_recording_without_checksums_is_not_verified() {
    let world = Live::new(Tally::default());
    let recorder = world.recorder().expect("records");
    let replay = Replay::parse(recorder.bytes()).unwrap();
    let verified = Playback::new(replay, world).unwrap().verify();
    let error = verified.unwrap_err();
    assert_eq!(error, VerifyError::NothingCompared { ticks: 0 });
    assert!(
        error.to_string().contains("nothing was compared"),
        "{error}"
    );
}
