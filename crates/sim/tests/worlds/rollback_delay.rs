//! Rollback shows a player's own input within two ticks up to a round trip of 100 ms, whoever passes it on.

use std::time::Duration;

use crate::tally::Room;
use samestep_netem::{Jitter, LinkConfig, Loss};
use samestep_sim::NodeId;
use samestep_sync::{Rng, Rollback, RoomKind};

const TICK_MS: f64 = 1000.0 / 60.0;

/// What three players see of their own inputs.
#[derive(Debug)]
struct Felt {
    /// Ticks from an input to the state that shows it, in 95 of 100 cases at most.
    p95_ticks: u64,
    /// The mean time to it, and what the status says of it, in ms.
    mean_ms: f64,
    told_ms: f64,
    stalled_ticks: u64,
    max_rollback_depth: u64,
}

fn felt(seed: u64, kind: RoomKind, round_trip_ms: u64, loss: f64) -> Felt {
    let links = LinkConfig {
        latency: Duration::from_millis(round_trip_ms) / 2,
        jitter: Jitter {
            amount: Duration::from_millis(5),
            ..Jitter::default()
        },
        loss: Loss::Bernoulli(loss),
        ..LinkConfig::default()
    };
    let mut room = Room::of_kind(seed, kind, links, Rollback::default());
    while room.nodes().len() < if kind == RoomKind::Dedicated { 4 } else { 3 } {
        room.join(1, Rollback::default());
        room.run(500);
    }
    room.start();
    room.play(4);
    let nodes = room.nodes();
    let players: Vec<NodeId> = nodes
        .iter()
        .copied()
        .filter(|node| room.game(*node).session().my_players().count() > 0)
        .collect();
    let stalled = |room: &Room<Rollback>| -> u64 {
        let stalled = players.iter().map(|node| room.status(*node).stalled_ticks);
        stalled.sum()
    };
    let before = stalled(&room);
    let (mut rng, mut ticks, mut ms, mut told) = (Rng::new(seed), Vec::new(), 0, 0.0);
    for round in 0..150 {
        let node = players[round % players.len()];
        let own = room.game(node).session().my_players().next();
        let own = usize::from(own.expect("a player").0);
        let (was, tick) = (room.state(node).of[own], room.status(node).tick);
        assert!(room.count(node, 0));
        while room.state(node).of[own] == was {
            room.run(1);
            ms += 1;
        }
        let status = room.status(node);
        ticks.push(status.tick.since(tick));
        told += status.delay.as_secs_f64() * 1e3;
        room.run(20 + u64::from(rng.below(60)));
    }
    ticks.sort_unstable();
    let depths = players
        .iter()
        .map(|node| room.status(*node).max_rollback_depth);
    let max_rollback_depth = depths.max().expect("players");
    let stalled_ticks = stalled(&room) - before;
    room.run(1000);
    room.assert_same();
    Felt {
        p95_ticks: ticks[ticks.len() * 95 / 100],
        mean_ms: f64::from(ms) / ticks.len() as f64,
        told_ms: told / ticks.len() as f64,
        stalled_ticks,
        max_rollback_depth,
    }
}

#[test]
fn own_inputs_show_within_two_ticks_in_every_room() {
    for kind in [RoomKind::Mesh, RoomKind::Hosted, RoomKind::Dedicated] {
        for round_trip_ms in [20, 50, 100] {
            for (seed, loss) in [(1, 0.01), (2, 0.02)] {
                let felt = felt(seed, kind, round_trip_ms, loss);
                let what = format!("{kind:?}, {round_trip_ms} ms, seed {seed}: {felt:?}");
                assert!(felt.p95_ticks <= 2, "{what}");
                assert_eq!(felt.stalled_ticks, 0, "{what}");
                assert!(felt.max_rollback_depth <= 14, "{what}");
                assert!(
                    (felt.mean_ms - felt.told_ms).abs() <= TICK_MS / 2.0,
                    "{what}"
                );
            }
        }
    }
}
