//! Why a server refuses a client, on the wire and in words.

use super::{ClientNonce, DecodeError, Fields, REFUSE, REFUSE_BYTES, close, flag, start};

/// Server to client: no. This layout is the same in every version of the protocol, so that any
/// client can read why it was refused.
///
/// | bytes | field |
/// |---|---|
/// | 0..6 | kind 0x05, magic, protocol version of the server |
/// | 6..14 | client nonce |
/// | 14 | reason, u8 |
/// | 15 | detail, u8: for Protocol the version the client sent, for Security 1 if the server encrypts, else zero |
/// | 16..20 | for Version the server's application version, u32, else zero |
/// | 20..24 | for Version the application version the client sent, u32, else zero |
/// | 24..28 | checksum |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refuse {
    /// The attempt this answers.
    pub nonce: ClientNonce,
    /// Why.
    pub reason: RefuseReason,
}

impl Refuse {
    /// The datagram.
    pub fn encode(&self) -> [u8; REFUSE_BYTES] {
        let mut out = start(REFUSE, self.nonce);
        out[14] = self.reason.code();
        match self.reason {
            RefuseReason::Protocol { theirs, ours } => {
                out[5] = theirs;
                out[15] = ours;
            }
            RefuseReason::Version { theirs, ours } => {
                out[16..20].copy_from_slice(&theirs.to_le_bytes());
                out[20..24].copy_from_slice(&ours.to_le_bytes());
            }
            RefuseReason::Security { encrypted } => out[15] = flag(1, encrypted),
            _ => {}
        }
        close(&mut out);
        out
    }

    pub(super) fn decode(protocol: u8, mut fields: Fields<'_>) -> Result<Self, DecodeError> {
        let nonce = ClientNonce(fields.u64()?);
        let (code, detail) = (fields.u8()?, fields.u8()?);
        let (theirs, ours) = (fields.u32()?, fields.u32()?);
        let reason = match code {
            1 => RefuseReason::Protocol {
                theirs: protocol,
                ours: detail,
            },
            2 => RefuseReason::Version { theirs, ours },
            14 => RefuseReason::Security {
                encrypted: detail != 0,
            },
            _ => RefuseReason::from_code(code),
        };
        Ok(Self { nonce, reason })
    }
}

/// Why a server refused a client. As text it tells the player what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefuseReason {
    /// The two programs speak different versions of the protocol. `ours` is the client's.
    #[error("the server speaks protocol version {theirs}, you speak {ours}: {}", update(.theirs, .ours))]
    Protocol {
        /// The server's.
        theirs: u8,
        /// The client's.
        ours: u8,
    },
    /// The two run different versions of the game. `ours` is the client's.
    #[error("the server runs version {theirs}, you run {ours}: {}", update(.theirs, .ours))]
    Version {
        /// The server's.
        theirs: u32,
        /// The client's.
        ours: u32,
    },
    /// The server runs another game.
    #[error("the server runs a different game: check the address")]
    Game,
    /// All places are taken.
    #[error("the server is full: try again later")]
    Full,
    /// The password is wrong. No server sends this: the client finds out by the server's proof, and the server by the client's silence.
    #[error("wrong password: type it again or ask the host for it")]
    Password,
    /// The server asks for a password and none was given.
    #[error("the server asks for a password: enter it and try again")]
    PasswordRequired,
    /// A password was given and the server has none. It is not ignored, since it also proves to
    /// the client that it talks to the right server.
    #[error("the server has no password: connect without one")]
    PasswordUnneeded,
    /// The client's address is banned.
    #[error("you are banned from this server")]
    Banned,
    /// The server admits only clients sent by its lobby.
    #[error("the server admits players only through its lobby: join there")]
    TokenRequired,
    /// The token is not one of this server's lobby.
    #[error("the server does not trust this invitation: join through the server's own lobby")]
    TokenInvalid,
    /// The token's time is over.
    #[error(
        "the invitation has expired: ask the lobby for a new one, and check the clocks of lobby and server if that is refused too"
    )]
    TokenExpired,
    /// The token has been used.
    #[error("the invitation has been used: ask the lobby for a new one")]
    TokenUsed,
    /// The token is for another server, or another shard of it.
    #[error(
        "the invitation is for another server: join the one it names, or ask the lobby for one for this server"
    )]
    TokenServer,
    /// The token is for another client, or another address of it.
    #[error(
        "the invitation is for another program or another network: join with the key and from where it was asked for, or ask the lobby for a new one"
    )]
    TokenClient,
    /// The token was issued in the future, or is good for too long.
    #[error(
        "the invitation is not good yet by the server's clock: the clock of the lobby or of the server is wrong, tell who runs them"
    )]
    TokenTime,
    /// The token is from before the server started, so that it may have been used, or from its first ten seconds.
    #[error(
        "the invitation is from before the server had started: ask the lobby for a new one in ten seconds"
    )]
    TokenBeforeStart,
    /// The channel configurations differ.
    #[error(
        "the server's channels differ from this program's: both must be built with the same channel configuration"
    )]
    Channels,
    /// One side wants encryption and the other does not.
    #[error("{}", switch(.encrypted))]
    Security {
        /// Whether it is the server that encrypts.
        encrypted: bool,
    },
    /// Too many clients are connecting at this moment.
    #[error("the server is busy with other players connecting: try again in a moment")]
    Busy,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// A reason that this version does not know, by its code.
    #[error(
        "the server refused for a reason this version does not know (code {0}): update the game"
    )]
    Unknown(u8),
}

impl RefuseReason {
    /// All reasons without details, with their codes. Protocol is 1, Version 2, Security 14.
    const CODES: [(u8, Self); 17] = [
        (3, Self::Game),
        (4, Self::Full),
        (5, Self::Password),
        (6, Self::PasswordRequired),
        (7, Self::PasswordUnneeded),
        (8, Self::Banned),
        (9, Self::TokenRequired),
        (10, Self::TokenInvalid),
        (11, Self::TokenExpired),
        (12, Self::TokenUsed),
        (13, Self::TokenServer),
        (15, Self::Channels),
        (16, Self::Busy),
        (18, Self::ShuttingDown),
        (19, Self::TokenClient),
        (20, Self::TokenTime),
        (21, Self::TokenBeforeStart),
    ];

    fn code(self) -> u8 {
        match self {
            Self::Protocol { .. } => 1,
            Self::Version { .. } => 2,
            Self::Security { .. } => 14,
            Self::Unknown(code) => code,
            _ => Self::CODES
                .iter()
                .find(|(_, reason)| *reason == self)
                .map_or(0, |(code, _)| *code),
        }
    }

    fn from_code(code: u8) -> Self {
        Self::CODES
            .iter()
            .find(|(other, _)| *other == code)
            .map_or(Self::Unknown(code), |(_, reason)| *reason)
    }
}

/// Who has to update when the versions differ.
fn update<T: PartialOrd>(theirs: &T, ours: &T) -> &'static str {
    match theirs > ours {
        true => "update the game",
        false => "ask its host to update",
    }
}

/// What to do when only one side encrypts: the server, or the client.
fn switch(server_encrypts: &bool) -> &'static str {
    match server_encrypts {
        true => "the server accepts only encrypted connections: switch encryption on",
        false => "the server does not encrypt: switch encryption off if you trust the network",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Datagram, HELLO_BYTES};
    use super::*;
    use crate::golden::hex;

    fn all() -> Vec<RefuseReason> {
        let mut reasons = vec![
            RefuseReason::Protocol { theirs: 3, ours: 1 },
            RefuseReason::Version { theirs: 7, ours: 5 },
            RefuseReason::Security { encrypted: true },
            RefuseReason::Security { encrypted: false },
            RefuseReason::Unknown(200),
        ];
        reasons.extend(RefuseReason::CODES.map(|(_, reason)| reason));
        reasons
    }

    #[test]
    fn every_reason_survives_the_wire_in_less_than_a_hello() {
        const { assert!(REFUSE_BYTES <= HELLO_BYTES) };
        for reason in all() {
            let refuse = Refuse {
                nonce: ClientNonce(8),
                reason,
            };
            let bytes = refuse.encode();
            assert_eq!(Datagram::decode(&bytes), Ok(Datagram::Refuse(refuse)));
        }
    }

    #[test]
    fn every_code_of_the_future_can_be_read() {
        for code in 0..=255 {
            let refuse = Refuse {
                nonce: ClientNonce(1),
                reason: RefuseReason::Unknown(code),
            };
            let Ok(Datagram::Refuse(read)) = Datagram::decode(&refuse.encode()) else {
                panic!("code {code} was not read");
            };
            assert_eq!(read.reason.code(), code);
        }
    }

    #[test]
    fn codes_are_distinct() {
        let mut codes: Vec<u8> = all().into_iter().map(RefuseReason::code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(
            codes.len(),
            all().len() - 1,
            "the two Security reasons share one"
        );
    }

    #[test]
    fn texts_say_what_to_do() {
        let text = |reason: RefuseReason| reason.to_string();
        assert_eq!(
            text(RefuseReason::Version { theirs: 7, ours: 5 }),
            "the server runs version 7, you run 5: update the game"
        );
        assert_eq!(
            text(RefuseReason::Version { theirs: 5, ours: 7 }),
            "the server runs version 5, you run 7: ask its host to update"
        );
        let mut texts: Vec<String> = all().into_iter().map(text).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), all().len());
    }

    #[test]
    fn golden_refuse() {
        let refuse = Refuse {
            nonce: ClientNonce(0x1122_3344_5566_7788),
            reason: RefuseReason::Version { theirs: 7, ours: 5 },
        };
        assert_eq!(hex(&refuse.encode()), crate::golden::vector("refuse"));
    }
}
