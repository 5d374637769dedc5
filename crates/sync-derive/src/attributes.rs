//! What stands in `#[shared(…)]`.

use syn::{Attribute, Expr, Ident, Path, Result, parenthesized};

/// Who owns a field, as written.
pub enum Owner {
    Authority,
    Player(Expr),
    EachPlayer,
}

/// The attributes of one field.
#[derive(Default)]
pub struct Field {
    pub owner: Option<Owner>,
    pub skip: bool,
}

impl Field {
    pub fn parse(attributes: &[Attribute]) -> Result<Field> {
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
                            return Err(syn::Error::new(
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

/// How the generated code names `samestep_sync`, if the struct says so in `#[shared(crate = …)]`.
pub fn crate_path(attributes: &[Attribute]) -> Result<Option<Path>> {
    crate_path_in("shared", attributes)
}

/// The same in an attribute of another name.
pub fn crate_path_in(attribute: &str, attributes: &[Attribute]) -> Result<Option<Path>> {
    let mut path = None;
    for attribute in attributes.iter().filter(|a| a.path().is_ident(attribute)) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("on a type, use `crate = path::to::samestep_sync`"));
            }
            path = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        })?;
    }
    Ok(path)
}
