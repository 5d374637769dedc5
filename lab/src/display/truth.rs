//! The true positions of all entities, tick by tick.

use std::collections::VecDeque;

use samestep_sync::{EntityId, Tick};

use crate::testmatch::Positions;

/// Ticks that are kept: what is shown is rarely later than a second.
const KEPT: usize = 150;

/// The states of the last few seconds.
#[derive(Debug, Default)]
pub struct Truth {
    states: VecDeque<(Tick, Positions)>,
}

impl Truth {
    /// Everything is here at this tick, later than those before. Returns memory that is not needed any more.
    pub fn push(&mut self, tick: Tick, positions: Positions) -> Option<Positions> {
        self.states.push_back((tick, positions));
        match self.states.len() > KEPT {
            true => self.states.pop_front().map(|(_, positions)| positions),
            false => None,
        }
    }

    /// The newest tick there is.
    pub fn newest(&self) -> Option<Tick> {
        self.states.back().map(|(tick, _)| *tick)
    }

    /// Everything as it was at a time, in ticks and what had passed of the next; `None` if that is not kept, or not yet known.
    pub fn at(&self, ticks: f64) -> Option<Interpolated<'_>> {
        let next = self
            .states
            .partition_point(|(tick, _)| tick.0 as f64 <= ticks);
        let (before, after) = (
            self.states.get(next.checked_sub(1)?)?,
            self.states.get(next),
        );
        let since = ticks - before.0.0 as f64;
        match after {
            Some(after) => Some(Interpolated {
                before: &before.1,
                after: &after.1,
                part: (since / after.0.since(before.0) as f64) as f32,
            }),
            None => (since == 0.0).then_some(Interpolated {
                before: &before.1,
                after: &before.1,
                part: 0.0,
            }),
        }
    }
}

/// Two states, and how far between them something is.
#[derive(Clone, Copy, Debug)]
pub struct Interpolated<'a> {
    before: &'a Positions,
    after: &'a Positions,
    part: f32,
}

impl<'a> Interpolated<'a> {
    /// The positions of all entities that are in both states.
    pub fn positions(self) -> impl Iterator<Item = (EntityId, (f32, f32))> + 'a {
        let mut after = self.after.iter().peekable();
        self.before.iter().filter_map(move |(id, from)| {
            while after.next_if(|(other, _)| other < id).is_some() {}
            let (_, to) = after.next_if(|(other, _)| other == id)?;
            let between = |from: f32, to: f32| from + (to - from) * self.part;
            Some((*id, (between(from.0, to.0), between(from.1, to.1))))
        })
    }
}

/// Calls `each` for all that is in both lists, with the place in either; how many of the first are missing in the second.
pub fn pair(
    first: impl Iterator<Item = (EntityId, (f32, f32))>,
    second: &Positions,
    mut each: impl FnMut(EntityId, (f32, f32), (f32, f32)),
) -> usize {
    let (mut others, mut missing) = (second.iter().peekable(), 0);
    for (id, place) in first {
        while others.next_if(|(other, _)| *other < id).is_some() {}
        match others.next_if(|(other, _)| *other == id) {
            Some((_, other)) => each(id, place, *other),
            None => missing += 1,
        }
    }
    missing
}

/// How far apart two places are.
pub fn distance(a: (f32, f32), b: (f32, f32)) -> f32 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u32, x: f32) -> (EntityId, (f32, f32)) {
        (EntityId::fixed(number), (x, 0.0))
    }

    #[test]
    fn between_two_ticks_things_are_between_two_places() {
        let mut truth = Truth::default();
        assert!(truth.at(3.0).is_none());
        truth.push(Tick(3), vec![at(1, 10.0), at(2, 0.0), at(4, 5.0)]);
        truth.push(Tick(5), vec![at(1, 12.0), at(3, 0.0), at(4, 5.0)]);
        let positions = |ticks: f64| {
            truth
                .at(ticks)
                .map(|at| at.positions().collect::<Positions>())
        };
        assert_eq!(positions(2.9), None);
        assert_eq!(positions(4.5), Some(vec![at(1, 11.5), at(4, 5.0)]));
        assert_eq!(positions(5.0).map(|positions| positions.len()), Some(3));
        assert_eq!(positions(5.1), None);
    }

    #[test]
    fn lists_are_paired_by_entity() {
        let mut pairs = Vec::new();
        let shown = vec![at(1, 1.0), at(2, 2.0), at(5, 3.0)];
        let true_places = [at(0, 0.0), at(2, 2.5), at(4, 0.0), at(5, 3.0)];
        let missing = pair(true_places.into_iter(), &shown, |_, a, b| {
            pairs.push(distance(a, b));
        });
        assert_eq!((missing, pairs), (2, vec![0.5, 0.0]));
    }
}
