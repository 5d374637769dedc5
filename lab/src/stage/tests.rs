use super::*;
use crate::arena::{Contest, script_of};
use samestep_evaluation::Evaluation;
use samestep_netem::LinkConfig;
use samestep_skirmish::Skirmish;
use samestep_sync::{Lockstep, LockstepConfig, Snapshot, SnapshotConfig, Tick};

fn config() -> StageConfig {
    StageConfig {
        players: 4,
        mesh: false,
        path: Path::symmetric(LinkConfig {
            latency: Duration::from_millis(20),
            ..LinkConfig::default()
        }),
        uplink_bps: 1_000_000_000,
        drawing: 2,
    }
}

fn stage<G: Contest, M: Model>(
    seed: u64,
    entities: usize,
    model: impl Fn() -> M + 'static,
) -> Stage<G, M> {
    let config = config();
    let game = G::begin(config.players, entities, seed).unwrap();
    let script = script_of(config.players, entities, seed).unwrap();
    let mut stage = Stage::open(config, seed, game, script, model);
    stage.begin(4).unwrap();
    stage
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn what_is_shown_is_what_was_true() {
    let snapshot = || Snapshot::new(SnapshotConfig::default()).unwrap();
    let mut stage = stage::<Evaluation, _>(3, 200, snapshot);
    stage.play_until(seconds(2), |_| {}).unwrap();
    stage.with(OPENER, |_, member| member.forget());
    let mut audience = Audience::default();
    stage
        .play_until(seconds(4), |look| audience.look(look))
        .unwrap();
    let seen = audience.finish();
    assert_eq!((seen.pictures, seen.missing, seen.stalls), (240, 0, 0));
    // The grid's step is a hundredth of a unit.
    let p95 = seen.errors.sorted().percentile(95.0);
    assert!(p95 < Some(0.01), "{p95:?}");
    assert!(seen.moving.min() > Some(0.9));
    assert!(seen.waits.percentile(95.0) < Some(0.06));
    let ledger = stage.ledger(NodeId(1));
    assert!(ledger.packets() >= 40 && ledger.bytes() > 2_000);
    assert!(stage.member(OPENER).work().unwrap().per_tick() > Some(0.0));
    assert!(stage.truth.newest() > Some(Tick(230)));
}

#[test]
fn any_model_and_game_will_do() {
    let lockstep = || Lockstep::new(LockstepConfig::default()).unwrap();
    let mut stage = stage::<Skirmish, _>(3, 120, lockstep);
    let mut looks = 0;
    stage
        .play_until(seconds(2), |look| {
            looks += u64::from(!look.shown.is_empty() && look.node != OPENER);
        })
        .unwrap();
    assert_eq!(looks, 240);
    let ticks = stage.nodes().map(|node| stage.member(node).status().tick.0);
    assert!(ticks.min() > Some(100));
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = || {
        let snapshot = || Snapshot::new(SnapshotConfig::default()).unwrap();
        let mut stage = stage::<Evaluation, _>(7, 100, snapshot);
        let mut audience = Audience::default();
        stage
            .play_until(seconds(1), |look| audience.look(look))
            .unwrap();
        let traffic = stage.traffic(OPENER, NodeId(2));
        (audience.finish().errors, traffic)
    };
    assert_eq!(run(), run());
}
