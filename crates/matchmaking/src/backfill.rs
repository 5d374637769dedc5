//! Backfill: players that have left a running match are replaced from the queue.

use core::time::Duration;

use crate::id::{MatchId, TicketId};
use crate::matchmaker::{Matchmaker, MatchmakerEvent};
use crate::place::Place;
use crate::rating::{Rating, Strength, gap_of, imbalance};

/// Candidates of each neighbourhood that are looked at.
const NEIGHBOURS: usize = 32;

/// How far the skill of a substitute may be from the one that would even the sides: as far as two with this imbalance are apart, however long the place is free.
const REACH: f64 = 0.35;

/// Free places on a side of a running match. Only who runs the match may say so: its host or its server.
#[derive(Clone, Debug, PartialEq)]
pub struct Vacancy {
    /// Which match.
    pub match_id: MatchId,
    /// Which side: its number in [`FormedMatch::sides`](crate::FormedMatch::sides).
    pub side: usize,
    /// How many places are free. None ends the vacancy.
    pub seats: usize,
    /// Who still plays, by side, from the lobby's records.
    pub strengths: Vec<Strength>,
    /// Where the host or the server is.
    pub host: Place,
}

#[derive(Debug)]
pub(crate) struct Seats {
    vacancy: Vacancy,
    since: Duration,
    pub(crate) next_look: Duration,
}

/// Why a vacancy is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VacancyError {
    /// The match does not run.
    #[error("match {} does not run: vacancies are for matches that were formed here and are not over", .0.0)]
    UnknownMatch(MatchId),
    /// Sides or seats do not fit the mode.
    #[error(
        "the match has {sides} sides of {side_size}: name one of them, at most as many free seats, and a strength of each that so many players can have"
    )]
    Seats {
        /// The sides of the mode.
        sides: usize,
        /// The players of each.
        side_size: usize,
    },
    /// The host's place is out of bounds.
    #[error("the host must have measured the round trip to 1 to 16 beacons, each at most 10 s")]
    Place,
    /// There are too many vacancies.
    #[error("too many places wait to be filled: try again in a moment")]
    Full,
}

impl Matchmaker {
    /// Places of a running match are free; an earlier vacancy of the same side is replaced. Substitutes come as [`MatchmakerEvent::Filled`].
    ///
    /// # Errors
    /// [`VacancyError`] says what is wrong with it.
    pub fn handle_vacancy(&mut self, now: Duration, vacancy: Vacancy) -> Result<(), VacancyError> {
        let running = self.matches.get(&vacancy.match_id);
        let running = running.ok_or(VacancyError::UnknownMatch(vacancy.match_id))?;
        let mode = &self.config.modes[&running.mode];
        let room = mode.players().saturating_sub(running.players.len());
        let mut strengths = vacancy.strengths.iter();
        if vacancy.side >= mode.sides
            || vacancy.seats > mode.side_size.min(room)
            || vacancy.strengths.len() != mode.sides
            || !strengths.all(Strength::is_valid)
        {
            return Err(VacancyError::Seats {
                sides: mode.sides,
                side_size: mode.side_size,
            });
        }
        let at = (vacancy.match_id, vacancy.side);
        if vacancy.seats == 0 {
            self.vacancies.remove(&at);
            return Ok(());
        }
        if !vacancy.host.is_valid() {
            return Err(VacancyError::Place);
        }
        let is_full = self.vacancies.len() >= self.config.max_vacancies;
        if is_full && !self.vacancies.contains_key(&at) {
            return Err(VacancyError::Full);
        }
        let seats = Seats {
            vacancy,
            since: now,
            next_look: now,
        };
        self.vacancies.insert(at, seats);
        Ok(())
    }

    pub(crate) fn fill_vacancies(&mut self, now: Duration) {
        let due = self.vacancies.iter().filter(|(_, s)| s.next_look <= now);
        let due: Vec<(MatchId, usize)> = due.map(|(at, _)| *at).collect();
        for at in due {
            while let Some(ticket) = self.substitute(now, at) {
                self.fill(at, ticket);
            }
            if let Some(seats) = self.vacancies.get_mut(&at) {
                seats.next_look = now.saturating_add(self.config.look_every);
            }
        }
    }

    /// The ticket that makes a match most even again.
    fn substitute(&self, now: Duration, at: (MatchId, usize)) -> Option<TicketId> {
        let seats = self.vacancies.get(&at)?;
        let vacancy = &seats.vacancy;
        let running = self.matches.get(&at.0)?;
        let free = self.config.modes[&running.mode].players() - running.players.len();
        let mode_id = running.mode;
        let widening = &self.config.modes[&mode_id].widening;
        let own = vacancy.strengths[vacancy.side].mean;
        let others = vacancy.strengths.iter().enumerate();
        let others = others.filter(|(side, _)| *side != vacancy.side);
        let others: Vec<f64> = others.map(|(_, strength)| strength.mean).collect();
        let fair = match others.len() {
            0 => own + Rating::default().mean * vacancy.seats as f64,
            count => others.iter().sum::<f64>() / count as f64,
        };
        // What each of the substitutes should bring.
        let wanted = Rating {
            mean: (fair - own) / vacancy.seats as f64,
            ..Rating::default()
        };
        let reach = gap_of(REACH, 2.0 * wanted.uncertainty.powi(2));
        let waited = |since: Duration| widening.after(now.saturating_sub(since));
        let patience = waited(seats.since).or(widening.after(self.longest_wait(now)));
        let pool = self.pools.get(&mode_id)?;
        let beacons = vacancy.host.beacons();
        let near = pool.near(beacons, patience.rtt, wanted.mean, reach, NEIGHBOURS);
        let fitting = near.filter_map(|id| {
            let waiting = self.waiting.get(&id)?;
            let ticket = &waiting.ticket;
            let size = ticket.party.len();
            if !ticket.takes_vacancy || size > vacancy.seats.min(free) {
                return None;
            }
            let tolerance = waited(seats.since).or(waited(waiting.since));
            for entrant in &ticket.party {
                let rtt = vacancy.host.rtt_to(&entrant.place)?;
                if rtt > tolerance.rtt {
                    return None;
                }
            }
            let rest = vec![wanted; vacancy.seats - size];
            let side = ticket.strength().plus(Strength::of(&rest));
            let mut strengths = vacancy.strengths.clone();
            strengths[vacancy.side] = strengths[vacancy.side].plus(side);
            let imbalance = imbalance(&strengths);
            (imbalance <= tolerance.imbalance).then_some((imbalance, id))
        });
        let best = fitting.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        best.map(|(_, id)| id)
    }

    fn fill(&mut self, at: (MatchId, usize), ticket: TicketId) {
        let Some(waiting) = self.end_ticket(ticket) else {
            return;
        };
        let strength = waiting.ticket.strength();
        let players: Vec<_> = waiting.ticket.party.iter().map(|e| e.player).collect();
        self.add_players(at.0, &players);
        if let Some(Seats { vacancy, .. }) = self.vacancies.get_mut(&at) {
            vacancy.seats -= players.len();
            vacancy.strengths[at.1] = vacancy.strengths[at.1].plus(strength);
            if vacancy.seats == 0 {
                self.vacancies.remove(&at);
            }
        }
        self.events.push_back(MatchmakerEvent::Filled {
            match_id: at.0,
            side: at.1,
            ticket,
            players,
        });
    }
}
