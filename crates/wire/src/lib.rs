//! Bit-level encoding for game networking: values to bits and back, whole or relative to a baseline.
//!
//! Describe a type once with [`#[derive(Wire)]`](derive@Wire); the ranges, precisions and maximum lengths in its attributes decide how
//! few bits it takes, and what is refused when it arrives.
//!
//! ```
//! use samestep_wire::{Wire, decode_delta_exact, decode_exact, encode_delta_to_vec, encode_to_vec};
//!
//! #[derive(Clone, Debug, PartialEq, Wire)]
//! struct Player {
//!     #[wire(max_len = 16)]
//!     name: String,
//!     #[wire(range = 0..=100)]
//!     health: u8,
//!     #[wire(min = -256.0, max = 256.0, precision = 0.125)]
//!     position: [f32; 3],
//!     stance: Stance,
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Wire)]
//! enum Stance {
//!     Standing,
//!     Crouching,
//!     Driving(u16),
//! }
//!
//! let before = Player {
//!     name: "Ada".into(),
//!     health: 100,
//!     position: [10.0, 0.0, -3.5],
//!     stance: Stance::Standing,
//! };
//! let bytes = encode_to_vec(&before)?;
//! assert_eq!(bytes.len(), 10); // 5 + 24 bits of name, 7 of health, 3 × 13 of position, 2 of stance
//! assert_eq!(decode_exact::<Player>(&bytes)?, before);
//!
//! // A tick later only the position has changed.
//! let mut after = before.clone();
//! after.position[0] += 0.25;
//! let delta = encode_delta_to_vec(&after, &before)?;
//! assert_eq!(delta.len(), 2);
//! assert_eq!(decode_delta_exact(&before, &delta)?, after);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//!
//! - [`BitWriter`] and [`BitReader`] pack fields of 0 to 64 bits into a buffer that the caller owns, and back.
//! - [`Wire`](trait@Wire) is a value with an encoding; the derive writes it. [`encode_to_vec`], [`decode_exact`] and their siblings are for whole buffers.
//! - [`Range`], [`Quantised`], [`Varint`] and [`MaxLen`] are what the attributes stand for, each a [`Codec`], also to be used by hand.
//!
//! # Hostile bytes
//!
//! Decoding never panics, never reads past the end and allocates no more than the input justifies: a claimed length is
//! checked against its maximum and against the bits that are left, and nesting ends at [`MAX_DEPTH`]. What decodes is in range. Encoding
//! mistakes (a number out of its range, a list too long, a full buffer) surface once, in [`BitWriter::finish`].
//!
//! # What it does not do
//!
//! No versions, field names or self-description: both sides must use the same types, which the protocol above checks
//! when they connect, by their [`layout_hash`]. No compression, checksums or encryption, and no IO. Every format here is normative and written down in `WIRE.md`.
#![no_std]

extern crate alloc;
// The derive names this crate by its own name, also in here.
extern crate self as samestep_wire;

mod codec;
mod compound;
mod delivery;
mod delta;
mod error;
mod exact;
mod float;
mod int;
mod layout;
mod list;
mod reader;
#[cfg(doctest)]
mod tests;
mod writer;

pub use codec::{Codec, Plain, Wire};
pub use delivery::Delivery;
pub use error::{DecodeError, EncodeError};
pub use exact::{
    decode_delta_exact, decode_exact, encode_delta_to_vec, encode_into, encode_to_vec,
};
pub use float::Quantised;
pub use int::{Range, Varint};
pub use layout::{LayoutHasher, layout_hash};
pub use list::{DEFAULT_MAX_LEN, MaxLen};
pub use reader::BitReader;
/// Derives [`Wire`](trait@Wire) for structs and enums, generic ones included. The type must be `Clone`.
///
/// Fields are encoded in the order of their declaration, enums as the index of the variant in as few bits as can hold it. Attributes of fields:
///
/// | `#[wire(…)]` | for | |
/// |---|---|---|
/// | `range = 0..=100` | integers | [`Range`]; `min = 0, max = 100` is the same |
/// | `range = -1.0..=1.0, precision = 0.01` | `f32`, `f64` | [`Quantised`] |
/// | `varint` | integers | [`Varint`]: short for small values, without a bound |
/// | `max_len = 32` | `String`, `Vec` | [`MaxLen`], in bytes or elements; else [`DEFAULT_MAX_LEN`] |
/// | `each(…)` | `Vec` | attributes of the elements, if they are strings or lists themselves |
/// | `skip` | all | not encoded; decodes to `Default`, or to what the baseline has |
///
/// The first three also apply to what an `Option`, `Box`, array or `Vec` contains, `max_len` to what an `Option`, `Box` or array contains. The bounds
/// are constant expressions. `#[wire(crate = path::to::samestep_wire)]` on the type is for crates that re-export this one.
///
/// ```
/// use samestep_wire::Wire;
///
/// const GRAVITY: f32 = 9.81;
///
/// #[derive(Clone, Wire)]
/// struct Shot<T> {
///     owner: T,
///     #[wire(range = -GRAVITY..=GRAVITY, precision = 0.001)]
///     velocity: Option<[f32; 2]>,
///     #[wire(max_len = 8, range = 0..=9)]
///     digits: Vec<u8>,
///     #[wire(max_len = 4, each(max_len = 12))]
///     tags: Vec<String>,
///     #[wire(skip)]
///     drawn: bool,
/// }
/// ```
///
/// Misuse does not compile: an unknown attribute; half a range; a range that excludes its end, where a reader of the code may expect either; a range of
/// floats without a precision, or a precision alone; an empty range; an attribute that does not apply to the type; a range that the integer type
/// cannot hold; attributes that contradict each other; and types that have no values or an ambiguous one.
pub use samestep_derive::Wire;
pub use writer::{BitWriter, unzigzag, varint_bits, zigzag};

/// How deep values may nest through [`Box`](alloc::boxed::Box) and lists.
pub const MAX_DEPTH: u32 = 64;
