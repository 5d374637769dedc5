//! Bit-level encoding for game networking: ranges, quantised floats, varints, delta coding.
#![no_std]

extern crate alloc;
// The derive names this crate by its own name, also in here.
extern crate self as samestep_wire;

mod codec;
mod compound;
mod delta;
mod error;
mod exact;
mod float;
mod int;
mod list;
mod reader;
mod writer;

pub use codec::{Codec, Plain, Wire};
pub use error::{DecodeError, EncodeError};
pub use exact::{
    decode_delta_exact, decode_exact, encode_delta_to_vec, encode_into, encode_to_vec,
};
pub use float::Quantised;
pub use int::{Range, Varint};
pub use list::{DEFAULT_MAX_LEN, MaxLen};
pub use reader::BitReader;
pub use samestep_wire_derive::Wire;
pub use writer::{BitWriter, unzigzag, varint_bits, zigzag};

/// How deep values may nest through [`Box`](alloc::boxed::Box) and lists.
pub const MAX_DEPTH: u32 = 64;
