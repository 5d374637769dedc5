//! Rules of hosted rooms, broken on purpose.

use samestep_session::agreement::{Ballot, Body};

/// A rule that is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// The host counts its lease from the arrival of a grant.
    LeaseFromAnswer,
    /// A standby says to everyone who asks that it grants.
    GrantsAnybody,
    /// A promise without the log that was accepted before.
    ForgetfulPromise,
    /// The game does not notice that something is taken back.
    NoRewind,
    /// The game takes what is seen for certain.
    SeenIsCertain,
    /// Guests do not answer a candidate.
    NoTails,
}

impl Fault {
    /// Changes a message on its way. `asked` is the newest number that its receiver asked for its lease with.
    pub fn strike<C: Clone>(self, asked: u32, body: &mut Body<C>) {
        match (self, body) {
            (Self::LeaseFromAnswer, Body::Granted { number, .. }) => *number = asked,
            (
                Self::ForgetfulPromise,
                Body::Promise {
                    accepted,
                    length,
                    suffix,
                    ..
                },
            ) => (*accepted, *length, *suffix) = (Ballot::default(), 0, None),
            _ => {}
        }
    }
}
