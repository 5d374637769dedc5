//! `#[derive(Record)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, LitStr, Member, Path, Result, Token,
    parenthesized, parse_quote,
};

use crate::adapter::Adapter;

/// What stands in `#[field(…)]`.
#[derive(Default)]
struct Shown {
    adapter: Adapter,
    range: Option<(Expr, Expr)>,
    precision: Option<Expr>,
    blend: Option<Ident>,
    owner: bool,
    secret: bool,
}

impl Shown {
    fn parse(attributes: &[Attribute]) -> Result<Shown> {
        let mut shown = Shown::default();
        for attribute in attributes {
            if attribute.path().is_ident("replicate") {
                let message = "this is for fields of a whole state; every field of a record is part of it, so move scratch memory out";
                return Err(Error::new(attribute.span(), message));
            }
            if !attribute.path().is_ident("field") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                if shown.adapter.parse(&meta)? {
                } else if meta.path.is_ident("range") {
                    let bounds;
                    parenthesized!(bounds in meta.input);
                    let least = bounds.parse()?;
                    bounds.parse::<Token![,]>().map_err(|e| {
                        Error::new(e.span(), "a range is written `range(least, greatest)`")
                    })?;
                    let greatest = bounds.parse()?;
                    if !bounds.is_empty() {
                        return Err(bounds.error("a range is written `range(least, greatest)`"));
                    }
                    shown.range = Some((least, greatest));
                } else if meta.path.is_ident("precision") {
                    shown.precision = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("blend") {
                    let name: LitStr = meta.value()?.parse()?;
                    shown.blend = Some(match name.value().as_str() {
                        "step" => format_ident!("Step"),
                        "linear" => format_ident!("Linear"),
                        "angle" => format_ident!("Angle"),
                        _ => {
                            let message = "a field blends by \"step\", \"linear\" or \"angle\"";
                            return Err(Error::new(name.span(), message));
                        }
                    });
                } else if meta.path.is_ident("owner") {
                    shown.owner = true;
                } else if meta.path.is_ident("secret") {
                    shown.secret = true;
                } else if meta.path.is_ident("skip") {
                    return Err(meta.error(
                        "every field of a record is part of the state: move what is not into a field of the state that is `#[replicate(skip)]`",
                    ));
                } else {
                    return Err(meta.error(
                        "use `range(least, greatest)`, `precision = …`, `blend = \"…\"`, `owner`, `secret`, `max_len = …` or `with = …`",
                    ));
                }
                Ok(())
            })?;
            if shown.precision.is_some() && shown.range.is_none() {
                let message = "a precision needs a `range(least, greatest)`";
                return Err(Error::new(attribute.span(), message));
            }
        }
        Ok(shown)
    }

    /// The call that enters the field, for the description.
    fn enter(&self, name: &str, sync: &Path) -> TokenStream {
        if self.range.is_none() && self.blend.is_none() && !self.owner && !self.secret {
            return quote!(into.enter(#name););
        }
        let range = self
            .range
            .as_ref()
            .map(|(least, greatest)| quote!(.range((#least) as f64, (#greatest) as f64)));
        let precision = self
            .precision
            .as_ref()
            .map(|step| quote!(.precision((#step) as f64)));
        let blend = self
            .blend
            .as_ref()
            .map(|blend| quote!(.blend(#sync::Blend::#blend)));
        let owner = self.owner.then(|| quote!(.owner()));
        let secret = self.secret.then(|| quote!(.secret()));
        // Constant, so that a wrong one does not compile.
        quote!(into.enter_shown(#name, const { #sync::Shown::EXACT #range #precision #blend #owner #secret });)
    }
}

/// A struct, or one variant of an enum.
struct Variant<'a> {
    path: TokenStream,
    members: Vec<Member>,
    names: Vec<Ident>,
    types: Vec<&'a syn::Type>,
    shown: Vec<Shown>,
}

impl<'a> Variant<'a> {
    fn new(path: TokenStream, fields: &'a Fields) -> Result<Variant<'a>> {
        Ok(Variant {
            path,
            members: fields.members().collect(),
            names: (0..fields.len())
                .map(|i| format_ident!("field_{i}"))
                .collect(),
            types: fields.iter().map(|field| &field.ty).collect(),
            shown: fields
                .iter()
                .map(|field| Shown::parse(&field.attrs))
                .collect::<Result<_>>()?,
        })
    }

    fn pattern(&self) -> TokenStream {
        let (path, members, names) = (&self.path, &self.members, &self.names);
        quote!(#path { #(#members: #names),* })
    }

    /// The type of each field and the conversion that its attributes name.
    fn adapters(&self, sync: &Path) -> Vec<(&'a syn::Type, Option<TokenStream>)> {
        let fields = self.types.iter().zip(&self.shown);
        fields
            .map(|(ty, shown)| (*ty, shown.adapter.tokens(ty, sync)))
            .collect()
    }

    /// `<Type as Record>`, located at the type so that errors point there.
    fn records(&self, sync: &Path) -> Vec<TokenStream> {
        let records = self.adapters(sync).into_iter();
        records
            .map(|(ty, adapter)| match adapter {
                Some(adapter) => quote_spanned!(ty.span()=> <#adapter::Record as #sync::Record>),
                None => quote_spanned!(ty.span()=> <#ty as #sync::Record>),
            })
            .collect()
    }

    /// The bound fields as records.
    fn converted(&self, sync: &Path) -> Vec<TokenStream> {
        let fields = self.names.iter().zip(self.adapters(sync));
        fields
            .map(|(name, (_, adapter))| match adapter {
                Some(adapter) => quote!(&#adapter::to_record(#name)),
                None => quote!(#name),
            })
            .collect()
    }

    fn cells(&self, sync: &Path) -> TokenStream {
        let records = self.records(sync);
        quote!(0usize #(+ #records::CELLS)*)
    }

    fn describe(&self, sync: &Path) -> TokenStream {
        let fields = self.records(sync);
        let is_transparent = matches!(self.members[..], [Member::Unnamed(_)]);
        let enters = self.members.iter().zip(&self.shown).map(|(member, shown)| {
            let name = match member {
                Member::Named(name) => name.to_string().trim_start_matches("r#").to_owned(),
                Member::Unnamed(_) if is_transparent => String::new(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            shown.enter(&name, sync)
        });
        quote!(#(#enters #fields::describe(into); into.leave();)*)
    }

    /// Stores the bound fields from cell `at` on.
    fn store(&self, sync: &Path) -> TokenStream {
        let (records, values) = (self.records(sync), self.converted(sync));
        quote! {#(
            #records::store(#values, &mut cells[at..at + #records::CELLS]);
            at += #records::CELLS;
        )*}
    }

    /// Loads a value from the cells from `at` on.
    fn load(&self, sync: &Path) -> TokenStream {
        let (records, names) = (self.records(sync), &self.names);
        let value = self.pattern();
        let convert = self.adapters(sync).into_iter().map(|(_, adapter)| {
            adapter.map(|adapter| {
                quote! {
                    let ::core::option::Option::Some(value) = #adapter::from_record(value) else {
                        return ::core::result::Result::Err(#sync::InvalidCell::FIRST.after(at));
                    };
                }
            })
        });
        quote! {
            #(
                let #names = match #records::load(&cells[at..at + #records::CELLS]) {
                    ::core::result::Result::Ok(value) => {
                        #convert
                        value
                    }
                    ::core::result::Result::Err(error) => {
                        return ::core::result::Result::Err(error.after(at));
                    }
                };
                at += #records::CELLS;
            )*
            ::core::result::Result::Ok(#value)
        }
    }

    fn digest(&self, sync: &Path) -> TokenStream {
        let (records, values) = (self.records(sync), self.converted(sync));
        quote!(#(#records::digest(#values, digest);)*)
    }
}

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let sync = crate::paths::of_type("sync", "record", &input.attrs)?;
    let body = match &input.data {
        Data::Struct(data) => struct_body(&Variant::new(quote!(Self), &data.fields)?, &sync),
        Data::Enum(data) => {
            let mut variants = Vec::new();
            for variant in &data.variants {
                let name = &variant.ident;
                variants.push(Variant::new(quote!(Self::#name), &variant.fields)?);
            }
            if variants.is_empty() {
                let message = "an enum without variants has no values to record";
                return Err(Error::new(input.ident.span(), message));
            }
            let names: Vec<_> = data.variants.iter().map(|v| &v.ident).collect();
            enum_body(&variants, &names, &sync)
        }
        Data::Union(data) => {
            let message = "a union does not say which of its fields is valid";
            return Err(Error::new(data.union_token.span(), message));
        }
    };
    if let Some(lifetime) = input.generics.lifetimes().next() {
        let message = "a record borrows nothing: it must outlive the tick";
        return Err(Error::new(lifetime.span(), message));
    }
    let mut generics = input.generics.clone();
    for param in generics.type_params_mut() {
        param.bounds.push(parse_quote!(#sync::Record));
    }
    let name = &input.ident;
    let (params, arguments, clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables, unused_mut, unused_assignments, clippy::unnecessary_cast)]
        impl #params #sync::Record for #name #arguments #clause {
            #body
        }
    })
}

fn struct_body(it: &Variant<'_>, sync: &Path) -> TokenStream {
    let (cells, describe, pattern) = (it.cells(sync), it.describe(sync), it.pattern());
    let (store, load, digest) = (it.store(sync), it.load(sync), it.digest(sync));
    methods(
        sync,
        &cells,
        &describe,
        &quote!(let #pattern = self; let mut at = 0usize; #store),
        &quote!(let mut at = 0usize; #load),
        &quote!(let #pattern = self; #digest),
    )
}

fn enum_body(variants: &[Variant<'_>], names: &[&Ident], sync: &Path) -> TokenStream {
    let cells: Vec<_> = variants.iter().map(|v| v.cells(sync)).collect();
    let patterns: Vec<_> = variants.iter().map(Variant::pattern).collect();
    let tags: Vec<u64> = (0..variants.len() as u64).collect();
    let tag_bits = if variants.len() <= 256 { 8u32 } else { 32 };
    let names = names
        .iter()
        .map(|name| name.to_string().trim_start_matches("r#").to_owned());
    let names: Vec<_> = names.collect();
    let describe = variants
        .iter()
        .zip(&names)
        .zip(&tags)
        .map(|((v, name), tag)| {
            let fields = v.describe(sync);
            quote!(into.enter_variant(#name, tag, #tag); #fields into.leave();)
        });
    // Where the cells of each variant begin.
    let starts: Vec<_> = (0..variants.len())
        .map(|n| {
            let before = &cells[..n];
            quote!(const { 1usize #(+ #before)* })
        })
        .collect();
    let store = variants.iter().map(|v| v.store(sync));
    let load = variants.iter().map(|v| v.load(sync));
    let has_fields = variants.iter().any(|v| !v.members.is_empty());
    let digest = if has_fields {
        let digest = variants.iter().map(|v| v.digest(sync));
        quote! {
            let value = match self {
                #(#patterns => {
                    let mut inner = #sync::Digest::new();
                    {
                        let digest = &mut inner;
                        digest.push(#tags, #tag_bits);
                        #digest
                    }
                    inner.finish()
                })*
            };
            digest.push(value, 64);
        }
    } else {
        quote! {
            let tag = match self {
                #(#patterns => #tags,)*
            };
            digest.push(tag, #tag_bits);
        }
    };
    methods(
        sync,
        &quote!(1usize #(+ #cells)*),
        &quote! {
            let tag = into.cell(#sync::CellKind::Variant(&[#(#names),*]));
            #(#describe)*
        },
        &quote! {
            cells[1..<Self as #sync::Record>::CELLS].fill(0);
            match self {
                #(#patterns => {
                    cells[0] = #tags;
                    let mut at = #starts;
                    #store
                })*
            }
        },
        &quote! {
            match cells[0] {
                #(#tags => {
                    let mut at = #starts;
                    #load
                })*
                _ => ::core::result::Result::Err(#sync::InvalidCell::FIRST),
            }
        },
        &digest,
    )
}

fn methods(
    sync: &Path,
    cells: &TokenStream,
    describe: &TokenStream,
    store: &TokenStream,
    load: &TokenStream,
    digest: &TokenStream,
) -> TokenStream {
    quote! {
        const CELLS: usize = #cells;

        fn describe(into: &mut #sync::Describe) {
            #describe
        }

        #[inline(always)]
        fn store(&self, cells: &mut [u64]) {
            #store
        }

        #[inline(always)]
        fn load(cells: &[u64]) -> ::core::result::Result<Self, #sync::InvalidCell> {
            #load
        }

        #[inline(always)]
        fn digest(&self, digest: &mut #sync::Digest) {
            #digest
        }
    }
}
