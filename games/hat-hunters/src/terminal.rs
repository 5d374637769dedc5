//! Hat Hunters on a terminal: the field, a few points to a cell, and beside it the scores of the players.

use samestep_playable::{Cell as Letter, Rgb, row};
use samestep_sync::PlayerId;

use crate::{Character, Ground, HatHunters, ONE, Place, Seat};

const FLOOR: [Rgb; 2] = [Rgb([44, 62, 38]), Rgb([47, 66, 40])];
const STUMP: Rgb = Rgb([104, 78, 52]);
const BOX: Rgb = Rgb([176, 132, 72]);
const SILHOUETTE: Rgb = Rgb([92, 96, 60]);
const BUSH: Rgb = Rgb([26, 110, 44]);
const STAR: Rgb = Rgb([255, 220, 60]);
const CONTAINER: Rgb = Rgb([120, 150, 220]);
const GREEN: Rgb = Rgb([70, 255, 90]);
const BOMB: Rgb = Rgb([30, 30, 34]);
const COAT: Rgb = Rgb([196, 180, 164]);
const OWN: Rgb = Rgb([255, 255, 255]);
const EYES: Rgb = Rgb([40, 32, 30]);

/// Columns that are left for the scores.
const TABLE: usize = 24;

pub(crate) fn picture(
    game: &HatHunters,
    viewer: Option<PlayerId>,
    columns: usize,
    lines: usize,
) -> Vec<String> {
    let mut picture = vec![title(game, viewer)];
    let field = game.field();
    let (wide, high) = (field.width() as usize, field.height() as usize);
    let zoom = (columns.saturating_sub(TABLE) / wide.max(1))
        .min(2 * lines.saturating_sub(1) / high.max(1))
        .max(1);
    let (width, height) = (
        columns.min(zoom * wide),
        (2 * lines.saturating_sub(1)).min((zoom * high).next_multiple_of(2)),
    );
    let points = Points::of(game, viewer, zoom);
    for pair in 0..height / 2 {
        let cells = (0..width)
            .map(|x| Letter::points(points.colour(x, 2 * pair), points.colour(x, 2 * pair + 1)));
        picture.push(row(cells));
    }
    let room = columns.saturating_sub(width + 2);
    for (line, seat) in picture[1..].iter_mut().zip(table(game, room)) {
        *line += "  ";
        *line += &seat;
    }
    picture.truncate(lines.max(1));
    picture
}

/// The colour of every point, `zoom` to each side of a cell.
struct Points {
    colours: Vec<Rgb>,
    width: usize,
    zoom: usize,
}

impl Points {
    fn of(game: &HatHunters, viewer: Option<PlayerId>, zoom: usize) -> Points {
        let field = game.field();
        let (width, height) = (
            field.width() as usize * zoom,
            field.height() as usize * zoom,
        );
        let mut points = Points {
            colours: Vec::with_capacity(width * height),
            width,
            zoom,
        };
        for y in 0..height {
            for x in 0..width {
                let (column, row) = (x / zoom, y / zoom);
                points
                    .colours
                    .push(match field.ground(column as i32, row as i32) {
                        Ground::Floor => FLOOR[(column + row) % 2],
                        Ground::Stump => STUMP,
                        Ground::Box => BOX,
                        Ground::Bush => BUSH,
                    });
            }
        }
        points.draw_things(game);
        let own = viewer.and_then(|viewer| game.hunter(viewer));
        for (id, character) in game.characters().iter() {
            let is_own = own.is_some_and(|own| own.character == id);
            points.draw_character(character, is_own);
        }
        for projectile in game.projectiles().as_slice() {
            points.set(projectile.place, GREEN);
        }
        points
    }

    fn draw_things(&mut self, game: &HatHunters) {
        let characters = game.characters().as_slice().iter();
        for silhouette in characters.filter_map(|character| character.silhouette) {
            self.fill(silhouette.cell.middle(), SILHOUETTE);
        }
        for container in game.containers().as_slice() {
            self.set(container.cell.middle(), CONTAINER);
        }
        for bomb in game.bombs().as_slice() {
            self.set(bomb.place, BOMB);
        }
        for star in game.stars().as_slice() {
            self.set(star.place, STAR);
        }
    }

    /// A coat with eyes where it looks, and the hat if it wears one.
    fn draw_character(&mut self, character: &Character, is_own: bool) {
        if character.is_out {
            return;
        }
        let place = character.place();
        let coat = if is_own { OWN } else { COAT };
        let near = ONE / 2 / self.zoom as i32;
        for (x, y) in [(-near, -near), (near, -near), (-near, near), (near, near)] {
            self.set(place.offset(Place::new(x, y)), coat);
        }
        if self.zoom > 2 {
            self.set(place.offset(character.look.way(ONE / 3)), EYES);
        }
        if let Some(player) = character.hat {
            let hat = colour_of(player);
            self.set(place.offset(Place::new(-near, -near)), hat);
            self.set(place.offset(Place::new(near, -near)), hat);
        }
    }

    fn set(&mut self, place: Place, colour: Rgb) {
        let point = |units: i32| units.max(0) as usize * self.zoom / ONE as usize;
        let (x, y) = (point(place.x), point(place.y));
        if x < self.width
            && let Some(point) = self.colours.get_mut(y * self.width + x)
        {
            *point = colour;
        }
    }

    /// All of a cell.
    fn fill(&mut self, middle: Place, colour: Rgb) {
        let steps = 2 * self.zoom as i32;
        for (x, y) in (0..steps).flat_map(|y| (0..steps).map(move |x| (x, y))) {
            let along = |step: i32| step * ONE / steps - ONE / 2;
            self.set(middle.offset(Place::new(along(x), along(y))), colour);
        }
    }

    fn colour(&self, x: usize, y: usize) -> Rgb {
        let at = y * self.width + x;
        self.colours.get(at).copied().unwrap_or(STUMP)
    }
}

/// The colour of a player's hat.
pub(crate) fn colour_of(player: PlayerId) -> Rgb {
    const COLOURS: [Rgb; 8] = [
        Rgb([232, 64, 56]),
        Rgb([64, 128, 240]),
        Rgb([240, 168, 32]),
        Rgb([176, 80, 216]),
        Rgb([32, 184, 168]),
        Rgb([240, 112, 176]),
        Rgb([152, 192, 48]),
        Rgb([150, 110, 80]),
    ];
    COLOURS[usize::from(player.0) % COLOURS.len()]
}

fn title(game: &HatHunters, viewer: Option<PlayerId>) -> String {
    let own = viewer.and_then(|viewer| game.purse_of(viewer));
    let own = own.map(|purse| {
        let item = purse.item.map_or("nothing", |item| item.name());
        let wait = purse.box_from.saturating_sub(game.clock()).div_ceil(60);
        let boxes = match wait {
            0 => "box ready".to_string(),
            seconds => format!("box in {seconds} s"),
        };
        format!(
            "{} of {} stars, {item} in hand, {boxes}; ",
            purse.stars,
            game.rules().stars
        )
    });
    let own = own.unwrap_or_default();
    let round = game.round();
    let how = match (round.is_last, round.over_until, round.winner) {
        (true, ..) => match game.leader() {
            Some(winner) => format!("{winner} has won the match"),
            None => "the match is a draw".into(),
        },
        (_, Some(_), Some(winner)) => format!("{winner} has won round {}", round.number),
        (_, Some(_), None) => format!("nobody has won round {}", round.number),
        _ => format!("round {}", round.number),
    };
    format!(
        "{own}{}, {}, {how}",
        game.map().name(),
        game.rules().mode.name()
    )
}

/// The scores of the players, the best first, in that many columns; who is away has no colour.
fn table(game: &HatHunters, columns: usize) -> Vec<String> {
    if columns < 20 {
        return Vec::new();
    }
    let mut seats: Vec<&Seat> = game.seats().iter().collect();
    seats.sort_by_key(|seat| {
        let best = core::cmp::Reverse((seat.wins, seat.stars));
        (best, seat.player)
    });
    let head = format!("   {:>6}{:>8}", "rounds", "stars");
    let rows = seats.into_iter().map(|seat| {
        let Rgb([r, g, b]) = colour_of(seat.player);
        let colour = match seat.is_here {
            true => format!("38;2;{r};{g};{b}"),
            false => "2".into(),
        };
        format!(
            "\x1b[{colour}m{:>2}\x1b[0m {:>6}{:>8}",
            seat.player.0, seat.wins, seat.stars
        )
    });
    core::iter::once(head).chain(rows).collect()
}
