//! The lab: plans in, figures out.
//!
//! A [`Plan`] is a TOML file that names an experiment, the conditions it runs under, the figures a source document
//! published and what is expected to hold. [`run`] measures it, in virtual time unless told otherwise, and returns
//! a [`RunResult`] with a row per case and metric: *published* (the document's figure), *theirs* (its algorithm as a
//! configuration of our code) and *ours* (the default).
//!
//! Expectations hold for a plan's run and for its short variant (`--quick`), whatever the seed; some only the whole run can decide.
//! A run under other conditions (`--set`) judges those whose case it has, but a miss does not fail it. Figures that depend on the machine,
//! those of `--real` among them, never fail anything.
//!
//! A [`Report`] covers all plans: one HTML page, a summary in Markdown, and the tables of `highlights.toml` in files
//! that ask for them by name.
//!
//! What the lab does *not* do: it holds no networking of its own. Virtual time comes from `samestep-sim`, sockets
//! from `samestep-transport`.
//!
//! ```
//! use samestep_lab::{Plan, RunOptions, run};
//!
//! let plan = Plan::find("delivery")?;
//! let sets = [("link.latency_ms", "20"), ("link.loss", "5%"), ("seconds", "5"), ("repeats", "1")];
//! let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
//! let result = run(&plan, &RunOptions { sets, ..RunOptions::default() })?;
//! let row = &result.rows[0];
//! assert_eq!((row.case.as_str(), row.metric.as_str()), ("20ms/5%/unreliable", "latency_mean"));
//! assert!(row.ours.is_some_and(|ms| (20.0..21.0).contains(&ms)));
//! # Ok::<(), samestep_lab::LabError>(())
//! ```

mod delay_room;
mod deterministic;
mod display;
mod error;
mod experiment;
mod experiments;
mod fight;
mod highlights;
mod link;
mod machine;
mod markers;
mod matrix;
mod pair;
mod parameters;
mod plan;
mod plot;
mod real;
mod real_room;
mod reference;
mod report;
mod run;
mod samples;
mod soak;
mod stats;
mod stream;
mod summary;
mod table;
mod testmatch;
mod testroom;

pub use error::LabError;
pub use experiment::{Experiment, Metric};
pub use machine::Machine;
pub use parameters::{Domain, Key};
pub use plan::{Expectation, Plan, Published};
pub use real_room::be_clients;
pub use report::{Failure, Report, Run, check_blocks};
pub use run::{Judgement, ResultRow, RunOptions, RunResult, run, save};
pub use soak::{AUTHORITY, REWIND, suite, suites};
pub use stats::Samples;
pub use table::{closing, render};
