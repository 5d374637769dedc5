//! Fields of types that are no records: `#[field(with = …)]` and `#[field(max_len = …)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Expr, Path, Result, Type};

/// The conversion that a field's attributes name, if any.
#[derive(Default)]
pub struct Adapter {
    with: Option<Type>,
    max_len: Option<Expr>,
}

impl Adapter {
    /// Takes in one of its attributes; false if it is none of them.
    pub fn parse(&mut self, meta: &ParseNestedMeta<'_>) -> Result<bool> {
        if meta.path.is_ident("with") {
            self.with = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("max_len") {
            self.max_len = Some(meta.value()?.parse()?);
        } else {
            return Ok(false);
        }
        match self.with.is_some() && self.max_len.is_some() {
            true => Err(meta.error("use either `with` or `max_len`: `with = Bounded<8, Bounded<32>>` bounds a list and the texts in it")),
            false => Ok(true),
        }
    }

    /// `<Conversion as FieldWith<Type>>`, located so that errors point to the conversion or to the type that it does not fit.
    pub fn tokens(&self, ty: &Type, sync: &Path) -> Option<TokenStream> {
        let (span, with) = match (&self.with, &self.max_len) {
            (Some(with), _) => (with.span(), quote!(#with)),
            (None, Some(len)) => (ty.span(), quote!(#sync::Bounded<{ #len }>)),
            (None, None) => return None,
        };
        Some(quote_spanned!(span=> <#with as #sync::FieldWith<#ty>>))
    }
}
