//! `#[derive(Wire)]`: writes the encoding of a type from its declaration.
//!
//! Programs get it with `samestep-wire`, or with the prelude of `samestep`, and need not name this crate. What it writes is what one would write by
//! hand: each field in order, with the codec that its attributes stand for, and each refused when it arrives out of range.
//!
//! ```
//! use samestep_wire::{BitReader, BitWriter, Codec, DecodeError, Range, Wire, decode_exact, encode_to_vec};
//!
//! #[derive(Clone, Wire)]
//! struct Door {
//!     #[wire(range = 0..=100)]
//!     open_percent: u8,
//!     locked: bool,
//! }
//!
//! // What becomes of it, but for the encoding of differences, which the derive writes as well.
//! #[derive(Clone, Debug)]
//! struct ByHand {
//!     open_percent: u8,
//!     locked: bool,
//! }
//!
//! const OPEN_PERCENT: Range<0, 100> = Range;
//!
//! impl Wire for ByHand {
//!     fn encode(&self, w: &mut BitWriter<'_>) {
//!         OPEN_PERCENT.encode(&self.open_percent, w);
//!         self.locked.encode(w);
//!     }
//!
//!     fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
//!         Ok(ByHand { open_percent: OPEN_PERCENT.decode(r)?, locked: bool::decode(r)? })
//!     }
//!
//!     fn same(&self, other: &Self) -> bool {
//!         OPEN_PERCENT.same(&self.open_percent, &other.open_percent) && self.locked == other.locked
//!     }
//! }
//!
//! let bytes = encode_to_vec(&Door { open_percent: 75, locked: true })?;
//! assert_eq!(bytes, encode_to_vec(&ByHand { open_percent: 75, locked: true })?);
//! assert_eq!(bytes.len(), 1); // 7 bits and 1
//! assert!(decode_exact::<Door>(&[101]).is_err() && decode_exact::<ByHand>(&[101]).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Attributes
//!
//! | | for | |
//! |---|---|---|
//! | `#[wire(range = 0..=100)]` | integers | from the one to the other, in as few bits as that takes; `min = 0, max = 100` is the same |
//! | `#[wire(range = -1.0..=1.0, precision = 0.01)]` | `f32`, `f64` | on a grid |
//! | `#[wire(varint)]` | integers | short for small values, without a bound |
//! | `#[wire(max_len = 32)]` | `String`, `Vec` | at most so many bytes or elements; 4095 unless told |
//! | `#[wire(each(…))]` | `Vec` | the same attributes for its elements, where those are strings or lists |
//! | `#[wire(skip)]` | any field | not encoded: the default, or what the baseline has, when decoded |
//! | `#[wire(crate = path)]` | the type | where `samestep_wire` is found, in crates that re-export it |
//!
//! Which of them go together, and what does not compile, stands with the derive in `samestep-wire`.

mod attributes;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input, parse_quote};

/// Derives `Wire` for a struct or enum; `samestep_wire` describes the attributes.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::wire(&input, parse_quote!(::samestep_wire))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// The same for programs that depend on the `samestep` crate alone, which exports it as `Wire`.
#[proc_macro_derive(WireOfFacade, attributes(wire))]
pub fn derive_wire_of_facade(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::wire(&input, parse_quote!(::samestep::wire))
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
