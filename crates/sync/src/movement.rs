//! Movement by force: what travels of it, and how a body that went astray comes back without a jump.
//!
//! In games whose characters walk, an input is a force, which changes the velocity, which changes the place. Who extrapolates such a body assumes that
//! its force stays the same. The parts here are for games that move characters so and draw them by hand; they hold no clock and send nothing:
//!
//! - [`DeadReckoning`] tells a sender when others would extrapolate too far from the truth, and only then something is sent. [`ControlGate`]
//!   does the same for controls.
//! - [`CorrectionForce`] draws a body that is shown to where it really is. It adds a force, so the body keeps walking.
//! - [`Detour`] finds the way around an obstacle that has come between the two.
//! - [`Teleport`] says when they are too far apart to walk.
//! - [`Look`] is where a body looks: it follows the steering and does not notice corrections.
//! - [`CorrectedBody`] is all of it: a body as it is shown.
//!
//! A game says how its bodies move: [`Motion`].
//!
//! ```
//! use samestep_sync::movement::{Body, CorrectedBody, CorrectionConfig, Motion};
//!
//! /// A meadow without obstacles.
//! struct Meadow;
//!
//! impl Motion for Meadow {
//!     fn advance(&self, body: Body, force: [f32; 2]) -> Body {
//!         let velocity = [0, 1].map(|axis| 0.8 * body.velocity[axis] + force[axis]);
//!         let place = [0, 1].map(|axis| body.place[axis] + velocity[axis]);
//!         Body { place, velocity }
//!     }
//!
//!     fn is_free(&self, _from: [f32; 2], _to: [f32; 2]) -> bool {
//!         true
//!     }
//! }
//!
//! let mut shown = CorrectedBody::new(Body::default());
//! let config = CorrectionConfig::default();
//! // The authority says that the body is half a unit farther to the right.
//! shown.receive(Body { place: [0.5, 0.0], velocity: [0.0, 0.0] });
//! let step = shown.advance(&Meadow, &config, [0.0, 0.0]);
//! assert!(step.is_correcting && !step.teleported);
//! for _ in 0..60 {
//!     shown.advance(&Meadow, &config, [0.0, 0.0]);
//! }
//! assert!((shown.body().place[0] - 0.5).abs() < 0.02);
//! ```
//!
//! The ideas are those of distributed simulation (IEEE 1278, *DIS*) and of Armitage, Claypool and Branch, *Networking and Online Games*; the correction
//! by force is from a client-hosted game with an update window.

mod control_gate;
mod corrected_body;
mod correction_force;
mod dead_reckoning;
mod detour;
#[cfg(test)]
mod field;
mod look;
mod teleport;

pub use control_gate::ControlGate;
pub use corrected_body::{CorrectedBody, CorrectionConfig, CorrectionStep, Obstacles};
pub use correction_force::CorrectionForce;
pub use dead_reckoning::{DeadReckoning, Movement};
pub use detour::{Detour, Way};
pub use look::Look;
pub use teleport::Teleport;

use crate::math;

/// A body that moves: its place and its velocity, in units of the game.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Body {
    /// Its middle.
    pub place: [f32; 2],
    /// How fast it moves and where to, in what [`Motion`] takes velocities in.
    pub velocity: [f32; 2],
}

/// How the bodies of a game move.
pub trait Motion {
    /// The body one step later, under a force. Obstacles stop it as they do in the game.
    fn advance(&self, body: Body, force: [f32; 2]) -> Body;

    /// Whether a body could go straight from one place to another. One that touches an obstacle can go along it and away from it.
    fn is_free(&self, from: [f32; 2], to: [f32; 2]) -> bool;
}

impl<M: Motion + ?Sized> Motion for &M {
    fn advance(&self, body: Body, force: [f32; 2]) -> Body {
        (**self).advance(body, force)
    }

    fn is_free(&self, from: [f32; 2], to: [f32; 2]) -> bool {
        (**self).is_free(from, to)
    }
}

fn plus(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

fn minus(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn times(a: [f32; 2], factor: f32) -> [f32; 2] {
    [a[0] * factor, a[1] * factor]
}

fn length(a: [f32; 2]) -> f32 {
    math::hypot(a[0], a[1])
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    length(minus(a, b))
}

/// The same direction with this length; nothing has no direction.
fn with_length(a: [f32; 2], wanted: f32) -> [f32; 2] {
    let length = length(a);
    if length > 0.0 {
        times(a, wanted / length)
    } else {
        [0.0; 2]
    }
}
