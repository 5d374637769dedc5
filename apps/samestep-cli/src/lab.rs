//! `samestep lab`: list, run, report, soak.

mod report;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use report::ReportArguments;
use samestep_lab::{Plan, RunOptions};
use samestep_sim::{SoakReport, Suite, soak};

#[derive(Subcommand)]
pub enum Command {
    /// List the plans
    List {
        /// Also list each plan's metrics and the keys that --set accepts
        #[arg(long)]
        keys: bool,
    },
    /// Run one plan: table, CSV, JSON, plots; fails if an expectation is missed without a known reason
    Run(RunArguments),
    /// Run all plans; write one HTML page, and a summary in Markdown
    Report(ReportArguments),
    /// Run random worlds and check what the protocol, sessions and models promise
    Soak(SoakArguments),
    /// Run some of the clients of a room over real sockets: started by `run --real`
    #[command(hide = true)]
    RoomClients {
        /// Given by the room
        arguments: Vec<String>,
    },
}

#[derive(Args)]
pub struct RunArguments {
    /// Name of a plan, or path of a .toml file
    plan: String,
    /// Run the short variant
    #[arg(long)]
    quick: bool,
    /// Use real sockets instead of virtual time: figures depend on the machine, and a miss never fails the run
    #[arg(long)]
    real: bool,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Override the plan; several values (key=a,b) make a case each. Expectations are then shown but not enforced
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Short for --set seconds=N
    #[arg(long, value_name = "N")]
    seconds: Option<String>,
    /// Output directory; the plan gets a directory of its own in it
    #[arg(long, value_name = "DIR", default_value = "lab-out")]
    out: PathBuf,
    /// Also write the result to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
pub struct SoakArguments {
    /// Family of worlds to run; all of them unless given
    #[arg(long, value_name = "NAME", value_parser = suite)]
    suite: Option<Suite>,
    /// Number of worlds
    #[arg(long, value_name = "N")]
    seeds: u64,
    /// Seed of the first world; the next ones count up from it
    #[arg(long, value_name = "B", default_value_t = 1)]
    seed: u64,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("write key=value, for example link.loss=5%")?;
    Ok((key.trim().to_string(), value.trim().to_string()))
}

fn suite(name: &str) -> Result<Suite, String> {
    let names = Vec::from_iter(samestep_lab::suites().into_iter().map(Suite::name)).join(", ");
    samestep_lab::suite(name)
        .ok_or_else(|| format!("there is no suite \"{name}\"; the suites are {names}"))
}

pub fn run(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::List { keys } => list(keys),
        Command::Run(arguments) => run_plan(arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Soak(arguments) => run_soak(&arguments),
        Command::RoomClients { arguments } => {
            samestep_lab::be_clients(&arguments)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(keys: bool) -> Result<ExitCode, Box<dyn Error>> {
    let mut text = String::new();
    for plan in Plan::all()? {
        text += &format!("{:<21}{}\n", plan.name, plan.title);
        if !keys {
            text += &format!("{:<21}{}\n", "", plan.source);
            continue;
        }
        text += "  metrics\n";
        for metric in plan.experiment.metrics {
            text += &format!("    {:<20}{:<6}{}\n", metric.name, metric.unit, metric.what);
        }
        text += if plan.experiment.real {
            "  keys (virtual time and --real)\n"
        } else {
            "  keys (virtual time only)\n"
        };
        for key in plan.experiment.keys() {
            let values: Vec<_> = plan
                .defaults(key)?
                .iter()
                .map(ToString::to_string)
                .collect();
            text += &format!("    {:<20}{}\n", key.name, key.what);
            let default = if values.is_empty() {
                "the profile's".to_string()
            } else {
                values.join(", ")
            };
            text += &format!("    {:<20}default {default}; takes {}\n", "", key.domain);
        }
        text += "\n";
    }
    // A reader who has seen enough (`| head`) closes the pipe; that is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn run_plan(arguments: RunArguments) -> Result<ExitCode, Box<dyn Error>> {
    let plan = Plan::find(&arguments.plan)?;
    let mut sets = arguments.set;
    sets.extend(
        arguments
            .seconds
            .map(|seconds| ("seconds".to_string(), seconds)),
    );
    let options = RunOptions {
        seed: arguments.seed,
        quick: arguments.quick,
        real: arguments.real,
        sets,
        out: Some(arguments.out),
        progress: true,
    };
    let result = samestep_lab::run(&plan, &options)?;
    if let Some(file) = &arguments.json {
        samestep_lab::save(file, &result.to_json())?;
    }
    print!("{}", samestep_lab::render(&result));
    let files = result.directory.as_ref();
    let files = files.map_or(String::new(), |files| {
        format!("; files in {}", files.display())
    });
    println!("took {:.1} s{files}", result.took.as_secs_f64());
    Ok(verdict(result.ok()))
}

fn run_soak(arguments: &SoakArguments) -> Result<ExitCode, Box<dyn Error>> {
    let suites = arguments
        .suite
        .map_or_else(samestep_lab::suites, |suite| vec![suite]);
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {eta} {wide_msg}")?;
    let mut all = SoakReport::default();
    for suite in suites {
        println!(
            "suite {}, {} worlds from seed {}",
            suite.name(),
            arguments.seeds,
            arguments.seed
        );
        let bar = ProgressBar::new(arguments.seeds).with_style(style.clone());
        let mut reported = 0;
        let report = soak(suite, arguments.seed, arguments.seeds, |report| {
            // A failure is worth knowing at once: the run may take an hour.
            for failure in &report.failures[reported..] {
                bar.suspend(|| println!("{failure}"));
            }
            reported = report.failures.len();
            bar.set_position(report.worlds);
            bar.set_message(report.to_string());
        });
        bar.finish_and_clear();
        println!("{report}");
        for failure in &report.failures {
            println!(
                "replay: samestep lab soak --suite {} --seeds 1 --seed {}",
                suite.name(),
                failure.seed
            );
        }
        all.worlds += report.worlds;
        all.messages += report.messages;
        all.failures.extend(report.failures);
    }
    println!(
        "worlds {}, messages {}, failures {}",
        all.worlds,
        all.messages,
        all.failures.len()
    );
    Ok(verdict(all.failures.is_empty()))
}

fn verdict(ok: bool) -> ExitCode {
    if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
