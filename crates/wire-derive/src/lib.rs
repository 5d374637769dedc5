//! Derive macro for `samestep-wire`.
//!
//! It turns the description of a type, with the attributes of its fields, into an implementation of `Wire`. It is documented,
//! and exported, by `samestep-wire`; this crate is of no use alone.

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
