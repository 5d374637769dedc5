//! Blocks of a file that a report refreshes: from `<!-- figures: NAME -->` to `<!-- /figures -->`.

use crate::error::LabError;

const BEGIN: &str = "<!-- figures: ";
const CLOSE: &str = " -->";
const END: &str = "<!-- /figures -->";

/// The blocks of a text and their names; `origin` names it in errors.
#[cfg(test)]
pub fn blocks(origin: &str, text: &str) -> Result<Vec<(String, String)>, LabError> {
    let mut blocks = Vec::new();
    rewritten(origin, text, |name, block| {
        blocks.push((name.to_string(), block.to_string()));
        Ok(block.to_string())
    })?;
    Ok(blocks)
}

/// The text with its blocks as `fresh` has them for their names, which are `known`.
pub fn refreshed(
    origin: &str,
    text: &str,
    known: &[&str],
    fresh: impl Fn(&str) -> Option<String>,
) -> Result<String, LabError> {
    rewritten(origin, text, |name, _| match fresh(name) {
        Some(block) => Ok(format!("\n{}\n", block.trim())),
        None => Err(format!(
            "there is no table of figures called \"{name}\"; the tables are {}",
            known.join(", ")
        )),
    })
}

fn rewritten(
    origin: &str,
    text: &str,
    mut fresh: impl FnMut(&str, &str) -> Result<String, String>,
) -> Result<String, LabError> {
    let bad = |why: String| LabError::Unsupported(format!("{origin}: {why}; nothing was changed"));
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after
            .split_once(CLOSE)
            .ok_or_else(|| bad(format!("a marker \"{BEGIN}…\" lacks its \"{CLOSE}\"")))?;
        let (block, after) = after
            .split_once(END)
            .filter(|(block, _)| !block.contains(BEGIN))
            .ok_or_else(|| {
                bad(format!(
                    "the block of figures \"{name}\" lacks its \"{END}\""
                ))
            })?;
        let block = fresh(name, block).map_err(bad)?;
        written += &format!("{before}{BEGIN}{name}{CLOSE}{block}{END}");
        rest = after;
    }
    match rest.contains(END) {
        true => Err(bad(format!("\"{END}\" ends no block"))),
        false => Ok(written + rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "before\n<!-- figures: a -->\nold\n<!-- /figures -->\nafter\n";

    fn fresh(name: &str) -> Option<String> {
        (name == "a").then(|| "| new |".to_string())
    }

    #[test]
    fn a_block_is_replaced_and_nothing_else() {
        let text = refreshed("f", TEXT, &["a"], fresh).unwrap();
        assert_eq!(text, TEXT.replace("old", "| new |"));
        assert_eq!(
            refreshed("f", &text, &["a"], fresh).unwrap(),
            text,
            "twice is the same"
        );
        assert_eq!(refreshed("f", "plain", &["a"], fresh).unwrap(), "plain");
        assert_eq!(blocks("f", TEXT).unwrap(), [("a".into(), "\nold\n".into())]);
    }

    #[test]
    fn unknown_names_and_missing_ends_are_told() {
        for (text, word) in [
            (
                TEXT.replace("figures: a", "figures: b"),
                "called \"b\"; the tables are a",
            ),
            (TEXT.replace("<!-- /figures -->", ""), "lacks its"),
            (TEXT.replace("<!-- figures: a -->", ""), "ends no block"),
            (TEXT.replace("old", "<!-- figures: a -->"), "lacks its"),
        ] {
            let error = refreshed("f", &text, &["a"], fresh)
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(word) && error.starts_with("f: "), "{error}");
        }
    }
}
