use super::virtual_room::{ManyStones, VirtualRoom};
use crate::lockstep::*;
use crate::{EventStage, TimedEvent};

type Event = <ManyStones as crate::Simulation>::Event;

pub(super) fn predicting(lockstep_below_ms: u64) -> Lockstep {
    let mut model = Lockstep::new(LockstepConfig {
        turn: Length::Fixed(1),
        ..LockstepConfig::default()
    })
    .unwrap();
    model.set_prediction(Prediction {
        window: 8,
        max: 8,
        lockstep_below: Duration::from_millis(lockstep_below_ms),
    });
    model
}

/// Pushes at random for a while, then lets everything settle.
fn play(room: &mut VirtualRoom, rounds: usize) -> u32 {
    let peers = room.peers.len();
    let mut pushes = 0;
    for round in 0..rounds {
        pushes += u32::from(room.push(round * 7 % peers, round as u8));
        room.run(23);
    }
    pushes
}

/// The events that were delivered at each peer.
fn delivered(room: &mut VirtualRoom) -> Vec<Vec<TimedEvent<Event>>> {
    let peers = room.peers.iter_mut();
    peers
        .map(|peer| core::iter::from_fn(|| peer.world.poll_event()).collect())
        .collect()
}

fn confirmed(delivered: &[TimedEvent<Event>]) -> Vec<(Tick, Event)> {
    let confirmed = delivered
        .iter()
        .filter(|event| event.stage == EventStage::Confirmed);
    confirmed.map(|event| (event.tick, event.event)).collect()
}

#[test]
fn nobody_waits_and_everyone_sees_the_same() {
    for mesh in [true, false] {
        for players in [2, 4] {
            let mut room = VirtualRoom::of(players, mesh, 50, || predicting(0));
            room.run(3000);
            let lagged = room.peers[1].model.stats.stalled_ticks;
            let pushes = play(&mut room, 200);
            room.run(1000);
            room.assert_same();
            for peer in &room.peers {
                let status = peer.model.status();
                assert_eq!(peer.world.state().pushes, pushes, "{mesh} {players}");
                assert!(status.predicting, "{status:?}");
                // A host is in the middle: inputs that guests send in time for each other reach it in time.
                let is_host = !mesh && peer.model.room.is_authority();
                assert!(status.rollbacks > 50 || is_host, "{status:?}");
                assert!(status.max_rollback_depth <= 8, "{status:?}");
                assert!(status.input_delay <= 3, "{status:?}");
            }
            assert_eq!(room.peers[1].model.stats.stalled_ticks, lagged);
        }
    }
}

#[test]
fn a_rollback_is_as_deep_as_the_latency_requires() {
    let mut room = VirtualRoom::of(2, true, 50, || predicting(0));
    room.run(3000);
    play(&mut room, 300);
    for peer in &room.peers {
        let status = peer.model.status();
        // 50 ms are three ticks, of which one is the delay of inputs; up to one passes until the next tick, one state in two is kept.
        assert!((2..=4).contains(&status.max_rollback_depth), "{status:?}");
        let mean = status.resimulated as f64 / status.rollbacks as f64;
        assert!(mean < 3.5, "{status:?}");
    }
}

#[test]
fn loss_stops_nobody_and_each_event_is_resolved_once() {
    for mesh in [true, false] {
        let mut room = VirtualRoom::of(4, mesh, 100, || predicting(0));
        room.loss = 25;
        room.pass_roster_on();
        room.run(5000);
        delivered(&mut room);
        let before: Vec<Tick> = room
            .peers
            .iter()
            .map(|peer| peer.model.simulated.predicted_tick)
            .collect();
        let pushes = play(&mut room, 400);
        room.loss = 0;
        room.run(2000);
        room.assert_same();
        let all = delivered(&mut room);
        assert_eq!(confirmed(&all[0]).len(), pushes as usize);
        for (peer, delivered) in all.iter().enumerate() {
            assert_eq!(confirmed(delivered), confirmed(&all[0]), "{mesh}");
            let of = |stage| {
                delivered
                    .iter()
                    .filter(|event| event.stage == stage)
                    .count()
            };
            let status = room.peers[peer].model.status();
            // A host is in the middle: where guests allow for the way to each other, it knows nearly everything in time.
            let predicts = of(EventStage::Predicted) > 0 || (!mesh && peer == 0);
            assert!(predicts, "{status:?}");
            assert!(
                of(EventStage::Confirmed) >= of(EventStage::Predicted) - of(EventStage::Cancelled)
            );
            assert!(
                room.peers[peer]
                    .model
                    .simulated
                    .predicted_tick
                    .since(before[peer])
                    > 600
            );
        }
    }
}

#[test]
fn a_game_moves_between_lockstep_and_rollback_as_distances_change() {
    for mesh in [true, false] {
        let mut room = VirtualRoom::of(3, mesh, 5, || predicting(60));
        room.run(3000);
        let mut pushes = play(&mut room, 60);
        for peer in &room.peers {
            let status = peer.model.status();
            assert!(!status.predicting && status.rollbacks < 10, "{status:?}");
        }
        room.delay = Duration::from_millis(60);
        room.pass_roster_on();
        room.run(500);
        pushes += play(&mut room, 100);
        for peer in &room.peers {
            let status = peer.model.status();
            let is_host = !mesh && peer.model.room.is_authority();
            assert!(
                status.predicting && (status.rollbacks > 10 || is_host),
                "{status:?}"
            );
        }
        room.delay = Duration::from_millis(5);
        room.pass_roster_on();
        room.run(1000);
        let rollbacks = room.peers[2].model.status().rollbacks;
        pushes += play(&mut room, 60);
        room.run(1000);
        room.assert_same();
        assert_eq!(room.peers[2].model.status().rollbacks, rollbacks);
        let all = delivered(&mut room);
        for delivered in &all {
            assert_eq!(confirmed(delivered), confirmed(&all[0]));
            assert_eq!(confirmed(delivered).len(), pushes as usize);
        }
    }
}

#[test]
fn one_who_is_frozen_is_waited_for_beyond_the_window() {
    let mut room = VirtualRoom::of(3, true, 20, || predicting(0));
    room.run(3000);
    room.peers[2].here = false;
    let at = room.peers[0].model.simulated.predicted_tick;
    room.run(300);
    let status = room.peers[0].model.status();
    assert!((5..=12).contains(&status.tick.since(at)), "{status:?}");
    assert_eq!(status.waiting_for, Some(PeerId(2)));
    room.peers[2].here = true;
    room.run(1000);
    assert!(room.peers[0].model.simulated.predicted_tick.since(at) > 60);
    room.assert_same();
}

#[test]
fn who_joins_late_takes_part() {
    for mesh in [true, false] {
        let mut room = VirtualRoom::of(4, mesh, 40, || predicting(0));
        room.peers[3].here = false;
        room.pass_roster_on();
        room.run(3000);
        play(&mut room, 50);
        room.peers[3].here = true;
        room.hand_over(3);
        room.pass_roster_on();
        room.run(1000);
        play(&mut room, 100);
        room.run(1000);
        room.assert_same();
        assert_eq!(
            room.peers[0]
                .model
                .simulated
                .confirmed_players
                .players()
                .len(),
            4
        );
    }
}
