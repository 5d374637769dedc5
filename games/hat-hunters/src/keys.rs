//! Hat Hunters on the keys of a terminal, which tells when a key is pressed but not when it is released.

use samestep_playable::Key;

use crate::{Controls, Heading, Steer};

/// What the keys do.
pub(crate) const KEYS: &[(&str, &str)] = &[
    (
        "w a s d, arrows",
        "walk until another key; the same again stops",
    ),
    ("y u b n", "walk diagonally"),
    ("x", "stop"),
    ("space", "a box here, once you have left"),
    ("e", "use the item"),
];

/// What the keys pressed so far amount to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hands {
    /// Where it walks.
    heading: Option<Heading>,
}

/// The controls of a player who has pressed these keys.
pub(crate) fn controls(hands: &mut Hands, keys: &[Key]) -> Controls {
    let mut controls = Controls::default();
    for key in keys {
        let heading = match key {
            Key::Char('d') | Key::Right => Heading::RIGHT,
            Key::Char('s') | Key::Down => Heading::DOWN,
            Key::Char('a') | Key::Left => Heading::LEFT,
            Key::Char('w') | Key::Up => Heading::UP,
            Key::Char('n') => Heading(4),
            Key::Char('b') => Heading(12),
            Key::Char('y') => Heading(20),
            Key::Char('u') => Heading(28),
            Key::Char('x') => {
                hands.heading = None;
                continue;
            }
            Key::Char(' ') => {
                controls.place_box = true;
                continue;
            }
            Key::Char('e') => {
                controls.use_item = true;
                continue;
            }
            _ => continue,
        };
        hands.heading = (hands.heading != Some(heading)).then_some(heading);
    }
    controls.steer = hands.heading.map_or(Steer::Stop, Steer::Towards);
    controls
}
