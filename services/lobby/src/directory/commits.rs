//! The way of a task: to its room, to a decision, through a commit to its end, and again if somebody else was faster.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::decide::{Decision, Target};
use super::{
    Check, CheckId, Commit, CommitId, Directory, Load, LoadId, Lock, Mirror, Pending, ROOM_QUEUE,
    Task, Then, ms,
};
use crate::ids::{InviteCode, RoomId};
use crate::protocol::Request;
use crate::refusal::Refusal;
use crate::room::Room;
use crate::secret::PasswordHash;
use crate::store::{CommitError, Content, Expect, Record, StoreError, Table, Write};

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

    pub(super) fn ask(&mut self, table: Table, key: String) -> &mut Load {
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
        if outcome.is_err() && self.vanished.contains(&room) {
            self.uninstall(&room, None);
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
}

/// What changes in the store between two versions of a room: the room, its code, and the places of those who come and go.
fn writes(id: &RoomId, before: Option<&Mirror>, after: Option<&Room>) -> Vec<Write> {
    let old = before.map(|mirror| &*mirror.room);
    let named = |room: Option<&Room>| -> BTreeSet<String> {
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
