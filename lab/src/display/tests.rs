use super::*;
use crate::testmatch::{Playable, setup_of};
use samestep_catalog::evaluation::Evaluation;
use samestep_catalog::skirmish::Skirmish;
use samestep_netem::{LinkConfig, Path};
use samestep_sync::{Lockstep, LockstepConfig, Snapshot, SnapshotConfig, Tick};

fn config() -> MatchConfig {
    let path = Path::symmetric(LinkConfig {
        latency: Duration::from_millis(20),
        ..LinkConfig::default()
    });
    MatchConfig::hosted(4, path, 1_000_000_000)
}

fn room<G: Playable, M: Model>(
    seed: u64,
    entities: usize,
    model: impl Fn() -> M + 'static,
) -> DisplayMatch<G, M> {
    let config = config();
    let setup = setup_of::<G>(config.players, entities, seed);
    let game = G::begin_measured(&setup).unwrap();
    let script = G::script(&setup).unwrap();
    let mut room = DisplayMatch::open(config, 2, seed, game, script, model);
    room.begin(4).unwrap();
    room
}

/// What is seen from now on, until so many seconds after the beginning.
fn look<G: Playable, M: Model>(room: &mut DisplayMatch<G, M>, until: u64) -> Seen {
    room.observer_mut().viewer = Some(Viewer::default());
    room.play_until(seconds(until)).unwrap();
    room.observer_mut().viewer.take().unwrap().finish()
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn what_is_shown_is_what_was_true() {
    let snapshot = || Snapshot::new(SnapshotConfig::default()).unwrap();
    let mut room = room::<Evaluation, _>(3, 200, snapshot);
    room.play_until(seconds(2)).unwrap();
    room.with(OPENER, |_, program| program.forget());
    let seen = look(&mut room, 4);
    assert_eq!((seen.pictures, seen.missing, seen.stalls), (240, 0, 0));
    // The grid's step is a hundredth of a unit.
    let p95 = seen.errors.sorted().percentile(95.0);
    assert!(p95 < Some(0.01), "{p95:?}");
    assert!(seen.moving.min() > Some(0.9));
    assert!(seen.waits.percentile(95.0) < Some(0.06));
    let packets = room.packets_to(NodeId(1));
    assert!(packets.packets() >= 40 && packets.bytes() > 2_000);
    assert!(room.program(OPENER).work().unwrap().per_tick() > Some(0.0));
    assert!(room.observer().truth.newest() > Some(Tick(230)));
}

#[test]
fn any_model_and_game_will_do() {
    let lockstep = || Lockstep::new(LockstepConfig::default()).unwrap();
    let mut room = room::<Skirmish, _>(3, 120, lockstep);
    assert_eq!(look(&mut room, 2).pictures, 240);
    let ticks = room.nodes().map(|node| room.program(node).status().tick.0);
    assert!(ticks.min() > Some(100));
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = || {
        let snapshot = || Snapshot::new(SnapshotConfig::default()).unwrap();
        let mut room = room::<Evaluation, _>(7, 100, snapshot);
        let errors = look(&mut room, 1).errors;
        let traffic = room.traffic(OPENER, NodeId(2));
        (errors, traffic)
    };
    assert_eq!(run(), run());
}
