//! Why a session ended, in words and as an exit code.

use samestep::proto::CloseReason;
use samestep::session::LeaveReason;

use crate::failure::{Failure, Kind};

/// The failure for an end that the user did not ask for; `entered` if this program had been in the room.
pub fn ending(reason: &LeaveReason, entered: bool) -> Failure {
    let words = reason.to_string();
    let (kind, words) = match reason {
        LeaveReason::Kicked(_) | LeaveReason::Banned(_) => {
            (Kind::Kicked, format!("you were {words}"))
        }
        LeaveReason::RoomClosed(_) => (Kind::RoomClosed, words),
        LeaveReason::Full => (Kind::Full, words),
        LeaveReason::WrongPassword(_) => (Kind::Password, words),
        LeaveReason::TokenRefused(_) => (Kind::Token, words),
        LeaveReason::WrongVersion(_) | LeaveReason::Incompatible(_) => (Kind::Version, words),
        LeaveReason::Silent => (
            Kind::Lost,
            "the others heard nothing from here any more".into(),
        ),
        LeaveReason::NotReached(_) if entered => {
            (Kind::Lost, format!("the connection was lost: {words}"))
        }
        LeaveReason::NotReached(words) if *words == CloseReason::NoAnswer.to_string() => {
            (Kind::NobodyThere, words.clone())
        }
        LeaveReason::LoadingTooLong => (Kind::Lost, words),
        LeaveReason::NotReached(_)
        | LeaveReason::WrongKey(_)
        | LeaveReason::WrongTopology
        | LeaveReason::Left(_) => (Kind::Other, words),
    };
    Failure::new(kind, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_its_code() {
        let nobody = LeaveReason::NotReached(CloseReason::NoAnswer.to_string());
        assert_eq!(ending(&nobody, false).kind, Kind::NobodyThere);
        assert_eq!(ending(&nobody, true).kind, Kind::Lost);
        let other = LeaveReason::NotReached("refused: busy".into());
        assert_eq!(ending(&other, false).kind, Kind::Other);
        assert_eq!(ending(&LeaveReason::Full, false).kind, Kind::Full);
        let kicked = ending(&LeaveReason::Kicked("too loud".into()), true);
        assert_eq!(kicked.to_string(), "you were kicked: too loud");
        assert_eq!(kicked.kind, Kind::Kicked);
    }
}
