//! What one observer knows of all other characters within a while, and the pairs of a human and an AI character that it has to tell apart.

use samestep_sync::Rng;

use super::track::{FEATURES, TrackFeatures};

/// A character as an observer knows it within a while.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    /// Who plays it; nobody plays an AI character.
    pub player: Option<usize>,
    /// Whether the observer's own program decides what it does.
    pub is_local: bool,
    pub features: TrackFeatures,
}

/// All other characters as an observer knows them within a while.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// The while: counted within a match.
    pub window: usize,
    pub sightings: Vec<Sighting>,
}

/// A human and an AI character of the same look, as what a classifier learns from.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub human: Vec<f64>,
    pub ai: Vec<f64>,
    /// Whether the observer's own program decides what the AI character does.
    pub is_local: bool,
}

impl Look {
    /// The vector of each sighting: its features, how they differ from the median of all characters, and how much.
    fn vectors(&self) -> Vec<Vec<f64>> {
        let medians: Vec<f64> = (0..FEATURES.len())
            .map(|feature| {
                let of = |sighting: &Sighting| sighting.features.values[feature];
                let mut values: Vec<f64> = self.sightings.iter().map(of).collect();
                values.sort_by(f64::total_cmp);
                values.get(values.len() / 2).copied().unwrap_or(0.0)
            })
            .collect();
        let vector = |sighting: &Sighting| {
            let values = sighting.features.values;
            let differences = values.iter().zip(&medians).map(|(is, median)| is - median);
            let mut vector = values.to_vec();
            vector.extend(differences.clone());
            vector.extend(differences.map(f64::abs));
            vector
        };
        self.sightings.iter().map(vector).collect()
    }
}

/// The name of a place in the vectors.
pub(super) fn feature_name(at: usize) -> String {
    let name = FEATURES[at % FEATURES.len()];
    match at / FEATURES.len() {
        0 => name.to_string(),
        1 => format!("{name} against the median"),
        _ => format!("{name} from the median"),
    }
}

/// A pair for every human character in every while, seen by one of its observers, beside an AI character of the same look.
pub(super) fn pairs(looks: &[Look], rng: &mut Rng) -> Vec<Pair> {
    let windows = looks.iter().map(|look| look.window + 1).max().unwrap_or(0);
    let players = looks.iter().flat_map(|look| &look.sightings);
    let players = players.filter_map(|sighting| sighting.player).max();
    let mut pairs = Vec::new();
    for window in 0..windows {
        for player in 0..players.map_or(0, |last| last + 1) {
            let sees = |look: &&Look| {
                let mut seen = look.sightings.iter();
                look.window == window && seen.any(|sighting| sighting.player == Some(player))
            };
            let seeing: Vec<&Look> = looks.iter().filter(sees).collect();
            pairs.extend(pick(&seeing, rng).and_then(|look| pair(look, player, rng)));
        }
    }
    pairs
}

fn pair(look: &Look, player: usize, rng: &mut Rng) -> Option<Pair> {
    let vectors = look.vectors();
    let seen = || look.sightings.iter().zip(&vectors);
    let (_, human) = seen().find(|(sighting, _)| sighting.player == Some(player))?;
    let ai: Vec<_> = seen()
        .filter(|(sighting, _)| sighting.player.is_none())
        .collect();
    let (sighting, ai) = pick(&ai, rng)?;
    Some(Pair {
        human: human.clone(),
        ai: (*ai).clone(),
        is_local: sighting.is_local,
    })
}

fn pick<'a, T>(of: &'a [T], rng: &mut Rng) -> Option<&'a T> {
    of.get(rng.below(of.len() as u32) as usize)
}

#[cfg(test)]
mod tests {
    use super::super::track::{HunterSight, Track};
    use super::*;

    /// A character whose first feature is this.
    fn sighting(player: Option<usize>, first: f64) -> Sighting {
        let mut features = Track::<HunterSight>::default().take_features();
        features.values[0] = first;
        Sighting {
            player,
            is_local: player.is_none() && first > 5.0,
            features,
        }
    }

    #[test]
    fn every_human_has_a_pair_in_every_while() {
        let look = |window, player, ai| Look {
            window,
            sightings: vec![
                sighting(Some(player), 1.0),
                sighting(None, ai),
                sighting(None, ai),
            ],
        };
        let looks = [
            look(0, 0, 3.0),
            look(0, 1, 3.0),
            look(0, 1, 3.0),
            look(1, 0, 7.0),
        ];
        let pairs = pairs(&looks, &mut Rng::new(1));
        let first = |pair: &Pair| (pair.human[0], pair.ai[0], pair.is_local);
        let firsts: Vec<_> = pairs.iter().map(first).collect();
        let early = (1.0, 3.0, false);
        assert_eq!(firsts, [early, early, (1.0, 7.0, true)]);
    }

    #[test]
    fn features_count_against_those_of_all() {
        let look = Look {
            window: 0,
            sightings: vec![
                sighting(Some(0), 1.0),
                sighting(None, 4.0),
                sighting(None, 4.0),
            ],
        };
        let pair = pair(&look, 0, &mut Rng::new(1)).unwrap();
        let count = FEATURES.len();
        let of = |at: usize| [pair.human[at], pair.ai[at]];
        assert_eq!(
            [of(0), of(count), of(2 * count)],
            [[1.0, 4.0], [-3.0, 0.0], [3.0, 0.0]]
        );
        assert_eq!(feature_name(count), "changes against the median");
    }
}
