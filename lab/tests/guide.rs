//! The guide's table of delays is what its plan measures now.

use std::time::Duration;

use samestep_lab::{Machine, Plan, Report, Run, RunOptions, run};

#[test]
fn the_guide_has_the_delays_that_the_plan_measures() {
    let plan = Plan::find("felt-delay").unwrap();
    let result = run(&plan, &RunOptions::default()).unwrap();
    let report = Report {
        runs: vec![Run {
            plan: &plan,
            result: &result,
        }],
        failed: Vec::new(),
        machine: Machine::here(),
        command: String::new(),
        seed: 1,
        quick: false,
        took: Duration::ZERO,
    };
    let guide = std::fs::read_to_string("../GUIDE.md").unwrap();
    let fresh = report.refresh("GUIDE.md", &guide).unwrap();
    let changed = fresh.lines().filter(|line| !guide.contains(line));
    assert_eq!(
        changed.collect::<Vec<_>>(),
        Vec::<&str>::new(),
        "the delays in GUIDE.md are others now: run `make report`"
    );
}
