//! The attributes `#[message(…)]` and `#[action(…)]`.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Lit, LitStr, Path, Result, Type};

use crate::paths;

/// Numbers from here on are the library's own.
const FIRST_RESERVED: u64 = 0xFF00;

/// The contents of `#[message(…)]` on a type.
pub struct Message {
    pub krate: Path,
    pub kind: Option<Expr>,
    /// The name of a `Delivery`.
    pub delivery: LitStr,
}

/// The contents of `#[action(…)]` on a type.
pub struct Action {
    pub krate: Path,
    pub command: Option<Type>,
    pub denial: Option<Type>,
}

impl Message {
    pub fn parse(input: &DeriveInput) -> Result<Message> {
        let (mut krate, mut kind, mut delivery) = (None, None, None);
        each_key(input, "message", |key, meta| match key {
            "crate" => set(&mut krate, meta, path(meta)?),
            "kind" => set(&mut kind, meta, kind_number(meta.value()?.parse()?)?),
            "delivery" => set(&mut delivery, meta, meta.value()?.parse()?),
            "command" | "denial" => Err(meta.error(format!(
                "`{key}` belongs to actions: write `#[action({key} = …)]` and derive `Action` too"
            ))),
            _ => Err(meta.error("unknown attribute: expected `kind`, `delivery` or `crate`")),
        })?;
        if kind.is_none() && !input.generics.params.is_empty() {
            return Err(Error::new(
                input.generics.span(),
                "a generic message has the same name for all types it is made for: number it with \
                 `#[message(kind = …)]` and use it with one type, or make a struct around it",
            ));
        }
        Ok(Message {
            krate: krate.unwrap_or_else(|| paths::default("session")),
            kind,
            delivery: delivery
                .unwrap_or_else(|| LitStr::new("reliable-ordered", Span::call_site())),
        })
    }
}

impl Action {
    pub fn parse(input: &DeriveInput) -> Result<Action> {
        let (mut krate, mut command, mut denial) = (None, None, None);
        each_key(input, "action", |key, meta| match key {
            "crate" => set(&mut krate, meta, path(meta)?),
            "command" => set(&mut command, meta, meta.value()?.parse()?),
            "denial" => set(&mut denial, meta, meta.value()?.parse()?),
            "kind" => Err(meta.error("`kind` belongs to the message: `#[message(kind = …)]`")),
            "delivery" => Err(meta.error("an action is always delivered reliably and in order")),
            _ => Err(meta.error("unknown attribute: expected `command`, `denial` or `crate`")),
        })?;
        Ok(Action {
            krate: krate.unwrap_or_else(|| paths::default("session")),
            command,
            denial,
        })
    }
}

/// Calls `take` with every key in the attributes of this name on the type, and refuses the attribute elsewhere.
fn each_key(
    input: &DeriveInput,
    name: &str,
    mut take: impl FnMut(&str, &ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    for attribute in named(&input.attrs, name) {
        attribute.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string);
            take(key.as_deref().unwrap_or_default(), &meta)
        })?;
    }
    let inside: Vec<&Attribute> = match &input.data {
        Data::Struct(data) => data.fields.iter().flat_map(|f| &f.attrs).collect(),
        Data::Enum(data) => data
            .variants
            .iter()
            .flat_map(|v| v.attrs.iter().chain(v.fields.iter().flat_map(|f| &f.attrs)))
            .collect(),
        Data::Union(data) => {
            let message = "a union does not say which of its fields is valid";
            return Err(Error::new(data.union_token.span(), message));
        }
    };
    match inside.into_iter().find(|a| a.path().is_ident(name)) {
        Some(attribute) => Err(Error::new(
            attribute.span(),
            format!("`{name}` describes a whole type: fields and variants have `#[wire(…)]`"),
        )),
        None => Ok(()),
    }
}

fn named<'a>(attributes: &'a [Attribute], name: &'a str) -> impl Iterator<Item = &'a Attribute> {
    attributes.iter().filter(move |a| a.path().is_ident(name))
}

fn path(meta: &ParseNestedMeta<'_>) -> Result<Path> {
    meta.value()?.call(Path::parse_mod_style)
}

fn set<T>(slot: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error("given twice")),
    }
}

/// Refuses numbers that are no kind. Other constant expressions are checked by the compiler.
fn kind_number(expr: Expr) -> Result<Expr> {
    let Expr::Lit(ExprLit { lit, .. }) = &expr else {
        return Ok(expr);
    };
    let Lit::Int(number) = lit else {
        let message =
            "a kind is a number, like `kind = 7`; without one it is made from the type's name";
        return Err(Error::new(lit.span(), message));
    };
    match number.base10_parse::<u64>() {
        Ok(n) if n < FIRST_RESERVED => Ok(expr),
        _ => Err(Error::new(
            number.span(),
            "a kind is less than 0xFF00: the numbers from there on are the library's own",
        )),
    }
}
