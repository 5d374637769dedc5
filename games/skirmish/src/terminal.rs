//! Skirmish on a terminal: the map, two points to a character, and beside it the scores of the sides.

use samestep_playable::{Cell, Rgb, row};
use samestep_sync::PlayerId;

use crate::building::{BuildingKind, CAPTURE};
use crate::keys::Hands;
use crate::place::{ONE, Place};
use crate::side::{Side, SideId};
use crate::skirmish::Skirmish;

const UNSEEN: Rgb = Rgb([8, 8, 12]);
const REMEMBERED: Rgb = Rgb([20, 28, 22]);
const GROUND: Rgb = Rgb([30, 48, 32]);
const GOLD: Rgb = Rgb([230, 190, 40]);
const CURSOR: Rgb = Rgb([255, 255, 255]);
const NOBODY: Rgb = Rgb([170, 170, 170]);

pub(crate) fn picture(
    game: &Skirmish,
    viewer: Option<PlayerId>,
    hands: Option<&Hands>,
    columns: usize,
    lines: usize,
) -> Vec<String> {
    // The map is square, and a character holds two points one above the other.
    let height = lines.saturating_sub(1).min(columns / 2);
    let width = 2 * height;
    let mut cells = paint(game, viewer, width, height);
    let mut picture = vec![status_line(game, viewer)];
    if let (Some(hands), Some(player)) = (hands, viewer) {
        picture[0].insert_str(0, &format!("squad {} · ", hands.squad()));
        let canvas = Canvas::of(game, width, height);
        let cursor = hands.cursor(game, player);
        let cursor = cursor.and_then(|cursor| canvas.point(cursor));
        if let Some(cell) = cursor.and_then(|(x, y)| cells.get_mut(y / 2 * width + x)) {
            (cell.glyph, cell.colour) = ('+', CURSOR);
        }
    }
    picture.extend(
        cells
            .chunks(width.max(1))
            .map(|cells| row(cells.iter().copied())),
    );
    let room = columns.saturating_sub(width + 2);
    for (line, side) in picture[1..].iter_mut().zip(table(game, room)) {
        *line += "  ";
        *line += &side;
    }
    picture
}

/// The sides, the best first, in that many columns.
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

/// Paints the whole map into `width` × `height` characters, row by row.
///
/// With a `viewer` it shows what that player's side sees; without one, or if that player has no side, everything.
fn paint(game: &Skirmish, viewer: Option<PlayerId>, width: usize, height: usize) -> Vec<Cell> {
    let viewer = viewer.and_then(|player| game.side_of(player));
    let sees = |place| viewer.is_none_or(|side| game.sees(side, place));
    let knows = |place| viewer.is_none_or(|side| game.has_explored(side, place));
    let canvas = Canvas::of(game, width, height);
    let ground = |point: usize| {
        let place = canvas.place(point);
        match (sees(place), knows(place)) {
            (true, _) => GROUND,
            (false, true) => REMEMBERED,
            (false, false) => UNSEEN,
        }
    };
    let mut points: Vec<Rgb> = (0..width * 2 * height).map(ground).collect();
    for mine in game
        .mines()
        .iter()
        .filter(|mine| mine.gold > 0 && knows(mine.place))
    {
        canvas.set(&mut points, mine.place, GOLD);
    }
    for unit in game
        .units()
        .as_slice()
        .iter()
        .filter(|unit| sees(unit.place))
    {
        let bright = unit.kind.is_soldier();
        canvas.set(
            &mut points,
            unit.place,
            shade(colour_of(unit.side), if bright { 4 } else { 2 }),
        );
    }
    let half_blocks = |at: usize| {
        let (row, column) = (at / width, at % width);
        let upper = points[2 * row * width + column];
        Cell::points(upper, points[(2 * row + 1) * width + column])
    };
    let mut cells: Vec<Cell> = (0..width * height).map(half_blocks).collect();
    for building in game
        .buildings()
        .iter()
        .filter(|building| knows(building.place))
    {
        let point = canvas.point(building.place);
        let Some(cell) = point.and_then(|(x, y)| cells.get_mut(y / 2 * width + x)) else {
            continue;
        };
        let colour = building.side.map_or(NOBODY, colour_of);
        cell.glyph = match building.kind {
            BuildingKind::Hall => 'H',
            BuildingKind::Barracks => 'B',
            BuildingKind::Outpost => 'O',
        };
        (cell.colour, cell.background) = (Rgb([10, 10, 10]), colour);
        // One about to be captured shows by whom.
        if let Some(captor) = building.captor.filter(|_| building.captured > CAPTURE / 4) {
            cell.colour = colour_of(captor);
        }
    }
    cells
}

/// A line with the state of the match: for a player, or overall.
pub fn status_line(game: &Skirmish, viewer: Option<PlayerId>) -> String {
    let left = game.sides().iter().filter(|side| !side.is_defeated).count();
    let world = format!(
        "{} units, {left} of {} sides left",
        game.units().len(),
        game.sides().len()
    );
    let leader = game.sides().iter().max_by_key(|side| side.score());
    let viewed = viewer
        .and_then(|player| game.side_of(player))
        .map(|side| &game.sides()[side.index()]);
    if let Some(winner) = game.winner() {
        return format!("{winner} has won — {world}");
    }
    match (viewed, leader) {
        (Some(side), _) => format!(
            "{}: {} gold, {} units, {} buildings, {} killed, {} lost, score {} — {world}",
            side.player,
            side.gold,
            side.units,
            side.buildings,
            side.kills,
            side.losses,
            side.score(),
        ),
        (None, Some(leader)) => {
            format!("{world} — {} leads with {}", leader.player, leader.score())
        }
        (None, None) => world,
    }
}

/// The mapping of the world to points of the screen.
struct Canvas {
    size: i64,
    width: usize,
    height: usize,
}

impl Canvas {
    /// That of a picture of so many characters.
    fn of(game: &Skirmish, width: usize, height: usize) -> Self {
        Self {
            size: i64::from(game.size()) * i64::from(ONE),
            width,
            height: 2 * height,
        }
    }

    fn point(&self, place: Place) -> Option<(usize, usize)> {
        let along = |coordinate: i32, points: usize| {
            let at = i64::from(coordinate) * points as i64 / self.size.max(1);
            usize::try_from(at).ok().filter(|at| *at < points)
        };
        Some((along(place.x, self.width)?, along(place.y, self.height)?))
    }

    /// The middle of a point.
    fn place(&self, point: usize) -> Place {
        let along = |at: usize, points: usize| {
            ((2 * at as i64 + 1) * self.size / (2 * points as i64)) as i32
        };
        Place {
            x: along(point % self.width, self.width),
            y: along(point / self.width, self.height),
        }
    }

    fn set(&self, points: &mut [Rgb], place: Place, colour: Rgb) {
        if let Some((x, y)) = self.point(place) {
            points[y * self.width + x] = colour;
        }
    }
}

/// Quarters of a colour's brightness.
fn shade(Rgb(rgb): Rgb, quarters: u16) -> Rgb {
    Rgb(rgb.map(|part| (u16::from(part) * quarters / 4) as u8))
}

/// The colour of a side: neighbours in number are far apart on the colour circle.
fn colour_of(side: SideId) -> Rgb {
    // Steps of the golden ratio around a circle of 1536 hues, three levels of paleness.
    let hue = (u32::from(side.0) * 949 + 40) % 1536;
    let (rise, pale) = ((hue % 256) as u8, [40, 100, 10][usize::from(side.0) % 3]);
    let rgb = match hue / 256 {
        0 => [255, rise, 0],
        1 => [255 - rise, 255, 0],
        2 => [0, 255, rise],
        3 => [0, 255 - rise, 255],
        4 => [rise, 0, 255],
        _ => [255, 0, 255 - rise],
    };
    Rgb(rgb.map(|part: u8| (pale + u16::from(part) * (255 - pale) / 255) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SkirmishConfig;

    fn game() -> Skirmish {
        Skirmish::new(&SkirmishConfig::default()).unwrap()
    }

    #[test]
    fn fog_hides_the_other_side() {
        let game = game();
        let halls = |viewer| {
            let cells = paint(&game, viewer, 72, 36);
            assert_eq!(cells.len(), 72 * 36);
            cells.iter().filter(|cell| cell.glyph == 'H').count()
        };
        assert_eq!(halls(None), 2);
        assert_eq!(halls(Some(PlayerId(0))), 1);
        assert_eq!(halls(Some(PlayerId(9))), 2);
    }

    #[test]
    fn any_size_can_be_painted() {
        let game = game();
        for (width, height) in [(0, 0), (1, 1), (0, 5), (300, 7)] {
            assert_eq!(paint(&game, None, width, height).len(), width * height);
        }
    }

    #[test]
    fn sides_look_different() {
        for one in 0..64 {
            for other in 0..one {
                assert_ne!(colour_of(SideId(one)), colour_of(SideId(other)));
            }
        }
    }

    #[test]
    fn the_status_says_how_things_stand() {
        let status = status_line(&game(), Some(PlayerId(1)));
        assert!(
            status.starts_with("player 1: 200 gold, 12 units, 2 buildings"),
            "{status}"
        );
        assert!(status_line(&game(), None).starts_with("24 units, 2 of 2 sides left"));
    }
}
