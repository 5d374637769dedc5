//! Two hundred random worlds of the protocol; `make soak` runs thousands. Printed seeds replay: see `Suite::run`.

use samestep_sim::{Suite, soak};

#[test]
fn every_promise_of_the_protocol_holds() {
    let count = 200;
    let report = soak(Suite::PROTOCOL, 0, count, |_| ());
    println!("{report}");
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
    assert!(report.messages >= 1_000 * count, "{report}");
}
