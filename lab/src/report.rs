//! The report: every plan's figures, as one self-contained HTML page and as a summary in Markdown.

mod figures;
mod missed;
mod page;
mod section;

use std::time::Duration;

use maud::{Markup, PreEscaped};

use crate::error::LabError;
use crate::highlights::Highlights;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::run::RunResult;
use crate::{markers, summary};
pub(crate) use missed::{Missed, missed};

/// A plan and the result of a run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The result.
    pub result: &'a RunResult,
}

impl Run<'_> {
    /// True if it was run over real sockets.
    pub fn is_real(&self) -> bool {
        self.result.changed.iter().any(|change| change == "--real")
    }

    /// The anchor of its section, unique in a report.
    pub(crate) fn anchor(&self) -> String {
        match self.is_real() {
            true => format!("{}-real", self.plan.name),
            false => self.plan.name.clone(),
        }
    }

    /// The plan's name, and `--real` over real sockets.
    pub(crate) fn name(&self) -> String {
        match self.is_real() {
            true => format!("{} --real", self.plan.name),
            false => self.plan.name.clone(),
        }
    }

    /// How many expectations hold, and how many were judged.
    pub(crate) fn kept(&self) -> (usize, usize) {
        let all = self.result.expectations.iter();
        let judged: Vec<bool> = all.filter_map(|e| e.ok).collect();
        (judged.iter().filter(|ok| **ok).count(), judged.len())
    }
}

/// A plan that could not be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its name.
    pub plan: String,
    /// True if it was to run over real sockets: what a machine cannot do fails nothing.
    pub real: bool,
    /// The error.
    pub why: String,
}

impl Failure {
    /// The plan as it was to be run.
    pub(crate) fn name(&self) -> String {
        format!("{}{}", self.plan, if self.real { " --real" } else { "" })
    }
}

/// All runs, and the machine they were measured on.
pub struct Report<'a> {
    /// The runs, in the order in which they are shown.
    pub runs: Vec<Run<'a>>,
    /// Plans that could not be measured.
    pub failed: Vec<Failure>,
    /// The machine and the time.
    pub machine: Machine,
    /// The command.
    pub command: String,
    /// The seed of all randomness.
    pub seed: u64,
    /// True for the short variant of every plan.
    pub quick: bool,
    /// How long it took.
    pub took: Duration,
}

impl Report<'_> {
    /// The page. It needs no network, no scripts, and follows the reader's choice of light or dark.
    pub fn page(&self) -> Result<String, LabError> {
        Ok(page::page(self, &Highlights::load()?))
    }

    /// The summary, in Markdown.
    pub fn summary(&self) -> Result<String, LabError> {
        Ok(summary::summary(self, &Highlights::load()?))
    }

    /// A text whose blocks between `<!-- figures: NAME -->` and `<!-- /figures -->` are filled with the tables of that name;
    /// `origin` names the text in errors.
    pub fn refresh(&self, origin: &str, text: &str) -> Result<String, LabError> {
        let highlights = Highlights::load()?;
        markers::refreshed(origin, text, &highlights.names(), |name| {
            let table = highlights.named(name)?;
            Some(summary::block(table, &self.runs))
        })
    }

    /// True unless, in virtual time, a plan could not be measured or an expectation is missed without a known reason.
    pub fn ok(&self) -> bool {
        self.failed.iter().all(|failure| failure.real)
            && self.runs.iter().all(|run| run.result.ok())
    }

    /// What fails the report, as text for the terminal with the command that shows it; empty if nothing does.
    pub fn failures(&self) -> String {
        let mut text = String::new();
        for run in &self.runs {
            let failing = missed(self).into_iter();
            let failing = failing.filter(|m| m.fails && m.anchor == run.anchor());
            let lines: Vec<String> = failing
                .map(|m| {
                    format!(
                        "  {}: {} is {}, wanted {}\n",
                        m.case, m.metric, m.ours, m.wanted
                    )
                })
                .collect();
            if !lines.is_empty() {
                let quick = if self.quick { " --quick" } else { "" };
                let plan = &run.plan.name;
                text += &format!("MISSED in {plan}\n{}", lines.concat());
                text += &format!(
                    "  see: samestep lab run {plan}{quick} --seed {}\n",
                    self.seed
                );
            }
        }
        for failure in self.failed.iter().filter(|failure| !failure.real) {
            let (plan, why) = (&failure.plan, &failure.why);
            text += &format!("FAILED: {plan} could not be measured: {why}\n");
        }
        text
    }

    /// The machine, the time, the seed and the duration, as names and values.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = self.machine.facts();
        let variant = match self.quick {
            true => ", the short variant of every plan",
            false => "",
        };
        facts.push(("Seed", format!("{}{variant}", self.seed)));
        facts.push(("Took", minutes(self.took)));
        facts
    }
}

/// Checks the blocks of a text before anything is measured for them.
pub fn check_blocks(origin: &str, text: &str) -> Result<(), LabError> {
    let highlights = Highlights::load()?;
    let known = |name: &str| highlights.named(name).map(|_| String::new());
    markers::refreshed(origin, text, &highlights.names(), known).map(drop)
}

/// A page for these runs by themselves.
pub fn html(runs: &[(&Plan, &RunResult)]) -> Result<String, LabError> {
    let runs = runs.iter().map(|(plan, result)| Run { plan, result });
    Ok(page::plain(&runs.collect::<Vec<_>>(), &Highlights::load()?))
}

/// As `12 min 5 s` or `48 s`.
pub(crate) fn minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0 => format!("{:.1} s", time.as_secs_f64()),
        1..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The Markdown that the highlights use: `**bold**`, `*slanted*` and code.
fn inline(text: &str) -> Markup {
    let paired = |text: String, mark: &str, tag: &str| {
        let mut parts = text.split(mark);
        let mut written = parts.next().unwrap_or_default().to_string();
        for (index, part) in parts.enumerate() {
            let end = if index % 2 == 0 { "" } else { "/" };
            written += &format!("<{end}{tag}>{part}");
        }
        written
    };
    let text = paired(escape(text), "**", "b");
    PreEscaped(paired(paired(text, "*", "i"), "`", "code"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Judgement, ResultRow};

    impl Report<'_> {
        /// Nothing yet, of nowhere.
        pub fn empty() -> Report<'static> {
            Report {
                runs: Vec::new(),
                failed: Vec::new(),
                machine: Machine::default(),
                command: "samestep lab report".into(),
                seed: 1,
                quick: false,
                took: Duration::ZERO,
            }
        }
    }

    /// About the plan `delivery`.
    pub fn judgement(ok: Option<bool>, missed: Option<&str>) -> Judgement {
        Judgement {
            metric: "latency_mean".into(),
            case: "200ms/10%/reliable-ordered".into(),
            op: "<=",
            value: 200.0,
            ours: Some(204.0),
            ok,
            missed: missed.map(String::from),
            enforced: true,
            whole: false,
            wall_clock: false,
        }
    }

    /// Of the plan `delivery`.
    pub fn result(rows: Vec<ResultRow>, expectations: Vec<Judgement>) -> RunResult {
        RunResult {
            plan: "delivery".into(),
            seed: 1,
            changed: Vec::new(),
            conditions: vec![("interval_ms".into(), "100".into())],
            varied: vec![("link.loss".into(), "0, 0.1".into())],
            columns: ["theirs", "ours"],
            rows,
            expectations,
            plots: Vec::new(),
            directory: None,
            took: Duration::from_secs(3),
        }
    }

    pub fn row() -> ResultRow {
        ResultRow {
            case: "200ms/10%/reliable-ordered".into(),
            metric: "latency_mean".into(),
            unit: "ms".into(),
            wall_clock: false,
            published: Some(1059.06),
            theirs: Some(391.0),
            ours: Some(204.0),
        }
    }

    #[test]
    fn the_page_stands_alone_and_says_what_failed() {
        let plan = Plan::find("delivery").unwrap();
        let result = result(vec![row()], vec![judgement(Some(false), None)]);
        let report = Report {
            runs: vec![Run {
                plan: &plan,
                result: &result,
            }],
            failed: [("clock", false, "no connection"), ("jitter", true, "busy")]
                .map(|(plan, real, why)| Failure {
                    plan: plan.into(),
                    real,
                    why: why.into(),
                })
                .to_vec(),
            ..Report::empty()
        };
        assert!(!report.ok());
        let failures = "MISSED in delivery\n  200ms/10%/reliable-ordered: latency_mean, ms is 204, wanted at most 200\n  \
                        see: samestep lab run delivery --seed 1\nFAILED: clock could not be measured: no connection\n";
        assert_eq!(report.failures(), failures);
        let page = report.page().unwrap();
        for words in [
            "1059.1",
            "class=\"why bad\">MISSED",
            "at most 200",
            "could not be measured: no connection",
            "<dt>link.loss</dt><dd>0, 0.1</dd>",
            "prefers-color-scheme",
            "0.19</td>",
        ] {
            assert!(page.contains(words), "{words} is not in {page}");
        }
        // The name of SVG's language is no address to fetch.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains("http") && !page.contains("<script") && !page.contains("@import"));
        let summary = report.summary().unwrap();
        for words in [
            "**204 ms**",
            "| `delivery` |",
            "at most 200",
            "no connection",
        ] {
            assert!(summary.contains(words), "{words} is not in {summary}");
        }
    }

    #[test]
    fn what_a_machine_cannot_do_turns_nothing_red() {
        let mut report = Report::empty();
        report.failed.push(Failure {
            plan: "lockstep-scale".into(),
            real: true,
            why: "too few files".into(),
        });
        assert!(report.ok() && report.failures().is_empty());
        let summary = report.summary().unwrap();
        assert!(
            summary.contains(
                "| `lockstep-scale --real` | | | | could not be measured | too few files |"
            )
        );
    }

    #[test]
    fn a_file_gets_its_tables_word_for_word_as_the_summary_has_them() {
        let plan = Plan::find("delivery").unwrap();
        let result = result(vec![row()], Vec::new());
        let report = Report {
            runs: vec![Run {
                plan: &plan,
                result: &result,
            }],
            ..Report::empty()
        };
        let text = "<!-- figures: glance -->\n<!-- /figures -->\n";
        let text = report.refresh("README.md", text).unwrap();
        let blocks = markers::blocks("README.md", &text).unwrap();
        assert!(blocks[0].1.contains("**204 ms**"));
        assert!(report.summary().unwrap().contains(blocks[0].1.trim()));
    }

    #[test]
    fn time_is_told_in_minutes() {
        let shown = [0.25, 48.4, 725.0].map(|s| minutes(Duration::from_secs_f64(s)));
        assert_eq!(shown, ["0.2 s", "48 s", "12 min 5 s"]);
    }

    #[test]
    fn marks_become_tags() {
        assert_eq!(
            inline("**0.7** < `lab` *x*").into_string(),
            "<b>0.7</b> &lt; <code>lab</code> <i>x</i>"
        );
    }

    #[test]
    fn blocks_are_checked_before_anything_is_measured() {
        let text = |name: &str| format!("<!-- figures: {name} -->\n<!-- /figures -->\n");
        check_blocks("README.md", &text("models")).unwrap();
        let error = check_blocks("README.md", &text("modles"));
        let error = error.err().unwrap().to_string();
        assert!(
            error.contains("modles") && error.contains("README.md"),
            "{error}"
        );
    }
}
