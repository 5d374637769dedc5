//! Finds matches for players: friends and strangers, of like skill, near each other, with a host that can; and keeps their results and ratings.
//!
//! Five parts that know nothing of each other but plain values, so that a lobby takes what it needs. None has IO, clocks, threads or randomness of its own.
//!
//! ```
//! use core::time::Duration;
//! use samestep_matchmaking::*;
//!
//! const DUEL: ModeId = ModeId(1);
//! let config = MatchmakerConfig::default().mode(DUEL, ModeConfig::new(2, 1));
//! let mut matchmaker = Matchmaker::new(config)?;
//! let mut results = Results::new(ResultsConfig::default());
//! let mut ratings = Ratings::new(RatingsConfig::default());
//!
//! let (ann, ben) = (PlayerId(1), PlayerId(2));
//! let now = Duration::ZERO;
//! for (player, step_ms, rtt_ms) in [(ann, 2, 12), (ben, 5, 20)] {
//!     let entrant = Entrant {
//!         player,
//!         rating: ratings.rating(player),
//!         place: Place::new([(BeaconId(1), Duration::from_millis(rtt_ms))]),
//!         ability: HostAbility::timed(&[Duration::from_millis(step_ms); 100], 200_000),
//!     };
//!     matchmaker.handle_ticket(now, Ticket::solo(DUEL, entrant))?;
//! }
//! matchmaker.handle_timeout(now);
//! let Some(MatchmakerEvent::Formed(formed)) = matchmaker.poll_event() else {
//!     panic!("they are equal and near");
//! };
//! assert_eq!(formed.host.host, Host::Player(ann), "hers is the faster machine");
//! assert!(formed.imbalance < 1e-9);
//!
//! // They play; both say that the side of Ben has won.
//! results.handle_formed(now, &formed)?;
//! let winner = formed.sides.iter().position(|side| side.contains(&ben)).expect("he plays");
//! for player in [ann, ben] {
//!     results.handle_claim(now, formed.id, player, Outcome::won_by(winner, 2))?;
//! }
//! matchmaker.handle_match_over(formed.id);
//! while let Some(decided) = results.poll_decided() {
//!     if let (Verdict::Agreed(outcome), true) = (&decided.verdict, decided.is_rated) {
//!         ratings.count(&decided.sides, outcome)?;
//!     }
//! }
//! assert!(ratings.rating(ben).mean > ratings.rating(ann).mean);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//!
//! - A [`Matchmaker`] takes [`Ticket`]s and tells of [`FormedMatch`]es. Its [`ModeConfig`]s say how many play, who hosts ([`Hosting`]) and how tolerance widens with waiting ([`Widening`]).
//! - A [`Rating`] is what is believed of a player's skill; [`win_chances`] and [`imbalance`] are what it predicts.
//! - A [`Place`] is where a player is: round trips to beacons and to others, from which [`estimate`] tells the round trip of two players.
//! - [`choose_host`] picks the host by [`HostAbility`], and those who stand by.
//! - A [`Vacancy`] is a free place in a running match, filled from the queue.
//! - [`Parties`] are friends who queue together, by a code.
//! - [`Results`] takes claims, decides which result counts, and marks who stands alone against the rest ([`Conduct`]).
//! - [`Ratings`] counts results, once each, and lists the best; a [`RatingRecord`] is what a store keeps of a player.
//!
//! # What it does not do
//!
//! It checks neither who somebody is nor what a player says of its machine and its round trips: the lobby around it knows its clients, and `docs/matchmaking.md` says what a liar gains.
//! Ratings use the platform's exponential function, so one program decides them.

mod backfill;
mod config;
mod forming;
mod host;
mod id;
mod leaderboard;
mod matchmaker;
mod party;
mod place;
mod pool;
mod rating;
mod ratings;
mod results;
mod sides;
mod ticket;
mod widening;

pub use backfill::{Vacancy, VacancyError};
pub use config::{ConfigError, Hosting, MAX_PLAYERS, MAX_SIDES, MatchmakerConfig, ModeConfig};
pub use host::{Host, HostAbility, HostCandidate, HostChoice, HostDemand, HostReason, choose_host};
pub use id::{BeaconId, MatchId, ModeId, PlayerId, ServerId, TicketId};
pub use leaderboard::Standing;
pub use matchmaker::{FormedMatch, Matchmaker, MatchmakerEvent, ServerError};
pub use party::{Parties, PartiesConfig, PartyCode, PartyError};
pub use place::{MAX_BEACONS, MAX_MEASURED, MAX_RTT, Place, estimate};
pub use rating::{MAX_MEAN, Rating, Strength, imbalance, win_chances};
pub use ratings::{Outcome, RatingRecord, Ratings, RatingsConfig, RatingsError};
pub use results::{ClaimError, Claimed, Conduct, Decided, Results, ResultsConfig, Verdict};
pub use ticket::{Entrant, Ticket, TicketError};
pub use widening::{Ramp, RampError, Tolerance, Widening};
