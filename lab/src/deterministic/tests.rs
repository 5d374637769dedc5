use super::*;
use samestep_catalog::skirmish::Skirmish;
use samestep_netem::{LinkConfig, Path};
use samestep_sim::Topology;

fn config(topology: Topology) -> DeterministicConfig {
    let path = Path::symmetric(LinkConfig {
        latency: Duration::from_millis(20),
        ..LinkConfig::default()
    });
    DeterministicConfig {
        setup: MatchConfig {
            topology,
            step_cost: Duration::from_micros(100),
            ..MatchConfig::hosted(4, path, 1_000_000_000)
        },
        entities: 256,
        lockstep: LockstepConfig::default(),
        rollback: RollbackConfig::default(),
        detailed: true,
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn everyone_plays_and_stays_the_same() {
    for topology in [Topology::Hosted, Topology::Mesh] {
        let mut room: DeterministicMatch = DeterministicMatch::open(config(topology), 5).unwrap();
        room.begin(4).unwrap();
        room.play_until(seconds(4)).unwrap();
        room.check_equal().unwrap();
        assert!(room.observer().truth.len() > 4 && room.observer().early.len() < 8);
        let ticks = room.programs().map(|(_, program)| program.status().tick.0);
        assert!(ticks.min() > Some(220));
        // Eight commands a second of each: all but those under way are executed.
        let delays = room.command_delays(seconds(1));
        assert!((80..=96).contains(&delays.len()), "{}", delays.len());
        assert!(delays.max() < Some(250.0), "{:?}", delays.max());
        let views = room.course().all(0, |counts| counts.views as f64);
        assert_eq!(views.len(), 16);
        assert!(views.min() >= Some(59.0), "{:?}", views.min());
        let sent = room.course().all(0, |counts| counts.packets_sent as f64);
        assert!(sent.min() > Some(5.0), "{:?}", sent.min());
    }
}

#[test]
fn a_state_that_differs_is_seen_whether_the_model_looks_or_not() {
    let mut config = config(Topology::Hosted);
    config.lockstep.desync_check_interval = 0;
    let mut room: DeterministicMatch = DeterministicMatch::open(config, 5).unwrap();
    room.begin(4).unwrap();
    room.play_until(seconds(1)).unwrap();
    room.check_equal().unwrap();
    room.with(NodeId(2), |_, program| program.damage(false));
    room.play_until(seconds(3)).unwrap();
    assert!(room.differing().iter().all(|(node, _)| *node == NodeId(2)));
    let error = room.check_equal().unwrap_err();
    assert!(
        error.contains("node 2") && error.contains("seed 5"),
        "{error}"
    );
    assert!(room.notices().is_empty());
}

#[test]
fn a_machine_that_is_too_slow_shows() {
    let mut config = config(Topology::Hosted);
    config.setup.step_cost = Duration::from_millis(20);
    let mut room: DeterministicMatch = DeterministicMatch::open(config, 5).unwrap();
    room.begin(4).unwrap();
    room.play_until(seconds(3)).unwrap();
    let ticks = room.programs().map(|(_, program)| program.status().tick.0);
    assert!(ticks.max() < Some(170), "fifty steps a second at most");
}

#[test]
fn under_rollback_own_inputs_are_seen_at_once_and_what_is_put_right_is_counted() {
    for topology in [Topology::Hosted, Topology::Mesh] {
        let mut room: DeterministicMatch<Evaluation, Rollback> =
            DeterministicMatch::open(config(topology), 5).unwrap();
        room.begin(4).unwrap();
        room.play_until(seconds(4)).unwrap();
        room.check_equal().unwrap();
        assert!(room.observer().truth.len() > 4 && room.observer().early.len() < 8);
        let others = room.others_delays();
        assert!(others.len() > 3 * 80, "{}", others.len());
        assert!(others.min() > Some(20.0), "{:?}", others.min());
        for (_, program) in room.programs() {
            let (status, counts) = (program.status(), program.counts());
            assert_eq!(counts.resimulated, status.resimulated);
            assert_eq!(counts.rollbacks, status.rollbacks);
            let notes = program.notes().unwrap();
            assert_eq!(notes.depths.iter().max(), Some(&status.max_rollback_depth));
            let mut settled = notes.own.iter().filter(|own| own.tick >= Tick(120));
            assert!(settled.all(|own| own.ticks <= 2));
            assert!(!notes.corrections.is_empty());
        }
    }
}

#[test]
fn bots_give_the_same_commands_whichever_model_it_is() {
    fn given<M: DeterministicModel>() -> Vec<u64> {
        let mut room: DeterministicMatch<Skirmish, M> =
            DeterministicMatch::open(config(Topology::Hosted), 5).unwrap();
        room.begin(4).unwrap();
        room.play_until(seconds(10)).unwrap();
        room.check_equal().unwrap();
        assert_eq!(room.wrong_events(), 0);
        let events = room.program(OPENER).events().confirmed().len();
        assert!(events > 10, "{events}");
        let own = room
            .programs()
            .map(|(_, program)| program.delays().len() as u64);
        own.collect()
    }
    let lockstep = given::<Lockstep>();
    assert!(lockstep.iter().all(|given| *given > 6), "{lockstep:?}");
    for (one, other) in given::<Rollback>().into_iter().zip(lockstep) {
        // Those of the last moments may still be under way.
        assert!(one.abs_diff(other) <= 2, "{one} and {other}");
    }
}
