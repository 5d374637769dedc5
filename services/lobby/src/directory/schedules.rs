//! Several lobbies on one store, in random order: requests, answers that come late or never, changes heard late, lobbies that are killed. After every commit an oracle checks the store and who was
//! removed by whom, and at every answer that what is acknowledged was committed. `SAMESTEP_LOBBY_SEEDS=N` runs more of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::model::{ModelStore, START, config, directory, join, member, origin, room};
use super::presence::BEAT;
use super::{Caller, CommitId, ConnectionId, Directory, LoadId, Output};
use crate::ids::{LobbyId, MemberId, RoomId};
use crate::protocol::{Attach, Create, Message, Request};
use crate::room::{Presence, Room};
use crate::store::{Change, CommitError, Expect, Record, Write};

const NAMES: [&str; 10] = [
    "Ada", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal", "Ivy", "ada",
];

/// A small random generator: the schedule of a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

/// What is on its way to a lobby.
enum Event {
    Committed(CommitId, Result<(), CommitError>),
    Loaded(LoadId, Option<Record>),
    Change(Change),
}

struct Lobby {
    directory: Directory,
    events: VecDeque<Event>,
    changes: VecDeque<Change>,
}

#[derive(Default)]
struct Player {
    /// At which lobby and on which connection.
    connection: Option<(usize, ConnectionId)>,
    /// What it was told it is.
    place: Option<(RoomId, MemberId)>,
}

/// Something that is broken, which the oracle has to find.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// The store does not look at versions.
    BlindStore,
    /// Lobbies do not hear what others change.
    DeafLobbies,
    /// Lobbies answer before the store has anything.
    HastyAnswers,
}

struct World {
    fault: Option<Fault>,
    dice: Dice,
    now: Duration,
    store: ModelStore,
    lobbies: Vec<Lobby>,
    players: Vec<Player>,
    seeds: u8,
    next: u64,
    /// Members that were ever committed, and lines that were.
    members: BTreeSet<(RoomId, MemberId)>,
    lines: BTreeSet<String>,
    /// What was asked and would remove somebody.
    leaves: BTreeSet<(RoomId, MemberId)>,
    kicks: BTreeSet<(RoomId, MemberId, MemberId)>,
    said: BTreeMap<u64, String>,
    acknowledged: usize,
}

impl World {
    fn new(seed: u64, lobbies: usize) -> Self {
        let mut world = Self {
            fault: None,
            dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            now: START,
            store: ModelStore::default(),
            lobbies: Vec::new(),
            players: NAMES.iter().map(|_| Player::default()).collect(),
            seeds: 0,
            next: 0,
            members: BTreeSet::new(),
            lines: BTreeSet::new(),
            leaves: BTreeSet::new(),
            kicks: BTreeSet::new(),
            said: BTreeMap::new(),
            acknowledged: 0,
        };
        for _ in 0..lobbies {
            let lobby = world.lobby();
            world.lobbies.push(lobby);
        }
        world
    }

    fn lobby(&mut self) -> Lobby {
        self.seeds += 1;
        let mut directory = directory(self.seeds, config(), true);
        let rooms: Vec<_> = self
            .store
            .records
            .iter()
            .filter(|((table, _), _)| *table == crate::store::Table::Rooms)
            .map(|(_, record)| record.clone())
            .collect();
        directory.handle_all_rooms(self.now, &rooms);
        Lobby {
            directory,
            events: VecDeque::new(),
            changes: VecDeque::new(),
        }
    }

    fn step(&mut self) {
        match self.dice.roll(100) {
            0..30 => self.act(),
            30..85 => self.deliver(),
            85..96 => self.pass(),
            96..98 => self.drop_connection(),
            _ => self.kill(),
        }
        for lobby in 0..self.lobbies.len() {
            self.outputs(lobby);
        }
    }

    /// A player asks for something.
    fn act(&mut self) {
        let index = self.dice.roll(self.players.len());
        let lobby = self.dice.roll(self.lobbies.len());
        let name = NAMES[index];
        let (at, request) = match (
            &self.players[index].connection,
            self.players[index].place.clone(),
        ) {
            (None, place) => {
                self.next += 1;
                let connection = ConnectionId(self.next);
                self.lobbies[lobby].directory.handle_opened(connection);
                self.players[index].connection = Some((lobby, connection));
                let rooms: Vec<_> = self.store.rooms().into_keys().collect();
                let request = match place {
                    Some((room, member_id)) => Request::Attach(Attach {
                        room,
                        member: member_id,
                        secret: member(name).secret,
                    }),
                    None if rooms.is_empty() || self.dice.roll(4) == 0 => Request::Create(Create {
                        room: room(name),
                        member: member(name),
                    }),
                    None => join(name, &rooms[self.dice.roll(rooms.len())]),
                };
                ((lobby, connection), request)
            }
            (Some(at), Some((room, own))) => {
                let whom = MemberId(1 + self.dice.roll(5) as u32);
                let request = match self.dice.roll(12) {
                    0 => {
                        self.leaves.insert((room, own));
                        Request::Leave
                    }
                    1 => {
                        self.kicks.insert((room, own, whom));
                        Request::Kick {
                            member: whom,
                            ban: self.dice.roll(2) == 0,
                        }
                    }
                    2 => Request::Promote { member: whom },
                    3 => Request::Start,
                    4 => Request::Reopen,
                    5..8 => Request::Chat {
                        text: format!("line {}", self.next + 1),
                    },
                    _ => Request::Ready {
                        ready: self.dice.roll(3) > 0,
                    },
                };
                (*at, request)
            }
            (Some(_), None) => return,
        };
        self.next += 1;
        if let Request::Chat { text } = &request {
            self.said.insert(self.next, text.clone());
        }
        let caller = Caller {
            connection: at.1,
            origin: origin(),
            live: true,
        };
        self.lobbies[at.0]
            .directory
            .handle(self.now, caller, Some(self.next), request);
    }

    /// The store takes something from a lobby, or something reaches one.
    fn deliver(&mut self) {
        let index = self.dice.roll(self.lobbies.len());
        let lobby = &mut self.lobbies[index];
        match self.dice.roll(4) {
            0 => {
                if let Some((id, writes)) = lobby.directory.poll_commit() {
                    let before = self.store.rooms();
                    let outcome = match self.fault {
                        Some(Fault::BlindStore) => {
                            let any = writes.into_iter().map(|write| Write {
                                expect: Expect::Any,
                                ..write
                            });
                            self.store.commit(&any.collect::<Vec<_>>())
                        }
                        Some(Fault::HastyAnswers) => Ok(Vec::new()),
                        _ => self.store.commit(&writes),
                    };
                    let changes = outcome.as_ref().cloned().unwrap_or_default();
                    self.lobbies[index]
                        .events
                        .push_back(Event::Committed(id, outcome.map(|_| ())));
                    let heard = self.fault != Some(Fault::DeafLobbies);
                    for lobby in self.lobbies.iter_mut().filter(|_| heard) {
                        lobby.changes.extend(changes.iter().cloned());
                    }
                    self.judge(&before);
                }
            }
            1 => {
                if let Some((id, table, key)) = lobby.directory.poll_load() {
                    let record = self.store.records.get(&(table, key)).cloned();
                    lobby.events.push_back(Event::Loaded(id, record));
                }
            }
            2 => {
                let change = lobby.changes.pop_front();
                lobby.events.extend(change.map(Event::Change));
            }
            _ => {
                // Answers overtake each other.
                let len = lobby.events.len();
                if len > 0
                    && let Some(event) = lobby.events.remove(self.dice.roll(len))
                {
                    match event {
                        Event::Committed(id, outcome) => {
                            lobby.directory.handle_committed(self.now, id, outcome)
                        }
                        Event::Loaded(id, record) => {
                            lobby.directory.handle_loaded(self.now, id, Ok(record))
                        }
                        Event::Change(change) => lobby.directory.handle_change(&change),
                    }
                }
            }
        }
    }

    fn pass(&mut self) {
        self.now += Duration::from_millis(self.dice.roll(3000) as u64);
        let alive: BTreeSet<LobbyId> = self
            .lobbies
            .iter()
            .map(|lobby| lobby.directory.lobby().clone())
            .collect();
        for lobby in &mut self.lobbies {
            lobby.directory.handle_lobbies(self.now, alive.clone());
            lobby.directory.handle_time(self.now);
        }
    }

    fn drop_connection(&mut self) {
        let index = self.dice.roll(self.players.len());
        if let Some((lobby, connection)) = self.players[index].connection.take() {
            self.lobbies[lobby]
                .directory
                .handle_closed(self.now, connection);
        }
    }

    fn kill(&mut self) {
        let index = self.dice.roll(self.lobbies.len());
        let fresh = self.lobby();
        self.lobbies[index] = fresh;
        for player in &mut self.players {
            if player.connection.is_some_and(|(lobby, _)| lobby == index) {
                player.connection = None;
            }
        }
    }

    /// Whether the last commit may be.
    fn judge(&mut self, before: &BTreeMap<RoomId, Room>) {
        self.store.check();
        let after = self.store.rooms();
        for (id, room) in &after {
            self.members
                .extend(room.members.iter().map(|member| (id.clone(), member.id)));
            self.lines
                .extend(room.chat.iter().map(|line| line.text.clone()));
            assert!(
                before.contains_key(id) || room.members.len() == 1,
                "a room begins with its owner"
            );
        }
        for (id, room) in before {
            for member in &room.members {
                if after
                    .get(id)
                    .and_then(|room| room.member(member.id))
                    .is_some()
                {
                    continue;
                }
                let left = self.leaves.contains(&(id.clone(), member.id));
                let kicked = self.kicks.contains(&(id.clone(), room.owner, member.id));
                let over = matches!(member.presence, Presence::Gone(since) if since + 60_000 <= self.now.as_millis() as u64);
                assert!(
                    left || kicked || over,
                    "{:?} was removed from {id} without right",
                    member.name
                );
            }
        }
    }

    /// Players hear what lobbies say.
    fn outputs(&mut self, lobby: usize) {
        while let Some(output) = self.lobbies[lobby].directory.poll_output() {
            let player_of = |players: &mut Vec<Player>, to| {
                players
                    .iter()
                    .position(|player| player.connection == Some((lobby, to)))
            };
            match output {
                Output::Answer { to, id, result } => {
                    let Some(index) = player_of(&mut self.players, to) else {
                        continue;
                    };
                    match result {
                        Ok(Message::Joined(joined)) => {
                            let place = (joined.room.id.clone(), joined.you);
                            assert!(
                                self.members.contains(&place),
                                "an acknowledged member is not in the store"
                            );
                            self.players[index].place = Some(place);
                            self.acknowledged += 1;
                        }
                        Ok(_) => {
                            if let Some(line) = id.and_then(|id| self.said.get(&id)) {
                                assert!(
                                    self.lines.contains(line),
                                    "an acknowledged line is not in the store"
                                );
                                self.acknowledged += 1;
                            }
                        }
                        // Who is not let in forgets its place, and tries something else later.
                        Err(_) if self.players[index].place.is_none() => self.hang_up(index),
                        Err(refusal) => {
                            let (room, own) = self.players[index].place.clone().unwrap();
                            let there = self
                                .store
                                .rooms()
                                .get(&room)
                                .is_some_and(|room| room.member(own).is_some());
                            if refusal == crate::refusal::Refusal::UnknownMember && !there {
                                self.players[index].place = None;
                                self.hang_up(index);
                            } else if refusal == crate::refusal::Refusal::UnknownRoom {
                                assert!(!there, "a member's room is unknown");
                                self.players[index].place = None;
                                self.hang_up(index);
                            }
                        }
                    }
                }
                Output::End { to, reason } => {
                    if let Some(index) = player_of(&mut self.players, to) {
                        if reason != crate::protocol::EndReason::Replaced {
                            self.players[index].place = None;
                        }
                        self.hang_up(index);
                    }
                }
                Output::Tell { .. } => {}
            }
        }
    }

    fn hang_up(&mut self, index: usize) {
        if let Some((lobby, connection)) = self.players[index].connection.take() {
            self.lobbies[lobby]
                .directory
                .handle_closed(self.now, connection);
        }
    }

    /// Lets everything arrive: then all lobbies know the same, and nobody who is connected counts as gone.
    fn settle(&mut self) {
        for round in 0..400_000 {
            self.deliver();
            for lobby in 0..self.lobbies.len() {
                self.outputs(lobby);
            }
            let quiet = self.lobbies.iter().all(|lobby| {
                lobby.directory.is_idle() && lobby.events.is_empty() && lobby.changes.is_empty()
            });
            if quiet {
                break;
            }
            assert!(round < 399_999, "the lobbies do not come to rest");
        }
        let rooms = self.store.rooms();
        for lobby in &self.lobbies {
            let known: BTreeMap<_, _> = lobby
                .directory
                .rooms
                .iter()
                .map(|(id, mirror)| (id.clone(), Room::clone(&mirror.room)))
                .collect();
            assert_eq!(known, rooms, "a lobby knows something else than the store");
        }
        for ((room, member), connection) in self
            .lobbies
            .iter()
            .flat_map(|lobby| &lobby.directory.attached)
        {
            let there = rooms.get(room).and_then(|room| room.member(*member));
            assert!(
                there.is_some_and(|member| member.is_here()),
                "{connection:?} is of a member that is not here"
            );
        }
    }
}

fn run(seed: u64, lobbies: usize) -> usize {
    run_broken(seed, lobbies, None)
}

fn run_broken(seed: u64, lobbies: usize, fault: Option<Fault>) -> usize {
    let mut world = World::new(seed, lobbies);
    world.fault = fault;
    for _ in 0..1500 {
        world.step();
    }
    world.settle();
    // All players vanish: so do the rooms.
    for index in 0..world.players.len() {
        world.hang_up(index);
    }
    for _ in 0..200 {
        world.now += BEAT;
        world.pass();
        world.settle();
    }
    assert_eq!(world.store.rooms().len(), 0, "rooms vanish when empty");
    assert!(world.store.records.is_empty(), "and nothing of them stays");
    world.acknowledged
}

#[test]
fn two_lobbies_of_one_store_keep_the_invariants_in_any_order() {
    let more = std::env::var("SAMESTEP_LOBBY_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    let acknowledged: usize = (1..=more.unwrap_or(100)).map(|seed| run(seed, 2)).sum();
    assert!(
        acknowledged > 1000,
        "the schedules do something: {acknowledged}"
    );
}

#[test]
fn one_and_three_lobbies_do_too() {
    for seed in 100..120 {
        run(seed, 1);
        run(seed, 3);
    }
}

#[test]
fn the_oracle_finds_what_is_broken() {
    for fault in [Fault::BlindStore, Fault::DeafLobbies, Fault::HastyAnswers] {
        let found = (1..=20)
            .any(|seed| std::panic::catch_unwind(|| run_broken(seed, 2, Some(fault))).is_err());
        assert!(found);
    }
}
