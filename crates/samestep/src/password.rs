//! Where a program takes the password of a room from: not from its command line, which everybody on the machine can read.

use std::env::VarError;
use std::io;
use std::path::{Path, PathBuf};

use samestep_session::Password;

/// The environment variable that holds the password of a room.
pub const PASSWORD_VARIABLE: &str = "SAMESTEP_PASSWORD";

/// Why there is no password, though one was to be read. `Debug` shows the message too, so that `main` may return it.
#[derive(thiserror::Error)]
pub enum PasswordError {
    /// It stands on the command line.
    #[error(
        "--password: the list of processes would show it to everybody on this machine; set the environment variable {PASSWORD_VARIABLE} instead, or put it into a file and give --password-file FILE"
    )]
    OnCommandLine,
    /// The file cannot be read.
    #[error("the file of the password, {}, cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The file, or the environment variable, has no password in it.
    #[error("the password in {0} is empty: choose one, or leave {0} out")]
    Empty(String),
    /// The environment variable is no text.
    #[error("the password in {PASSWORD_VARIABLE} is not UTF-8")]
    NotText,
}

impl std::fmt::Debug for PasswordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// The password of a room: the first line of the file, if one is given, else that of the environment variable `SAMESTEP_PASSWORD`, if it is set.
pub fn read_password(file: Option<&Path>) -> Result<Option<Password>, PasswordError> {
    let (text, whence) = match file {
        Some(file) => {
            let text =
                std::fs::read_to_string(file).map_err(|error| PasswordError::Unreadable {
                    file: file.into(),
                    error,
                })?;
            (text, file.display().to_string())
        }
        None => match std::env::var(PASSWORD_VARIABLE) {
            Ok(text) => (text, PASSWORD_VARIABLE.into()),
            Err(VarError::NotPresent) => return Ok(None),
            Err(VarError::NotUnicode(_)) => return Err(PasswordError::NotText),
        },
    };
    match text.lines().next() {
        None | Some("") => Err(PasswordError::Empty(whence)),
        Some(password) => Ok(Some(password.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: &str) -> PathBuf {
        let file = std::env::temp_dir().join(format!("samestep-{}-{name}", std::process::id()));
        std::fs::write(&file, content).unwrap();
        file
    }

    #[test]
    fn the_first_line_of_a_file_is_the_password() {
        for content in ["open sesame", "open sesame\n", "open sesame\r\nand more\n"] {
            let file = file("password", content);
            let read = read_password(Some(&file)).unwrap();
            assert_eq!(read, Some("open sesame".into()), "{content:?}");
            std::fs::remove_file(file).unwrap();
        }
    }

    #[test]
    fn no_password_is_an_error_that_names_the_file() {
        let empty = file("empty", "\n");
        let error = read_password(Some(&empty)).unwrap_err().to_string();
        assert!(
            error.contains("samestep-") && error.contains("is empty"),
            "{error}"
        );
        std::fs::remove_file(&empty).unwrap();
        let error = read_password(Some(&empty)).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
