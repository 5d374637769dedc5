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
