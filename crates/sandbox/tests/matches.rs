//! Whole matches in the sandbox.

use samestep_catalog::sublockus::{Controls, Sublockus};
use samestep_sandbox::{Conditions, Driver, Gauge, ModelKind, Playable, Sandbox, Scenario, Server};

fn scenario<G: Playable>(model: &str) -> Scenario {
    let mut scenario = Scenario::new(G::NAME);
    scenario.model = ModelKind::named(model).unwrap();
    scenario.set_conditions(Conditions::preset("broadband").unwrap());
    scenario
}

fn play<G: Playable>(scenario: &Scenario, steps: u64) -> Sandbox<G> {
    let mut sandbox = Sandbox::<G>::new(scenario).unwrap();
    (0..steps).for_each(|_| sandbox.step());
    sandbox
}

fn every_model<G: Playable>() {
    for kind in ModelKind::ALL {
        for server in Server::ALL
            .into_iter()
            .filter(|server| server.supports(*kind) && G::supports(*kind))
        {
            let mut scenario = scenario::<G>(kind.name);
            scenario.server = server;
            scenario.set_players(3);
            scenario.set_conditions(Conditions::preset("lte").unwrap());
            let sandbox = play::<G>(&scenario, 240);
            let what = format!("{} {} {}", G::NAME, kind.name, server.name());
            for player in 0..3 {
                assert!(sandbox.now().tick(player).0 > 200, "{what}");
                let gauges = sandbox.gauges(player);
                let trip = gauges.latest(Gauge::RoundTrip).unwrap();
                let is_host = server != Server::Dedicated && player == 0;
                assert_eq!(trip > 35.0, !is_host, "{what}: {trip} ms");
                assert!(
                    gauges.latest(Gauge::ClockError).unwrap().abs() < 40.0,
                    "{what}"
                );
                assert!(gauges.series(Gauge::Download).sum::<f32>() > 10.0, "{what}");
            }
            assert!(sandbox.desyncs().is_empty(), "{what}");
            let again = play::<G>(&scenario, 240);
            assert_eq!(again.checksum(), sandbox.checksum(), "{what}");
        }
    }
}

macro_rules! under_every_model {
    ($($name:ident => $game:ty,)*) => {
        mod is_played_under_every_model {
            $(
                #[test]
                fn $name() {
                    super::every_model::<$game>();
                }
            )*
        }
    };
}
samestep_catalog::for_each_game!(under_every_model);

#[test]
fn the_model_changes_while_it_runs() {
    let mut sandbox = play::<Sublockus>(&scenario::<Sublockus>("lockstep"), 60);
    for name in [
        "rollback",
        "event-delay",
        "state-sync",
        "event-delay",
        "rewind",
        "snapshot",
        "lockstep",
    ] {
        let kind = ModelKind::named(name).unwrap();
        assert!(sandbox.set_model(kind));
        let steps = (0..120).take_while(|_| {
            sandbox.step();
            sandbox.model() != kind
        });
        let steps = steps.count();
        assert!(steps < 60, "{name} took {steps} steps");
        assert_eq!(sandbox.scenario().model, kind);
        let before = sandbox.now().tick(0);
        (0..60).for_each(|_| sandbox.step());
        assert!(sandbox.now().tick(0).since(before) > 50, "{name}");
    }
}

#[test]
fn a_match_is_had_again_with_all_that_was_done() {
    let mut sandbox = Sandbox::<Sublockus>::new(&scenario::<Sublockus>("rollback")).unwrap();
    sandbox.set_driver(0, Driver::Human);
    let mut sums = Vec::new();
    for step in 0..400u64 {
        if step == 30 {
            sandbox.set_conditions(1, Conditions::preset("bad-wifi").unwrap());
        }
        if step == 120 {
            sandbox.set_model(ModelKind::named("state-sync").unwrap());
        }
        sandbox.set_input(
            0,
            Controls {
                right: step % 90 < 45,
                left: step % 90 >= 45,
                jump: step % 20 < 5,
                ..Controls::default()
            },
        );
        sandbox.step();
        sums.push(sandbox.checksum());
    }
    let mut again = sandbox.rerun(200).unwrap();
    for sum in &sums[..200] {
        again.step();
        assert_eq!(again.checksum(), *sum, "step {}", again.now().step());
    }
    assert_eq!(again.model().name, "state-sync");
    // From here on it may become another one.
    again.set_driver(0, Driver::Bot);
    (0..200).for_each(|_| again.step());
    assert_ne!(Some(&again.checksum()), sums.last());
}
