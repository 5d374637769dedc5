//! The path of a character as a program simulated it, and as the authority had it.

use std::cmp::Ordering;
use std::time::Duration;

use samestep_session::PlayerId;
use samestep_sync::{EntityId, Live, Playback, Progress, Replay, Status, Tick};

use super::MarkedGame;
use super::played::sample_of;

/// A block of Sublockus or a cell of Hat Hunters, in the units that places are counted in.
pub(super) const UNITS: i32 = 1024;

/// A place, to the right and down.
type Place = [i32; 2];

/// A character on the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CharacterSample {
    /// The entity of the character.
    pub id: EntityId,
    /// Its position.
    pub place: Place,
    /// The number of what its player did last.
    pub tag: u16,
}

impl CharacterSample {
    /// How far it is from where it is elsewhere, in blocks; `None` if that is another.
    pub fn distance(self, other: CharacterSample) -> Option<f64> {
        let [x, y] = [0, 1].map(|axis| i64::from(other.place[axis] - self.place[axis]));
        let apart = (x * x + y * y).isqrt() as f64 / f64::from(UNITS);
        (self.id == other.id).then_some(apart)
    }
}

/// The path that a program has simulated of its own player's character, call by call.
#[derive(Clone, Debug, Default)]
pub struct PredictedPath {
    /// The states, in the order of time.
    pub steps: Vec<Step>,
}

/// The state after a call that changed something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The time by the program's own clock.
    pub at: Duration,
    /// The state is that at this tick.
    pub tick: Tick,
    /// The confirmed tick: nothing before it changes any more.
    pub known: Tick,
    /// Corrections and rollbacks so far.
    pub corrections: u64,
    /// The character.
    pub own: Option<CharacterSample>,
}

/// A correction of a character that was simulated otherwise than the authority has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// The time by the program's own clock.
    pub at: Duration,
    /// The tick that was shown then.
    pub tick: Tick,
    /// The ticks from here up to `known` were confirmed by it.
    pub since: Tick,
    /// The confirmed tick after it.
    pub known: Tick,
    /// How far it was moved, in blocks.
    pub moved: f64,
}

impl PredictedPath {
    /// Notes the state after a call, if it changed.
    pub fn note(
        &mut self,
        at: Duration,
        tick: Tick,
        status: &Status,
        own: Option<CharacterSample>,
    ) {
        let step = Step {
            at,
            tick,
            known: status.confirmed_tick,
            corrections: status.corrections.max(status.rollbacks),
            own,
        };
        let is_same = |last: &Step| (last.tick, last.own) == (tick, own);
        match self.steps.last_mut().filter(|last| is_same(last)) {
            Some(last) => (last.known, last.corrections) = (step.known, step.corrections),
            None => self.steps.push(step),
        }
    }

    /// The corrections that moved the character away from where it was at the same tick. Where the same call went on to a later
    /// tick, it was moved to its true position.
    pub fn corrections(&self, truth: &TruePath) -> Vec<Correction> {
        let pairs = self.steps.windows(2).map(|pair| (pair[0], pair[1]));
        let moved = pairs.filter_map(|(was, is)| {
            let right = match is.tick.cmp(&was.tick) {
                Ordering::Greater if is.corrections == was.corrections => return None,
                Ordering::Equal => is.own,
                _ => truth.at(was.tick),
            };
            let moved = was.own?.distance(right?).filter(|moved| *moved > 0.0)?;
            Some(Correction {
                at: is.at,
                tick: was.tick,
                since: was.known,
                known: is.known,
                moved,
            })
        });
        moved.collect()
    }

    /// For how long the character was simulated otherwise than the authority had it, in ms, each time.
    pub fn wrong_for(&self, truth: &TruePath) -> Vec<f64> {
        let (mut spans, mut since) = (Vec::new(), None);
        for step in &self.steps {
            let apart = step.own.zip(truth.at(step.tick));
            let Some(apart) = apart.and_then(|(own, right)| own.distance(right)) else {
                continue;
            };
            match (since, apart > 0.0) {
                (None, true) => since = Some(step.at),
                (Some(begin), false) => {
                    spans.push(step.at.saturating_sub(begin).as_secs_f64() * 1e3);
                    since = None;
                }
                _ => {}
            }
        }
        spans
    }
}

/// The true path of a character, tick by tick.
#[derive(Clone, Debug, Default)]
pub struct TruePath {
    samples: Vec<Option<CharacterSample>>,
}

impl TruePath {
    /// The paths of so many players by a recording, which has nothing that was only predicted. `game` is of the same kind.
    pub(super) fn recorded<G: MarkedGame>(
        recording: Vec<u8>,
        game: &G,
        players: usize,
    ) -> Result<Vec<TruePath>, String> {
        let replay = Replay::parse(recording).map_err(|error| error.to_string())?;
        let world = Live::without_recording(game.clone());
        let playback = Playback::new(replay, world).map_err(|error| error.to_string());
        let mut playback = playback?;
        let mut paths = vec![TruePath::default(); players];
        loop {
            let state = playback.world().state();
            for (player, path) in (0..).zip(&mut paths) {
                path.note(playback.tick(), sample_of(state, PlayerId(player), None));
            }
            if playback.step().map_err(|error| error.to_string())? == Progress::Ended {
                return Ok(paths);
            }
        }
    }

    /// Records the character at the authority's tick.
    pub fn note(&mut self, tick: Tick, own: Option<CharacterSample>) {
        let at = tick.0 as usize;
        if self.samples.len() <= at {
            self.samples.resize(at + 1, None);
            self.samples[at] = own;
        }
    }

    /// The sample at a tick.
    pub fn at(&self, tick: Tick) -> Option<CharacterSample> {
        self.samples.get(tick.0 as usize).copied().flatten()
    }

    /// How far a place is from the path of the character in the ticks from `since` to `upto`, in blocks; `None` if it was not there, or
    /// another.
    pub fn beside(&self, sample: CharacterSample, since: Tick, upto: Tick) -> Option<f64> {
        let mut nearest: Option<f64> = None;
        for tick in since.0..upto.0 {
            let (from, to) = (self.at(Tick(tick))?, self.at(Tick(tick + 1))?);
            if from.id != sample.id || to.id != sample.id {
                return None;
            }
            let off = beside(sample.place, from.place, to.place) / f64::from(UNITS);
            nearest = Some(nearest.map_or(off, |nearest| nearest.min(off)));
        }
        nearest
    }
}

/// The distance of a place from the straight line between two others.
fn beside(place: Place, from: Place, to: Place) -> f64 {
    let way = |a: Place, b: Place| (f64::from(b[0] - a[0]), f64::from(b[1] - a[1]));
    let ((x, y), (along, down)) = (way(from, to), way(from, place));
    let length = x * x + y * y;
    let part = match length > 0.0 {
        true => ((along * x + down * y) / length).clamp(0.0, 1.0),
        false => 0.0,
    };
    (along - part * x).hypot(down - part * y)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(blocks: i32) -> Option<CharacterSample> {
        Some(CharacterSample {
            id: EntityId::fixed(1),
            place: [blocks * UNITS, 0],
            tag: 0,
        })
    }

    fn predicted(steps: &[(u64, u64, u64, i32)]) -> PredictedPath {
        let mut predicted = PredictedPath::default();
        for (ms, tick, corrections, blocks) in steps {
            let status = Status {
                corrections: *corrections,
                ..Status::default()
            };
            let at = Duration::from_millis(*ms);
            predicted.note(at, Tick(*tick), &status, sample(*blocks));
        }
        predicted
    }

    fn truth(blocks: &[i32]) -> TruePath {
        let mut track = TruePath::default();
        for (tick, blocks) in (0..).zip(blocks) {
            track.note(Tick(tick), sample(*blocks));
        }
        track
    }

    #[test]
    fn a_correction_moves_what_was_shown_at_the_same_tick() {
        let truth = truth(&[0, 1, 2, 4, 6, 8]);
        // Corrected at tick 3, and again within a call that goes on from tick 4 to 5.
        let predicted = predicted(&[
            (0, 1, 0, 1),
            (16, 2, 0, 2),
            (33, 3, 0, 3),
            (40, 3, 1, 4),
            (50, 4, 1, 3),
            (66, 5, 2, 8),
        ]);
        let moved: Vec<(u64, f64)> = predicted
            .corrections(&truth)
            .iter()
            .map(|correction| (correction.tick.0, correction.moved))
            .collect();
        assert_eq!(moved, [(3, 1.0), (4, 3.0)]);
        assert_eq!(predicted.wrong_for(&truth), [7.0, 16.0]);
    }

    #[test]
    fn corrections_of_other_rows_move_nothing() {
        let predicted = predicted(&[(0, 1, 0, 1), (16, 2, 0, 2), (20, 2, 1, 2), (33, 3, 2, 4)]);
        assert_eq!(predicted.corrections(&truth(&[0, 1, 2, 4])), []);
    }

    #[test]
    fn what_is_drawn_between_two_ticks_is_on_the_way() {
        let track = truth(&[0, 2, 4]);
        let drawn = |x: i32, y: i32| {
            let sample = CharacterSample {
                place: [x, y],
                ..sample(0).unwrap()
            };
            track.beside(sample, Tick(0), Tick(2))
        };
        assert_eq!(drawn(3 * UNITS, 0), Some(0.0));
        assert_eq!(drawn(3 * UNITS, UNITS / 2), Some(0.5));
        assert_eq!(drawn(5 * UNITS, 0), Some(1.0));
        assert_eq!(track.beside(sample(0).unwrap(), Tick(1), Tick(9)), None);
    }
}
