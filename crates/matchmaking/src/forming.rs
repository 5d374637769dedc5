//! Building a match round a ticket: candidates near it in skill and distance, the cheapest group of them that fits together, even sides, and a host.

use core::time::Duration;
use std::cell::OnceCell;

use crate::config::{Hosting, ModeConfig};
use crate::host::{Host, HostCandidate, HostChoice, HostReason, choose_host};
use crate::id::{PlayerId, TicketId};
use crate::matchmaker::{Matchmaker, Waiting};
use crate::place::estimate;
use crate::rating::{Rating, Strength, gap_of, imbalance, win_chances};
use crate::sides::{Block, divide};
use crate::ticket::Entrant;
use crate::widening::Tolerance;

/// Candidates of each neighbourhood that are looked at.
const NEIGHBOURS: usize = 32;

/// Candidates that groups are made of: as many as a word has bits.
const SHORTLIST: usize = u32::BITS as usize;

/// Up to so many missing players every group is tried in turn; of more there are too many.
const SMALL: usize = 3;

/// Candidates that are tried in groups at one look of a ticket.
const MAX_TRIES: u32 = 500;

/// Within what is acceptable the way counts most: players feel it in every second. An imbalance of 0.1 costs as much as so many milliseconds of round trip.
const IMBALANCE_COST_MS: f64 = 3.0;

/// A match that could be formed.
pub(crate) struct Group {
    pub(crate) tickets: Vec<TicketId>,
    pub(crate) sides: Vec<Vec<PlayerId>>,
    pub(crate) chances: Vec<f64>,
    pub(crate) imbalance: f64,
    pub(crate) tolerance: Tolerance,
    pub(crate) host: HostChoice,
}

struct Candidate<'a> {
    id: TicketId,
    waiting: &'a Waiting,
    tolerance: Tolerance,
    cost: f64,
}

impl Matchmaker {
    /// The best match found round a ticket, if there is an acceptable one.
    pub(crate) fn form(&self, now: Duration, anchor: TicketId) -> Option<Group> {
        let waiting = self.waiting.get(&anchor)?;
        let mode = self.config.modes.get(&waiting.ticket.mode)?;
        let lacks_server = self.servers.values().all(|server| !server.has_room());
        if mode.hosting == Hosting::Servers && lacks_server {
            return None;
        }
        let tolerance = mode.widening.after(now.saturating_sub(waiting.since));
        let missing = mode.players() - waiting.ticket.party.len();
        let candidates = match missing {
            0 => Vec::new(),
            _ => self.candidates(now, mode, waiting, anchor, tolerance),
        };
        let own = Candidate {
            id: anchor,
            waiting,
            tolerance,
            cost: 0.0,
        };
        let mut grouping = Grouping {
            matchmaker: self,
            mode,
            candidates: &candidates,
            chosen: vec![&own],
            tries: 0,
        };
        grouping.find(missing)
    }

    /// Whom a ticket could play with, the best first.
    fn candidates<'a>(
        &'a self,
        now: Duration,
        mode: &ModeConfig,
        own: &Waiting,
        anchor: TicketId,
        tolerance: Tolerance,
    ) -> Vec<Candidate<'a>> {
        let Some(pool) = self.pools.get(&own.ticket.mode) else {
            return Vec::new();
        };
        // A more patient partner may accept more than this ticket does.
        let widest = tolerance.or(mode.widening.after(self.longest_wait(now)));
        let newcomer = Rating::default().uncertainty;
        let variance = own.average.uncertainty.powi(2) + newcomer * newcomer;
        let reach = gap_of(spread(mode, widest), variance);
        let (beacons, mean) = (own.ticket.party[0].place.beacons(), own.average.mean);
        let near = pool.near(beacons, widest.rtt, mean, reach, NEIGHBOURS);
        let mut found: Vec<Candidate> = near
            .filter(|id| *id != anchor)
            .filter_map(|id| {
                let waiting = self.waiting.get(&id)?;
                let waited = now.saturating_sub(waiting.since);
                let tolerance = tolerance.or(mode.widening.after(waited));
                let (rtt, imbalance) = fits(mode, own, waiting, tolerance)?;
                Some(Candidate {
                    id,
                    waiting,
                    tolerance,
                    cost: cost(rtt, imbalance),
                })
            })
            .collect();
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.id.cmp(&b.id)));
        found.truncate(SHORTLIST);
        found
    }
}

/// How different two players of one match may be: in teams more than the teams themselves.
fn spread(mode: &ModeConfig, tolerance: Tolerance) -> f64 {
    match mode.side_size {
        1 => tolerance.imbalance,
        _ => tolerance.spread.max(tolerance.imbalance),
    }
}

/// The round trip and the imbalance of two tickets, if both are acceptable.
fn fits(
    mode: &ModeConfig,
    a: &Waiting,
    b: &Waiting,
    tolerance: Tolerance,
) -> Option<(Duration, f64)> {
    let imbalance = a.average.imbalance(&b.average);
    // Against the game itself nobody's chances differ.
    let is_even = mode.sides == 1 || imbalance <= spread(mode, tolerance);
    let rtt = a.ticket.worst_rtt(&b.ticket).filter(|_| is_even)?;
    (rtt <= tolerance.rtt).then_some((rtt, imbalance))
}

fn cost(rtt: Duration, imbalance: f64) -> f64 {
    rtt.as_secs_f64() * 1e3 + imbalance / 0.1 * IMBALANCE_COST_MS
}

/// The search for a group; of a small one the most expensive candidate is as cheap as possible.
struct Grouping<'a> {
    matchmaker: &'a Matchmaker,
    mode: &'a ModeConfig,
    candidates: &'a [Candidate<'a>],
    chosen: Vec<&'a Candidate<'a>>,
    tries: u32,
}

impl<'a> Grouping<'a> {
    fn find(&mut self, missing: usize) -> Option<Group> {
        match missing {
            0 => self.judge(),
            1..=SMALL => (0..self.candidates.len()).find_map(|last| self.add(last, missing)),
            _ => self.fill(missing),
        }
    }

    /// A large group: from one candidate on whoever fits all before, the cheapest first; if that does not make a match, from the next candidate on.
    fn fill(&mut self, missing: usize) -> Option<Group> {
        let count = self.candidates.len();
        let suiting = self.suiting();
        for first in 0..count {
            let (mut left, mut open) = (missing, u32::MAX << first);
            while left > 0 && open != 0 {
                let next = open.trailing_zeros() as usize;
                open &= !(1 << next);
                let Some(candidate) = self.candidates.get(next) else {
                    break;
                };
                let size = candidate.waiting.ticket.party.len();
                if size <= left {
                    self.chosen.push(candidate);
                    left -= size;
                    open &= suiting[next];
                }
            }
            let found = if left == 0 { self.judge() } else { None };
            self.chosen.truncate(1);
            self.tries += 1;
            if found.is_some() || self.tries > MAX_TRIES {
                return found;
            }
        }
        None
    }

    /// For each candidate which others it fits, as bits.
    fn suiting(&self) -> Vec<u32> {
        let mut suiting = vec![0; self.candidates.len()];
        for (a, own) in self.candidates.iter().enumerate() {
            for (b, other) in self.candidates.iter().enumerate().skip(a + 1) {
                let tolerance = own.tolerance.or(other.tolerance);
                if fits(self.mode, own.waiting, other.waiting, tolerance).is_some() {
                    suiting[a] |= 1 << b;
                    suiting[b] |= 1 << a;
                }
            }
        }
        suiting
    }

    /// A group with this candidate and cheaper ones.
    fn add(&mut self, index: usize, missing: usize) -> Option<Group> {
        let candidate = &self.candidates[index];
        let size = candidate.waiting.ticket.party.len();
        self.tries += 1;
        if self.tries > MAX_TRIES || size > missing || !self.suits(candidate) {
            return None;
        }
        self.chosen.push(candidate);
        let found = match missing - size {
            0 => self.judge(),
            missing => (0..index).find_map(|cheaper| self.add(cheaper, missing)),
        };
        self.chosen.pop();
        found
    }

    /// Whether a candidate fits those that were chosen before; the first of them it fits anyway.
    fn suits(&self, candidate: &Candidate) -> bool {
        self.chosen[1..].iter().all(|other| {
            let tolerance = candidate.tolerance.or(other.tolerance);
            fits(self.mode, other.waiting, candidate.waiting, tolerance).is_some()
        })
    }

    /// Divides the chosen into sides, and says whether that makes a match.
    fn judge(&mut self) -> Option<Group> {
        let mode = self.mode;
        let tolerances = self.chosen.iter().map(|c| c.tolerance);
        let tolerance = tolerances.reduce(Tolerance::or)?;
        let party = |c: &&Candidate<'a>| c.waiting.ticket.party.iter();
        // A party that fills the match plays among its own.
        let is_private = self.chosen.len() == 1;
        let blocks: Vec<Vec<&Entrant>> = match is_private {
            true => self
                .chosen
                .iter()
                .flat_map(party)
                .map(|e| vec![e])
                .collect(),
            false => self.chosen.iter().map(|c| party(c).collect()).collect(),
        };
        let strength = |block: &Vec<&Entrant>| {
            let ratings: Vec<Rating> = block.iter().map(|entrant| entrant.rating).collect();
            Strength::of(&ratings)
        };
        let sizes = blocks.iter().map(|block| Block {
            size: block.len(),
            strength: strength(block),
        });
        let sizes: Vec<Block> = sizes.collect();
        let placed = divide(&sizes, mode.sides, mode.side_size)?;
        let mut strengths = vec![Strength::default(); mode.sides];
        for (block, side) in sizes.iter().zip(&placed) {
            strengths[*side] = strengths[*side].plus(block.strength);
        }
        let imbalance = imbalance(&strengths);
        if imbalance > tolerance.imbalance && !is_private {
            return None;
        }
        let mut sides = vec![Vec::new(); mode.sides];
        for (entrants, side) in blocks.iter().zip(&placed) {
            sides[*side].extend(entrants.iter().map(|entrant| entrant.player));
        }
        let entrants: Vec<&Entrant> = blocks.into_iter().flatten().collect();
        let Some(host) = self.matchmaker.host(mode, &entrants) else {
            // Where nobody here can host and no server has room, other groups hardly fare better.
            self.tries += MAX_TRIES / 8;
            return None;
        };
        Some(Group {
            tickets: self.chosen.iter().map(|c| c.id).collect(),
            sides,
            chances: win_chances(&strengths),
            imbalance,
            tolerance,
            host,
        })
    }
}

impl Matchmaker {
    /// Who hosts a match of these players. `None` if a host is needed and there is none.
    fn host(&self, mode: &ModeConfig, entrants: &[&Entrant]) -> Option<HostChoice> {
        let cell = OnceCell::new();
        let by_player = || {
            cell.get_or_init(|| candidates_for_host(entrants))
                .as_slice()
        };
        let a_player = || choose_host(&mode.demand, by_player());
        let choice = match mode.hosting {
            Hosting::Players => a_player()?,
            Hosting::Servers => self.nearest_server(entrants)?,
            Hosting::ServersOrPlayers => match (self.nearest_server(entrants), a_player()) {
                (Some(server), Some(player))
                    if server.worst_rtt > player.worst_rtt + self.config.server_margin =>
                {
                    player
                }
                (Some(server), _) => server,
                (None, player) => player?,
            },
            Hosting::Mesh => HostChoice {
                host: Host::Nobody,
                reason: HostReason::Mesh,
                worst_rtt: by_player().iter().map(|c| c.worst_rtt).max()?,
                standbys: Vec::new(),
            },
        };
        Some(choice)
    }

    /// The server with room to which the longest round trip is shortest, of those that every player has measured.
    fn nearest_server(&self, entrants: &[&Entrant]) -> Option<HostChoice> {
        let with_room = self.servers.iter().filter(|(_, server)| server.has_room());
        let reached = with_room.filter_map(|(id, server)| {
            let mut worst = Duration::ZERO;
            for entrant in entrants {
                worst = worst.max(entrant.place.to_beacon(server.beacon)?);
            }
            Some((worst, *id))
        });
        let (worst_rtt, id) = reached.min()?;
        Some(HostChoice {
            host: Host::Server(id),
            reason: HostReason::ServerWithRoom,
            worst_rtt,
            standbys: Vec::new(),
        })
    }
}

fn candidates_for_host(entrants: &[&Entrant]) -> Vec<HostCandidate> {
    let rtt = |a: &Entrant, b: &Entrant| {
        let known = estimate((a.player, &a.place), (b.player, &b.place));
        // Members of one party may not have a beacon in common; they know what they do.
        known.unwrap_or_default()
    };
    let candidate = |own: &&Entrant| HostCandidate {
        player: own.player,
        ability: own.ability,
        worst_rtt: entrants
            .iter()
            .filter(|other| other.player != own.player)
            .map(|other| rtt(own, other))
            .max()
            .unwrap_or_default(),
    };
    entrants.iter().map(candidate).collect()
}
