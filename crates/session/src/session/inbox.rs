//! What has arrived for the application, and what has to wait until it may be told.

use std::collections::VecDeque;

use samestep_proto::{ChannelId, ConnectionId};

use crate::event::SessionEvent;
use crate::payload::Payload;

/// Messages that are kept until the welcome they follow has arrived.
const MAX_UNWELCOMED: usize = 1024;
/// Events of the game that are kept until the state they follow is loaded.
const MAX_EARLY: usize = 1 << 16;

/// Events in the order in which the application hears of them.
///
/// Questions come after everything that has happened. While this program loads the game's state, events of the game wait: they follow that state.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    events: VecDeque<SessionEvent>,
    questions: VecDeque<SessionEvent>,
    /// Events of the game that came before the state they follow; `None` while no state is loaded.
    early: Option<VecDeque<SessionEvent>>,
    /// Messages that arrived before the welcome they follow.
    unwelcomed: Vec<(ConnectionId, ChannelId, Payload)>,
    /// The connection on which the game's state is expected.
    state_by: Option<ConnectionId>,
    /// The index of the log up to which the loaded state contains its effects.
    state_holds: u64,
}

impl Inbox {
    /// The next event for the application.
    pub(super) fn poll(&mut self) -> Option<SessionEvent> {
        let happened = self.events.pop_front();
        happened.or_else(|| self.questions.pop_front())
    }

    pub(super) fn push(&mut self, event: SessionEvent) {
        let of_game = matches!(
            event,
            SessionEvent::Message { .. }
                | SessionEvent::Acted { .. }
                | SessionEvent::Command { .. }
        );
        let question = matches!(
            event,
            SessionEvent::Request { .. } | SessionEvent::Check { .. }
        );
        match &mut self.early {
            _ if question => self.questions.push_back(event),
            Some(early) if of_game => early.push_back(event),
            _ => self.events.push_back(event),
        }
    }

    /// Nothing that has happened so far is told.
    pub(super) fn clear(&mut self) {
        self.events.clear();
    }

    /// Questions that this program can no longer answer.
    pub(super) fn drop_questions(&mut self) {
        self.questions.clear();
    }

    /// The index of the log that the application has heard of everything before, if something still waits for it.
    pub(super) fn unheard(&self) -> Option<u64> {
        self.events.iter().find_map(|event| match event {
            SessionEvent::Command { index, .. } => Some(index - 1),
            _ => None,
        })
    }

    /// This program has joined: the game's state comes over a connection, or not at all.
    pub(super) fn begin_loading(&mut self, by: Option<ConnectionId>) {
        self.state_by = by;
        if by.is_some() {
            self.early.get_or_insert_default();
        }
    }

    /// Another room, or another run in it: no state has been loaded yet.
    pub(super) fn forget_state(&mut self) {
        self.state_holds = 0;
    }

    /// The connection on which the game's state is expected.
    pub(super) fn state_by(&self) -> Option<ConnectionId> {
        self.state_by
    }

    /// The state does not come.
    pub(super) fn lose_state(&mut self) {
        self.state_by = None;
    }

    /// The state is here, with the effects of the log up to an index: commands in it are not told again, only that they are in it to whoever asked for them.
    /// Returns whether it was waited for.
    pub(super) fn on_state(&mut self, holds: u64) -> bool {
        let Some(early) = &mut self.early else {
            return false;
        };
        let events = &mut self.events;
        early.retain(|event| match event {
            SessionEvent::Command {
                index,
                request,
                kind,
                ..
            } if *index <= holds => {
                let kind = *kind;
                events.extend(request.map(|request| SessionEvent::Included { request, kind }));
                false
            }
            _ => true,
        });
        (self.state_holds, self.state_by) = (holds, None);
        true
    }

    /// Whether the loaded state contains the effects of the log up to an index.
    pub(super) fn state_holds(&self, index: u64) -> bool {
        index <= self.state_holds
    }

    /// Whether events of the game wait for its state.
    pub(super) fn is_loading(&self) -> bool {
        self.early.is_some()
    }

    /// Whether no further event may wait for the state.
    pub(super) fn is_full(&self) -> bool {
        self.early.as_ref().is_some_and(|e| e.len() >= MAX_EARLY)
    }

    /// The state is loaded, or will not be: what waited for it is told. Returns whether something could have waited.
    pub(super) fn end_loading(&mut self) -> bool {
        let early = self.early.take();
        let waited = early.is_some();
        self.events.extend(early.into_iter().flatten());
        waited
    }

    /// Keeps a message until the welcome has arrived.
    pub(super) fn keep_unwelcomed(
        &mut self,
        id: ConnectionId,
        channel: ChannelId,
        message: Payload,
    ) {
        if self.unwelcomed.len() < MAX_UNWELCOMED {
            self.unwelcomed.push((id, channel, message));
        }
    }

    pub(super) fn take_unwelcomed(&mut self) -> Vec<(ConnectionId, ChannelId, Payload)> {
        core::mem::take(&mut self.unwelcomed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{MessageKind, PeerId, RequestId};

    fn command(index: u64) -> SessionEvent {
        SessionEvent::Command {
            index,
            from: PeerId(0),
            request: None,
            kind: MessageKind(1),
            payload: Vec::new().into(),
        }
    }

    fn told(inbox: &mut Inbox) -> Vec<SessionEvent> {
        core::iter::from_fn(|| inbox.poll()).collect()
    }

    /// A program that waits for the game's state, and where it is to come from.
    fn loading() -> (Inbox, ConnectionId) {
        let mut inbox = Inbox::default();
        let config = samestep_proto::Config::new("test", 1);
        let mut endpoint = samestep_proto::Endpoint::new(config, [0; 32]).unwrap();
        let address = "10.0.0.1:1".parse().unwrap();
        let by = endpoint.connect(Default::default(), address, Default::default());
        let by = by.unwrap();
        inbox.begin_loading(Some(by));
        (inbox, by)
    }

    #[test]
    fn commands_wait_for_the_state_and_those_in_it_are_not_told() {
        let (mut inbox, by) = loading();
        for event in [
            command(3),
            SessionEvent::RoomChanged,
            command(4),
            command(5),
        ] {
            inbox.push(event);
        }
        assert_eq!(told(&mut inbox), [SessionEvent::RoomChanged]);
        assert_eq!(inbox.state_by(), Some(by));
        assert!(inbox.on_state(4));
        assert!(inbox.state_holds(4) && !inbox.state_holds(5));
        assert_eq!(told(&mut inbox), []);
        assert!(inbox.end_loading());
        assert_eq!(told(&mut inbox), [command(5)]);
        inbox.push(command(6));
        assert_eq!(inbox.unheard(), Some(5));
        assert_eq!(told(&mut inbox), [command(6)]);
    }

    /// Seed 4054 of the soak suite `sessions`: it was dropped, and its request never answered.
    #[test]
    fn an_own_command_that_the_state_contains_is_answered() {
        let mut inbox = loading().0;
        let (kind, request) = (MessageKind(1), RequestId(2));
        inbox.push(SessionEvent::Command {
            index: 3,
            from: PeerId(0),
            request: Some(request),
            kind,
            payload: Vec::new().into(),
        });
        assert!(inbox.on_state(3));
        assert_eq!(told(&mut inbox), [SessionEvent::Included { request, kind }]);
    }

    #[test]
    fn without_a_state_nothing_waits() {
        let mut inbox = Inbox::default();
        inbox.begin_loading(None);
        assert!(!inbox.is_loading());
        assert!(!inbox.on_state(9), "nobody waits for one");
        inbox.push(command(1));
        assert_eq!(told(&mut inbox), [command(1)]);
        assert!(!inbox.end_loading());
    }
}
