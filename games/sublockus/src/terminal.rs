//! Sublockus on a terminal: the arena, two blocks to a character, and beside it the scores of the players.

use samestep_playable::{Cell, Rgb, row};
use samestep_sync::PlayerId;

use crate::{Block, HALF, Place, Seat, Sublockus};

pub(crate) fn picture(
    game: &Sublockus,
    viewer: Option<PlayerId>,
    columns: usize,
    lines: usize,
) -> Vec<String> {
    let mut picture = vec![title(game, viewer)];
    let terrain = game.terrain();
    let (wide, high) = (terrain.width() as usize, terrain.height() as usize);
    let zoom = zoom(columns, lines, wide, high);
    let (width, height) = (
        columns.min(zoom * wide),
        (2 * lines.saturating_sub(1)).min((zoom * high).next_multiple_of(2)),
    );
    let colours = points(game, viewer);
    let (left, top) = corner(game, viewer, width / zoom, height / zoom);
    let colour = |x: usize, y: usize| {
        let at = (left + x / zoom, top + y / zoom);
        if at.0 < wide && at.1 < high {
            colours[at.1 * wide + at.0]
        } else {
            ROCK
        }
    };
    for pair in 0..height / 2 {
        let points = (0..width).map(|x| Cell::points(colour(x, 2 * pair), colour(x, 2 * pair + 1)));
        picture.push(row(points));
    }
    let room = columns.saturating_sub(width + 2);
    for (line, seat) in picture[1..].iter_mut().zip(table(game, room)) {
        *line += "  ";
        *line += &seat;
    }
    picture
}

/// Columns that are left for the scores.
const TABLE: usize = 22;

/// Points along each side of a block: more than one only if all of the arena fits.
fn zoom(columns: usize, lines: usize, wide: usize, high: usize) -> usize {
    let across = columns.saturating_sub(TABLE) / wide.max(1);
    let down = 2 * lines.saturating_sub(1) / high.max(1);
    across.min(down).max(1)
}

const AIR: Rgb = Rgb([18, 20, 30]);
const ROCK: Rgb = Rgb([92, 84, 76]);
const LEDGE: Rgb = Rgb([126, 96, 58]);
const THORNS: Rgb = Rgb([120, 30, 60]);
const ITEM: Rgb = Rgb([230, 190, 40]);
const FIRE: Rgb = Rgb([255, 110, 20]);

/// The colour of every block, row by row.
fn points(game: &Sublockus, viewer: Option<PlayerId>) -> Vec<Rgb> {
    let terrain = game.terrain();
    let (width, height) = (terrain.width(), terrain.height());
    let mut points = Vec::with_capacity((width * height) as usize);
    for row in 0..height {
        points.extend((0..width).map(|column| match terrain.block(column, row) {
            Block::Air => AIR,
            Block::Rock => ROCK,
            Block::Ledge => LEDGE,
            Block::Thorns => THORNS,
        }));
    }
    let mut set = |place: Place, colour: Rgb| {
        let (column, row) = place.block();
        if (0..width).contains(&column) && (0..height).contains(&row) {
            points[(row * width + column) as usize] = colour;
        }
    };
    let sees = |place| viewer.is_none_or(|viewer| game.notices(viewer, place, HALF));
    let items = game.items().as_slice().iter();
    for item in items.filter(|item| game.is_there(item) && sees(item.place)) {
        set(item.place, ITEM);
    }
    for projectile in game.projectiles().as_slice() {
        if sees(projectile.place) {
            set(projectile.place, FIRE);
        }
    }
    for character in game.characters().as_slice() {
        let place = character.place();
        if !character.is_in(game.clock()) || !sees(place) {
            continue;
        }
        let colour = colour_of(character.player);
        let head = Rgb(colour.0.map(|part| part.saturating_add(60)));
        set(Place::new(place.x, place.y - HALF.y / 2), head);
        set(Place::new(place.x, place.y + HALF.y / 2), colour);
    }
    points
}

/// Bright, and different for each of the players that there can be.
fn colour_of(player: PlayerId) -> Rgb {
    let hue = usize::from(player.0) * 7 % 32 * 45;
    let part = |turn: usize| {
        let at = (hue + turn) % 1440;
        let rise = 720 - at.abs_diff(720);
        (40 + rise.clamp(240, 480).saturating_sub(240) * 180 / 240) as u8
    };
    Rgb([part(0), part(480), part(960)])
}

/// The block in the upper left corner, so that a viewer is in the middle if not everything fits.
fn corner(
    game: &Sublockus,
    viewer: Option<PlayerId>,
    width: usize,
    height: usize,
) -> (usize, usize) {
    let terrain = game.terrain();
    let (wide, high) = (terrain.width() as usize, terrain.height() as usize);
    let character = viewer.and_then(|player| game.character_of(player));
    let (x, y) = match character.map(|character| character.place().block()) {
        Some((x, y)) => (x.max(0) as usize, y.max(0) as usize),
        None => (wide / 2, high / 2),
    };
    let from = |middle: usize, shown: usize, all: usize| {
        middle
            .saturating_sub(shown / 2)
            .min(all.saturating_sub(shown))
    };
    (from(x, width, wide), from(y, height, high))
}

fn title(game: &Sublockus, viewer: Option<PlayerId>) -> String {
    let frags: u32 = game.seats().iter().map(|seat| u32::from(seat.frags)).sum();
    let own = viewer.and_then(|player| game.character_of(player));
    let own = own.map(|own| {
        format!(
            "{}: {} health, {} mana; ",
            own.player,
            own.health.max(0),
            own.mana
        )
    });
    let (name, seconds) = (game.arena().name().to_string(), game.clock() / 60);
    let own = own.unwrap_or_default();
    format!("{own}{name}, {seconds} s, {frags} frags")
}

/// The scores of the players, the best first, in that many columns; who is away has no colour.
fn table(game: &Sublockus, columns: usize) -> Vec<String> {
    if columns < 20 {
        return Vec::new();
    }
    let mut seats: Vec<&Seat> = game.seats().iter().collect();
    seats.sort_by_key(|seat| (core::cmp::Reverse(seat.frags), seat.deaths, seat.player));
    let head = format!("   {:>6}{:>8}", "frags", "deaths");
    let rows = seats.into_iter().map(|seat| {
        let Rgb([r, g, b]) = colour_of(seat.player);
        let colour = match seat.is_here {
            true => format!("38;2;{r};{g};{b}"),
            false => "2".into(),
        };
        format!(
            "\x1b[{colour}m{:>2}\x1b[0m {:>6}{:>8}",
            seat.player.0, seat.frags, seat.deaths
        )
    });
    core::iter::once(head).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_look_different() {
        for one in 0..32 {
            for other in 0..one {
                assert_ne!(colour_of(PlayerId(one)), colour_of(PlayerId(other)));
            }
        }
    }
}
