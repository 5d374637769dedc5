//! Finding rooms in the local network.
//!
//! A program that looks for a room sends a [`Query`] to everyone in the local network; a program with a room replies with an [`Answer`].
//! A [`Finder`] asks and keeps the list, a [`Responder`] answers; both only turn datagrams into datagrams, and a socket that
//! reaches everyone (in `samestep-transport`) carries them.
//!
//! Nothing here is encrypted or authenticated: anyone in the network can read it and can answer. It says where to connect and to which key. Who
//! joins by both reaches the program that answered, or whoever has that key, and nobody else; that it is the right one the answer does not prove.
//!
//! ```
//! use samestep_session::Identity;
//! use samestep_session::discovery::{Announcement, Finder, FinderConfig, Responder, ResponderId, Topology};
//! use std::{net::SocketAddr, time::Duration};
//!
//! let mut responder = Responder::new(ResponderId(1), Announcement {
//!     room: "Ada's room".into(),
//!     game: "skirmish".into(),
//!     version: 5,
//!     players: 1,
//!     capacity: 4,
//!     password: false,
//!     topology: Topology::Hosted,
//!     port: 14242,
//!     key: Identity::from_secret([7; 32]).public_key(),
//! })?;
//! let mut finder = Finder::new(FinderConfig::for_game("skirmish"), 7)?;
//!
//! let (host, seeker): (SocketAddr, SocketAddr) = ("10.0.0.1:14241".parse()?, "10.0.0.2:5000".parse()?);
//! let (mut query, mut answer, mut now) = ([0; 256], [0; 256], Duration::ZERO);
//! let len = finder.poll_query(now, &mut query).unwrap();
//! now += Duration::from_millis(2);
//! let len = responder.handle_query(now, seeker, &query[..len], &mut answer).unwrap();
//! finder.handle_answer(now, host, &answer[..len]);
//!
//! let found = finder.rooms().next().unwrap();
//! assert_eq!(found.address.to_string(), "10.0.0.1:14242");
//! assert_eq!(found.announcement.room, "Ada's room");
//! assert_eq!(found.round_trip, Duration::from_millis(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod finder;
mod responder;

pub use finder::{Finder, FinderConfig, FinderStats, Found};
pub use responder::{Responder, ResponderStats};

use samestep_proto::PublicKey;
use samestep_wire::{BitReader, BitWriter, Wire};

/// The answer of a room to a query.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Announcement {
    /// The room's name, at most 64 bytes.
    #[wire(max_len = 64)]
    pub room: String,
    /// The game, as given to the session's configuration; at most 64 bytes.
    #[wire(max_len = 64)]
    pub game: String,
    /// The game's version. Rooms of other versions are listed too, so that players learn why they cannot join.
    pub version: u32,
    /// Players in the room now.
    pub players: u16,
    /// Players it holds.
    pub capacity: u16,
    /// Whether joining takes a password.
    pub password: bool,
    /// How its members talk to each other.
    pub topology: Topology,
    /// The port to join at, on the address the answer comes from.
    pub port: u16,
    /// The static key of who is joined there. Whoever answers may have written it: a key that is known otherwise counts more.
    pub key: PublicKey,
}

/// How the members of a room talk to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Topology {
    /// Through a host: join as a client.
    Hosted,
    /// Everyone with everyone: join as a peer.
    Mesh,
}

/// The id of a responder: random, and the same in all its answers, so that a host that is reached over several interfaces is listed once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Wire)]
pub struct ResponderId(pub u64);

impl Announcement {
    /// Checks that the names fit and contain no control characters, which could manipulate the terminals they are shown on.
    pub fn check(&self) -> Result<(), AnnouncementError> {
        check_name(&self.room)?;
        check_name(&self.game)
    }
}

fn check_name(name: &str) -> Result<(), AnnouncementError> {
    if name.len() > MAX_NAME_BYTES {
        return Err(AnnouncementError::TooLong(name.into()));
    }
    if name.chars().any(char::is_control) {
        return Err(AnnouncementError::ControlCharacter(name.into()));
    }
    Ok(())
}

/// Why a room cannot be announced, or a game not be looked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AnnouncementError {
    /// A name is longer than 64 bytes.
    #[error("{0:?} is too long: use at most 64 bytes")]
    TooLong(String),
    /// A name contains control characters.
    #[error("{0:?} contains control characters: leave them out")]
    ControlCharacter(String),
}

/// Longest name of a room or game.
const MAX_NAME_BYTES: usize = 64;

/// The first bytes of every datagram of discovery.
const MAGIC: [u8; 4] = *b"SSfr";

/// The version of this exchange; it has nothing to do with the game's.
const VERSION: u8 = 2;

const QUERY: u8 = 1;
const ANSWER: u8 = 2;
const HEADER_BYTES: usize = 14;

/// The length of every query. No answer is longer, so queries with a forged sender amplify nothing.
pub const QUERY_BYTES: usize = 200;

/// The longest answer: 64 bytes for each of the names.
pub const MAX_ANSWER_BYTES: usize = 194;

/// The question which rooms there are.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Query {
    /// The game to look for; empty for any.
    #[wire(max_len = 64)]
    pub game: String,
}

/// The answer of one room.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Answer {
    /// Who answers.
    pub responder: ResponderId,
    /// The room.
    pub announcement: Announcement,
}

/// The nonce of a query, repeated in its answers: it matches an answer to its query, and the round trip can be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nonce(pub u64);

/// Why a datagram is not part of this exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DatagramError {
    /// It is something else, or damaged.
    #[error("the datagram is no query or answer of the search for rooms")]
    Malformed,
    /// Another version of this exchange.
    #[error(
        "the datagram belongs to version {0} of the search for rooms, which this program does not speak"
    )]
    Version(u8),
}

impl Query {
    /// Fills the first [`QUERY_BYTES`] of `buf`; returns their number, or `None` if `buf` is too short or the name too long.
    pub fn encode_datagram(&self, nonce: Nonce, buf: &mut [u8]) -> Option<usize> {
        let buf = buf.get_mut(..QUERY_BYTES)?;
        buf.fill(0);
        encode(QUERY, nonce, self, buf)?;
        Some(QUERY_BYTES)
    }

    /// Decodes a query. Queries shorter than [`QUERY_BYTES`] are refused, because the answer would be longer.
    pub fn decode_datagram(datagram: &[u8]) -> Result<(Nonce, Query), DatagramError> {
        let (nonce, body) = split(QUERY, datagram)?;
        if datagram.len() < QUERY_BYTES {
            return Err(DatagramError::Malformed);
        }
        // The rest is padding.
        let query = Query::decode(&mut BitReader::new(body)).or(Err(DatagramError::Malformed))?;
        check_name(&query.game).or(Err(DatagramError::Malformed))?;
        Ok((nonce, query))
    }
}

impl Answer {
    /// Fills the beginning of `buf`, at most [`MAX_ANSWER_BYTES`]; returns how many bytes, or `None` if `buf` is too short or a
    /// name too long.
    pub fn encode_datagram(&self, nonce: Nonce, buf: &mut [u8]) -> Option<usize> {
        encode(ANSWER, nonce, self, buf)
    }

    /// Decodes an answer. Its names can be shown as they are.
    pub fn decode_datagram(datagram: &[u8]) -> Result<(Nonce, Answer), DatagramError> {
        let (nonce, body) = split(ANSWER, datagram)?;
        let answer: Answer = samestep_wire::decode_exact(body).or(Err(DatagramError::Malformed))?;
        let announcement = &answer.announcement;
        if announcement.check().is_err() || announcement.port == 0 {
            return Err(DatagramError::Malformed);
        }
        Ok((nonce, answer))
    }
}

fn encode(kind: u8, nonce: Nonce, body: &impl Wire, buf: &mut [u8]) -> Option<usize> {
    let (header, rest) = buf.split_first_chunk_mut::<HEADER_BYTES>()?;
    header[..4].copy_from_slice(&MAGIC);
    header[4] = VERSION;
    header[5] = kind;
    header[6..].copy_from_slice(&nonce.0.to_le_bytes());
    let mut writer = BitWriter::new(rest);
    body.encode(&mut writer);
    Some(HEADER_BYTES + writer.finish().ok()?)
}

fn split(expected: u8, datagram: &[u8]) -> Result<(Nonce, &[u8]), DatagramError> {
    let (header, body) = datagram
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or(DatagramError::Malformed)?;
    let [m0, m1, m2, m3, version, kind, nonce @ ..] = *header;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(DatagramError::Malformed);
    }
    if version != VERSION {
        return Err(DatagramError::Version(version));
    }
    if kind != expected {
        return Err(DatagramError::Malformed);
    }
    Ok((Nonce(u64::from_le_bytes(nonce)), body))
}

#[cfg(test)]
mod tests;
