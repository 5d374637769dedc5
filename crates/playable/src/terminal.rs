//! Pictures made of characters: two points, one above the other, in each.

/// A colour: red, green, blue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rgb(pub [u8; 3]);

/// A character on the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The character: a half block or a letter.
    pub glyph: char,
    /// Its colour: that of the upper point, if it is a half block.
    pub colour: Rgb,
    /// The background: the lower point, if it is a half block.
    pub background: Rgb,
}

impl Cell {
    /// Two points, one above the other.
    pub fn points(upper: Rgb, lower: Rgb) -> Cell {
        Cell {
            glyph: '▀',
            colour: upper,
            background: lower,
        }
    }
}

/// A line of a terminal. It names colours only where they change, because 25 pictures a second are a lot of text.
pub fn row(cells: impl IntoIterator<Item = Cell>) -> String {
    let mut text = String::new();
    let mut current = None;
    for cell in cells {
        if current != Some((cell.colour, cell.background)) {
            let (Rgb([r, g, b]), Rgb([s, h, c])) = (cell.colour, cell.background);
            text += &format!("\x1b[38;2;{r};{g};{b};48;2;{s};{h};{c}m");
            current = Some((cell.colour, cell.background));
        }
        // Two equal points are a space, also on terminals without colours.
        text.push(match cell.colour == cell.background {
            true => ' ',
            false => cell.glyph,
        });
    }
    text + "\x1b[0m"
}
