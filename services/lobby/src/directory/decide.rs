//! What becomes of a task, by what is known of its room: refused, done without a change, or another room that is to be committed. Nothing is changed here.

use std::sync::Arc;

use super::{Directory, Pending, Task, Then};
use crate::ids::{InviteCode, RoomId};
use crate::protocol::{Join, NewMember, Request};
use crate::refusal::Refusal;
use crate::room::{Presence, Room, check_member};
use crate::secret::{PasswordHash, RoomPassword};
use crate::store::Table;

/// What is to be done.
pub(super) enum Decision {
    /// The room changes; without it, it vanishes.
    Change(Box<Option<Room>>, Then),
    /// All is as it should be.
    Nothing(Then),
    /// First a password has to be checked against a hash, or hashed.
    Check(RoomPassword, Option<PasswordHash>),
    /// No.
    Refused(Refusal),
}

impl From<Refusal> for Decision {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Which room a task is about.
pub(super) enum Target {
    /// This one.
    Room(RoomId),
    /// One that is to be made.
    New,
    /// It has to be read which.
    Ask(Table, String),
}

impl Directory {
    /// Which room a task is about.
    pub(super) fn target(&self, pending: &Pending) -> Result<Target, Refusal> {
        if let Some(room) = &pending.room {
            return Ok(Target::Room(room.clone()));
        }
        match &pending.task {
            Task::Gone(room, _)
            | Task::Here(room, _)
            | Task::Orphaned(room, _)
            | Task::Expired(room) => Ok(Target::Room(room.clone())),
            Task::Client(_, _, Request::Create(_)) => Ok(Target::New),
            Task::Client(_, _, Request::Join(join)) => self.door(join),
            Task::Client(_, _, Request::Attach(attach)) => Ok(Target::Room(attach.room.clone())),
            Task::Client(from, _, _) => {
                let connection = self.connections.get(&from.connection);
                let member = connection.and_then(|state| state.member.as_ref());
                Ok(Target::Room(member.ok_or(Refusal::NotNow)?.0.clone()))
            }
        }
    }

    fn door(&self, join: &Join) -> Result<Target, Refusal> {
        match (&join.code, &join.room) {
            (Some(code), _) => match self.codes.get(code) {
                Some(room) => Ok(Target::Room(room.clone())),
                None if self.is_shared => Ok(Target::Ask(Table::Codes, code.as_str().into())),
                None => Err(Refusal::UnknownCode),
            },
            (None, Some(room)) => Ok(Target::Room(room.clone())),
            (None, None) => Err(Refusal::Malformed),
        }
    }

    /// What becomes of a task. `spare` is a code for who needs a new one.
    pub(super) fn decide(
        &self,
        now_ms: u64,
        pending: &Pending,
        room: Option<&Arc<Room>>,
        id: &RoomId,
        spare: InviteCode,
    ) -> Decision {
        let decided = match &pending.task {
            Task::Client(from, _, request) => {
                let here = match from.live {
                    true => Presence::Here(self.lobby.clone()),
                    false => Presence::Gone(now_ms),
                };
                match request {
                    Request::Create(create) => match room {
                        // The name is taken: by the same request, which was repeated?
                        Some(room) => match room.same_member(&create.member) {
                            Some(_) => come_in(room, &create.member, here),
                            None => Err(Refusal::NameTaken),
                        },
                        None if self.rooms.len() >= self.config.max_rooms => Err(Refusal::Busy),
                        None => {
                            let made = Room::new(id.clone(), spare, &create.room, now_ms);
                            match (&create.room.password, &pending.checked, made) {
                                (_, _, Err(refusal)) => Err(refusal),
                                (Some(password), None, Ok(_)) => {
                                    Ok(Decision::Check(password.clone(), None))
                                }
                                (_, checked, Ok(mut made)) => {
                                    made.password.clone_from(checked);
                                    come_in(&made, &create.member, here)
                                }
                            }
                        }
                    },
                    Request::Join(join) => match room {
                        Some(room) => knock(room, join, pending, here),
                        None if join.code.is_some() => Err(Refusal::UnknownCode),
                        None => Err(Refusal::UnknownRoom),
                    },
                    _ => match room {
                        Some(room) => self.decide_for_member(now_ms, pending, room, here, spare),
                        None => Err(Refusal::UnknownRoom),
                    },
                }
            }
            _ => Ok(room.map_or(Decision::Nothing(Then::Nothing), |room| {
                self.decide_presence(now_ms, pending, room)
            })),
        };
        let decision = decided.unwrap_or_else(Decision::Refused);
        match (decision, room) {
            // Whoever changes nothing writes nothing.
            (Decision::Change(after, then), Some(room))
                if after.as_ref().as_ref() == Some(&**room) =>
            {
                Decision::Nothing(then)
            }
            (decision, _) => decision,
        }
    }

    fn decide_for_member(
        &self,
        now_ms: u64,
        pending: &Pending,
        room: &Arc<Room>,
        here: Presence,
        spare: InviteCode,
    ) -> Result<Decision, Refusal> {
        let Task::Client(from, _, request) = &pending.task else {
            return Ok(Decision::Nothing(Then::Nothing));
        };
        let mut after = Room::clone(room);
        if let Request::Attach(attach) = request {
            room.prove(attach.member, &attach.secret)?;
            after.set_presence(attach.member, here)?;
            return Ok(changed(after, Then::Joined(attach.member)));
        }
        let connection = self.connections.get(&from.connection);
        let member = connection.and_then(|state| state.member.as_ref());
        let (_, by) = *member.ok_or(Refusal::NotNow)?;
        match request {
            Request::Ready { ready } => after.set_ready(by, *ready)?,
            Request::Chat { text } => after.say(by, text, now_ms)?,
            Request::Candidates { candidates } => after.set_candidates(by, candidates)?,
            Request::Settings { changes } => {
                if let (Some(Some(password)), None) = (&changes.password, &pending.checked) {
                    if !password.is_sound() {
                        return Err(Refusal::BadField);
                    }
                    after.change(by, changes, None)?;
                    return Ok(Decision::Check(password.clone(), None));
                }
                after.change(by, changes, pending.checked.as_ref())?;
            }
            Request::Kick { member, ban } => after.kick(by, *member, *ban, spare)?,
            Request::Promote { member } => after.promote(by, *member)?,
            Request::Start => after.start(by)?,
            Request::Reopen => after.reopen(by)?,
            Request::Token => {
                let host = room.host.ok_or(Refusal::NotStarted)?;
                room.member(host).ok_or(Refusal::HostGone)?;
                return Ok(Decision::Nothing(Then::Token(by)));
            }
            Request::Leave => {
                after.remove(by);
                return Ok(changed(after, Then::Left(by)));
            }
            Request::Create(_) | Request::Join(_) | Request::Attach(_) => {
                return Err(Refusal::NotNow);
            }
        }
        Ok(changed(after, Then::Done))
    }
}

/// A room without members vanishes.
pub(super) fn changed(after: Room, then: Then) -> Decision {
    let after = (!after.members.is_empty()).then_some(after);
    Decision::Change(Box::new(after), then)
}

/// Somebody is let in, or is in already and asks again.
fn come_in(room: &Room, wish: &NewMember, here: Presence) -> Result<Decision, Refusal> {
    check_member(wish)?;
    let mut after = room.clone();
    let member = match room.same_member(wish) {
        // Who asks again over HTTP is where it was.
        Some(member) if matches!(here, Presence::Gone(_)) => member,
        Some(member) => {
            after.set_presence(member, here)?;
            member
        }
        None => after.join(wish, here)?,
    };
    Ok(changed(after, Then::Joined(member)))
}

fn knock(room: &Room, join: &Join, pending: &Pending, here: Presence) -> Result<Decision, Refusal> {
    if room.same_member(&join.member).is_none() {
        match &join.code {
            Some(code) if *code != room.code => return Err(Refusal::UnknownCode),
            None if !room.public => return Err(Refusal::Private),
            _ => {}
        }
        // What is refused anyway is refused before the password is checked, which is slow.
        room.clone().join(&join.member, here.clone())?;
        if let Some(hash) = &room.password
            && pending.checked.as_ref() != Some(hash)
        {
            return match &join.password {
                Some(password) if password.is_sound() => {
                    Ok(Decision::Check(password.clone(), Some(hash.clone())))
                }
                _ => Err(Refusal::WrongPassword),
            };
        }
    }
    come_in(room, &join.member, here)
}
