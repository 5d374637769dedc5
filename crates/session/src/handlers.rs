//! Handlers: what the game does about each type of message and action.

mod call;
mod hooks;
#[cfg(test)]
mod tests;

use core::any::{TypeId, type_name};
use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use samestep_wire::{DecodeError, EncodeError};

pub use call::Call;
pub use hooks::{Confirmed, Unconfirmed};

use crate::event::SessionEvent;
use crate::id::{MessageKind, PeerId, RequestId};
use crate::message::{Action, Message};
use crate::session::{SendError, Session};

/// Calls the game's functions for what arrives, each with its own type and with a context `C`: usually the game's state.
///
/// ```
/// use core::time::Duration;
/// use samestep_session::{Action, Handlers, JoinTo, KindError, Message, Role, Session, SessionConfig, To};
/// use samestep_wire::Wire;
///
/// #[derive(Clone, Wire, Message)]
/// struct Chat {
///     text: String,
/// }
///
/// #[derive(Clone, Wire, Message, Action)]
/// struct TakeApples {
///     count: u8,
/// }
///
/// struct Game {
///     apples: u8,
///     lines: Vec<String>,
/// }
///
/// fn handlers() -> Result<Handlers<Game>, KindError> {
///     let mut handlers = Handlers::<Game>::new();
///     handlers.on(|game, call, chat: Chat| game.lines.push(format!("{}: {}", call.from, chat.text)))?;
///     handlers
///         .confirmed::<TakeApples>()?
///         .resolve(|game, _, take| match game.apples >= take.count {
///             true => Ok(take),
///             false => Err(format!("only {} left", game.apples)),
///         })
///         .applied(|game, _, take| game.apples -= take.count)
///         .denied(|game, _, why| game.lines.extend(why));
///     Ok(handlers)
/// }
///
/// // Two programs of this game, joined in memory.
/// let (here, there) = ("10.0.0.1:1".parse()?, "10.0.0.2:2".parse()?);
/// let config = SessionConfig::new("orchard", 1);
/// let mut host = Session::new(Duration::ZERO, config.clone().player("Ann"), Role::Host, [1; 32])?;
/// let join = Role::Client(JoinTo::new(here));
/// let mut client = Session::new(Duration::ZERO, config.player("Bo"), join, [2; 32])?;
/// let mut games = [(); 2].map(|()| Game { apples: 10, lines: Vec::new() });
/// let mut handle = [handlers()?, handlers()?];
/// # let mut buf = [0; 1200];
/// for step in 0..100 {
///     let now = Duration::from_millis(step);
///     if step == 50 {
///         client.send(now, To::Others, &Chat { text: "hungry!".into() })?;
///         client.request(now, &TakeApples { count: 7 })?;
///         client.request(now, &TakeApples { count: 7 })?;
///     }
///     while let Some(event) = host.poll_event() {
///         handle[0].handle(now, &mut host, &mut games[0], &event);
///     }
///     while let Some(event) = client.poll_event() {
///         handle[1].handle(now, &mut client, &mut games[1], &event);
///     }
///     # while let Some(sent) = client.poll_transmit(now, &mut buf) {
///     #     host.handle_datagram(now, there, &mut buf[..sent.len]);
///     # }
///     # while let Some(sent) = host.poll_transmit(now, &mut buf) {
///     #     client.handle_datagram(now, here, &mut buf[..sent.len]);
///     # }
///     # host.handle_timeout(now);
///     # client.handle_timeout(now);
///     // … send and receive datagrams
/// }
/// assert_eq!(games.each_ref().map(|game| game.apples), [3, 3]);
/// assert_eq!(games[0].lines, ["peer 1: hungry!"]);
/// assert_eq!(games[1].lines, ["only 3 left"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The same handlers serve everywhere: on the authority, on the others, and for the players of the authority itself,
/// whose actions take the same path as everyone's.
///
/// A type has at most one handler for each step; a second one replaces it. Bytes that do not decode as their type are dropped and
/// [counted](Self::stats).
pub struct Handlers<C> {
    hooks: BTreeMap<(MessageKind, Step), Hooks<C>>,
    types: BTreeMap<MessageKind, (TypeId, &'static str)>,
    /// The requests made by handlers with [`Call::request`]: their hooks run when the handler has returned.
    requests: Vec<PendingRequest>,
    stats: HandlersStats,
}

/// Counters of [`Handlers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HandlersStats {
    /// Events that had a handler.
    pub handled: u64,
    /// Of these, the ones whose bytes were not of the type they claimed: a hostile or faulty program, or another version.
    pub undecodable: u64,
    /// Commands and denials by this program that broke the limits of their own types; the action was denied.
    pub unencodable: u64,
}

/// A step of a message or action.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Message,
    Requested,
    Resolve,
    Applied,
    Included,
    Denied,
    Acted,
    Check,
    Rejected,
}

type Hook<C> = Box<dyn FnMut(&mut C, &mut Call<'_>, &[u8]) -> Result<(), Flaw> + Send>;

/// The hooks of one step: `own`, if there is one, is called instead of `all` for this program's own players.
struct Hooks<C> {
    all: Option<Hook<C>>,
    own: Option<Hook<C>>,
}

/// Why a hook failed.
enum Flaw {
    Undecodable,
    Unencodable,
}

impl From<DecodeError> for Flaw {
    fn from(_: DecodeError) -> Self {
        Self::Undecodable
    }
}

impl From<EncodeError> for Flaw {
    fn from(_: EncodeError) -> Self {
        Self::Unencodable
    }
}

/// A request this program has just made.
struct PendingRequest {
    request: RequestId,
    kind: MessageKind,
    payload: Vec<u8>,
}

impl<C> Handlers<C> {
    /// Creates an empty set of handlers.
    pub fn new() -> Self {
        Self {
            hooks: BTreeMap::new(),
            types: BTreeMap::new(),
            requests: Vec::new(),
            stats: HandlersStats::default(),
        }
    }

    /// Calls `handler` for every message of a type: with the context, the [`Call`] it came with, and the message.
    pub fn on<M: Message>(
        &mut self,
        handler: impl FnMut(&mut C, &mut Call<'_>, M) + Send + 'static,
    ) -> Result<&mut Self, KindError> {
        self.register::<M>()?;
        self.slot(M::KIND, Step::Message).all = Some(hooks::taking(handler));
        Ok(self)
    }

    /// Registers a *confirmed* action and returns its steps, to add hooks to.
    pub fn confirmed<A: Action>(&mut self) -> Result<Confirmed<'_, C, A>, KindError> {
        self.register::<A>()?;
        Ok(Confirmed::new(self))
    }

    /// Registers an *unconfirmed* action and returns its steps, to add hooks to. Without a [`check`](Unconfirmed::check) every action passes.
    pub fn unconfirmed<A: Action>(&mut self) -> Result<Unconfirmed<'_, C, A>, KindError> {
        self.register::<A>()?;
        Ok(Unconfirmed::new(self))
    }

    /// Calls the handler of an event. Returns whether there is one; if not, the game handles the event itself.
    pub fn handle(
        &mut self,
        now: Duration,
        session: &mut Session,
        context: &mut C,
        event: &SessionEvent,
    ) -> bool {
        let me = session.me().unwrap_or(NOBODY);
        let (step, kind, from, request, index, payload): (_, _, _, _, _, &[u8]) = match event {
            SessionEvent::Message {
                from,
                kind,
                payload,
            } => (Step::Message, kind, *from, None, None, payload),
            SessionEvent::Request {
                ticket,
                kind,
                payload,
            } => {
                let request = Some(ticket.request);
                (Step::Resolve, kind, ticket.peer, request, None, payload)
            }
            SessionEvent::Command {
                index,
                from,
                request,
                kind,
                payload,
            } => (Step::Applied, kind, *from, *request, Some(*index), payload),
            SessionEvent::Included { request, kind } => {
                (Step::Included, kind, me, Some(*request), None, &[])
            }
            SessionEvent::Denied {
                request,
                kind,
                reason,
            } => (Step::Denied, kind, me, Some(*request), None, reason),
            SessionEvent::Acted {
                from,
                request,
                kind,
                payload,
            } => (Step::Acted, kind, *from, *request, None, payload),
            SessionEvent::Check {
                ticket,
                kind,
                payload,
            } => {
                let request = Some(ticket.request);
                (Step::Check, kind, ticket.peer, request, None, payload)
            }
            SessionEvent::Rejected {
                request,
                kind,
                reason,
            } => (Step::Rejected, kind, me, Some(*request), None, reason),
            _ => return false,
        };
        let mut call = Call {
            now,
            session,
            from,
            own: from == me,
            request,
            index,
            requests: &mut self.requests,
        };
        let handled = run(
            &mut self.hooks,
            &mut self.stats,
            context,
            &mut call,
            (*kind, step),
            payload,
        );
        self.run_requested(now, session, context);
        handled
    }

    /// Asks for a confirmed action, as [`Session::request`] does, and calls its hook for [`requested`](Confirmed::requested).
    pub fn request<A: Action>(
        &mut self,
        now: Duration,
        session: &mut Session,
        context: &mut C,
        action: &A,
    ) -> Result<RequestId, SendError> {
        let made = PendingRequest::new(now, session, action)?;
        let request = made.request;
        self.requests.push(made);
        self.run_requested(now, session, context);
        Ok(request)
    }

    /// The counters so far.
    pub fn stats(&self) -> HandlersStats {
        self.stats
    }

    /// Runs the hooks of the requests made.
    fn run_requested(&mut self, now: Duration, session: &mut Session, context: &mut C) {
        let me = session.me().unwrap_or(NOBODY);
        while !self.requests.is_empty() {
            let PendingRequest {
                request,
                kind,
                payload,
            } = self.requests.remove(0);
            let mut call = Call {
                now,
                session,
                from: me,
                own: true,
                request: Some(request),
                index: None,
                requests: &mut self.requests,
            };
            run(
                &mut self.hooks,
                &mut self.stats,
                context,
                &mut call,
                (kind, Step::Requested),
                &payload,
            );
        }
    }

    /// Registers the type of a kind. Fails if the kind stands for another type already.
    fn register<M: Message>(&mut self) -> Result<(), KindError> {
        let (kind, name) = (M::KIND, type_name::<M>());
        if kind.0 >= MessageKind::FIRST_RESERVED && kind != MessageKind::CHAT {
            return Err(KindError::Reserved { kind, name });
        }
        let this = (TypeId::of::<M>(), name);
        let known = *self.types.entry(kind).or_insert(this);
        if known.0 != this.0 {
            let names = [known.1, name];
            return Err(KindError::Shared { kind, names });
        }
        Ok(())
    }

    fn slot(&mut self, kind: MessageKind, step: Step) -> &mut Hooks<C> {
        let none = Hooks {
            all: None,
            own: None,
        };
        self.hooks.entry((kind, step)).or_insert(none)
    }
}

/// The sender while this program has no id yet: no peer has this number.
const NOBODY: PeerId = PeerId(u16::MAX);

fn run<C>(
    hooks: &mut BTreeMap<(MessageKind, Step), Hooks<C>>,
    stats: &mut HandlersStats,
    context: &mut C,
    call: &mut Call<'_>,
    at: (MessageKind, Step),
    payload: &[u8],
) -> bool {
    let hook = hooks.get_mut(&at).and_then(|hooks| match &mut hooks.own {
        Some(own) if call.own => Some(own),
        _ => hooks.all.as_mut(),
    });
    let Some(hook) = hook else {
        return false;
    };
    stats.handled += 1;
    match hook(context, call, payload) {
        Ok(()) => {}
        Err(Flaw::Undecodable) => stats.undecodable += 1,
        Err(Flaw::Unencodable) => stats.unencodable += 1,
    }
    true
}

impl<C> Default for Handlers<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> fmt::Debug for Handlers<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("types", &self.types)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

/// Why a type cannot be handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KindError {
    /// Another type has the same number.
    #[error("`{}` and `{}` are both messages of kind {}: give one of them another number with `#[message(kind = …)]`, everywhere", .names[0], .names[1], .kind.0)]
    Shared {
        /// The number.
        kind: MessageKind,
        /// The type that was there first, and the new one.
        names: [&'static str; 2],
    },
    /// The number is the library's own.
    #[error("`{name}` is a message of kind {}, but the numbers from 65280 (0xFF00) on are the library's own: give it another with `#[message(kind = …)]`", .kind.0)]
    Reserved {
        /// The number.
        kind: MessageKind,
        /// The type.
        name: &'static str,
    },
}
