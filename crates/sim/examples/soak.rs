//! Random worlds from the command line: `soak COUNT [FIRST_SEED]`, or `soak trace SEED` to see all of one.

use samestep_sim::{Suite, soak};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default| {
        arguments
            .get(index)
            .and_then(|word| word.parse().ok())
            .unwrap_or(default)
    };
    if arguments.first().is_some_and(|word| word == "trace") {
        let (messages, result) =
            Suite::Protocol.replay(number(1, 0), &mut |line| println!("{line}"));
        println!("{messages} messages: {result:?}");
        return;
    }
    let mut known = 0;
    let report = soak(Suite::Protocol, number(1, 0), number(0, 100), |report| {
        for failure in &report.failures[known..] {
            println!("{failure}");
        }
        known = report.failures.len();
    });
    println!("{report}");
    std::process::exit(i32::from(!report.failures.is_empty()));
}
