//! The fields of messages, as bytes.

use core::time::Duration;

use crate::{PeerId, PlayerId, Tick};

/// Appends groups of 7 bits, the least significant first, as [`Bytes::number`] and [`BitReader::read_varint`](samestep_wire::BitReader::read_varint) read them.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Ticks, epochs and numbers that count up are below this: nothing that counts comes near it, and sums of a few of them fit.
pub(crate) const MAX_COUNT: u64 = 1 << 48;
/// The longest time that a message names, in µs: 35 years.
const MAX_TIME_US: u64 = 1 << 50;
/// By how much something is early or late, at most, in µs: 12 days.
const MAX_SLACK_US: i64 = 1 << 40;

/// Reads numbers off the front of a message. What is out of all measure is refused here, so that arithmetic on it cannot overflow.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn tick(&mut self) -> Option<Tick> {
        self.count().map(Tick)
    }

    /// A number that counts up.
    pub(crate) fn count(&mut self) -> Option<u64> {
        self.number().filter(|count| *count < MAX_COUNT)
    }

    /// A time in µs.
    pub(crate) fn time(&mut self) -> Option<Duration> {
        let us = self.number().filter(|us| *us <= MAX_TIME_US)?;
        Some(Duration::from_micros(us))
    }

    /// By how many µs something is early, or late if it is negative.
    pub(crate) fn slack_us(&mut self) -> Option<i64> {
        let us = self.signed()?;
        Some(us.clamp(-MAX_SLACK_US, MAX_SLACK_US))
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub(crate) fn fixed(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    pub(crate) fn peer(&mut self) -> Option<PeerId> {
        u16::try_from(self.number()?).ok().map(PeerId)
    }

    pub(crate) fn player(&mut self) -> Option<PlayerId> {
        u16::try_from(self.number()?).ok().map(PlayerId)
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }
}

/// A field of a message: how it is read, and how it is written.
pub(crate) trait MessageField<'a>: Sized {
    fn read(r: &mut Bytes<'a>) -> Option<Self>;

    fn write(&self, out: &mut Vec<u8>);
}

/// A number that takes eight bytes, whatever it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fixed(pub u64);

/// Bytes with their length in front of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefixed<'a>(pub &'a [u8]);

/// Fields that are one number, which `read` reads.
macro_rules! number_fields {
    ($($type:ty: $read:ident, |$value:ident| $number:expr;)*) => {$(
        impl MessageField<'_> for $type {
            fn read(r: &mut Bytes<'_>) -> Option<Self> {
                r.$read()
            }

            fn write(&self, out: &mut Vec<u8>) {
                let $value = self;
                put(out, $number);
            }
        }
    )*};
}

number_fields! {
    u64: count, |value| *value;
    Tick: tick, |tick| tick.0;
    PeerId: peer, |peer| peer.0.into();
    PlayerId: player, |player| player.0.into();
}

impl MessageField<'_> for u8 {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        r.byte()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl MessageField<'_> for Fixed {
    fn read(r: &mut Bytes<'_>) -> Option<Self> {
        r.fixed().map(Fixed)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }
}

impl<'a> MessageField<'a> for Prefixed<'a> {
    fn read(r: &mut Bytes<'a>) -> Option<Self> {
        let len = usize::try_from(r.number()?).ok()?;
        r.take(len).map(Prefixed)
    }

    fn write(&self, out: &mut Vec<u8>) {
        put(out, self.0.len() as u64);
        out.extend_from_slice(self.0);
    }
}

/// The rest of a message.
impl<'a> MessageField<'a> for &'a [u8] {
    fn read(r: &mut Bytes<'a>) -> Option<Self> {
        Some(r.rest())
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

/// Says once, for reading and for writing, which tag each message has and in which order its fields follow.
macro_rules! message_layout {
    ($message:ident { $($tag:literal = $variant:ident $(($($item:ident),*))? $({ $($field:ident),* })?;)* }) => {
        impl<'a> $message<'a> {
            /// Reads the message of this tag.
            fn read_fields(tag: u8, r: &mut $crate::bytes::Bytes<'a>) -> Option<Self> {
                use $crate::bytes::MessageField;
                Some(match tag {
                    $($tag => {
                        $($(let $item = MessageField::read(r)?;)*)?
                        $($(let $field = MessageField::read(r)?;)*)?
                        Self::$variant $(($($item),*))? $({ $($field),* })?
                    })*
                    _ => return None,
                })
            }

            /// Writes the message; returns its tag.
            fn write_fields(&self, out: &mut Vec<u8>) -> u8 {
                use $crate::bytes::MessageField;
                match self {
                    $(Self::$variant $(($($item),*))? $({ $($field),* })? => {
                        $($($item.write(out);)*)?
                        $($($field.write(out);)*)?
                        $tag
                    })*
                }
            }
        }
    };
}
pub(crate) use message_layout;
