//! The evaluation game on a terminal: coloured dots that walk about.

use crate::{Evaluation, WORLD};

pub(crate) fn picture(game: &Evaluation, columns: usize, lines: usize) -> Vec<String> {
    let title = format!("{} entities", game.entities().len());
    // Two dots, one above the other, to a character.
    let (width, height) = (columns.max(1), 2 * lines.saturating_sub(1).max(1));
    let mut dots = vec![None; width * height];
    for entity in game.entities() {
        let along = |place: f32, dots: usize| {
            let at = place / f32::from(WORLD) * dots as f32;
            (at as usize).min(dots - 1)
        };
        let (x, y) = (
            along(entity.position.0, width),
            along(entity.position.1, height),
        );
        dots[y * width + x] = Some(entity.colour);
    }
    let row = |pair: &[Option<u8>]| {
        let (upper, lower) = pair.split_at(width);
        let pairs = upper.iter().zip(lower);
        pairs
            .map(|(upper, lower)| character(*upper, *lower))
            .collect()
    };
    let picture = dots.chunks(2 * width).map(row);
    std::iter::once(title).chain(picture).collect()
}

fn character(upper: Option<u8>, lower: Option<u8>) -> String {
    let bright = |colour: u8| 90 + colour % 8;
    match (upper, lower) {
        (None, None) => " ".into(),
        (Some(upper), None) => format!("\x1b[{}m▀\x1b[0m", bright(upper)),
        (None, Some(lower)) => format!("\x1b[{}m▄\x1b[0m", bright(lower)),
        (Some(upper), Some(lower)) => {
            format!("\x1b[{};{}m▀\x1b[0m", bright(upper), bright(lower) + 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_the_size_asked_for() {
        let game = Evaluation::new(5, 2, 1);
        let lines = picture(&game, 40, 12);
        assert_eq!(lines.len(), 12);
        let dots: usize = lines
            .iter()
            .map(|line| line.matches(['▀', '▄']).count())
            .sum();
        assert_eq!(dots, 1);
        assert_eq!(picture(&game, 0, 0).len(), 2);
    }
}
