//! Errors before, during and after a measurement.

use std::path::{Path, PathBuf};

/// Why a plan could not be loaded, run or saved. The text is meant for the person who typed the command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// No built-in plan has this name and no file this path.
    #[error(
        "there is no plan \"{name}\"; the plans are {} (or give the path of a .toml file)",
        known.join(", ")
    )]
    UnknownPlan {
        /// The name asked for.
        name: String,
        /// The names of all plans.
        known: Vec<String>,
    },
    /// The plan file is not valid.
    #[error("plan {plan}: {why}")]
    BadPlan {
        /// The plan's name or path.
        plan: String,
        /// What is wrong with it.
        why: String,
    },
    /// `--set` named a key the plan's experiment does not have.
    #[error("plan {plan} has no key \"{key}\"; its keys are {}", known.join(", "))]
    UnknownKey {
        /// The plan.
        plan: String,
        /// The key asked for.
        key: String,
        /// The keys of the plan's experiment.
        known: Vec<&'static str>,
    },
    /// `--set` or a plan gave a key a value outside its domain.
    #[error("\"{value}\" is not a value of {key}; valid is {valid}")]
    BadValue {
        /// The key.
        key: String,
        /// The value as written.
        value: String,
        /// The valid values.
        valid: String,
    },
    /// The experiment cannot be run the way it was asked to.
    #[error("{0}")]
    Unsupported(String),
    /// The measurement itself failed: a connection could not be established, a promise was broken.
    #[error("case {case}: {why}")]
    Measurement {
        /// The case being measured.
        case: String,
        /// What happened.
        why: String,
    },
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file's path.
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
