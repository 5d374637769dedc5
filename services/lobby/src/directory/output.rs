//! What a directory wants of its surroundings besides writes and reads: something to be sent, a password to be checked.

use std::sync::Arc;

use super::{CheckId, ConnectionId};
use crate::protocol::{EndReason, Message};
use crate::refusal::Refusal;
use crate::secret::{PasswordCost, PasswordHash, RoomPassword};

/// What the directory wants to be sent.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most are answers")]
pub enum Output {
    /// The end of a request.
    Answer {
        /// To whom.
        to: ConnectionId,
        /// Which request.
        id: Option<u64>,
        /// What came of it.
        result: Result<Message, Refusal>,
    },
    /// The same JSON to several.
    Tell {
        /// To whom.
        to: Vec<ConnectionId>,
        /// What.
        frame: Arc<str>,
    },
    /// The connection is a member's no longer: say why, then close it.
    End {
        /// Whose.
        to: ConnectionId,
        /// Why.
        reason: EndReason,
    },
}

/// A slow question about a password, to be answered outside of the directory.
#[derive(Debug)]
pub struct Check {
    /// Which question.
    pub id: CheckId,
    /// The password.
    pub password: RoomPassword,
    /// The hash that it may belong to; none: it is to be hashed.
    pub against: Option<PasswordHash>,
    /// The salt of a new hash.
    pub salt: [u8; 16],
    /// Its cost.
    pub cost: PasswordCost,
}

impl Check {
    /// Hashes the password: the hash that it has, if it is the right one.
    pub fn run(&self) -> Result<PasswordHash, Refusal> {
        match &self.against {
            Some(hash) if hash.is_of(&self.password) => Ok(hash.clone()),
            Some(_) => Err(Refusal::WrongPassword),
            None => PasswordHash::make(&self.password, self.salt, self.cost),
        }
    }
}
