//! The vectors of WIRE.md, so that the page and the code cannot drift apart.

/// Compares vectors with the page, all at once: a change of the format shows every one of them.
///
/// # Panics
/// If one differs, with the lines as the page should have them.
pub(crate) fn assert_vectors(vectors: &[(&str, &[u8])]) {
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02x}")).collect() };
    let differs = (vectors.iter()).any(|(name, bytes)| find(name) != Some(hex(bytes)));
    let lines = vectors.iter();
    let lines: Vec<String> = lines
        .map(|(name, bytes)| format!("{name} = {}", hex(bytes)))
        .collect();
    assert!(!differs, "WIRE.md should have:\n{}", lines.join("\n"));
}

fn find(name: &str) -> Option<String> {
    let page = include_str!("../../../WIRE.md");
    let line = page.lines().find(|line| {
        let left = line.split_once('=').map(|(left, _)| left.trim());
        left == Some(name)
    })?;
    let (_, right) = line.split_once('=')?;
    let hex = right.split('#').next()?;
    Some(hex.split_whitespace().collect())
}
