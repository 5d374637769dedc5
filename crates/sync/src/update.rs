//! The messages between replicators, in bits.

use samestep_wire::{BitReader, BitWriter, DecodeError, EncodeError};

use crate::fields::{Mark, SharedFields, Stamp};

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Some fields.
    Update = 0,
    /// All fields, for a peer that requested them.
    Everything = 1,
    /// A request for all fields.
    Question = 2,
}

pub fn decode_header(r: &mut BitReader<'_>) -> Result<(Kind, u64), DecodeError> {
    let kind = match r.read_bits(2)? {
        0 => Kind::Update,
        1 => Kind::Everything,
        2 => Kind::Question,
        _ => return Err(DecodeError::UnknownVariant),
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

/// Kind, term, number of fields, then for each: fields skipped before it, its stamp, its value.
pub fn encode<S: SharedFields + ?Sized>(
    fields: &mut S,
    kind: Kind,
    term: u64,
    pick: &dyn Fn(&Mark) -> bool,
) -> Result<Vec<u8>, EncodeError> {
    let mut picked = 0;
    fields.for_each(&mut |field| picked += u64::from(pick(field.mark())));
    let mut buffer = vec![0; 128];
    loop {
        let mut w = BitWriter::new(&mut buffer);
        w.write_bits(kind as u64, 2);
        w.write_varint(term);
        if kind != Kind::Question {
            w.write_varint(picked);
        }
        let mut skipped = 0;
        fields.for_each(&mut |field| {
            let mark = field.mark();
            if kind == Kind::Question || !pick(mark) {
                skipped += 1;
                return;
            }
            let stamp = mark.stamp;
            w.write_varint(skipped);
            w.write_varint(term.saturating_sub(stamp.term));
            w.write_varint(stamp.count);
            field.encode(&mut w);
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
