//! The ground of Hat Hunters, as the parts of `movement` see it: what a receiver extrapolates on.

use samestep_catalog::hat_hunters::{Body as GameBody, Field, Place, Velocity};
use samestep_sync::movement::{Body, Motion};

/// Bodies in the game's own units, which floats hold exactly.
pub(super) struct Ground<'a>(pub(super) Field<'a>);

/// A body of the game.
pub(super) fn body_of(body: GameBody) -> Body {
    Body {
        place: [body.place.x as f32, body.place.y as f32],
        velocity: [body.velocity.x as f32, body.velocity.y as f32],
    }
}

/// A force of the game.
pub(super) fn force_of(force: Place) -> [f32; 2] {
    [force.x as f32, force.y as f32]
}

fn units(place: [f32; 2]) -> Place {
    Place::new(place[0].round() as i32, place[1].round() as i32)
}

impl Motion for Ground<'_> {
    fn advance(&self, body: Body, force: [f32; 2]) -> Body {
        let velocity = units(body.velocity);
        let body = GameBody {
            place: units(body.place),
            velocity: Velocity {
                x: velocity.x,
                y: velocity.y,
            },
        };
        body_of(body.advance(units(force), &self.0))
    }

    fn is_free(&self, from: [f32; 2], to: [f32; 2]) -> bool {
        let parts = 1 + ((to[0] - from[0]).hypot(to[1] - from[1]) / 50.0) as usize;
        (0..=parts).all(|part| {
            let share = part as f32 / parts as f32;
            let place = units([0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share));
            let stays = GameBody::at(place).advance(Place::default(), &self.0);
            stays.place.distance(place) <= 1
        })
    }
}
