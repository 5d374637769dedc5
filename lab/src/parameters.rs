//! The parameters of an experiment: keys with domains, the values of one case, and the matrix of cases.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::error::LabError;

/// One value of one key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, in the unit the key's name ends in.
    Number(f64),
    /// A word.
    Text(Cow<'static, str>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// Which values a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// Any number in the range, both ends included.
    Number(f64, f64),
    /// Whole numbers in the range, both ends included.
    Whole(u32, u32),
    /// A share from 0 to 1, also written as `5%`.
    Share,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of the words this function lists: sets that another crate owns, such as the link profiles.
    Listed(fn() -> Vec<&'static str>),
}

impl Domain {
    /// Reads a value as written on the command line.
    pub fn parse(&self, key: &str, text: &str) -> Result<Value, LabError> {
        let text = text.trim();
        let bad = || LabError::BadValue {
            key: key.into(),
            value: text.into(),
            valid: self.to_string(),
        };
        if let Domain::Choice(_) | Domain::Listed(_) = self {
            return self.check(key, Value::Text(Cow::Owned(text.to_string())));
        }
        let number = match (self, text.strip_suffix('%')) {
            (Domain::Share, Some(percent)) => percent.trim().parse::<f64>().map(|p| p / 100.0),
            _ => text.parse::<f64>(),
        };
        self.check(key, Value::Number(number.map_err(|_| bad())?))
    }

    /// Refuses what lies outside the domain.
    pub fn check(&self, key: &str, value: Value) -> Result<Value, LabError> {
        let fits = match (self, &value) {
            (Domain::Number(low, high), Value::Number(n)) => (*low..=*high).contains(n),
            (Domain::Whole(low, high), Value::Number(n)) => {
                n.fract() == 0.0 && (f64::from(*low)..=f64::from(*high)).contains(n)
            }
            (Domain::Share, Value::Number(n)) => (0.0..=1.0).contains(n),
            (Domain::Choice(words), Value::Text(text)) => words.contains(&&**text),
            (Domain::Listed(words), Value::Text(text)) => words().contains(&&**text),
            _ => false,
        };
        if fits {
            return Ok(value);
        }
        Err(LabError::BadValue {
            key: key.into(),
            value: value.to_string(),
            valid: self.to_string(),
        })
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Number(low, high) => write!(f, "a number from {low} to {high}"),
            Domain::Whole(low, high) => write!(f, "a whole number from {low} to {high}"),
            Domain::Share => f.write_str("a share from 0 to 1, or a percentage such as 5%"),
            Domain::Choice(words) => f.write_str(&words.join(", ")),
            Domain::Listed(words) => f.write_str(&words().join(", ")),
        }
    }
}

/// A [`Value`] that can stand in a constant.
#[derive(Clone, Copy, Debug)]
pub enum Initial {
    /// A number.
    Number(f64),
    /// A word.
    Text(&'static str),
}

impl From<Initial> for Value {
    fn from(initial: Initial) -> Value {
        match initial {
            Initial::Number(number) => Value::Number(number),
            Initial::Text(text) => Value::Text(Cow::Borrowed(text)),
        }
    }
}

/// One parameter of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name, as `--set` takes it. Never changes once published.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Which values it takes.
    pub domain: Domain,
    /// Its value where a plan gives none.
    pub default: Initial,
    /// How its value appears in a case's name. A key without a label shows only when it spans a dimension; a label
    /// that answers `None` leaves that value out (no jitter, no bursts).
    pub label: Option<fn(&Value) -> Option<String>>,
}

impl Key {
    /// A key whose value is a number and stays out of the case names.
    pub const fn number(
        name: &'static str,
        default: f64,
        domain: Domain,
        what: &'static str,
    ) -> Key {
        Key::new(name, Initial::Number(default), domain, what)
    }

    /// A key whose value is a word and stays out of the case names.
    pub const fn text(
        name: &'static str,
        default: &'static str,
        domain: Domain,
        what: &'static str,
    ) -> Key {
        Key::new(name, Initial::Text(default), domain, what)
    }

    const fn new(name: &'static str, default: Initial, domain: Domain, what: &'static str) -> Key {
        Key {
            name,
            what,
            domain,
            default,
            label: None,
        }
    }

    /// The same key, shown in case names by `label`.
    pub const fn labelled(self, label: fn(&Value) -> Option<String>) -> Key {
        Key {
            label: Some(label),
            ..self
        }
    }
}

/// Shows a key's value as it is.
pub fn plain(value: &Value) -> Option<String> {
    Some(value.to_string())
}

/// Names a number unless it is the one that goes without saying.
pub fn unless(number: f64, value: &Value, name: impl Fn(&Value) -> String) -> Option<String> {
    (*value != Value::Number(number)).then(|| name(value))
}

/// The layer a value comes from; later ones override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The experiment's own default.
    Default,
    /// The plan.
    Plan,
    /// The plan's variant, quick or real.
    Variant,
    /// `--set`.
    Set,
}

/// The values of one case, one per key.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name: the labels of its values, joined by `/`.
    pub name: String,
    values: BTreeMap<&'static str, Value>,
}

impl Case {
    /// The value of a key, if it has one here: a link profile leaves the link keys it replaces without.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// The value of a numeric key.
    ///
    /// # Panics
    /// When the experiment did not declare the key, which is a mistake in the experiment.
    pub fn number(&self, key: &str) -> f64 {
        match self.value(key) {
            Some(Value::Number(number)) => *number,
            other => panic!("{key} should be a number here, it is {other:?}"),
        }
    }

    /// The value of a numeric key that a link profile may have left open.
    pub fn number_if_given(&self, key: &str) -> Option<f64> {
        self.value(key).map(|_| self.number(key))
    }

    /// The value of a key in milliseconds.
    pub fn millis(&self, key: &str) -> Duration {
        Duration::from_secs_f64(self.number(key) / 1000.0)
    }

    /// The value of a key in seconds.
    pub fn seconds(&self, key: &str) -> Duration {
        Duration::from_secs_f64(self.number(key))
    }

    /// The value of a key that takes words.
    ///
    /// # Panics
    /// When the experiment did not declare the key, which is a mistake in the experiment.
    pub fn text(&self, key: &str) -> &str {
        match self.value(key) {
            Some(Value::Text(text)) => text,
            other => panic!("{key} should be a word here, it is {other:?}"),
        }
    }
}

/// Values given to keys, several for a key that spans a dimension of the matrix.
pub type Choices = BTreeMap<&'static str, Vec<Value>>;

/// All the layers of choices from which cases are made.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The plan's parameters.
    pub plan: Choices,
    /// The plan's matrices: the cases are the union of their products.
    pub matrices: Vec<Choices>,
    /// The quick variant's parameters; empty in a full run.
    pub quick: Choices,
    /// The parameters of runs over real sockets; empty in virtual time.
    pub real: Choices,
    /// The values given by `--set`.
    pub set: Choices,
}

/// Every case of the plan, in the order of the keys, each only once.
pub fn cases<'a>(
    keys: impl Iterator<Item = &'a Key> + Clone,
    layers: &Layers,
) -> Result<Vec<Case>, String> {
    let whole = [Choices::new()];
    let matrices = if layers.matrices.is_empty() {
        &whole[..]
    } else {
        &layers.matrices
    };
    let mut all: Vec<Case> = Vec::new();
    for matrix in matrices {
        let dimensions: Vec<(&Key, Source, Vec<Value>)> = keys
            .clone()
            .map(|key| dimension(key, layers, matrix))
            .collect();
        let count = dimensions
            .iter()
            .map(|(_, _, values)| values.len())
            .product();
        for index in 0..count {
            let case = case(&dimensions, index, count);
            match all.iter().find(|other| other.name == case.name) {
                None => all.push(case),
                Some(same) if *same == case => {}
                Some(_) => return Err(format!("two different cases are called \"{}\"", case.name)),
            }
        }
    }
    Ok(all)
}

fn dimension<'a>(key: &'a Key, layers: &Layers, matrix: &Choices) -> (&'a Key, Source, Vec<Value>) {
    let layers = [
        (Source::Set, &layers.set),
        (Source::Variant, &layers.quick),
        (Source::Variant, &layers.real),
        (Source::Plan, matrix),
        (Source::Plan, &layers.plan),
    ];
    for (source, choices) in layers {
        if let Some(values) = choices.get(key.name) {
            return (key, source, values.clone());
        }
    }
    (key, Source::Default, vec![key.default.into()])
}

/// The `index`-th of `count` combinations; the first key varies slowest.
fn case(dimensions: &[(&Key, Source, Vec<Value>)], index: usize, count: usize) -> Case {
    let (mut index, mut count) = (index, count);
    let mut chosen = Vec::new();
    for (key, source, values) in dimensions {
        count /= values.len();
        chosen.push((*key, *source, &values[index / count], values.len() > 1));
        index %= count;
    }
    let profile = chosen
        .iter()
        .find(|(key, _, value, _)| key.name == "link.profile" && value.to_string() != "none");
    let profile_source = profile.map(|(_, source, _, _)| *source);
    let mut names = Vec::new();
    let mut values = BTreeMap::new();
    for (key, source, value, spans) in chosen {
        // A profile replaces every other link setting except those chosen at least as deliberately.
        let link = key.name.starts_with("link.") && key.name != "link.profile";
        if link
            && profile_source.is_some_and(|profile| source < profile || source == Source::Default)
        {
            continue;
        }
        names.extend(match key.label {
            Some(label) => label(value),
            None => spans.then(|| format!("{}={value}", key.name)),
        });
        values.insert(key.name, value.clone());
    }
    Case {
        name: names.join("/"),
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(value: &Value) -> Option<String> {
        Some(format!("{value}ms"))
    }

    fn unless_none(value: &Value) -> Option<String> {
        Some(value.to_string()).filter(|v| v != "none")
    }

    fn keys() -> Vec<Key> {
        vec![
            Key::text("link.profile", "none", Domain::Choice(&["none", "lte"]), "")
                .labelled(unless_none),
            Key::number("link.latency_ms", 0.0, Domain::Number(0.0, 1e4), "").labelled(latency),
            Key::text("channel", "a", Domain::Choice(&["a", "b"]), "").labelled(plain),
            Key::number("seconds", 60.0, Domain::Whole(1, 100), ""),
        ]
    }

    fn numbers(values: &[f64]) -> Vec<Value> {
        values.iter().copied().map(Value::Number).collect()
    }

    fn words(values: &[&'static str]) -> Vec<Value> {
        values
            .iter()
            .copied()
            .map(|v| Value::Text(v.into()))
            .collect()
    }

    fn names(layers: &Layers) -> Vec<String> {
        cases(keys().iter(), layers)
            .unwrap()
            .into_iter()
            .map(|case| case.name)
            .collect()
    }

    #[test]
    fn cases_are_the_union_of_the_products() {
        let layers = Layers {
            matrices: vec![
                Choices::from([
                    ("link.latency_ms", numbers(&[0.0, 200.0])),
                    ("channel", words(&["a", "b"])),
                ]),
                Choices::from([("link.latency_ms", numbers(&[200.0, 1000.0]))]),
            ],
            ..Layers::default()
        };
        assert_eq!(
            names(&layers),
            ["0ms/a", "0ms/b", "200ms/a", "200ms/b", "1000ms/a"]
        );
    }

    #[test]
    fn set_replaces_a_dimension_in_every_matrix() {
        let layers = Layers {
            matrices: vec![
                Choices::from([
                    ("link.latency_ms", numbers(&[0.0, 200.0])),
                    ("channel", words(&["a", "b"])),
                ]),
                Choices::from([("link.latency_ms", numbers(&[1000.0]))]),
            ],
            set: Choices::from([("link.latency_ms", numbers(&[7.0]))]),
            ..Layers::default()
        };
        assert_eq!(names(&layers), ["7ms/a", "7ms/b"]);
    }

    #[test]
    fn a_hidden_key_shows_once_it_spans_a_dimension() {
        let layers = Layers {
            set: Choices::from([("seconds", numbers(&[1.0, 2.0]))]),
            ..Layers::default()
        };
        assert_eq!(names(&layers), ["0ms/a/seconds=1", "0ms/a/seconds=2"]);
    }

    #[test]
    fn a_profile_replaces_the_plans_link_but_not_what_was_set_beside_it() {
        let mut layers = Layers {
            plan: Choices::from([("link.latency_ms", numbers(&[50.0]))]),
            set: Choices::from([("link.profile", words(&["lte"]))]),
            ..Layers::default()
        };
        assert_eq!(names(&layers), ["lte/a"]);
        layers.set.insert("link.latency_ms", numbers(&[9.0]));
        assert_eq!(names(&layers), ["lte/9ms/a"]);
    }

    #[test]
    fn one_name_for_two_different_cases_is_refused() {
        let matrices = vec![
            Choices::from([("seconds", numbers(&[1.0]))]),
            Choices::from([("seconds", numbers(&[2.0]))]),
        ];
        assert!(
            cases(
                keys().iter(),
                &Layers {
                    matrices,
                    ..Layers::default()
                }
            )
            .is_err()
        );
    }

    #[test]
    fn values_outside_their_domain_are_refused_with_what_is_valid() {
        let share = |text| Domain::Share.parse("link.loss", text);
        assert_eq!(share("5%").unwrap(), Value::Number(0.05));
        assert_eq!(share("0.05").unwrap(), Value::Number(0.05));
        assert!(share("5").unwrap_err().to_string().contains("from 0 to 1"));
        assert!(share("nan").is_err());
        let whole = Domain::Whole(1, 10);
        assert!(whole.parse("repeats", "1.5").is_err());
        assert!(whole.parse("repeats", "0").is_err());
        assert_eq!(whole.parse("repeats", " 3").unwrap(), Value::Number(3.0));
        let error = Domain::Choice(&["udp", "tcp"])
            .parse("transport", "ipx")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"ipx\" is not a value of transport; valid is udp, tcp"
        );
    }
}
