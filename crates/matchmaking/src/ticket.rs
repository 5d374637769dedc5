//! Tickets: a party that wants to play, what is known of its members, and why a ticket is refused.

use core::time::Duration;

use crate::config::ModeConfig;
use crate::host::HostAbility;
use crate::id::{ModeId, PlayerId};
use crate::place::{MAX_BEACONS, MAX_MEASURED, Place, estimate};
use crate::rating::{Rating, Strength};

/// A player of a ticket.
#[derive(Clone, Debug, PartialEq)]
pub struct Entrant {
    /// Who.
    pub player: PlayerId,
    /// Its skill, from the lobby's own records.
    pub rating: Rating,
    /// Where it is.
    pub place: Place,
    /// What it can do as a host; `None` if it cannot or does not want to.
    pub ability: Option<HostAbility>,
}

/// A party that wants to play a mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticket {
    /// Which mode.
    pub mode: ModeId,
    /// Its members, who stay on one side. A party that fills a whole match plays it among its own, divided into sides.
    pub party: Vec<Entrant>,
    /// Whether it also takes free places in a running match.
    pub takes_vacancy: bool,
}

impl Ticket {
    /// The ticket of one player that also takes a free place.
    pub fn solo(mode: ModeId, entrant: Entrant) -> Self {
        Self {
            mode,
            party: vec![entrant],
            takes_vacancy: true,
        }
    }

    /// The strength of its members together.
    pub(crate) fn strength(&self) -> Strength {
        let ratings: Vec<Rating> = self.party.iter().map(|e| e.rating).collect();
        Strength::of(&ratings)
    }

    /// The rating of the average member, by which partners are looked for.
    pub(crate) fn average(&self) -> Rating {
        let count = self.party.len() as f64;
        let strength = self.strength();
        Rating {
            mean: strength.mean / count,
            uncertainty: (strength.variance / count).sqrt(),
        }
    }

    /// The longest round trip between a member of one and a member of the other.
    pub(crate) fn worst_rtt(&self, other: &Ticket) -> Option<Duration> {
        let mut worst = Duration::ZERO;
        for a in &self.party {
            for b in &other.party {
                worst = worst.max(estimate((a.player, &a.place), (b.player, &b.place))?);
            }
        }
        Some(worst)
    }

    pub(crate) fn check(&self, mode: &ModeConfig) -> Result<(), TicketError> {
        let size = self.party.len();
        if size == 0 || size > mode.side_size && size != mode.players() {
            return Err(TicketError::PartySize {
                side_size: mode.side_size,
                players: mode.players(),
            });
        }
        for (index, entrant) in self.party.iter().enumerate() {
            let player = entrant.player;
            let before = &self.party[..index];
            if before.iter().any(|other| other.player == player) {
                return Err(TicketError::Doubled(player));
            }
            if !entrant.rating.is_valid() {
                return Err(TicketError::Rating(player));
            }
            if !entrant.place.is_valid() {
                return Err(TicketError::Place(player));
            }
        }
        Ok(())
    }
}

/// Why a ticket is not taken. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// There is no such mode.
    #[error("there is no mode {}: update the game, or name one that the lobby lists", .0.0)]
    UnknownMode(ModeId),
    /// The party is empty or does not fit into a side.
    #[error("a party has 1 to {side_size} players, or {players} to play among its own")]
    PartySize {
        /// The players of a side.
        side_size: usize,
        /// The players of a match.
        players: usize,
    },
    /// A player is in the party twice.
    #[error("player {} is in the party twice: name each member once", .0.0)]
    Doubled(PlayerId),
    /// A rating is not finite or out of bounds.
    #[error("the rating of player {} is no rating: take it from the lobby's records", .0.0)]
    Rating(PlayerId),
    /// A place has no beacon, too many, or a round trip beyond reason.
    #[error("player {} must have measured the round trip to 1 to {MAX_BEACONS} beacons and at most {MAX_MEASURED} players, each at most 10 s", .0.0)]
    Place(PlayerId),
    /// A player waits already.
    #[error("player {} waits for a match already: cancel that ticket first", .0.0)]
    Waiting(PlayerId),
    /// A player is in a match.
    #[error("player {} is in a match: it has to end, or the player to leave it", .0.0)]
    Playing(PlayerId),
    /// Too many tickets wait.
    #[error("too many players are waiting: try again in a moment")]
    Full,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::BeaconId;

    fn entrant(player: u64) -> Entrant {
        Entrant {
            player: PlayerId(player),
            rating: Rating::default(),
            place: Place::new([(BeaconId(1), Duration::from_millis(20))]),
            ability: None,
        }
    }

    fn party(players: &[u64]) -> Ticket {
        Ticket {
            mode: ModeId(1),
            party: players.iter().map(|player| entrant(*player)).collect(),
            takes_vacancy: false,
        }
    }

    #[test]
    fn a_party_fits_into_a_side_or_fills_a_match() {
        let mode = ModeConfig::new(2, 3);
        for (size, fits) in [
            (0, false),
            (1, true),
            (3, true),
            (4, false),
            (6, true),
            (7, false),
        ] {
            let players: Vec<u64> = (0..size).collect();
            assert_eq!(party(&players).check(&mode).is_ok(), fits, "{size} players");
        }
        let doubled = party(&[1, 2, 1]).check(&mode);
        assert_eq!(doubled, Err(TicketError::Doubled(PlayerId(1))));
    }

    #[test]
    fn what_is_said_of_a_player_has_to_make_sense() {
        let mode = ModeConfig::new(2, 1);
        let mut ticket = party(&[1]);
        ticket.party[0].rating.mean = f64::NAN;
        assert_eq!(ticket.check(&mode), Err(TicketError::Rating(PlayerId(1))));
        let mut ticket = party(&[1]);
        ticket.party[0].place = Place::default();
        let error = ticket.check(&mode).expect_err("no beacon");
        assert!(error.to_string().contains("1 to 16 beacons"), "{error}");
    }
}
