//! Rules of the agreement, broken on purpose: each checker is shown to find one. A fault changes messages on their way, as a member would that follows another rule.

use samestep_session::agreement::{Ballot, Body, Entry, Incarnation, Start, Suffix};

/// A rule that is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// Everyone takes itself for the tie-breaker: it is not part of the view.
    OwnTieBreaker,
    /// A farewell without the log and the ballots of who leaves.
    BareFarewell,
    /// Whoever completes a view's last entry opens the next view with ballot 0.
    SameLeaderOpens,
    /// A promise without the log that was accepted before.
    ForgetfulPromise,
    /// A program that returns takes the incarnation it had.
    ReusedIncarnation,
    /// A request that is asked again gets another number.
    RenumberedRequests,
    /// Who is in an older view is not told what was decided.
    NoCatchUp,
    /// What is shown after a thaw is shown without one, as if the room were still frozen.
    SilentThaw,
    /// Streams that are flushed are delivered all the same.
    NoHold,
    /// An answer to a flush has numbers, but no items.
    NoItems,
    /// A guest says that its log follows a ballot that nobody led, and has nothing in it.
    BoastfulTail,
    /// A guest has other commands in its log than it was sent, and more.
    ForgedTail,
}

impl Fault {
    /// Changes a message on its way.
    pub fn strike<C: Clone>(self, to: Incarnation, body: &mut Body<C>) {
        match self {
            Self::OwnTieBreaker => entries(body, |entry| {
                if let Entry::Next(next) = entry {
                    next.tie_breaker = to;
                }
            }),
            Self::SameLeaderOpens => {
                if let Body::Promise {
                    suffix: Some(suffix),
                    ..
                } = body
                {
                    for entry in &mut suffix.entries {
                        if let Entry::Next(next) = entry {
                            next.owner = to;
                        }
                    }
                }
            }
            Self::BareFarewell => {
                if let Body::Farewell {
                    promised,
                    accepted,
                    suffix,
                } = body
                {
                    (*promised, *accepted) = (Ballot::default(), Ballot::default());
                    *suffix = nothing();
                }
            }
            Self::ForgetfulPromise => {
                if let Body::Promise {
                    accepted,
                    length,
                    suffix,
                    ..
                } = body
                {
                    (*accepted, *length, *suffix) = (Ballot::default(), 0, None);
                }
            }
            Self::NoItems => {
                if let Body::Flushed { holdings, .. } = body {
                    holdings.iter_mut().for_each(|h| h.items.clear());
                }
            }
            Self::BoastfulTail => {
                if let Body::Tail {
                    accepted, suffix, ..
                } = body
                {
                    accepted.n += 100;
                    *suffix = Some(nothing());
                }
            }
            Self::ForgedTail => {
                if let Body::Tail {
                    suffix: Some(suffix),
                    ..
                } = body
                {
                    let again = suffix.entries.clone();
                    suffix.entries.extend(again);
                    let shift = suffix.entries.len().min(1);
                    suffix.entries.rotate_left(shift);
                }
            }
            Self::None
            | Self::NoHold
            | Self::ReusedIncarnation
            | Self::RenumberedRequests
            | Self::NoCatchUp
            | Self::SilentThaw => {}
        }
    }

    /// An entry without what the fault makes everyone see differently: what is left must still be the same everywhere.
    pub fn comparable<C: Clone>(self, entry: &Entry<C>) -> Entry<C> {
        let mut entry = entry.clone();
        if let Entry::Next(next) = &mut entry {
            match self {
                Self::OwnTieBreaker => next.tie_breaker = Incarnation::ANYONE,
                Self::SameLeaderOpens => next.owner = Incarnation::ANYONE,
                _ => {}
            }
        }
        entry
    }
}

fn nothing<C>() -> Suffix<C> {
    Suffix {
        start: Start::After(0),
        entries: Vec::new(),
        decided: 0,
    }
}

fn entries<C>(body: &mut Body<C>, change: impl FnMut(&mut Entry<C>)) {
    match body {
        Body::Promise {
            suffix: Some(suffix),
            ..
        }
        | Body::Sync { suffix, .. }
        | Body::Farewell { suffix, .. }
        | Body::CatchUp(suffix) => suffix.entries.iter_mut().for_each(change),
        Body::Accept { entries, .. } => entries.iter_mut().for_each(change),
        _ => {}
    }
}
