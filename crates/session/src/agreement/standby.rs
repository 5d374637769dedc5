//! Which programs stand by to become host: by ability, and without changing sides at every fluctuation.

use core::time::Duration;

use super::view::Incarnation;

/// A challenger replaces a standby only if its cost is at most this share of the standby's, in percent.
const BETTER: u64 = 75;

/// What a program reports of itself, and others of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ability {
    /// The program.
    pub who: Incarnation,
    /// The time of a step of the simulation.
    pub step: Duration,
    /// What it can send, in bytes each second.
    pub upstream: u64,
    /// The median of its latencies to the others.
    pub latency: Duration,
}

/// What a host of this room has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The longest time of a step.
    pub step: Duration,
    /// What it sends, in bytes each second.
    pub upstream: u64,
}

impl Ability {
    /// Whether the program could host at all.
    pub fn meets(&self, demand: &Demand) -> bool {
        self.step <= demand.step && self.upstream >= demand.upstream
    }

    /// How much worse than a perfect host it is: the latency, and what it lacks in reserve. A program that cannot host costs more than any that can.
    fn cost(&self, demand: &Demand) -> u64 {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX >> 16);
        let share = |part: u64, whole: u64| (part.min(1 << 40) * 1000 / whole.max(1)).min(1 << 30);
        // 5 ms, so that the best connections do not differ by a factor for a millisecond.
        let latency = (5000 + micros(self.latency).min(1 << 30)) / 10;
        let step = share(micros(self.step), micros(demand.step)) * 2;
        let upstream = share(demand.upstream, self.upstream) * 2;
        let unfit = match self.meets(demand) {
            true => 0,
            false => 1 << 34,
        };
        latency + step + upstream + unfit
    }
}

/// The standbys of a host, the best first, at most `count`. `present` are those of whom the host knows what they can do, without the host itself; `standing` are the
/// present standbys. A standby that is there stays unless a challenger is better by a quarter.
pub fn choose_standbys(
    demand: &Demand,
    present: &[Ability],
    standing: &[Incarnation],
    count: usize,
) -> Vec<Incarnation> {
    let stands = |who: Incarnation| standing.contains(&who);
    let mut ranked: Vec<(u64, Incarnation)> = present
        .iter()
        .map(|ability| {
            let cost = ability.cost(demand);
            let favour = match stands(ability.who) {
                true => BETTER,
                false => 100,
            };
            (cost * favour, ability.who)
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup_by_key(|(_, who)| *who);
    ranked.truncate(count);
    let mut chosen: Vec<Incarnation> = ranked.into_iter().map(|(_, who)| who).collect();
    // The first is the tie-breaker: who stays keeps its place.
    chosen.sort_by_key(|who| standing.iter().position(|s| s == who).unwrap_or(usize::MAX));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: Demand = Demand {
        step: Duration::from_millis(8),
        upstream: 100_000,
    };

    fn ability(who: u64, step_us: u64, upstream: u64, latency_ms: u64) -> Ability {
        Ability {
            who: Incarnation(who),
            step: Duration::from_micros(step_us),
            upstream,
            latency: Duration::from_millis(latency_ms),
        }
    }

    fn chosen(present: &[Ability], standing: &[u64], count: usize) -> Vec<u64> {
        let standing: Vec<Incarnation> = standing.iter().map(|n| Incarnation(*n)).collect();
        let chosen = choose_standbys(&DEMAND, present, &standing, count);
        chosen.into_iter().map(|who| who.0).collect()
    }

    #[test]
    fn the_able_and_the_near_come_first() {
        let near = ability(1, 1000, 1_000_000, 20);
        let far = ability(2, 1000, 1_000_000, 150);
        let slow = ability(3, 20_000, 1_000_000, 1);
        let narrow = ability(4, 1000, 50_000, 1);
        let present = [far, slow, narrow, near];
        assert_eq!(chosen(&present, &[], 2), [1, 2]);
        assert_eq!(chosen(&present, &[], 3).len(), 3, "better one than none");
        assert_eq!(chosen(&present, &[], 0), [0; 0]);
        assert_eq!(chosen(&[], &[1], 2), [0; 0]);
    }

    #[test]
    fn fluctuation_changes_nothing_and_a_clear_difference_does() {
        let mut noise = 1u64;
        let mut standing = vec![1, 2];
        for _ in 0..1000 {
            let present: Vec<Ability> = (1..=6)
                .map(|who| {
                    noise = noise
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    ability(
                        who,
                        2000 + (noise >> 40) % 200,
                        400_000,
                        40 + (noise >> 50) % 5,
                    )
                })
                .collect();
            standing = chosen(&present, &standing, 2);
            assert_eq!(standing, [1, 2]);
        }
        let mut present: Vec<Ability> = (1..=3).map(|n| ability(n, 2000, 400_000, 40)).collect();
        present[0].latency = Duration::from_millis(200);
        assert_eq!(chosen(&present, &[1, 2], 2), [2, 3]);
        assert_eq!(
            chosen(&present, &[2, 3], 2),
            [2, 3],
            "nor does it swing back"
        );
    }

    #[test]
    fn a_standby_that_is_gone_is_replaced_and_the_others_keep_their_order() {
        let present: Vec<Ability> = [2, 3, 4].map(|n| ability(n, 2000, 400_000, 40)).to_vec();
        assert_eq!(chosen(&present, &[1, 4], 2), [4, 2]);
    }

    #[test]
    fn figures_beyond_reason_do_not_overflow() {
        let wild = ability(1, u64::MAX, 0, u64::MAX / 2_000);
        let present = [wild, ability(2, 0, u64::MAX, 0)];
        assert_eq!(chosen(&present, &[1], 1), [2]);
    }
}
