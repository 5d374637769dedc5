//! Where a program takes the password of a game from.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::Args;
use samestep::session::Password;
use samestep::{PasswordError, read_password};

use crate::announce::random_bytes;
use crate::failure::{Failure, Kind};

/// The letters and digits of a new password: none that looks like another.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz123456789";

/// A new password that can be read to somebody: 60 random bits as `k7mf-2xqp-9trd`.
pub fn new_password() -> Result<String, Failure> {
    let random: [u8; 12] =
        random_bytes().map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
    let groups = random.chunks(4);
    let groups: Vec<String> = groups.map(|g| g.iter().map(letter).collect()).collect();
    Ok(groups.join("-"))
}

/// The password that a room is to have from now on: the first line of a file, or a new one.
pub fn next_password(file: &str) -> Result<String, Failure> {
    if file.is_empty() {
        return new_password();
    }
    let file = std::path::Path::new(file);
    let password = read_password(Some(file));
    let password = password.map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    Ok(password.map_or_else(String::new, |p| p.as_str().into()))
}

/// What is said when a room has another password.
pub fn changed(password: &str) -> String {
    format!(
        "the password is now {password}: whoever joins from now on needs it; who is here stays, and returns without it"
    )
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_passwords_can_be_read_aloud_and_are_all_different() {
        let password = new_password().unwrap();
        let groups: Vec<_> = password.split('-').collect();
        assert_eq!(groups.len(), 3);
        for group in groups {
            assert_eq!(group.len(), 4);
            assert!(group.bytes().all(|byte| LETTERS.contains(&byte)), "{group}");
        }
        assert_ne!(password, new_password().unwrap());
    }
}
