//! Where the generated code finds the crate of a trait.

use proc_macro_crate::{FoundCrate, crate_name};
use syn::{Attribute, Path, Result};

/// The path of `samestep-{part}`: what `#[{attribute}(crate = path)]` on the type says, else [`default`].
pub fn of_type(part: &str, attribute: &str, attributes: &[Attribute]) -> Result<Path> {
    of_type_beside(part, attribute, attributes, None)
}

/// The same, for a type that may have this word in the attribute too.
pub fn of_type_beside(
    part: &str,
    attribute: &str,
    attributes: &[Attribute],
    word: Option<&str>,
) -> Result<Path> {
    let mut path = None;
    for attribute in attributes.iter().filter(|a| a.path().is_ident(attribute)) {
        attribute.parse_nested_meta(|meta| {
            if word.is_some_and(|word| meta.path.is_ident(word)) {
                return Ok(());
            }
            if !meta.path.is_ident("crate") {
                return Err(meta.error(format!(
                    "on a type, use `crate = path::to::samestep_{part}`; other attributes belong to fields"
                )));
            }
            path = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        })?;
    }
    Ok(path.unwrap_or_else(|| default(part)))
}

/// The path of `samestep-{part}` in the program that is compiled: the crate itself if the program depends on it, else the
/// module of that name in the façade `samestep`.
///
/// The crate comes first because rules often depend on `samestep-sync` and only their tests on the façade.
pub fn default(part: &str) -> Path {
    let path = match crate_name(&format!("samestep-{part}")) {
        Ok(FoundCrate::Name(name)) => format!("::{name}"),
        Ok(FoundCrate::Itself) => format!("::samestep_{part}"),
        Err(_) => match crate_name("samestep") {
            Ok(FoundCrate::Name(name)) => format!("::{name}::{part}"),
            _ => format!("::samestep_{part}"),
        },
    };
    syn::parse_str(&path).expect("the name of a crate is an identifier")
}
