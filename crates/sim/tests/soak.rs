//! Two thousand random worlds, in parts so that they run side by side. Printed seeds replay: see `Suite::run`.

use samestep_sim::{Suite, soak};

fn run(part: u64) {
    let (first, count) = (part * 250, 250);
    println!("seeds {first} to {}", first + count - 1);
    let report = soak(Suite::PROTOCOL, first, count, |_| ());
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

#[test]
fn worlds_0_to_249() {
    run(0);
}

#[test]
fn worlds_250_to_499() {
    run(1);
}

#[test]
fn worlds_500_to_749() {
    run(2);
}

#[test]
fn worlds_750_to_999() {
    run(3);
}

#[test]
fn worlds_1000_to_1249() {
    run(4);
}

#[test]
fn worlds_1250_to_1499() {
    run(5);
}

#[test]
fn worlds_1500_to_1749() {
    run(6);
}

#[test]
fn worlds_1750_to_1999() {
    run(7);
}
