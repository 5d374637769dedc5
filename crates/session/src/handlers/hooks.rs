//! The steps of an action, and what the game does at each of them.

use core::marker::PhantomData;

use samestep_wire::{EncodeError, Wire, decode_exact, encode_to_vec};

use super::{Call, Flaw, Handlers, Hook, Step};
use crate::id::Ticket;
use crate::message::{Action, read_denial, write_denial};
use crate::session::Verdict;

/// The steps of a confirmed action: asked for by one program, [decided](Self::resolve) by the authority, then
/// [applied](Self::applied) once on every program, or [denied](Self::denied) to the one that asked.
///
/// Hooks whose names end in `_own` are called *instead* for actions of this program's own players. The authority's own
/// players take the same steps: it asks itself.
pub struct Confirmed<'a, C, A> {
    handlers: &'a mut Handlers<C>,
    action: PhantomData<A>,
}

impl<'a, C, A: Action> Confirmed<'a, C, A> {
    pub(super) fn new(handlers: &'a mut Handlers<C>) -> Self {
        Self {
            handlers,
            action: PhantomData,
        }
    }

    /// On the program that asks, when it has asked with [`Handlers::request`] or [`Call::request`]: to show that something is about
    /// to happen. Nothing is decided yet.
    pub fn requested(self, hook: impl FnMut(&mut C, &mut Call<'_>, A) + Send + 'static) -> Self {
        self.all(Step::Requested, taking(hook))
    }

    /// On the authority: whether the action is possible, and what exactly it is then. Decide by the state as it is and leave it
    /// unchanged; [`applied`](Self::applied) changes it, here as everywhere, before the next action is to be decided.
    ///
    /// Without this hook, `handle` returns `false` for requests, and the game answers them itself, at once or later, with
    /// [`Session::resolve_as`](crate::Session::resolve_as).
    pub fn resolve(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, A) -> Result<A::Command, A::Denial> + Send + 'static,
    ) -> Self {
        self.all(Step::Resolve, resolving::<C, A>(hook))
    }

    /// As [`resolve`](Self::resolve), for actions of the authority's own players.
    pub fn resolve_own(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, A) -> Result<A::Command, A::Denial> + Send + 'static,
    ) -> Self {
        self.own(Step::Resolve, resolving::<C, A>(hook))
    }

    /// On every program, once, in the same order: the action takes place.
    pub fn applied(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, A::Command) + Send + 'static,
    ) -> Self {
        self.all(Step::Applied, taking(hook))
    }

    /// As [`applied`](Self::applied), for actions of this program's own players.
    pub fn applied_own(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, A::Command) + Send + 'static,
    ) -> Self {
        self.own(Step::Applied, taking(hook))
    }

    /// On the program that asked, instead of [`applied`](Self::applied): it took place while this program was away, and the
    /// state it was given on its return contains the effect.
    pub fn included(self, mut hook: impl FnMut(&mut C, &mut Call<'_>) + Send + 'static) -> Self {
        let hook = move |context: &mut C, call: &mut Call<'_>, _: &[u8]| {
            hook(context, call);
            Ok(())
        };
        self.all(Step::Included, Box::new(hook))
    }

    /// On the program that asked: it will not take place. There is no reason if nobody could decide about it: the session ended
    /// first, or the authority could not read it.
    pub fn denied(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, Option<A::Denial>) + Send + 'static,
    ) -> Self {
        self.all(Step::Denied, denying::<C, A>(hook))
    }

    fn all(self, step: Step, hook: Hook<C>) -> Self {
        self.handlers.slot(A::KIND, step).all = Some(hook);
        self
    }

    fn own(self, step: Step, hook: Hook<C>) -> Self {
        self.handlers.slot(A::KIND, step).own = Some(hook);
        self
    }
}

/// The steps of an unconfirmed action: it takes place at once on the program that [acts](Self::acted), then is
/// [checked](Self::check) by the authority, and takes place on all others; or it is [rejected](Self::rejected) to the
/// one that acted, which takes it back.
pub struct Unconfirmed<'a, C, A> {
    handlers: &'a mut Handlers<C>,
    action: PhantomData<A>,
}

impl<'a, C, A: Action> Unconfirmed<'a, C, A> {
    pub(super) fn new(handlers: &'a mut Handlers<C>) -> Self {
        let slot = handlers.slot(A::KIND, Step::Check);
        if slot.all.is_none() {
            slot.all = Some(checking::<C, A>(|_, _, _| Ok(())));
        }
        Self {
            handlers,
            action: PhantomData,
        }
    }

    /// On every program, once: the action takes place. On the one that acts it does so at once, on the others later.
    pub fn acted(self, hook: impl FnMut(&mut C, &mut Call<'_>, A) + Send + 'static) -> Self {
        self.all(Step::Acted, taking(hook))
    }

    /// On the authority: whether a peer's action is possible, as a guard against cheats and faults. An own action of the
    /// authority has already taken place when it is checked.
    ///
    /// In a mesh actions go to everyone directly, and every member checks what it receives; the actor hears the leader's
    /// verdict. Let the check depend on nothing but what all members know.
    pub fn check(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, &A) -> Result<(), A::Denial> + Send + 'static,
    ) -> Self {
        self.all(Step::Check, checking::<C, A>(hook))
    }

    /// On the program that acted: take it back. The reason should hold what is needed for that, such as the position before;
    /// there is none if the action could not be checked.
    pub fn rejected(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, Option<A::Denial>) + Send + 'static,
    ) -> Self {
        self.all(Step::Rejected, denying::<C, A>(hook))
    }

    fn all(self, step: Step, hook: Hook<C>) -> Self {
        self.handlers.slot(A::KIND, step).all = Some(hook);
        self
    }
}

/// A hook that gets the decoded message.
pub(super) fn taking<C, T: Wire>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, T) + Send + 'static,
) -> Hook<C> {
    Box::new(move |context, call, payload| {
        hook(context, call, decode_exact(payload)?);
        Ok(())
    })
}

/// A hook that gets the reason of a denial.
fn denying<C, A: Action>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, Option<A::Denial>) + Send + 'static,
) -> Hook<C> {
    Box::new(move |context, call, reason| {
        // A reason that does not decode changes nothing about the denial, which must be reported exactly once.
        let denial = read_denial::<A>(reason);
        let flaw = denial.as_ref().err().map(|_| Flaw::Undecodable);
        hook(context, call, denial.unwrap_or(None));
        flaw.map_or(Ok(()), Err)
    })
}

/// A hook that decides about a request.
fn resolving<C, A: Action>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, A) -> Result<A::Command, A::Denial> + Send + 'static,
) -> Hook<C> {
    deciding::<C, A, _>(
        move |context, call, action| match hook(context, call, action) {
            Ok(command) => encode_to_vec(&command).map(Ok),
            Err(denial) => Ok(Err(denial)),
        },
        |call, ticket, verdict| {
            let verdict = verdict.map_or_else(Verdict::Deny, Verdict::Command);
            call.session.resolve(call.now, ticket, verdict);
        },
    )
}

/// A hook that decides whether an action passes.
fn checking<C, A: Action>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, &A) -> Result<(), A::Denial> + Send + 'static,
) -> Hook<C> {
    deciding::<C, A, _>(
        move |context, call, action| Ok(hook(context, call, &action)),
        |call, ticket, verdict| call.session.judge(call.now, ticket, verdict),
    )
}

/// A hook that decides about an action and answers in any case: an action that does not decode, or whose outcome does not encode, is
/// denied without a reason.
fn deciding<C, A: Action, T>(
    mut decide: impl FnMut(&mut C, &mut Call<'_>, A) -> Result<Result<T, A::Denial>, EncodeError>
    + Send
    + 'static,
    answer: impl Fn(&mut Call<'_>, Ticket, Result<T, Vec<u8>>) + Send + 'static,
) -> Hook<C> {
    Box::new(move |context, call, payload| {
        let mut verdict = || {
            Ok(match decide(context, call, decode_exact(payload)?)? {
                Ok(accepted) => Ok(accepted),
                Err(denial) => Err(write_denial::<A>(Some(denial))?),
            })
        };
        let (verdict, outcome) = match verdict() {
            Ok(verdict) => (verdict, Ok(())),
            Err(flaw) => (Err(write_denial::<A>(None)?), Err(flaw)),
        };
        if let Some(ticket) = call.ticket() {
            answer(call, ticket, verdict);
        }
        outcome
    })
}
