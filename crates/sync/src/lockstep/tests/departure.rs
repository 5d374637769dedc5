//! Members of a mesh that are excluded: their sources end at the same tick for everyone.

use super::rollback::predicting;
use super::virtual_room::VirtualRoom;
use crate::lockstep::{Lockstep, Pace};
use crate::timeline::SourceId;
use crate::{Cut, Departing, LockstepConfig, Model, PeerId, PlayerId, Tick};

const GONE: SourceId = SourceId {
    peer: PeerId(2),
    incarnation: 1,
};

fn cut(last: u64, items: Vec<Vec<u8>>) -> Cut {
    Cut {
        peer: GONE.peer,
        incarnation: GONE.incarnation,
        last: Some(last),
        items,
        was_authority: false,
        keeps_place: true,
        heir: Some((PeerId(0), 1)),
    }
}

/// What peer 2 did last reaches peer 1 alone.
fn with_last_words(model: impl Fn() -> Lockstep) -> VirtualRoom {
    let mut room = VirtualRoom::of(4, true, 20, model);
    room.run(3000);
    room.push(2, 9);
    for _ in 0..60 {
        room.run(1);
        room.on_the_way
            .retain(|(_, from, to, _)| *from != 2 || *to == 1);
    }
    room.peers[2].here = false;
    room.run(300);
    room
}

#[test]
fn what_only_one_has_received_counts_for_everyone() {
    for (what, mut room) in [
        ("lockstep", with_last_words(Lockstep::default)),
        ("rollback", with_last_words(|| predicting(0))),
    ] {
        let known = |room: &VirtualRoom, at: usize| room.peers[at].model.known_upto_of(GONE);
        assert!(known(&room, 1) > known(&room, 0), "{what}");
        let most = known(&room, 1);
        room.exclude(&[2], 0);
        for at in [0, 1, 3] {
            assert_eq!(known(&room, at), most, "{what}");
        }
        room.run(2000);
        room.assert_same();
        assert_eq!(room.peers[0].world.state().pushes, 1, "{what}");
    }
}

#[test]
fn who_is_held_back_is_not_heard_and_who_is_released_is() {
    let mut room = VirtualRoom::new(3, true, 20, LockstepConfig::default());
    room.run(3000);
    let departing = Departing {
        peer: GONE.peer,
        incarnation: GONE.incarnation,
        above: 0,
    };
    let now = room.now;
    let held = room.peers[0].model.hold(now, &[departing]);
    assert_eq!(
        held[0].last,
        room.peers[0].model.known_upto_of(GONE).0,
        "all that is known"
    );
    assert_eq!(held[0].items.len(), held[0].last.min(600) as usize);
    room.run(1000);
    assert_eq!(room.peers[0].model.known_upto_of(GONE).0, held[0].last);
    let now = room.now;
    let above = held[0].last - 5;
    let again = Departing { above, ..departing };
    assert_eq!(
        room.peers[0].model.hold(now, &[again])[0].items,
        held[0].items[held[0].items.len() - 5..]
    );
    assert!(room.peers[0].model.hold(now, &[]).is_empty());
    room.push(2, 4);
    room.run(3000);
    room.assert_same();
    assert_eq!(room.peers[0].world.state().pushes, 1);
}

#[test]
fn a_source_that_is_announced_after_its_cut_ends_where_it_begins() {
    let mut model = Lockstep::default();
    model.cut(core::time::Duration::ZERO, &[cut(0, Vec::new())]);
    model
        .sources
        .announce(GONE, Tick(40), &[PlayerId(2), PlayerId(5)]);
    model.apply_cuts(core::time::Duration::ZERO);
    let source = &model.sources.known[&GONE];
    assert_eq!((source.known_upto, source.end), (Tick(40), Some(Tick(40))));
}

#[test]
fn an_item_that_makes_no_sense_is_a_tick_without_inputs() {
    let mut room = VirtualRoom::new(3, true, 20, LockstepConfig::default());
    room.run(3000);
    let now = room.now;
    let ends = room.peers[..2].iter_mut().map(|peer| {
        let known = peer.model.known_upto_of(GONE).0;
        peer.model.cut(now, &[cut(known + 2, vec![vec![7; 3]; 2])]);
        let source = &peer.model.sources.known[&GONE];
        assert_eq!(source.known_upto, source.end.unwrap());
        source.known_upto.0 - known
    });
    assert_eq!(ends.collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn who_sequences_in_a_mesh_does_so_until_it_is_excluded() {
    let config = LockstepConfig {
        pace: Pace::Initiative { ticks: 5 },
        ..LockstepConfig::default()
    };
    let mut room = VirtualRoom::new(3, true, 20, config);
    room.run(2000);
    let take_turn = |room: &mut VirtualRoom, holder: usize| {
        let now = room.now;
        assert!(room.push(holder, 1));
        let model = &mut room.peers[holder].model;
        model.end_turn(now, PlayerId(holder as u16));
        room.run(500);
    };
    take_turn(&mut room, 0);
    // Another leads: the first goes on to sequence.
    room.authority = 1;
    room.pass_roster_on();
    take_turn(&mut room, 1);
    assert_eq!(room.peers[2].world.state().pushes, 2);
    let sequencer = |room: &VirtualRoom| room.peers[2].model.room.authority();
    assert_eq!(sequencer(&room), Some(PeerId(0)));
    room.exclude(&[0], 1);
    assert_eq!(sequencer(&room), Some(PeerId(1)));
    room.run(500);
    take_turn(&mut room, 2);
    take_turn(&mut room, 1);
    room.assert_same();
    assert_eq!(room.peers[2].world.state().pushes, 4);
}
