//! `#[derive(Record)]`, `#[derive(Replicate)]` and `#[derive(SharedFields)]`: what a game consists of, written down once.
//!
//! Programs get them with `samestep-sync`, or with the prelude of `samestep`, and need not name this crate.
//!
//! - **`Record`** turns a struct or an enum into a fixed number of cells of 64 bits, each with a name and a kind.
//! - **`Replicate`** turns the struct that holds a whole game into kinds of such rows: check values, differences, save games, replays and what is sent follow from it.
//! - **`SharedFields`** lists the fields of a struct that have one owner each, for programs that share values without simulating anything.
//!
//! ```
//! use samestep_sync::{Entities, PlayerId, Record, Replicate, SharedField, SharedFields, Synced, Table};
//!
//! #[derive(Clone, Record)]
//! struct Boat {
//!     owner: PlayerId,
//!     #[field(range(0.0, 100.0), precision = 0.01, blend = "linear")]
//!     position: (f32, f32),
//!     state: Afloat,
//! }
//!
//! #[derive(Clone, Record)]
//! enum Afloat {
//!     Adrift,
//!     Moored { pier: u8 },
//! }
//!
//! // One cell for the owner, two for the position; one says which variant it is, one is the pier.
//! assert_eq!(Boat::CELLS, 1 + 2 + 2);
//! let boat = Boat { owner: PlayerId(3), position: (1.5, 2.0), state: Afloat::Moored { pier: 9 } };
//! let mut cells = [0; Boat::CELLS];
//! boat.store(&mut cells);
//! assert_eq!(cells, [3, 1.5_f32.to_bits().into(), 2.0_f32.to_bits().into(), 1, 9]);
//!
//! #[derive(Clone, Replicate)]
//! struct Harbour {
//!     boats: Entities<Boat>,
//!     tide: i16,
//!     #[replicate(skip)]
//!     nearest: Vec<usize>,
//! }
//!
//! let mut harbour = Harbour { boats: Entities::new(), tide: -2, nearest: Vec::new() };
//! harbour.boats.insert(boat);
//! let schema = Harbour::schema();
//! let kinds: Vec<_> = schema.kinds().iter().map(|kind| &*kind.name).collect();
//! assert_eq!(kinds, ["globals", "boats"]); // single fields are one row together
//! let mut table = Table::new(schema);
//! harbour.extract(&mut table);
//! assert_eq!(Harbour::from_table(&table)?.checksum(), harbour.checksum());
//!
//! #[derive(Default, SharedFields)]
//! struct Quiz {
//!     #[shared(owner = authority)]
//!     question: Synced<String>,
//!     #[shared(owner = each_player)]
//!     answers: [Synced<u8>; 3],
//!     #[shared(skip)]
//!     drawn: bool,
//! }
//!
//! let mut fields = 0;
//! Quiz::default().for_each(&mut |_: &mut dyn SharedField| fields += 1);
//! assert_eq!(fields, 1 + 3);
//! # Ok::<(), samestep_sync::RestoreError>(())
//! ```
//!
//! # Attributes
//!
//! | on a field of a `Record` | |
//! |---|---|
//! | `#[field(range(0.0, 1024.0))]` | the least and the greatest value |
//! | `#[field(precision = 0.01)]` | the step between neighbouring values of a range |
//! | `#[field(blend = "linear")]` | how it is drawn between two states: `"linear"`, `"angle"` (the shorter way round), or `"step"`, the default |
//! | `#[field(owner)]` | of a `PlayerId`: the row is that player's own |
//! | `#[field(secret)]` | never sent to who only views the state |
//!
//! They bear on views and on what is streamed; the exact state is the same with or without them.
//!
//! | on a field of a `Replicate` | |
//! |---|---|
//! | `#[replicate(skip)]` | scratch memory: not part of the state, so it must not bear on the outcome |
//!
//! | on a field of `SharedFields` | |
//! |---|---|
//! | `#[shared(owner = authority)]` | the host's, or that of a mesh's leader |
//! | `#[shared(owner = player(1))]` | whoever plays in that place |
//! | `#[shared(owner = each_player)]` | of an array: the first is player 0's, the next player 1's, and so on |
//! | `#[shared(skip)]` | not shared |
//!
//! On the type, `#[record(crate = path)]`, `#[replicate(crate = path)]` and `#[shared(crate = path)]` say where `samestep_sync` is found, in crates that
//! re-export it. What does not compile stands with the derives in `samestep-sync`.

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
