//! Bit-level encoding for game networking: ranges, quantised floats, varints, delta coding.
#![no_std]

extern crate alloc;

mod error;
mod reader;
mod writer;

pub use error::{DecodeError, EncodeError};
pub use reader::BitReader;
pub use writer::{BitWriter, unzigzag, varint_bits, zigzag};

/// How deep values may nest through [`Box`](alloc::boxed::Box) and lists.
pub const MAX_DEPTH: u32 = 64;
