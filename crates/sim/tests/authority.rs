//! Games that one program decides. A failing seed replays with `samestep lab soak --suite authority --seeds 1 --seed N`.

use samestep_sim::{Suite, soak};

#[test]
fn everyone_soon_has_what_the_authority_has() {
    let report = soak(Suite::Authority, 0, 200, |_| ());
    println!("authority: {report}");
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
}
