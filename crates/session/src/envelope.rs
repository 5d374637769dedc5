//! The first bytes of every session message.

use samestep_proto::PAIR_TAG_BYTES;
use samestep_wire::{BitReader, BitWriter, DecodeError};

use crate::id::{MessageKind, PeerId};

/// The kind and route of a message. One byte in the common case, plus two for the game's kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Envelope {
    pub(crate) content: Content,
    pub(crate) route: Route,
    /// Number among the messages of its delivery between two peers, and which incarnation of theirs it belongs to.
    pub(crate) number: Option<Number>,
}

/// The content behind the envelope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// The game's, of a kind.
    Game(MessageKind),
    /// The session's own.
    Control,
}

/// The route of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// From one end of the connection to the other.
    Direct,
    /// To the host, to be passed on to one peer.
    Via { to: PeerId },
    /// To the host, to be passed on to all others.
    ToOthers,
    /// Passed on, by the host.
    From { from: PeerId },
    /// Passed on between members of a mesh.
    Relayed {
        from: PeerId,
        to: PeerId,
        hops: u8,
        proof: Proof,
    },
}

impl Route {
    /// The route between two members of a mesh, by a hop that may be the other one itself. The proof is to be added.
    pub(crate) fn between(from: PeerId, to: PeerId, hop: PeerId) -> Self {
        match hop == to {
            true => Self::Direct,
            false => Self::Relayed {
                from,
                to,
                hops: 0,
                proof: Proof::default(),
            },
        }
    }
}

/// What shows that a relayed message is its sender's, and which of its messages it is: see [`Envelope::covered`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Proof {
    /// The incarnations of the two members.
    pub(crate) epoch: u64,
    /// Number among all relayed messages from the one to the other.
    pub(crate) number: u32,
    pub(crate) tag: [u8; PAIR_TAG_BYTES],
}

/// See [`Envelope::number`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Number {
    pub(crate) epoch: u64,
    pub(crate) number: u32,
    /// Which reliable delivery (0 to 2), or sequenced (3).
    pub(crate) stream: u8,
}

/// Longest envelope.
pub(crate) const MAX_BYTES: usize = 64;
/// Bytes of an envelope that a tag covers: all of them that a relay does not change, each in its place.
const COVERED_BYTES: usize = 32;

impl Envelope {
    /// The envelope of a game's message from one end of a connection to the other.
    pub(crate) fn direct(kind: MessageKind) -> Self {
        Self {
            content: Content::Game(kind),
            route: Route::Direct,
            number: None,
        }
    }

    /// The envelope of a session's own message from one end of a connection to the other.
    pub(crate) fn control() -> Self {
        Self {
            content: Content::Control,
            route: Route::Direct,
            number: None,
        }
    }

    /// Writes the envelope, whole bytes only, and then the content, in place of what was in the buffer.
    pub(crate) fn seal(&self, payload: &[u8], into: &mut Vec<u8>) {
        let mut head = [0; MAX_BYTES];
        let mut w = BitWriter::new(&mut head);
        w.write_u8(self.first_byte());
        match self.route {
            Route::Direct | Route::ToOthers => {}
            Route::Via { to: peer } | Route::From { from: peer } => {
                w.write_varint(u64::from(peer.0));
            }
            Route::Relayed {
                from,
                to,
                hops,
                proof,
            } => {
                w.write_varint(u64::from(from.0));
                w.write_varint(u64::from(to.0));
                w.write_u8(hops);
                w.write_varint(proof.epoch);
                w.write_varint(u64::from(proof.number));
                w.write_bytes(&proof.tag);
            }
        }
        if let Some(number) = self.number {
            w.write_u8(number.stream);
            w.write_varint(number.epoch);
            w.write_varint(u64::from(number.number));
        }
        if let Content::Game(kind) = self.content {
            w.write_u16(kind.0);
        }
        let len = w.finish().expect("the envelope fits its bytes");
        into.clear();
        into.extend_from_slice(&head[..len]);
        into.extend_from_slice(payload);
    }

    fn first_byte(&self) -> u8 {
        let route = match self.route {
            Route::Direct => 0,
            Route::Via { .. } => 1,
            Route::ToOthers => 2,
            Route::From { .. } => 3,
            Route::Relayed { .. } => 4,
        };
        let control = u8::from(self.content == Content::Control);
        route | control << 3 | u8::from(self.number.is_some()) << 4
    }

    /// What the tag of a relayed message covers before its content: who says it to whom, which of its messages it is, and what kind of content
    /// follows; zeros for what it does not have.
    pub(crate) fn covered(&self) -> [u8; COVERED_BYTES] {
        let (from, to, proof) = match self.route {
            Route::Relayed {
                from, to, proof, ..
            } => (from.0, to.0, proof),
            _ => (0, 0, Proof::default()),
        };
        let number = self.number.unwrap_or_default();
        let kind = match self.content {
            Content::Game(kind) => kind.0,
            Content::Control => 0,
        };
        let mut covered = [0; COVERED_BYTES];
        covered[0] = self.first_byte();
        covered[1..3].copy_from_slice(&from.to_le_bytes());
        covered[3..5].copy_from_slice(&to.to_le_bytes());
        covered[5..13].copy_from_slice(&proof.epoch.to_le_bytes());
        covered[13..17].copy_from_slice(&proof.number.to_le_bytes());
        covered[17] = number.stream;
        covered[18..26].copy_from_slice(&number.epoch.to_le_bytes());
        covered[26..30].copy_from_slice(&number.number.to_le_bytes());
        covered[30..].copy_from_slice(&kind.to_le_bytes());
        covered
    }

    /// Reads the envelope and returns it with the content.
    pub(crate) fn open(bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let mut r = BitReader::new(bytes);
        let head = r.read_u8()?;
        if head >> 5 != 0 {
            return Err(DecodeError::OutOfRange);
        }
        let route = match head & 7 {
            0 => Route::Direct,
            1 => Route::Via { to: peer(&mut r)? },
            2 => Route::ToOthers,
            3 => Route::From {
                from: peer(&mut r)?,
            },
            4 => Route::Relayed {
                from: peer(&mut r)?,
                to: peer(&mut r)?,
                hops: r.read_u8()?,
                proof: proof(&mut r)?,
            },
            _ => return Err(DecodeError::OutOfRange),
        };
        let number = match head & 16 != 0 {
            true => {
                let stream = r.read_u8()?;
                let epoch = r.read_varint()?;
                let number =
                    u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
                if stream > 3 {
                    return Err(DecodeError::OutOfRange);
                }
                Some(Number {
                    epoch,
                    number,
                    stream,
                })
            }
            false => None,
        };
        let content = match head & 8 != 0 {
            true => Content::Control,
            false => Content::Game(MessageKind(r.read_u16()?)),
        };
        let rest = &bytes[bytes.len() - r.remaining_bits() / 8..];
        let envelope = Self {
            content,
            route,
            number,
        };
        Ok((envelope, rest))
    }
}

fn peer(r: &mut BitReader<'_>) -> Result<PeerId, DecodeError> {
    let number = r.read_varint()?;
    u16::try_from(number)
        .map(PeerId)
        .map_err(|_| DecodeError::OutOfRange)
}

fn proof(r: &mut BitReader<'_>) -> Result<Proof, DecodeError> {
    let epoch = r.read_varint()?;
    let number = u32::try_from(r.read_varint()?).map_err(|_| DecodeError::OutOfRange)?;
    let mut tag = [0; PAIR_TAG_BYTES];
    tag.copy_from_slice(r.read_bytes(PAIR_TAG_BYTES)?);
    Ok(Proof { epoch, number, tag })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::assert_vectors;

    #[test]
    fn every_envelope_comes_back_as_it_was() {
        let routes = [
            Route::Direct,
            Route::Via { to: PeerId(700) },
            Route::ToOthers,
            Route::From { from: PeerId(1) },
            Route::Relayed {
                from: PeerId(u16::MAX),
                to: PeerId(0),
                hops: 3,
                proof: Proof {
                    epoch: u64::MAX,
                    number: u32::MAX,
                    tag: [9; PAIR_TAG_BYTES],
                },
            },
        ];
        let numbers = [
            None,
            Some(Number {
                epoch: u64::MAX,
                number: u32::MAX,
                stream: 2,
            }),
        ];
        let mut sealed = Vec::new();
        for route in routes {
            for number in numbers {
                for content in [Content::Control, Content::Game(MessageKind(0xABCD))] {
                    let envelope = Envelope {
                        content,
                        route,
                        number,
                    };
                    envelope.seal(b"content", &mut sealed);
                    assert_eq!(Envelope::open(&sealed), Ok((envelope, &b"content"[..])));
                }
            }
        }
        let common = Envelope {
            content: Content::Game(MessageKind(1)),
            ..Envelope::control()
        };
        common.seal(b"", &mut sealed);
        assert_eq!(sealed.len(), 3);
    }

    #[test]
    fn envelopes_are_those_of_the_page() {
        let game = Envelope::direct(MessageKind(0xa5cb));
        let sealed = |envelope: Envelope| {
            let mut sealed = Vec::new();
            envelope.seal(b"hi", &mut sealed);
            sealed
        };
        let by = |route| sealed(Envelope { route, ..game });
        assert_vectors(&[
            ("envelope.direct", &by(Route::Direct)),
            ("envelope.control", &sealed(Envelope::control())),
            ("envelope.via", &by(Route::Via { to: PeerId(2) })),
            ("envelope.to-others", &by(Route::ToOthers)),
            ("envelope.from", &by(Route::From { from: PeerId(1) })),
        ]);
    }

    #[test]
    fn hostile_bytes_are_refused_or_read_but_never_panic() {
        for first in 0..=255 {
            for len in 0..40 {
                let bytes = [vec![first], vec![0xFF; len]].concat();
                let _ = Envelope::open(&bytes);
            }
        }
        assert!(Envelope::open(&[]).is_err());
        assert!(Envelope::open(&[0x20, 0, 0]).is_err());
    }
}
