//! What can go wrong before or after a measurement.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a plan could not be loaded, run or written down. The text is meant for whoever typed the command.
#[derive(Debug)]
#[non_exhaustive]
pub enum LabError {
    /// No built-in plan has this name and no file this path.
    UnknownPlan {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The plan file says something that makes no sense.
    BadPlan {
        /// The plan's name or path.
        plan: String,
        /// What is wrong with it.
        why: String,
    },
    /// `--set` named a key the plan's experiment does not have.
    UnknownKey {
        /// The plan.
        plan: String,
        /// What was asked for.
        key: String,
        /// The keys there are.
        known: Vec<&'static str>,
    },
    /// `--set` or a plan gave a key a value outside its domain.
    BadValue {
        /// The key.
        key: String,
        /// The value as written.
        value: String,
        /// What would be valid.
        valid: String,
    },
    /// The experiment cannot be run the way it was asked to.
    Unsupported(String),
    /// The measurement itself failed: a connection did not come up, a promise was broken.
    Measurement {
        /// The case being measured.
        case: String,
        /// What happened.
        why: String,
    },
    /// A file could not be read or written.
    File {
        /// Which one.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
}

impl LabError {
    pub(crate) fn file(path: &Path, error: std::io::Error) -> LabError {
        LabError::File {
            path: path.to_path_buf(),
            error,
        }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabError::UnknownPlan { name, known } => {
                write!(
                    f,
                    "there is no plan \"{name}\"; the plans are {} (or give the path of a .toml file)",
                    known.join(", ")
                )
            }
            LabError::BadPlan { plan, why } => write!(f, "plan {plan}: {why}"),
            LabError::UnknownKey { plan, key, known } => {
                write!(
                    f,
                    "plan {plan} has no key \"{key}\"; its keys are {}",
                    known.join(", ")
                )
            }
            LabError::BadValue { key, value, valid } => {
                write!(f, "\"{value}\" is no value for {key}; valid is {valid}")
            }
            LabError::Unsupported(why) => write!(f, "{why}"),
            LabError::Measurement { case, why } => write!(f, "case {case}: {why}"),
            LabError::File { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LabError {}
