//! What is under way in a directory: tasks, and the commits and reads that they wait for.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Caller;
use crate::ids::{LobbyId, MemberId, RoomId};
use crate::protocol::Request;
use crate::room::Room;
use crate::secret::PasswordHash;
use crate::store::Table;

/// What is to be done.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most are of clients")]
pub(super) enum Task {
    /// What a client asks.
    Client(Caller, Option<u64>, Request),
    /// A connection of a member has ended.
    Gone(RoomId, MemberId),
    /// A member that others took for gone is connected here.
    Here(RoomId, MemberId),
    /// The members of a lobby that is dead.
    Orphaned(RoomId, LobbyId),
    /// Members whose grace time is over.
    Expired(RoomId),
}

/// A task on its way.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) task: Task,
    /// Found by a code or a name.
    pub(super) room: Option<RoomId>,
    /// The room was read for this task.
    pub(super) fresh: bool,
    /// The hash of the password that was given, once it has been checked.
    pub(super) checked: Option<PasswordHash>,
    /// How often it met another version.
    pub(super) conflicts: u32,
}

/// What to do when a commit is made, or without one.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// Say that it is done.
    Done,
    /// Somebody is in.
    Joined(MemberId),
    /// Somebody has left by itself.
    Left(MemberId),
    /// A token is asked for.
    Token(MemberId),
    /// Nobody waits for an answer.
    Nothing,
}

/// A room with a commit under way.
#[derive(Debug)]
pub(super) struct Lock {
    /// The version that the commit makes, unless another does.
    pub(super) next: u64,
    /// Somebody made that version: this commit, if it is made.
    pub(super) heard: bool,
    pub(super) waiting: VecDeque<Pending>,
}

/// A commit under way.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) room: RoomId,
    /// The version that it replaces.
    pub(super) version: Option<u64>,
    /// The room as it will be; none: it has vanished.
    pub(super) after: Option<Arc<Room>>,
    pub(super) pending: Pending,
    pub(super) then: Then,
}

/// A read under way, and what waits for it.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) table: Table,
    pub(super) key: String,
    pub(super) waiting: Vec<Pending>,
}
