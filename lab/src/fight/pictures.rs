//! The pictures of one player: when inputs show in them, and how far from their true paths characters are drawn.

use std::collections::VecDeque;
use std::time::Duration;

use samestep_sync::Tick;

use super::{CharacterSample, PredictedPath, TruePath, has_done};
use crate::stats::Samples;

/// How far from the authority's present what is drawn may be, in ticks: before and after.
const AROUND: (u64, u64) = (60, 30);

/// Looks at one program's pictures.
#[derive(Clone, Debug)]
pub struct PictureLog {
    players: Vec<CharacterLog>,
    /// The numbers that inputs bear.
    tags: u16,
}

/// Looks at one character.
#[derive(Clone, Debug, Default)]
struct CharacterLog {
    /// The inputs that no picture shows yet: their times and numbers.
    awaited: VecDeque<(Duration, u16)>,
    /// The same of all that was done.
    given: Vec<(Duration, u16)>,
    /// From being done to showing, in ms.
    delays: Samples,
    /// The positions it was drawn at, with the tick of the authority then.
    drawn: Vec<(Tick, CharacterSample)>,
}

impl PictureLog {
    /// The log of a player who sees so many players, whose inputs bear so many numbers.
    pub fn new(players: usize, tags: u16) -> PictureLog {
        PictureLog {
            players: vec![CharacterLog::default(); players],
            tags,
        }
    }

    /// A player does something.
    pub fn expect(&mut self, player: usize, at: Duration, tag: u16) {
        self.players[player].awaited.push_back((at, tag));
        self.players[player].given.push((at, tag));
    }

    /// Sees a picture with everybody.
    pub fn see(&mut self, at: Duration, present: Tick, picture: &[Option<CharacterSample>]) {
        let tags = self.tags;
        for (character, sample) in self.players.iter_mut().zip(picture) {
            let Some(sample) = sample else {
                // Who is dead does nothing that shows.
                character.awaited.clear();
                continue;
            };
            while character
                .awaited
                .front()
                .is_some_and(|(given, tag)| *given < at && has_done(tags, sample.tag, *tag))
            {
                if let Some((given, _)) = character.awaited.pop_front() {
                    character.delays.push((at - given).as_secs_f64() * 1e3);
                }
            }
            character.drawn.push((present, *sample));
        }
    }

    /// From what was done to the first picture that shows it, in ms: of the player itself, and of all others.
    pub fn delays(&self, own: usize) -> (Samples, Samples) {
        self.apart(own, |character| character.delays.clone())
    }

    /// How far from the way they took characters were drawn, in blocks.
    pub fn astray(&self, own: usize, truth: &[TruePath]) -> (Samples, Samples) {
        let mut track = truth.iter();
        self.apart(own, |character| {
            let track = track.next().expect("a track for each player");
            let drawn = character.drawn.iter();
            let astray = drawn.filter_map(|(present, sample)| {
                let since = Tick(present.0.saturating_sub(AROUND.0));
                track.beside(*sample, since, *present + AROUND.1)
            });
            astray.collect()
        })
    }

    /// For each input of the player itself, the number of states until one shows it.
    pub fn own_ticks(&self, own: usize, predicted: &PredictedPath) -> Samples {
        let given = self.players[own].given.iter();
        let ticks = given.filter_map(|(at, tag)| {
            let next = predicted.steps.partition_point(|step| step.at < *at);
            let before = predicted.steps.get(next.checked_sub(1)?)?;
            let mut later = predicted.steps[next..]
                .iter()
                .take_while(|step| step.own.is_some());
            let has_done = |own: CharacterSample| has_done(self.tags, own.tag, *tag);
            let shows = later.find(|step| step.own.is_some_and(has_done))?;
            before.own.map(|_| shows.tick.since(before.tick) as f64)
        });
        ticks.collect()
    }

    fn apart(
        &self,
        own: usize,
        mut of: impl FnMut(&CharacterLog) -> Samples,
    ) -> (Samples, Samples) {
        let (mut mine, mut others) = (Samples::new(), Samples::new());
        for (at, character) in self.players.iter().enumerate() {
            match at == own {
                true => mine.append(&of(character)),
                false => others.append(&of(character)),
            }
        }
        (mine, others)
    }
}

#[cfg(test)]
mod tests {
    use samestep_sync::EntityId;

    use super::super::paths::UNITS;
    use super::*;

    fn sample(tag: u16, blocks: i32) -> Option<CharacterSample> {
        Some(CharacterSample {
            id: EntityId::fixed(1),
            place: [blocks * UNITS, 0],
            tag,
        })
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn what_was_done_shows_once_and_what_the_dead_do_never() {
        let mut pictures = PictureLog::new(2, 63);
        for (player, at, tag) in [(0, 10, 1), (1, 12, 1), (1, 20, 2), (0, 30, 2)] {
            pictures.expect(player, ms(at), tag);
        }
        pictures.see(ms(16), Tick(1), &[sample(1, 0), sample(0, 0)]);
        pictures.see(ms(32), Tick(2), &[sample(1, 0), sample(0, 0)]);
        pictures.see(ms(48), Tick(3), &[None, sample(2, 0)]);
        pictures.see(ms(64), Tick(4), &[sample(2, 0), sample(2, 0)]);
        let (own, others) = pictures.delays(0);
        assert_eq!(own.values(), [6.0]);
        assert_eq!(others.values(), [36.0, 28.0]);
    }

    #[test]
    fn what_is_drawn_where_it_never_was_is_astray() {
        let mut track = TruePath::default();
        for tick in 0..100 {
            track.note(Tick(tick), sample(0, tick as i32));
        }
        let mut pictures = PictureLog::new(1, 63);
        let off = Some(CharacterSample {
            place: [60 * UNITS, UNITS / 4],
            ..sample(0, 0).unwrap()
        });
        pictures.see(ms(0), Tick(65), &[sample(0, 61)]);
        pictures.see(ms(0), Tick(65), &[off]);
        // The last ticks are not there to compare with.
        pictures.see(ms(0), Tick(95), &[off]);
        let (own, _) = pictures.astray(0, &[track]);
        assert_eq!(own.values(), [0.0, 0.25]);
    }
}
