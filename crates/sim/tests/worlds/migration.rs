//! Matches outlive their hosts, under every model.

use std::time::Duration;

use samestep_sim::{HostLoss, Migration, Suite, soak};
use samestep_sync::ModelKind;

#[test]
fn random_matches_go_on_without_their_hosts() {
    let report = soak(Suite::MIGRATION, 0, 60, |_| ());
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
}

#[test]
fn survivors_stand_still_for_less_than_two_seconds() {
    for kind in ModelKind::ALL {
        for loss in HostLoss::ALL {
            for players in [3, 6] {
                let latency = Duration::from_millis(25);
                let migration = Migration::new(kind.config(), players, latency, loss);
                let outcome = migration.run(1, &mut |_| ());
                let case = format!("{} {} {players}: {outcome:?}", kind.name, loss.name());
                assert!(outcome.broken.is_empty(), "{case}");
                assert_eq!((outcome.events_lost, outcome.inputs_lost), (0, 0), "{case}");
                let longest = outcome.standstills.iter().max().unwrap();
                assert!(*longest <= Duration::from_secs(2), "{case}");
            }
        }
    }
}

/// An input that a guest gave before it had the new host's state overtook those that it gave again.
#[test]
fn what_is_given_meanwhile_does_not_overtake_what_is_given_again() {
    let kind = ModelKind::named("lockstep").expect("a model");
    let latency = Duration::from_millis(10);
    let migration = Migration::new(kind.config(), 4, latency, HostLoss::Leaves);
    let outcome = migration.run(11_904_322_950_028_659_555, &mut |_| ());
    assert!(outcome.broken.is_empty(), "{outcome:?}");
    assert_eq!(
        (outcome.events_lost, outcome.inputs_lost),
        (0, 0),
        "{outcome:?}"
    );
}

/// A host that leaves is hardly missed over ordinary latencies, whatever the model: the picture moves on.
#[test]
fn a_host_that_leaves_hands_over_without_a_pause() {
    for kind in ModelKind::ALL {
        let latency = Duration::from_millis(25);
        let migration = Migration::new(kind.config(), 4, latency, HostLoss::Leaves);
        let runs = (0..10).map(|seed| migration.run(seed, &mut |_| ()));
        let mut pauses: Vec<Duration> = runs.flat_map(|run| run.frozen_pictures).collect();
        pauses.sort_unstable();
        let (median, longest) = (pauses[pauses.len() / 2], pauses[pauses.len() - 1]);
        let what = format!("{}: {median:?}, {longest:?} at most", kind.name);
        println!("{what}");
        assert!(median <= Duration::from_millis(50), "{what}");
        assert!(longest <= Duration::from_millis(150), "{what}");
    }
}

/// 586: a guest that heard late of its next host gave what was substituted after what it had given since. 719: what the next host said was lost while the guest still heard the former one.
#[test]
fn seeds_that_found_faults() {
    for seed in [586, 719] {
        let (_, result) = Suite::MIGRATION.run(seed);
        assert_eq!(result, Ok(()), "seed {seed}");
    }
}
