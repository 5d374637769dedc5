//! The first bytes of every session message.

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
    Relayed { from: PeerId, to: PeerId, hops: u8 },
}

/// See [`Envelope::number`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    pub(crate) epoch: u64,
    pub(crate) number: u32,
    /// Which reliable delivery (0 to 2), or sequenced (3).
    pub(crate) stream: u8,
}

/// Longest envelope.
pub(crate) const MAX_BYTES: usize = 32;

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
        let route = match self.route {
            Route::Direct => 0,
            Route::Via { .. } => 1,
            Route::ToOthers => 2,
            Route::From { .. } => 3,
            Route::Relayed { .. } => 4,
        };
        let control = u8::from(self.content == Content::Control);
        w.write_u8(route | control << 3 | u8::from(self.number.is_some()) << 4);
        match self.route {
            Route::Direct | Route::ToOthers => {}
            Route::Via { to: peer } | Route::From { from: peer } => {
                w.write_varint(u64::from(peer.0));
            }
            Route::Relayed { from, to, hops } => {
                w.write_varint(u64::from(from.0));
                w.write_varint(u64::from(to.0));
                w.write_u8(hops);
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn hostile_bytes_are_refused_or_read_but_never_panic() {
        for first in 0..=255 {
            for len in 0..12 {
                let bytes = [vec![first], vec![0xFF; len]].concat();
                let _ = Envelope::open(&bytes);
            }
        }
        assert!(Envelope::open(&[]).is_err());
        assert!(Envelope::open(&[0x20, 0, 0]).is_err());
    }
}
