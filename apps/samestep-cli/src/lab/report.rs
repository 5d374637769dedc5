//! `samestep lab report`: every plan, one page.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use samestep_lab::{Failure, LabError, Machine, Plan, Report, Run, RunOptions, RunResult};

/// The summary that is part of the repository.
const SUMMARY: &str = "RESULTS.md";

#[derive(Args)]
pub struct ReportArguments {
    /// Directory for the page, index.html, and a directory per plan
    #[arg(long, value_name = "DIR", default_value = "lab-out")]
    out: PathBuf,
    /// Run the short variant of every plan, in virtual time only
    #[arg(long)]
    quick: bool,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// File for the summary; RESULTS.md unless given, but in DIR for --quick and for seeds other than 1
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Also refresh the tables between `<!-- figures: NAME -->` and `<!-- /figures -->` in this file
    #[arg(long, value_name = "FILE", conflicts_with = "quick")]
    figures: Vec<PathBuf>,
}

pub fn report(arguments: &ReportArguments) -> Result<ExitCode, Box<dyn Error>> {
    let started = Instant::now();
    if arguments.seed != 1 && !arguments.figures.is_empty() {
        return Err(
            "--figures writes what seed 1 gives, as RESULTS.md does: leave out --seed".into(),
        );
    }
    for file in &arguments.figures {
        samestep_lab::check_blocks(&file.display().to_string(), &read(file)?)?;
    }
    let machine = Machine::here();
    let plans = Plan::all()?;
    let mut jobs: Vec<(&Plan, bool)> = plans.iter().map(|plan| (plan, false)).collect();
    if !arguments.quick {
        let promising = |plan: &&Plan| plan.expectations.iter().any(|e| e.real);
        jobs.extend(plans.iter().filter(promising).map(|plan| (plan, true)));
    }
    let (mut results, mut failed) = (Vec::new(), Vec::new());
    for (number, (plan, real)) in jobs.iter().enumerate() {
        let name = format!("{}{}", plan.name, if *real { " --real" } else { "" });
        let label = format!("{:>2}/{}  {name:<23}", number + 1, jobs.len());
        match measure(arguments, plan, *real) {
            Ok(result) => {
                let took = result.took.as_secs_f64();
                println!("{label}{took:>6.1} s  {}", samestep_lab::closing(&result));
                results.push((*plan, result));
            }
            // The other plans are measured all the same.
            Err(error) => {
                println!("{label}FAILED: {error}");
                failed.push(Failure {
                    plan: plan.name.clone(),
                    real: *real,
                    why: error.to_string(),
                });
            }
        }
    }
    let runs = results.iter().map(|(plan, result)| Run { plan, result });
    let report = Report {
        runs: runs.collect(),
        failed,
        // The machine as it was at the beginning, but for the load, which the measuring itself causes.
        machine: Machine {
            load: Machine::here().load,
            ..machine
        },
        command: command(arguments),
        seed: arguments.seed,
        quick: arguments.quick,
        took: started.elapsed(),
    };
    write(arguments, &report)?;
    print!("{}", report.failures());
    Ok(super::verdict(report.ok()))
}

fn measure(arguments: &ReportArguments, plan: &Plan, real: bool) -> Result<RunResult, LabError> {
    let out = match real {
        true => arguments.out.join("real"),
        false => arguments.out.clone(),
    };
    let options = RunOptions {
        seed: arguments.seed,
        quick: arguments.quick,
        real,
        out: Some(out),
        progress: true,
        ..RunOptions::default()
    };
    samestep_lab::run(plan, &options)
}

fn write(arguments: &ReportArguments, report: &Report) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(&arguments.out)?;
    let page = arguments.out.join("index.html");
    samestep_lab::save(&page, &report.page()?)?;
    println!("page: {}", page.display());
    // A short run, or one with another seed, does not replace the summary of the repository.
    let usual = match arguments.quick || arguments.seed != 1 {
        true => arguments.out.join(SUMMARY),
        false => SUMMARY.into(),
    };
    let summary = arguments.summary.as_ref().unwrap_or(&usual);
    samestep_lab::save(summary, &report.summary()?)?;
    println!("summary: {}", summary.display());
    for file in &arguments.figures {
        let fresh = report.refresh(&file.display().to_string(), &read(file)?)?;
        samestep_lab::save(file, &fresh)?;
        println!("figures: {}", file.display());
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// The command that gives the same report again.
fn command(arguments: &ReportArguments) -> String {
    let mut command = "samestep lab report".to_string();
    if arguments.quick {
        command += " --quick";
    }
    if arguments.seed != 1 {
        command += &format!(" --seed {}", arguments.seed);
    }
    command
}
