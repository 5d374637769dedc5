//! Rawrlocks on a terminal: arena and lava, seen from above, and beside them the scores of the players.

use samestep_playable::{Cell, Rgb, row};
use samestep_sync::PlayerId;

use crate::{
    Ability, Avatar, FIREBALL_RADIUS, HEALTH, POWER_UP_RADIUS, Phase, Place, PowerUpKind, RADIUS,
    Rawrlocks, Seat,
};

pub(crate) fn picture(
    game: &Rawrlocks,
    viewer: Option<PlayerId>,
    columns: usize,
    lines: usize,
) -> Vec<String> {
    let mut picture = vec![title(game, viewer)];
    // A character is a column of two points, which are about square.
    let points = columns
        .saturating_sub(TABLE)
        .max(columns.min(20))
        .min(2 * lines.saturating_sub(1));
    let side = points / 2 * 2;
    let shown = 2 * (game.full_radius() + 2 * RADIUS);
    let place = |column: usize, row: usize| {
        let along = |at: usize| {
            let part = (2 * at as i64 + 1) * i64::from(shown) / (2 * side.max(1) as i64);
            part as i32 - shown / 2
        };
        Place::new(along(column), along(row))
    };
    let pixel = shown / side.max(1) as i32;
    for pair in 0..side / 2 {
        let cells = (0..side).map(|column| {
            Cell::points(
                colour(game, place(column, 2 * pair), pixel),
                colour(game, place(column, 2 * pair + 1), pixel),
            )
        });
        picture.push(row(cells));
    }
    let room = columns.saturating_sub(side + 2);
    for (line, seat) in picture[1..].iter_mut().zip(table(game, room)) {
        *line += "  ";
        *line += &seat;
    }
    picture
}

/// Columns that are left for the scores.
const TABLE: usize = 28;

const GROUND: Rgb = Rgb([74, 70, 82]);
const EDGE: Rgb = Rgb([110, 98, 96]);
const LAVA: Rgb = Rgb([150, 44, 14]);
const FIRE: Rgb = Rgb([255, 190, 40]);
const BLAST: Rgb = Rgb([190, 120, 220]);
const ASHES: Rgb = Rgb([40, 38, 42]);
const SPEED_COLOUR: Rgb = Rgb([90, 220, 255]);
const DAMAGE_COLOUR: Rgb = Rgb([255, 80, 200]);

/// The colour of a point of the picture, which stands for a square of so many units.
fn colour(game: &Rawrlocks, place: Place, pixel: i32) -> Rgb {
    let near = |other: Place, radius: i32| place.distance(other) <= radius.max(pixel * 6 / 10);
    let mut fireballs = game.fireballs().as_slice().iter();
    if fireballs.any(|fireball| near(fireball.place, FIREBALL_RADIUS)) {
        return FIRE;
    }
    let avatars = game.avatars().as_slice().iter();
    let nearest = avatars.min_by_key(|avatar| (avatar.is_dead, place.distance(avatar.place())));
    if let Some(avatar) = nearest.filter(|avatar| near(avatar.place(), RADIUS)) {
        return match avatar.is_alive() {
            true => colour_of(avatar.player),
            false => ASHES,
        };
    }
    let mut powers = game.power_ups().iter();
    let power = powers.find(|power| {
        power.is_available(game.clock()) && near(power.kind.place(), POWER_UP_RADIUS)
    });
    match power.map(|power| power.kind) {
        Some(PowerUpKind::Speed) => return SPEED_COLOUR,
        Some(PowerUpKind::Damage) => return DAMAGE_COLOUR,
        None => {}
    }
    let reach = Ability::Scourge.stats().reach;
    let mut avatars = game.avatars().as_slice().iter();
    let is_blast = |avatar: &Avatar| {
        let casts = avatar
            .casting
            .is_some_and(|casting| casting.ability == Ability::Scourge);
        casts && (place.distance(avatar.place()) - reach).abs() < pixel
    };
    if avatars.any(is_blast) {
        return BLAST;
    }
    match game.arena().margin(place) {
        margin if margin < 0 => LAVA,
        margin if margin < pixel => EDGE,
        _ => GROUND,
    }
}

/// Bright, and different for each of the players that there can be.
fn colour_of(player: PlayerId) -> Rgb {
    let hue = usize::from(player.0) * 7 % 32 * 45;
    let part = |turn: usize| {
        let at = (hue + turn) % 1440;
        let rise = 720 - at.abs_diff(720);
        (60 + rise.clamp(240, 480).saturating_sub(240) * 190 / 240) as u8
    };
    Rgb([part(0), part(480), part(960)])
}

fn title(game: &Rawrlocks, viewer: Option<PlayerId>) -> String {
    let round = game.round();
    let state = match round.phase {
        Phase::Waiting => "waiting for another player".into(),
        Phase::Starting { at } => format!("begins in {} s", seconds(at, game)),
        Phase::Fighting => format!("round {}", round.number),
        Phase::Over {
            winner, is_last, ..
        } => {
            let what = if is_last { "the match" } else { "the round" };
            match winner {
                Some(winner) => format!("{winner} wins {what}"),
                None => "nobody is left".into(),
            }
        }
    };
    let own = viewer.and_then(|player| game.avatar_of(player));
    match own {
        Some(own) => format!("{state}; {}", standing(game, own)),
        None => state,
    }
}

fn seconds(at: u32, game: &Rawrlocks) -> u32 {
    at.saturating_sub(game.clock()).div_ceil(60)
}

/// Health and abilities of an avatar.
fn standing(game: &Rawrlocks, own: &Avatar) -> String {
    let mut words = format!("{} of {HEALTH} health", own.health.max(0));
    if let Some(casting) = own.casting {
        words += &format!(", casting {}", casting.ability.name());
    }
    for ability in Ability::ALL {
        let wait = seconds(own.ready[ability as usize], game);
        if wait > 0 {
            words += &format!(", {} in {wait} s", ability.name());
        }
    }
    words
}

/// The scores of the players, the best first, in that many columns; who is away or dead has no colour.
fn table(game: &Rawrlocks, columns: usize) -> Vec<String> {
    if columns < 26 {
        return Vec::new();
    }
    let head = format!("   {:>5}{:>6}{:>7}{:>5}", "wins", "kills", "deaths", "HP");
    let rows = ranking(game).into_iter().map(|seat| {
        let avatar = game.avatar_of(seat.player);
        let health = avatar.map_or(0, |avatar| avatar.health.max(0));
        let Rgb([r, g, b]) = colour_of(seat.player);
        let colour = match seat.is_here && health > 0 {
            true => format!("38;2;{r};{g};{b}"),
            false => "2".into(),
        };
        format!(
            "\x1b[{colour}m{:>2}\x1b[0m {:>5}{:>6}{:>7}{health:>5}",
            seat.player.0, seat.wins, seat.kills, seat.deaths
        )
    });
    core::iter::once(head).chain(rows).collect()
}

/// The best first: rounds won, then kills, then the fewest deaths.
pub(crate) fn ranking(game: &Rawrlocks) -> Vec<&Seat> {
    use core::cmp::Reverse;
    let mut seats: Vec<&Seat> = game.seats().iter().collect();
    let rank = |seat: &&Seat| {
        let (wins, kills) = (Reverse(seat.wins), Reverse(seat.kills));
        (wins, kills, seat.deaths, seat.player)
    };
    seats.sort_by_key(rank);
    seats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_look_different() {
        for one in 0..crate::MAX_PLAYERS {
            for other in 0..one {
                assert_ne!(colour_of(PlayerId(one)), colour_of(PlayerId(other)));
            }
        }
    }
}
