//! A crowd queues for matches in virtual time, plays them and is rated.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use samestep_matchmaking::{
    Entrant, FormedMatch, Host, Matchmaker, MatchmakerConfig, MatchmakerEvent, ModeConfig, ModeId,
    Outcome, PlayerId, Rating, RatingRecord, Ratings, RatingsConfig, Strength, Ticket, TicketId,
    imbalance, win_chances,
};
use samestep_netem::Rng;

use super::judge::{Block, can_make, is_even, rank_correlation};
use super::population::Population;
use crate::testmatch::processor_time;

const MODE: ModeId = ModeId(1);
/// What is measured begins with the tickets that come so much after the start.
const SETTLING: Duration = Duration::from_secs(60);
/// How long a match takes.
const MATCH: Duration = Duration::from_secs(60);
/// The uncertainty of a rating that is known.
const KNOWN: f64 = 1.0;
/// Matches that everyone plays where ratings are learned.
pub const MATCHES_EACH: u32 = 30;
/// Once so many people have played theirs, in percent, the queue is no longer what it was: waiting is not measured any more.
const STEADY_UNTIL: usize = 5;
/// Those who find nobody to play their last matches with do not hold up the run.
const DONE_AT: f64 = 0.995;

/// How a crowd queues.
#[derive(Clone, Copy, Debug)]
pub struct CrowdConfig {
    /// People altogether.
    pub players: usize,
    /// Where they live.
    pub regions: usize,
    /// Tickets each second and region.
    pub rate: f64,
    /// Sides of a match.
    pub sides: usize,
    /// Players of a side.
    pub side_size: usize,
    /// Share of tickets that are for a party of two.
    pub parties: f64,
    /// Ratings begin anew and everybody plays 30 matches; otherwise they are known.
    pub learns: bool,
    /// Tickets of each region that are measured.
    pub tickets: usize,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Time from ticket to match, in s; for those that ended without one the time until then.
    pub wait_s: Vec<f64>,
    /// Tickets that ended without a match.
    pub unmatched: usize,
    /// For each match how unequal its sides are, by the ratings and in truth.
    pub imbalance: Vec<(f64, f64)>,
    /// For each match how far the farthest of the others is from the ticket it was built round, in ms, and how much farther than it had to be.
    pub rtt_ms: Vec<(f64, f64)>,
    /// For each match how much farther its host is from the farthest player than the best of those that can host would be, in ms.
    pub host_excess_ms: Vec<f64>,
    /// Rank correlation of ratings and skills at the end.
    pub rank_correlation: f64,
    /// Most tickets that waited at once.
    pub most_waiting: usize,
    /// Processor time that the matchmaker took for each ticket, in µs.
    pub work_us: f64,
}

struct Queued {
    players: Vec<PlayerId>,
    since: Duration,
    is_counted: bool,
}

/// The crowd.
pub struct Crowd {
    config: CrowdConfig,
    population: Population,
    rng: Rng,
    matchmaker: Matchmaker,
    mode: ModeConfig,
    ratings: Ratings,
    /// Who neither waits nor plays, by region; who has played least comes first where ratings are learned.
    idle: Vec<BTreeSet<(u32, u64, PlayerId)>>,
    queued: BTreeMap<TicketId, Queued>,
    running: BTreeMap<(Duration, u64), FormedMatch>,
    counted: usize,
    done: usize,
    observed: Observed,
}

impl Crowd {
    /// Everybody is idle.
    pub fn new(config: CrowdConfig, seed: u64) -> Result<Self, String> {
        let population = Population::new(seed, config.players, config.regions);
        let mode = ModeConfig::new(config.sides, config.side_size);
        let settings = MatchmakerConfig::default().mode(MODE, mode.clone());
        let matchmaker = Matchmaker::new(settings).map_err(|error| error.to_string())?;
        let mut crowd = Self {
            idle: vec![BTreeSet::new(); config.regions],
            ratings: Ratings::new(RatingsConfig::default()),
            rng: Rng::stream(seed, 0),
            queued: BTreeMap::new(),
            running: BTreeMap::new(),
            counted: 0,
            done: 0,
            observed: Observed::default(),
            config,
            population,
            matchmaker,
            mode,
        };
        for number in 0..config.players {
            let player = PlayerId(number as u64);
            if !config.learns {
                let rating = Rating {
                    mean: crowd.population.person(player).skill,
                    uncertainty: KNOWN,
                };
                let record = RatingRecord {
                    player,
                    rating,
                    wins: 0,
                    draws: 0,
                    losses: 0,
                };
                crowd.ratings.restore(record).map_err(|e| e.to_string())?;
            }
            crowd.rest(player);
        }
        Ok(crowd)
    }

    /// Lets them queue and play until enough was seen.
    pub fn play(mut self) -> Result<Observed, String> {
        let mut arrivals: Vec<Duration> = (0..self.config.regions).map(|_| self.pause()).collect();
        let mut work = Duration::ZERO;
        let mut tickets = 0;
        loop {
            let arrival = arrivals.iter().copied().enumerate();
            let (region, arrival) = arrival.min_by_key(|(_, at)| *at).expect("a region");
            let look = self.matchmaker.poll_timeout();
            let end = self.running.first_key_value().map(|((at, _), _)| *at);
            let now = [Some(arrival), look, end].into_iter().flatten().min();
            let now = now.expect("there is always an arrival");
            if end == Some(now) {
                self.finish(now)?;
                continue;
            }
            let started = processor_time();
            if arrival == now {
                arrivals[region] += self.pause();
                tickets += usize::from(self.arrive(now, region)?);
            }
            self.matchmaker.handle_timeout(now);
            work += processor_time() - started;
            while let Some(event) = self.matchmaker.poll_event() {
                self.on_event(now, event)?;
            }
            self.observed.most_waiting = self.observed.most_waiting.max(self.queued.len());
            if self.is_over(now) {
                break;
            }
        }
        self.observed.work_us = work.as_secs_f64() * 1e6 / f64::from(tickets as u32);
        let pairs = self.population.people.iter().enumerate();
        let pairs = pairs.map(|(n, person)| {
            let rating = self.ratings.rating(PlayerId(n as u64));
            (person.skill, rating.mean)
        });
        self.observed.rank_correlation = rank_correlation(&pairs.collect::<Vec<_>>());
        Ok(self.observed)
    }

    fn is_over(&self, now: Duration) -> bool {
        if self.config.learns {
            return self.done as f64 >= DONE_AT * self.config.players as f64;
        }
        self.counted >= self.config.tickets * self.config.regions
            && self.queued.values().all(|queued| !queued.is_counted)
            && now > SETTLING
    }

    fn pause(&mut self) -> Duration {
        Duration::from_secs_f64(self.rng.exponential() / self.config.rate)
    }

    fn rest(&mut self, player: PlayerId) {
        let played = self.ratings.record(player).map_or(0, |r| r.matches());
        let played = if self.config.learns { played } else { 0 };
        if played >= MATCHES_EACH {
            return;
        }
        let region = self.population.person(player).region;
        self.idle[region].insert((played, self.rng.next_u64(), player));
    }

    /// Somebody of the region queues, if there is somebody.
    fn arrive(&mut self, now: Duration, region: usize) -> Result<bool, String> {
        let size = 1 + usize::from(self.rng.chance(self.config.parties));
        if self.idle[region].len() < size {
            return Ok(false);
        }
        let mut party = Vec::new();
        for _ in 0..size {
            let (_, _, player) = self.idle[region].pop_first().expect("it was counted");
            let person = self.population.person(player);
            party.push(Entrant {
                player,
                rating: self.ratings.rating(player),
                place: person.place.clone(),
                ability: Some(person.ability),
            });
        }
        let players = party.iter().map(|entrant| entrant.player).collect();
        let ticket = Ticket {
            mode: MODE,
            party,
            takes_vacancy: false,
        };
        let id = self.matchmaker.handle_ticket(now, ticket);
        let id = id.map_err(|error| error.to_string())?;
        let is_counted = now > SETTLING
            && match self.config.learns {
                true => self.done * 100 < STEADY_UNTIL * self.config.players,
                false => self.counted < self.config.tickets * self.config.regions,
            };
        self.counted += usize::from(is_counted);
        let queued = Queued {
            players,
            since: now,
            is_counted,
        };
        self.queued.insert(id, queued);
        Ok(true)
    }

    fn on_event(&mut self, now: Duration, event: MatchmakerEvent) -> Result<(), String> {
        match event {
            MatchmakerEvent::Formed(formed) => {
                self.observe(&formed);
                for ticket in &formed.tickets {
                    self.end(now, *ticket)?;
                }
                self.running.insert((now + MATCH, formed.id.0), formed);
                Ok(())
            }
            MatchmakerEvent::Expired(ticket) => {
                let queued = self.end(now, ticket)?;
                self.observed.unmatched += usize::from(queued.is_counted);
                for player in queued.players {
                    self.rest(player);
                }
                Ok(())
            }
            MatchmakerEvent::Filled { .. } => Err("there are no vacancies here".into()),
        }
    }

    fn end(&mut self, now: Duration, ticket: TicketId) -> Result<Queued, String> {
        let queued = self.queued.remove(&ticket);
        let queued = queued.ok_or("a ticket ended twice")?;
        if queued.is_counted {
            let waited = (now - queued.since).as_secs_f64();
            self.observed.wait_s.push(waited);
        }
        Ok(queued)
    }

    /// Judges a match while its tickets still stand in the queue with all others that could have been taken.
    fn observe(&mut self, formed: &FormedMatch) {
        let anchor = &self.queued[&formed.tickets[0]];
        if !anchor.is_counted {
            return;
        }
        let truth: Vec<Strength> = formed.sides.iter().map(|side| self.truth(side)).collect();
        self.observed
            .imbalance
            .push((formed.imbalance, imbalance(&truth)));
        let others = || formed.tickets[1..].iter().map(|id| &self.queued[id]);
        let farthest = others().map(|other| self.rtt_ms(anchor, other));
        let farthest = farthest.fold(0.0, f64::max);
        let best = self.best_available_ms(anchor, formed);
        self.observed.rtt_ms.push((farthest, farthest - best));
        if let Host::Player(host) = formed.host.host {
            let players: Vec<PlayerId> = formed.sides.iter().flatten().copied().collect();
            let excess = self
                .population
                .host_excess_ms(host, &players, &self.mode.demand);
            self.observed.host_excess_ms.push(excess);
        }
    }

    /// How far the farthest is in the best match that was available: of all that the ticket could have played with others in the queue, with differences of skill as large as the
    /// bounds of this match allowed, the one with the nearest farthest player.
    fn best_available_ms(&self, anchor: &Queued, formed: &FormedMatch) -> f64 {
        let bound = match self.config.side_size {
            1 => formed.tolerance.imbalance,
            _ => formed.tolerance.spread.max(formed.tolerance.imbalance),
        };
        let own = self.average(anchor);
        let candidates = self.queued.values().filter(|q| q.players != anchor.players);
        let acceptable = candidates.filter(|q| own.imbalance(&self.average(q)) <= bound);
        let near = acceptable.map(|q| (self.rtt_ms(anchor, q), self.block(q)));
        let mut near: Vec<(f64, Block)> = near.collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        let blocks: Vec<Block> = near.iter().map(|(_, block)| *block).collect();
        let missing = self.mode.players() - anchor.players.len();
        let shape = (self.config.sides, self.config.side_size);
        let mut chosen = vec![self.block(anchor)];
        let found = (0..blocks.len()).find(|last| {
            can_make(&blocks, *last, missing, &mut chosen, &mut |chosen| {
                is_even(chosen, shape, formed.tolerance.imbalance)
            })
        });
        found.map_or(f64::INFINITY, |last| near[last].0)
    }

    fn block(&self, queued: &Queued) -> Block {
        let ratings = queued.players.iter().map(|p| self.ratings.rating(*p));
        (
            queued.players.len(),
            Strength::of(&ratings.collect::<Vec<_>>()),
        )
    }

    fn average(&self, queued: &Queued) -> Rating {
        let ratings = queued.players.iter().map(|p| self.ratings.rating(*p));
        let ratings: Vec<Rating> = ratings.collect();
        let (count, strength) = (ratings.len() as f64, Strength::of(&ratings));
        Rating {
            mean: strength.mean / count,
            uncertainty: (strength.variance / count).sqrt(),
        }
    }

    fn rtt_ms(&self, a: &Queued, b: &Queued) -> f64 {
        let pairs = a
            .players
            .iter()
            .flat_map(|a| b.players.iter().map(move |b| (a, b)));
        let rtts = pairs.map(|(a, b)| self.population.rtt_ms(*a, *b));
        rtts.fold(0.0, f64::max)
    }

    /// What a side can, without any doubt.
    fn truth(&self, side: &[PlayerId]) -> Strength {
        let skills = side.iter().map(|p| self.population.person(*p).skill);
        Strength {
            mean: skills.sum(),
            variance: 0.0,
        }
    }

    /// The first match that is due ends as skill and luck decide.
    fn finish(&mut self, now: Duration) -> Result<(), String> {
        let Some((_, ended)) = self.running.pop_first() else {
            return Ok(());
        };
        debug_assert!(now >= MATCH);
        let mut left: Vec<usize> = (0..ended.sides.len()).collect();
        let mut places = vec![0; left.len()];
        for place in 1..=left.len() {
            let strengths = left.iter().map(|side| self.truth(&ended.sides[*side]));
            let chances = win_chances(&strengths.collect::<Vec<_>>());
            let mut luck = self.rng.f64();
            let mut lost = |chance: &f64| {
                luck -= chance;
                luck >= 0.0
            };
            let drawn = chances.iter().take_while(|chance| lost(chance)).count();
            places[left.remove(drawn.min(left.len() - 1))] = place as u8;
        }
        if ended.is_rated {
            let counted = self.ratings.count(&ended.sides, &Outcome { places });
            let counted = counted.map_err(|error| error.to_string())?;
            self.done += counted
                .iter()
                .filter(|r| r.matches() == MATCHES_EACH)
                .count();
        }
        self.matchmaker.handle_match_over(ended.id);
        for player in ended.sides.into_iter().flatten() {
            self.rest(player);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_crowd_is_matched_and_the_run_repeats_from_its_seed() {
        let config = CrowdConfig {
            players: 400,
            regions: 2,
            rate: 5.0,
            sides: 2,
            side_size: 2,
            parties: 0.3,
            learns: false,
            tickets: 100,
        };
        let play = || {
            Crowd::new(config, 3)
                .and_then(Crowd::play)
                .expect("it runs")
        };
        let (once, again) = (play(), play());
        assert_eq!(once.wait_s.len(), 200);
        assert!(once.imbalance.len() > 20 && once.rtt_ms.iter().all(|(_, excess)| *excess >= 0.0));
        assert_eq!((&once.wait_s, &once.rtt_ms), (&again.wait_s, &again.rtt_ms));
    }
}
