//! `#[derive(SharedFields)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Ident, Index, Member, Path, Result, parenthesized,
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
    /// What is declared of the variables in it, as statements about `declared`.
    declared: Vec<TokenStream>,
}

impl Field {
    fn parse(sync: &Path, attributes: &[Attribute]) -> Result<Field> {
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
                } else if meta.path.is_ident("exact") {
                    let exact = quote!(declared.exactness = #sync::Exactness::Exact;);
                    field.declared.push(exact);
                } else if meta.path.is_ident("settled") {
                    let settled = quote!(declared.freshness = #sync::Freshness::Settled;);
                    field.declared.push(settled);
                } else if meta.path.is_ident("linearisable") {
                    let order = quote!(declared.order = #sync::UpdateOrder::Linearisable;);
                    field.declared.push(order);
                } else if meta.path.is_ident("changed_by") {
                    let name: Ident = meta.value()?.parse()?;
                    let by = match name.to_string().as_str() {
                        "all" => quote!(All),
                        "owner" => quote!(Owner),
                        _ => {
                            let message = "a variable is changed by its `owner`, or by `all`";
                            return Err(Error::new(name.span(), message));
                        }
                    };
                    let by = quote!(declared.changed_by = #sync::ChangedBy::#by;);
                    field.declared.push(by);
                } else {
                    return Err(meta.error(
                        "use `owner = …`, `exact`, `settled`, `linearisable`, `changed_by = …` or `skip`; `group` belongs to a struct",
                    ));
                }
                if field.skip && !field.declared.is_empty() {
                    return Err(meta.error("nothing is declared of a field that is skipped"));
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

/// Whether its variables change together.
fn is_group(attributes: &[Attribute]) -> Result<bool> {
    let mut group = false;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("shared")) {
        attribute.parse_nested_meta(|meta| {
            match meta.path.is_ident("group") {
                true => group = true,
                // The path of the crate.
                false => drop(meta.value()?.call(Path::parse_mod_style)?),
            }
            Ok(())
        })?;
    }
    Ok(group)
}

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let sync = paths::of_type_beside("sync", "shared", &input.attrs, Some("group"))?;
    let Data::Struct(data) = &input.data else {
        let message =
            "only a struct has fields that are all there at once: derive this for a struct";
        return Err(Error::new(input.ident.span(), message));
    };
    let mut visits = Vec::new();
    let mut owners = Vec::new();
    for (index, field) in data.fields.iter().enumerate() {
        let attributes = Field::parse(&sync, &field.attrs)?;
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
        if !attributes.declared.is_empty() {
            let declared = &attributes.declared;
            owners.push(quote! {
                #part::for_each(&mut self.#member, &mut |field| field.declare(&|declared| {
                    #(#declared)*
                }));
            });
        }
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
    if is_group(&input.attrs)? {
        owners.push(quote! {
            let group = ::core::ptr::from_ref(self).addr();
            #sync::SharedFields::for_each(self, &mut |field| {
                field.declare(&|declared| declared.group = ::core::option::Option::Some(group));
            });
        });
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
