//! Highlights: the most important figures, as tables whose every number names the plan, case and metric it comes from.

mod cell;

use std::fmt::Write;

use serde::Deserialize;

use crate::error::LabError;
use crate::report::Run;
use cell::{Figure, figures, filled};

/// The content of `highlights.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Highlights {
    /// Plots and sentences for the top of the page.
    pub glance: Vec<Glance>,
    /// Tables by name.
    pub table: Vec<Table>,
    /// The plots to show first, of each plan that has many.
    #[serde(default)]
    pub first: Vec<First>,
    /// Published figures that no plan measures.
    pub not_reproduced: Vec<NotReproduced>,
}

/// A plot worth seeing first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Glance {
    /// The plan.
    pub plan: String,
    /// The case its figures are of, unless they name another.
    #[serde(default)]
    pub case: String,
    /// The name of one of its plots.
    pub plot: String,
    /// The sentence, with figures in braces as in tables.
    pub text: String,
}

/// A table of figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The name that a file asks for it by: `<!-- figures: NAME -->`.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Its introduction.
    #[serde(default)]
    pub text: String,
    /// Names of the columns; the first may be empty.
    pub columns: Vec<String>,
    /// The origin of all its figures, instead of a column with the origin of each row.
    pub from: Option<String>,
    /// The rows.
    pub row: Vec<TableRow>,
}

/// A row of a [`Table`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRow {
    /// The plan its figures are from.
    pub plan: String,
    /// True for the plan's run over real sockets.
    #[serde(default)]
    pub real: bool,
    /// The case they are of, unless they name another.
    #[serde(default)]
    pub case: String,
    /// A text for each column, with figures in braces; see `highlights.toml`.
    pub cells: Vec<String>,
}

/// The plots of a plan that are not folded away.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct First {
    /// The plan.
    pub plan: String,
    /// Names of its plots.
    pub plots: Vec<String>,
}

/// A published table that no plan measures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotReproduced {
    /// The document.
    pub source: String,
    /// Which table or figure of it.
    pub what: String,
    /// Why not.
    pub why: String,
}

impl Highlights {
    /// Loads the lab's highlights.
    pub fn load() -> Result<Highlights, LabError> {
        Highlights::parse(include_str!("../highlights.toml"))
    }

    /// Reads and checks what can be checked without a run.
    pub fn parse(text: &str) -> Result<Highlights, LabError> {
        let bad = |why: String| LabError::BadPlan {
            plan: "highlights.toml".into(),
            why,
        };
        let highlights: Highlights =
            toml::from_str(text).map_err(|error| bad(error.to_string()))?;
        for table in &highlights.table {
            for row in &table.row {
                if row.cells.len() != table.columns.len() {
                    return Err(bad(format!(
                        "table {}: {} cells for {} columns in \"{}\"",
                        table.name,
                        row.cells.len(),
                        table.columns.len(),
                        row.cells.first().map_or("", String::as_str)
                    )));
                }
                for cell in &row.cells {
                    figures(cell, &row.case).map_err(bad)?;
                }
            }
        }
        for glance in &highlights.glance {
            figures(&glance.text, &glance.case).map_err(bad)?;
        }
        Ok(highlights)
    }

    /// The names of all tables.
    pub fn names(&self) -> Vec<&str> {
        self.table.iter().map(|table| table.name.as_str()).collect()
    }

    /// The table of that name.
    pub fn named(&self, name: &str) -> Option<&Table> {
        self.table.iter().find(|table| table.name == name)
    }
}

impl Glance {
    /// The sentence with its figures.
    pub fn sentence(&self, runs: &[Run]) -> String {
        filled(&self.text, &self.case, run(runs, &self.plan, false))
    }
}

impl Table {
    /// Names of the columns, the origin of the figures included.
    pub fn heads(&self) -> Vec<String> {
        let mut heads = self.columns.clone();
        heads.extend(self.from.is_none().then(|| "from".to_string()));
        heads
    }

    /// The cells of every row, with their figures.
    pub fn filled(&self, runs: &[Run]) -> Vec<Vec<String>> {
        let cells = |row: &TableRow| {
            let run = run(runs, &row.plan, row.real);
            let cells = row.cells.iter();
            let mut cells: Vec<String> = cells.map(|cell| filled(cell, &row.case, run)).collect();
            cells.extend(self.from.is_none().then(|| row.origin()));
            cells
        };
        self.row.iter().map(cells).collect()
    }

    /// As Markdown.
    pub fn markdown(&self, runs: &[Run]) -> String {
        let mut text = String::new();
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text += &line(&self.heads());
        let _ = writeln!(text, "|{}", "---|".repeat(self.heads().len()));
        for row in self.filled(runs) {
            text += &line(&row);
        }
        text.trim_end().to_string()
    }
}

impl TableRow {
    /// Plan, cases and metrics of its figures.
    fn origin(&self) -> String {
        let (mut cases, mut metrics) = (Vec::new(), Vec::new());
        for figure in self.figures() {
            if !cases.contains(&figure.case) {
                cases.push(figure.case);
            }
            if !metrics.contains(&figure.metric) {
                metrics.push(figure.metric);
            }
        }
        let cases = cases.iter().map(|case| match case.as_str() {
            "*" => "all cases".to_string(),
            case => case.replace('*', "…"),
        });
        let real = if self.real { " --real" } else { "" };
        format!(
            "`{}{real}` {}: {}",
            self.plan,
            cases.collect::<Vec<_>>().join(", "),
            metrics.join(", ")
        )
    }

    /// Every figure of the row.
    fn figures(&self) -> Vec<Figure> {
        let cells = self.cells.iter();
        let all = cells.filter_map(|cell| figures(cell, &self.case).ok());
        all.flatten().collect()
    }
}

/// The run of a plan in virtual time, or over real sockets.
fn run<'a>(runs: &'a [Run<'a>], plan: &str, real: bool) -> Option<&'a Run<'a>> {
    runs.iter()
        .find(|run| run.plan.name == plan && run.is_real() == real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Variant};
    use cell::{Column, matches};

    /// Whether a plan has, or may have, a figure.
    fn check(plan: &Plan, real: bool, figure: &Figure) -> Result<(), String> {
        let metrics = plan.experiment.metrics;
        if !metrics.iter().any(|metric| metric.name == figure.metric) {
            return Err(format!("{} has no metric {}", plan.name, figure.metric));
        }
        let cases = plan.cases(Variant { quick: false, real }, &[]).unwrap();
        let names = cases.iter().map(|case| case.name.as_str());
        let mut names = names.chain(plan.experiment.summaries.iter().copied());
        if !names.any(|name| matches(&figure.case, name)) {
            return Err(format!("{} has no case {}", plan.name, figure.case));
        }
        let mut published = plan.published.iter();
        let is =
            |of: &crate::Published| of.metric == figure.metric && matches(&figure.case, &of.case);
        match figure.column {
            Column::Published if !published.any(is) => Err(format!(
                "{} publishes no {} of {}",
                plan.name, figure.metric, figure.case
            )),
            _ => Ok(()),
        }
    }

    #[test]
    fn every_figure_names_a_plan_a_case_and_a_metric_that_exist() {
        let highlights = Highlights::load().unwrap();
        for table in &highlights.table {
            for row in &table.row {
                let plan = Plan::find(&row.plan).unwrap();
                let figures = row.figures();
                assert!(!figures.is_empty(), "{}: a row without figures", table.name);
                for figure in figures {
                    check(&plan, row.real, &figure).unwrap();
                }
            }
        }
        for glance in &highlights.glance {
            let plan = Plan::find(&glance.plan).unwrap();
            for figure in figures(&glance.text, &glance.case).unwrap() {
                check(&plan, false, &figure).unwrap();
            }
        }
        for first in &highlights.first {
            Plan::find(&first.plan).unwrap();
        }
    }

    #[test]
    fn names_of_tables_differ() {
        let highlights = Highlights::load().unwrap();
        let names: Vec<_> = highlights.table.iter().map(|table| &table.name).collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| other == &name).count(), 1);
            assert!(highlights.named(name).is_some());
        }
    }

    #[test]
    fn a_row_that_does_not_fit_its_table_is_refused() {
        let text = "glance = []\nnot_reproduced = []\n[[table]]\nname = \"t\"\ntitle = \"T\"\ncolumns = [\"\", \"ours\"]\n\
                    [[table.row]]\nplan = \"delivery\"\ncells = [\"mean\"]\n";
        let error = Highlights::parse(text).err().unwrap().to_string();
        assert!(error.contains("1 cells for 2 columns"), "{error}");
    }

    /// What the repository shows was written by the report: each block of README and guide is in RESULTS.md word for word.
    #[test]
    fn figures_in_readme_and_guide_are_those_of_the_results() {
        let read = |name| std::fs::read_to_string(format!("../{name}")).unwrap();
        let (results, highlights) = (read("RESULTS.md"), Highlights::load().unwrap());
        for file in ["README.md", "GUIDE.md"] {
            let blocks = crate::markers::blocks(file, &read(file)).unwrap();
            assert!(!blocks.is_empty(), "{file} has lost its figures");
            for (name, block) in blocks {
                assert!(
                    highlights.named(&name).is_some(),
                    "there is no table {name}"
                );
                assert!(
                    results.contains(block.trim()),
                    "{name} in {file} is not what RESULTS.md has: run `make report`"
                );
            }
        }
    }
}
