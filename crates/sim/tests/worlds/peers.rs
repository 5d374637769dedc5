//! Fifty random rooms of the suite `peers`; a soak runs thousands. A fault in one member is found.

use samestep_sim::{OwnersFault, Suite, run_broken_peers, soak};

#[test]
fn exact_variables_keep_their_promises() {
    let report = soak(Suite::PEERS, 0, 50, |_| ());
    println!("{report}");
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
    assert!(report.messages > 50 * 100, "{report}");
}

#[test]
fn every_fault_is_found() {
    for fault in OwnersFault::ALL {
        let found = (0..20).find(|seed| run_broken_peers(*seed, fault).is_err());
        assert!(found.is_some(), "{fault:?} is not found");
    }
}

/// The sequencer of a variable was cut off while it waited for one that had crashed: it gave up waiting for all.
#[test]
fn seeds_that_found_faults() {
    let report = soak(Suite::PEERS, 344, 1, |_| ());
    assert!(report.failures.is_empty(), "{}", report.failures[0]);
}
