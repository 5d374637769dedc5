//! The part of the game that the update window recomputes: characters that walk by force.

use samestep_sync::movement::{Body, Motion};

use super::super::field::Field;

/// The characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) characters: Vec<Character>,
}

/// A character, and the force that acts on it until the next message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Character {
    pub(super) body: Body,
    pub(super) force: [f32; 2],
}

/// An action that is applied in a frame: a character is moved by this force from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Steer {
    pub(super) character: usize,
    pub(super) force: [f32; 2],
}

impl State {
    /// The characters at these places, at rest.
    pub(super) fn at(places: &[[f32; 2]]) -> State {
        let characters = places.iter().map(|place| Character {
            body: Body {
                place: *place,
                velocity: [0.0; 2],
            },
            force: [0.0; 2],
        });
        State {
            characters: characters.collect(),
        }
    }

    /// One frame: its messages are applied, then everything is updated by the time that has passed. Only forces are taken from messages.
    pub(super) fn update(&mut self, messages: &[Steer], seconds: f32, field: &Field) {
        for steer in messages {
            self.characters[steer.character].force = steer.force;
        }
        let motion = field.during(seconds);
        for character in &mut self.characters {
            character.body = motion.advance(character.body, character.force);
        }
    }
}
