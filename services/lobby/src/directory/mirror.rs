//! Rooms as the store has them, whoever wrote them: each new version is taken over once, and its members hear what is new.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{ConnectionId, Directory, Mirror, Output, Task, VANISHED};
use crate::events::events;
use crate::ids::{MemberId, RoomId};
use crate::protocol::{EndReason, Message};
use crate::room::{Presence, Room};
use crate::store::{Change, Record, Table};

impl Directory {
    /// Something has changed in the store, by whomever.
    pub fn handle_change(&mut self, change: &Change) {
        let Change::Record(Table::Rooms, key, version) = change else {
            return;
        };
        let Ok(id) = key.parse::<RoomId>() else {
            return;
        };
        if version.is_none() {
            // Rooms do not come back. A commit that is under way ends as it does: it finds the room gone.
            self.bury(&id);
            if !self.locked.contains_key(&id) {
                self.uninstall(&id, None);
            }
            return;
        }
        let known = self.rooms.get(&id).map_or(0, |mirror| mirror.version);
        // What is under way will tell: it is this change, or it meets it.
        let news = version.map_or(known > 0, |version| version > known);
        if let Some(lock) = self
            .locked
            .get_mut(&id)
            .filter(|lock| *version == Some(lock.next))
        {
            lock.heard = true;
        } else if news {
            self.ask(Table::Rooms, key.clone());
        }
    }

    /// All rooms of the store, at the start and when changes may have been missed.
    pub fn handle_all_rooms(&mut self, now: Duration, records: &[Record]) {
        let mut gone: BTreeSet<_> = self.rooms.keys().cloned().collect();
        for record in records {
            self.handle_room(now, &record.key, Some(record));
            if let Ok(id) = record.key.parse() {
                gone.remove(&id);
            }
        }
        for id in gone {
            self.ask(Table::Rooms, id.into());
        }
    }

    pub(super) fn handle_room(&mut self, now: Duration, key: &str, record: Option<&Record>) {
        let Ok(id) = key.parse::<RoomId>() else {
            return;
        };
        let Some(record) = record else {
            // Rooms do not come back. One that is being made is not there yet.
            if !self.locked.contains_key(&id) {
                self.uninstall(&id, None);
            }
            return;
        };
        if self.vanished.contains(&id) {
            return;
        }
        match serde_json::from_slice::<Room>(&record.payload) {
            Ok(room) => self.install(now, &id, record.version, Arc::new(room), None),
            Err(error) => {
                tracing::error!(room = key, %error, "a room in the store cannot be read: is it from a newer version?")
            }
        }
    }

    /// Takes over a version of a room, and tells its members what is new.
    pub(super) fn install(
        &mut self,
        now: Duration,
        id: &RoomId,
        version: u64,
        room: Arc<Room>,
        leaver: Option<MemberId>,
    ) {
        if self.vanished.contains(id) {
            return self.uninstall(id, leaver);
        }
        let before = self.rooms.get(id).cloned();
        if before
            .as_ref()
            .is_some_and(|before| before.version >= version)
        {
            return;
        }
        tracing::debug!(
            room = id.as_str(),
            version,
            members = room.members.len(),
            "room"
        );
        self.lists.on_changed(id);
        let mirror = Mirror {
            room: Arc::clone(&room),
            version,
        };
        self.rooms.insert(id.clone(), mirror);
        let Some(before) = before else {
            self.codes.insert(room.code.clone(), id.clone());
            return;
        };
        if before.room.code != room.code {
            self.codes.remove(&before.room.code);
            self.codes.insert(room.code.clone(), id.clone());
        }
        self.tell(id, &before.room, &room, version, leaver);
        let starts =
            room.host.is_some() && (before.room.host.is_none() || before.room.games != room.games);
        for member in &room.members {
            let Some(connection) = self.attached.get(&(id.clone(), member.id)).copied() else {
                continue;
            };
            match &member.presence {
                Presence::Here(lobby) if *lobby == self.lobby => {
                    if starts {
                        self.start(now, connection, None, &room, member.id);
                    }
                }
                Presence::Here(_) => self.detach(id, member.id, EndReason::Replaced),
                Presence::Gone(_) => self.begin(now, Task::Here(id.clone(), member.id)),
            }
        }
    }

    fn tell(
        &mut self,
        id: &RoomId,
        before: &Room,
        after: &Room,
        version: u64,
        leaver: Option<MemberId>,
    ) {
        for member in &before.members {
            if after.member(member.id).is_none() && leaver != Some(member.id) {
                self.detach(id, member.id, EndReason::Kicked);
            }
        }
        let to = before
            .members
            .iter()
            .filter(|member| leaver != Some(member.id));
        let to: Vec<_> = to
            .filter_map(|member| self.attached.get(&(id.clone(), member.id)).copied())
            .collect();
        if to.is_empty() {
            return;
        }
        let events = events(before, after, version);
        if !events.is_empty() {
            self.tell_all(to, &Message::Events { version, events });
        }
    }

    pub(super) fn tell_all(&mut self, to: Vec<ConnectionId>, message: &Message) {
        match serde_json::to_string(message) {
            Ok(frame) => self.outputs.push_back(Output::Tell {
                to,
                frame: frame.into(),
            }),
            Err(error) => tracing::error!(%error, "a message cannot be written"),
        }
    }

    /// Remembers that a room has vanished.
    fn bury(&mut self, id: &RoomId) {
        if self.vanished.insert(id.clone()) {
            self.vanished_order.push_back(id.clone());
        }
        if self.vanished_order.len() > VANISHED
            && let Some(oldest) = self.vanished_order.pop_front()
        {
            self.vanished.remove(&oldest);
        }
    }

    pub(super) fn uninstall(&mut self, id: &RoomId, leaver: Option<MemberId>) {
        self.bury(id);
        let Some(mirror) = self.rooms.remove(id) else {
            return;
        };
        tracing::debug!(room = id.as_str(), "room has vanished");
        self.lists.on_changed(id);
        self.codes.remove(&mirror.room.code);
        for member in mirror
            .room
            .members
            .iter()
            .filter(|member| leaver != Some(member.id))
        {
            self.detach(id, member.id, EndReason::Kicked);
        }
    }

    /// Ends a member's connection, if it has one here.
    pub(super) fn detach(&mut self, id: &RoomId, member: MemberId, reason: EndReason) {
        if let Some(to) = self.attached.remove(&(id.clone(), member)) {
            if let Some(state) = self.connections.get_mut(&to) {
                state.member = None;
            }
            self.outputs.push_back(Output::End { to, reason });
        }
    }
}
