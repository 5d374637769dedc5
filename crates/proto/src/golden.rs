//! The vectors of WIRE.md, so that the page and the code cannot drift apart.

/// The bytes of a vector in hexadecimal.
///
/// # Panics
/// If the page has no such vector.
pub fn vector(name: &str) -> String {
    find(name).unwrap_or_else(|| panic!("WIRE.md has no vector `{name}`"))
}

fn find(name: &str) -> Option<String> {
    let page = include_str!("../../../WIRE.md");
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```vectors";
        } else if inside
            && let Some((left, right)) = line.split_once('=')
            && left.trim() == name
        {
            let hex = right.split('#').next().unwrap_or_default();
            return Some(hex.split_whitespace().collect());
        }
    }
    None
}

/// Bytes in hexadecimal, as the vectors have them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares vectors with the page, all at once: a change of the format shows every one of them.
///
/// # Panics
/// If one differs, with the lines as the page should have them.
pub fn assert_vectors(vectors: &[(&str, String)]) {
    let lines = |(name, hex): &(&str, String)| format!("{name} = {hex}");
    let differs = (vectors.iter()).any(|(name, hex)| find(name).as_ref() != Some(hex));
    let all: Vec<String> = vectors.iter().map(lines).collect();
    assert!(!differs, "WIRE.md should have:\n{}", all.join("\n"));
}
