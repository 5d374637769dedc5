//! `#[derive(Wire)]`.

mod attributes;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Member, Path, Result, parse_quote};

use crate::paths;
use attributes::Field;

pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let wire = paths::of_type("wire", "wire", &input.attrs)?;
    let mut constants = Vec::new();
    let mut variants = Vec::new();
    let body = match &input.data {
        Data::Struct(data) => {
            variants.push(Variant::new(None, &data.fields, &wire, &mut constants)?);
            struct_body(&variants[0], &wire)
        }
        Data::Enum(data) => {
            for variant in &data.variants {
                attributes::refuse(&variant.attrs)?;
                let (name, fields) = (Some(&variant.ident), &variant.fields);
                variants.push(Variant::new(name, fields, &wire, &mut constants)?);
            }
            if variants.is_empty() {
                let message = "an enum without variants has no values to encode";
                return Err(Error::new(input.ident.span(), message));
            }
            enum_body(&variants, &wire)
        }
        Data::Union(data) => {
            let message = "a union does not say which of its fields is valid";
            return Err(Error::new(data.union_token.span(), message));
        }
    };

    let mut generics = input.generics.clone();
    for param in generics.type_params_mut() {
        param.bounds.push(parse_quote!(#wire::Wire));
    }
    if generics.type_params().next().is_some() {
        let skipped = variants.iter().flat_map(|v| &v.parts).filter(|p| p.skipped);
        let types: Vec<_> = skipped.map(|p| p.ty.clone()).collect();
        let clause = generics.make_where_clause();
        for ty in types {
            let bound = parse_quote!(#ty: ::core::default::Default + ::core::clone::Clone);
            clause.predicates.push(bound);
        }
    }
    let name = &input.ident;
    let layout = variants.iter().map(|variant| variant.layout(&wire));
    let (params, arguments, clause) = generics.split_for_impl();
    Ok(quote! {
        #[allow(clippy::unnecessary_cast)]
        const _: () = {
            #(#constants)*

            #[automatically_derived]
            #[allow(unreachable_patterns, unused_variables)]
            impl #params #wire::Wire for #name #arguments #clause {
                #body

                fn layout(hasher: &mut #wire::LayoutHasher) {
                    hasher.once::<Self>(|hasher| { #(#layout)* });
                }
            }
        };
    })
}

/// A field as the generated code sees it.
struct Part {
    member: Member,
    /// Names for the field of the value and of the baseline in patterns.
    value: Ident,
    baseline: Ident,
    ty: syn::Type,
    /// The constant that holds the codec, and the codec's type.
    codec: Ident,
    codec_ty: TokenStream,
    skipped: bool,
}

/// A struct, or one variant of an enum.
struct Variant {
    /// `None` for a struct.
    name: Option<Ident>,
    path: TokenStream,
    parts: Vec<Part>,
}

impl Variant {
    fn new(
        variant: Option<&Ident>,
        fields: &Fields,
        wire: &Path,
        constants: &mut Vec<TokenStream>,
    ) -> Result<Variant> {
        let mut parts = Vec::new();
        for (i, (member, field)) in fields.members().zip(fields).enumerate() {
            let attributes = Field::parse(&field.attrs)?;
            let codec = format_ident!("CODEC_{}", constants.len());
            let made = attributes.codec(wire);
            if !attributes.is_skipped() {
                let attribute = field.attrs.iter().find(|a| a.path().is_ident("wire"));
                let at = attribute.map_or(field.ty.span(), |a| a.path().span());
                let (ty, value) = (located(made.ty.clone(), at), located(made.value, at));
                constants.push(quote!(const #codec: #ty = #value;));
            }
            parts.push(Part {
                member,
                value: format_ident!("value_{i}"),
                baseline: format_ident!("baseline_{i}"),
                ty: field.ty.clone(),
                codec,
                codec_ty: located(made.ty, field.ty.span()),
                skipped: attributes.is_skipped(),
            });
        }
        Ok(Variant {
            name: variant.cloned(),
            path: variant.map_or(quote!(Self), |name| quote!(Self::#name)),
            parts,
        })
    }

    fn coded(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| !part.skipped)
    }

    /// A pattern that binds the fields of the value.
    fn value_pattern(&self) -> TokenStream {
        self.pattern(|part| &part.value)
    }

    /// A pattern that binds the fields of the baseline.
    fn baseline_pattern(&self) -> TokenStream {
        self.pattern(|part| &part.baseline)
    }

    fn pattern<'a>(&'a self, name: impl Fn(&'a Part) -> &'a Ident) -> TokenStream {
        let path = &self.path;
        let members = self.parts.iter().map(|part| &part.member);
        let names = self.parts.iter().map(name);
        quote!(#path { #(#members: #names),* })
    }

    fn encode(&self, wire: &Path) -> TokenStream {
        self.coded()
            .map(|part| {
                let value = &part.value;
                part.call(wire, "encode", quote!(#value, w), quote!(;))
            })
            .collect()
    }

    fn decode(&self, wire: &Path) -> TokenStream {
        let path = &self.path;
        let fields = self.parts.iter().map(|part| {
            let (member, ty) = (&part.member, &part.ty);
            let value = match part.skipped {
                true => quote_spanned!(ty.span()=> <#ty as ::core::default::Default>::default()),
                false => part.call(wire, "decode", quote!(r), quote!(?)),
            };
            quote!(#member: #value)
        });
        quote!(#path { #(#fields),* })
    }

    /// Whether all fields of the bound value and baseline are the same.
    fn same(&self, wire: &Path) -> TokenStream {
        let parts = self.coded().map(|part| {
            let (value, baseline) = (&part.value, &part.baseline);
            part.call(wire, "same", quote!(#value, #baseline), quote!())
        });
        quote!(true #(&& #parts)*)
    }

    fn encode_delta(&self, wire: &Path) -> TokenStream {
        self.coded()
            .map(|part| {
                let (value, baseline) = (&part.value, &part.baseline);
                part.call(
                    wire,
                    "encode_delta",
                    quote!(#value, #baseline, w),
                    quote!(;),
                )
            })
            .collect()
    }

    fn decode_delta(&self, wire: &Path) -> TokenStream {
        let path = &self.path;
        let fields = self.parts.iter().map(|part| {
            let (member, baseline) = (&part.member, &part.baseline);
            let value = match part.skipped {
                true => quote!(::core::clone::Clone::clone(#baseline)),
                false => part.call(wire, "decode_delta", quote!(#baseline, r), quote!(?)),
            };
            quote!(#member: #value)
        });
        quote!(#path { #(#fields),* })
    }

    /// The names of the variant and of its fields, each of those with its encoding.
    fn layout(&self, wire: &Path) -> TokenStream {
        let variant = self.name.as_ref().map(|name| {
            let name = format!("::{name}");
            quote!(hasher.name(#name);)
        });
        let fields = self.coded().map(|part| {
            let name = match &part.member {
                Member::Named(name) => name.to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            let layout = part.call(wire, "layout", quote!(hasher), quote!(;));
            quote!(hasher.name(#name); #layout)
        });
        quote!(#variant #(#fields)*)
    }

    fn min_bits(&self, wire: &Path) -> TokenStream {
        let parts = self
            .coded()
            .map(|part| part.call(wire, "min_bits", quote!(), quote!()));
        quote!(0usize #(+ #parts)*)
    }
}

impl Part {
    /// A call of the codec, located at the field's type so that errors point there.
    fn call(
        &self,
        wire: &Path,
        method: &str,
        arguments: TokenStream,
        after: TokenStream,
    ) -> TokenStream {
        let (ty, codec, codec_ty) = (&self.ty, &self.codec, &self.codec_ty);
        let method = Ident::new(method, Span::call_site());
        let call = quote_spanned! {ty.span()=>
            <#codec_ty as #wire::Codec<#ty>>::#method
        };
        quote!(#call(&#codec, #arguments) #after)
    }
}

/// The same tokens, but errors in them are shown at `span`.
fn located(tokens: TokenStream, span: Span) -> TokenStream {
    let locate = |mut token: TokenTree| {
        if let TokenTree::Group(group) = &token {
            let inner = located(group.stream(), span);
            token = Group::new(group.delimiter(), inner).into();
        }
        token.set_span(token.span().located_at(span));
        token
    };
    tokens.into_iter().map(locate).collect()
}

fn struct_body(it: &Variant, wire: &Path) -> TokenStream {
    let (value, baseline) = (it.value_pattern(), it.baseline_pattern());
    let (encode, decode, same) = (it.encode(wire), it.decode(wire), it.same(wire));
    let (encode_delta, decode_delta) = (it.encode_delta(wire), it.decode_delta(wire));
    let min_bits = it.min_bits(wire);
    // A single field says itself whether it changed.
    let several = it.coded().count() > 1;
    let write_changed = several.then(|| {
        quote! {
            let changed = !#wire::Wire::same(self, baseline);
            w.write_bool(changed);
            if !changed {
                return;
            }
        }
    });
    let read_changed = several.then(|| {
        quote! {
            if !r.read_bool()? {
                return ::core::result::Result::Ok(::core::clone::Clone::clone(baseline));
            }
        }
    });
    methods(
        wire,
        &quote!(let #value = self; #encode),
        &quote!(::core::result::Result::Ok(#decode)),
        &quote! {
            let #value = self;
            let #baseline = other;
            #same
        },
        &quote! {
            #write_changed
            let #value = self;
            let #baseline = baseline;
            #encode_delta
        },
        &quote! {
            #read_changed
            let #baseline = baseline;
            ::core::result::Result::Ok(#decode_delta)
        },
        &min_bits,
    )
}

fn enum_body(variants: &[Variant], wire: &Path) -> TokenStream {
    let last = variants.len() as u64 - 1;
    let tag_bits = 64 - last.leading_zeros();
    let tags: Vec<u64> = (0..=last).collect();
    let values: Vec<_> = variants.iter().map(Variant::value_pattern).collect();
    let baselines: Vec<_> = variants.iter().map(Variant::baseline_pattern).collect();
    let encode = variants.iter().map(|v| v.encode(wire));
    let decode = variants.iter().map(|v| v.decode(wire));
    let same = variants.iter().map(|v| v.same(wire));
    let min_bits = variants.iter().map(|v| v.min_bits(wire));
    // A change from a variant without fields can only be to another variant.
    let with_fields = variants.iter().zip(values.iter().zip(&baselines));
    let with_fields: Vec<_> = with_fields
        .filter(|(v, _)| v.coded().next().is_some())
        .collect();
    let encode_delta = with_fields.iter().map(|(v, (value, baseline))| {
        let fields = v.encode_delta(wire);
        quote!((#value, #baseline) => { w.write_bool(true); #fields })
    });
    let encode_other = with_fields.iter().map(|(_, (_, baseline))| {
        quote!((_, #baseline) => { w.write_bool(false); #wire::Wire::encode(self, w) })
    });
    let decode_delta = with_fields.iter().map(|(v, (_, baseline))| {
        let fields = v.decode_delta(wire);
        quote! {
            #baseline => if r.read_bool()? {
                return ::core::result::Result::Ok(#fields);
            }
        }
    });
    methods(
        wire,
        &quote! {
            match self {
                #(#values => { w.write_bits(#tags, #tag_bits); #encode })*
            }
        },
        &quote! {
            match r.read_bits(#tag_bits)? {
                #(#tags => ::core::result::Result::Ok(#decode),)*
                _ => ::core::result::Result::Err(#wire::DecodeError::UnknownVariant),
            }
        },
        &quote! {
            match (self, other) {
                #((#values, #baselines) => #same,)*
                _ => false,
            }
        },
        &quote! {
            let changed = !#wire::Wire::same(self, baseline);
            w.write_bool(changed);
            if !changed {
                return;
            }
            match (self, baseline) {
                #(#encode_delta)*
                #(#encode_other)*
                _ => #wire::Wire::encode(self, w),
            }
        },
        &quote! {
            if !r.read_bool()? {
                return ::core::result::Result::Ok(::core::clone::Clone::clone(baseline));
            }
            match baseline {
                #(#decode_delta)*
                _ => {}
            }
            <Self as #wire::Wire>::decode(r)
        },
        &quote! {
            let mut least = usize::MAX;
            #(least = usize::min(least, #min_bits);)*
            #tag_bits as usize + least
        },
    )
}

fn methods(
    wire: &Path,
    encode: &TokenStream,
    decode: &TokenStream,
    same: &TokenStream,
    encode_delta: &TokenStream,
    decode_delta: &TokenStream,
    min_bits: &TokenStream,
) -> TokenStream {
    quote! {
        #[inline]
        fn encode(&self, w: &mut #wire::BitWriter<'_>) {
            #encode
        }

        #[inline]
        fn decode(
            r: &mut #wire::BitReader<'_>,
        ) -> ::core::result::Result<Self, #wire::DecodeError> {
            #decode
        }

        #[inline]
        fn same(&self, other: &Self) -> bool {
            #same
        }

        #[inline]
        fn encode_delta(&self, baseline: &Self, w: &mut #wire::BitWriter<'_>) {
            #encode_delta
        }

        #[inline]
        fn decode_delta(
            baseline: &Self,
            r: &mut #wire::BitReader<'_>,
        ) -> ::core::result::Result<Self, #wire::DecodeError> {
            #decode_delta
        }

        #[inline]
        fn min_bits() -> usize {
            #min_bits
        }
    }
}
