//! Derive macros for `samestep-session`.
//!
//! They turn the attributes of a type into implementations of `Message` and `Action`. They are documented, and exported,
//! by `samestep-session`; this crate is of no use alone.

mod attributes;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `Message` for a struct or enum; `samestep_session` describes the attributes.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::message(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Derives `Action` for a message; `samestep_session` describes the attributes.
#[proc_macro_derive(Action, attributes(action))]
pub fn derive_action(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::action(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
