//! What a handler gets beside the message.

use core::fmt;
use core::time::Duration;

use samestep_wire::encode_to_vec;

use super::PendingRequest;
use crate::id::{PeerId, PlayerId, RequestId, Ticket};
use crate::message::{Action, Message};
use crate::session::{SendError, Session, To};

/// The context of a call of a handler: the time, the sender, and the session to answer with.
pub struct Call<'a> {
    /// The time given to `handle`.
    pub now: Duration,
    /// The session, to read and to send.
    pub session: &'a mut Session,
    /// The peer that sent the message or does the action; this program itself for the outcome of its own action.
    pub from: PeerId,
    pub(super) own: bool,
    pub(super) request: Option<RequestId>,
    pub(super) index: Option<u64>,
    pub(super) requests: &'a mut Vec<PendingRequest>,
}

impl Call<'_> {
    /// Whether this program itself sent the message or does the action.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// Whether the player belongs to the sender of the message or action; if not, the sender cheats.
    pub fn plays(&self, player: PlayerId) -> bool {
        let player = self.session.room().player(player);
        player.is_some_and(|p| p.peer == self.from)
    }

    /// The id of the request or action: this program's for its own action, on the authority that of the
    /// requesting peer.
    pub fn request_id(&self) -> Option<RequestId> {
        self.request
    }

    /// The index of a command in the room's log: the same everywhere.
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
        let made = PendingRequest::new(self.now, self.session, action)?;
        let request = made.request;
        self.requests.push(made);
        Ok(request)
    }

    /// Does an unconfirmed action.
    pub fn act<A: Action>(&mut self, action: &A) -> Result<RequestId, SendError> {
        self.session.act(self.now, action)
    }

    /// The ticket that the authority answers.
    pub(super) fn ticket(&self) -> Option<Ticket> {
        Some(Ticket {
            peer: self.from,
            request: self.request?,
        })
    }
}

impl PendingRequest {
    /// Sends the request.
    pub(super) fn new<A: Action>(
        now: Duration,
        session: &mut Session,
        action: &A,
    ) -> Result<PendingRequest, SendError> {
        let payload = encode_to_vec(action).map_err(SendError::Encode)?;
        Ok(PendingRequest {
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
