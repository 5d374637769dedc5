//! The vectors of WIRE.md, so that the page and the code cannot drift apart.

/// The bytes of a vector in hexadecimal.
///
/// # Panics
/// If the page has no such vector.
pub fn vector(name: &str) -> String {
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
            return hex.split_whitespace().collect();
        }
    }
    panic!("WIRE.md has no vector `{name}`");
}

/// Bytes in hexadecimal, as the vectors have them.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
