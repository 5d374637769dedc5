//! `Directory`: the core of a lobby, without IO, clock or randomness of its own.
//!
//! Requests, what the store says and the time go in by `handle_*`; writes for the store, questions to it, passwords to be checked and answers come out by `poll_*`. A request
//! that changes a room is decided on what the directory knows of it, committed on the condition that it is still so, and answered when the store has it; a
//! room has one commit under way, and what comes meanwhile waits. A conflict, and any refusal by what another lobby may have changed, has the room read again first.

mod answers;
mod commits;
mod config;
mod decide;
mod list;
mod mirror;
#[cfg(test)]
mod model;
mod output;
mod presence;
#[cfg(test)]
mod schedules;
mod task;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use blake2::{Blake2s256, Digest};
use samestep_proto::{LobbyKey, TokenIssuer};

use crate::ids::{InviteCode, LobbyId, MemberId, RoomId};
use crate::limits::{Buckets, Origin};
use crate::protocol::Request;
use crate::refusal::Refusal;
use crate::room::Room;
use crate::store::{Table, Write};

pub use config::{DirectoryConfig, DirectoryStats, Population};
pub use list::{Filter, ListMessage, MAX_LISTED};
pub use output::{Check, Output};
pub use presence::{BEAT, SILENCE};
use task::{Commit, Load, Lock, Pending, Task, Then};

/// Requests that wait for one room.
const ROOM_QUEUE: usize = 256;
/// Commits and reads that are under way.
const UNDER_WAY: usize = 4096;
/// Vanished rooms that are remembered: far more than vanish while a read is under way.
const VANISHED: usize = 20_000;
/// Addresses that are remembered for each limit.
const ORIGINS: usize = 65_536;

/// A connection of a client, or one request over HTTP. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A commit under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitId(u64);

/// A record that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadId(u64);

/// A password that is being checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckId(u64);

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// On which connection.
    pub connection: ConnectionId,
    /// From where.
    pub origin: Origin,
    /// Whether the connection stays, so that it can be a member's.
    pub live: bool,
}

/// Random bytes from a seed, which must be secret and used once.
struct Randomness {
    seed: [u8; 32],
    count: u64,
}

impl Randomness {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        self.count += 1;
        let hash = Blake2s256::new()
            .chain_update(self.seed)
            .chain_update(self.count.to_le_bytes());
        let hash = hash.finalize();
        std::array::from_fn(|index| hash[index])
    }
}

/// A room as the store had it last.
#[derive(Clone, Debug)]
struct Mirror {
    room: Arc<Room>,
    version: u64,
}

/// A connection that stays.
#[derive(Debug)]
struct Connection {
    member: Option<(RoomId, MemberId)>,
    /// A request to be a member is under way.
    entering: bool,
}

/// The core of a lobby. See the [module](self).
pub struct Directory {
    config: DirectoryConfig,
    lobby: LobbyId,
    issuer: TokenIssuer,
    key: LobbyKey,
    random: Randomness,
    /// Whether other lobbies change rooms too.
    is_shared: bool,
    rooms: BTreeMap<RoomId, Mirror>,
    codes: BTreeMap<InviteCode, RoomId>,
    /// Rooms that have vanished, the newest last: a read that began before may still find them.
    vanished: BTreeSet<RoomId>,
    vanished_order: VecDeque<RoomId>,
    connections: BTreeMap<ConnectionId, Connection>,
    attached: BTreeMap<(RoomId, MemberId), ConnectionId>,
    /// Rooms with a commit under way, and what waits for them.
    locked: BTreeMap<RoomId, Lock>,
    commits: BTreeMap<CommitId, Commit>,
    loads: BTreeMap<LoadId, Load>,
    /// Reads that nobody has begun yet: what they find is new to whoever still joins them.
    unasked: BTreeMap<(Table, String), LoadId>,
    checks: BTreeMap<CheckId, Pending>,
    next_id: u64,
    /// Lobbies that are mentioned in rooms and do not beat, since when.
    silent: BTreeMap<LobbyId, u64>,
    alive: BTreeSet<LobbyId>,
    swept_ms: u64,
    lists: list::Lists,
    entering: Buckets<Origin>,
    browsing: Buckets<Origin>,
    wrong_guesses: Buckets<Origin>,
    requests: Buckets<ConnectionId>,
    stats: DirectoryStats,
    commits_out: VecDeque<(CommitId, Vec<Write>)>,
    checks_out: VecDeque<Check>,
    outputs: VecDeque<Output>,
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let population = self.population();
        f.debug_struct("Directory")
            .field("lobby", &self.lobby)
            .field("population", &population)
            .finish_non_exhaustive()
    }
}

fn ms(now: Duration) -> u64 {
    now.as_millis() as u64
}

impl Directory {
    /// A directory of a store that other lobbies change too (`is_shared`), or that is its own. `seed` must be secret and used once.
    pub fn new(
        config: DirectoryConfig,
        issuer: TokenIssuer,
        seed: [u8; 32],
        is_shared: bool,
    ) -> Self {
        let mut random = Randomness { seed, count: 0 };
        Self {
            lobby: LobbyId::from_random(random.bytes()),
            key: issuer.public_key(),
            issuer,
            random,
            is_shared,
            rooms: BTreeMap::new(),
            codes: BTreeMap::new(),
            vanished: BTreeSet::new(),
            vanished_order: VecDeque::new(),
            connections: BTreeMap::new(),
            attached: BTreeMap::new(),
            locked: BTreeMap::new(),
            commits: BTreeMap::new(),
            loads: BTreeMap::new(),
            unasked: BTreeMap::new(),
            checks: BTreeMap::new(),
            next_id: 0,
            silent: BTreeMap::new(),
            alive: BTreeSet::new(),
            swept_ms: 0,
            lists: list::Lists::default(),
            entering: Buckets::new(config.entering, ORIGINS),
            browsing: Buckets::new(config.browsing, ORIGINS),
            wrong_guesses: Buckets::new(config.wrong_guesses, ORIGINS),
            requests: Buckets::new(config.requests, ORIGINS),
            stats: DirectoryStats::default(),
            commits_out: VecDeque::new(),
            checks_out: VecDeque::new(),
            outputs: VecDeque::new(),
            config,
        }
    }

    /// This run's name in the store.
    pub fn lobby(&self) -> &LobbyId {
        &self.lobby
    }

    /// The key that signs its tokens.
    pub fn lobby_key(&self) -> &LobbyKey {
        &self.key
    }

    /// What it has done.
    pub fn stats(&self) -> &DirectoryStats {
        &self.stats
    }

    /// How much there is.
    pub fn population(&self) -> Population {
        Population {
            rooms: self.rooms.len(),
            members: self
                .rooms
                .values()
                .map(|mirror| mirror.room.members.len())
                .sum(),
            attached: self.attached.len(),
            watchers: self.lists.watchers(),
        }
    }

    /// Whether anything waits for the store.
    pub fn is_idle(&self) -> bool {
        self.commits.is_empty() && self.loads.is_empty() && self.checks.is_empty()
    }

    /// A connection that can become a member's.
    pub fn handle_opened(&mut self, connection: ConnectionId) {
        let state = Connection {
            member: None,
            entering: false,
        };
        self.connections.insert(connection, state);
    }

    /// A connection has ended: its member is gone, and has the grace time to come back.
    pub fn handle_closed(&mut self, now: Duration, connection: ConnectionId) {
        self.lists.forget(connection);
        let state = self.connections.remove(&connection);
        if let Some(member) = state.and_then(|state| state.member) {
            self.attached.remove(&member);
            self.begin(now, Task::Gone(member.0, member.1));
        }
    }

    /// Somebody asks for something. The answer comes by [`poll_output`](Self::poll_output), now or when the store has answered.
    pub fn handle(&mut self, now: Duration, from: Caller, id: Option<u64>, request: Request) {
        let allowed = match &request {
            Request::Create(_) | Request::Join(_) | Request::Attach(_) => {
                self.may_enter(now, &from)
            }
            _ if self.requests.take(ms(now), from.connection) => Ok(()),
            _ => Err(Refusal::TooOften),
        };
        let busy = self.commits.len() + self.loads.len() + self.checks.len() >= UNDER_WAY;
        match allowed {
            Ok(()) if busy => self.refuse(from, id, Refusal::Busy),
            Ok(()) => self.begin(now, Task::Client(from, id, request)),
            Err(refusal) => self.refuse(from, id, refusal),
        }
    }

    fn may_enter(&mut self, now: Duration, from: &Caller) -> Result<(), Refusal> {
        if from.live {
            let connection = self.connections.get(&from.connection);
            if connection.is_none_or(|state| state.member.is_some() || state.entering) {
                return Err(Refusal::NotNow);
            }
        }
        let allowed = self.wrong_guesses.has(ms(now), from.origin)
            && self.entering.take(ms(now), from.origin);
        allowed.then_some(()).ok_or(Refusal::TooOften)?;
        if let Some(state) = self.connections.get_mut(&from.connection) {
            state.entering = true;
        }
        Ok(())
    }

    fn begin(&mut self, now: Duration, task: Task) {
        let pending = Pending {
            task,
            room: None,
            fresh: !self.is_shared,
            checked: None,
            conflicts: 0,
        };
        self.process(now, pending);
    }

    fn refuse(&mut self, to: Caller, id: Option<u64>, refusal: Refusal) {
        tracing::debug!(
            connection = to.connection.0,
            refusal = refusal.code(),
            "refused"
        );
        *self.stats.refusals.entry(refusal).or_default() += 1;
        if refusal != Refusal::NotNow
            && let Some(state) = self.connections.get_mut(&to.connection)
        {
            state.entering = false;
        }
        self.outputs.push_back(Output::Answer {
            to: to.connection,
            id,
            result: Err(refusal),
        });
    }

    /// Counts a refusal that was made before a request came this far.
    pub fn on_refused(&mut self, refusal: Refusal) {
        *self.stats.refusals.entry(refusal).or_default() += 1;
    }

    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Writes for the store, all or none.
    pub fn poll_commit(&mut self) -> Option<(CommitId, Vec<Write>)> {
        self.commits_out.pop_front()
    }

    /// A record that has to be read: the answer goes to [`handle_loaded`](Self::handle_loaded).
    pub fn poll_load(&mut self) -> Option<(LoadId, Table, String)> {
        let ((table, key), id) = self.unasked.pop_first()?;
        Some((id, table, key))
    }

    /// A password that has to be checked: the answer goes to [`handle_checked`](Self::handle_checked).
    pub fn poll_check(&mut self) -> Option<Check> {
        self.checks_out.pop_front()
    }

    /// Something to be sent.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}
