//! Setting up, starting and ending games.

use core::time::Duration;

use crate::config::Profile;
use crate::control::Proposal;
use crate::event::{SessionEvent, State};
use crate::id::{NetworkId, PeerId, PlayerId};
use crate::room::{Change, Phase, Settings};
use crate::session::Session;

impl Session {
    /// Sets whether a player on this program is ready for the present settings.
    pub fn set_ready(&mut self, now: Duration, player: PlayerId, ready: bool) {
        self.propose(now, Proposal::Ready { player, ready });
    }

    /// Proposes other settings for the next game. Everybody has to get ready again.
    pub fn propose_settings(&mut self, now: Duration, settings: Settings) {
        self.propose(now, Proposal::Settings(settings));
    }

    /// Changes the name or colour of a player on this program.
    pub fn set_profile(&mut self, now: Duration, player: PlayerId, profile: Profile) {
        self.propose(now, Proposal::Profile { player, profile });
    }

    /// Begins the game, at the same time everywhere. Only the authority can.
    pub fn start(&mut self, now: Duration) {
        self.propose(now, Proposal::Start);
    }

    /// Proposes that the game is over, with its result. A host decides alone; else it is over once more than half of the peers propose the
    /// same.
    pub fn propose_end(&mut self, now: Duration, result: &[u8]) {
        let result = result[..result.len().min(4095)].to_vec();
        self.propose(now, Proposal::End { result });
    }

    /// Goes back to the set-up phase after a game.
    pub fn rematch(&mut self, now: Duration) {
        self.propose(now, Proposal::Rematch);
    }

    /// Names the tie-breaker: the member whose half is the quorum if the members of a mesh fall into two equal parts. By default it is the
    /// leader. Only the leader can name it, and a later leader may name another.
    pub fn name_tie_breaker(&mut self, now: Duration, peer: PeerId) {
        let member = self.room.peer(peer).map(|p| p.incarnation);
        let leads = self.leads();
        if let Some(agreement) = self.mesh.agreement.as_mut().filter(|_| leads) {
            agreement.prefer_tie_breaker(member);
            self.wake_at(now);
        }
    }

    /// Assigns a network id to an object. It can be used at once; everybody else learns of it in order with
    /// all other changes.
    pub fn new_network_id(&mut self, now: Duration, kind: u16) -> Option<NetworkId> {
        let id = NetworkId::Dynamic {
            by: self.me?,
            number: self.own.next_object,
        };
        self.own.next_object += 1;
        self.propose(now, Proposal::Name { id, kind });
        Some(id)
    }

    /// Frees the network id of an object that is gone. Only its owner can.
    pub fn free_network_id(&mut self, now: Duration, id: NetworkId) {
        self.propose(now, Proposal::Unname { id });
    }

    /// The start of a game, far enough ahead for everybody to learn of it in time.
    pub(super) fn start_change(&self, now: Duration) -> Change {
        let farthest = self
            .links
            .contacts
            .keys()
            .map(|peer| self.latency(*peer))
            .max()
            .unwrap_or_default();
        let countdown = Duration::from_micros(self.room.rules.countdown_us);
        let at = self.time(now).unwrap_or_default() + countdown + farthest * 4;
        Change::Start {
            at_us: at.as_micros() as u64,
        }
    }

    pub(super) fn start_if_ready(&mut self, now: Duration) {
        if self.can_append(now) && self.mesh.expected(&self.room).all_ready() {
            let change = self.start_change(now);
            self.append(now, None, change);
        }
    }

    pub(super) fn announce_start(&mut self, now: Duration) {
        if self.state != State::InSync {
            return;
        }
        let at = self.room.phase().start();
        if let Some(at) = at
            && self.clock.announced != Some(at)
        {
            self.clock.announced = Some(at);
            self.clock.started = false;
            self.emit(SessionEvent::Starting { at });
        }
        self.start_when_due(now);
    }

    /// Starts the game when the common clock reaches the start.
    pub(super) fn start_when_due(&mut self, now: Duration) {
        let Phase::Playing { at_us } = self.room.phase() else {
            return;
        };
        let at = Duration::from_micros(*at_us);
        if self.clock.started || self.state != State::InSync {
            return;
        }
        match self.time(now) {
            Some(time) if time >= at => {
                self.clock.started = true;
                self.emit(SessionEvent::Started);
            }
            // The clock is being adjusted by at most a few percent: look again a little before.
            Some(time) => {
                let left = at - time;
                let nap = (left * 9 / 10).max(Duration::from_micros(200));
                self.wake_at(now + nap);
            }
            None => self.wake_at(now + Duration::from_millis(20)),
        }
    }
}
