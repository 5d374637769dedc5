//! Games that go ahead of what is known. A failing seed replays with `samestep lab soak --suite rollback --seeds 1 --seed N`.

use std::time::Duration;

use crate::tally::{Room, links};
use samestep_sim::{NodeId, Suite, soak};
use samestep_sync::{Rollback, RollbackConfig};

const HOST: NodeId = NodeId(0);

fn rollback(lockstep_below_ms: u64) -> Rollback {
    Rollback::new(RollbackConfig {
        lockstep_below: Duration::from_millis(lockstep_below_ms),
        ..RollbackConfig::default()
    })
    .unwrap()
}

fn room(mesh: bool, programs: usize) -> Room<Rollback> {
    Room::of(mesh, (0..programs).map(|_| rollback(0)))
}

#[test]
fn everyone_sees_the_same_and_plays_on() {
    let report = soak(Suite::ROLLBACK, 0, 50, |_| ());
    println!("rollback: {report}");
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
}

/// A guest that takes over its host's state after having been frozen, with words of its own that the host has not heard; newcomers and the silent whom
/// the host speaks for; one who joins a mesh through a member that is frozen.
#[test]
fn those_who_were_frozen_and_those_who_come_late_see_the_same() {
    for seed in [5436, 7678, 10129, 10712, 11008, 11434, 20640, 21282] {
        let (_, result) = Suite::ROLLBACK.run(seed);
        assert_eq!(result, Ok(()), "seed {seed}");
    }
}

/// The leader of a mesh lacks inputs of a member that has taken over a later state, and cannot resend them.
#[test]
fn a_leader_that_nobody_can_help_with_inputs_follows_a_members_state() {
    let (_, result) = Suite::ROLLBACK.run(32);
    assert_eq!(result, Ok(()));
}

#[test]
fn two_players_100_ms_apart_never_wait_and_see_their_own_input_at_once() {
    for mesh in [true, false] {
        let mut room = room(mesh, 2);
        room.testbed.set_links(links(50, 0.05));
        room.run(1000);
        let lagged: Vec<u64> = (0..2)
            .map(|at| room.status(NodeId(at)).stalled_ticks)
            .collect();
        for round in 0..300 {
            let node = NodeId(round % 2);
            let (was, tick) = (room.state(node).of, room.status(node).tick);
            assert!(room.count(node, 0));
            let mut shown = tick;
            while room.state(node).of[usize::from(node.0)] == was[usize::from(node.0)] {
                room.run(1);
                shown = room.status(node).tick;
            }
            assert!(shown.since(tick) <= 2, "{} ticks", shown.since(tick));
            room.run(30 + u64::from(round) % 47);
        }
        room.run(500);
        room.assert_same();
        for (node, lagged) in room.nodes().into_iter().zip(lagged) {
            let status = room.status(node);
            assert_eq!(status.stalled_ticks, lagged, "{mesh} {node}");
            assert_eq!(status.input_delay, 1, "{mesh} {node}");
            // 50 ms are three ticks. One more if a packet waits for the next tick, and one for each that is lost in a row.
            assert!(
                status.max_rollback_depth <= 6,
                "{mesh} {node}: {}",
                status.max_rollback_depth
            );
            let mean = status.resimulated as f64 / status.rollbacks as f64;
            assert!(mean <= 3.5, "{mesh} {node}: {mean}");
            assert!(status.rollbacks >= 140, "{mesh} {node}");
        }
    }
}

#[test]
fn a_match_moves_to_rollback_and_back_as_latency_changes() {
    for mesh in [true, false] {
        let mut room = Room::of(mesh, (0..3).map(|_| rollback(120)));
        let predicting = |room: &Room<Rollback>| {
            let nodes = room.nodes().into_iter();
            nodes
                .map(|node| room.status(node).predicting)
                .collect::<Vec<_>>()
        };
        for (latency, predicts) in [(15, false), (80, true), (15, false), (80, true)] {
            room.testbed.set_links(links(latency, 0.02));
            room.play(12);
            assert_eq!(predicting(&room), [predicts; 3], "{mesh} {latency} ms");
        }
        room.run(1000);
        room.assert_same();
        room.assert_recorded();
        assert!(room.confirmed(HOST, room.status(HOST).confirmed_tick).len() > 900);
    }
}

/// What the opener and a guest send in a second: bytes with their headers, and packets.
fn traffic(mesh: bool, programs: usize) -> [(u64, u64); 2] {
    const SECONDS: u64 = 10;
    let mut room = room(mesh, programs);
    room.play(5);
    let sent = |room: &Room<Rollback>| {
        [0, 1].map(|at| {
            let traffic = room.testbed.traffic(NodeId(at));
            (traffic.wire_bytes_sent(), traffic.datagrams_sent)
        })
    };
    let before = sent(&room);
    room.play(SECONDS);
    let after = sent(&room);
    room.run(1000);
    room.assert_same();
    [0, 1].map(|at| {
        let (bytes, packets) = (after[at].0 - before[at].0, after[at].1 - before[at].1);
        (bytes / SECONDS, packets / SECONDS)
    })
}

#[test]
fn traffic_through_a_host_grows_with_the_players_and_not_with_their_square() {
    let few = traffic(false, 2);
    let [(_, few_packets), (few_bytes, _)] = few;
    for programs in [4, 8, 16] {
        let [host, guest] = traffic(false, programs);
        let (all, guests) = (programs as u64, programs as u64 - 1);
        println!("{programs}: host {host:?}, guest {guest:?}; with 2 {few:?}");
        assert!(guest.0 < few_bytes * 5 / 4, "a guest: {guest:?}");
        assert!(host.1 < guests * few_packets * 3 / 2, "packets: {host:?}");
        // To each guest as much as one would get, and eight bytes a tick for each voice that is passed on.
        assert!(host.0 < guests * (few_bytes + 480 * all), "bytes: {host:?}");
        let [member, _] = traffic(true, programs);
        let (hub, mesh) = (host.0 + guests * guest.0, all * member.0);
        println!("{programs}: all {hub}, in a mesh {mesh}");
        assert!(3 * hub < 2 * mesh, "{hub} {mesh}");
    }
}

#[test]
fn a_spectator_sees_what_happened_and_predicts_nothing() {
    let mut room = room(false, 3);
    let watcher = room.join(0, rollback(0));
    room.testbed.set_links(links(60, 0.1));
    room.play(10);
    room.run(2000);
    room.assert_same();
    let status = room.status(watcher);
    assert!(!status.predicting && status.rollbacks == 0, "{status:?}");
    assert!(room.confirmed(watcher, status.confirmed_tick).len() > 100);
}

#[test]
fn who_joins_a_running_game_takes_part() {
    for mesh in [true, false] {
        let mut room = room(mesh, 3);
        room.testbed.set_links(links(60, 0.1));
        room.play(5);
        let late = room.join(1, rollback(0));
        room.run(3000);
        room.play(10);
        room.run(2000);
        room.assert_same();
        assert!(
            room.state(HOST)
                .of
                .iter()
                .filter(|count| **count > 20)
                .count()
                == 4
        );
        assert!(room.confirmed(late, room.status(late).confirmed_tick).len() > 100);
    }
}

#[test]
fn who_comes_back_plays_in_its_old_place() {
    for mesh in [true, false] {
        let mut room = room(mesh, 3);
        room.testbed.set_links(links(60, 0.1));
        room.play(5);
        let node = NodeId(2);
        let player: Vec<_> = room.game(node).session().my_players().collect();
        let mut to = room.door();
        to.rejoin = Some(room.game(node).session().rejoin_secret());
        room.testbed.kill(node);
        room.run(2000);
        room.enter(node, to, 1, rollback(0));
        room.run(15_000);
        assert_eq!(
            room.game(node).session().my_players().collect::<Vec<_>>(),
            player
        );
        let counted = room.state(node).of[usize::from(player[0].0)];
        room.play(10);
        room.run(2000);
        assert!(room.state(HOST).of[usize::from(player[0].0)] > counted);
        room.assert_same();
    }
}

#[test]
fn two_players_at_one_program() {
    for mesh in [true, false] {
        let mut room = Room::new(mesh, rollback(0));
        for _ in 0..2 {
            room.join(2, rollback(0));
            room.run(500);
        }
        room.start();
        room.testbed.set_links(links(60, 0.1));
        room.play(10);
        room.run(2000);
        room.assert_same();
        room.assert_recorded();
        assert!(room.state(HOST).of[..5].iter().all(|count| *count > 15));
    }
}
