//! Results by agreement: what players claim of a match, when that counts, and who stands alone against the rest.
//!
//! A match that a server runs counts as the server says. Else a result counts once more than half of all players who began the match claim the same, players of more than one side among
//! them: one side cannot make itself win, and a loser who says nothing is not overruled by the winner's word. What is not agreed in time does not count.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::host::Host;
use crate::id::{MatchId, PlayerId, ServerId};
use crate::matchmaker::FormedMatch;
use crate::ratings::Outcome;

/// Settings of [`Results`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultsConfig {
    /// How long the others may claim too, once more than half of the players have claimed something or the match is said to be over. A server is waited for as long.
    pub claim_time: Duration,
    /// After so long a match of which nobody claims anything is forgotten.
    pub longest_match: Duration,
    /// How long a match is remembered after its end, so that late claims are recognised.
    pub memory: Duration,
    /// Most matches that are known at once.
    pub max_matches: usize,
    /// Most players whose conduct is remembered; of others nothing is noted.
    pub max_players: usize,
}

impl Default for ResultsConfig {
    fn default() -> Self {
        Self {
            claim_time: Duration::from_secs(60),
            longest_match: Duration::from_secs(3 * 3600),
            memory: Duration::from_secs(600),
            max_matches: 50_000,
            max_players: 1_000_000,
        }
    }
}

/// What became of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The result is agreed, or the server's: it counts, once.
    Agreed(Outcome),
    /// The players contradict each other.
    Disputed,
    /// Too few players have claimed anything.
    Unclaimed,
}

/// The end of a match, told once for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Which match.
    pub match_id: MatchId,
    /// Who began it, by side.
    pub sides: Vec<Vec<PlayerId>>,
    /// What became of it.
    pub verdict: Verdict,
    /// Whether ratings are to count it.
    pub is_rated: bool,
}

/// What a claim has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It is noted.
    Noted,
    /// It has decided the match: see [`Results::poll_decided`].
    Decisive,
    /// The player has claimed the same before.
    Repeated,
    /// The match is decided already, like this.
    Late,
    /// The match is decided already, otherwise: nothing is counted, the player is marked.
    Hopeless,
}

/// Why a claim is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The match is not known.
    #[error("match {} is not known here, or was over long ago", .0.0)]
    UnknownMatch(MatchId),
    /// The claimant has no vote.
    #[error("only who began the match, or the server that ran it, can say how it ended")]
    NotPresent,
    /// It is no outcome of this match.
    #[error("an outcome of this match has a place for each of its {sides} sides, the best being 1")]
    Outcome {
        /// The sides of the match.
        sides: usize,
    },
    /// The player claimed something else before.
    #[error("this player has claimed another result of the match; the first claim stands")]
    Contradiction,
    /// Too many matches are known.
    #[error("too many matches await their results: raise max_matches")]
    Full,
    /// The match was registered before.
    #[error("match {} is registered already", .0.0)]
    Registered(MatchId),
}

/// How often a player has stood against others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conduct {
    /// Matches that it began and that were decided, in whatever way.
    pub matches: u32,
    /// Claims that contradicted what all others agreed on, or what its own first claim said.
    pub hopeless: u32,
    /// Matches that did not count since players contradicted each other, it among them.
    pub disputed: u32,
    /// Matches that did not count for want of claims, its own among those missing.
    pub silent: u32,
}

#[derive(Debug)]
struct Known {
    sides: Vec<Vec<PlayerId>>,
    server: Option<ServerId>,
    is_rated: bool,
    claims: BTreeMap<PlayerId, Outcome>,
    /// When it is decided with what is known, or forgotten.
    due: Duration,
    verdict: Option<Verdict>,
}

impl Known {
    fn players(&self) -> impl Iterator<Item = &PlayerId> {
        self.sides.iter().flatten()
    }

    fn side_of(&self, player: PlayerId) -> Option<usize> {
        self.sides.iter().position(|side| side.contains(&player))
    }

    /// The outcome that enough players claim.
    fn agreed(&self) -> Option<&Outcome> {
        self.claims.values().find(|outcome| {
            let like = self.claims.iter().filter(|(_, claim)| claim == outcome);
            let who: Vec<PlayerId> = like.map(|(player, _)| *player).collect();
            let sides: BTreeSet<_> = who.iter().map(|player| self.side_of(*player)).collect();
            2 * who.len() > self.players().count() && sides.len() >= self.sides.len().min(2)
        })
    }
}

/// Collects claims and decides matches.
#[derive(Debug)]
pub struct Results {
    config: ResultsConfig,
    matches: BTreeMap<MatchId, Known>,
    due: BTreeSet<(Duration, MatchId)>,
    decided: VecDeque<Decided>,
    conduct: BTreeMap<PlayerId, Conduct>,
}

impl Results {
    /// No match is known yet.
    pub fn new(config: ResultsConfig) -> Self {
        Self {
            config,
            matches: BTreeMap::new(),
            due: BTreeSet::new(),
            decided: VecDeque::new(),
            conduct: BTreeMap::new(),
        }
    }

    /// A match has begun. Who joins it later neither claims nor is rated.
    ///
    /// # Errors
    /// [`ClaimError::Registered`] or [`ClaimError::Full`].
    pub fn handle_formed(&mut self, now: Duration, formed: &FormedMatch) -> Result<(), ClaimError> {
        if self.matches.contains_key(&formed.id) {
            return Err(ClaimError::Registered(formed.id));
        }
        if self.matches.len() >= self.config.max_matches {
            return Err(ClaimError::Full);
        }
        let server = match formed.host.host {
            Host::Server(server) => Some(server),
            Host::Player(_) | Host::Nobody => None,
        };
        let known = Known {
            sides: formed.sides.clone(),
            server,
            is_rated: formed.is_rated,
            claims: BTreeMap::new(),
            due: now.saturating_add(self.config.longest_match),
            verdict: None,
        };
        self.due.insert((known.due, formed.id));
        self.matches.insert(formed.id, known);
        Ok(())
    }

    /// A player says how a match ended. Of a match that a server runs the claims of players are only held against its word.
    ///
    /// # Errors
    /// [`ClaimError`] says why it is not taken.
    pub fn handle_claim(
        &mut self,
        now: Duration,
        match_id: MatchId,
        player: PlayerId,
        outcome: Outcome,
    ) -> Result<Claimed, ClaimError> {
        let known = self.matches.get_mut(&match_id);
        let known = known.ok_or(ClaimError::UnknownMatch(match_id))?;
        known.side_of(player).ok_or(ClaimError::NotPresent)?;
        check(known, &outcome)?;
        if let Some(before) = known.claims.get(&player) {
            if *before == outcome {
                return Ok(Claimed::Repeated);
            }
            self.mark(player, |conduct| &mut conduct.hopeless);
            return Err(ClaimError::Contradiction);
        }
        known.claims.insert(player, outcome.clone());
        match &known.verdict {
            Some(Verdict::Agreed(agreed)) if *agreed != outcome => {
                self.mark(player, |conduct| &mut conduct.hopeless);
                return Ok(Claimed::Hopeless);
            }
            Some(_) => return Ok(Claimed::Late),
            None => {}
        }
        if known.server.is_none()
            && let Some(agreed) = known.agreed().cloned()
        {
            self.decide(now, match_id, Verdict::Agreed(agreed));
            return Ok(Claimed::Decisive);
        }
        // Fewer could make a match that still runs end without a result.
        let most = known.players().count() / 2 + 1;
        if known.server.is_none() && known.claims.len() == most {
            self.expect_claims(now, match_id);
        }
        Ok(Claimed::Noted)
    }

    /// The server that runs a match says how it ended: that counts.
    ///
    /// # Errors
    /// [`ClaimError`] says why it is not taken.
    pub fn handle_report(
        &mut self,
        now: Duration,
        match_id: MatchId,
        server: ServerId,
        outcome: Outcome,
    ) -> Result<Claimed, ClaimError> {
        let known = self.matches.get(&match_id);
        let known = known.ok_or(ClaimError::UnknownMatch(match_id))?;
        if known.server != Some(server) {
            return Err(ClaimError::NotPresent);
        }
        check(known, &outcome)?;
        match &known.verdict {
            None => {
                self.decide(now, match_id, Verdict::Agreed(outcome));
                Ok(Claimed::Decisive)
            }
            Some(Verdict::Agreed(agreed)) if *agreed == outcome => Ok(Claimed::Repeated),
            Some(_) => Ok(Claimed::Late),
        }
    }

    /// The match is over, as the lobby sees by its room: who has not claimed yet should do so now.
    pub fn handle_match_over(&mut self, now: Duration, match_id: MatchId) {
        self.expect_claims(now, match_id);
    }

    /// Decides what is due with what is known, and forgets what is long over.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some((_, id)) = self.due.first().filter(|(at, _)| *at <= now).copied() {
            let known = &self.matches[&id];
            if known.verdict.is_some() {
                self.due.remove(&(known.due, id));
                self.matches.remove(&id);
                continue;
            }
            let claims: BTreeSet<&Outcome> = known.claims.values().collect();
            let verdict = match claims.len() > 1 && known.server.is_none() {
                true => Verdict::Disputed,
                false => Verdict::Unclaimed,
            };
            self.decide(now, id, verdict);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The next match that is decided. Each comes once.
    pub fn poll_decided(&mut self) -> Option<Decided> {
        self.decided.pop_front()
    }

    /// How a player has behaved.
    pub fn conduct(&self, player: PlayerId) -> Conduct {
        self.conduct.get(&player).copied().unwrap_or_default()
    }

    fn decide(&mut self, now: Duration, id: MatchId, verdict: Verdict) {
        let due = now.saturating_add(self.config.memory);
        self.postpone(id, due);
        let Some(known) = self.matches.get_mut(&id) else {
            return;
        };
        known.verdict = Some(verdict.clone());
        let sides = known.sides.clone();
        let is_rated = known.is_rated;
        let is_by_server = known.server.is_some();
        let claims = known.claims.clone();
        for player in sides.iter().flatten() {
            let claim = claims.get(player);
            let field: fn(&mut Conduct) -> &mut u32 = match (&verdict, claim) {
                (Verdict::Agreed(agreed), Some(claim)) if claim != agreed => |c| &mut c.hopeless,
                (Verdict::Disputed, Some(_)) => |c| &mut c.disputed,
                (Verdict::Disputed | Verdict::Unclaimed, None) if !is_by_server => {
                    |c| &mut c.silent
                }
                _ => continue,
            };
            self.mark(*player, field);
        }
        for player in sides.iter().flatten() {
            self.mark(*player, |conduct| &mut conduct.matches);
        }
        self.decided.push_back(Decided {
            match_id: id,
            sides,
            verdict,
            is_rated,
        });
    }

    /// From now on claims are waited for no longer than the claim time.
    fn expect_claims(&mut self, now: Duration, id: MatchId) {
        let due = now.saturating_add(self.config.claim_time);
        let open = self
            .matches
            .get(&id)
            .filter(|known| known.verdict.is_none());
        if open.is_some_and(|known| due < known.due) {
            self.postpone(id, due);
        }
    }

    fn postpone(&mut self, id: MatchId, due: Duration) {
        if let Some(known) = self.matches.get_mut(&id) {
            self.due.remove(&(known.due, id));
            known.due = due;
            self.due.insert((due, id));
        }
    }

    fn mark(&mut self, player: PlayerId, field: fn(&mut Conduct) -> &mut u32) {
        let is_full = self.conduct.len() >= self.config.max_players;
        if is_full && !self.conduct.contains_key(&player) {
            return;
        }
        let counter = field(self.conduct.entry(player).or_default());
        *counter = counter.saturating_add(1);
    }
}

fn check(known: &Known, outcome: &Outcome) -> Result<(), ClaimError> {
    let sides = known.sides.len();
    match outcome.is_valid(sides) {
        true => Ok(()),
        false => Err(ClaimError::Outcome { sides }),
    }
}

#[cfg(test)]
mod tests;
