//! Skirmish: the map, and beside it how the sides stand.

use samestep::sync::PlayerId;
use samestep_skirmish::{Cell, Rgb, Side, Skirmish, SkirmishConfig, paint, status_line};

use super::Game;

impl Game for Skirmish {
    const PLAYERS: u16 = 4;

    fn paint(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        // The map is square, and a character holds two points one above the other.
        let height = lines.saturating_sub(1).min(columns / 2);
        let width = 2 * height;
        let cells = paint(self, viewer, width, height);
        let mut picture = vec![status_line(self, viewer)];
        picture.extend(cells.chunks(width.max(1)).map(row));
        let room = columns.saturating_sub(width + 2);
        for (line, side) in picture[1..].iter_mut().zip(table(self, room)) {
            *line += "  ";
            *line += &side;
        }
        picture
    }

    fn any() -> Self {
        Skirmish::new(&SkirmishConfig::default()).expect("the defaults are possible")
    }
}

/// How the sides stand, the best first, in so many columns.
fn table(game: &Skirmish, columns: usize) -> Vec<String> {
    if columns < 30 {
        return Vec::new();
    }
    let mut sides: Vec<&Side> = game.sides().iter().collect();
    sides.sort_by_key(|side| (side.is_defeated, u64::MAX - u64::from(side.score())));
    let head = format!("   {:<9}{:>6}{:>7}{:>5}", "score", "units", "gold", "bldg");
    let rows = sides.into_iter().map(|side| {
        let player = side.player.0;
        match side.is_defeated {
            true => format!("{player:>2} \x1b[2mdefeated\x1b[0m"),
            false => format!(
                "{player:>2} {:<9}{:>6}{:>7}{:>5}",
                side.score(),
                side.units,
                side.gold,
                side.buildings
            ),
        }
    });
    std::iter::once(head).chain(rows).collect()
}

/// Colours are only named where they change: a picture a twenty-fifth of a second is a lot of text.
fn row(cells: &[Cell]) -> String {
    let mut text = String::new();
    let mut before = None;
    for cell in cells {
        if before != Some((cell.colour, cell.background)) {
            let (Rgb([r, g, b]), Rgb([s, h, c])) = (cell.colour, cell.background);
            text += &format!("\x1b[38;2;{r};{g};{b};48;2;{s};{h};{c}m");
            before = Some((cell.colour, cell.background));
        }
        // Two points alike are a space, also where colours cannot be shown.
        text.push(match cell.colour == cell.background {
            true => ' ',
            false => cell.glyph,
        });
    }
    text + "\x1b[0m"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_fits() {
        let game = Skirmish::any();
        for (columns, lines) in [(80, 23), (40, 60), (200, 50), (1, 1), (0, 0)] {
            let picture = game.paint(None, columns, lines);
            assert!(picture.len() <= lines.max(1), "{columns} × {lines}");
            let map = picture[1..]
                .first()
                .map_or(0, |row| row.matches('▀').count());
            assert!(map <= columns, "{columns} × {lines}");
        }
    }
}
