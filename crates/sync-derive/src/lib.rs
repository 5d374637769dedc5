//! Derive macros for `samestep-sync`.
//!
//! They write the list of a struct's shared fields and who owns them, and what the records and states of a simulation consist
//! of. They are documented, and exported, by `samestep-sync`; this crate is of no use alone.

mod attributes;
mod record;
mod replicate;

use proc_macro::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Index, Member, Path, Result, parse_macro_input, parse_quote};

use crate::attributes::{Field, Owner};

/// Derives `SharedFields` for a struct; `samestep_sync` describes the attributes.
#[proc_macro_derive(SharedFields, attributes(shared))]
pub fn derive_shared_fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input, parse_quote!(::samestep_sync))
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// The same for programs that depend on the `samestep` crate alone, which exports it as `SharedFields`.
#[proc_macro_derive(SharedFieldsOfFacade, attributes(shared))]
pub fn derive_shared_fields_of_facade(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input, parse_quote!(::samestep::sync))
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// Derives `Record` for a struct or enum; `samestep_sync` describes the attributes.
#[proc_macro_derive(Record, attributes(record, field, replicate))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::expand(&input, parse_quote!(::samestep_sync))
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// The same for programs that depend on the `samestep` crate alone, which exports it as `Record`.
#[proc_macro_derive(RecordOfFacade, attributes(record, field, replicate))]
pub fn derive_record_of_facade(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::expand(&input, parse_quote!(::samestep::sync))
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// Derives `Replicate` for a struct; `samestep_sync` describes the attributes.
#[proc_macro_derive(Replicate, attributes(replicate, field))]
pub fn derive_replicate(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    replicate::expand(&input, parse_quote!(::samestep_sync))
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// The same for programs that depend on the `samestep` crate alone, which exports it as `Replicate`.
#[proc_macro_derive(ReplicateOfFacade, attributes(replicate, field))]
pub fn derive_replicate_of_facade(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    replicate::expand(&input, parse_quote!(::samestep::sync))
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn expand(input: &DeriveInput, default: Path) -> Result<proc_macro2::TokenStream> {
    let sync = attributes::crate_path(&input.attrs)?.unwrap_or(default);
    let Data::Struct(data) = &input.data else {
        let message =
            "only a struct has fields that are all there at once: derive this for a struct";
        return Err(Error::new(input.ident.span(), message));
    };
    let mut visits = Vec::new();
    let mut owners = Vec::new();
    for (index, field) in data.fields.iter().enumerate() {
        let attributes = Field::parse(&field.attrs)?;
        if attributes.skip {
            continue;
        }
        let member = match &field.ident {
            Some(name) => Member::Named(name.clone()),
            None => Member::Unnamed(Index {
                index: index as u32,
                span: field.span(),
            }),
        };
        let ty = &field.ty;
        let part = quote!(<#ty as #sync::SharedFields>);
        visits.push(quote!(#part::for_each(&mut self.#member, visit);));
        owners.push(quote!(#part::declare_owners(&mut self.#member);));
        let owner = match attributes.owner {
            None => continue,
            Some(Owner::Authority) => quote!(#sync::Owner::Authority),
            Some(Owner::Player(n)) => quote!(#sync::Owner::Player(#sync::PlayerId(#n))),
            Some(Owner::EachPlayer) => quote!({
                let player = #sync::PlayerId(number);
                number += 1;
                #sync::Owner::Player(player)
            }),
        };
        owners.push(quote! {{
            #[allow(unused_variables, unused_mut)]
            let mut number: u16 = 0;
            #part::for_each(&mut self.#member, &mut |field| field.set_owner(#owner));
        }});
    }
    if visits.is_empty() {
        let message = "nothing in it is shared: make at least one field a `Synced<…>`";
        return Err(Error::new(input.ident.span(), message));
    }
    let mut generics = input.generics.clone();
    for param in generics.type_params_mut() {
        param.bounds.push(parse_quote!(#sync::Wire));
    }
    let name = &input.ident;
    let (params, arguments, clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #params #sync::SharedFields for #name #arguments #clause {
            fn for_each(&mut self, visit: &mut dyn ::core::ops::FnMut(&mut dyn #sync::SharedField)) {
                #(#visits)*
            }

            fn declare_owners(&mut self) {
                #(#owners)*
            }
        }
    })
}
