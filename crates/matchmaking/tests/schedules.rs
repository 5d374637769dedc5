//! Random schedules of everything that can be told to a matchmaker and to its results, judged by an oracle that keeps its own books.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use samestep_matchmaking::*;
use samestep_netem::Rng;

const MODES: [(usize, usize, Hosting); 5] = [
    (2, 1, Hosting::Players),
    (2, 3, Hosting::ServersOrPlayers),
    (4, 1, Hosting::Mesh),
    (2, 2, Hosting::Servers),
    (1, 3, Hosting::Players),
];
const PATIENCE: Duration = Duration::from_secs(30);
const CAPACITY: u32 = 3;

struct Pending {
    mode: ModeId,
    players: Vec<PlayerId>,
    since: Duration,
    takes_vacancy: bool,
}

struct Playing {
    mode: ModeId,
    players: BTreeSet<PlayerId>,
    began: Vec<Vec<PlayerId>>,
    server: Option<ServerId>,
    claims: BTreeMap<PlayerId, Outcome>,
    report: Option<Outcome>,
}

/// What the oracle knows.
#[derive(Default)]
struct Books {
    pending: BTreeMap<TicketId, Pending>,
    ended: BTreeSet<TicketId>,
    playing: BTreeMap<MatchId, Playing>,
    /// Free places that were told.
    vacancies: BTreeMap<(MatchId, usize), usize>,
    decided: BTreeSet<MatchId>,
    counts: [u64; 7],
}

#[derive(Clone, Copy)]
enum Seen {
    Formed,
    Filled,
    Expired,
    Cancelled,
    Agreed,
    NotCounted,
    Refused,
}

struct World {
    rng: Rng,
    now: Duration,
    matchmaker: Matchmaker,
    results: Results,
    ratings: Ratings,
    books: Books,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut config = MatchmakerConfig {
            max_tickets: 60,
            max_matches: 25,
            ..MatchmakerConfig::default()
        };
        for (id, (sides, side_size, hosting)) in MODES.into_iter().enumerate() {
            let mode = ModeConfig {
                hosting,
                patience: PATIENCE,
                ..ModeConfig::new(sides, side_size)
            };
            config = config.mode(ModeId(id as u16), mode);
        }
        let mut matchmaker = Matchmaker::new(config).expect("these settings make sense");
        for server in 0..2 {
            let beacon = BeaconId(server as u16);
            let offer = matchmaker.handle_server(ServerId(server), beacon, CAPACITY);
            offer.expect("there is room for two");
        }
        Self {
            rng: Rng::new(seed),
            now: Duration::ZERO,
            matchmaker,
            results: Results::new(ResultsConfig::default()),
            ratings: Ratings::new(RatingsConfig::default()),
            books: Books::default(),
        }
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let count = of.len() as u64;
        (count > 0).then(|| of[self.rng.range(0..count) as usize])
    }

    fn count(&mut self, what: Seen) {
        self.books.counts[what as usize] += 1;
    }

    fn place(&mut self) -> Place {
        let rng = &mut self.rng;
        let beacons = (0..3).map(|b| (BeaconId(b), Duration::from_millis(rng.range(1..120))));
        Place::new(beacons.collect::<Vec<_>>())
    }

    fn queue(&mut self) {
        let mode = self.rng.range(0..MODES.len() as u64) as usize;
        let (sides, side_size, _) = MODES[mode];
        // Sometimes a party that fills a match, sometimes one that fits nowhere, sometimes a player twice.
        let size = match self.rng.range(0..12) {
            0 => sides * side_size,
            1 => side_size + 1,
            _ => 1 + self.rng.range(0..side_size as u64) as usize,
        };
        let mut party = Vec::new();
        for _ in 0..size {
            let player = PlayerId(self.rng.range(0..150));
            let ability = HostAbility {
                step: Duration::from_micros(self.rng.range(500..20_000)),
                upstream: self.rng.range(1_000..1_000_000),
                failures: 0,
            };
            party.push(Entrant {
                player,
                rating: self.ratings.rating(player),
                place: self.place(),
                ability: self.rng.chance(0.8).then_some(ability),
            });
        }
        let players: Vec<PlayerId> = party.iter().map(|entrant| entrant.player).collect();
        let ticket = Ticket {
            mode: ModeId(mode as u16),
            party,
            takes_vacancy: self.rng.chance(0.5),
        };
        let (mode, takes_vacancy) = (ticket.mode, ticket.takes_vacancy);
        let distinct: BTreeSet<_> = players.iter().collect();
        let waits = |p: &PlayerId| self.books.pending.values().any(|t| t.players.contains(p));
        let plays = |p: &PlayerId| self.books.playing.values().any(|m| m.players.contains(p));
        let allowed = (size <= side_size || size == sides * side_size)
            && distinct.len() == size
            && !players.iter().any(|p| waits(p) || plays(p))
            && self.books.pending.len() < 60;
        match self.matchmaker.handle_ticket(self.now, ticket) {
            Ok(id) => {
                assert!(allowed, "a ticket was taken that should not have been");
                let pending = Pending {
                    mode,
                    players,
                    since: self.now,
                    takes_vacancy,
                };
                assert!(self.books.pending.insert(id, pending).is_none());
                assert!(!self.books.ended.contains(&id));
            }
            Err(error) => {
                assert!(!allowed, "refused: {error}");
                self.count(Seen::Refused);
            }
        }
    }

    fn end(&mut self, ticket: TicketId) -> Pending {
        assert!(self.books.ended.insert(ticket), "{ticket:?} ends twice");
        self.books.pending.remove(&ticket).expect("it waited")
    }

    fn cancel(&mut self) {
        let ids: Vec<TicketId> = self.books.pending.keys().copied().collect();
        if let Some(id) = self.pick(&ids) {
            assert!(self.matchmaker.handle_cancel(id));
            assert!(!self.matchmaker.handle_cancel(id));
            self.end(id);
            self.count(Seen::Cancelled);
        }
    }

    /// Somebody leaves a match; its place is offered, sometimes more than that.
    fn leave(&mut self) {
        let ids: Vec<MatchId> = self.books.playing.keys().copied().collect();
        let Some(id) = self.pick(&ids) else {
            return;
        };
        let players: Vec<PlayerId> = self.books.playing[&id].players.iter().copied().collect();
        let Some(player) = self.pick(&players) else {
            return;
        };
        assert!(self.matchmaker.handle_departure(id, player));
        assert!(!self.matchmaker.handle_departure(id, player));
        let playing = self.books.playing.get_mut(&id).expect("it runs");
        playing.players.remove(&player);
        let (sides, side_size, _) = MODES[usize::from(playing.mode.0)];
        let free = sides * side_size - playing.players.len();
        let (side, seats) = (
            self.rng.range(0..sides as u64) as usize,
            self.rng.range(0..4) as usize,
        );
        let strength = Strength {
            mean: 25.0 * side_size as f64,
            variance: 9.0,
        };
        let mut strengths = vec![strength; sides];
        strengths[side].mean -= 25.0 * seats as f64;
        let vacancy = Vacancy {
            match_id: id,
            side,
            seats,
            strengths,
            host: self.place(),
        };
        let taken = self.matchmaker.handle_vacancy(self.now, vacancy);
        assert_eq!(taken.is_ok(), seats <= side_size.min(free));
        if taken.is_ok() {
            self.books.vacancies.insert((id, side), seats);
        }
    }

    fn claim(&mut self) {
        let ids: Vec<MatchId> = self.books.playing.keys().copied().collect();
        let Some(id) = self.pick(&ids) else {
            return;
        };
        let playing = &self.books.playing[&id];
        let (began, server) = (playing.began.clone(), playing.server);
        let sides = began.len();
        // Most tell the truth, which is that side 0 has won.
        let winner = if self.rng.chance(0.8) {
            0
        } else {
            self.rng.range(0..sides as u64) as usize
        };
        let outcome = Outcome::won_by(winner, sides);
        if let Some(server) = server.filter(|_| self.rng.chance(0.2)) {
            let first = !self.books.decided.contains(&id);
            let reported = self
                .results
                .handle_report(self.now, id, server, outcome.clone());
            assert_eq!(reported == Ok(Claimed::Decisive), first);
            let playing = self.books.playing.get_mut(&id).expect("it runs");
            playing.report.get_or_insert(outcome);
            return;
        }
        let all: Vec<PlayerId> = began.into_iter().flatten().collect();
        let player = self.pick(&all).expect("somebody plays");
        let before = self.books.playing[&id].claims.get(&player).cloned();
        let claimed = self
            .results
            .handle_claim(self.now, id, player, outcome.clone());
        match before {
            Some(before) if before == outcome => assert_eq!(claimed, Ok(Claimed::Repeated)),
            Some(_) => assert_eq!(claimed, Err(ClaimError::Contradiction)),
            None => {
                assert!(claimed.is_ok(), "{claimed:?}");
                let playing = self.books.playing.get_mut(&id).expect("it runs");
                if !self.books.decided.contains(&id) {
                    playing.claims.insert(player, outcome);
                } else {
                    playing.claims.entry(player).or_insert(outcome);
                }
            }
        }
    }

    fn over(&mut self) {
        let ids: Vec<MatchId> = self.books.playing.keys().copied().collect();
        let Some(id) = self.pick(&ids) else {
            return;
        };
        assert!(self.matchmaker.handle_match_over(id));
        assert!(!self.matchmaker.handle_match_over(id));
        self.results.handle_match_over(self.now, id);
        // Its result may come later; the oracle judges it then by what it knows now.
        self.settle();
        self.results
            .handle_timeout(self.now + Duration::from_secs(60));
        self.settle();
        assert!(
            self.books.decided.contains(&id),
            "a match ends with a verdict"
        );
        self.books.playing.remove(&id);
        self.books.vacancies.retain(|(of, _), _| *of != id);
    }

    /// What was decided is held against the claims.
    fn settle(&mut self) {
        while let Some(decided) = self.results.poll_decided() {
            let id = decided.match_id;
            assert!(self.books.decided.insert(id), "{id:?} is decided twice");
            let playing = &self.books.playing[&id];
            assert_eq!(decided.sides, playing.began);
            let Verdict::Agreed(outcome) = &decided.verdict else {
                assert_eq!(playing.report, None);
                self.count(Seen::NotCounted);
                continue;
            };
            if playing.server.is_none() {
                let like: Vec<_> = playing
                    .claims
                    .iter()
                    .filter(|(_, c)| *c == outcome)
                    .collect();
                let sides = playing.began.iter();
                let sides = sides.filter(|side| like.iter().any(|(p, _)| side.contains(p)));
                let all = playing.began.iter().flatten().count();
                assert!(2 * like.len() > all && sides.count() >= playing.began.len().min(2));
            }
            if decided.is_rated {
                self.ratings
                    .count(&decided.sides, outcome)
                    .expect("it is a result");
            }
            self.count(Seen::Agreed);
        }
    }

    fn poll(&mut self) {
        self.matchmaker.handle_timeout(self.now);
        while let Some(event) = self.matchmaker.poll_event() {
            match event {
                MatchmakerEvent::Formed(formed) => self.on_formed(formed),
                MatchmakerEvent::Filled {
                    match_id,
                    side,
                    ticket,
                    players,
                } => {
                    let pending = self.end(ticket);
                    assert_eq!(pending.players, players);
                    assert!(pending.takes_vacancy);
                    let seats = self.books.vacancies.get_mut(&(match_id, side));
                    let seats = seats.expect("a place was free");
                    *seats = seats
                        .checked_sub(players.len())
                        .expect("and enough of them");
                    let playing = self.books.playing.get_mut(&match_id).expect("it runs");
                    assert_eq!(playing.mode, pending.mode);
                    let (sides, side_size, _) = MODES[usize::from(pending.mode.0)];
                    for player in players {
                        assert!(playing.players.insert(player));
                    }
                    assert!(playing.players.len() <= sides * side_size);
                    self.count(Seen::Filled);
                }
                MatchmakerEvent::Expired(ticket) => {
                    let pending = self.end(ticket);
                    assert!(self.now >= pending.since + PATIENCE);
                    self.count(Seen::Expired);
                }
            }
        }
        for pending in self.books.pending.values() {
            assert!(
                self.now < pending.since + PATIENCE,
                "nobody waits beyond its time"
            );
        }
        assert_eq!(self.matchmaker.waiting(), self.books.pending.len());
        assert_eq!(self.matchmaker.running(), self.books.playing.len());
        let mut all = BTreeSet::new();
        let playing = self.books.playing.values().flat_map(|m| &m.players);
        let waiting = self.books.pending.values().flat_map(|t| &t.players);
        for player in playing.chain(waiting) {
            assert!(all.insert(*player), "{player:?} is in two places");
        }
    }

    fn on_formed(&mut self, formed: FormedMatch) {
        let (sides, side_size, hosting) = MODES[usize::from(formed.mode.0)];
        assert_eq!(formed.sides.len(), sides);
        assert!(formed.sides.iter().all(|side| side.len() == side_size));
        let tickets: Vec<Pending> = formed.tickets.iter().map(|id| self.end(*id)).collect();
        let mut expected: Vec<PlayerId> = Vec::new();
        for ticket in &tickets {
            assert_eq!(ticket.mode, formed.mode);
            let of = |p: &PlayerId| formed.sides.iter().position(|side| side.contains(p));
            let on: BTreeSet<_> = ticket.players.iter().map(of).collect();
            assert!(on.len() == 1 || tickets.len() == 1, "a party is split");
            expected.extend(&ticket.players);
        }
        let mut players: Vec<PlayerId> = formed.sides.iter().flatten().copied().collect();
        players.sort_unstable();
        expected.sort_unstable();
        assert_eq!(players, expected);
        assert_eq!(formed.is_rated, tickets.len() > 1 && sides > 1);
        assert!(tickets.len() == 1 || formed.imbalance <= formed.tolerance.imbalance);
        assert!((formed.chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let server = match (formed.host.host, hosting) {
            (Host::Nobody, Hosting::Mesh) => None,
            (Host::Player(host), Hosting::Players | Hosting::ServersOrPlayers) => {
                assert!(players.contains(&host) && !formed.host.standbys.contains(&host));
                None
            }
            (Host::Server(server), Hosting::Servers | Hosting::ServersOrPlayers) => {
                let used = self
                    .books
                    .playing
                    .values()
                    .filter(|m| m.server == Some(server));
                assert!((used.count() as u32) < CAPACITY, "the server has no room");
                Some(server)
            }
            other => panic!("{other:?}"),
        };
        self.results
            .handle_formed(self.now, &formed)
            .expect("there is room");
        let playing = Playing {
            mode: formed.mode,
            players: players.into_iter().collect(),
            began: formed.sides,
            server,
            claims: BTreeMap::new(),
            report: None,
        };
        assert!(self.books.playing.insert(formed.id, playing).is_none());
        assert!(self.books.playing.len() <= 25);
        self.count(Seen::Formed);
    }

    fn run(mut self, steps: u32) -> ([u64; 7], Vec<RatingRecord>) {
        for _ in 0..steps {
            let pause = self.rng.range(0..400);
            // Sometimes the caller sleeps until something is due.
            let due = self.matchmaker.poll_timeout();
            let soon = due.filter(|at| pause < 40 && *at < self.now + PATIENCE);
            self.now = match soon {
                Some(at) => at.max(self.now),
                None => self.now + Duration::from_millis(pause),
            };
            self.poll();
            match self.rng.range(0..20) {
                0..=9 => self.queue(),
                10 => self.cancel(),
                11 => self.leave(),
                12..=17 => self.claim(),
                _ => self.over(),
            }
            self.settle();
        }
        let records = self.ratings.records().copied().collect();
        (self.books.counts, records)
    }
}

#[test]
fn no_schedule_breaks_the_promises() {
    let mut all = [0; 7];
    for seed in 0..200 {
        let (counts, _) = World::new(seed).run(1500);
        for (sum, count) in all.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    // Everything that can happen has happened, often.
    assert!(all.iter().all(|count| *count > 400), "{all:?}");
}

#[test]
fn a_schedule_repeats_from_its_seed() {
    for seed in 0..5 {
        let (once, again) = (World::new(seed).run(2000), World::new(seed).run(2000));
        assert_eq!(once, again);
    }
}
