//! Where a program takes the connect token from that a lobby gave to it.

use std::env::VarError;
use std::io;
use std::path::{Path, PathBuf};

use samestep_proto::{TokenError, token_from_text};

/// The environment variable that holds a connect token.
pub const TOKEN_VARIABLE: &str = "SAMESTEP_TOKEN";

/// Why there is no connect token, though one was to be read. `Debug` shows the message too, so that `main` may return it.
#[derive(thiserror::Error)]
pub enum ReadTokenError {
    /// The file cannot be read.
    #[error("the file of the connect token, {}, cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// What is in the file, or in the environment variable, is no token.
    #[error("there is no connect token in {0}: copy it again from the lobby, all of it")]
    NotAToken(String),
}

impl std::fmt::Debug for ReadTokenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// A connect token for [`SessionConfig::token`](samestep_session::SessionConfig::token): the text in the file, if one is given, else that in the environment
/// variable `SAMESTEP_TOKEN`, if it is set.
pub fn read_token(file: Option<&Path>) -> Result<Option<Vec<u8>>, ReadTokenError> {
    let (text, whence) = match file {
        Some(file) => {
            let text =
                std::fs::read_to_string(file).map_err(|error| ReadTokenError::Unreadable {
                    file: file.into(),
                    error,
                })?;
            (text, file.display().to_string())
        }
        None => match std::env::var(TOKEN_VARIABLE) {
            Ok(text) => (text, TOKEN_VARIABLE.into()),
            Err(VarError::NotPresent) => return Ok(None),
            Err(VarError::NotUnicode(_)) => {
                return Err(ReadTokenError::NotAToken(TOKEN_VARIABLE.into()));
            }
        },
    };
    let token = token_from_text(text.trim());
    token
        .map(Some)
        .map_err(|_: TokenError| ReadTokenError::NotAToken(whence))
}

#[cfg(test)]
mod tests {
    use samestep_proto::{Identity, TokenClaims, TokenId, TokenIssuer, token_to_text};

    use super::*;

    #[test]
    fn a_token_is_read_from_a_file_and_nothing_else_is() {
        let key = |seed| Identity::from_secret([seed; 32]).public_key();
        let claims = TokenClaims {
            id: TokenId([1; 16]),
            issued_unix_s: 1,
            expires_unix_s: 2,
            server: key(1),
            shard: 0,
            client: key(2),
            client_addresses: vec![],
            user_data: vec![],
        };
        let token = TokenIssuer::new([3; 32]).issue(&claims).unwrap();
        let file = std::env::temp_dir().join(format!("samestep-token-{}", std::process::id()));
        std::fs::write(&file, token_to_text(&token) + "\n").unwrap();
        assert_eq!(read_token(Some(&file)).unwrap(), Some(token.clone()));
        for nonsense in ["", "sesame", &token_to_text(&token[..40])] {
            std::fs::write(&file, nonsense).unwrap();
            let error = read_token(Some(&file)).unwrap_err().to_string();
            assert!(error.contains("there is no connect token in"), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
        let error = read_token(Some(&file)).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
