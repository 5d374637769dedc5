//! The options of games whose players a lobby chooses: its key where a game is opened, its token where one is joined.

use std::path::PathBuf;

use clap::Args;
use samestep::proto::TokenClaims;
use samestep::read_token;
use samestep::session::{LobbyKey, SessionConfig};

use crate::failure::{Failure, Kind};
use crate::identity::player_identity;

/// Whose tokens let somebody in.
#[derive(Args, Clone, Copy, Debug)]
pub struct LobbyArguments {
    /// Let in only who brings a connect token of the lobby with this public key (see `samestep token`)
    #[arg(long, value_name = "KEY")]
    pub lobby_key: Option<LobbyKey>,
    /// Which of the servers that share this program's key this is, for the lobby
    #[arg(long, value_name = "N", default_value_t = 0, requires = "lobby_key")]
    pub shard: u32,
}

impl LobbyArguments {
    /// Puts the lobby into the settings.
    pub fn apply(&self, config: SessionConfig) -> SessionConfig {
        match self.lobby_key {
            Some(key) => config.admits_by_lobby(key, self.shard),
            None => config,
        }
    }
}

/// What a lobby gave to who joins.
#[derive(Args, Clone, Debug)]
pub struct TokenArguments {
    /// The connect token that a lobby gave you is in this file [default: the environment variable SAMESTEP_TOKEN, if it is set]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Where the key is kept for which the token was issued [default: a file in the user's state directory]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

impl TokenArguments {
    /// Puts token and key into the settings, if there is a token.
    pub fn apply(&self, config: &mut SessionConfig) -> Result<(), Failure> {
        let nonsense = |words: String| Failure::new(Kind::Other, words);
        let token = read_token(self.token_file.as_deref());
        let Some(token) = token.map_err(|error| nonsense(error.to_string()))? else {
            return Ok(());
        };
        let identity = player_identity(self.key_file.as_deref()).map_err(nonsense)?;
        let claims = TokenClaims::of_token(&token).map_err(|error| nonsense(error.to_string()))?;
        let own = identity.public_key();
        if claims.client != own {
            let words = format!(
                "the connect token is for a program with the key {}, yours is {own}: ask the lobby for one for your key, or say with --key-file where that one is",
                claims.client
            );
            return Err(Failure::new(Kind::Token, words));
        }
        config.protocol.identity = Some(identity);
        config.token = Some(token);
        Ok(())
    }
}
