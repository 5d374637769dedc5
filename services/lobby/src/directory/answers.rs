//! How tasks end: what clients are told, who is in from now on, and what the start hands out.

use std::time::Duration;

use samestep_proto::{TokenClaims, TokenId, token_to_text};

use super::{Caller, ConnectionId, Directory, Output, Pending, Task, Then, ms};
use crate::ids::{MemberId, RoomId};
use crate::protocol::{EndReason, Joined, Message, Request, Started};
use crate::refusal::Refusal;
use crate::room::Room;

impl Directory {
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
    pub(super) fn start(
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
