//! A shot: where it is aimed, and whom it hits for whoever sees things as the shooter does.

use samestep_catalog::sublockus::{
    Ability, Angle, Character, Controls, HALF, ONE, Place, Sublockus, SublockusEvent,
};
use samestep_sync::{Events, Inputs, PlayerId, Rng, Simulation, Tick};

/// A body is two of these wide.
const RADIUS: f64 = HALF.x as f64;

/// From where to where shots are tried: not so close that nobody could miss, and within reach.
const DISTANCES: std::ops::Range<i32> = 4 * ONE..22 * ONE;

/// The target that a player with this view would choose, among those allowed.
pub(super) fn choose<'a>(
    rng: &mut Rng,
    seen: &'a Sublockus,
    shooter: &Character,
    may: impl Fn(PlayerId) -> bool,
) -> Option<&'a Character> {
    let clock = seen.clock();
    let is_good = |other: &&Character| {
        let distance = shooter.place().distance(other.place());
        other.player != shooter.player
            && may(other.player)
            && other.is_target(clock)
            && DISTANCES.contains(&distance)
            && seen.terrain().sees(shooter.place(), other.place())
    };
    let good: Vec<&Character> = seen
        .characters()
        .as_slice()
        .iter()
        .filter(is_good)
        .collect();
    match good.is_empty() {
        true => None,
        false => Some(good[rng.below(good.len() as u32) as usize]),
    }
}

/// The line of a shot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aimed {
    pub angle: Angle,
    /// Whether it passes within a radius of the target's edge.
    pub is_close: bool,
}

/// Aims at somebody, or past it. Half of the shots pass within one radius of the edge, inside or outside; a quarter go well into the target,
/// and a quarter pass farther away.
pub(super) fn aim(rng: &mut Rng, from: Place, target: Place) -> Aimed {
    let way = from.to(target);
    let (x, y) = (f64::from(way.x), f64::from(way.y));
    let distance = x.hypot(y).max(1.0);
    let across = (-y / distance, x / distance);
    let edge = f64::from(HALF.x) * across.0.abs() + f64::from(HALF.y) * across.1.abs();
    let mut within = |least: f64, most: f64| least + (most - least) * f64::from(rng.unit());
    let kind = within(0.0, 4.0) as u32;
    let beside = match kind {
        0 | 1 => within(edge - RADIUS, edge + RADIUS),
        2 => within(0.0, (edge - RADIUS).max(0.0)),
        _ => within(edge + RADIUS, edge + 4.0 * RADIUS),
    };
    let beside = match rng.chance(0.5) {
        true => beside,
        false => -beside,
    };
    Aimed {
        angle: Angle::from_radians((y + across.1 * beside).atan2(x + across.0 * beside)),
        is_close: kind < 2,
    }
}

/// A shot, as controls.
pub(super) fn bolt(held: Controls, aim: Angle) -> Controls {
    Controls {
        aim,
        cast: Some(Ability::Bolt),
        ..held
    }
}

/// The player whom a bolt hits by the rules of the game, with everybody as in `seen` and the shooter as in `own`.
pub(super) fn verdict(seen: &Sublockus, own: &Character, controls: Controls) -> Option<PlayerId> {
    let mut game = seen.clone();
    let shooter = own.player;
    *game.character_mut(shooter)? = *own;
    let seats = game.seats().iter().filter(|seat| seat.is_here);
    let players: Vec<PlayerId> = seats.map(|seat| seat.player).collect();
    let at = players.binary_search(&shooter).ok()?;
    let mut inputs = vec![Controls::default(); players.len()];
    inputs[at] = controls;
    let given = [at as u16];
    let inputs = Inputs::new(Tick(0), &players, &inputs, &given);
    let mut events = Events::new();
    game.step(&inputs, &mut events);
    events.drain().find_map(|event| hit_by(&event, shooter))
}

/// The player whom a bolt of this player has hit, if the event says so.
pub(super) fn hit_by(event: &SublockusEvent, shooter: PlayerId) -> Option<PlayerId> {
    match event {
        SublockusEvent::Hit {
            victim,
            by: Some(by),
            ability: Some(Ability::Bolt),
            ..
        } if *by == shooter => Some(*victim),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use samestep_catalog::sublockus::{ArenaChoice, SublockusConfig};

    use super::*;

    const SHOOTER: PlayerId = PlayerId(0);
    const TARGET: PlayerId = PlayerId(1);

    /// Two players who stand ten blocks from each other.
    fn two_players() -> Sublockus {
        let mut text = String::from("name: Hall\n\n");
        for row in 0..12 {
            let inside = if row == 0 || row == 11 { '#' } else { ' ' };
            let mut line: Vec<char> = vec![inside; 32];
            (line[0], line[31]) = ('#', '#');
            if row == 10 {
                (line[6], line[20]) = ('S', 'S');
            }
            text.extend(line);
            text.push('\n');
        }
        let config = SublockusConfig {
            arena: ArenaChoice::Text(text),
            grace: 0,
            items: false,
            ..SublockusConfig::default()
        };
        let mut game = Sublockus::new(&config).unwrap();
        let players = [SHOOTER, TARGET];
        for tick in (0..60).map(Tick) {
            let idle = [Controls::default(); 2];
            game.step(&Inputs::new(tick, &players, &idle, &[]), &mut Events::new());
        }
        for (player, column) in [(SHOOTER, 6), (TARGET, 16)] {
            let character = game.character_mut(player).unwrap();
            character.body.place.x = column * ONE;
        }
        game
    }

    #[test]
    fn half_of_the_shots_pass_close_to_the_edge() {
        let (mut rng, from) = (Rng::new(7), Place::new(0, 0));
        let target = Place::new(12 * ONE, -5 * ONE);
        let (mut close, mut left) = (0, 0);
        for _ in 0..4000 {
            let angle = aim(&mut rng, from, target).angle.radians();
            let (x, y) = (f64::from(target.x), f64::from(target.y));
            let way = (
                x * angle.cos() + y * angle.sin(),
                y * angle.cos() - x * angle.sin(),
            );
            // How far beside the middle it passes, where it is as far as the target.
            let beside = way.1 * x.hypot(y) / way.0;
            let distance = x.hypot(y);
            let edge =
                f64::from(HALF.x) * (y / distance).abs() + f64::from(HALF.y) * (x / distance).abs();
            close += u32::from((beside.abs() - edge).abs() <= RADIUS + 2.0);
            left += u32::from(beside > 0.0);
        }
        assert!((1900..2100).contains(&close), "{close}");
        assert!((1900..2100).contains(&left), "{left}");
    }

    #[test]
    fn the_verdict_is_that_of_the_rules_on_what_is_seen() {
        let game = two_players();
        let own = *game.character_of(SHOOTER).unwrap();
        let target = *game.character_of(TARGET).unwrap();
        let shoot = |aim| verdict(&game, &own, bolt(Controls::default(), aim));
        let at =
            |x: i32, y: i32| Angle::of(own.place().to(target.place().offset(Place::new(x, y))));
        assert_eq!(shoot(at(0, 0)), Some(TARGET));
        assert_eq!(shoot(at(0, -HALF.y + 40)), Some(TARGET));
        assert_eq!(shoot(at(0, -HALF.y - 200)), None);
        let mut rng = Rng::new(1);
        assert!(choose(&mut rng, &game, &own, |_| true).is_some());
        assert!(choose(&mut rng, &game, &own, |player| player != TARGET).is_none());
        // Where the shooter is counts, not where it is drawn.
        let mut lower = own;
        lower.body.place.y -= 3 * ONE;
        assert_eq!(
            verdict(&game, &lower, bolt(Controls::default(), at(0, 0))),
            None
        );
    }
}
