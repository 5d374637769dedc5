//! What a handler knows beside the message.

use core::fmt;
use core::time::Duration;

use samestep_wire::encode_to_vec;

use super::Asked;
use crate::id::{PeerId, PlayerId, RequestId, Ticket};
use crate::message::{Action, Message};
use crate::session::{SendError, Session, To};

/// The occasion on which a handler is called: when, by whom, and the session, to answer with.
pub struct Call<'a> {
    /// The time that `handle` was told.
    pub now: Duration,
    /// The session, to read and to send.
    pub session: &'a mut Session,
    /// Who sent the message or does the action; about the end of an own action, this program itself.
    pub from: PeerId,
    pub(super) own: bool,
    pub(super) request: Option<RequestId>,
    pub(super) index: Option<u64>,
    pub(super) asked: &'a mut Vec<Asked>,
}

impl Call<'_> {
    /// Whether this program itself sent the message or does the action.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// Whether this player is played on the program the message or action came from: who speaks for another player cheats.
    pub fn plays(&self, player: PlayerId) -> bool {
        let player = self.session.room().player(player);
        player.is_some_and(|p| p.peer == self.from)
    }

    /// The number under which the action was asked for or done: this program's, if it is its own action, else the
    /// asker's, on the authority.
    pub fn request_id(&self) -> Option<RequestId> {
        self.request
    }

    /// The place of a command in the room's log: the same everywhere.
    pub fn index(&self) -> Option<u64> {
        self.index
    }

    /// The time on the common clock.
    pub fn time(&self) -> Option<Duration> {
        self.session.time(self.now)
    }

    /// Sends a message.
    pub fn send<M: Message>(&mut self, to: To, message: &M) -> Result<(), SendError> {
        self.session.send(self.now, to, message)
    }

    /// Sends a message back.
    pub fn reply<M: Message>(&mut self, message: &M) -> Result<(), SendError> {
        self.send(To::Peer(self.from), message)
    }

    /// Asks for a confirmed action. Its hook for [`requested`](super::Confirmed::requested) runs after this handler.
    pub fn request<A: Action>(&mut self, action: &A) -> Result<RequestId, SendError> {
        let asked = Asked::new(self.now, self.session, action)?;
        let request = asked.request;
        self.asked.push(asked);
        Ok(request)
    }

    /// Does an unconfirmed action.
    pub fn act<A: Action>(&mut self, action: &A) -> Result<RequestId, SendError> {
        self.session.act(self.now, action)
    }

    /// What the authority answers to.
    pub(super) fn ticket(&self) -> Option<Ticket> {
        Some(Ticket {
            peer: self.from,
            request: self.request?,
        })
    }
}

impl Asked {
    /// Asks.
    pub(super) fn new<A: Action>(
        now: Duration,
        session: &mut Session,
        action: &A,
    ) -> Result<Asked, SendError> {
        let payload = encode_to_vec(action).map_err(SendError::Encode)?;
        Ok(Asked {
            request: session.request_bytes(now, A::KIND, &payload)?,
            kind: A::KIND,
            payload,
        })
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("now", &self.now)
            .field("from", &self.from)
            .field("request", &self.request)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
