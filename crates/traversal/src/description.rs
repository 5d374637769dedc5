//! What two programs tell each other about their ways through any signalling: a line of text.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use is::{Candidate, IceCreds};

use crate::classify::is_useless;

/// The most candidates of one program.
pub const MAX_CANDIDATES: usize = 16;

/// The longest description, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 2048;

const VERSION: &str = "ways1";

/// How a candidate's address was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CandidateKind {
    /// It is one of the program's own interfaces, or mapped to it by the router's leave.
    Host,
    /// A STUN server saw it.
    Reflexive,
    /// A relay lends it.
    Relayed,
}

/// An address at which a program may be reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WayIn {
    /// How it was found.
    pub kind: CandidateKind,
    /// The address.
    pub address: SocketAddr,
}

/// The text that one program sends to one peer through any signalling: credentials for the checks between these two, and all addresses it may be reached
/// at. It is a secret of the two: whoever knows both descriptions can have their datagrams sent elsewhere, though not read them.
///
/// `ways1 NAME PASSWORD host=192.0.2.1:5000 reflexive=198.51.100.7:62000 relayed=203.0.113.5:49160`
#[derive(Clone, PartialEq, Eq)]
pub struct Description {
    pub(crate) credentials: IceCreds,
    pub(crate) ways: Vec<WayIn>,
}

impl Description {
    /// The addresses in it.
    pub fn ways(&self) -> &[WayIn] {
        &self.ways
    }
}

/// Why a text is no description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// It is longer than descriptions are.
    #[error(
        "the peer's description is longer than {MAX_DESCRIPTION_BYTES} bytes: ask it for another"
    )]
    TooLong,
    /// It begins with another word.
    #[error(
        "the peer's description is of another version: both programs need the same version of the game"
    )]
    Version,
    /// Its name or password are not what ICE allows.
    #[error("the peer's description has no valid name and password: ask it for another")]
    Credentials,
    /// One of its addresses is none, or there are too many.
    #[error(
        "the peer's description has an address that is none, or more than {MAX_CANDIDATES}: ask it for another"
    )]
    Candidate,
}

impl WayIn {
    /// As the ICE agent wants it.
    pub(crate) fn candidate(&self) -> Option<Candidate> {
        let Self { kind, address } = *self;
        match kind {
            CandidateKind::Host => Candidate::host(address, "udp"),
            CandidateKind::Reflexive => Candidate::server_reflexive(address, address, "udp"),
            CandidateKind::Relayed => Candidate::relayed(address, address, "udp"),
        }
        .ok()
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IceCreds { ufrag, pass } = &self.credentials;
        write!(f, "{VERSION} {ufrag} {pass}")?;
        for way in &self.ways {
            let kind = match way.kind {
                CandidateKind::Host => "host",
                CandidateKind::Reflexive => "reflexive",
                CandidateKind::Relayed => "relayed",
            };
            write!(f, " {kind}={}", way.address)?;
        }
        Ok(())
    }
}

impl FromStr for Description {
    type Err = DescriptionError;

    fn from_str(text: &str) -> Result<Self, DescriptionError> {
        if text.len() > MAX_DESCRIPTION_BYTES {
            return Err(DescriptionError::TooLong);
        }
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some(VERSION) {
            return Err(DescriptionError::Version);
        }
        let mut credential = |least| {
            let word = words.next().filter(|word| {
                let characters = word.bytes();
                (least..=64).contains(&word.len()) && { characters }
                    .all(|c| c.is_ascii_alphanumeric() || c == b'+' || c == b'/')
            });
            word.map(str::to_owned).ok_or(DescriptionError::Credentials)
        };
        // RFC 8445, 5.3: at least 4 and 22 characters.
        let credentials = IceCreds {
            ufrag: credential(4)?,
            pass: credential(22)?,
        };
        let mut ways = Vec::new();
        for word in words {
            let way = read_way(word).ok_or(DescriptionError::Candidate)?;
            if ways.len() == MAX_CANDIDATES {
                return Err(DescriptionError::Candidate);
            }
            ways.push(way);
        }
        Ok(Self { credentials, ways })
    }
}

fn read_way(word: &str) -> Option<WayIn> {
    let (kind, address) = word.split_once('=')?;
    let kind = match kind {
        "host" => CandidateKind::Host,
        "reflexive" => CandidateKind::Reflexive,
        "relayed" => CandidateKind::Relayed,
        _ => return None,
    };
    let address: SocketAddr = address.parse().ok()?;
    (!is_useless(address)).then_some(WayIn { kind, address })
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description")
            .field("ways", &self.ways)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secrets;

    const TEXT: &str = "ways1 0123456789abcdef 0123456789abcdef0123456789abcdef host=192.0.2.1:5000 \
        host=[2001:db8::1]:5000 reflexive=198.51.100.7:62000 relayed=203.0.113.5:49160";

    #[test]
    fn a_description_as_text_and_back() {
        let read: Description = TEXT.parse().unwrap();
        assert_eq!(read.ways().len(), 4);
        assert_eq!(read.to_string(), TEXT);
        let standard = include_str!("../../../WIRE.md");
        assert!(standard.contains(TEXT), "WIRE.md, section 16");
        assert!(
            !format!("{read:?}").contains("cdef0123"),
            "no secrets in logs"
        );
        let drawn = Description {
            credentials: Secrets::new([1; 32]).credentials(),
            ways: vec![],
        };
        assert_eq!(drawn.to_string().parse(), Ok(drawn));
    }

    #[test]
    fn a_full_description_is_short_enough() {
        let way = WayIn {
            kind: CandidateKind::Reflexive,
            address: "[1111:2222:3333:4444:5555:6666:7777:8888]:65535"
                .parse()
                .unwrap(),
        };
        let mut full: Description = TEXT.parse().unwrap();
        full.ways = vec![way; MAX_CANDIDATES];
        assert!(full.to_string().len() <= MAX_DESCRIPTION_BYTES);
        assert!(full.to_string().parse::<Description>().is_ok());
        full.ways.push(way);
        let more = full.to_string().parse::<Description>();
        assert_eq!(more, Err(DescriptionError::Candidate));
    }

    #[test]
    fn what_is_no_description_is_refused() {
        use DescriptionError::*;
        let (head, _) = TEXT.split_once(" host").unwrap();
        for (text, error) in [
            (String::new(), Version),
            (TEXT.replace("ways1", "ways2"), Version),
            ("ways1 abc 0123456789abcdef012345".into(), Credentials),
            ("ways1 abcd 0123456789".into(), Credentials),
            ("ways1 ab:d 0123456789abcdef012345".into(), Credentials),
            (format!("{head} host=192.0.2.1"), Candidate),
            (format!("{head} host=0.0.0.0:5"), Candidate),
            (format!("{head} host=[fd53:0:1:7065:6572::1]:1"), Candidate),
            (format!("{head} ghost=192.0.2.1:5"), Candidate),
            ("ways1 ".repeat(1000), TooLong),
        ] {
            assert_eq!(text.parse::<Description>(), Err(error), "{text}");
        }
    }
}
