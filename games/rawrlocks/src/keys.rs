//! Rawrlocks on the keys of a terminal, which tells when a key is pressed but not when it is released.

use samestep_playable::Key;
use samestep_sync::PlayerId;

use crate::{Ability, Avatar, Controls, Cursor, Heading, ONE, Place, Rawrlocks};

/// What the keys do.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("w a s d, ← → ↑ ↓", "walk until another key"),
    ("x", "stand still"),
    ("f, space", "throw a fireball at whoever is nearest"),
    ("c", "scourge: an explosion around you"),
    ("e", "teleport ahead; out of the lava, into the arena"),
    ("r", "thrust ahead; out of the lava, into the arena"),
];

/// What the keys pressed so far amount to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hands {
    walk: Option<Heading>,
    /// Where it walked last.
    facing: Option<Heading>,
    cursor: Cursor,
}

/// The controls of a player who has pressed these keys.
pub(crate) fn controls(
    game: &Rawrlocks,
    player: PlayerId,
    hands: &mut Hands,
    keys: &[Key],
) -> Controls {
    let mut cast = None;
    for key in keys {
        let heading = match key {
            Key::Char('a') | Key::Left => Some(Heading::LEFT),
            Key::Char('d') | Key::Right => Some(Heading::RIGHT),
            Key::Char('w') | Key::Up => Some(Heading::UP),
            Key::Char('s') | Key::Down => Some(Heading::DOWN),
            _ => None,
        };
        if heading.is_some() {
            (hands.walk, hands.facing) = (heading, heading);
        }
        match key {
            Key::Char('x') => hands.walk = None,
            Key::Char('f' | ' ') => cast = Some(Ability::Fireball),
            Key::Char('c') => cast = Some(Ability::Scourge),
            Key::Char('e') => cast = Some(Ability::Teleport),
            Key::Char('r') => cast = Some(Ability::Thrust),
            _ => {}
        }
    }
    let own = game.avatar_of(player);
    let cast = cast.filter(|cast| own.is_some_and(|own| own.can_cast(*cast, game.clock())));
    if let (Some(own), Some(ability)) = (own, cast) {
        hands.cursor = Cursor::at(aim(game, own, hands.facing, ability));
    }
    Controls {
        walk: hands.walk,
        cursor: hands.cursor,
        cast,
    }
}

/// Where somebody without a mouse would point.
fn aim(game: &Rawrlocks, own: &Avatar, facing: Option<Heading>, ability: Ability) -> Place {
    let here = own.place();
    let ahead = here.offset(facing.unwrap_or(own.look).way(260 * ONE));
    match ability {
        Ability::Fireball => {
            let others = game.avatars().as_slice().iter();
            let others = others.filter(|other| other.player != own.player && other.is_alive());
            let nearest = others.min_by_key(|other| (here.distance(other.place()), other.player));
            nearest.map_or(ahead, Avatar::place)
        }
        Ability::Teleport | Ability::Thrust if game.arena().is_lava(here) => Place::CENTRE,
        Ability::Scourge | Ability::Teleport | Ability::Thrust => ahead,
    }
}

#[cfg(test)]
mod tests {
    use samestep_sync::{Events, Inputs, Simulation, Tick};

    use super::*;
    use crate::RawrlocksConfig;

    /// Two players in a round that has begun.
    fn fight() -> Rawrlocks {
        let config = RawrlocksConfig {
            break_ticks: 0,
            ..RawrlocksConfig::for_players(1, 2)
        };
        let mut game = Rawrlocks::new(&config).unwrap();
        let (players, held) = ([PlayerId(0), PlayerId(1)], [Controls::default(); 2]);
        for tick in (0..5).map(Tick) {
            let inputs = Inputs::new(tick, &players, &held, &[]);
            game.step(&inputs, &mut Events::new());
        }
        assert!(game.is_fighting());
        game
    }

    #[test]
    fn a_key_walks_until_another_is_pressed() {
        let (game, mut hands) = (fight(), Hands::default());
        let mut typed = |keys: &[Key]| controls(&game, PlayerId(0), &mut hands, keys).walk;
        assert_eq!(typed(&[]), None);
        assert_eq!(typed(&[Key::Char('a')]), Some(Heading::LEFT));
        assert_eq!(typed(&[]), Some(Heading::LEFT));
        assert_eq!(typed(&[Key::Left, Key::Up]), Some(Heading::UP));
        assert_eq!(typed(&[Key::Char('x')]), None);
    }

    #[test]
    fn abilities_are_aimed_without_a_mouse() {
        let (mut game, mut hands) = (fight(), Hands::default());
        let [own, other] = [0, 1].map(|player| game.avatar_of(PlayerId(player)).unwrap().place());
        let fireball = controls(&game, PlayerId(0), &mut hands, &[Key::Char('f')]);
        assert_eq!(fireball.cast, Some(Ability::Fireball));
        assert_eq!(fireball.cursor, Cursor::at(other));
        let keys = [Key::Down, Key::Char('e')];
        let teleport = controls(&game, PlayerId(0), &mut hands, &keys);
        assert_eq!(teleport.cast, Some(Ability::Teleport));
        let way = own.to(teleport.cursor.place());
        assert_eq!(Heading::of(way), Some(Heading::DOWN));
        // Out of the lava, into the arena.
        game.set_radius(ONE);
        let thrust = controls(&game, PlayerId(0), &mut hands, &[Key::Char('r')]);
        assert_eq!(thrust.cursor, Cursor::at(Place::CENTRE));
        // What is not ready is not asked for, and who has no avatar asks for nothing.
        let clock = game.clock();
        game.avatar_mut(PlayerId(0)).unwrap().ready = [clock + 9; 4];
        let keys = [Key::Char('c')];
        assert_eq!(controls(&game, PlayerId(0), &mut hands, &keys).cast, None);
        assert_eq!(controls(&game, PlayerId(7), &mut hands, &keys).cast, None);
    }
}
