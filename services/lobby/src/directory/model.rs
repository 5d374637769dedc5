//! For tests: a store that is a map, members that are made up, and directories that wait for nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use samestep_proto::{Identity, TokenIssuer};
use serde_json::json;

use super::{Caller, ConnectionId, Directory, DirectoryConfig, Output};
use crate::ids::{Name, RoomId};
use crate::limits::{Origin, Rate};
use crate::protocol::{
    Attach, Candidate, Create, Join, Joined, Message, NewMember, NewRoom, Request,
};
use crate::refusal::Refusal;
use crate::room::Room;
use crate::secret::{PasswordCost, RejoinSecret};
use crate::store::{Change, CommitError, Expect, Record, Table, Write};

/// When the tests begin.
pub const START: Duration = Duration::from_secs(2_000_000_000);

/// A store without delays or failures.
#[derive(Clone, Debug, Default)]
pub struct ModelStore {
    pub records: BTreeMap<(Table, String), Record>,
}

impl ModelStore {
    pub fn commit(&mut self, writes: &[Write]) -> Result<Vec<Change>, CommitError> {
        let mut sorted: Vec<_> = writes.iter().collect();
        sorted.sort_by_key(|write| (write.table, write.key.clone()));
        for write in &sorted {
            let found = self
                .records
                .get(&(write.table, write.key.clone()))
                .map(|record| record.version);
            let sound = match write.expect {
                Expect::Any => true,
                Expect::Absent => found.is_none(),
                Expect::Version(version) => found == Some(version),
            };
            if !sound {
                return Err(CommitError::Conflict {
                    table: write.table,
                    key: write.key.clone(),
                });
            }
        }
        let changes = sorted.into_iter().map(|write| {
            let at = (write.table, write.key.clone());
            let before = self.records.remove(&at);
            let version = write.content.as_ref().map(|content| {
                let version = before.map_or(1, |record| record.version + 1);
                let record = Record {
                    key: write.key.clone(),
                    version,
                    state: content.state.clone(),
                    payload: content.payload.clone(),
                    ..Record::default()
                };
                self.records.insert(at, record);
                version
            });
            Change::Record(write.table, write.key.clone(), version)
        });
        Ok(changes.collect())
    }

    pub fn rooms(&self) -> BTreeMap<RoomId, Room> {
        let rooms = self
            .records
            .iter()
            .filter(|((table, _), _)| *table == Table::Rooms);
        let read = rooms.map(|((_, key), record)| {
            (
                key.parse().unwrap(),
                serde_json::from_slice(&record.payload).unwrap(),
            )
        });
        read.collect()
    }

    /// What must hold whenever a commit has been made.
    pub fn check(&self) {
        let rooms = self.rooms();
        let (mut places, mut codes) = (BTreeMap::new(), BTreeMap::new());
        for (id, room) in &rooms {
            assert!(!room.members.is_empty(), "an empty room is there");
            assert!(
                room.members.len() <= room.limit as usize,
                "a room has too many members"
            );
            assert!(room.member(room.owner).is_some(), "the owner is no member");
            for member in &room.members {
                let twice = places.insert(member.name.folded(), id.clone());
                assert_eq!(twice, None, "{:?} is in two places", member.name);
                assert!(member.id.0 < room.next_member, "a number is used twice");
            }
            assert_eq!(
                codes.insert(room.code.as_str().to_owned(), id.clone()),
                None
            );
        }
        let kept = |wanted: Table| -> BTreeMap<String, RoomId> {
            let records = self
                .records
                .iter()
                .filter(|((table, _), _)| *table == wanted);
            let read = records.map(|((_, key), record)| {
                let room = std::str::from_utf8(&record.payload).unwrap();
                (key.clone(), room.parse().unwrap())
            });
            read.collect()
        };
        assert_eq!(kept(Table::Places), places, "places and rooms agree");
        assert_eq!(kept(Table::Codes), codes, "codes and rooms agree");
    }
}

pub fn config() -> DirectoryConfig {
    DirectoryConfig {
        entering: Rate::new(1_000_000, 1000.0),
        requests: Rate::new(1_000_000, 1000.0),
        password_cost: PasswordCost::LEAST,
        ..DirectoryConfig::default()
    }
}

pub fn directory(seed: u8, config: DirectoryConfig, is_shared: bool) -> Directory {
    Directory::new(config, TokenIssuer::new([9; 32]), [seed; 32], is_shared)
}

pub fn room(title: &str) -> NewRoom {
    serde_json::from_value(json!({ "title": title, "game": "sublockus", "limit": 4 })).unwrap()
}

pub fn member(name: &str) -> NewMember {
    let mut secret = [0; 32];
    secret[..name.len()].copy_from_slice(name.as_bytes());
    NewMember {
        name: Name::try_from(name.to_owned()).unwrap(),
        key: Identity::from_secret(secret).public_key(),
        secret: RejoinSecret::from_bytes(secret),
        candidates: vec![
            Candidate {
                direct: true,
                way: format!("192.0.2.1:{}", name.len()),
            },
            Candidate {
                direct: false,
                way: "relay.example/1".into(),
            },
        ],
        shard: 7,
    }
}

pub fn create(name: &str, room: NewRoom) -> Request {
    Request::Create(Create {
        room,
        member: member(name),
    })
}

pub fn join(name: &str, room: &RoomId) -> Request {
    Request::Join(Join {
        room: Some(room.clone()),
        code: None,
        password: None,
        member: member(name),
    })
}

pub fn attach(name: &str, joined: &Joined) -> Request {
    Request::Attach(Attach {
        room: joined.room.id.clone(),
        member: joined.you,
        secret: member(name).secret,
    })
}

pub fn origin() -> Origin {
    Origin::from(IpAddr::from([192, 0, 2, 1]))
}

/// A lobby whose store answers at once.
pub struct Bench {
    pub now: Duration,
    pub directory: Directory,
    pub store: ModelStore,
    next: u64,
    /// What each connection was sent.
    pub sent: BTreeMap<ConnectionId, Vec<Message>>,
    pub refused: Vec<Refusal>,
}

impl Bench {
    pub fn new(config: DirectoryConfig) -> Self {
        Self {
            now: START,
            directory: directory(1, config, false),
            store: ModelStore::default(),
            next: 0,
            sent: BTreeMap::new(),
            refused: Vec::new(),
        }
    }

    pub fn connect(&mut self) -> ConnectionId {
        self.next += 1;
        let connection = ConnectionId(self.next);
        self.directory.handle_opened(connection);
        connection
    }

    pub fn ask(&mut self, connection: ConnectionId, request: Request) -> Result<(), Refusal> {
        let caller = Caller {
            connection,
            origin: origin(),
            live: true,
        };
        self.directory.handle(self.now, caller, Some(1), request);
        self.run()
    }

    /// Someone comes in on a new connection.
    pub fn enter(&mut self, request: Request) -> Result<(ConnectionId, Joined), Refusal> {
        let connection = self.connect();
        self.ask(connection, request)?;
        let joined = self
            .take(connection)
            .into_iter()
            .find_map(|message| match message {
                Message::Joined(joined) => Some(joined),
                _ => None,
            });
        Ok((connection, joined.expect("who is let in is told")))
    }

    pub fn pass(&mut self, time: Duration) {
        self.now += time;
        self.directory.handle_time(self.now);
        self.run().unwrap();
    }

    pub fn close(&mut self, connection: ConnectionId) {
        self.directory.handle_closed(self.now, connection);
        self.run().unwrap();
    }

    pub fn take(&mut self, connection: ConnectionId) -> Vec<Message> {
        self.sent.remove(&connection).unwrap_or_default()
    }

    /// Until nothing is to be done.
    fn run(&mut self) -> Result<(), Refusal> {
        let mut refused = Ok(());
        loop {
            if let Some((id, writes)) = self.directory.poll_commit() {
                let outcome = self.store.commit(&writes);
                self.store.check();
                self.directory
                    .handle_committed(self.now, id, outcome.map(|_| ()));
            } else if let Some((id, table, key)) = self.directory.poll_load() {
                let record = self.store.records.get(&(table, key)).cloned();
                self.directory.handle_loaded(self.now, id, Ok(record));
            } else if let Some(check) = self.directory.poll_check() {
                self.directory
                    .handle_checked(self.now, check.id, check.run());
            } else if let Some(output) = self.directory.poll_output() {
                match output {
                    Output::Answer {
                        to,
                        result: Ok(message),
                        ..
                    } => self.sent.entry(to).or_default().push(message),
                    Output::Answer {
                        result: Err(refusal),
                        ..
                    } => {
                        self.refused.push(refusal);
                        refused = Err(refusal);
                    }
                    Output::Tell { to, frame } => {
                        for to in to {
                            if let Ok(message) = serde_json::from_str(&frame) {
                                self.sent.entry(to).or_default().push(message);
                            }
                        }
                    }
                    Output::End { to, reason } => self
                        .sent
                        .entry(to)
                        .or_default()
                        .push(Message::Ended { reason }),
                }
            } else {
                assert!(self.directory.is_idle(), "nothing is under way");
                return refused;
            }
        }
    }
}
