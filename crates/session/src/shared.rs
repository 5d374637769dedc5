//! Structs of shared fields in a session.

use core::ops::{Deref, DerefMut};
use core::time::Duration;

use samestep_sync::{
    ChangeId, ChangeOutcome, DeclarationError, MemberRole, Recipient, Replicator, SharedFields,
    Variables, View,
};
use samestep_wire::{BitReader, EncodeError, Wire, encode_to_vec};
use thiserror::Error;

use crate::event::{SessionEvent, State};
use crate::id::{MessageKind, NetworkId, Owner, PeerId};
use crate::room::{PeerKind, Presence};
use crate::session::{SendError, Session, To};
use samestep_proto::Delivery;

/// A struct of [`Synced`](samestep_sync::Synced) fields and [`Variable`](samestep_sync::Variable)s that is the same for everyone in the room.
///
/// All programs make one under the same [`NetworkId`]. It reads and writes like the struct itself; give it every event of the
/// session, and [`flush`](Shared::flush) it once a tick, or after writing, to send what was set:
///
/// ```
/// use core::time::Duration;
/// use samestep_session::{NetworkId, Session, Shared};
/// use samestep_sync::{SharedFields, Synced};
///
/// #[derive(Default, SharedFields)]
/// struct Match {
///     seconds_left: Synced<u32>,
/// }
///
/// fn tick(now: Duration, session: &mut Session, shared: &mut Shared<Match>) {
///     while let Some(event) = session.poll_event() {
///         shared.handle(now, session, &event);
///     }
///     if session.is_authority() {
///         let _ = shared.seconds_left.update(|seconds| *seconds = seconds.saturating_sub(1));
///     }
///     let _ = shared.flush(now, session); // An error is tried again the next time.
/// }
///
/// let shared = Shared::new(NetworkId::Static(1), Match::default())?;
/// # Ok::<(), samestep_session::ShareError>(())
/// ```
///
/// In a hosted room what an owner sets goes to the authority, which checks whose it is and passes it on; in a mesh it goes
/// to everyone. Newcomers and peers that return get all values. If an owner leaves, or the host of a room is lost, the next owner goes on from the newest value that anybody in
/// sync had: it collects what the others have before it sends its own, and nobody goes back to an older value. Programs that do not reply hold this
/// up for as long as they are in the room, but at most for five seconds.
///
/// Changes of exact variables go to their owner (in a hosted room to the host), which orders them; [`poll_outcome`](Shared::poll_outcome) tells what became of them.
///
/// Set the fields; do not replace them with new ones, which know nothing of the room.
#[derive(Debug)]
pub struct Shared<S> {
    id: NetworkId,
    fields: S,
    replicator: Replicator,
    variables: Variables,
    /// The message that could not be sent. No other is encoded before it has left: later values replace each other in the fields.
    unsent: Option<(MessageKind, Recipient, Vec<u8>)>,
    /// The term in which this program collects the values of former owners, and since when.
    collecting: Option<(u64, Duration)>,
}

/// The longest wait for what a silent member has of a former owner's values. It is longer than silence is allowed by default, so that members that have
/// vanished are away before.
const FLUSH_LIMIT: Duration = Duration::from_secs(5);

impl<S: SharedFields> Shared<S> {
    /// Shares `fields` under a name that nothing else shared in the room has. Refuses values that cannot be sent, and variables that cannot be kept as they are declared.
    pub fn new(id: NetworkId, mut fields: S) -> Result<Shared<S>, ShareError> {
        Ok(Shared {
            id,
            replicator: Replicator::new(&mut fields)?,
            variables: Variables::new(&mut fields)?,
            fields,
            unsent: None,
            collecting: None,
        })
    }

    /// The id under which all programs share it.
    pub fn id(&self) -> NetworkId {
        self.id
    }

    /// Handles an event of the session. Returns whether it was a message for these fields.
    pub fn handle(&mut self, _now: Duration, session: &Session, event: &SessionEvent) -> bool {
        match event {
            SessionEvent::Message {
                from,
                kind,
                payload,
            } if kind.is_shared() => {
                let mut r = BitReader::new(payload);
                let is_ours = NetworkId::decode(&mut r) == Ok(self.id);
                if is_ours && let Ok(message) = r.rest() {
                    let fields = &mut self.fields;
                    let (replicator, variables) = (&mut self.replicator, &mut self.variables);
                    with_view(session, |view, role_of| match *kind {
                        MessageKind::VARIABLES => {
                            place(variables, session, view);
                            variables.handle(fields, view, role_of, *from, message);
                        }
                        _ => replicator.handle(fields, view, *from, message),
                    });
                }
                is_ours
            }
            // Messages in flight may be lost. Getting in sync counts as an interruption, because it also follows one.
            SessionEvent::Reconnecting { .. } | SessionEvent::Frozen | SessionEvent::InSync => {
                (self.unsent, self.collecting) = (None, None);
                self.replicator.on_interruption(&mut self.fields);
                self.variables.on_interruption();
                false
            }
            _ => false,
        }
    }

    /// Sends what was set, and what others asked for. After an error, such as a full queue, call it again later: nothing is
    /// lost, values set meanwhile replace those that have not left.
    pub fn flush(&mut self, now: Duration, session: &mut Session) -> Result<(), SendError> {
        if *session.state() != State::InSync {
            return Ok(());
        }
        self.limit_collecting(now, session);
        loop {
            if self.unsent.is_none() {
                let fields = &mut self.fields;
                let (replicator, variables) = (&mut self.replicator, &mut self.variables);
                let polled = with_view(session, |view, role_of| {
                    if let Some((to, message)) = replicator.poll(fields, view) {
                        return Some((MessageKind::SHARED, to, message));
                    }
                    place(variables, session, view);
                    let (to, message) = variables.poll(now, fields, view, role_of)?;
                    Some((MessageKind::VARIABLES, to, message))
                });
                self.unsent = polled.flatten();
            }
            let Some((kind, to, message)) = &self.unsent else {
                return Ok(());
            };
            let to = match *to {
                Recipient::Others => To::Others,
                Recipient::Peer(peer) => To::Peer(peer),
            };
            let mut payload = encode_to_vec(&self.id).expect("a name of a few bytes");
            payload.extend_from_slice(message);
            let delivery = Delivery::ReliableOrdered;
            match session.send_bytes(now, to, delivery, *kind, &payload) {
                // A peer that is gone asks for the values when it returns.
                Ok(()) | Err(SendError::NoSuchPeer) => self.unsent = None,
                Err(error) => return Err(error),
            }
        }
    }

    /// Goes on without members that have let the time for their reply pass.
    fn limit_collecting(&mut self, now: Duration, session: &Session) {
        let term = session.room().owners_term();
        if !self.replicator.is_collecting() {
            self.collecting = None;
            return;
        }
        match self.collecting {
            Some((since_term, since)) if since_term == term => {
                if now.saturating_sub(since) > FLUSH_LIMIT {
                    with_view(session, |view, _| self.replicator.stop_waiting(view));
                }
            }
            _ => self.collecting = Some((term, now)),
        }
    }

    /// Whether the fields have the values of the room; before, they have their initial values.
    pub fn is_complete(&self) -> bool {
        self.replicator.is_complete() && self.variables.is_complete()
    }

    /// What became of a change of an exact variable, to be asked until `None`. Who does not ask does not mind.
    pub fn poll_outcome(&mut self) -> Option<(ChangeId, ChangeOutcome)> {
        self.variables.poll_outcome()
    }

    /// Whether something has to be said again after a while: then [`flush`](Shared::flush) it now and then, even if nothing happens.
    pub fn is_waiting(&self) -> bool {
        self.variables.is_waiting()
    }

    /// Whether another program has changed a field since the last call. Each field also knows this of itself.
    pub fn take_changed(&mut self) -> bool {
        let changed = self.variables.take_changed();
        self.replicator.take_changed() || changed
    }

    /// The number of messages that were malformed or tried to set a field their sender does not own.
    pub fn refused(&self) -> u64 {
        self.replicator.refused() + self.variables.refused()
    }
}

/// Why a struct cannot be shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ShareError {
    /// A value breaks the limits of its type.
    #[error("an initial value cannot be sent: {0}")]
    Unsendable(#[from] EncodeError),
    /// What is declared of a variable contradicts itself.
    #[error(transparent)]
    Declared(#[from] DeclarationError),
}

/// Tells the variables which room this is, and who this program is in it.
fn place(variables: &mut Variables, session: &Session, view: &View<'_>) {
    let me = session.room().peer(view.me);
    let life = me.map_or(0, |peer| peer.incarnation.0);
    variables.on_place(view, *session.room().id(), life);
}

fn with_view<R>(
    session: &Session,
    act: impl FnOnce(&View<'_>, &dyn Fn(PeerId) -> MemberRole) -> R,
) -> Option<R> {
    let me = session.me()?;
    let room = session.room();
    let present = || room.present().filter(|peer| peer.id != me);
    let others: Vec<PeerId> = present().map(|peer| peer.id).collect();
    let in_sync = present().filter(|peer| peer.presence == Presence::InSync);
    let in_sync: Vec<PeerId> = in_sync.map(|peer| peer.id).collect();
    let owner_of = |owner: Owner| room.owner_of(owner);
    let role_of = |peer| match room.peer(peer).map(|peer| peer.kind) {
        None => MemberRole::Stranger,
        Some(PeerKind::Spectator) => MemberRole::Watches,
        Some(_) => MemberRole::Plays,
    };
    let view = View {
        me,
        authority: room.authority(),
        others: &others,
        in_sync: &in_sync,
        is_mesh: room.is_mesh(),
        term: room.owners_term(),
        former_term: room.former_owners_term(),
        owner_of: &owner_of,
    };
    Some(act(&view, &role_of))
}

impl<S> Deref for Shared<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.fields
    }
}

impl<S> DerefMut for Shared<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.fields
    }
}
