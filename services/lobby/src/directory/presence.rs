//! Who is here: members whose connections end, lobbies that are silent, and those who were away for too long.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::decide::{Decision, changed};
use super::{Directory, Pending, Task, Then, UNDER_WAY, ms};
use crate::ids::LobbyId;
use crate::room::{Presence, Room};

/// How often a lobby says in the store that it is alive.
pub const BEAT: Duration = Duration::from_secs(2);
/// How long after its last beat a lobby is taken for dead.
pub const SILENCE: Duration = Duration::from_secs(6);
/// How often rooms are looked through.
const SWEEP: Duration = Duration::from_secs(1);
/// Rooms that are changed by one sweep.
const SWEPT_ROOMS: usize = 500;

impl Directory {
    /// The lobbies that beat. One that members are said to be at and that does not, for long enough, is dead.
    pub fn handle_lobbies(&mut self, now: Duration, alive: BTreeSet<LobbyId>) {
        self.alive = alive;
        let alive = &self.alive;
        self.silent.retain(|lobby, _| !alive.contains(lobby));
        let rooms = self.rooms.values();
        let members = rooms.flat_map(|mirror| &mirror.room.members);
        let mut mentioned = BTreeSet::new();
        for member in members {
            if let Presence::Here(lobby) = &member.presence
                && *lobby != self.lobby
                && !self.alive.contains(lobby)
            {
                mentioned.insert(lobby.clone());
            }
        }
        self.silent.retain(|lobby, _| mentioned.contains(lobby));
        for lobby in mentioned {
            self.silent.entry(lobby).or_insert(ms(now));
        }
    }

    /// Does what it is time for.
    pub fn handle_time(&mut self, now: Duration) {
        self.flush_lists(now);
        if ms(now) < self.swept_ms + ms(SWEEP) {
            return;
        }
        self.swept_ms = ms(now);
        let now_ms = ms(now);
        self.entering.forget(now_ms);
        self.browsing.forget(now_ms);
        self.wrong_guesses.forget(now_ms);
        self.requests.forget(now_ms);
        let mut tasks = Vec::new();
        for (id, mirror) in &self.rooms {
            if tasks.len() >= SWEPT_ROOMS || tasks.len() + self.commits.len() >= UNDER_WAY {
                break;
            }
            if self.locked.contains_key(id) {
                continue;
            }
            let due = mirror
                .room
                .members
                .iter()
                .find_map(|member| match &member.presence {
                    Presence::Gone(since) if self.is_over(now_ms, *since) => {
                        Some(Task::Expired(id.clone()))
                    }
                    Presence::Here(lobby) if *lobby == self.lobby => {
                        let lost = !self.attached.contains_key(&(id.clone(), member.id));
                        lost.then(|| Task::Gone(id.clone(), member.id))
                    }
                    Presence::Here(lobby) => self
                        .is_dead(now_ms, lobby)
                        .then(|| Task::Orphaned(id.clone(), lobby.clone())),
                    Presence::Gone(_) => None,
                });
            tasks.extend(due);
        }
        for task in tasks {
            self.begin(now, task);
        }
    }

    fn is_over(&self, now_ms: u64, since_ms: u64) -> bool {
        now_ms >= since_ms.saturating_add(u64::from(self.config.grace_s) * 1000)
    }

    fn is_dead(&self, now_ms: u64, lobby: &LobbyId) -> bool {
        let silent = self.silent.get(lobby);
        silent.is_some_and(|since| now_ms >= since + ms(SILENCE - BEAT))
    }

    /// What becomes of the lobby's own tasks.
    pub(super) fn decide_presence(
        &self,
        now_ms: u64,
        pending: &Pending,
        room: &Arc<Room>,
    ) -> Decision {
        let mut after = Room::clone(room);
        match &pending.task {
            Task::Gone(id, member) => {
                let back = self.attached.contains_key(&(id.clone(), *member));
                let ours = room
                    .member(*member)
                    .is_some_and(|member| member.presence == Presence::Here(self.lobby.clone()));
                if ours && !back && after.set_presence(*member, Presence::Gone(now_ms)).is_err() {
                    return Decision::Nothing(Then::Nothing);
                }
            }
            Task::Here(id, member) => {
                let attached = self.attached.contains_key(&(id.clone(), *member));
                let gone = room.member(*member).is_some_and(|member| !member.is_here());
                if attached
                    && gone
                    && after
                        .set_presence(*member, Presence::Here(self.lobby.clone()))
                        .is_err()
                {
                    return Decision::Nothing(Then::Nothing);
                }
            }
            Task::Orphaned(_, lobby) => {
                for member in &mut after.members {
                    if member.presence == Presence::Here(lobby.clone())
                        && self.is_dead(now_ms, lobby)
                    {
                        member.presence = Presence::Gone(now_ms);
                    }
                }
            }
            Task::Expired(_) => {
                let over = room.members.iter().filter(|member| matches!(member.presence, Presence::Gone(since) if self.is_over(now_ms, since)));
                for member in over {
                    after.remove(member.id);
                }
            }
            Task::Client(..) => return Decision::Nothing(Then::Nothing),
        }
        changed(after, Then::Nothing)
    }
}
