//! The output: lines for people, or JSON for scripts.

use std::io::Write;

use serde_json::Value;

/// Where lines go.
pub struct Screen {
    out: Box<dyn Print>,
    json: bool,
    /// Colours, on a terminal.
    colours: bool,
}

/// Prints text of whole lines.
pub trait Print {
    /// Returns whether it was printed.
    fn print(&mut self, text: String) -> bool;
}

/// Standard output.
pub struct Plain;

impl Print for Plain {
    fn print(&mut self, text: String) -> bool {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .is_ok()
    }
}

impl Screen {
    pub fn new(out: Box<dyn Print>, json: bool, colours: bool) -> Screen {
        Screen { out, json, colours }
    }

    /// Prints `words` for people, or `json` for scripts. Errors are ignored: a closed output does not end the session.
    pub fn say(&mut self, words: impl AsRef<str>, json: Value) {
        let text = match self.json {
            true => format!("{json}\n"),
            false => {
                let words = words.as_ref();
                format!("{words}{}", if words.ends_with('\n') { "" } else { "\n" })
            }
        };
        self.out.print(text);
    }

    /// Prints for scripts only.
    pub fn say_json(&mut self, json: Value) {
        if self.json {
            self.say("", json);
        }
    }

    /// A name in its player's colour.
    pub fn coloured(&self, name: &str, [red, green, blue]: [u8; 3]) -> String {
        match self.colours {
            true => format!("\x1b[38;2;{red};{green};{blue}m{name}\x1b[0m"),
            false => name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use serde_json::json;

    use super::*;

    impl Print for Sender<String> {
        fn print(&mut self, text: String) -> bool {
            self.send(text).is_ok()
        }
    }

    #[test]
    fn people_and_scripts_read_different_things() {
        let (sender, lines) = channel();
        let mut people = Screen::new(Box::new(sender.clone()), false, false);
        people.say("Ada: hi", json!({"event": "chat"}));
        people.say("two\nlines\n", json!({"event": "table"}));
        let mut script = Screen::new(Box::new(sender.clone()), true, true);
        script.say("Ada: hi", json!({"event": "chat", "text": "hi\n"}));
        let lines: Vec<_> = lines.try_iter().collect();
        assert_eq!(
            lines,
            [
                "Ada: hi\n",
                "two\nlines\n",
                "{\"event\":\"chat\",\"text\":\"hi\\n\"}\n"
            ]
        );
        assert_eq!(people.coloured("Ada", [1, 2, 3]), "Ada");
        assert!(script.coloured("Ada", [1, 2, 3]).contains("1;2;3mAda"));
    }
}
