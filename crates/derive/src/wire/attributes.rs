//! The attributes `#[wire(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprRange, Lit, Path, RangeLimits, Result};

const FIELD_KEYS: &str =
    "`range`, `min` and `max`, `precision`, `varint`, `max_len`, `each(…)` or `skip`";

/// The attributes of one field, or of the elements of a list.
#[derive(Default)]
pub struct Field {
    min: Option<(Span, Expr)>,
    max: Option<(Span, Expr)>,
    precision: Option<(Span, Expr)>,
    max_len: Option<(Span, Expr)>,
    varint: Option<Span>,
    each: Option<(Span, Box<Field>)>,
    skip: Option<Span>,
}

/// The type of a codec and the constant expression that makes it.
pub struct Codec {
    pub ty: TokenStream,
    pub value: TokenStream,
}

impl Field {
    pub fn parse(attributes: &[Attribute]) -> Result<Field> {
        let mut field = Field::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("wire")) {
            attribute.parse_nested_meta(|meta| field.parse_key(&meta))?;
        }
        field.check()?;
        Ok(field)
    }

    pub fn is_skipped(&self) -> bool {
        self.skip.is_some()
    }

    fn parse_key(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let span = meta.path.span();
        let key = meta.path.get_ident().map(ToString::to_string);
        match key.as_deref() {
            Some("min") => set(&mut self.min, span, value(meta)?),
            Some("max") => set(&mut self.max, span, value(meta)?),
            Some("range") => {
                let (min, max) = inclusive(&value::<Expr>(meta)?)?;
                set(&mut self.min, span, min)?;
                set(&mut self.max, span, max)
            }
            Some("precision") => set(&mut self.precision, span, value(meta)?),
            Some("max_len") => set(&mut self.max_len, span, value(meta)?),
            Some("varint") => {
                self.varint = Some(span);
                Ok(())
            }
            Some("skip") => {
                self.skip = Some(span);
                Ok(())
            }
            Some("each") => {
                let mut each = Field::default();
                meta.parse_nested_meta(|meta| each.parse_key(&meta))?;
                each.check()?;
                if let Some(span) = each.skip {
                    return Err(Error::new(span, "elements cannot be skipped"));
                }
                set(&mut self.each, span, Box::new(each))
            }
            _ => Err(Error::new(
                span,
                format!("unknown attribute: expected {FIELD_KEYS}"),
            )),
        }
    }

    fn check(&self) -> Result<()> {
        let fail = |span: &Span, message: &str| Err(Error::new(*span, message));
        match (&self.min, &self.max) {
            (Some((span, _)), None) => return fail(span, "`min` without `max`"),
            (None, Some((span, _))) => return fail(span, "`max` without `min`"),
            (None, None) => {
                if let Some((span, _)) = &self.precision {
                    return fail(span, "`precision` needs `min` and `max`, or `range`");
                }
            }
            (Some((_, min)), Some((_, max))) => {
                if self.precision.is_none()
                    && let Some(float) = [min, max].into_iter().find(|e| is_float(e))
                {
                    return fail(&float.span(), "a range of floats needs a `precision`");
                }
            }
        }
        if let (Some(span), Some(_)) = (&self.varint, &self.min) {
            return fail(span, "`varint` is for integers without a range");
        }
        if let Some((span, _)) = &self.each
            && (self.min.is_some() || self.varint.is_some())
        {
            return fail(
                span,
                "the encoding of the elements is given twice: inside and outside `each`",
            );
        }
        if let Some(span) = &self.skip
            && (self.min.is_some()
                || self.varint.is_some()
                || self.max_len.is_some()
                || self.each.is_some())
        {
            return fail(span, "a skipped field is not encoded: remove the others");
        }
        Ok(())
    }

    /// What encodes the field. Checked before, so that it cannot fail.
    pub fn codec(&self, wire: &Path) -> Codec {
        let each = if let Some((_, each)) = &self.each {
            each.codec(wire)
        } else if let (Some((_, min)), Some((_, max))) = (&self.min, &self.max) {
            if let Some((_, precision)) = &self.precision {
                Codec {
                    ty: quote!(#wire::Quantised),
                    value: quote! {
                        #wire::Quantised::new((#min) as f64, (#max) as f64, (#precision) as f64)
                    },
                }
            } else {
                let range = quote!({ (#min) as i128 }, { (#max) as i128 });
                Codec {
                    ty: quote!(#wire::Range<#range>),
                    value: quote!(#wire::Range::<#range>),
                }
            }
        } else if self.varint.is_some() {
            Codec {
                ty: quote!(#wire::Varint),
                value: quote!(#wire::Varint),
            }
        } else {
            Codec {
                ty: quote!(#wire::Plain),
                value: quote!(#wire::Plain),
            }
        };
        let Codec { ty, value } = &each;
        match (&self.max_len, &self.each) {
            (Some((_, max_len)), _) => Codec {
                ty: quote!(#wire::MaxLen<#ty>),
                value: quote!(#wire::MaxLen::new(#max_len, #value)),
            },
            (None, Some(_)) => Codec {
                ty: quote!(#wire::MaxLen<#ty>),
                value: quote!(#wire::MaxLen::new(#wire::DEFAULT_MAX_LEN, #value)),
            },
            (None, None) => each,
        }
    }
}

/// Refuses attributes where none have a meaning.
pub fn refuse(attributes: &[Attribute]) -> Result<()> {
    match attributes.iter().find(|a| a.path().is_ident("wire")) {
        Some(attribute) => Err(Error::new(
            attribute.span(),
            "a variant has no attributes, only its fields have",
        )),
        None => Ok(()),
    }
}

fn set<T>(slot: &mut Option<(Span, T)>, span: Span, value: T) -> Result<()> {
    match slot.replace((span, value)) {
        None => Ok(()),
        Some(_) => Err(Error::new(span, "given twice")),
    }
}

fn value<T: Parse>(meta: &ParseNestedMeta<'_>) -> Result<T> {
    meta.value()?.parse()
}

fn inclusive(expr: &Expr) -> Result<(Expr, Expr)> {
    match expr {
        Expr::Range(ExprRange {
            start: Some(start),
            end: Some(end),
            limits: RangeLimits::Closed(_),
            ..
        }) => Ok((*start.clone(), *end.clone())),
        _ => Err(Error::new(
            expr.span(),
            "expected a range with both ends, like `0..=100`",
        )),
    }
}

fn is_float(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(lit) => matches!(lit.lit, Lit::Float(_)),
        Expr::Unary(unary) => is_float(&unary.expr),
        _ => false,
    }
}
