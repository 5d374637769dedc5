//! What others see of a room, and what changed between two versions of it. Events follow from the versions alone, so members hear the same whichever lobby made the change.

use samestep_proto::LobbyKey;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{MemberId, RoomId};
use crate::protocol::{Candidate, MemberView, PlayerView, RoomEvent, RoomView, Started};
use crate::room::{Member, Room};

/// A room in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoomSummary {
    /// Which room.
    pub id: RoomId,
    /// What it is called.
    pub title: String,
    /// The game.
    pub game: String,
    /// Its version.
    pub game_version: String,
    /// How many members it has.
    pub members: u32,
    /// How many it can have.
    pub limit: u32,
    /// Whether it asks for a password.
    pub password: bool,
    /// Whether its game has started.
    pub started: bool,
    /// Whether somebody can join now.
    pub open: bool,
    /// Whether members see each other's addresses.
    pub direct: bool,
    /// When it was made, in milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
}

impl From<&Member> for MemberView {
    fn from(member: &Member) -> Self {
        Self {
            id: member.id,
            name: member.name.clone(),
            key: member.key,
            ready: member.ready,
            here: member.is_here(),
        }
    }
}

impl Room {
    /// The room as its members see it, with or without what was said.
    pub(crate) fn view(&self, version: u64, with_chat: bool) -> RoomView {
        RoomView {
            id: self.id.clone(),
            version,
            code: self.code.clone(),
            title: self.title.clone(),
            game: self.game.clone(),
            game_version: self.game_version.clone(),
            limit: self.limit,
            minimum: self.minimum,
            public: self.public,
            direct: self.direct,
            late_joins: self.late_joins,
            password: self.password.is_some(),
            settings: self.settings.clone(),
            started: self.host.is_some(),
            owner: self.owner,
            members: self.members.iter().map(MemberView::from).collect(),
            chat: if with_chat {
                self.chat.clone()
            } else {
                Vec::new()
            },
        }
    }

    /// The room in the list.
    pub(crate) fn summary(&self) -> RoomSummary {
        let started = self.host.is_some();
        RoomSummary {
            id: self.id.clone(),
            title: self.title.clone(),
            game: self.game.clone(),
            game_version: self.game_version.clone(),
            members: self.members.len() as u32,
            limit: self.limit,
            password: self.password.is_some(),
            started,
            open: self.members.len() < self.limit as usize && (!started || self.late_joins),
            direct: self.direct,
            created_ms: self.created_ms,
        }
    }

    /// What a member gets of the others when the game starts, as far as the room's rule allows; the token comes later.
    pub(crate) fn started(&self, you: MemberId, key: &LobbyKey) -> Option<Started> {
        let host = self.member(self.host?)?;
        let shown = |member: &Member| -> Vec<Candidate> {
            let allowed = |way: &&Candidate| self.direct || !way.direct || member.id == you;
            member.candidates.iter().filter(allowed).cloned().collect()
        };
        let players = self.members.iter().map(|member| PlayerView {
            id: member.id,
            name: member.name.clone(),
            key: member.key,
            candidates: shown(member),
        });
        Some(Started {
            id: None,
            game: self.games,
            host: host.id,
            shard: host.shard,
            you,
            members: players.collect(),
            token: None,
            token_expires_unix_s: None,
            lobby_key: key.to_string(),
        })
    }

    /// Everything about the room itself that its members see, to be compared.
    fn rules(&self) -> RoomView {
        RoomView {
            members: Vec::new(),
            owner: MemberId(0),
            ..self.view(0, false)
        }
    }
}

/// What happened between two versions of a room.
pub(crate) fn events(before: &Room, after: &Room, version: u64) -> Vec<RoomEvent> {
    let mut events = Vec::new();
    for member in &after.members {
        let now = MemberView::from(member);
        match before.member(member.id).map(MemberView::from) {
            None => events.push(RoomEvent::MemberJoined { member: now }),
            Some(old) if old != now => events.push(RoomEvent::MemberChanged { member: now }),
            Some(_) => {}
        }
    }
    for member in &before.members {
        if after.member(member.id).is_none() {
            events.push(RoomEvent::MemberLeft { member: member.id });
        }
    }
    if before.owner != after.owner {
        events.push(RoomEvent::OwnerChanged { owner: after.owner });
    }
    let new_lines = after
        .chat
        .iter()
        .filter(|line| line.number >= before.next_line);
    events.extend(new_lines.map(|line| RoomEvent::Chat { line: line.clone() }));
    if before.rules() != after.rules() {
        let room = Box::new(after.view(version, false));
        events.push(RoomEvent::RoomChanged { room });
    }
    events
}
