//! The small parts of lockstep, each by itself.

use super::*;
use crate::InputKind;
use crate::lockstep::message::Bytes;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn the_earliest_time_wakes() {
    let mut timers = Timers::default();
    timers.wake_at(ms(30));
    timers.wake_at(ms(20));
    timers.wake_at(ms(40));
    assert_eq!(timers.wake, Some(ms(20)));
}

#[test]
fn a_program_that_was_not_driven_for_long_was_frozen() {
    let mut timers = Timers::default();
    assert!(!timers.on_driven(ms(5000)), "the first time");
    assert!(!timers.on_driven(ms(5000) + FREEZE_THRESHOLD));
    assert_eq!(timers.frozen_until, Duration::ZERO);
    let awake = ms(5001) + 2 * FREEZE_THRESHOLD;
    assert!(timers.on_driven(awake));
    assert_eq!(timers.frozen_until, awake + FREEZE_THRESHOLD);
}

#[test]
fn messages_for_the_world_wait_in_their_order_up_to_a_limit() {
    let mut transfer = StateTransfer::default();
    for peer in 0..1000 {
        transfer.queue(PeerId(peer), &[7]);
    }
    let waiting = transfer.for_world.len();
    assert!(waiting < 1000, "{waiting}");
    assert_eq!(transfer.for_world[1], (PeerId(1), vec![7]));
}

#[test]
fn a_request_for_a_peer_reads_as_one_from_it() {
    let mut transfer = StateTransfer::default();
    transfer.request_for(PeerId(4), Tick(600));
    let (from, bytes) = transfer.for_world.pop_front().unwrap();
    let request = Message::StateRequest { tick: Tick(600) };
    assert_eq!((from, Message::read(&bytes)), (PeerId(4), Some(request)));
}

#[test]
fn a_checkpoint_that_is_cut_off_is_refused() {
    let mut room = VirtualRoom::new(2, false, 10, LockstepConfig::default());
    room.run(2000);
    let TestPeer { model, world, .. } = &mut room.peers[0];
    let checkpoint = model.checkpoint(ms(3000), PeerId(1), world);
    let TestPeer { model, world, .. } = &mut room.peers[1];
    let before = model.status();
    for len in (0..checkpoint.len()).step_by(7) {
        assert!(model.adopt(ms(3000), &checkpoint[..len], world).is_err());
    }
    assert_eq!(model.status().confirmed_tick, before.confirmed_tick);
    assert!(model.adopt(ms(3000), &checkpoint, world).is_ok());
    assert_eq!(
        Bytes(&checkpoint).number(),
        Some(3),
        "the layout comes first"
    );
}

#[test]
fn refusals_are_counted_in_the_status() {
    let mut room = VirtualRoom::new(2, false, 10, LockstepConfig::default());
    let model = &mut room.peers[1].model;
    model.handle_message(ms(1000), PeerId(0), b"\xff");
    model.handle_message(ms(1000), PeerId(0), b"");
    assert!(
        !model.input(ms(1000), PlayerId(0), b"x", InputKind::Command),
        "another's player"
    );
    let status = model.status();
    assert_eq!((status.refused, status.inputs_refused), (2, 1));
    assert_eq!((model.stats.stalled_ticks, status.trouble), (0, None));
}
