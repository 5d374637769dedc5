//! Why it is over, as an exit code.

use samestep::prelude::CloseReason;
use samestep::proto::RefuseReason;
use samestep_session::LeaveReason;

use crate::failure::{Failure, Kind};

/// What an end that the user did not ask for means. `close` is what the protocol says about it, if it is about a connection.
pub fn failure(reason: &LeaveReason, close: Option<&CloseReason>) -> Failure {
    let words = reason.to_string();
    match reason {
        LeaveReason::Kicked(_) => Failure::new(Kind::Kicked, format!("you were {words}")),
        LeaveReason::Banned(_) => Failure::new(Kind::Kicked, format!("you were {words}")),
        LeaveReason::RoomClosed(_) => Failure::new(Kind::RoomClosed, words),
        LeaveReason::Full => Failure::new(Kind::Full, words),
        LeaveReason::Silent => {
            Failure::new(Kind::Lost, "the connection was lost and did not come back")
        }
        LeaveReason::LoadingTooLong => Failure::new(Kind::Lost, words),
        LeaveReason::NotReached(_) => Failure::new(close.map_or(Kind::Other, of_close), words),
        LeaveReason::WrongTopology | LeaveReason::Left(_) => Failure::new(Kind::Other, words),
    }
}

fn of_close(reason: &CloseReason) -> Kind {
    match reason {
        CloseReason::NoAnswer => Kind::NobodyThere,
        CloseReason::TimedOut => Kind::Lost,
        CloseReason::Refused(refused) => match refused {
            RefuseReason::Protocol { .. }
            | RefuseReason::Version { .. }
            | RefuseReason::Game
            | RefuseReason::Channels => Kind::Version,
            RefuseReason::Password
            | RefuseReason::PasswordRequired
            | RefuseReason::PasswordUnneeded => Kind::Password,
            RefuseReason::Full => Kind::Full,
            RefuseReason::Banned => Kind::Kicked,
            RefuseReason::ShuttingDown => Kind::RoomClosed,
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_its_code() {
        let refused = |reason| {
            let close = CloseReason::Refused(reason);
            failure(&LeaveReason::NotReached(close.to_string()), Some(&close)).kind
        };
        assert_eq!(
            refused(RefuseReason::Version { theirs: 1, ours: 2 }),
            Kind::Version
        );
        assert_eq!(refused(RefuseReason::Password), Kind::Password);
        assert_eq!(refused(RefuseReason::PasswordRequired), Kind::Password);
        assert_eq!(refused(RefuseReason::Full), Kind::Full);
        let nobody = LeaveReason::NotReached(CloseReason::NoAnswer.to_string());
        assert_eq!(
            failure(&nobody, Some(&CloseReason::NoAnswer)).kind,
            Kind::NobodyThere
        );
        assert_eq!(failure(&LeaveReason::Full, None).kind, Kind::Full);
        let kicked = failure(&LeaveReason::Kicked("too loud".into()), None);
        assert_eq!(kicked.to_string(), "you were kicked: too loud");
        assert_eq!(kicked.kind, Kind::Kicked);
    }
}
