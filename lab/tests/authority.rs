//! Games that one program decides. A failing seed replays with `samestep lab soak --suite authority --seeds 1 --seed N`.

use samestep_lab::AUTHORITY;
use samestep_sim::soak;

#[test]
fn everyone_soon_has_what_the_authority_has() {
    let report = soak(AUTHORITY, 0, 50, |_| ());
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

/// A guest wakes after seconds, and its acknowledgement of what came meanwhile is lost: the host's window is full of it, and stays so unless it asks.
#[test]
fn who_wakes_up_is_spoken_to_though_its_acknowledgement_was_lost() {
    let report = soak(AUTHORITY, 1462, 1, |_| ());
    assert!(report.failures.is_empty(), "{}", report.failures[0]);
}
