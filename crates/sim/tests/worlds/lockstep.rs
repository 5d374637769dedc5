//! Games in lockstep through storms: everyone sees the same at every tick, and everyone plays on. A failing seed replays with
//! `samestep lab soak --suite lockstep --seeds 1 --seed N`.

use samestep_sim::{Suite, soak};

fn run(first: u64, count: u64) {
    let report = soak(Suite::LOCKSTEP, first, count, |_| ());
    println!("lockstep from seed {first}: {report}");
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
}

#[test]
fn everyone_sees_the_same_and_plays_on() {
    run(0, 50);
}

/// A member that was dropped while frozen, and the host's own words that came late.
#[test]
fn members_that_return_and_decrees_of_one_who_leads_no_more() {
    for seed in [216, 248, 278, 394] {
        run(seed, 1);
    }
}
