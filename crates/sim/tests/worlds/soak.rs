//! Two hundred random worlds of the protocol, and those worlds of rooms in which a promise was once broken; `make soak` runs thousands. Printed seeds
//! replay: see `Suite::run`.

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

fn assert_hold(suite: Suite, seeds: &[u64]) {
    for seed in seeds {
        let (_, outcome) = suite.run(*seed);
        assert_eq!(outcome, Ok(()), "{} {seed}", suite.name());
    }
}

#[test]
fn promises_of_sessions_that_were_once_broken_hold() {
    let seeds = [
        71, 134, 201, 209, 212, 237, 253, 319, 468, 518, 597, 724, 869, 951, 967, 979, 1069, 1138,
        550, 876, 1442, 2109, 3079, 4054, 4648, 5396,
    ];
    assert_hold(Suite::SESSIONS, &seeds);
}

#[test]
fn promises_of_actions_that_were_once_broken_hold() {
    assert_hold(Suite::ACTIONS, &[36, 800, 1278, 30024]);
}
