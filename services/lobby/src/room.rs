//! `Room`: what a room is, as the store keeps it, and what members may do with it. Pure: each change is a method that either is allowed and done, or changes nothing.

use samestep_proto::PublicKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{InviteCode, LobbyId, MemberId, Name, RoomId, is_showable};
use crate::protocol::{
    Candidate, ChatLine, MAX_CANDIDATE_BYTES, MAX_CANDIDATES, MAX_CHAT_CHARS, MAX_MEMBERS,
    MAX_SETTINGS_BYTES, MAX_TITLE_CHARS, NewMember, NewRoom, RoomChanges,
};
use crate::refusal::Refusal;
use crate::secret::{PasswordHash, RejoinSecret, SecretHash};

/// Lines of chat that a room keeps.
const CHAT_LINES: usize = 50;
/// Bans that a room keeps; the oldest is forgotten.
const BANS: usize = 100;

/// Where a member is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Presence {
    /// Connected to this lobby.
    Here(LobbyId),
    /// Not connected since this time.
    Gone(u64),
}

/// A member of a room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub id: MemberId,
    pub name: Name,
    #[serde(with = "crate::protocol::key_text")]
    pub key: PublicKey,
    pub secret: SecretHash,
    pub candidates: Vec<Candidate>,
    pub shard: u32,
    pub ready: bool,
    pub presence: Presence,
}

impl Member {
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.presence, Presence::Here(_))
    }
}

/// Who may not come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ban {
    name: String,
    #[serde(with = "crate::protocol::key_text")]
    key: PublicKey,
}

/// A room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Room {
    pub id: RoomId,
    pub code: InviteCode,
    pub title: String,
    pub game: String,
    pub game_version: String,
    pub limit: u32,
    pub minimum: u32,
    pub public: bool,
    pub direct: bool,
    pub late_joins: bool,
    pub password: Option<PasswordHash>,
    pub settings: Value,
    pub owner: MemberId,
    pub members: Vec<Member>,
    pub next_member: u32,
    pub banned: Vec<Ban>,
    pub chat: Vec<ChatLine>,
    pub next_line: u64,
    /// The host of the running game.
    pub host: Option<MemberId>,
    /// How many games have started.
    pub games: u32,
    pub created_ms: u64,
}

fn check(sound: bool) -> Result<(), Refusal> {
    sound.then_some(()).ok_or(Refusal::BadField)
}

fn is_title(text: &str) -> bool {
    text.chars().count() <= MAX_TITLE_CHARS && is_showable(text)
}

fn check_size(limit: u32, minimum: u32) -> Result<(), Refusal> {
    check((1..=MAX_MEMBERS).contains(&limit) && (1..=limit).contains(&minimum))
}

fn check_settings(settings: &Value) -> Result<(), Refusal> {
    let len = serde_json::to_vec(settings).map_or(usize::MAX, |bytes| bytes.len());
    check(len <= MAX_SETTINGS_BYTES)
}

fn check_candidates(candidates: &[Candidate]) -> Result<(), Refusal> {
    let sound = |candidate: &Candidate| {
        (1..=MAX_CANDIDATE_BYTES).contains(&candidate.way.len()) && is_showable(&candidate.way)
    };
    check(candidates.len() <= MAX_CANDIDATES && candidates.iter().all(sound))
}

/// A joining program's part in what is checked before anything is asked of the store.
pub(crate) fn check_member(member: &NewMember) -> Result<(), Refusal> {
    check_candidates(&member.candidates)
}

impl Room {
    /// A room without its first member, which [`join`](Self::join) brings.
    pub(crate) fn new(
        id: RoomId,
        code: InviteCode,
        wish: &NewRoom,
        now_ms: u64,
    ) -> Result<Self, Refusal> {
        let named = !wish.title.trim().is_empty() && !wish.game.is_empty();
        check(named && is_title(&wish.title) && is_title(&wish.game) && is_title(&wish.version))?;
        check_size(wish.limit, wish.minimum)?;
        check_settings(&wish.settings)?;
        check(
            wish.password
                .as_ref()
                .is_none_or(|password| password.is_sound()),
        )?;
        Ok(Self {
            id,
            code,
            title: wish.title.clone(),
            game: wish.game.clone(),
            game_version: wish.version.clone(),
            limit: wish.limit,
            minimum: wish.minimum,
            public: wish.public,
            direct: wish.direct,
            late_joins: wish.late_joins,
            password: None,
            settings: wish.settings.clone(),
            owner: MemberId(1),
            members: Vec::new(),
            next_member: 1,
            banned: Vec::new(),
            chat: Vec::new(),
            next_line: 1,
            host: None,
            games: 0,
            created_ms: now_ms,
        })
    }

    pub(crate) fn member(&self, id: MemberId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    fn member_mut(&mut self, id: MemberId) -> Result<&mut Member, Refusal> {
        let member = self.members.iter_mut().find(|member| member.id == id);
        member.ok_or(Refusal::UnknownMember)
    }

    /// The member that made the same request before, if it did.
    pub(crate) fn same_member(&self, wish: &NewMember) -> Option<MemberId> {
        let same = |member: &&Member| {
            member.name == wish.name
                && member.secret == wish.secret.hashed()
                && member.key == wish.key
        };
        self.members.iter().find(same).map(|member| member.id)
    }

    /// Lets somebody in, if there is a place. Whether code and password are right has been checked.
    pub(crate) fn join(
        &mut self,
        wish: &NewMember,
        presence: Presence,
    ) -> Result<MemberId, Refusal> {
        check_member(wish)?;
        let name = wish.name.folded();
        if self
            .banned
            .iter()
            .any(|ban| ban.name == name || ban.key == wish.key)
        {
            return Err(Refusal::Banned);
        }
        if self.host.is_some() && !self.late_joins {
            return Err(Refusal::Started);
        }
        if self.members.len() >= self.limit as usize {
            return Err(Refusal::Full);
        }
        if self.members.iter().any(|member| member.key == wish.key) {
            return Err(Refusal::KeyTaken);
        }
        if self
            .members
            .iter()
            .any(|member| member.name.folded() == name)
        {
            return Err(Refusal::NameTaken);
        }
        let id = MemberId(self.next_member);
        self.next_member = self.next_member.checked_add(1).ok_or(Refusal::Busy)?;
        self.members.push(Member {
            id,
            name: wish.name.clone(),
            key: wish.key,
            secret: wish.secret.hashed(),
            candidates: wish.candidates.clone(),
            shard: wish.shard,
            ready: false,
            presence,
        });
        Ok(id)
    }

    /// Whether `secret` is that of a member.
    pub(crate) fn prove(&self, id: MemberId, secret: &RejoinSecret) -> Result<(), Refusal> {
        let member = self.member(id).ok_or(Refusal::UnknownMember)?;
        let right = member.secret == secret.hashed();
        right.then_some(()).ok_or(Refusal::WrongSecret)
    }

    pub(crate) fn set_presence(&mut self, id: MemberId, presence: Presence) -> Result<(), Refusal> {
        self.member_mut(id)?.presence = presence;
        Ok(())
    }

    /// Removes a member. Its successor as owner is who has been there longest, those who are here first.
    pub(crate) fn remove(&mut self, id: MemberId) {
        self.members.retain(|member| member.id != id);
        if self.owner == id {
            let here = self.members.iter().find(|member| member.is_here());
            if let Some(next) = here.or(self.members.first()) {
                self.owner = next.id;
            }
        }
    }

    pub(crate) fn set_ready(&mut self, id: MemberId, ready: bool) -> Result<(), Refusal> {
        if self.host.is_some() {
            return Err(Refusal::Started);
        }
        self.member_mut(id)?.ready = ready;
        Ok(())
    }

    pub(crate) fn set_candidates(
        &mut self,
        id: MemberId,
        candidates: &[Candidate],
    ) -> Result<(), Refusal> {
        check_candidates(candidates)?;
        self.member_mut(id)?.candidates = candidates.to_vec();
        Ok(())
    }

    pub(crate) fn say(&mut self, id: MemberId, text: &str, now_ms: u64) -> Result<(), Refusal> {
        check(
            !text.trim().is_empty() && text.chars().count() <= MAX_CHAT_CHARS && is_showable(text),
        )?;
        let name = self.member_mut(id)?.name.clone();
        let number = self.next_line;
        self.next_line += 1;
        if self.chat.len() >= CHAT_LINES {
            self.chat.remove(0);
        }
        self.chat.push(ChatLine {
            number,
            from: id,
            name,
            text: text.into(),
            at_ms: now_ms,
        });
        Ok(())
    }

    fn by_owner(&self, id: MemberId) -> Result<(), Refusal> {
        (self.owner == id).then_some(()).ok_or(Refusal::NotOwner)
    }

    fn take_readiness_back(&mut self) {
        for member in &mut self.members {
            member.ready = false;
        }
    }

    /// The owner changes settings and rules; a password comes as its hash.
    pub(crate) fn change(
        &mut self,
        by: MemberId,
        changes: &RoomChanges,
        password: Option<&PasswordHash>,
    ) -> Result<(), Refusal> {
        self.by_owner(by)?;
        if self.host.is_some() {
            return Err(Refusal::Started);
        }
        let limit = changes.limit.unwrap_or(self.limit);
        let minimum = changes.minimum.unwrap_or(self.minimum);
        check_size(limit, minimum)?;
        check(limit as usize >= self.members.len())?;
        if let Some(title) = &changes.title {
            check(!title.trim().is_empty() && is_title(title))?;
        }
        if let Some(settings) = &changes.settings {
            check_settings(settings)?;
        }
        if let Some(title) = &changes.title {
            self.title.clone_from(title);
        }
        if let Some(settings) = &changes.settings {
            self.settings.clone_from(settings);
        }
        (self.limit, self.minimum) = (limit, minimum);
        self.public = changes.public.unwrap_or(self.public);
        self.late_joins = changes.late_joins.unwrap_or(self.late_joins);
        if changes.password.is_some() {
            self.password = password.cloned();
        }
        self.take_readiness_back();
        Ok(())
    }

    /// The owner sends a member away. A ban of a private room makes its code another one, which `code` is.
    pub(crate) fn kick(
        &mut self,
        by: MemberId,
        whom: MemberId,
        ban: bool,
        code: InviteCode,
    ) -> Result<(), Refusal> {
        self.by_owner(by)?;
        let member = self.member(whom).ok_or(Refusal::UnknownMember)?;
        check(whom != by)?;
        if ban {
            let ban = Ban {
                name: member.name.folded(),
                key: member.key,
            };
            if self.banned.len() >= BANS {
                self.banned.remove(0);
            }
            self.banned.push(ban);
            if !self.public {
                self.code = code;
            }
        }
        self.remove(whom);
        Ok(())
    }

    pub(crate) fn promote(&mut self, by: MemberId, whom: MemberId) -> Result<(), Refusal> {
        self.by_owner(by)?;
        self.owner = self.member_mut(whom)?.id;
        Ok(())
    }

    pub(crate) fn start(&mut self, by: MemberId) -> Result<(), Refusal> {
        self.by_owner(by)?;
        if self.host.is_some() {
            return Err(Refusal::Started);
        }
        if self.members.len() < self.minimum as usize {
            return Err(Refusal::TooFew);
        }
        let waits = |member: &Member| member.id != by && !(member.ready && member.is_here());
        if self.members.iter().any(waits) {
            return Err(Refusal::NotReady);
        }
        self.host = Some(by);
        self.games = self.games.wrapping_add(1);
        Ok(())
    }

    pub(crate) fn reopen(&mut self, by: MemberId) -> Result<(), Refusal> {
        self.by_owner(by)?;
        self.host.take().ok_or(Refusal::NotStarted)?;
        self.take_readiness_back();
        Ok(())
    }
}
