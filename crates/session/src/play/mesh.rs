//! A game of a mesh that has an authority: the leader puts its final ticks into the room's log, every member follows them there, and whoever is elected next
//! takes over from the same state as all others.

use core::time::Duration;

use samestep_sync::{AdoptError, Model, PeerId, Tick, World};
use samestep_wire::{Wire, decode_exact, encode_to_vec};
use tracing::{info, warn};

use crate::play::Match;
use crate::session::Logged;

/// Ticks are put into the log together, this often: each entry costs a message to every member and its answer.
const LOG_EVERY: Duration = Duration::from_millis(50);
/// Who cannot follow asks for a state this often, and the authority puts one into the log at most as often.
const STATE_EVERY: Duration = Duration::from_secs(10);

/// Where this program is in the log of a mesh.
#[derive(Debug, Default)]
pub(super) struct InLog {
    /// The last entry whose effects are in the state that this program began with.
    holds: u64,
    /// Who decides by what has been followed so far.
    authority: Option<PeerId>,
    /// At the authority: whether the log leads up to where it is, so that ticks can follow.
    leads_here: bool,
    next_record: Duration,
    next_state: Duration,
    next_ask: Duration,
}

/// What somebody begins with who joins a mesh whose game has an authority.
#[derive(Clone, PartialEq, Debug, Wire)]
struct Followed {
    /// The last entry of the log that is in it.
    #[wire(varint)]
    index: u64,
    authority: PeerId,
    /// The exact state as followed; `None` before the log has one.
    #[wire(max_len = 67_108_864)]
    record: Option<Vec<u8>>,
    /// The state as it is shown where it comes from, and its tick.
    #[wire(varint)]
    tick: u64,
    #[wire(max_len = 67_108_864)]
    shown: Vec<u8>,
}

impl<W: World, M: Model> Match<W, M> {
    /// Who decides about the game: where it is followed, the log says it among the ticks.
    pub(super) fn game_authority(&mut self) -> PeerId {
        let of_room = self.session.room().authority();
        match self.session.follows_game() {
            true => *self.in_log.authority.get_or_insert(of_room),
            false => of_room,
        }
    }

    /// Follows what the log says about the game.
    pub(super) fn follow_log(&mut self, now: Duration) {
        if self.session.awaits_game_state() {
            return;
        }
        while let Some((index, logged)) = self.session.next_logged() {
            if index <= self.in_log.holds {
                continue;
            }
            match logged {
                Logged::Record(record) => self.follow_logged(now, &record),
                Logged::Authority(peer) => self.on_elected(now, peer),
            }
        }
    }

    fn follow_logged(&mut self, now: Duration, record: &[u8]) {
        let followed = match &self.following {
            Some(_) => self.follow_record(record),
            // Ticks alone are of no use to whoever has no state, and a state begins anew.
            None => self.begin_following(record),
        };
        let Err(error) = followed else {
            return;
        };
        self.following = None;
        self.world.end_twin();
        if now >= self.in_log.next_ask {
            warn!(error, "the game in the log cannot be followed");
            self.in_log.next_ask = now + STATE_EVERY;
            self.session.want_game_state(now);
        }
    }

    /// The log says that this member decides from here on. Everyone has the same state.
    fn on_elected(&mut self, now: Duration, peer: PeerId) {
        self.in_log.authority = Some(peer);
        self.in_log.leads_here = false;
        let room = self.session.room();
        if room.authority() != peer {
            // Another has been elected since.
            return;
        }
        let time = self.session.time(now).unwrap_or_default();
        self.roster_version = u64::MAX;
        self.update_roster(now, time);
        let is_me = Some(peer) == self.session.me();
        let Some(handover) = self.following.as_ref().and_then(|f| f.handover()).cloned() else {
            // Nobody has anything better than the one who leads: it goes on with what it has.
            self.world.doubt();
            return;
        };
        let (world, model) = (&mut self.world, &mut self.model);
        let went_on = match is_me {
            true => {
                let mut state = Vec::new();
                world.with_twin(&mut |twin| state = twin.keep());
                let back = world.come_back(handover.tick(), &state);
                back.and_then(|()| model.take_over(time, &handover, world))
            }
            false => model.go_on(time, &handover, world),
        };
        if let Err(error) = went_on {
            warn!(%error, "the game does not go on from the log");
            return;
        }
        info!(
            tick = handover.tick().0,
            is_me, "goes on with another authority"
        );
        if is_me {
            // What all have followed leads up to here: ticks follow.
            self.in_log.leads_here = self.model.begin_feed(time, &mut self.world).is_some();
        }
        self.wake = Some(now);
    }

    /// As the authority: puts ticks that have become final into the log, or the state if the log does not lead up to where this program is.
    pub(super) fn log_ticks(&mut self, now: Duration, time: Duration) {
        let is_due = now >= self.in_log.next_record && self.model.status().running;
        if !is_due || !self.session.may_log_game(now) {
            return;
        }
        if now >= self.in_log.next_state && self.session.take_game_state_wanted() {
            self.in_log.leads_here = false;
        }
        let mut record = match self.in_log.leads_here {
            true => self.model.feed(&mut self.world),
            false => Ok(None),
        };
        if !self.in_log.leads_here || record.is_err() {
            self.in_log.next_state = now + STATE_EVERY;
            record = Ok(self.model.begin_feed(time, &mut self.world));
            self.in_log.leads_here = matches!(record, Ok(Some(_)));
        }
        self.in_log.next_record = now + LOG_EVERY;
        if let Ok(Some(record)) = record {
            let tick = self.model.status().confirmed_tick;
            self.session.log_game(now, record, tick.0);
        }
    }

    /// Gives a newcomer what it follows from. Who decides sends it what it plays with once it takes part.
    pub(super) fn provide_followed(&mut self, now: Duration, peer: PeerId) {
        self.follow_log(now);
        let mut record = None;
        if let Some(standby) = &self.following {
            self.world
                .with_twin(&mut |twin| record = standby.base(twin));
        }
        let followed = Followed {
            index: self.session.log_index(),
            authority: self.game_authority(),
            record,
            tick: self.model.status().tick.0,
            shown: self.world.checkpoint(),
        };
        let state = encode_to_vec(&followed).unwrap_or_default();
        self.session.provide_state(now, peer, &state);
    }

    /// Begins with what a member has followed.
    pub(super) fn adopt_followed(&mut self, now: Duration, state: &[u8]) -> Result<(), AdoptError> {
        let malformed = |what: &str| AdoptError::Malformed(what.to_owned());
        let followed: Followed =
            decode_exact(state).map_err(|_| malformed("what was followed is damaged"))?;
        let time = self.session.time(now).unwrap_or_default();
        self.in_log = InLog {
            holds: followed.index,
            authority: Some(followed.authority),
            ..InLog::default()
        };
        self.roster_version = u64::MAX;
        self.update_roster(now, time);
        self.following = None;
        self.world.end_twin();
        let (mut tick, mut shown) = (Tick(followed.tick), followed.shown);
        if let Some(record) = followed.record {
            self.begin_following(&record)
                .map_err(|error| malformed(&error))?;
            tick = self
                .following
                .as_ref()
                .and_then(|f| f.tick())
                .unwrap_or(tick);
            self.world.with_twin(&mut |twin| shown = twin.checkpoint());
        }
        self.world.adopt(tick, &shown)?;
        match Some(followed.authority) == self.session.me() {
            true => Ok(()),
            false => self.model.adopt(time, &[], &mut self.world),
        }
    }
}
