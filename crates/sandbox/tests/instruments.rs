//! Gauges, history, recordings and desyncs.

use samestep_catalog::evaluation::Evaluation;
use samestep_catalog::skirmish::Skirmish;
use samestep_catalog::sublockus::Sublockus;
use samestep_sandbox::{Conditions, Gauge, ModelKind, Playable, Sandbox, Scenario};
use samestep_sync::{Live, Playback, Replay, Replicate};

fn open<G: Playable>(model: &str, change: impl FnOnce(&mut Scenario)) -> Sandbox<G> {
    let mut scenario = Scenario::new(G::NAME);
    scenario.model = ModelKind::named(model).unwrap();
    scenario.set_conditions(Conditions::preset("broadband").unwrap());
    change(&mut scenario);
    Sandbox::new(&scenario).unwrap()
}

fn steps<G: Playable>(sandbox: &mut Sandbox<G>, count: u64) {
    (0..count).for_each(|_| sandbox.step());
}

/// The mean of the last so many seconds.
fn lately<G: Playable>(sandbox: &Sandbox<G>, player: usize, gauge: Gauge, seconds: usize) -> f32 {
    let series = sandbox.gauges(player).series(gauge).rev();
    let values: Vec<f32> = series.take(10 * seconds).collect();
    values.iter().sum::<f32>() / values.len() as f32
}

#[test]
fn a_line_that_changes_shows_at_its_player_alone() {
    let mut sandbox = open::<Sublockus>("rollback", |_| {});
    steps(&mut sandbox, 300);
    let before = lately(&sandbox, 0, Gauge::RoundTrip, 2);
    assert!((20.0..45.0).contains(&before), "{before} ms");
    let mut slow = Conditions::default();
    slow.latency_ms = 150.0;
    sandbox.set_conditions(0, slow);
    steps(&mut sandbox, 600);
    let (slow, other) = (
        lately(&sandbox, 0, Gauge::RoundTrip, 2),
        lately(&sandbox, 1, Gauge::RoundTrip, 2),
    );
    assert!((295.0..345.0).contains(&slow), "{slow} ms");
    assert!((20.0..45.0).contains(&other), "{other} ms");
}

#[test]
fn the_gauges_tell_the_models_apart() {
    let far = |scenario: &mut Scenario| {
        scenario.set_conditions(Conditions::default());
        (0..2).for_each(|player| scenario.conditions_mut(player).latency_ms = 80.0);
    };
    let played = |model| {
        let mut sandbox = open::<Sublockus>(model, far);
        steps(&mut sandbox, 600);
        sandbox
    };
    let (lockstep, rollback, snapshot) =
        (played("lockstep"), played("rollback"), played("snapshot"));
    assert_eq!(lately(&lockstep, 0, Gauge::Corrections, 5), 0.0);
    assert!(lately(&lockstep, 0, Gauge::BufferDelay, 5) > 60.0);
    assert!(lately(&rollback, 0, Gauge::Corrections, 5) > 1.0);
    assert!(lately(&rollback, 0, Gauge::RollbackDepth, 5) > 0.5);
    assert!(lately(&snapshot, 0, Gauge::BufferDelay, 5) > 20.0);
    let down = |sandbox| lately(sandbox, 0, Gauge::Download, 5);
    assert!(down(&snapshot) > 5.0 && down(&lockstep) > 5.0);
}

#[test]
fn moments_stay_as_they_were() {
    let mut sandbox = open::<Sublockus>("state-sync", |_| {});
    let mut sums = Vec::new();
    for _ in 0..200 {
        sandbox.step();
        sums.push(sandbox.now().view(1).clone().checksum());
    }
    for (step, sum) in (1..).zip(&sums) {
        let record = sandbox.history().at(step).unwrap();
        assert_eq!(
            (record.step(), record.view(1).clone().checksum()),
            (step, *sum)
        );
    }
    assert_eq!(sandbox.history().range(), Some((0, 200)));
    assert!(
        sandbox
            .history()
            .at(1_000)
            .is_some_and(|record| record.step() == 200)
    );
}

#[test]
fn large_games_are_kept_for_a_while_too() {
    let mut sandbox = open::<Skirmish>("lockstep", |scenario| scenario.size = Some(4_000));
    steps(&mut sandbox, 120);
    let (first, last) = sandbox.history().range().unwrap();
    assert!(first == 0 && last > 110, "{first} to {last}");
    assert!(sandbox.now().truth().units().len() > 4_000);
}

#[test]
fn the_recording_plays_to_the_same_states() {
    for kind in ModelKind::ALL {
        let mut sandbox = open::<Sublockus>(kind.name, |_| {});
        steps(&mut sandbox, 400);
        let replay = Replay::parse(sandbox.recording()).unwrap();
        assert!(replay.end().0 > 350, "{}", kind.name);
        let world = Live::without_recording(sandbox.now().truth().clone());
        let mut playback = Playback::new(replay, world).unwrap();
        let verified = playback.verify().unwrap();
        assert!(
            verified.ticks > 350 && verified.checksums > 3,
            "{}",
            kind.name
        );
        if sandbox.now().truth_tick() == playback.tick() {
            assert_eq!(
                playback.world().state().clone().checksum(),
                sandbox.checksum()
            );
        }
    }
}

#[test]
fn tampering_is_detected() {
    for model in ["lockstep", "rollback"] {
        let mut sandbox = open::<Evaluation>(model, |_| {});
        steps(&mut sandbox, 120);
        sandbox.tamper(1);
        steps(&mut sandbox, 240);
        let found: Vec<_> = sandbox
            .desyncs()
            .iter()
            .map(|desync| desync.found_by)
            .collect();
        assert!(
            found.contains(&Some(1)) && found.contains(&None),
            "{model}: {found:?}"
        );
        let own = sandbox
            .desyncs()
            .iter()
            .find(|desync| desync.found_by == Some(1));
        let report = &own.unwrap().report;
        assert!(
            report.bundle.is_some() && report.to_string().contains("colour"),
            "{model}: {report}"
        );
        let count = found.len();
        steps(&mut sandbox, 240);
        assert_eq!(sandbox.desyncs().len(), count, "{model}: it was repaired");
    }
}

#[test]
fn nobody_is_lost_for_good_on_a_terrible_line() {
    let mut sandbox = open::<Sublockus>("state-sync", |_| {});
    let mut terrible = Conditions::default();
    (terrible.latency_ms, terrible.jitter_ms) = (400.0, 100.0);
    (terrible.loss, terrible.burst_ms) = (0.6, 500.0);
    sandbox.set_conditions(1, terrible);
    steps(&mut sandbox, 1_200);
    sandbox.set_conditions(1, Conditions::default());
    steps(&mut sandbox, 600);
    let (own, server) = (sandbox.now().tick(1), sandbox.now().truth_tick());
    assert!(own.0 + 30 > server.0, "{own} of {server}");
    assert!(
        sandbox
            .now()
            .view(1)
            .character_of(samestep_sync::PlayerId(0))
            .is_some()
    );
}
