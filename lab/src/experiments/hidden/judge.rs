//! An observer learns from labelled tracks, and guesses in pairs from other matches.

use samestep_sync::{Rng, random};

use super::boosting::Boosted;
use super::look::{Look, Pair, pairs};
use crate::experiment::seed_of;

/// What an observer learns from, and how often it guesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgeConfig {
    /// Labelled tracks, half of them of humans.
    pub tracks: usize,
    /// Pairs in which it guesses.
    pub pairs: usize,
    /// The most rules that it goes by.
    pub stumps: usize,
}

/// What an observer made of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    pub tracks: usize,
    pub all: Guesses,
    pub elsewhere: Guesses,
    /// Of humans and of AI characters.
    pub human: Known,
    pub ai: Known,
    /// The share of features in what it goes by, the strongest first.
    pub strongest: Vec<(usize, f64)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Guesses {
    pub right: f64,
    pub count: usize,
}

/// How changes of steering became known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub changes: usize,
    pub late: usize,
    pub explained: usize,
    pub delay_ticks: f64,
}

/// Has matches played, by their seeds, until there are tracks enough to learn from, and others until there are pairs enough to guess in.
pub(super) fn judge(
    config: &JudgeConfig,
    play: impl Fn(u64) -> Result<Vec<Look>, String>,
    seed: u64,
) -> Result<Judged, String> {
    let mut judged = Judged::default();
    let mut matches = 0;
    let mut take = |wanted: usize| {
        let mut taken: Vec<Pair> = Vec::new();
        while taken.len() < wanted {
            let seed = seed_of(seed, matches);
            matches += 1;
            let looks = play(seed)?;
            judged.note(&looks);
            let more = pairs(&looks, &mut Rng::new(random::hash(seed, 2, 0x41de)));
            if more.is_empty() {
                return Err("nobody saw another player for the length of a track".to_string());
            }
            taken.extend(more);
        }
        taken.truncate(wanted);
        Ok(taken)
    };
    let labelled = take(config.tracks / 2)?.into_iter();
    let labelled: Vec<(Vec<f64>, bool)> = labelled
        .flat_map(|pair| [(pair.human, true), (pair.ai, false)])
        .collect();
    let held_out = take(config.pairs)?;
    let observer = Boosted::learn(&labelled, config.stumps);
    for pair in held_out {
        let difference = observer.score(&pair.human) - observer.score(&pair.ai);
        // Who cannot tell tosses a coin.
        let right = match difference {
            0.0 => 0.5,
            difference if difference > 0.0 => 1.0,
            _ => 0.0,
        };
        judged.all.add(right);
        if !pair.is_local {
            judged.elsewhere.add(right);
        }
    }
    judged.tracks = labelled.len();
    judged.strongest = observer.strongest();
    Ok(judged)
}

impl Judged {
    fn note(&mut self, looks: &[Look]) {
        for sighting in looks.iter().flat_map(|look| &look.sightings) {
            let known = match sighting.player {
                Some(_) => &mut self.human,
                None => &mut self.ai,
            };
            let features = &sighting.features;
            known.changes += features.changes;
            known.late += features.late;
            known.explained += features.explained;
            known.delay_ticks += features.delay_sum;
        }
    }
}

impl Guesses {
    fn add(&mut self, right: f64) {
        self.right += right;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::Sighting;
    use super::super::track::{HunterSight, Track};
    use super::*;

    /// Two humans and two AI characters in five whiles, with a random first feature that is larger by this if they are human.
    fn play(larger: f64) -> impl Fn(u64) -> Result<Vec<Look>, String> {
        move |seed| {
            let mut rng = Rng::new(seed);
            let mut sighting = |player: Option<usize>| {
                let mut features = Track::<HunterSight>::default().take_features();
                let more = if player.is_some() { larger } else { 0.0 };
                features.values[0] = f64::from(rng.unit()) + more;
                Sighting {
                    player,
                    is_local: false,
                    features,
                }
            };
            let look = |window| Look {
                window,
                sightings: [Some(0), Some(1), None, None].map(&mut sighting).into(),
            };
            Ok((0..5).map(look).collect())
        }
    }

    const CONFIG: JudgeConfig = JudgeConfig {
        tracks: 400,
        pairs: 1_000,
        stumps: 30,
    };

    #[test]
    fn an_observer_tells_who_differs_and_nobody_else() {
        let told = judge(&CONFIG, play(1.5), 1).unwrap();
        assert_eq!((told.tracks, told.all.count), (400, 1_000));
        assert_eq!(told.all.right, 1_000.0);
        let hidden = judge(&CONFIG, play(0.0), 2).unwrap();
        assert!((450.0..550.0).contains(&hidden.all.right), "{hidden:?}");
    }

    #[test]
    fn a_match_without_others_is_an_error() {
        assert!(judge(&CONFIG, |_| Ok(Vec::new()), 1).is_err());
    }
}
