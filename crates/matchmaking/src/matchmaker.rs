//! The matchmaker: takes tickets, looks for partners when it is time, and tells which matches were formed.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::backfill::Seats;
use crate::config::{ConfigError, MatchmakerConfig};
use crate::forming::Group;
use crate::host::{Host, HostChoice};
use crate::id::{BeaconId, MatchId, ModeId, PlayerId, ServerId, TicketId};
use crate::pool::{Pool, Spot};
use crate::rating::Rating;
use crate::ticket::{Ticket, TicketError};
use crate::widening::Tolerance;

/// A ticket is looked at again after this part of the time that it has waited.
const PATIENT: u32 = 32;

/// What the lobby is told. Every ticket ends once: formed, filled in, expired, or cancelled by whoever calls [`Matchmaker::handle_cancel`].
#[derive(Clone, Debug, PartialEq)]
pub enum MatchmakerEvent {
    /// A match was formed.
    Formed(FormedMatch),
    /// A ticket has taken places in a running match.
    Filled {
        /// Which match.
        match_id: MatchId,
        /// The side, as in the vacancy.
        side: usize,
        /// Which ticket.
        ticket: TicketId,
        /// Its players.
        players: Vec<PlayerId>,
    },
    /// Nobody was found in time.
    Expired(TicketId),
}

/// A match, ready to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct FormedMatch {
    /// Its id.
    pub id: MatchId,
    /// Its mode.
    pub mode: ModeId,
    /// Who plays on which side.
    pub sides: Vec<Vec<PlayerId>>,
    /// The chance of each side to win, as the ratings predict it.
    pub chances: Vec<f64>,
    /// How unequal the chances are ([`imbalance`](crate::imbalance)).
    pub imbalance: f64,
    /// Who hosts it, and why.
    pub host: HostChoice,
    /// The tickets that it ends; the match was built round the first.
    pub tickets: Vec<TicketId>,
    /// What the tickets accepted when it was formed.
    pub tolerance: Tolerance,
    /// Whether its result counts for ratings: not where all are on one side, nor among friends who play by themselves and could make each other win.
    pub is_rated: bool,
}

/// A ticket that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) ticket: Ticket,
    pub(crate) since: Duration,
    pub(crate) average: Rating,
    spot: Spot,
    next_look: Duration,
    expires: Duration,
}

/// A match that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) mode: ModeId,
    pub(crate) players: BTreeSet<PlayerId>,
    server: Option<ServerId>,
    ends: Duration,
}

/// A dedicated server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) beacon: BeaconId,
    capacity: u32,
    running: u32,
}

impl Server {
    pub(crate) fn has_room(&self) -> bool {
        self.running < self.capacity
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engaged {
    Waiting(TicketId),
    Playing(MatchId),
}

/// Forms matches of tickets. It knows no clock, network or storage: `now` is an argument that never goes back.
///
/// Who may speak for a player, and that ratings are those of the lobby's records, is the caller's to check.
#[derive(Debug)]
pub struct Matchmaker {
    pub(crate) config: MatchmakerConfig,
    pub(crate) waiting: BTreeMap<TicketId, Waiting>,
    pub(crate) pools: BTreeMap<ModeId, Pool>,
    pub(crate) matches: BTreeMap<MatchId, Running>,
    pub(crate) servers: BTreeMap<ServerId, Server>,
    /// Free places, by match and side.
    pub(crate) vacancies: BTreeMap<(MatchId, usize), Seats>,
    pub(crate) events: VecDeque<MatchmakerEvent>,
    engaged: BTreeMap<PlayerId, Engaged>,
    looks: BTreeSet<(Duration, TicketId)>,
    expiries: BTreeSet<(Duration, TicketId)>,
    ends: BTreeSet<(Duration, MatchId)>,
    next_ticket: TicketId,
    next_match: MatchId,
}

impl Matchmaker {
    /// An empty matchmaker.
    ///
    /// # Errors
    /// [`ConfigError`] if a mode's size is out of bounds, or tickets would be looked at without a pause or never.
    pub fn new(config: MatchmakerConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            next_match: config.first_match,
            config,
            waiting: BTreeMap::new(),
            pools: BTreeMap::new(),
            matches: BTreeMap::new(),
            servers: BTreeMap::new(),
            vacancies: BTreeMap::new(),
            events: VecDeque::new(),
            engaged: BTreeMap::new(),
            looks: BTreeSet::new(),
            expiries: BTreeSet::new(),
            ends: BTreeSet::new(),
            next_ticket: TicketId(1),
        })
    }

    /// Takes a ticket. Partners are looked for at the next [`handle_timeout`](Self::handle_timeout).
    ///
    /// # Errors
    /// [`TicketError`] says what is wrong with it, or who of its party waits or plays already.
    pub fn handle_ticket(
        &mut self,
        now: Duration,
        ticket: Ticket,
    ) -> Result<TicketId, TicketError> {
        let mode = self.config.modes.get(&ticket.mode);
        let mode = mode.ok_or(TicketError::UnknownMode(ticket.mode))?;
        ticket.check(mode)?;
        for entrant in &ticket.party {
            match self.engaged.get(&entrant.player) {
                Some(Engaged::Waiting(_)) => return Err(TicketError::Waiting(entrant.player)),
                Some(Engaged::Playing(_)) => return Err(TicketError::Playing(entrant.player)),
                None => {}
            }
        }
        let first = &ticket.party[0];
        let home = first.place.home();
        let home = home.ok_or(TicketError::Place(first.player))?;
        if self.waiting.len() >= self.config.max_tickets {
            return Err(TicketError::Full);
        }
        let id = self.next_ticket;
        self.next_ticket = TicketId(id.0 + 1);
        for entrant in &ticket.party {
            self.engaged.insert(entrant.player, Engaged::Waiting(id));
        }
        let average = ticket.average();
        let waiting = Waiting {
            since: now,
            average,
            spot: Spot::new(home, average.mean),
            next_look: now,
            expires: now.saturating_add(mode.patience),
            ticket,
        };
        let pool = self.pools.entry(waiting.ticket.mode).or_default();
        pool.insert(waiting.spot, id);
        self.looks.insert((waiting.next_look, id));
        self.expiries.insert((waiting.expires, id));
        self.waiting.insert(id, waiting);
        Ok(id)
    }

    /// Ends a ticket. False if it has ended already: an event tells how.
    pub fn handle_cancel(&mut self, ticket: TicketId) -> bool {
        self.end_ticket(ticket).is_some()
    }

    /// A dedicated server offers room for so many matches at once, at the place of a beacon; or changes its offer.
    ///
    /// # Errors
    /// [`ServerError`] if there are too many servers.
    pub fn handle_server(
        &mut self,
        server: ServerId,
        beacon: BeaconId,
        capacity: u32,
    ) -> Result<(), ServerError> {
        let is_full = self.servers.len() >= self.config.max_servers;
        if is_full && !self.servers.contains_key(&server) {
            return Err(ServerError);
        }
        let of_it = self.matches.values().filter(|m| m.server == Some(server));
        let running = of_it.count() as u32;
        let offer = Server {
            beacon,
            capacity,
            running,
        };
        self.servers.insert(server, offer);
        Ok(())
    }

    /// A server takes no further matches; those that it runs go on.
    pub fn handle_server_gone(&mut self, server: ServerId) {
        self.servers.remove(&server);
    }

    /// A match is over: its players may queue again, its server has room again. False if it does not run.
    pub fn handle_match_over(&mut self, id: MatchId) -> bool {
        let Some(running) = self.matches.remove(&id) else {
            return false;
        };
        self.ends.remove(&(running.ends, id));
        for player in &running.players {
            self.engaged.remove(player);
        }
        if let Some(server) = running.server.and_then(|id| self.servers.get_mut(&id)) {
            server.running = server.running.saturating_sub(1);
        }
        let sides = (id, 0)..=(id, usize::MAX);
        let seats: Vec<_> = self.vacancies.range(sides).map(|(at, _)| *at).collect();
        for at in seats {
            self.vacancies.remove(&at);
        }
        true
    }

    /// A player has left its match for good and may queue again. False if it is not in that match.
    pub fn handle_departure(&mut self, id: MatchId, player: PlayerId) -> bool {
        let running = self.matches.get_mut(&id);
        let was_there = running.is_some_and(|running| running.players.remove(&player));
        if was_there {
            self.engaged.remove(&player);
        }
        was_there
    }

    /// Does what is due: ends tickets whose time is over, fills free places, forms matches. Who waits longest is served first. If [`poll_timeout`](Self::poll_timeout) is not later
    /// than `now` afterwards, there is more to do.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some((_, id)) = self.ends.first().filter(|(at, _)| *at <= now).copied() {
            self.handle_match_over(id);
        }
        while let Some((_, id)) = self.expiries.first().filter(|(at, _)| *at <= now).copied() {
            self.end_ticket(id);
            self.events.push_back(MatchmakerEvent::Expired(id));
        }
        self.fill_vacancies(now);
        let due = self.looks.range(..=(now, TicketId(u64::MAX)));
        let due = due.take(self.config.looks_at_once);
        let mut due: Vec<TicketId> = due.map(|(_, id)| *id).collect();
        due.sort_unstable();
        for id in due {
            self.look(now, id);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let look = self.looks.first().map(|(at, _)| *at);
        let expiry = self.expiries.first().map(|(at, _)| *at);
        let end = self.ends.first().map(|(at, _)| *at);
        let seats = self.vacancies.values().map(|seats| seats.next_look).min();
        [look, expiry, end, seats].into_iter().flatten().min()
    }

    /// What has happened. Call until `None`.
    pub fn poll_event(&mut self) -> Option<MatchmakerEvent> {
        self.events.pop_front()
    }

    /// How many tickets wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many matches run.
    pub fn running(&self) -> usize {
        self.matches.len()
    }

    /// How long a ticket has waited; `None` if it has ended.
    pub fn waited(&self, now: Duration, ticket: TicketId) -> Option<Duration> {
        let waiting = self.waiting.get(&ticket)?;
        Some(now.saturating_sub(waiting.since))
    }

    pub(crate) fn longest_wait(&self, now: Duration) -> Duration {
        let oldest = self.waiting.first_key_value();
        oldest.map_or(Duration::ZERO, |(_, w)| now.saturating_sub(w.since))
    }

    fn look(&mut self, now: Duration, id: TicketId) {
        // An earlier look of this call may have taken it.
        let Some(waiting) = self.waiting.get_mut(&id) else {
            return;
        };
        self.looks.remove(&(waiting.next_look, id));
        let pause = (now.saturating_sub(waiting.since) / PATIENT).max(self.config.look_every);
        waiting.next_look = now.saturating_add(pause);
        self.looks.insert((waiting.next_look, id));
        if self.matches.len() >= self.config.max_matches {
            return;
        }
        if let Some(group) = self.form(now, id) {
            self.begin(now, group);
        }
    }

    fn begin(&mut self, now: Duration, group: Group) {
        let id = self.next_match;
        self.next_match = MatchId(id.0 + 1);
        let tickets = group.tickets.iter();
        let ended: Vec<Waiting> = tickets.filter_map(|id| self.end_ticket(*id)).collect();
        let players: BTreeSet<PlayerId> = group.sides.iter().flatten().copied().collect();
        for player in &players {
            self.engaged.insert(*player, Engaged::Playing(id));
        }
        let server = match group.host.host {
            Host::Server(server) => Some(server),
            Host::Player(_) | Host::Nobody => None,
        };
        if let Some(server) = server.and_then(|id| self.servers.get_mut(&id)) {
            server.running += 1;
        }
        let running = Running {
            mode: ended[0].ticket.mode,
            players,
            server,
            ends: now.saturating_add(self.config.longest_match),
        };
        let formed = FormedMatch {
            id,
            mode: running.mode,
            is_rated: group.tickets.len() > 1 && group.sides.len() > 1,
            sides: group.sides,
            chances: group.chances,
            imbalance: group.imbalance,
            host: group.host,
            tickets: group.tickets,
            tolerance: group.tolerance,
        };
        self.ends.insert((running.ends, id));
        self.matches.insert(id, running);
        self.events.push_back(MatchmakerEvent::Formed(formed));
    }

    /// Players of a ticket that has ended take part in a running match.
    pub(crate) fn add_players(&mut self, id: MatchId, players: &[PlayerId]) {
        let Some(running) = self.matches.get_mut(&id) else {
            return;
        };
        for player in players {
            running.players.insert(*player);
            self.engaged.insert(*player, Engaged::Playing(id));
        }
    }

    pub(crate) fn end_ticket(&mut self, id: TicketId) -> Option<Waiting> {
        let waiting = self.waiting.remove(&id)?;
        self.looks.remove(&(waiting.next_look, id));
        self.expiries.remove(&(waiting.expires, id));
        if let Some(pool) = self.pools.get_mut(&waiting.ticket.mode) {
            pool.remove(waiting.spot, id);
        }
        for entrant in &waiting.ticket.party {
            self.engaged.remove(&entrant.player);
        }
        Some(waiting)
    }
}

/// There are too many servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many servers offer room: raise max_servers, or remove those that are gone")]
pub struct ServerError;
