//! A plan: which experiment to run, under which conditions, what was published and what must hold.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::experiments::EXPERIMENTS;
use crate::parameters::{Case, Choices, Key, Layers, Value, cases};

macro_rules! plans {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../plans/", $name, ".toml")))),*]
    };
}

/// The built-in plans with their texts, in the order they are listed and reported.
const PLANS: [(&str, &str); 35] = plans![
    "delivery",
    "jitter",
    "loss-latency",
    "block",
    "bottleneck",
    "hostile",
    "clock",
    "topology",
    "join",
    "churn",
    "migration",
    "ownership",
    "lockstep-limits",
    "lockstep-conditions",
    "lockstep-resync",
    "lockstep-join",
    "lockstep-scale",
    "rollback",
    "snapshot-limits",
    "snapshot-conditions",
    "bandwidth",
    "prediction",
    "hits",
    "models",
    "felt-delay",
    "fireball",
    "powerup",
    "event-time",
    "delay-designs",
    "rawrlocks-bandwidth",
    "update-window",
    "reaction",
    "host-cost",
    "hidden",
    "matchmaking",
];

/// One plan, checked against its experiment.
pub struct Plan {
    /// Its name, as `lab run` takes it.
    pub name: String,
    /// One line.
    pub title: String,
    /// Which document, table or figure the published values come from.
    pub source: String,
    /// What is done and what the cases mean.
    pub description: String,
    /// The code that measures.
    pub experiment: &'static Experiment,
    /// Figures of the source document.
    pub published: Vec<Published>,
    /// What has to hold, whatever the seed.
    pub expectations: Vec<Expectation>,
    layers: Layers,
}

/// Which of a plan's variants to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The short variant.
    pub quick: bool,
    /// The variant for real sockets, where time is real too.
    pub real: bool,
}

/// A figure of the source document.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The case it was measured in.
    pub case: String,
    /// Which metric.
    pub metric: String,
    /// The figure, in the metric's unit.
    pub value: f64,
}

/// A promise about a plan's run, the whole and the short one, or about its run over real sockets.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// Which case. A star in a plan's file stands for any characters: the expectation is one about every case that fits, except those for which
    /// the same metric has one of its own.
    pub case: String,
    /// Which metric.
    pub metric: String,
    /// The configuration whose figure is judged; ours unless given.
    #[serde(default)]
    pub of: Configuration,
    /// How to compare.
    pub op: Op,
    /// With what.
    pub value: f64,
    /// A promise about the run over real sockets instead: judged there alone.
    #[serde(default)]
    pub real: bool,
    /// A promise that only the whole run can decide: the short variant neither judges nor needs it.
    #[serde(default)]
    pub whole: bool,
    /// Why it cannot be reached yet. A miss with a reason is shown but does not fail the run.
    pub missed: Option<String>,
}

/// The configuration an expectation is about.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Configuration {
    /// Our default.
    #[default]
    Ours,
    /// The published algorithm, which should come near what was published.
    Theirs,
}

/// A comparison.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Op {
    /// At most.
    #[serde(rename = "<=")]
    AtMost,
    /// At least.
    #[serde(rename = ">=")]
    AtLeast,
    /// Exactly.
    #[serde(rename = "==")]
    Equal,
}

impl Op {
    /// True if `ours op value` holds.
    pub fn holds(self, ours: f64, value: f64) -> bool {
        match self {
            Op::AtMost => ours <= value,
            Op::AtLeast => ours >= value,
            Op::Equal => ours == value,
        }
    }

    /// As written in a plan.
    pub fn symbol(self) -> &'static str {
        match self {
            Op::AtMost => "<=",
            Op::AtLeast => ">=",
            Op::Equal => "==",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    name: String,
    title: String,
    source: String,
    description: String,
    experiment: String,
    #[serde(default)]
    parameters: toml::Table,
    #[serde(default)]
    matrix: Vec<toml::Table>,
    #[serde(default)]
    quick: toml::Table,
    #[serde(default)]
    real: toml::Table,
    #[serde(default)]
    published: Vec<Published>,
    #[serde(default)]
    expect: Vec<Expectation>,
}

impl Plan {
    /// The built-in plan of that name, or the one in the file of that path.
    pub fn find(name: &str) -> Result<Plan, LabError> {
        if let Some((name, text)) = PLANS.iter().find(|(known, _)| *known == name) {
            return Plan::parse(name, text);
        }
        let path = Path::new(name);
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let text =
                std::fs::read_to_string(path).map_err(|error| LabError::file(path, error))?;
            return Plan::parse(name, &text);
        }
        let known = PLANS.iter().map(|(name, _)| name.to_string()).collect();
        Err(LabError::UnknownPlan {
            name: name.into(),
            known,
        })
    }

    /// Every built-in plan.
    pub fn all() -> Result<Vec<Plan>, LabError> {
        PLANS
            .iter()
            .map(|(name, text)| Plan::parse(name, text))
            .collect()
    }

    /// Reads a plan and checks it against its experiment; `origin` names it in errors.
    pub fn parse(origin: &str, text: &str) -> Result<Plan, LabError> {
        let bad = |why: String| LabError::BadPlan {
            plan: origin.into(),
            why,
        };
        let file: PlanFile = toml::from_str(text).map_err(|error| bad(error.to_string()))?;
        let mut experiments = EXPERIMENTS.into_iter();
        let experiment = experiments.find(|experiment| experiment.name == file.experiment);
        let experiment = experiment.ok_or_else(|| {
            let known = EXPERIMENTS.map(|experiment| experiment.name);
            bad(format!(
                "there is no experiment \"{}\"; the experiments are {}",
                file.experiment,
                known.join(", ")
            ))
        })?;
        let choices = |table: &toml::Table| choices(experiment, origin, table);
        let layers = Layers {
            plan: choices(&file.parameters)?,
            matrices: file.matrix.iter().map(choices).collect::<Result<_, _>>()?,
            quick: choices(&file.quick)?,
            real: choices(&file.real)?,
            set: Choices::new(),
        };
        let mut plan = Plan {
            name: file.name,
            title: file.title,
            source: file.source,
            description: file.description.trim().to_string(),
            experiment,
            published: file.published,
            expectations: file.expect,
            layers,
        };
        let cases = plan.cases(Variant::default(), &[])?;
        plan.expectations = spelled_out(&plan.expectations, &cases).map_err(bad)?;
        plan.check_metrics().map_err(bad)?;
        Ok(plan)
    }

    /// The cases of a run. `sets` are `key=value` pairs; a value may be a comma-separated list.
    pub fn cases(
        &self,
        variant: Variant,
        sets: &[(String, String)],
    ) -> Result<Vec<Case>, LabError> {
        let mut layers = self.layers.clone();
        if !variant.quick {
            layers.quick.clear();
        }
        if !variant.real {
            layers.real.clear();
        }
        for (name, text) in sets {
            let key = key_of(self.experiment, &self.name, name)?;
            let values = text
                .split(',')
                .map(|text| key.domain.parse(name, text))
                .collect::<Result<_, _>>()?;
            if layers.set.insert(key.name, values).is_some() {
                return Err(LabError::Unsupported(format!(
                    "{name} is set twice; give several values as {name}=a,b"
                )));
            }
        }
        cases(self.experiment.keys(), &layers).map_err(|why| LabError::BadPlan {
            plan: self.name.clone(),
            why,
        })
    }

    /// What a key is by default: the values over all cases, in order of appearance.
    pub fn defaults(&self, key: &Key) -> Result<Vec<Value>, LabError> {
        let mut values = Vec::new();
        for case in self.cases(Variant::default(), &[])? {
            values.extend(
                case.value(key.name)
                    .filter(|value| !values.contains(*value))
                    .cloned(),
            );
        }
        Ok(values)
    }

    fn check_metrics(&self) -> Result<(), String> {
        let metrics = self.experiment.metrics;
        let published = self.published.iter().map(|figure| &figure.metric);
        let expected = self
            .expectations
            .iter()
            .map(|expectation| &expectation.metric);
        for metric in published.chain(expected) {
            if !metrics.iter().any(|known| known.name == metric) {
                let known: Vec<_> = metrics.iter().map(|metric| metric.name).collect();
                return Err(format!(
                    "there is no metric \"{metric}\"; the metrics are {}",
                    known.join(", ")
                ));
            }
        }
        Ok(())
    }
}

fn key_of(experiment: &Experiment, plan: &str, name: &str) -> Result<&'static Key, LabError> {
    let found = experiment.keys().find(|key| key.name == name);
    found.ok_or_else(|| LabError::UnknownKey {
        plan: plan.into(),
        key: name.into(),
        known: experiment.keys().map(|key| key.name).collect(),
    })
}

/// Reads `key = value` and `key = [values]`, with dotted keys as TOML nests them.
fn choices(experiment: &Experiment, plan: &str, table: &toml::Table) -> Result<Choices, LabError> {
    let mut flat = BTreeMap::new();
    flatten("", table, &mut flat);
    let mut choices = Choices::new();
    for (name, value) in flat {
        let key = key_of(experiment, plan, &name)?;
        let values = match value {
            toml::Value::Array(values) => values
                .iter()
                .map(|value| scalar(key, value))
                .collect::<Result<_, _>>()?,
            value => vec![scalar(key, value)?],
        };
        if values.is_empty() {
            return Err(LabError::BadPlan {
                plan: plan.into(),
                why: format!("{name} has no values"),
            });
        }
        choices.insert(key.name, values);
    }
    Ok(choices)
}

fn flatten<'a>(prefix: &str, table: &'a toml::Table, flat: &mut BTreeMap<String, &'a toml::Value>) {
    for (name, value) in table {
        let name = format!("{prefix}{name}");
        match value {
            toml::Value::Table(inner) => flatten(&format!("{name}."), inner, flat),
            value => drop(flat.insert(name, value)),
        }
    }
}

fn scalar(key: &Key, value: &toml::Value) -> Result<Value, LabError> {
    let value = match value {
        toml::Value::Integer(number) => Value::Number(*number as f64),
        toml::Value::Float(number) => Value::Number(*number),
        toml::Value::String(text) => Value::Text(text.clone().into()),
        other => {
            let valid = key.domain.to_string();
            return Err(LabError::BadValue {
                key: key.name.into(),
                value: other.type_str().into(),
                valid,
            });
        }
    };
    key.domain.check(key.name, value)
}

/// The expectations with a copy for every case that one with stars is about.
fn spelled_out(expectations: &[Expectation], cases: &[Case]) -> Result<Vec<Expectation>, String> {
    let mut all = Vec::new();
    for expectation in expectations {
        if !expectation.case.contains('*') {
            all.push(expectation.clone());
            continue;
        }
        let fits = cases
            .iter()
            .filter(|case| fits(&expectation.case, &case.name));
        let has_own = |case: &&Case| {
            let mut others = expectations.iter();
            others.any(|e| e.case == case.name && e.metric == expectation.metric)
        };
        let before = all.len();
        all.extend(fits.filter(|case| !has_own(case)).map(|case| Expectation {
            case: case.name.clone(),
            ..expectation.clone()
        }));
        if all.len() == before {
            return Err(format!("no case fits \"{}\"", expectation.case));
        }
    }
    Ok(all)
}

/// Whether a name fits a pattern in which stars stand for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| fits(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_plan_loads_under_its_name() {
        for (name, text) in PLANS {
            let plan = Plan::parse(name, text).unwrap();
            assert_eq!(plan.name, name);
            assert!(
                !plan.title.is_empty() && !plan.source.is_empty() && !plan.description.is_empty()
            );
            assert!(
                !plan
                    .cases(
                        Variant {
                            quick: true,
                            real: true
                        },
                        &[]
                    )
                    .unwrap()
                    .is_empty()
            );
            let words = name
                .split('-')
                .all(|word| word.chars().all(|c| c.is_ascii_lowercase()));
            assert!(words, "plan names are lower-case words joined by hyphens");
        }
    }

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, is_fit) in [
            ("a/*/c", "a/b/c", true),
            ("*=10/*", "a/ms=10/5%", true),
            ("*=10/*", "a/ms=100/5%", false),
            ("*", "", true),
            ("a*", "ba", false),
            ("*b*b", "abb", true),
        ] {
            assert_eq!(fits(pattern, name), is_fit, "{pattern} {name}");
        }
        let text = include_str!("../plans/migration.toml");
        let plan = Plan::parse("migration", text).expect("it is built in");
        assert!(plan.expectations.iter().all(|e| !e.case.contains('*')));
        let error = Plan::parse("migration", &text.replace("*/dies/*", "*/sings/*"));
        let words = error.err().expect("no case fits").to_string();
        assert!(words.contains("no case fits \"*/sings/*\""), "{words}");
    }

    #[test]
    fn expectations_name_cases_that_exist() {
        for plan in Plan::all().unwrap() {
            let known = |case: &String, quick: bool, real: bool| {
                let cases = plan.cases(Variant { quick, real }, &[]).unwrap();
                cases.iter().any(|known| known.name == *case)
                    || plan.experiment.summaries.contains(&case.as_str())
            };
            for Published { case, .. } in &plan.published {
                assert!(known(case, false, false), "{}: no {case}", plan.name);
            }
            for Expectation {
                case, real, whole, ..
            } in &plan.expectations
            {
                assert!(known(case, false, *real), "{}: no {case}", plan.name);
                assert!(!real || plan.experiment.real);
                assert!(
                    *real || *whole || known(case, true, false),
                    "{}: the short variant has no case {case}: give it one or mark the expectation whole = true",
                    plan.name
                );
            }
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = Plan::find("deliverie").err().unwrap().to_string();
        assert!(
            error.contains("delivery") && error.contains("bottleneck"),
            "{error}"
        );
        let plan = Plan::find("delivery").unwrap();
        let set =
            |key: &str, value: &str| plan.cases(Variant::default(), &[(key.into(), value.into())]);
        let error = set("link.lose", "0.1").err().unwrap().to_string();
        assert!(
            error.contains("link.loss") && error.contains("repeats"),
            "{error}"
        );
        assert!(set("link.loss", "lots").is_err());
        assert!(set("link.loss", "").is_err());
        assert!(
            set("link.profile", "marsnet")
                .err()
                .unwrap()
                .to_string()
                .contains("lte")
        );
    }

    #[test]
    fn a_plan_that_makes_no_sense_is_refused() {
        let plan = |more: &str| {
            let head = "name='x'\ntitle='x'\nsource='x'\ndescription='x'\nexperiment='delivery'\n";
            Plan::parse("x.toml", &format!("{head}{more}"))
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(plan(""), None);
        assert!(
            plan("[parameters]\nlink.lose=1")
                .unwrap()
                .contains("link.lose")
        );
        assert!(
            plan("[parameters]\nlink.loss=7")
                .unwrap()
                .contains("from 0 to 1")
        );
        assert!(
            plan("[parameters]\nlink.loss=[]")
                .unwrap()
                .contains("no values")
        );
        assert!(plan("surprise=1").unwrap().contains("surprise"));
        assert!(
            plan("[[expect]]\ncase='a'\nmetric='speed'\nop='<='\nvalue=1")
                .unwrap()
                .contains("speed")
        );
        assert!(
            plan("[[expect]]\ncase='a'\nmetric='latency_mean'\nop='~'\nvalue=1")
                .unwrap()
                .contains("~")
        );
    }
}
