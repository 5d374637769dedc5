//! Who hosts a match: a player by ability, or a dedicated server with room.
//!
//! Ability is the time of a step of the game's own simulation, as a timed task on the player's machine shows it; what it can send; and how far the others are. The costs
//! are weighed as for the standbys of a running match (`choose_standbys` of `samestep-session`), so that who was the best host before the match is not a bad one in it.

use core::time::Duration;

use crate::id::{PlayerId, ServerId};

/// What a host of a mode has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDemand {
    /// The longest time of a step.
    pub step: Duration,
    /// What it sends, in bytes each second.
    pub upstream: u64,
    /// How many of the others are named to stand by for it.
    pub standbys: usize,
}

impl Default for HostDemand {
    fn default() -> Self {
        Self {
            step: Duration::from_millis(10),
            upstream: 32_000,
            standbys: 2,
        }
    }
}

/// What a player says of its machine. Who exaggerates becomes host of a game that stutters; it gains no power that another host would not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAbility {
    /// The time of a step of the game's simulation: see [`HostAbility::timed`].
    pub step: Duration,
    /// What it can send, in bytes each second.
    pub upstream: u64,
    /// Matches that it hosted lately and that were lost with it, by the lobby's own count.
    pub failures: u32,
}

impl HostAbility {
    /// The ability of a machine on which steps of a full game took so long: the time within which 19 of 20 of them are done. The steps are those of a recorded match,
    /// the same for all players, at least 100 of them. `None` without any.
    pub fn timed(steps: &[Duration], upstream: u64) -> Option<Self> {
        let mut steps = steps.to_vec();
        steps.sort_unstable();
        let last = steps.len().checked_sub(1)?;
        Some(Self {
            step: steps[(steps.len() * 19 / 20).min(last)],
            upstream,
            failures: 0,
        })
    }

    /// Whether it can host at all.
    pub fn meets(&self, demand: &HostDemand) -> bool {
        self.step <= demand.step && self.upstream >= demand.upstream
    }

    /// How much worse than a perfect host it is: in units of 10 µs of latency, to which reserves are added. Who cannot host costs more than who can.
    fn cost(&self, demand: &HostDemand, latency: Duration) -> u64 {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let share = |part: u64, whole: u64| (part.min(1 << 40) * 1000 / whole.max(1)).min(1 << 30);
        let way = (5000 + micros(latency).min(1 << 30)) / 10;
        let step = share(micros(self.step), micros(demand.step)) * 2;
        let upstream = share(demand.upstream, self.upstream) * 2;
        // A lost match weighs as much as 50 ms.
        let failures = u64::from(self.failures.min(1000)) * 5000;
        let unfit = match self.meets(demand) {
            true => 0,
            false => 1 << 34,
        };
        way + step + upstream + failures + unfit
    }
}

/// Who hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// This player; the others join it.
    Player(PlayerId),
    /// This server; a place on it is taken until the match is over.
    Server(ServerId),
    /// Nobody: a mesh.
    Nobody,
}

/// Why that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostReason {
    /// A server with room is near enough.
    ServerWithRoom,
    /// All are equal in this mode.
    Mesh,
    /// It is the only player that can.
    OnlyOne,
    /// Of those that can it is the nearest to all others.
    Nearest,
    /// Another that can is nearer, but has less in reserve, or lost matches before.
    MoreInReserve,
    /// None has what the mode demands: it is the one that lacks least.
    LacksLeast,
}

/// The choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostChoice {
    /// Who hosts.
    pub host: Host,
    /// Why.
    pub reason: HostReason,
    /// The longest round trip between the host and a player; in a mesh between two players.
    pub worst_rtt: Duration,
    /// The players that take its place if it is lost, the best first.
    pub standbys: Vec<PlayerId>,
}

/// A player that may be host: `ability` is `None` for one that cannot or does not want to. `worst_rtt` is that to the farthest of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCandidate {
    /// The player.
    pub player: PlayerId,
    /// What it can.
    pub ability: Option<HostAbility>,
    /// The round trip to the farthest of the others.
    pub worst_rtt: Duration,
}

/// The best of the players as host, and those that stand by. `None` if nobody is able and willing.
pub fn choose_host(demand: &HostDemand, players: &[HostCandidate]) -> Option<HostChoice> {
    let cost = |candidate: &HostCandidate| {
        let ability = candidate.ability?;
        Some(ability.cost(demand, candidate.worst_rtt / 2))
    };
    let ranked = players.iter().filter_map(|c| Some((cost(c)?, c.player, c)));
    let mut ranked: Vec<(u64, PlayerId, &HostCandidate)> = ranked.collect();
    ranked.sort_unstable_by_key(|(cost, player, _)| (*cost, *player));
    let (_, player, best) = ranked.first()?;
    let able = ranked.iter().map(|(_, _, candidate)| *candidate);
    let able = able.filter(|c| c.ability.is_some_and(|ability| ability.meets(demand)));
    let reason = match (able.clone().count(), able.map(|c| c.worst_rtt).min()) {
        (0, _) => HostReason::LacksLeast,
        (1, _) => HostReason::OnlyOne,
        (_, nearest) if nearest == Some(best.worst_rtt) => HostReason::Nearest,
        _ => HostReason::MoreInReserve,
    };
    let others = ranked.iter().skip(1).map(|(_, player, _)| *player);
    Some(HostChoice {
        host: Host::Player(*player),
        reason,
        worst_rtt: best.worst_rtt,
        standbys: others.take(demand.standbys).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMAND: HostDemand = HostDemand {
        step: Duration::from_millis(8),
        upstream: 100_000,
        standbys: 2,
    };

    fn candidate(player: u64, step_us: u64, upstream: u64, rtt_ms: u64) -> HostCandidate {
        HostCandidate {
            player: PlayerId(player),
            ability: Some(HostAbility {
                step: Duration::from_micros(step_us),
                upstream,
                failures: 0,
            }),
            worst_rtt: Duration::from_millis(rtt_ms),
        }
    }

    fn chosen(players: &[HostCandidate]) -> (u64, HostReason, Vec<u64>) {
        let choice = choose_host(&DEMAND, players).expect("somebody can");
        let Host::Player(PlayerId(host)) = choice.host else {
            panic!("a player hosts");
        };
        let standbys = choice.standbys.iter().map(|player| player.0);
        (host, choice.reason, standbys.collect())
    }

    #[test]
    fn the_able_and_the_near_come_first() {
        let near = candidate(1, 1000, 1_000_000, 40);
        let far = candidate(2, 1000, 1_000_000, 300);
        let slow = candidate(3, 20_000, 1_000_000, 2);
        let narrow = candidate(4, 1000, 50_000, 2);
        let all = [far, slow, narrow, near];
        assert_eq!(chosen(&all), (1, HostReason::Nearest, vec![2, 4]));
        assert_eq!(chosen(&[slow, far]), (2, HostReason::OnlyOne, vec![3]));
        assert_eq!(chosen(&[slow, narrow]).1, HostReason::LacksLeast);
    }

    #[test]
    fn a_machine_with_reserve_beats_one_that_is_slightly_nearer() {
        let barely = candidate(1, 7900, 100_000, 38);
        let easily = candidate(2, 500, 5_000_000, 42);
        let (host, reason, _) = chosen(&[barely, easily]);
        assert_eq!((host, reason), (2, HostReason::MoreInReserve));
    }

    #[test]
    fn who_lost_matches_before_is_asked_last() {
        let mut near = candidate(1, 1000, 1_000_000, 20);
        near.ability.as_mut().expect("it has one").failures = 3;
        let far = candidate(2, 1000, 1_000_000, 150);
        assert_eq!(chosen(&[near, far]).0, 2);
    }

    #[test]
    fn nobody_hosts_who_does_not_want_to() {
        let mut unwilling = candidate(1, 1, u64::MAX, 0);
        unwilling.ability = None;
        assert_eq!(choose_host(&DEMAND, &[unwilling]), None);
        assert_eq!(chosen(&[unwilling, candidate(2, 9000, 0, 500)]).0, 2);
    }

    #[test]
    fn figures_beyond_reason_do_not_overflow() {
        let wild = HostCandidate {
            player: PlayerId(1),
            ability: Some(HostAbility {
                step: Duration::MAX,
                upstream: 0,
                failures: u32::MAX,
            }),
            worst_rtt: Duration::MAX,
        };
        assert_eq!(chosen(&[wild, candidate(2, 0, u64::MAX, 0)]).0, 2);
    }

    #[test]
    fn the_timed_task_counts_its_slow_steps() {
        let mut steps = vec![Duration::from_millis(2); 94];
        steps.extend([Duration::from_millis(9); 6]);
        let ability = HostAbility::timed(&steps, 1).expect("there are steps");
        assert_eq!(ability.step, Duration::from_millis(9));
        assert_eq!(HostAbility::timed(&[], 1), None);
    }
}
