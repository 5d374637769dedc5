//! The derive macros of Samestep.
//!
//! Programs get each of them together with the trait of the same name, from the crate of the trait or from the prelude of
//! `samestep`, and need not name this crate. Their attributes are described there.

mod adapter;
mod paths;
mod record;
mod replicate;
mod session;
mod shared_fields;
mod wire;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, Result, parse_macro_input};

/// Derives `Wire` for a struct or enum: each field in order, with the codec that its attributes name.
///
/// ```
/// use samestep_wire::{BitReader, BitWriter, Codec, DecodeError, Range, Wire, decode_exact, encode_to_vec};
///
/// #[derive(Clone, Wire)]
/// struct Door {
///     #[wire(range = 0..=100)]
///     open_percent: u8,
///     locked: bool,
/// }
///
/// // The same by hand, apart from the encoding of differences, which the derive writes as well.
/// #[derive(Clone, Debug)]
/// struct ByHand {
///     open_percent: u8,
///     locked: bool,
/// }
///
/// const OPEN_PERCENT: Range<0, 100> = Range;
///
/// impl Wire for ByHand {
///     fn encode(&self, w: &mut BitWriter<'_>) {
///         OPEN_PERCENT.encode(&self.open_percent, w);
///         self.locked.encode(w);
///     }
///
///     fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
///         Ok(ByHand { open_percent: OPEN_PERCENT.decode(r)?, locked: bool::decode(r)? })
///     }
///
///     fn same(&self, other: &Self) -> bool {
///         OPEN_PERCENT.same(&self.open_percent, &other.open_percent) && self.locked == other.locked
///     }
/// }
///
/// let bytes = encode_to_vec(&Door { open_percent: 75, locked: true })?;
/// assert_eq!(bytes, encode_to_vec(&ByHand { open_percent: 75, locked: true })?);
/// assert_eq!(bytes.len(), 1); // 7 bits and 1
/// assert!(decode_exact::<Door>(&[101]).is_err() && decode_exact::<ByHand>(&[101]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tokens(wire::expand(&input))
}

/// Derives `Record` for a struct or enum: a fixed number of cells of 64 bits, each with a name and a kind.
#[proc_macro_derive(Record, attributes(record, field, replicate))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tokens(record::expand(&input))
}

/// Derives `Replicate` for the struct that holds the state of a game: checksums, differences, saves, replays and snapshots follow
/// from it.
#[proc_macro_derive(Replicate, attributes(replicate, field))]
pub fn derive_replicate(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tokens(replicate::expand(&input))
}

/// Derives `SharedFields` for a struct whose fields have one owner each.
#[proc_macro_derive(SharedFields, attributes(shared))]
pub fn derive_shared_fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tokens(shared_fields::expand(&input))
}

/// Derives `Message` for a struct or enum that is sent in a room.
///
/// ```
/// use samestep_session::{Action, Delivery, Message, MessageKind};
/// use samestep_wire::Wire;
///
/// #[derive(Clone, Wire, Message)]
/// #[message(kind = 7, delivery = "unreliable-sequenced")]
/// struct Position(f32, f32);
///
/// #[derive(Clone, Wire, Message, Action)]
/// #[action(denial = u8)]
/// struct OpenDoor;
///
/// // The same by hand:
/// #[derive(Clone, Wire)]
/// struct PositionByHand(f32, f32);
///
/// impl Message for PositionByHand {
///     const KIND: MessageKind = MessageKind::of_game(7);
///     const DELIVERY: Delivery = Delivery::UnreliableSequenced;
/// }
///
/// #[derive(Clone, Wire)]
/// struct OpenDoorByHand;
///
/// impl Message for OpenDoorByHand {
///     const KIND: MessageKind = MessageKind::of_name("OpenDoor");
///     const DELIVERY: Delivery = Delivery::ReliableOrdered;
/// }
///
/// impl Action for OpenDoorByHand {
///     type Command = Self;
///     type Denial = u8;
/// }
///
/// assert_eq!((Position::KIND, Position::DELIVERY), (PositionByHand::KIND, PositionByHand::DELIVERY));
/// assert_eq!((OpenDoor::KIND, OpenDoor::DELIVERY), (OpenDoorByHand::KIND, OpenDoorByHand::DELIVERY));
/// ```
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tokens(session::message(&input))
}

/// Derives `Action` for a message that the authority decides about.
#[proc_macro_derive(Action, attributes(action))]
pub fn derive_action(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tokens(session::action(&input))
}

fn tokens(expansion: Result<proc_macro2::TokenStream>) -> TokenStream {
    expansion.unwrap_or_else(Error::into_compile_error).into()
}
