//! Games of an authority that recomputes its last ticks. A failing seed replays with `samestep lab soak --suite rewind --seeds 1 --seed N`.

use samestep_lab::REWIND;
use samestep_sim::soak;

#[test]
fn what_is_confirmed_stays_and_belongs_to_one() {
    let report = soak(REWIND, 0, 50, |_| ());
    println!("rewind: {report}");
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
}
