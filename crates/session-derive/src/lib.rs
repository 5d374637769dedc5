//! `#[derive(Message)]` and `#[derive(Action)]`: a type that can be sent in a room, and one that the authority decides about.
//!
//! Programs get them with `samestep-session`, or with the prelude of `samestep`, and need not name this crate. What they write is short:
//!
//! ```
//! use samestep_session::{Action, Delivery, Message, MessageKind};
//! use samestep_wire::Wire;
//!
//! #[derive(Clone, Wire, Message)]
//! #[message(kind = 7, delivery = "unreliable-sequenced")]
//! struct Position(f32, f32);
//!
//! #[derive(Clone, Wire, Message, Action)]
//! #[action(denial = u8)]
//! struct OpenDoor;
//!
//! // What becomes of them:
//! #[derive(Clone, Wire)]
//! struct PositionByHand(f32, f32);
//!
//! impl Message for PositionByHand {
//!     const KIND: MessageKind = MessageKind::of_game(7);
//!     const DELIVERY: Delivery = Delivery::UnreliableSequenced;
//! }
//!
//! #[derive(Clone, Wire)]
//! struct OpenDoorByHand;
//!
//! impl Message for OpenDoorByHand {
//!     const KIND: MessageKind = MessageKind::of_name("OpenDoor");
//!     const DELIVERY: Delivery = Delivery::ReliableOrdered;
//! }
//!
//! impl Action for OpenDoorByHand {
//!     type Command = Self;
//!     type Denial = u8;
//! }
//!
//! assert_eq!((Position::KIND, Position::DELIVERY), (PositionByHand::KIND, PositionByHand::DELIVERY));
//! assert_eq!((OpenDoor::KIND, OpenDoor::DELIVERY), (OpenDoorByHand::KIND, OpenDoorByHand::DELIVERY));
//! ```
//!
//! # Attributes
//!
//! All of them stand on the type; fields have those of `Wire`.
//!
//! | | |
//! |---|---|
//! | `#[message(kind = 7)]` | its number on the wire, a constant below 0xFF00; made from the type's name unless told |
//! | `#[message(delivery = "unreliable-sequenced")]` | `unreliable`, `unreliable-sequenced`, `reliable-unordered`, `reliable-ordered` (the default) or `redundant` |
//! | `#[action(command = Type)]` | what the authority makes of it; the action itself unless told |
//! | `#[action(denial = Type)]` | why not; a `String` unless told |
//! | `#[message(crate = path)]`, `#[action(crate = path)]` | where `samestep_session` is found, in crates that re-export it |
//!
//! What does not compile stands with the derives in `samestep-session`.

mod attributes;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, Path, Result, parse_macro_input, parse_quote};

/// Derives `Message` for a struct or enum; `samestep_session` describes the attributes.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    written(expand::message(&input, session()))
}

/// The same for programs that depend on the `samestep` crate alone, which exports it as `Message`.
#[proc_macro_derive(MessageOfFacade, attributes(message))]
pub fn derive_message_of_facade(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    written(expand::message(&input, session_of_facade()))
}

/// Derives `Action` for a message; `samestep_session` describes the attributes.
#[proc_macro_derive(Action, attributes(action))]
pub fn derive_action(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    written(expand::action(&input, session()))
}

/// The same for programs that depend on the `samestep` crate alone, which exports it as `Action`.
#[proc_macro_derive(ActionOfFacade, attributes(action))]
pub fn derive_action_of_facade(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    written(expand::action(&input, session_of_facade()))
}

fn session() -> Path {
    parse_quote!(::samestep_session)
}

fn session_of_facade() -> Path {
    parse_quote!(::samestep::session)
}

fn written(expansion: Result<proc_macro2::TokenStream>) -> TokenStream {
    expansion
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
