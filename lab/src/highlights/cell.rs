//! Texts with figures in braces: `{latency_mean theirs @200ms/10%/reliable-ordered .0}`.

use crate::report::Run;
use crate::run::ResultRow;
use crate::table::number;

/// A figure that a text asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The metric.
    pub metric: String,
    /// The case; a `*` in it stands for anything.
    pub case: String,
    /// The column it is taken from.
    pub column: Column,
    /// The number of decimals; as `lab run` prints it unless given.
    decimals: Option<usize>,
    /// Which of several cases.
    of: Of,
    /// The factor it is multiplied by.
    times: f64,
}

/// A column of a result row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Column {
    Published,
    Theirs,
    Ours,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Only,
    Most,
    Least,
    Count,
}

/// The figures of a text; `case` is the case of those that name none.
pub fn figures(text: &str, case: &str) -> Result<Vec<Figure>, String> {
    let parts = pieces(text)?.into_iter();
    let asked = parts.filter(|(_, figure)| *figure);
    asked.map(|(words, _)| Figure::parse(words, case)).collect()
}

/// The text with its figures; a dash where this run has none.
pub fn filled(text: &str, case: &str, run: Option<&Run>) -> String {
    let shown = |words: &str| {
        let figure = Figure::parse(words, case).ok()?;
        figure.shown(&run?.result.rows)
    };
    let pieces = pieces(text).unwrap_or_default().into_iter();
    let pieces = pieces.map(|(words, figure)| match figure {
        true => shown(words).unwrap_or_else(|| "–".into()),
        false => words.to_string(),
    });
    pieces.collect()
}

/// The parts of a text in order, with true for those that were in braces.
fn pieces(text: &str) -> Result<Vec<(&str, bool)>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (figure, after) = after
            .split_once('}')
            .ok_or_else(|| format!("a brace is not closed in \"{text}\""))?;
        pieces.extend([(before, false), (figure, true)]);
        rest = after;
    }
    pieces.push((rest, false));
    Ok(pieces)
}

impl Figure {
    fn parse(words: &str, case: &str) -> Result<Figure, String> {
        let mut words_left = words.split(' ');
        let metric = words_left.next().filter(|metric| !metric.is_empty());
        let mut figure = Figure {
            metric: metric.ok_or("a figure without a metric")?.into(),
            case: case.into(),
            column: Column::Ours,
            decimals: None,
            of: Of::Only,
            times: 1.0,
        };
        let unknown = |word| {
            format!(
                "\"{word}\" in {{{words}}} is none of published, theirs, max, min, count, @CASE, .DECIMALS, xFACTOR"
            )
        };
        for word in words_left {
            match (word, word.split_at_checked(1)) {
                ("published", _) => figure.column = Column::Published,
                ("theirs", _) => figure.column = Column::Theirs,
                ("max", _) => figure.of = Of::Most,
                ("min", _) => figure.of = Of::Least,
                ("count", _) => figure.of = Of::Count,
                (_, Some(("@", case))) => figure.case = case.into(),
                (_, Some((".", digits))) => {
                    figure.decimals = Some(digits.parse().map_err(|_| unknown(word))?);
                }
                (_, Some(("x", factor))) => {
                    figure.times = factor.parse().map_err(|_| unknown(word))?;
                }
                _ => return Err(unknown(word)),
            }
        }
        match figure.case.is_empty() {
            true => Err(format!("{{{words}}} names no case, nor does its row")),
            false => Ok(figure),
        }
    }

    fn shown(&self, rows: &[ResultRow]) -> Option<String> {
        let mine = rows
            .iter()
            .filter(|row| row.metric == self.metric && matches(&self.case, &row.case));
        let values = mine.filter_map(|row| match self.column {
            Column::Published => row.published,
            Column::Theirs => row.theirs,
            Column::Ours => row.ours,
        });
        let values: Vec<f64> = values.collect();
        let value = match self.of {
            Of::Only => *values.first()?,
            Of::Most => values.iter().copied().reduce(f64::max)?,
            Of::Least => values.iter().copied().reduce(f64::min)?,
            Of::Count => return Some(values.len().to_string()),
        };
        let value = value * self.times;
        Some(match self.decimals {
            Some(decimals) => format!("{value:.decimals$}"),
            None => number(value),
        })
    }
}

/// Whether a name is the pattern, in which `*` stands for anything.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|after| {
            let ends = after.char_indices().map(|(at, _)| at).chain([after.len()]);
            ends.into_iter().any(|at| matches(rest, &after[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<ResultRow> {
        let row = |case: &str, published, theirs, ours| ResultRow {
            case: case.into(),
            metric: "delay".into(),
            unit: "ms".into(),
            wall_clock: false,
            published,
            theirs,
            ours,
        };
        vec![
            row("lan/10p", Some(20.0), None, Some(1.25)),
            row("wan/10p", None, Some(300.4), Some(7.0)),
        ]
    }

    fn shown(words: &str) -> Option<String> {
        Figure::parse(words, "lan/10p").unwrap().shown(&rows())
    }

    #[test]
    fn a_figure_is_found_by_metric_case_and_side() {
        assert_eq!(shown("delay").as_deref(), Some("1.25"));
        assert_eq!(shown("delay .0 published").as_deref(), Some("20"));
        assert_eq!(shown("delay theirs @wan/10p .0").as_deref(), Some("300"));
        assert_eq!(shown("delay x1000 .0").as_deref(), Some("1250"));
        assert_eq!(shown("delay theirs"), None);
        assert_eq!(shown("delay @wan/20p"), None);
    }

    #[test]
    fn several_cases_have_a_most_a_least_and_a_number() {
        assert_eq!(shown("delay max @*").as_deref(), Some("7"));
        assert_eq!(shown("delay min @*/10p").as_deref(), Some("1.25"));
        assert_eq!(shown("delay count @*").as_deref(), Some("2"));
        assert!(matches("lan/*/e*", "lan/10p/e16") && !matches("lan/*", "wan/10p"));
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_nonsense_is_refused() {
        assert_eq!(filled("{delay .0} ms", "lan/10p", None), "– ms");
        for (text, word) in [
            ("{delay", "not closed"),
            ("{delay often}", "often"),
            ("{}", "metric"),
        ] {
            let error = figures(text, "lan/10p").err().unwrap();
            assert!(error.contains(word), "{error}");
        }
        assert!(figures("{delay}", "").is_err(), "of no case");
    }
}
