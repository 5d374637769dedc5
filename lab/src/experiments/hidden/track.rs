//! What an observer's program learns of one character: when it changed its steering, when that became known, and how far it was from where the program had it.

use std::collections::VecDeque;

use samestep_catalog::hat_hunters::{BOOTS, Body, Character, FORCE, Field, Heading, ONE};

/// The features of a track, each of which counts in three ways: as it is, against the median of all characters, and how far it is from that.
pub(super) const FEATURES: [&str; 21] = [
    "changes",
    "interval_mean",
    "interval_deviation",
    "interval_least",
    "interval_most",
    "stops",
    "phase_0",
    "phase_1",
    "delay_mean",
    "delay_deviation",
    "delay_least",
    "delay_most",
    "late",
    "late_most",
    "corrections",
    "correction_mean",
    "correction_deviation",
    "correction_most",
    "unexplained",
    "unexplained_mean",
    "unexplained_most",
];

/// Ticks for which the states of a character are remembered: a change that became known later than that is not placed.
const REMEMBERED: u32 = 30;
/// Ticks between two updates of an authority, by default: changes may come in any of them.
const PHASES: u32 = 3;

/// A character at a tick of the game's clock, as an observer knows it. Whoever knows the field `F` can tell where it goes from there.
pub(super) trait Sight<F>: Copy {
    /// The tick.
    fn clock(&self) -> u32;

    /// The same if it goes on as it does until a tick.
    fn until(&self, clock: u32, field: &F) -> Self;

    /// The same if it is steered as in another sight from here on.
    fn steered_as(&self, other: &Self) -> Self;

    /// Whether it is steered the same way.
    fn is_steered_as(&self, other: &Self) -> bool;

    /// Whether it is as in another sight, as exactly as states are told.
    fn is_where(&self, other: &Self) -> bool;

    /// The distance of the places, in cells.
    fn distance(&self, other: &Self) -> f64;

    /// Whether it stands still or comes to a stop.
    fn stops(&self) -> bool;
}

/// A character of Hat Hunters at a tick of the game's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct HunterSight {
    clock: u32,
    body: Body,
    steering: Option<Heading>,
    fast_until: u32,
}

impl HunterSight {
    pub(super) fn of(clock: u32, character: &Character) -> HunterSight {
        HunterSight {
            clock,
            body: character.body,
            steering: character.steering,
            fast_until: character.fast_until,
        }
    }
}

impl Sight<Field<'_>> for HunterSight {
    fn clock(&self) -> u32 {
        self.clock
    }

    fn until(&self, clock: u32, field: &Field<'_>) -> HunterSight {
        let mut later = *self;
        while later.clock < clock {
            later.clock += 1;
            let boots = match later.clock < later.fast_until {
                true => BOOTS,
                false => 100,
            };
            let force = later
                .steering
                .map(|heading| heading.way(FORCE * boots / 100));
            later.body = later.body.advance(force.unwrap_or_default(), field);
        }
        later
    }

    fn steered_as(&self, other: &Self) -> Self {
        HunterSight {
            steering: other.steering,
            fast_until: other.fast_until,
            ..*self
        }
    }

    fn is_steered_as(&self, other: &Self) -> bool {
        self.steering == other.steering
    }

    fn is_where(&self, other: &Self) -> bool {
        self.body == other.body
    }

    fn distance(&self, other: &Self) -> f64 {
        f64::from(self.body.place.distance(other.body.place)) / f64::from(ONE)
    }

    fn stops(&self) -> bool {
        self.steering.is_none()
    }
}

/// A change of the steering that became known.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Change {
    /// The first tick that it acted in, if that follows from what is known.
    made: Option<u32>,
    /// When it became known, in ticks of the game's clock.
    known: f64,
    /// The ticks for which the program had been told otherwise: none if it was told at once.
    late: u32,
    /// How far it moves the character in the present, in cells.
    correction: f64,
    stops: bool,
}

/// What is known of a character.
#[derive(Clone, Debug)]
pub(super) struct Track<S> {
    sights: VecDeque<S>,
    changes: Vec<Change>,
}

impl<S> Default for Track<S> {
    fn default() -> Self {
        Track {
            sights: VecDeque::new(),
            changes: Vec::new(),
        }
    }
}

impl<S> Track<S> {
    /// The program learns at a time, in ticks of the game's clock, how the character is at a tick.
    pub(super) fn observe<F>(&mut self, known: f64, sight: S, field: &F)
    where
        S: Sight<F>,
    {
        let clock = sight.clock();
        if let Some(before) = self.sights.back() {
            if before.clock() >= clock {
                return;
            }
            let expected = before.until(clock, field);
            if !expected.is_steered_as(&sight) || !expected.is_where(&sight) {
                let present = (known.max(0.0) as u32).max(clock);
                let (was, is) = (expected.until(present, field), sight.until(present, field));
                let made = self.made(&sight, field);
                let told = before.clock();
                self.changes.push(Change {
                    made,
                    known,
                    late: made.map_or(0, |made| told.saturating_sub(made)),
                    correction: was.distance(&is),
                    stops: sight.stops(),
                });
            }
        }
        self.sights.push_back(sight);
        // The one before those remembered says how it went on from there.
        while self
            .sights
            .get(1)
            .is_some_and(|next| next.clock() + REMEMBERED <= clock)
        {
            self.sights.pop_front();
        }
    }

    /// The last tick in which the steering can have changed so that the character is where it is now.
    fn made<F>(&self, now: &S, field: &F) -> Option<u32>
    where
        S: Sight<F>,
    {
        let mut end = now.clock();
        let oldest = now.clock().saturating_sub(REMEMBERED);
        for before in self.sights.iter().rev() {
            let mut unchanged = before.until(oldest, field);
            let mut states = Vec::new();
            while unchanged.clock() < end {
                states.push(unchanged);
                unchanged = unchanged.until(unchanged.clock() + 1, field);
            }
            for changed in states.into_iter().rev() {
                let until_now = changed.steered_as(now).until(now.clock(), field);
                if until_now.is_where(now) {
                    return Some(changed.clock());
                }
            }
            end = before.clock();
        }
        None
    }

    /// The features of what became known since the last call.
    pub(super) fn take_features(&mut self) -> TrackFeatures {
        let changes = std::mem::take(&mut self.changes);
        let made: Vec<u32> = changes.iter().filter_map(|change| change.made).collect();
        let known = |of: fn(&Change) -> Option<f64>| changes.iter().filter_map(of).collect();
        let intervals = made
            .windows(2)
            .map(|pair| f64::from(pair[0].abs_diff(pair[1])));
        let intervals = Spread::of(intervals.collect());
        let delays = Spread::of(known(|change| Some(change.known - f64::from(change.made?))));
        let corrections = Spread::of(known(|change| change.made.map(|_| change.correction)));
        let unexplained = Spread::of(known(|change| {
            change.made.is_none().then_some(change.correction)
        }));
        let share = |count: usize| count as f64 / changes.len().max(1) as f64;
        let phase = |phase: u32| share(made.iter().filter(|made| *made % PHASES == phase).count());
        let late = changes.iter().filter(|change| change.late > 0).count();
        let moved = changes.iter().filter(|change| change.correction > 0.0);
        let values = [
            changes.len() as f64,
            intervals.mean,
            intervals.deviation,
            intervals.least,
            intervals.most,
            share(changes.iter().filter(|change| change.stops).count()),
            phase(0),
            phase(1),
            delays.mean,
            delays.deviation,
            delays.least,
            delays.most,
            share(late),
            changes
                .iter()
                .map(|change| f64::from(change.late))
                .fold(0.0, f64::max),
            moved.count() as f64,
            corrections.mean,
            corrections.deviation,
            corrections.most,
            share(changes.len() - made.len()),
            unexplained.mean,
            unexplained.most,
        ];
        TrackFeatures {
            values,
            changes: changes.len(),
            late,
            delay_sum: delays.mean * made.len() as f64,
            explained: made.len(),
        }
    }
}

/// The features of a track, and what they are made of.
#[derive(Clone, Debug)]
pub(super) struct TrackFeatures {
    /// In the order of [`FEATURES`].
    pub values: [f64; FEATURES.len()],
    /// Changes of the steering.
    pub changes: usize,
    /// Those of which the program had been told otherwise.
    pub late: usize,
    /// Those of which it is known when they were made, and the ticks until each was known, all together.
    pub explained: usize,
    pub delay_sum: f64,
}

/// How values spread; all zero if there are none.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    mean: f64,
    deviation: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(values: Vec<f64>) -> Spread {
        let samples: crate::stats::Samples = values.into_iter().collect();
        let or_zero = |of: Option<f64>| of.unwrap_or(0.0);
        Spread {
            mean: or_zero(samples.mean()),
            deviation: or_zero(samples.std_dev()),
            least: or_zero(samples.min()),
            most: or_zero(samples.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use samestep_catalog::hat_hunters::{Controls, HatHunters, HatHuntersConfig};
    use samestep_sync::{Live, PlayerId, Tick, TickInputs, World};

    use super::*;

    const PLAYER: PlayerId = PlayerId(0);

    /// The states of a match with one player, who walks down, or turns to the right in a tick.
    fn played(turns: Option<u64>) -> Vec<HatHunters> {
        let game = HatHunters::new(&HatHuntersConfig::default()).unwrap();
        let mut live = Live::without_recording(game);
        let mut inputs = TickInputs::new();
        inputs.set_players(&[PLAYER]);
        let states = (0..60).map(|tick| {
            inputs.clear();
            if tick == 0 {
                inputs.give(PLAYER, &Controls::steering(Some(Heading::DOWN)));
            }
            if turns == Some(tick) {
                inputs.give(PLAYER, &Controls::steering(Some(Heading::RIGHT)));
            }
            live.step(Tick(tick), &inputs);
            live.state().clone()
        });
        states.collect()
    }

    /// The features of the states that a program is told, each so many ticks after its own.
    fn features<'a>(told: impl Iterator<Item = &'a HatHunters>, delay: f64) -> TrackFeatures {
        let mut track = Track::default();
        for state in told {
            let own = state.character_of(PLAYER).unwrap();
            let known = f64::from(state.clock()) + delay;
            track.observe(known, HunterSight::of(state.clock(), own), &state.field());
        }
        track.take_features()
    }

    fn value(features: &TrackFeatures, name: &str) -> f64 {
        let at = FEATURES.iter().position(|of| *of == name).unwrap();
        features.values[at]
    }

    #[test]
    fn who_goes_on_changes_nothing() {
        let states = played(None);
        let features = features(states.iter().skip(2).step_by(3), 4.0);
        assert_eq!(features.values, [0.0; FEATURES.len()]);
    }

    #[test]
    fn a_change_is_found_in_its_tick_wherever_updates_fall() {
        for turns in 10..16 {
            let states = played(Some(turns));
            // The clocks of those told are 3, 6, 9, …
            let features = features(states.iter().skip(2).step_by(3), 4.0);
            assert_eq!(
                (features.changes, features.explained, features.late),
                (1, 1, 0)
            );
            let told = (turns / 3 + 1) * 3;
            let delay = (told - turns) as f64 + 4.0;
            assert_eq!(value(&features, "delay_mean"), delay, "{turns}");
            let correction = value(&features, "correction_most");
            assert!(correction > 0.0, "{correction}");
        }
    }

    #[test]
    fn a_change_that_was_told_otherwise_is_late() {
        let (before, after) = (played(None), played(Some(20)));
        let told = before.iter().take(26).chain(after.iter().skip(26));
        let features = features(told.skip(2).step_by(3), 0.0);
        assert_eq!(
            (features.changes, features.explained, features.late),
            (1, 1, 1)
        );
        // Told of tick 24 without it, and of tick 27 with it.
        assert_eq!(value(&features, "late_most"), 4.0);
        assert_eq!(value(&features, "delay_mean"), 7.0);
    }
}
