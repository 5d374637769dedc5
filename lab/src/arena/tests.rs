use super::*;
use samestep_netem::LinkConfig;
use samestep_skirmish::Skirmish;
use samestep_sync::Rollback;

fn config(mesh: bool) -> ArenaConfig {
    ArenaConfig {
        players: 4,
        entities: 256,
        mesh,
        path: Path::symmetric(LinkConfig {
            latency: Duration::from_millis(20),
            ..LinkConfig::default()
        }),
        uplink_bps: 1_000_000_000,
        step_cost: Duration::from_micros(100),
        lockstep: LockstepConfig::default(),
        rollback: RollbackConfig::default(),
        closely: true,
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn everyone_plays_and_stays_the_same() {
    for mesh in [false, true] {
        let mut arena: Arena = Arena::open(config(mesh), 5).unwrap();
        arena.begin(4).unwrap();
        arena.play_until(seconds(4)).unwrap();
        arena.check_equal().unwrap();
        assert!(arena.truth.len() > 4 && arena.early.len() < 8);
        let ticks = arena.seats().map(|(_, seat)| seat.status().tick.0);
        assert!(ticks.min() > Some(220));
        // Eight commands a second of each: all but those under way are executed.
        let delays = arena.command_delays(seconds(1));
        assert!((80..=96).contains(&delays.len()), "{}", delays.len());
        assert!(delays.max() < Some(250.0), "{:?}", delays.max());
        let views = arena.course().all(0, |counts| counts.views as f64);
        assert_eq!(views.len(), 16);
        assert!(views.min() >= Some(59.0), "{:?}", views.min());
        let sent = arena.course().all(0, |counts| counts.packets_sent as f64);
        assert!(sent.min() > Some(5.0), "{:?}", sent.min());
    }
}

#[test]
fn a_state_that_differs_is_seen_whether_the_model_looks_or_not() {
    let mut config = config(false);
    config.lockstep.desync_check_interval = 0;
    let mut arena: Arena = Arena::open(config, 5).unwrap();
    arena.begin(4).unwrap();
    arena.play_until(seconds(1)).unwrap();
    arena.check_equal().unwrap();
    arena.with(NodeId(2), |_, seat| seat.damage(false));
    arena.play_until(seconds(3)).unwrap();
    assert!(arena.differing().iter().all(|(node, _)| *node == NodeId(2)));
    let error = arena.check_equal().unwrap_err();
    assert!(
        error.contains("node 2") && error.contains("seed 5"),
        "{error}"
    );
    assert!(arena.notices().is_empty());
}

#[test]
fn a_machine_that_is_too_slow_shows() {
    let mut config = config(false);
    config.step_cost = Duration::from_millis(20);
    let mut arena: Arena = Arena::open(config, 5).unwrap();
    arena.begin(4).unwrap();
    arena.play_until(seconds(3)).unwrap();
    let ticks = arena.seats().map(|(_, seat)| seat.status().tick.0);
    assert!(ticks.max() < Some(170), "fifty steps a second at most");
}

#[test]
fn under_rollback_own_inputs_are_seen_at_once_and_what_is_put_right_is_counted() {
    for mesh in [false, true] {
        let mut arena: Arena<Evaluation, Rollback> = Arena::open(config(mesh), 5).unwrap();
        arena.begin(4).unwrap();
        arena.play_until(seconds(4)).unwrap();
        arena.check_equal().unwrap();
        assert!(arena.truth.len() > 4 && arena.early.len() < 8);
        let others = arena.others_delays();
        assert!(others.len() > 3 * 80, "{}", others.len());
        assert!(others.min() > Some(20.0), "{:?}", others.min());
        for (_, seat) in arena.seats() {
            let (status, counts) = (seat.status(), seat.counts());
            assert_eq!(counts.resimulated, status.resimulated);
            assert_eq!(counts.rollbacks, status.rollbacks);
            let notes = seat.notes().unwrap();
            assert_eq!(notes.depths.iter().max(), Some(&status.max_rollback_depth));
            let mut settled = notes.own.iter().filter(|own| own.tick >= Tick(120));
            assert!(settled.all(|own| own.ticks <= 2));
            assert!(!notes.corrections.is_empty());
        }
    }
}

#[test]
fn bots_give_the_same_commands_whichever_model_it_is() {
    fn given<M: ArenaModel>() -> Vec<u64> {
        let mut arena: Arena<Skirmish, M> = Arena::open(config(false), 5).unwrap();
        arena.begin(4).unwrap();
        arena.play_until(seconds(10)).unwrap();
        arena.check_equal().unwrap();
        assert_eq!(arena.wrong_events(), 0);
        let told = arena.seat(OPENER).told().confirmed().len();
        assert!(told > 10, "{told}");
        let own = arena.seats().map(|(_, seat)| seat.delays().len() as u64);
        own.collect()
    }
    let lockstep = given::<Lockstep>();
    assert!(lockstep.iter().all(|given| *given > 6), "{lockstep:?}");
    for (one, other) in given::<Rollback>().into_iter().zip(lockstep) {
        // Those of the last moments may still be under way.
        assert!(one.abs_diff(other) <= 2, "{one} and {other}");
    }
}
