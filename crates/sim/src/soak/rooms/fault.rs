//! Deliberate faults between sessions and those who watch them, so that every checker can be seen to fail.

use samestep_session::{PeerId, PlayerId, SessionEvent, State};

use crate::check::RoomView;

/// What is wrong with one member of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomFault {
    /// It never hears of some commands.
    SkipCommands,
    /// It hears some commands twice.
    RepeatCommands,
    /// It hears of other commands than the rest.
    OtherCommands,
    /// It is denied everything twice.
    RepeatDenials,
    /// It sees unconfirmed actions twice.
    RepeatActs,
    /// It is never told to take anything back.
    SkipRejections,
    /// It is in sync again and again.
    RepeatInSync,
    /// It sees another room at the same place of the log.
    OtherRoom,
    /// It lists somebody who is not there.
    Ghost,
    /// It comes back to another place.
    OtherPlace,
    /// It takes itself for the authority.
    SecondAuthority,
    /// It goes on when it ought to stand still.
    NeverFreezes,
    /// It never gets in.
    NeverSettles,
}

impl RoomFault {
    /// All faults.
    pub const ALL: [RoomFault; 13] = [
        RoomFault::SkipCommands,
        RoomFault::RepeatCommands,
        RoomFault::OtherCommands,
        RoomFault::RepeatDenials,
        RoomFault::RepeatActs,
        RoomFault::SkipRejections,
        RoomFault::RepeatInSync,
        RoomFault::OtherRoom,
        RoomFault::Ghost,
        RoomFault::OtherPlace,
        RoomFault::SecondAuthority,
        RoomFault::NeverFreezes,
        RoomFault::NeverSettles,
    ];

    /// Whether the fault shows in rooms whose members act, rather than in those whose members come and go.
    pub(super) fn is_in_actions(self) -> bool {
        RoomFault::ALL[..6].contains(&self)
    }

    /// What the member hears instead of an event.
    pub(super) fn events(self, event: SessionEvent) -> Vec<SessionEvent> {
        use SessionEvent::*;
        match (self, event) {
            (RoomFault::SkipCommands, Command { index, .. }) if index % 2 == 0 => Vec::new(),
            (RoomFault::RepeatCommands, event @ Command { .. })
            | (RoomFault::RepeatDenials, event @ Denied { .. })
            | (RoomFault::RepeatActs, event @ Acted { .. })
            | (RoomFault::RepeatInSync, event @ InSync) => vec![event.clone(), event],
            (RoomFault::SkipRejections, Rejected { .. }) => Vec::new(),
            (
                RoomFault::OtherCommands,
                Command {
                    index,
                    from,
                    kind,
                    mut payload,
                    ..
                },
            ) => {
                payload.reverse();
                vec![Command {
                    index,
                    from,
                    request: None,
                    kind,
                    payload,
                }]
            }
            (_, event) => vec![event],
        }
    }

    /// What the member sees instead of its room.
    pub(super) fn view(self, mut view: RoomView, returned: bool) -> RoomView {
        match self {
            RoomFault::OtherRoom => view.content.push('!'),
            RoomFault::Ghost => {
                view.present.insert(PeerId(60_000));
            }
            RoomFault::OtherPlace if returned => {
                let players = std::mem::take(&mut view.players).into_iter();
                view.players = players
                    .map(|(player, peer)| (PlayerId(player.0 + 100), peer))
                    .collect();
            }
            _ => {}
        }
        view
    }

    /// What the member takes itself to be instead.
    pub(super) fn state(self, state: State) -> State {
        match (self, state) {
            (RoomFault::NeverFreezes, State::Frozen | State::Connecting) => State::InSync,
            (RoomFault::NeverSettles, State::InSync) => State::Connecting,
            (_, state) => state,
        }
    }
}
