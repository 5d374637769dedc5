//! The steps of an action, and what the game does at each of them.

use core::fmt;
use core::marker::PhantomData;

use samestep_wire::{Wire, decode_exact, encode_to_vec};

use super::{Call, Flaw, Handlers, Hook, Step};
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
///
/// Hooks whose names end in `_own` are called *instead* for actions of this program's own players.
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

    /// As [`acted`](Self::acted), for actions of this program's own players.
    pub fn acted_own(self, hook: impl FnMut(&mut C, &mut Call<'_>, A) + Send + 'static) -> Self {
        self.own(Step::Acted, taking(hook))
    }

    /// On the authority: whether somebody's action makes sense, as a guard against cheats and faults. An own action of the
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

    /// As [`check`](Self::check), for actions of the authority's own players.
    pub fn check_own(
        self,
        hook: impl FnMut(&mut C, &mut Call<'_>, &A) -> Result<(), A::Denial> + Send + 'static,
    ) -> Self {
        self.own(Step::Check, checking::<C, A>(hook))
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

    fn own(self, step: Step, hook: Hook<C>) -> Self {
        self.handlers.slot(A::KIND, step).own = Some(hook);
        self
    }
}

/// A hook that takes what has arrived.
pub(super) fn taking<C, T: Wire>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, T) + Send + 'static,
) -> Hook<C> {
    Box::new(move |context, call, payload| {
        hook(context, call, decode_exact(payload)?);
        Ok(())
    })
}

/// A hook that is told why not.
fn denying<C, A: Action>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, Option<A::Denial>) + Send + 'static,
) -> Hook<C> {
    Box::new(move |context, call, reason| {
        // An unreadable reason changes nothing about the denial, which must be heard exactly once.
        let denial = read_denial::<A>(reason);
        let flaw = denial.as_ref().err().map(|_| Flaw::Undecodable);
        hook(context, call, denial.unwrap_or(None));
        flaw.map_or(Ok(()), Err)
    })
}

/// A hook that decides about a request. It is answered in any case.
fn resolving<C, A: Action>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, A) -> Result<A::Command, A::Denial> + Send + 'static,
) -> Hook<C> {
    Box::new(move |context, call, payload| {
        let verdict = match decode_exact(payload) {
            Ok(action) => match hook(context, call, action) {
                Ok(command) => encode_to_vec(&command).map(Verdict::Command),
                Err(denial) => write_denial::<A>(Some(denial)).map(Verdict::Deny),
            }
            .map_err(Flaw::from),
            Err(error) => Err(Flaw::from(error)),
        };
        let (verdict, outcome) = match verdict {
            Ok(verdict) => (verdict, Ok(())),
            Err(flaw) => (Verdict::Deny(write_denial::<A>(None)?), Err(flaw)),
        };
        if let Some(ticket) = call.ticket() {
            call.session.resolve(call.now, ticket, verdict);
        }
        outcome
    })
}

/// A hook that decides whether an action passes. It is answered in any case.
fn checking<C, A: Action>(
    mut hook: impl FnMut(&mut C, &mut Call<'_>, &A) -> Result<(), A::Denial> + Send + 'static,
) -> Hook<C> {
    Box::new(move |context, call, payload| {
        let verdict = match decode_exact(payload) {
            Ok(action) => match hook(context, call, &action) {
                Ok(()) => Ok(Ok(())),
                Err(denial) => write_denial::<A>(Some(denial)).map(Err),
            }
            .map_err(Flaw::from),
            Err(error) => Err(Flaw::from(error)),
        };
        let (verdict, outcome) = match verdict {
            Ok(verdict) => (verdict, Ok(())),
            Err(flaw) => (Err(write_denial::<A>(None)?), Err(flaw)),
        };
        if let Some(ticket) = call.ticket() {
            call.session.judge(call.now, ticket, verdict);
        }
        outcome
    })
}

impl<C, A> fmt::Debug for Confirmed<'_, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confirmed").finish_non_exhaustive()
    }
}

impl<C, A> fmt::Debug for Unconfirmed<'_, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unconfirmed").finish_non_exhaustive()
    }
}
