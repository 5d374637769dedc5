//! Derive macros for `samestep-session`.
//!
//! They turn the attributes of a type into implementations of `Message` and `Action`. They are documented, and exported,
//! by `samestep-session`; this crate is of no use alone.

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
