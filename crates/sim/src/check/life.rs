//! A session's events follow a life cycle that makes sense.

use std::collections::BTreeMap;

use samestep_session::{PeerId, SessionEvent};

/// The events of one session, from its start to its end.
#[derive(Clone, Debug, Default)]
pub struct Life {
    me: Option<PeerId>,
    stage: Stage,
    peers: BTreeMap<PeerId, Standing>,
    last_index: Option<u64>,
    started: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Joining,
    Loading,
    InSync,
    /// Lost the others; may come back.
    Apart,
    Left,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Joined,
    InSync,
    Away,
    Left,
}

impl Life {
    /// The id it was given last.
    pub fn me(&self) -> Option<PeerId> {
        self.me
    }

    /// Whether it has taken part fully and not lost the others since.
    pub fn is_in_sync(&self) -> bool {
        self.stage == Stage::InSync
    }

    /// Whether it is over.
    pub fn has_left(&self) -> bool {
        self.stage == Stage::Left
    }

    /// The next event.
    pub fn on_event(&mut self, event: &SessionEvent) -> Result<(), String> {
        use SessionEvent::*;
        if self.stage == Stage::Left {
            return Err(format!("{event:?} after it had left"));
        }
        let inside = matches!(self.stage, Stage::Loading | Stage::InSync | Stage::Apart);
        match event {
            Joined { me } => {
                if matches!(self.stage, Stage::Loading | Stage::InSync) {
                    return Err(format!("joined as {me} while a member already"));
                }
                if self.me != Some(*me) {
                    *self = Life::default();
                }
                self.me = Some(*me);
                self.stage = Stage::Loading;
                // Games may have begun and ended meanwhile.
                self.started = None;
            }
            InSync => match self.stage {
                Stage::Loading | Stage::Apart => self.stage = Stage::InSync,
                stage => return Err(format!("in sync when it was {stage:?}")),
            },
            Reconnecting { .. } | Frozen => {
                if !inside {
                    return Err(format!("{event:?} before it had joined"));
                }
                self.stage = Stage::Apart;
                // What others do meanwhile it need not be told.
                self.peers.retain(|_, standing| *standing == Standing::Left);
            }
            Left { .. } => self.stage = Stage::Left,
            InitialState { .. } if self.stage == Stage::InSync => {
                return Err("was given the state when it was in sync".into());
            }
            Connected { .. } if matches!(self.stage, Stage::Loading | Stage::InSync) => {
                return Err(format!("{event:?} while a member already"));
            }
            Connected { .. } | RoomFrozen | Denied { .. } | Rejected { .. } => {}
            _ if !inside => return Err(format!("{event:?} before it had joined")),
            PeerJoined { peer } => self.meet(*peer, Standing::Joined)?,
            PeerInSync { peer } => self.meet(*peer, Standing::InSync)?,
            PeerAway { peer } => self.meet(*peer, Standing::Away)?,
            PeerLeft { peer, .. } => self.meet(*peer, Standing::Left)?,
            Command { index, .. } => {
                if self.last_index.is_some_and(|last| *index <= last) {
                    return Err(format!(
                        "command {index} after command {}",
                        self.last_index.unwrap_or_default()
                    ));
                }
                self.last_index = Some(*index);
            }
            // A game that is announced may end before it begins.
            Starting { .. } => self.started = None,
            Started => self.phase(true, event)?,
            Ended { .. } => self.phase(false, event)?,
            _ => {}
        }
        Ok(())
    }

    fn meet(&mut self, peer: PeerId, now: Standing) -> Result<(), String> {
        let before = self.peers.insert(peer, now);
        let legal = match (before, now) {
            (Some(Standing::Left), _) => false,
            // Accepted anew: it came back, perhaps again before it had loaded.
            (Some(Standing::InSync), Standing::Joined) => false,
            (Some(Standing::InSync), Standing::InSync) => false,
            (Some(Standing::Away), Standing::Away) => false,
            _ => true,
        };
        match legal {
            true => Ok(()),
            false => Err(format!("{peer} was {before:?} and is {now:?} now")),
        }
    }

    /// Games begin and end in turns.
    fn phase(&mut self, started: bool, event: &SessionEvent) -> Result<(), String> {
        if self.started.replace(started) == Some(started) {
            return Err(format!("{event:?} twice in a row"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samestep_session::LeaveReason;

    fn check(events: &[SessionEvent]) -> Result<(), String> {
        let mut life = Life::default();
        events.iter().try_for_each(|event| life.on_event(event))
    }

    #[test]
    fn a_life_in_order_is_fine_and_disorder_is_found() {
        use SessionEvent::*;
        let (me, peer) = (PeerId(1), PeerId(2));
        let left = Left {
            reason: LeaveReason::Silent,
        };
        let command = |index| Command {
            index,
            from: peer,
            request: None,
            kind: samestep_session::MessageKind(1),
            payload: Vec::new().into(),
        };
        let joined = Joined { me };
        let gone = PeerLeft {
            peer,
            reason: LeaveReason::Silent,
        };
        assert_eq!(
            check(&[
                joined.clone(),
                InSync,
                PeerJoined { peer },
                PeerInSync { peer },
                command(3),
                PeerAway { peer },
                PeerInSync { peer },
                gone.clone(),
                Started,
                Ended { result: vec![] },
                Frozen,
                InSync,
                left.clone(),
            ]),
            Ok(())
        );
        assert!(check(&[InSync]).is_err(), "in sync before joining");
        assert!(check(&[joined.clone(), joined.clone()]).is_err());
        assert!(check(&[joined.clone(), InSync, InSync]).is_err());
        assert!(check(&[joined.clone(), command(3), command(3)]).is_err());
        assert!(check(&[joined.clone(), gone.clone(), gone.clone()]).is_err());
        assert!(check(&[joined.clone(), Started, Started]).is_err());
        assert!(check(&[joined.clone(), left, InSync]).is_err());
        assert!(check(&[joined, gone, PeerInSync { peer }]).is_err());
    }
}
