//! A mesh whose game has an authority outlives its leader: whoever is elected next goes on from the same state as all others.

use std::time::Duration;

use samestep_sim::{HostLoss, Migration, MigrationOutcome};
use samestep_sync::ModelKind;

/// The models in which one program decides.
const MODELS: [&str; 3] = ["snapshot", "state-sync", "rewind"];

fn play(model: &str, players: usize, loss: HostLoss, seed: u64) -> (String, MigrationOutcome) {
    let kind = ModelKind::named(model).expect("a model");
    let mut migration = Migration::new(kind.config(), players, Duration::from_millis(25), loss);
    migration.mesh = true;
    let trace = std::env::var("TRACE").is_ok();
    let outcome = migration.run(seed, &mut |line| {
        if trace {
            println!("{line}");
        }
    });
    let case = format!(
        "{model}, {players} players, {}, seed {seed}: {outcome:?}",
        loss.name()
    );
    (case, outcome)
}

fn goes_on(model: &str, players: usize, loss: HostLoss, seed: u64) {
    let (case, outcome) = play(model, players, loss, seed);
    println!("{case}");
    assert!(outcome.broken.is_empty(), "{case}");
    assert_eq!((outcome.events_lost, outcome.inputs_lost), (0, 0), "{case}");
    let longest = outcome.standstills.iter().max().expect("somebody is left");
    assert!(*longest <= Duration::from_secs(2), "{case}");
}

#[test]
fn the_leader_leaves() {
    for model in MODELS {
        for players in 2..=6 {
            goes_on(model, players, HostLoss::Leaves, players as u64);
        }
    }
}

#[test]
fn the_leader_dies() {
    for model in MODELS {
        for players in 3..=6 {
            goes_on(model, players, HostLoss::Dies, players as u64);
        }
    }
}
