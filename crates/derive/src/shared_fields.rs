//! `#[derive(SharedFields)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Ident, Index, Member, Result, parenthesized,
    parse_quote,
};

use crate::paths;

/// The owner of a field, as written.
enum Owner {
    Authority,
    Player(Expr),
    EachPlayer,
}

/// The `#[shared(…)]` attributes of one field.
#[derive(Default)]
struct Field {
    owner: Option<Owner>,
    skip: bool,
}

impl Field {
    fn parse(attributes: &[Attribute]) -> Result<Field> {
        let mut field = Field::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("shared")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("skip") {
                    field.skip = true;
                } else if meta.path.is_ident("owner") {
                    let value = meta.value()?;
                    let name: Ident = value.parse()?;
                    field.owner = Some(match name.to_string().as_str() {
                        "authority" => Owner::Authority,
                        "each_player" => Owner::EachPlayer,
                        "player" => {
                            let number;
                            parenthesized!(number in value);
                            Owner::Player(number.parse()?)
                        }
                        _ => {
                            return Err(Error::new(
                                name.span(),
                                "an owner is `authority`, `player(0)` or `each_player`",
                            ));
                        }
                    });
                } else {
                    return Err(meta.error("use `owner = …` or `skip`"));
                }
                if field.skip && field.owner.is_some() {
                    return Err(meta.error("a field that is skipped has no owner"));
                }
                Ok(())
            })?;
        }
        Ok(field)
    }
}

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let sync = paths::of_type("sync", "shared", &input.attrs)?;
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
