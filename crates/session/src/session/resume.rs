//! A hosted room that goes on after its host was restarted.
//!
//! The host keeps the room as agreed, and after a restart opens it again: everyone else is away, with its place kept as ever, and returns by its
//! key.

use core::time::Duration;

use samestep_wire::{Wire, decode_exact, encode_to_vec};
use thiserror::Error;
use tracing::info;

use crate::config::{Role, SessionConfig, SetupError};
use crate::event::SessionEvent;
use crate::id::PeerId;
use crate::log::HostLog;
use crate::room::{Change, Presence, Room};
use crate::session::Session;
use crate::session::time::Timekeeper;

/// Layout of a saved room.
const LAYOUT: u8 = 2;

/// All that a host needs to open its room again.
#[derive(Clone, Wire)]
struct SavedRoom {
    layout: u8,
    /// What the host's clock showed when the common time began.
    #[wire(varint)]
    epoch_us: i64,
    /// The common time when it was saved.
    #[wire(varint)]
    time_us: u64,
    /// The last index of the room's log.
    #[wire(varint)]
    index: u64,
    room: Room,
}

/// Why a room cannot be opened again.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ResumeError {
    /// The bytes are not a room.
    #[error("the room in it is damaged, or of another version")]
    Malformed,
    /// The host's key is another: guests would not believe that it is the same host.
    #[error(
        "this program has another key than the host of that room, whose guests would not believe it: give it the key of before"
    )]
    OtherKey,
    /// The clock shows less than the common time that guests know.
    #[error(
        "the clock shows {now:?}, and showed {before:?} when the room was saved: let it begin later"
    )]
    ClockBehind {
        /// What the clock shows.
        now: Duration,
        /// What the host's clock showed when the room was saved.
        before: Duration,
    },
    /// The session refuses its settings.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

impl Session {
    /// The room as agreed, for [`resume`](Session::resume) after a restart. `None` unless this program hosts it. It changes with
    /// [`log_index`](Session::log_index).
    pub fn save_room(&self, now: Duration) -> Option<Vec<u8>> {
        if !matches!(self.role, Role::Host) || !self.leads() {
            return None;
        }
        let saved = SavedRoom {
            layout: LAYOUT,
            epoch_us: self.clock.keeper.epoch_us(),
            time_us: self.time(now)?.as_micros() as u64,
            index: self.log_index(),
            room: self.room.clone(),
        };
        encode_to_vec(&saved).ok()
    }

    /// Opens a hosted room again that was [saved](Session::save_room) before this program was restarted. Whoever was in it is away at first, and
    /// returns to its place by its key. The common time goes on with the clock, which must not show less than the host's clock did.
    ///
    /// The settings are those of before; the identity in them has to be the same, and a password that was changed meanwhile is given anew.
    pub fn resume(
        now: Duration,
        config: SessionConfig,
        seed: [u8; 32],
        saved: &[u8],
    ) -> Result<Session, ResumeError> {
        let saved: SavedRoom = decode_exact(saved).map_err(|_| ResumeError::Malformed)?;
        let before = saved.epoch_us.saturating_add_unsigned(saved.time_us);
        let before = Duration::from_micros(before.max(0) as u64);
        let me = saved.room.authority();
        if saved.layout != LAYOUT || saved.room.is_mesh() {
            return Err(ResumeError::Malformed);
        }
        let key = saved.room.peer(me).map(|host| host.key);
        let key = key.ok_or(ResumeError::Malformed)?;
        if now < before {
            return Err(ResumeError::ClockBehind { now, before });
        }
        let mut session = Session::new(now, config, Role::Host, seed)?;
        if *session.own.identity.public_key().as_bytes() != key {
            return Err(ResumeError::OtherKey);
        }
        session.inbox.clear();
        session.me = Some(me);
        session.leader = Some(me);
        session.hosted.log = HostLog::after(saved.index);
        session.room = saved.room;
        session.own.since_index = session.room.peer(me).map_or(0, |host| host.since);
        session.clock.keeper = Timekeeper::Own {
            epoch_us: saved.epoch_us,
        };
        session.trust_members(&[]);
        session.on_rejoined(now, false);
        session.emit(SessionEvent::Joined { me });
        session.emit(SessionEvent::InSync);
        session.lose_everyone(now, me);
        info!(peers = session.room.peers().len(), "room opened again");
        session.go_on_playing(now);
        Ok(session)
    }

    /// A game that had begun goes on: nobody is told again that it begins.
    fn go_on_playing(&mut self, now: Duration) {
        if let Some(at) = self.room.phase().start() {
            let has_begun = self.time(now).is_some_and(|time| time >= at);
            (self.clock.announced, self.clock.started) = (Some(at), has_begun);
            self.emit(SessionEvent::Starting { at });
            self.start_when_due(now);
        }
    }

    /// Nobody is connected yet, whatever the room says. Those who are away already have been so for a time that is not known: their grace begins anew.
    fn lose_everyone(&mut self, now: Duration, me: PeerId) {
        let others = self.room.peers().iter().filter(|peer| peer.id != me);
        let others: Vec<(PeerId, Presence)> = others.map(|peer| (peer.id, peer.presence)).collect();
        for (peer, presence) in others {
            match presence {
                Presence::Away => {
                    self.leading.absent_since.insert(peer, now);
                    self.emit(SessionEvent::PeerAway { peer });
                }
                Presence::Loading | Presence::InSync => {
                    self.append(now, None, Change::Away { peer });
                }
            }
        }
    }
}
