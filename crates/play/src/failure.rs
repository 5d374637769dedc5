//! Why a command failed: a message for people, an exit code for scripts.

use std::error::Error;
use std::fmt;
use std::io;

/// A failure, with the message to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind it is, which determines the exit code.
    pub kind: Kind,
    words: String,
}

/// The kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command is invalid, or failed for another reason.
    Other,
    /// Nobody answers at the address.
    NobodyThere,
    /// The other end has another version, or another game.
    Version,
    /// The password is wrong or missing.
    Password,
    /// The room is full.
    Full,
    /// The port is taken.
    PortTaken,
    /// The name has no address.
    Unresolved,
    /// The room was closed.
    RoomClosed,
    /// This program was kicked or banned.
    Kicked,
    /// The connection was lost.
    Lost,
    /// The lobby's connect token is missing, or not good there.
    Token,
}

impl Kind {
    const ALL: [(Kind, &'static str); 11] = [
        (
            Kind::Other,
            "the command makes no sense, or failed otherwise",
        ),
        (Kind::NobodyThere, "nobody there"),
        (Kind::Version, "another version, or another game"),
        (Kind::Password, "wrong or missing password"),
        (Kind::Full, "the room is full"),
        (Kind::PortTaken, "the port is taken"),
        (Kind::Unresolved, "the name has no address"),
        (Kind::RoomClosed, "the room was closed"),
        (Kind::Kicked, "kicked or banned"),
        (Kind::Lost, "the connection was lost"),
        (
            Kind::Token,
            "no connect token of the lobby, or none that is good there",
        ),
    ];

    /// The exit code. 0 is success, 1 means that something measured is not as it should be.
    pub fn code(self) -> u8 {
        2 + self as u8
    }
}

/// The list of exit codes, for the help.
pub fn codes() -> String {
    let lines = Kind::ALL.map(|(kind, words)| format!("  {:>2}  {words}", kind.code()));
    format!("Exit codes:\n   0  all went well\n{}", lines.join("\n"))
}

impl Failure {
    /// A failure with these words.
    pub fn new(kind: Kind, words: impl Into<String>) -> Failure {
        Failure {
            kind,
            words: words.into(),
        }
    }

    /// A socket could not be opened; the transport's message says why.
    pub fn of_bind(error: io::Error) -> Failure {
        let kind = match error.kind() {
            io::ErrorKind::AddrInUse => Kind::PortTaken,
            _ => Kind::Other,
        };
        Failure::new(kind, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_count_from_two_and_are_all_explained() {
        for (at, (kind, _)) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(kind.code()), at + 2);
        }
        assert!(codes().contains("   5  wrong or missing password"));
    }
}
