//! Sublockus on the keys of a terminal, which tells when a key is pressed but not when it is released.

use samestep_playable::Key;
use samestep_sync::PlayerId;

use crate::{Ability, Act, Angle, Character, Controls, HALF, ONE, POCKETS, Place, Sublockus};

/// What the keys do.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("a d, ← →", "run until another key"),
    ("s, ↓", "stop; standing, drop through a ledge"),
    ("w, ↑, space", "jump"),
    ("f", "throw a fireball at whoever is in front"),
    ("c", "strike whoever is close"),
    ("e", "cast a bolt: it hits at once"),
    ("r", "mend oneself"),
    ("v", "let a fireball burst"),
    ("1 to 6", "wear or drink what is in a pocket"),
];

/// Ticks for which a key that is tapped counts as held.
const JUMP: u32 = 18;
const DROP: u32 = 8;

/// What the keys pressed so far amount to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hands {
    /// Where it runs: -1, 0 or 1.
    direction: i32,
    looks_left: bool,
    /// By the game's clock.
    jump_until: u32,
    drop_until: u32,
}

/// The controls of a player who has pressed these keys.
pub(crate) fn controls(
    game: &Sublockus,
    player: PlayerId,
    hands: &mut Hands,
    keys: &[Key],
) -> Controls {
    let clock = game.clock();
    let own = game.character_of(player);
    let (mut cast, mut act) = (None, Act::None);
    for key in keys {
        match key {
            Key::Char('a') | Key::Left => (hands.direction, hands.looks_left) = (-1, true),
            Key::Char('d') | Key::Right => (hands.direction, hands.looks_left) = (1, false),
            Key::Char('s') | Key::Down => {
                if hands.direction == 0 {
                    hands.drop_until = clock + DROP;
                }
                hands.direction = 0;
            }
            // A key that repeats jumps again once the last jump is let go of.
            Key::Char('w' | ' ') | Key::Up if clock > hands.jump_until + 1 => {
                hands.jump_until = clock + JUMP;
            }
            Key::Char('f') => cast = Some(Ability::Fireball),
            Key::Char('c') => cast = Some(Ability::Strike),
            Key::Char('e') => cast = Some(Ability::Bolt),
            Key::Char('r') => cast = Some(Ability::Mend),
            Key::Char('v') => act = burst(game, player),
            Key::Char(digit @ '1'..='6') => act = pocket(own, *digit),
            _ => {}
        }
    }
    Controls {
        left: hands.direction < 0,
        right: hands.direction > 0,
        jump: clock < hands.jump_until,
        down: clock < hands.drop_until,
        aim: own.map_or(Angle::default(), |own| aim(game, own, hands.looks_left)),
        cast: cast.filter(|ability| own.is_some_and(|own| own.can_cast(*ability, clock))),
        act,
    }
}

fn burst(game: &Sublockus, player: PlayerId) -> Act {
    let mut fireballs = game.projectiles().iter();
    let own = fireballs.find(|(_, fireball)| fireball.player == player);
    own.map_or(Act::None, |(id, _)| Act::Detonate(id))
}

fn pocket(own: Option<&Character>, digit: char) -> Act {
    let pocket = digit as u8 - b'1';
    let filled = own.map_or(0, |own| own.kit.pockets.len()).min(POCKETS);
    match usize::from(pocket) < filled {
        true => Act::Use(pocket),
        false => Act::None,
    }
}

/// At the nearest that can be hit, in front of it rather than behind; else straight on.
fn aim(game: &Sublockus, own: &Character, looks_left: bool) -> Angle {
    let here = own.place();
    let others = game.characters().as_slice().iter().filter(|other| {
        let place = other.place();
        other.player != own.player
            && other.is_target(game.clock())
            && game.terrain().sees(here, place)
            && game.notices(own.player, place, HALF)
    });
    let ways = others.map(|other| here.to(other.place()));
    let nearest = ways.min_by_key(|way| {
        let is_behind = (way.x < 0) != looks_left;
        way.length().saturating_mul(1 + i32::from(is_behind))
    });
    let ahead = Place::new(if looks_left { -ONE } else { ONE }, 0);
    Angle::of(nearest.unwrap_or(ahead))
}
