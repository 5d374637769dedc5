//! Typed messages and actions.

use core::time::Duration;

use samestep_proto::Delivery;
use samestep_wire::{DecodeError, EncodeError, Wire, decode_exact, encode_into, encode_to_vec};

use crate::event::SessionEvent;
use crate::id::{MessageKind, PeerId, RequestId, Ticket};
use crate::session::{SendError, Session, To, Verdict};

/// A type that can be sent: derive it, next to [`Wire`](trait@Wire).
///
/// ```
/// use samestep_session::{Delivery, Message, MessageKind};
/// use samestep_wire::Wire;
///
/// #[derive(Clone, Wire, Message)]
/// struct Chat {
///     #[wire(max_len = 200)]
///     text: String,
/// }
///
/// #[derive(Clone, Wire, Message)]
/// #[message(kind = 7, delivery = "unreliable-sequenced")]
/// struct Position(f32, f32);
///
/// assert_eq!(Chat::DELIVERY, Delivery::ReliableOrdered);
/// assert_eq!(Position::KIND, MessageKind(7));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "this cannot be sent",
    note = "add `#[derive(Clone, Wire, Message)]` to the type"
)]
pub trait Message: Wire + 'static {
    /// Which type it is, on the wire: different for every type that the programs of a room send each other.
    const KIND: MessageKind;

    /// How it is delivered.
    const DELIVERY: Delivery;

    /// Reads a payload of some kind as this type: `None` if it is another type, an error if it is none at all.
    fn read(kind: MessageKind, payload: &[u8]) -> Option<Result<Self, DecodeError>> {
        (kind == Self::KIND).then(|| decode_exact(payload))
    }
}

/// A line of chat, which needs no message type of the game's own.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Chat {
    /// The text, at most 1000 bytes.
    #[wire(max_len = 1000)]
    pub text: String,
}

impl Message for Chat {
    const KIND: MessageKind = MessageKind::CHAT;
    const DELIVERY: Delivery = Delivery::ReliableOrdered;
}

/// An action of a player: a [message](trait@Message) for the whole room, if the authority permits it.
///
/// *Confirmed*, with [`Session::request`](crate::Session::request): the authority makes a command of it, which then takes place
/// everywhere, or denies it. *Unconfirmed*, with [`Session::act`](crate::Session::act): it takes place here at once, and
/// everywhere else after the authority's check. Either way it travels reliably and in order, whatever its
/// [`DELIVERY`](Message::DELIVERY).
///
/// ```
/// use samestep_session::{Action, Message};
/// use samestep_wire::Wire;
///
/// #[derive(Clone, Wire, Message, Action)]
/// #[action(command = Landed, denial = NoMana)]
/// struct CastSpell {
///     target: (u16, u16),
/// }
///
/// /// What comes of it, as the authority decides: the asker cannot claim to have hit.
/// #[derive(Clone, Wire)]
/// struct Landed {
///     hit: Option<u16>,
/// }
///
/// #[derive(Clone, Wire)]
/// struct NoMana {
///     missing: u8,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an action",
    label = "this cannot be asked for or done",
    note = "add `#[derive(Clone, Wire, Message, Action)]` to the type"
)]
pub trait Action: Message {
    /// The command that the authority makes of it, if confirmed; by default the action itself.
    type Command: Wire + 'static;

    /// Why the authority denies or rejects it; by default a string.
    type Denial: Wire + 'static;
}

impl MessageKind {
    /// The first number that [`of_name`](Self::of_name) gives out. Smaller ones are free for numbering by hand.
    pub const FIRST_NAMED: u16 = 0x1000;

    /// The kind of a message that is only named: a hash, the same in every build. Two names may share one, which
    /// [`Handlers`](crate::Handlers) notice; number one of the types then.
    pub const fn of_name(name: &str) -> MessageKind {
        let mut hash: u32 = 0x811C_9DC5; // FNV-1a
        let bytes = name.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
            i += 1;
        }
        let named = (Self::FIRST_RESERVED - Self::FIRST_NAMED) as u32;
        MessageKind(Self::FIRST_NAMED + (hash % named) as u16)
    }

    /// A kind numbered by the game.
    ///
    /// # Panics
    /// If the number is the library's own, 0xFF00 or more.
    pub const fn of_game(number: u16) -> MessageKind {
        assert!(
            number < Self::FIRST_RESERVED,
            "a kind is less than 0xFF00: the numbers from there on are the library's own"
        );
        MessageKind(number)
    }
}

/// Reading events as types. Each returns `None` for other events, other types, and bytes that do not decode as their type.
/// ([`Handlers`](crate::Handlers) count the last.)
impl SessionEvent {
    /// A message, and who sent it.
    pub fn message<M: Message>(&self) -> Option<(PeerId, M)> {
        match self {
            Self::Message {
                from,
                kind,
                payload,
            } => Some((*from, M::read(*kind, payload)?.ok()?)),
            _ => None,
        }
    }

    /// To the authority: a requested action. Answer with [`Session::resolve_as`](crate::Session::resolve_as).
    pub fn request<A: Action>(&self) -> Option<(Ticket, A)> {
        match self {
            Self::Request {
                ticket,
                kind,
                payload,
            } => Some((*ticket, A::read(*kind, payload)?.ok()?)),
            _ => None,
        }
    }

    /// The command of a confirmed action, and the peer that requested it.
    pub fn command<A: Action>(&self) -> Option<(PeerId, A::Command)> {
        match self {
            Self::Command {
                from,
                kind,
                payload,
                ..
            } if *kind == A::KIND => Some((*from, decode_exact(payload).ok()?)),
            _ => None,
        }
    }

    /// A confirmed action of this program that was denied, and why; without a reason if nobody could decide about it.
    pub fn denied<A: Action>(&self) -> Option<(RequestId, Option<A::Denial>)> {
        match self {
            Self::Denied {
                request,
                kind,
                reason,
            } if *kind == A::KIND => Some((*request, read_denial::<A>(reason).ok()?)),
            _ => None,
        }
    }

    /// An unconfirmed action that takes place, and whose it is.
    pub fn acted<A: Action>(&self) -> Option<(PeerId, A)> {
        match self {
            Self::Acted {
                from,
                kind,
                payload,
                ..
            } => Some((*from, A::read(*kind, payload)?.ok()?)),
            _ => None,
        }
    }

    /// An unconfirmed action of this program that did not pass, and why; without a reason if nobody could check it.
    pub fn rejected<A: Action>(&self) -> Option<(RequestId, Option<A::Denial>)> {
        match self {
            Self::Rejected {
                request,
                kind,
                reason,
            } if *kind == A::KIND => Some((*request, read_denial::<A>(reason).ok()?)),
            _ => None,
        }
    }
}

/// Sending typed messages and actions.
impl Session {
    /// Sends a message.
    pub fn send<M: Message>(
        &mut self,
        now: Duration,
        to: To,
        message: &M,
    ) -> Result<(), SendError> {
        self.with_encoded(message, |session, payload| {
            session.send_bytes(now, to, M::DELIVERY, M::KIND, payload)
        })
    }

    /// Asks for a confirmed action: the authority decides, and it then takes place everywhere, here too, or is denied.
    pub fn request<A: Action>(
        &mut self,
        now: Duration,
        action: &A,
    ) -> Result<RequestId, SendError> {
        self.with_encoded(action, |session, payload| {
            session.request_bytes(now, A::KIND, payload)
        })
    }

    /// Does an unconfirmed action: it takes place here at once, elsewhere after the authority's check.
    pub fn act<A: Action>(&mut self, now: Duration, action: &A) -> Result<RequestId, SendError> {
        self.with_encoded(action, |session, payload| {
            session.act_bytes(now, A::KIND, payload)
        })
    }

    /// As the authority, answers a requested action.
    pub fn resolve_as<A: Action>(
        &mut self,
        now: Duration,
        ticket: Ticket,
        verdict: Result<A::Command, A::Denial>,
    ) -> Result<(), EncodeError> {
        let verdict = match verdict {
            Ok(command) => Verdict::Command(encode_to_vec(&command)?),
            Err(denial) => Verdict::Deny(write_denial::<A>(Some(denial))?),
        };
        self.resolve(now, ticket, verdict);
        Ok(())
    }
}

/// Decodes the reason of a denial. It is `None` if the authority could not read the action, and empty if the session ended first.
pub(crate) fn read_denial<A: Action>(reason: &[u8]) -> Result<Option<A::Denial>, DecodeError> {
    match reason {
        [] => Ok(None),
        reason => decode_exact(reason),
    }
}

/// Encodes the reason of a denial.
pub(crate) fn write_denial<A: Action>(denial: Option<A::Denial>) -> Result<Vec<u8>, EncodeError> {
    encode_to_vec(&denial)
}

/// Encodes a value into a buffer that grows until it fits, and is not cleared for the next. Returns the bytes taken.
pub(crate) fn encode_reusing<T: Wire>(
    value: &T,
    buffer: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    match encode_into(value, buffer) {
        Err(EncodeError::Overflow) => {
            *buffer = encode_to_vec(value)?;
            Ok(buffer.len())
        }
        done => done,
    }
}

/// Derives [`Message`](trait@Message) for structs and enums that are [`Wire`](trait@Wire).
///
/// | `#[message(…)]` on the type | |
/// |---|---|
/// | `kind = 7` | its number on the wire, a constant below 0xFF00; else made from the type's name, so that renaming it is a new version of the game |
/// | `delivery = "unreliable-sequenced"` | `unreliable`, `unreliable-sequenced`, `reliable-unordered`, `reliable-ordered` (the default) or `redundant`: see [`Delivery`] |
/// | `crate = path::to::samestep_session` | for crates that re-export this one |
///
/// An enum is one message with its variants inside. A generic type needs a `kind`, as its name alone does not tell what it
/// is made of, and can be used with one type at a time.
///
/// Misuse does not compile: a number of the library's own, also in a constant,
///
/// ```compile_fail
/// # use samestep_session::Message; use samestep_wire::Wire;
/// #[derive(Clone, Wire, Message)]
/// #[message(kind = 0xFF00)]
/// struct Chat(String);
/// ```
///
/// ```compile_fail
/// # use samestep_session::Message; use samestep_wire::Wire;
/// const FIRST: u16 = 0xFE00;
///
/// #[derive(Clone, Wire, Message)]
/// #[message(kind = FIRST + 0x100)]
/// struct Chat(String);
/// ```
///
/// an unknown delivery, or a type without an encoding.
///
/// ```compile_fail
/// # use samestep_session::Message; use samestep_wire::Wire;
/// #[derive(Clone, Wire, Message)]
/// #[message(delivery = "tcp")]
/// struct Chat(String);
/// ```
///
/// ```compile_fail
/// # use samestep_session::Message;
/// #[derive(Clone, Message)]
/// struct Chat(String);
/// ```
pub use samestep_derive::Message;

/// Derives [`Action`](trait@Action) for a [message](derive@Message).
///
/// | `#[action(…)]` on the type | |
/// |---|---|
/// | `command = Type` | what the authority makes of it; else the action itself |
/// | `denial = Type` | why not; else `String` |
/// | `crate = path::to::samestep_session` | for crates that re-export this one |
pub use samestep_derive::Action;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, Debug, Wire, Message)]
    #[message(crate = crate)]
    struct Chat {
        text: String,
    }

    #[derive(Clone, PartialEq, Debug, Wire, Message, Action)]
    #[message(kind = 9, delivery = "redundant", crate = crate)]
    #[action(denial = (), crate = crate)]
    enum Door {
        Open(#[wire(range = 1..=4)] u8),
        Close,
    }

    #[derive(Clone, Wire, Message)]
    #[message(kind = 10, crate = crate)]
    struct Pair<T>(T, T);

    #[test]
    fn kinds_are_stable() {
        // Published games rely on these numbers.
        assert_eq!(MessageKind::of_name("Chat"), Chat::KIND);
        assert_eq!(MessageKind::of_name(""), MessageKind(0xA8C5));
        assert_eq!(MessageKind::of_name("Chat"), MessageKind(0xA5CB));
        assert_eq!(Door::KIND, MessageKind(9));
        assert_eq!(Pair::<u8>::KIND, Pair::<u16>::KIND);
    }

    #[test]
    fn names_never_get_numbers_of_the_library_nor_those_given_by_hand() {
        for i in 0..100_000 {
            let MessageKind(kind) = MessageKind::of_name(&format!("Message{i}"));
            assert!((MessageKind::FIRST_NAMED..MessageKind::FIRST_RESERVED).contains(&kind));
        }
    }

    #[test]
    fn events_are_read_as_what_they_are() {
        let chat = Chat {
            text: "hello".into(),
        };
        let mut event = SessionEvent::Message {
            from: PeerId(2),
            kind: Chat::KIND,
            payload: encode_to_vec(&chat).unwrap().into(),
        };
        assert_eq!(event.message(), Some((PeerId(2), chat)));
        assert_eq!(event.message::<Door>(), None);
        assert_eq!(event.acted::<Door>(), None);
        if let SessionEvent::Message { payload, .. } = &mut event {
            payload.skip(1);
        }
        assert_eq!(event.message::<Chat>(), None);
    }

    #[test]
    fn a_denial_without_content_is_not_a_missing_one() {
        let denied = |reason| SessionEvent::Denied {
            request: RequestId(1),
            kind: Door::KIND,
            reason,
        };
        for denial in [Some(()), None] {
            let event = denied(write_denial::<Door>(denial).unwrap());
            assert_eq!(event.denied::<Door>(), Some((RequestId(1), denial)));
        }
        assert_eq!(denied(vec![]).denied::<Door>(), Some((RequestId(1), None)));
        assert_eq!(denied(vec![2]).denied::<Door>(), None);
    }

    #[test]
    fn long_values_are_encoded_too_and_bad_ones_refused() {
        let long = Chat {
            text: "a".repeat(4000),
        };
        let mut buffer = Vec::new();
        assert_eq!(encode_reusing(&long, &mut buffer), Ok(4002));
        let memory = buffer.as_ptr();
        assert_eq!(encode_reusing(&Door::Close, &mut buffer), Ok(1));
        assert_eq!(decode_exact(&buffer[..1]), Ok(Door::Close));
        assert_eq!(buffer.as_ptr(), memory);
        assert_eq!(
            encode_reusing(&Door::Open(5), &mut buffer),
            Err(EncodeError::OutOfRange)
        );
    }
}
