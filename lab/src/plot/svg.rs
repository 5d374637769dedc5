//! SVG text, element by element. Colours are classes, so that a page can give them another look on dark ground.
//! The drawing is our own, because no chart library gives this look in both light and dark pages in so few lines.

use std::fmt::Write;

/// A drawing that grows.
pub struct Svg {
    text: String,
    size: (f64, f64),
}

/// Which end of a text is at its position.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// How wide a letter is on average, relative to the size of the font.
const LETTER: f64 = 0.52;

impl Svg {
    /// An empty drawing of that width and height.
    pub fn new(width: f64, height: f64) -> Svg {
        Svg {
            text: String::new(),
            size: (width, height),
        }
    }

    /// Sets the height once it is known.
    pub fn grow(&mut self, height: f64) {
        self.size.1 = height;
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = writeln!(
            self.text,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// A line through points; `dash` as SVG has it, empty for none.
    pub fn path(&mut self, class: &str, dash: &str, points: &[(f64, f64)]) {
        let mut places = String::new();
        for (x, y) in points {
            let _ = write!(places, "{x:.1},{y:.1} ");
        }
        let dashes = match dash {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        let _ = writeln!(
            self.text,
            "<polyline class=\"{class}\"{dashes} points=\"{}\"/>",
            places.trim_end()
        );
    }

    /// A rectangle that is filled, more or less, and shows a text when pointed at.
    pub fn bar(&mut self, class: &str, opacity: f64, at: (f64, f64), size: (f64, f64), says: &str) {
        let fill = match opacity < 1.0 {
            true => format!(" fill-opacity=\"{opacity:.2}\""),
            false => String::new(),
        };
        let _ = write!(
            self.text,
            "<rect class=\"{class}\"{fill} x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"1.5\"",
            at.0, at.1, size.0, size.1
        );
        self.close("rect", says);
    }

    /// A point that shows a text when pointed at.
    pub fn point(&mut self, class: &str, at: (f64, f64), radius: f64, says: &str) {
        let _ = write!(
            self.text,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"",
            at.0, at.1
        );
        self.close("circle", says);
    }

    fn close(&mut self, element: &str, says: &str) {
        let _ = match says {
            "" => writeln!(self.text, "/>"),
            says => writeln!(
                self.text,
                "><title>{}</title></{element}>",
                crate::report::escape(says)
            ),
        };
    }

    /// A text.
    pub fn words(&mut self, class: &str, at: (f64, f64), anchor: Anchor, words: &str) {
        if words.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = writeln!(
            self.text,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\"{anchor}>{}</text>",
            at.0,
            at.1,
            crate::report::escape(words)
        );
    }

    /// The finished drawing; `style` is for a file of its own, a page has it already.
    pub fn finish(self, label: &str, style: Option<&str>) -> String {
        let (width, height) = self.size;
        let style = style.map_or(String::new(), |style| format!("<style>\n{style}</style>\n"));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" aria-label=\"{}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n{style}{}</svg>\n",
            crate::report::escape(label),
            self.text
        )
    }
}

/// The approximate width of a text in a font of that size.
pub fn width(words: &str, size: f64) -> f64 {
    words.chars().count() as f64 * size * LETTER
}

/// A text wrapped into lines of that width, as far as its words allow.
pub fn lines(words: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + size * LETTER <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_escaped_and_a_style_is_there_only_where_asked_for() {
        let drawn = |style| {
            let mut svg = Svg::new(10.0, 10.0);
            svg.words("small", (1.0, 1.0), Anchor::Start, "a < b");
            svg.finish("title", style)
        };
        assert!(drawn(None).contains(">a &lt; b</text>"));
        assert!(!drawn(None).contains("<style"));
        assert!(drawn(Some(".small {}")).contains("<style>\n.small {}"));
    }

    #[test]
    fn long_words_go_on_in_the_next_line() {
        assert_eq!(lines("one two three", 10.0, 45.0), ["one two", "three"]);
        assert_eq!(lines("unbreakable", 10.0, 5.0), ["unbreakable"]);
    }
}
