//! `#[derive(Replicate)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Member, Result};

use crate::adapter::Adapter;

/// What the attributes of a field say.
#[derive(Default)]
struct PartAttributes {
    skip: bool,
    adapter: Adapter,
}

impl PartAttributes {
    fn parse(attributes: &[Attribute]) -> Result<PartAttributes> {
        let mut parsed = PartAttributes::default();
        for attribute in attributes {
            if attribute.path().is_ident("field") {
                attribute.parse_nested_meta(|meta| match parsed.adapter.parse(&meta)? {
                    true => Ok(()),
                    false => Err(meta.error(
                        "ranges and blending belong to the fields of records: write this where `Record` is derived; a field of a state has `max_len` and `with`",
                    )),
                })?;
            } else if attribute.path().is_ident("replicate") {
                attribute.parse_nested_meta(|meta| match meta.path.is_ident("skip") {
                    true => {
                        parsed.skip = true;
                        Ok(())
                    }
                    false => Err(meta.error("the only `replicate` attribute of a field is `skip`")),
                })?;
            }
        }
        Ok(parsed)
    }
}

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let sync = crate::paths::of_type("sync", "replicate", &input.attrs)?;
    let Data::Struct(data) = &input.data else {
        let message = "a state is a struct of collections and fields: derive `Replicate` for a struct, and `Record` for an enum in it";
        return Err(Error::new(input.ident.span(), message));
    };
    if let Some(param) = input.generics.params.first() {
        let message =
            "a state is one type: its schema is the same in all programs, so it has no parameters";
        return Err(Error::new(param.span(), message));
    }
    let mut describe = Vec::new();
    let mut extract = Vec::new();
    let mut build = Vec::new();
    let mut restore = Vec::new();
    let mut assign = Vec::new();
    let mut digest = Vec::new();
    for (member, field) in data.fields.members().zip(&data.fields) {
        let ty = &field.ty;
        let attributes = PartAttributes::parse(&field.attrs)?;
        if attributes.skip {
            build.push(quote_spanned! {ty.span()=>
                #member: <#ty as ::core::default::Default>::default()
            });
            continue;
        }
        let name = match &member {
            Member::Named(name) => name.to_string().trim_start_matches("r#").to_owned(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        if let Some(adapter) = attributes.adapter.tokens(ty, &sync) {
            let part = quote!(<#adapter::Record as #sync::Part>);
            let value = quote!(#adapter::to_record(&self.#member));
            let built = quote!(from.convert(#name, #part::build_part, #adapter::from_record)?);
            describe.push(quote!(#part::describe_part(#name, schema);));
            extract.push(quote!(#part::extract_part(&#value, into);));
            build.push(quote!(#member: #built));
            restore.push(quote!(self.#member = #built;));
            assign
                .push(quote!(::core::clone::Clone::clone_from(&mut self.#member, &from.#member);));
            digest.push(quote!(#part::digest_part(&mut #value, summary);));
            continue;
        }
        let part = quote_spanned!(ty.span()=> <#ty as #sync::Part>);
        describe.push(quote!(#part::describe_part(#name, schema);));
        extract.push(quote!(#part::extract_part(&self.#member, into);));
        build.push(quote!(#member: #part::build_part(from)?));
        restore.push(quote!(#part::restore_part(&mut self.#member, from)?;));
        assign.push(quote!(#part::assign_part(&mut self.#member, &from.#member);));
        digest.push(quote!(#part::digest_part(&mut self.#member, summary);));
    }
    if describe.is_empty() {
        let message = "nothing in it is part of the state: at least one field must not be skipped";
        return Err(Error::new(input.ident.span(), message));
    }
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl #sync::Part for #name {
            fn describe_part(name: &str, schema: &mut #sync::SchemaBuilder) {
                schema.nested(name, |schema| {
                    #(#describe)*
                });
            }

            fn extract_part(&self, into: &mut #sync::Extraction<'_>) {
                #(#extract)*
            }

            fn build_part(
                from: &mut #sync::Restoration<'_>,
            ) -> ::core::result::Result<Self, #sync::RestoreError> {
                ::core::result::Result::Ok(Self { #(#build),* })
            }

            fn restore_part(
                &mut self,
                from: &mut #sync::Restoration<'_>,
            ) -> ::core::result::Result<(), #sync::RestoreError> {
                #(#restore)*
                ::core::result::Result::Ok(())
            }

            fn assign_part(&mut self, from: &Self) {
                #(#assign)*
            }

            fn digest_part(&mut self, summary: &mut #sync::StateDigest) {
                #(#digest)*
            }
        }

        #[automatically_derived]
        impl #sync::Replicate for #name {}
    })
}
