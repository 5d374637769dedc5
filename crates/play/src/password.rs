//! Where a program takes the password of a game from.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::Args;
use samestep::session::Password;
use samestep::{PasswordError, read_password};

use crate::failure::{Failure, Kind};

/// Where the password is.
#[derive(Args, Clone, Debug)]
pub struct PasswordArguments {
    /// The first line of this file is the password [default: the environment variable SAMESTEP_PASSWORD, if it is set]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// The password itself, which is refused.
    #[arg(long = "password", hide = true, num_args = 0..=1, default_missing_value = "", value_parser = on_command_line)]
    refused: Option<Refused>,
}

/// A password was given that must not be used, nor kept.
#[derive(Clone, Copy, Debug)]
struct Refused;

fn on_command_line(_: &str) -> Result<Refused, Infallible> {
    Ok(Refused)
}

impl PasswordArguments {
    /// Reads the password, if there is one.
    pub fn read(&self) -> Result<Option<Password>, Failure> {
        let password = match self.refused {
            Some(Refused) => Err(PasswordError::OnCommandLine),
            None => read_password(self.password_file.as_deref()),
        };
        password.map_err(|error| Failure::new(Kind::Other, error.to_string()))
    }
}
