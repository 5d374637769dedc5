//! What travels between a lobby and its clients: requests and messages in JSON, and their limits. `docs/lobby.md` tells how they go together.

use samestep_proto::PublicKey;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use utoipa::ToSchema;

use crate::ids::{InviteCode, MemberId, Name, RoomId};
use crate::refusal::Refusal;
use crate::secret::{RejoinSecret, RoomPassword};

/// Most members of a room.
pub const MAX_MEMBERS: u32 = 64;
/// Most candidates of a member.
pub const MAX_CANDIDATES: usize = 8;
/// Longest candidate, in bytes.
pub const MAX_CANDIDATE_BYTES: usize = 128;
/// Longest title of a room, name of a game or of its version, in characters.
pub const MAX_TITLE_CHARS: usize = 64;
/// Longest line of chat, in characters.
pub const MAX_CHAT_CHARS: usize = 300;
/// Largest settings of a game, in bytes of JSON.
pub const MAX_SETTINGS_BYTES: usize = 4096;

/// A way to reach a member. The lobby does not look into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Whether it tells the member's own address. Others get it only if the room's rule allows direct ways.
    pub direct: bool,
    /// The way, such as `192.0.2.1:7777`.
    #[schema(max_length = 128)]
    pub way: String,
}

/// Who joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// Its name, unique in the lobby.
    pub name: Name,
    /// The key of its endpoint (`Endpoint::public_key`), as 43 characters.
    #[serde(with = "key_text")]
    #[schema(value_type = String, min_length = 43, max_length = 43)]
    pub key: PublicKey,
    /// Its secret, made anew for each room.
    pub secret: RejoinSecret,
    /// How it can be reached.
    #[serde(default)]
    #[schema(max_items = 8)]
    pub candidates: Vec<Candidate>,
    /// Which of the servers that share its key it is, if it is to be the host.
    #[serde(default)]
    pub shard: u32,
}

fn yes() -> bool {
    true
}

fn eight() -> u32 {
    8
}

fn one() -> u32 {
    1
}

/// A room that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRoom {
    /// What it is called in the list.
    #[schema(min_length = 1, max_length = 64)]
    pub title: String,
    /// The game that is played.
    #[schema(min_length = 1, max_length = 64)]
    pub game: String,
    /// The version of the game, which all members need.
    #[serde(default)]
    #[schema(max_length = 64)]
    pub version: String,
    /// Most members.
    #[serde(default = "eight")]
    #[schema(minimum = 1, maximum = 64)]
    pub limit: u32,
    /// Fewest members to start with.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 64)]
    pub minimum: u32,
    /// Whether it is in the list; else its code lets people in.
    #[serde(default = "yes")]
    pub public: bool,
    /// Whether members see each other's addresses. It cannot be changed.
    #[serde(default)]
    pub direct: bool,
    /// Whether one can join after the start.
    #[serde(default)]
    pub late_joins: bool,
    /// What it takes to join, besides the code of a private room.
    #[serde(default)]
    pub password: Option<RoomPassword>,
    /// The settings of the game, at most 4 KiB.
    #[serde(default)]
    pub settings: Value,
}

/// What the owner changes of a room. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoomChanges {
    /// Another title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Another limit, not below the number of members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Another minimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<u32>,
    /// Public or private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public: Option<bool>,
    /// Whether one can join after the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_joins: Option<bool>,
    /// Another password; null: none.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<RoomPassword>)]
    pub password: Option<Option<RoomPassword>>,
    /// Other settings of the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Value>,
}

/// Tells `null` from absent.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<RoomPassword>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Which room to join, by one of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// A public room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomId>,
    /// The code of any room; it counts before `room`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<InviteCode>,
    /// The room's password, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<RoomPassword>,
    /// Who joins.
    pub member: NewMember,
}

/// A room and its first member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The room.
    pub room: NewRoom,
    /// Its owner.
    pub member: NewMember,
}

/// A member that comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Attach {
    /// The room.
    pub room: RoomId,
    /// Its number there.
    pub member: MemberId,
    /// The secret it joined with.
    pub secret: RejoinSecret,
}

/// What a client asks on the WebSocket of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Make a room and be its owner.
    Create(Create),
    /// Join a room.
    Join(Join),
    /// Come back to one's place.
    Attach(Attach),
    /// Say whether one is ready.
    Ready {
        /// Whether it is.
        ready: bool,
    },
    /// Say something to all members.
    Chat {
        /// One line, at most 300 characters.
        #[schema(min_length = 1, max_length = 300)]
        text: String,
    },
    /// Say how one can be reached now.
    Candidates {
        /// All ways; those before are gone.
        candidates: Vec<Candidate>,
    },
    /// The owner changes the room.
    Settings {
        /// What changes.
        changes: RoomChanges,
    },
    /// The owner sends a member away.
    Kick {
        /// Whom.
        member: MemberId,
        /// Whether its name and key may not come back.
        #[serde(default)]
        ban: bool,
    },
    /// The owner hands the room over.
    Promote {
        /// To whom.
        member: MemberId,
    },
    /// The owner starts the game and is its host.
    Start,
    /// The owner says that the game is over.
    Reopen,
    /// Ask for another connect token for the running game; the answer is `started`.
    Token,
    /// Leave the room.
    Leave,
}

/// A request with the number by which its answer is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Numbered {
    /// A number of the client's choice. Without it only refusals are answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
}

/// What a lobby says on the WebSocket of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// The member is in the room. What comes after tells what changes.
    Joined(Joined),
    /// The request with this number is done, and kept.
    Done {
        /// The request.
        id: u64,
    },
    /// A request was refused.
    Refused {
        /// The request, if it had a number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        /// For programs.
        #[schema(example = "name_taken")]
        code: String,
        /// For people.
        words: String,
    },
    /// What one version of the room changed.
    Events {
        /// The version.
        version: u64,
        /// What happened, in this order.
        events: Vec<RoomEvent>,
    },
    /// The game starts, or goes on for who comes back.
    Started(Started),
    /// The member is in the room no longer, or this connection is not its own any more.
    Ended {
        /// Why.
        reason: EndReason,
    },
}

impl Message {
    /// The answer to a refused request.
    pub fn refused(id: Option<u64>, refusal: Refusal) -> Self {
        Self::Refused {
            id,
            code: refusal.code().into(),
            words: refusal.to_string(),
        }
    }
}

/// Why a member's connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// It left.
    Left,
    /// The owner sent it away.
    Kicked,
    /// It was away for longer than the grace time.
    TimedOut,
    /// It has attached with another connection.
    Replaced,
    /// The lobby shuts down: attach to another, or to this one when it is back.
    ShuttingDown,
}

/// The answer to who joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Joined {
    /// The member's number.
    pub you: MemberId,
    /// The key that signs this lobby's connect tokens, for `SessionConfig::admits_by_lobby`.
    pub lobby_key: String,
    /// The room.
    pub room: RoomView,
}

/// A room as its members see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoomView {
    /// Which room.
    pub id: RoomId,
    /// How often it has changed.
    pub version: u64,
    /// What lets others in.
    pub code: InviteCode,
    /// What it is called.
    pub title: String,
    /// The game.
    pub game: String,
    /// Its version.
    pub game_version: String,
    /// Most members.
    pub limit: u32,
    /// Fewest members to start with.
    pub minimum: u32,
    /// Whether it is in the list.
    pub public: bool,
    /// Whether members see each other's addresses.
    pub direct: bool,
    /// Whether one can join after the start.
    pub late_joins: bool,
    /// Whether it asks for a password.
    pub password: bool,
    /// The settings of the game.
    pub settings: Value,
    /// Whether its game has started.
    pub started: bool,
    /// Who decides.
    pub owner: MemberId,
    /// Who is in it.
    pub members: Vec<MemberView>,
    /// The last lines of chat.
    pub chat: Vec<ChatLine>,
}

/// A member as the others see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemberView {
    /// Its number.
    pub id: MemberId,
    /// Its name.
    pub name: Name,
    /// Its key.
    #[serde(with = "key_text")]
    #[schema(value_type = String)]
    pub key: PublicKey,
    /// Whether it is ready.
    pub ready: bool,
    /// Whether it is connected.
    pub here: bool,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatLine {
    /// Counted in the room from 1.
    pub number: u64,
    /// Who said it; it may have left since.
    pub from: MemberId,
    /// Its name.
    pub name: Name,
    /// What it said.
    pub text: String,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
}

/// Something that changed in a room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RoomEvent {
    /// Somebody joined.
    MemberJoined {
        /// Who.
        member: MemberView,
    },
    /// A member is ready or not, here or gone.
    MemberChanged {
        /// As it is now.
        member: MemberView,
    },
    /// A member is in the room no longer.
    MemberLeft {
        /// Who.
        member: MemberId,
    },
    /// Another owner.
    OwnerChanged {
        /// Who decides now.
        owner: MemberId,
    },
    /// Somebody said something.
    Chat {
        /// What.
        line: ChatLine,
    },
    /// Settings, rules or state changed: the room as it is, its chat left out.
    RoomChanged {
        /// The room.
        room: Box<RoomView>,
    },
}

/// What everybody needs to play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Started {
    /// The request that this answers, if it was `token`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Which game of the room, counted from 1.
    pub game: u32,
    /// Who hosts it.
    pub host: MemberId,
    /// The host's shard.
    pub shard: u32,
    /// Whom this is for.
    pub you: MemberId,
    /// All members of the room.
    pub members: Vec<PlayerView>,
    /// What the host admits this member with, once; none for the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Until when the token is good, in seconds since 1970-01-01 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_expires_unix_s: Option<u64>,
    /// The key that signed the token.
    pub lobby_key: String,
}

/// Somebody who plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlayerView {
    /// Its number.
    pub id: MemberId,
    /// Its name.
    pub name: Name,
    /// Its key.
    #[serde(with = "key_text")]
    #[schema(value_type = String)]
    pub key: PublicKey,
    /// How it can be reached, as far as the room's rule allows one to know.
    pub candidates: Vec<Candidate>,
}

/// Public keys as text.
pub(crate) mod key_text {
    use super::{Deserialize, Deserializer, PublicKey, Serializer};

    pub fn serialize<S: Serializer>(key: &PublicKey, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(key)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PublicKey, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
