//! The messages between replicators, in bits.

use samestep_wire::{BitReader, BitWriter, DecodeError, EncodeError};

use crate::fields::{Mark, SharedField, SharedFields, Stamp};

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Some fields.
    Update,
    /// All fields, for a peer that requested them.
    Everything,
    /// A request for all fields.
    Question,
    /// A new owner asks for later values of what it inherits: it names the stamps it has.
    FlushRequest,
    /// The later values of the fields that were asked for.
    FlushReply,
}

impl Kind {
    /// Two bits, and a third for the kinds of a flush.
    fn encode(self, w: &mut BitWriter<'_>) {
        match self {
            Kind::Update => w.write_bits(0, 2),
            Kind::Everything => w.write_bits(1, 2),
            Kind::Question => w.write_bits(2, 2),
            Kind::FlushRequest | Kind::FlushReply => {
                w.write_bits(3, 2);
                w.write_bits(u64::from(self == Kind::FlushReply), 1);
            }
        }
    }
}

pub fn decode_header(r: &mut BitReader<'_>) -> Result<(Kind, u64), DecodeError> {
    let kind = match r.read_bits(2)? {
        0 => Kind::Update,
        1 => Kind::Everything,
        2 => Kind::Question,
        _ => match r.read_bits(1)? {
            0 => Kind::FlushRequest,
            _ => Kind::FlushReply,
        },
    };
    Ok((kind, r.read_varint()?))
}

pub fn decode_stamp(r: &mut BitReader<'_>, term: u64) -> Result<Stamp, DecodeError> {
    let back = r.read_varint()?;
    Ok(Stamp {
        term: term.checked_sub(back).ok_or(DecodeError::OutOfRange)?,
        count: r.read_varint()?,
    })
}

/// Reads the fields that a message lists, in order. `read` is given each with its index in the struct, and reads its stamp and value.
pub fn decode_fields<S: SharedFields + ?Sized>(
    fields: &mut S,
    r: &mut BitReader<'_>,
    mut read: impl FnMut(usize, &mut dyn SharedField, &mut BitReader<'_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut left = r.read_varint()?;
    let mut skip = if left > 0 { r.read_varint()? } else { 0 };
    let (mut result, mut index) = (Ok(()), 0);
    fields.for_each(&mut |field| {
        let at = index;
        index += 1;
        if left == 0 || result.is_err() {
            return;
        }
        if skip > 0 {
            skip -= 1;
            return;
        }
        result = read(at, field, r);
        left -= 1;
        if left > 0 && result.is_ok() {
            match r.read_varint() {
                Ok(gap) => skip = gap,
                Err(error) => result = Err(error),
            }
        }
    });
    match left {
        0 => result,
        _ => Err(DecodeError::OutOfRange),
    }
}

/// Kind, term, number of fields, then for each that is picked by its index and mark: fields skipped before it, its stamp, its value. A question lists no
/// fields, and a flush request no values.
pub fn encode<S: SharedFields + ?Sized>(
    fields: &mut S,
    kind: Kind,
    term: u64,
    pick: &dyn Fn(usize, &Mark) -> bool,
) -> Result<Vec<u8>, EncodeError> {
    let (mut picked, mut index) = (0, 0);
    fields.for_each(&mut |field| {
        picked += u64::from(pick(index, field.mark()));
        index += 1;
    });
    let mut buffer = vec![0; 128];
    loop {
        let mut w = BitWriter::new(&mut buffer);
        kind.encode(&mut w);
        w.write_varint(term);
        if kind != Kind::Question {
            w.write_varint(picked);
        }
        let (mut skipped, mut index) = (0, 0);
        fields.for_each(&mut |field| {
            let mark = field.mark();
            index += 1;
            if kind == Kind::Question || !pick(index - 1, mark) {
                skipped += 1;
                return;
            }
            let stamp = mark.stamp;
            w.write_varint(skipped);
            w.write_varint(term.saturating_sub(stamp.term));
            w.write_varint(stamp.count);
            if kind != Kind::FlushRequest {
                field.encode(&mut w);
            }
            skipped = 0;
        });
        match w.finish() {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(EncodeError::Overflow) => buffer.resize(buffer.len() * 4, 0),
            Err(error) => return Err(error),
        }
    }
}
