//! Boosted decision stumps (AdaBoost; Freund and Schapire 1997): many rules of the form "this feature is above that threshold", weighted by how often each is right where the
//! ones before it were wrong.

/// A rule that says yes on one side of a threshold.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stump {
    feature: usize,
    threshold: f64,
    /// What it adds to the score above the threshold, and subtracts at or below it.
    weight: f64,
}

/// A classifier of vectors of features.
#[derive(Clone, Debug, Default)]
pub(super) struct Boosted {
    stumps: Vec<Stump>,
}

/// No stump counts as more certain than one that is wrong in so small a share.
const LEAST_ERROR: f64 = 1e-3;
/// Stumps that are wrong as often as this teach nothing.
const CHANCE: f64 = 0.5 - 1e-9;

impl Boosted {
    /// Learns from vectors of the same length, and whether each is to be told by a positive score.
    pub(super) fn learn(samples: &[(Vec<f64>, bool)], rounds: usize) -> Boosted {
        let features = samples.first().map_or(0, |(sample, _)| sample.len());
        // The samples in the order of each feature.
        let sorted: Vec<Vec<usize>> = (0..features)
            .map(|feature| {
                let mut order: Vec<usize> = (0..samples.len()).collect();
                let of = |at: &usize| samples[*at].0[feature];
                order.sort_by(|a, b| of(a).total_cmp(&of(b)));
                order
            })
            .collect();
        let mut importance = vec![1.0 / samples.len().max(1) as f64; samples.len()];
        let mut learnt = Boosted::default();
        for _ in 0..rounds {
            let best = (0..features)
                .filter_map(|feature| best_of(feature, &sorted[feature], samples, &importance))
                .min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((mut stump, error)) = best.filter(|(_, error)| *error < CHANCE) else {
                break;
            };
            let error = error.max(LEAST_ERROR);
            stump.weight *= 0.5 * ((1.0 - error) / error).ln();
            for (importance, (sample, is_yes)) in importance.iter_mut().zip(samples) {
                let agrees = (stump.score(sample) > 0.0) == *is_yes;
                *importance *= (if agrees { -1.0 } else { 1.0 } * stump.weight.abs()).exp();
            }
            let sum: f64 = importance.iter().sum();
            importance.iter_mut().for_each(|of| *of /= sum);
            learnt.stumps.push(stump);
        }
        learnt
    }

    /// How surely a vector is one of those that are to be told: the higher, the surer.
    pub(super) fn score(&self, sample: &[f64]) -> f64 {
        self.stumps.iter().map(|stump| stump.score(sample)).sum()
    }

    /// The share of each feature in all weights, the strongest first, without those that are not used.
    pub(super) fn strongest(&self) -> Vec<(usize, f64)> {
        let mut shares: Vec<(usize, f64)> = Vec::new();
        let sum: f64 = self.stumps.iter().map(|stump| stump.weight.abs()).sum();
        for stump in &self.stumps {
            let part = stump.weight.abs() / sum;
            match shares.iter_mut().find(|(of, _)| *of == stump.feature) {
                Some((_, share)) => *share += part,
                None => shares.push((stump.feature, part)),
            }
        }
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }
}

impl Stump {
    fn score(&self, sample: &[f64]) -> f64 {
        match sample[self.feature] > self.threshold {
            true => self.weight,
            false => -self.weight,
        }
    }
}

/// The stump of a feature that is wrong in the least important samples, with a weight of one, and their importance. None if the feature is the same in all.
fn best_of(
    feature: usize,
    sorted: &[usize],
    samples: &[(Vec<f64>, bool)],
    importance: &[f64],
) -> Option<(Stump, f64)> {
    let value = |at: usize| samples[at].0[feature];
    // Of a stump below all values, which says yes to everything.
    let mut error: f64 = (0..samples.len())
        .filter(|at| !samples[*at].1)
        .map(|at| importance[at])
        .sum();
    let mut best: Option<(Stump, f64)> = None;
    for pair in sorted.windows(2) {
        let at = pair[0];
        error += if samples[at].1 { 1.0 } else { -1.0 } * importance[at];
        let (low, high) = (value(at), value(pair[1]));
        if low >= high {
            continue;
        }
        for (weight, error) in [(1.0, error), (-1.0, 1.0 - error)] {
            if best.is_none_or(|(_, least)| error < least) {
                let threshold = low + (high - low) / 2.0;
                // Between neighbouring numbers the middle is one of them.
                let threshold = if threshold < high { threshold } else { low };
                let stump = Stump {
                    feature,
                    threshold,
                    weight,
                };
                best = Some((stump, error));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use samestep_sync::Rng;

    use super::*;

    /// Random vectors of three features, and whether a rule holds.
    fn samples(
        seed: u64,
        count: usize,
        rule: impl Fn(&[f64], &mut Rng) -> bool,
    ) -> Vec<(Vec<f64>, bool)> {
        let mut rng = Rng::new(seed);
        let sample = |_| {
            let of: Vec<f64> = (0..3).map(|_| f64::from(rng.unit())).collect();
            let is_yes = rule(&of, &mut rng);
            (of, is_yes)
        };
        (0..count).map(sample).collect()
    }

    fn right(boosted: &Boosted, samples: &[(Vec<f64>, bool)]) -> f64 {
        let right = samples
            .iter()
            .filter(|(sample, is_yes)| (boosted.score(sample) > 0.0) == *is_yes);
        right.count() as f64 / samples.len() as f64
    }

    #[test]
    fn a_threshold_is_learnt() {
        let rule = |of: &[f64], _: &mut Rng| of[1] < 0.3;
        let boosted = Boosted::learn(&samples(1, 500, rule), 20);
        assert!(right(&boosted, &samples(2, 500, rule)) > 0.97);
        assert_eq!(boosted.strongest()[0].0, 1);
    }

    #[test]
    fn what_no_single_stump_tells_is_learnt_from_many() {
        let rule = |of: &[f64], _: &mut Rng| of[0] + of[1] + of[2] > 1.5;
        let (training, held_out) = (samples(3, 1_000, rule), samples(4, 1_000, rule));
        let one = right(&Boosted::learn(&training, 1), &held_out);
        let many = right(&Boosted::learn(&training, 200), &held_out);
        assert!(one < 0.8 && many > 0.93, "{one} {many}");
    }

    #[test]
    fn a_coin_is_not_learnt() {
        let coin = |_: &[f64], rng: &mut Rng| rng.below(2) == 0;
        let boosted = Boosted::learn(&samples(5, 1_000, coin), 100);
        let right = right(&boosted, &samples(6, 4_000, coin));
        assert!((0.47..0.53).contains(&right), "{right}");
    }

    #[test]
    fn nothing_to_learn_from_is_no_opinion() {
        assert_eq!(Boosted::learn(&[], 10).score(&[1.0]), 0.0);
        let same = vec![(vec![1.0], true), (vec![1.0], false)];
        assert_eq!(Boosted::learn(&same, 10).score(&[1.0]), 0.0);
    }
}
