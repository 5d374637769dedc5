//! The way of a task: to its room, through a commit, to its answer; and rooms as the store has them, whoever wrote them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use samestep_proto::{TokenClaims, TokenId, token_to_text};

use super::decide::{Decision, Target};
use super::{
    Caller, Check, CheckId, Commit, CommitId, ConnectionId, Directory, Load, LoadId, Lock, Mirror,
    Output, Pending, ROOM_QUEUE, Task, Then, ms,
};
use crate::events::events;
use crate::ids::{InviteCode, MemberId, RoomId};
use crate::protocol::{EndReason, Joined, Message, Request, Started};
use crate::refusal::Refusal;
use crate::room::{Presence, Room};
use crate::secret::PasswordHash;
use crate::store::{Change, CommitError, Content, Expect, Record, StoreError, Table, Write};

/// How often a task may meet another version before it is given up.
const CONFLICTS: u32 = 50;

impl Directory {
    /// Brings a task on: to a decision, or to what it has to wait for.
    pub(super) fn process(&mut self, now: Duration, mut pending: Pending) {
        let (id, is_new) = match self.target(&pending) {
            Ok(Target::Room(id)) => (id, false),
            Ok(Target::New) => (RoomId::from_random(self.random.bytes()), true),
            Ok(Target::Ask(table, key)) => return self.read(table, key, pending),
            Err(refusal) => return self.end(now, pending, Err(refusal), Then::Nothing, None),
        };
        if let Some(Lock { waiting, .. }) = self.locked.get_mut(&id) {
            let full = waiting.len() >= ROOM_QUEUE && matches!(pending.task, Task::Client(..));
            return match full {
                true => self.end(now, pending, Err(Refusal::Busy), Then::Nothing, None),
                false => waiting.push_back(pending),
            };
        }
        let mirror = self.rooms.get(&id).cloned();
        if mirror.is_none() && !is_new && !pending.fresh {
            return self.read(Table::Rooms, id.into(), pending);
        }
        if mirror.is_none()
            && matches!(pending.task, Task::Client(_, _, Request::Create(_)))
            && !is_new
        {
            // The room of who had the name has vanished, and rooms do not come back.
            pending.room = None;
            return self.process(now, pending);
        }
        let spare = InviteCode::from_random(self.random.bytes());
        let room = mirror.as_ref().map(|mirror| &mirror.room);
        match self.decide(ms(now), &pending, room, &id, spare) {
            Decision::Change(after, then) => self.commit(id, mirror, *after, pending, then),
            Decision::Nothing(then) => self.end(now, pending, Ok(()), then, Some(id)),
            Decision::Check(password, against) => {
                let check = CheckId(self.next_id());
                self.checks_out.push_back(Check {
                    id: check,
                    password,
                    against,
                    salt: self.random.bytes(),
                    cost: self.config.password_cost,
                });
                self.checks.insert(check, pending);
            }
            // Another lobby may have changed what this one goes by.
            Decision::Refused(_) if !pending.fresh && !is_new => {
                pending.fresh = false;
                self.read(Table::Rooms, id.into(), pending);
            }
            Decision::Refused(refusal) => self.end(now, pending, Err(refusal), Then::Nothing, None),
        }
    }

    fn read(&mut self, table: Table, key: String, pending: Pending) {
        let load = self.ask(table, key);
        load.waiting.push(pending);
    }

    fn ask(&mut self, table: Table, key: String) -> &mut Load {
        let next = LoadId(self.next_id());
        let id = *self.unasked.entry((table, key.clone())).or_insert(next);
        let waiting = Vec::new();
        self.loads.entry(id).or_insert(Load {
            table,
            key,
            waiting,
        })
    }

    fn commit(
        &mut self,
        id: RoomId,
        before: Option<Mirror>,
        after: Option<Room>,
        pending: Pending,
        then: Then,
    ) {
        let commit = CommitId(self.next_id());
        let writes = writes(&id, before.as_ref(), after.as_ref());
        let lock = Lock {
            next: before.as_ref().map_or(1, |mirror| mirror.version + 1),
            heard: false,
            waiting: VecDeque::new(),
        };
        self.locked.insert(id.clone(), lock);
        self.commits_out.push_back((commit, writes));
        let under_way = Commit {
            room: id,
            version: before.map(|mirror| mirror.version),
            after: after.map(Arc::new),
            pending,
            then,
        };
        self.commits.insert(commit, under_way);
    }

    /// What became of a commit.
    pub fn handle_committed(
        &mut self,
        now: Duration,
        commit: CommitId,
        outcome: Result<(), CommitError>,
    ) {
        let Some(Commit {
            room,
            version,
            after,
            mut pending,
            then,
        }) = self.commits.remove(&commit)
        else {
            return;
        };
        let lock = self.locked.remove(&room);
        let (heard, waiting) =
            lock.map_or((false, VecDeque::new()), |lock| (lock.heard, lock.waiting));
        if heard && outcome.is_err() {
            self.ask(Table::Rooms, room.clone().into());
        }
        match outcome {
            Ok(()) => {
                self.stats.commits += 1;
                let leaver = match then {
                    Then::Left(member) => Some(member),
                    _ => None,
                };
                match after {
                    Some(after) => self.install(
                        now,
                        &room,
                        version.map_or(1, |version| version + 1),
                        after,
                        leaver,
                    ),
                    None => self.uninstall(&room, leaver),
                }
                self.end(now, pending, Ok(()), then, Some(room));
            }
            Err(CommitError::Conflict { table, key }) => {
                self.stats.conflicts += 1;
                pending.conflicts += 1;
                pending.fresh = false;
                let repeated = matches!(
                    pending.task,
                    Task::Client(_, _, Request::Create(_) | Request::Join(_))
                );
                if pending.conflicts > CONFLICTS {
                    self.end(now, pending, Err(Refusal::Busy), Then::Nothing, None);
                } else if table == Table::Places && repeated {
                    self.read(Table::Places, key, pending);
                } else if table == Table::Rooms {
                    self.read(table, key, pending);
                } else {
                    // Somebody has this code: another is made.
                    self.process(now, pending);
                }
            }
            Err(CommitError::Store(StoreError::TooLarge)) => {
                self.end(now, pending, Err(Refusal::Busy), Then::Nothing, None)
            }
            Err(CommitError::Store(_)) => {
                // It may be made all the same.
                self.ask(Table::Rooms, room.into());
                self.end(now, pending, Err(Refusal::Unavailable), Then::Nothing, None);
            }
        }
        for pending in waiting {
            self.process(now, pending);
        }
    }

    /// A record that was asked for.
    pub fn handle_loaded(
        &mut self,
        now: Duration,
        load: LoadId,
        loaded: Result<Option<Record>, StoreError>,
    ) {
        let Some(Load {
            table,
            key,
            waiting,
        }) = self.loads.remove(&load)
        else {
            return;
        };
        let failed = loaded.is_err();
        let record = loaded.unwrap_or_default();
        if table == Table::Rooms && !failed {
            self.handle_room(now, &key, record.as_ref());
        }
        for mut pending in waiting {
            if failed {
                self.end(now, pending, Err(Refusal::Unavailable), Then::Nothing, None);
                continue;
            }
            let found = record.as_ref().and_then(|record| {
                std::str::from_utf8(&record.payload)
                    .ok()?
                    .parse::<RoomId>()
                    .ok()
            });
            match table {
                Table::Rooms => {
                    pending.fresh = true;
                    self.process(now, pending);
                }
                // Whoever has the name may be the one who asks, again. Joining, it is so if it is in that room.
                Table::Places | Table::Codes => {
                    let missing = if table == Table::Codes {
                        Refusal::UnknownCode
                    } else {
                        Refusal::NameTaken
                    };
                    let elsewhere =
                        table == Table::Places && found.is_some() && pending.room == found;
                    let joins = matches!(pending.task, Task::Client(_, _, Request::Join(_)));
                    let other_room =
                        table == Table::Places && joins && found != self.target_room(&pending);
                    match found {
                        // It has just become free.
                        None if table == Table::Places => self.process(now, pending),
                        Some(room) if !elsewhere && !other_room => {
                            pending.room = Some(room);
                            self.process(now, pending);
                        }
                        _ => self.end(now, pending, Err(missing), Then::Nothing, None),
                    }
                }
                _ => {}
            }
        }
    }

    fn target_room(&self, pending: &Pending) -> Option<RoomId> {
        match self.target(pending) {
            Ok(Target::Room(room)) => Some(room),
            _ => None,
        }
    }

    /// A password that was checked.
    pub fn handle_checked(
        &mut self,
        now: Duration,
        check: CheckId,
        outcome: Result<PasswordHash, Refusal>,
    ) {
        let Some(mut pending) = self.checks.remove(&check) else {
            return;
        };
        match outcome {
            Ok(hash) => {
                pending.checked = Some(hash);
                self.process(now, pending);
            }
            Err(refusal) => self.end(now, pending, Err(refusal), Then::Nothing, None),
        }
    }

    /// Something has changed in the store, by whomever.
    pub fn handle_change(&mut self, change: &Change) {
        let Change::Record(Table::Rooms, key, version) = change else {
            return;
        };
        let Ok(id) = key.parse::<RoomId>() else {
            return;
        };
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
        let mut gone: std::collections::BTreeSet<_> = self.rooms.keys().cloned().collect();
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

    fn handle_room(&mut self, now: Duration, key: &str, record: Option<&Record>) {
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
        match serde_json::from_slice::<Room>(&record.payload) {
            Ok(room) => self.install(now, &id, record.version, Arc::new(room), None),
            Err(error) => {
                tracing::error!(room = key, %error, "a room in the store cannot be read: is it from a newer version?")
            }
        }
    }

    /// Takes over a version of a room, and tells its members what is new.
    fn install(
        &mut self,
        now: Duration,
        id: &RoomId,
        version: u64,
        room: Arc<Room>,
        leaver: Option<MemberId>,
    ) {
        let before = self.rooms.get(id).cloned();
        if before
            .as_ref()
            .is_some_and(|before| before.version >= version)
        {
            return;
        }
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

    fn tell_all(&mut self, to: Vec<ConnectionId>, message: &Message) {
        match serde_json::to_string(message) {
            Ok(frame) => self.outputs.push_back(Output::Tell {
                to,
                frame: frame.into(),
            }),
            Err(error) => tracing::error!(%error, "a message cannot be written"),
        }
    }

    fn uninstall(&mut self, id: &RoomId, leaver: Option<MemberId>) {
        let Some(mirror) = self.rooms.remove(id) else {
            return;
        };
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
    fn detach(&mut self, id: &RoomId, member: MemberId, reason: EndReason) {
        if let Some(to) = self.attached.remove(&(id.clone(), member)) {
            if let Some(state) = self.connections.get_mut(&to) {
                state.member = None;
            }
            self.outputs.push_back(Output::End { to, reason });
        }
    }

    /// A task is at its end.
    pub(super) fn end(
        &mut self,
        now: Duration,
        pending: Pending,
        outcome: Result<(), Refusal>,
        then: Then,
        room: Option<RoomId>,
    ) {
        let (from, id, request) = match pending.task {
            Task::Client(from, id, request) => (from, id, request),
            Task::Expired(_) if outcome.is_ok() => {
                self.stats.timed_out += 1;
                return;
            }
            _ => return,
        };
        if let Err(refusal) = outcome {
            if refusal.is_wrong_guess() {
                self.wrong_guesses.take(ms(now), from.origin);
            }
            return self.refuse(from, id, refusal);
        }
        self.count(&request, &then);
        let result = match (then, room) {
            (Then::Joined(member), Some(room)) => return self.welcome(now, from, id, room, member),
            (Then::Token(member), Some(room)) => {
                if let Some(mirror) = self.rooms.get(&room).cloned() {
                    self.start(now, from.connection, id, &mirror.room, member);
                }
                return;
            }
            (Then::Left(member), Some(room)) => {
                self.acknowledge(from, id);
                return self.detach(&room, member, EndReason::Left);
            }
            _ => id,
        };
        self.acknowledge(from, result);
    }

    fn acknowledge(&mut self, from: Caller, id: Option<u64>) {
        if let Some(number) = id {
            let to = from.connection;
            self.outputs.push_back(Output::Answer {
                to,
                id,
                result: Ok(Message::Done { id: number }),
            });
        }
    }

    fn count(&mut self, request: &Request, then: &Then) {
        match (request, then) {
            (Request::Create(_), _) => self.stats.rooms_made += 1,
            (Request::Join(_), _) => self.stats.joins += 1,
            (Request::Attach(_), _) => self.stats.returns += 1,
            (Request::Chat { .. }, _) => self.stats.lines += 1,
            (Request::Kick { .. }, _) => self.stats.kicks += 1,
            (Request::Start, _) => self.stats.starts += 1,
            _ => {}
        }
    }

    /// Tells who came in what room it is in; from now on it hears what changes.
    fn welcome(
        &mut self,
        now: Duration,
        from: Caller,
        id: Option<u64>,
        room: RoomId,
        member: MemberId,
    ) {
        let place = (room.clone(), member);
        let Some(mirror) = self
            .rooms
            .get(&room)
            .cloned()
            .filter(|mirror| mirror.room.member(member).is_some())
        else {
            // It was removed before it could be told: by another lobby, in the moment between.
            return self.refuse(from, id, Refusal::UnknownMember);
        };
        let to = from.connection;
        let joined = Joined {
            you: member,
            lobby_key: self.key.to_string(),
            room: mirror.room.view(mirror.version, true),
        };
        if from.live {
            let Some(state) = self.connections.get_mut(&to) else {
                // Its connection has ended meanwhile.
                if !self.attached.contains_key(&place) {
                    self.begin(now, Task::Gone(room, member));
                }
                return;
            };
            state.member = Some(place.clone());
            state.entering = false;
            if let Some(older) = self.attached.insert(place, to)
                && older != to
            {
                if let Some(state) = self.connections.get_mut(&older) {
                    state.member = None;
                }
                let reason = EndReason::Replaced;
                self.outputs.push_back(Output::End { to: older, reason });
            }
        }
        self.outputs.push_back(Output::Answer {
            to,
            id,
            result: Ok(Message::Joined(joined)),
        });
        if from.live && mirror.room.host.is_some() {
            self.start(now, to, None, &mirror.room, member);
        }
    }

    /// Hands out what it takes to play.
    fn start(
        &mut self,
        now: Duration,
        to: ConnectionId,
        id: Option<u64>,
        room: &Room,
        member: MemberId,
    ) {
        let Some(started) = room.started(member, &self.key) else {
            return;
        };
        let started = self.with_token(now, started, room, member);
        let started = Message::Started(Started { id, ..started });
        self.tell_all(vec![to], &started);
    }

    fn with_token(
        &mut self,
        now: Duration,
        mut started: Started,
        room: &Room,
        member: MemberId,
    ) -> Started {
        let (Some(host), Some(client)) = (room.member(started.host), room.member(member)) else {
            return started;
        };
        if host.id == client.id {
            return started;
        }
        let issued_unix_s = now.as_secs();
        let expires_unix_s = issued_unix_s + u64::from(self.config.token_life_s);
        let claims = TokenClaims {
            id: TokenId(self.random.bytes()),
            issued_unix_s,
            expires_unix_s,
            server: host.key,
            shard: host.shard,
            client: client.key,
            client_addresses: Vec::new(),
            user_data: client.name.as_str().as_bytes().to_vec(),
        };
        match self.issuer.issue(&claims) {
            Ok(token) => {
                self.stats.tokens += 1;
                started.token = Some(token_to_text(&token));
                started.token_expires_unix_s = Some(expires_unix_s);
            }
            Err(error) => tracing::error!(%error, "no connect token can be issued"),
        }
        started
    }
}

/// What changes in the store between two versions of a room: the room, its code, and the places of those who come and go.
fn writes(id: &RoomId, before: Option<&Mirror>, after: Option<&Room>) -> Vec<Write> {
    let old = before.map(|mirror| &*mirror.room);
    let named = |room: Option<&Room>| -> std::collections::BTreeSet<String> {
        room.into_iter()
            .flat_map(|room| &room.members)
            .map(|member| member.name.folded())
            .collect()
    };
    let (old_names, new_names) = (named(old), named(after));
    let points_here = || Content {
        payload: id.as_str().into(),
        ..Content::default()
    };
    let write = |table, key: &str, expect, content| Write {
        table,
        key: key.to_owned(),
        expect,
        content,
    };
    let mut writes = Vec::new();
    for name in new_names.difference(&old_names) {
        writes.push(write(
            Table::Places,
            name,
            Expect::Absent,
            Some(points_here()),
        ));
    }
    for name in old_names.difference(&new_names) {
        writes.push(write(Table::Places, name, Expect::Any, None));
    }
    let (old_code, new_code) = (old.map(|room| &room.code), after.map(|room| &room.code));
    if old_code != new_code {
        writes.extend(old_code.map(|code| write(Table::Codes, code.as_str(), Expect::Any, None)));
        writes.extend(new_code.map(|code| {
            write(
                Table::Codes,
                code.as_str(),
                Expect::Absent,
                Some(points_here()),
            )
        }));
    }
    let expect = before.map_or(Expect::Absent, |mirror| Expect::Version(mirror.version));
    let content = after.map(|room| Content {
        state: if room.host.is_some() {
            "started"
        } else {
            "gathering"
        }
        .into(),
        payload: serde_json::to_vec(room).unwrap_or_default(),
        expires_ms: None,
    });
    writes.push(write(Table::Rooms, id.as_str(), expect, content));
    writes
}
