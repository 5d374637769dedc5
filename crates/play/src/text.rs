//! Text of others.

/// Text of others without control characters, which could manipulate the terminal.
pub fn printable(text: &str) -> String {
    let harmless = |character: char| {
        let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if character.is_control() || turns {
            '\u{fffd}'
        } else {
            character
        }
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tricks_are_shown_as_such() {
        assert_eq!(
            printable("a\x1b[2Jb\u{202e}c é"),
            "a\u{fffd}[2Jb\u{fffd}c é"
        );
    }
}
