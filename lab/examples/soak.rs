//! Random worlds from the command line: `soak SUITE COUNT [FIRST_SEED]`, or `soak SUITE trace SEED` to see all of one.

use samestep_lab::{suite, suites};
use samestep_sim::{Suite, soak};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| arguments.get(index).map_or("", String::as_str);
    let number = |index: usize, default| word(index).parse().unwrap_or(default);
    let Some(suite) = suite(word(0)) else {
        let names = Vec::from_iter(suites().into_iter().map(Suite::name)).join(", ");
        eprintln!("which suite? {names}");
        std::process::exit(2);
    };
    if word(1) == "trace" {
        let (messages, result) = suite.replay(number(2, 0), &mut |line| println!("{line}"));
        println!("{messages} messages: {result:?}");
        return;
    }
    let mut known = 0;
    let report = soak(suite, number(2, 0), number(1, 100), |report| {
        for failure in &report.failures[known..] {
            println!("{failure}");
        }
        known = report.failures.len();
    });
    println!("{report}");
    std::process::exit(i32::from(!report.failures.is_empty()));
}
