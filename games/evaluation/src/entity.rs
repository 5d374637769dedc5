//! The entities of the world.

use samestep_sync::{PlayerId, Record, math};

/// Width and height of the world, in units.
pub const WORLD: u16 = 1024;

/// How many colours there are.
pub const COLOURS: u8 = 8;

/// An entity that walks about. Its id is its index in [`Entities`](samestep_sync::Entities).
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Entity {
    /// Its kind, which has no effect.
    pub kind: u16,
    /// Where it is, in units.
    #[field(range(0.0, 1024.0), precision = 0.01, blend = "linear")]
    pub position: (f32, f32),
    /// The player that commands it.
    pub player: PlayerId,
    /// Where it goes.
    pub coordinates: (i32, i32),
    /// Its appearance.
    pub colour: u8,
}

impl Entity {
    /// One step towards the coordinates, of at most `reach` along each axis.
    #[inline]
    pub(crate) fn advance(&mut self, reach: f32) {
        let (x, y) = self.coordinates;
        let (dx, dy) = (x as f32 - self.position.0, y as f32 - self.position.1);
        self.position.0 += math::min(math::max(dx, -reach), reach);
        self.position.1 += math::min(math::max(dy, -reach), reach);
    }

    /// Whether it stands where it wanted to go.
    pub fn has_arrived(&self) -> bool {
        let (x, y) = self.coordinates;
        self.position == (x as f32, y as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_arrives_exactly_and_stays() {
        let mut entity = Entity {
            kind: 0,
            position: (3.3, 7.9),
            player: PlayerId(0),
            coordinates: (4, 7),
            colour: 0,
        };
        for _ in 0..100 {
            let before = entity.position;
            entity.advance(0.01);
            assert!((entity.position.0 - before.0).abs() < 0.0101);
            assert!((entity.position.1 - before.1).abs() < 0.0101);
        }
        assert!(entity.has_arrived());
        entity.advance(0.01);
        assert_eq!(entity.position, (4.0, 7.0));
    }
}
