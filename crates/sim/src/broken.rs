//! Deliberately broken endpoints, so that every checker can be seen to fail.

use std::collections::VecDeque;

use samestep_proto::{ChannelId, CloseReason, Event};

use crate::endpoints::{AppEvent, Message};
use crate::network::damage;

/// What a broken endpoint does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Delivers a message twice.
    Twice,
    /// Loses a message after the network delivered it.
    Lose,
    /// Delivers a message after the one that follows it.
    Swap,
    /// Delivers the message before the last once more, as if time went back.
    Rewind,
    /// Delivers a message nobody sent.
    Invent,
    /// Delivers a message with one bit flipped.
    Garble,
    /// Delivers a message as if it had come on the next channel.
    Misroute,
    /// Stops sending anything.
    Mute,
    /// Keeps memory it no longer needs: this many bytes per message.
    Leak(usize),
    /// Reports another reason for a close than the one given by the peer.
    MisstateClose,
    /// Never reports that a connection closed.
    ConcealClose,
    /// Delivers the last message once more after the connection closed.
    Haunt,
}

/// A fault between a node's endpoint and its application or network: see [`EndpointTestbed::break_node`](crate::EndpointTestbed::break_node).
#[derive(Clone, Debug)]
pub struct Broken {
    fault: Fault,
    channel: Option<ChannelId>,
    /// Messages until the fault strikes; it then strikes once (`Leak` and `Mute` go on).
    after: u32,
    seen: u32,
    leaked_bytes: usize,
    held: Option<Message>,
    before: Option<Message>,
}

impl Broken {
    /// An endpoint with this fault, which strikes at the fourth message.
    pub fn new(fault: Fault) -> Broken {
        Broken {
            fault,
            channel: None,
            after: 3,
            seen: 0,
            leaked_bytes: 0,
            held: None,
            before: None,
        }
    }

    /// The same, striking only messages of one channel.
    pub fn on_channel(mut self, channel: ChannelId) -> Broken {
        self.channel = Some(channel);
        self
    }

    /// The same, letting this many messages pass first.
    pub fn after(mut self, messages: u32) -> Broken {
        self.after = messages;
        self
    }

    pub(crate) fn swallows_datagram(&mut self) -> bool {
        self.fault == Fault::Mute && self.seen > self.after
    }

    pub(crate) fn leaked_bytes(&self) -> usize {
        self.leaked_bytes
    }

    pub(crate) fn on_message(&mut self, message: Message, out: &mut VecDeque<AppEvent>) {
        if self
            .channel
            .is_some_and(|channel| channel != message.channel)
        {
            return out.push_back(AppEvent::Message(message));
        }
        self.seen += 1;
        if let Fault::Leak(bytes) = self.fault {
            self.leaked_bytes += bytes;
        }
        if let Some(held) = self.held.take() {
            out.push_back(AppEvent::Message(message));
            return out.push_back(AppEvent::Message(held));
        }
        let before = self.before.replace(message.clone());
        if self.seen != self.after + 1 {
            return out.push_back(AppEvent::Message(message));
        }
        let mut strike = |messages: [Option<Message>; 2]| {
            out.extend(messages.into_iter().flatten().map(AppEvent::Message));
        };
        match self.fault {
            Fault::Twice => strike([Some(message.clone()), Some(message)]),
            Fault::Lose => {}
            Fault::Swap => self.held = Some(message),
            Fault::Rewind => strike([Some(message), before]),
            Fault::Invent => {
                let invented = Message {
                    payload: vec![7; 40],
                    ..message.clone()
                };
                strike([Some(message), Some(invented)]);
            }
            Fault::Garble => {
                let mut garbled = message;
                damage(&mut garbled.payload, u64::MAX);
                strike([Some(garbled), None]);
            }
            Fault::Misroute => {
                let channel = ChannelId(message.channel.0 + 1);
                strike([Some(Message { channel, ..message }), None]);
            }
            Fault::Mute
            | Fault::Leak(_)
            | Fault::MisstateClose
            | Fault::ConcealClose
            | Fault::Haunt => {
                strike([Some(message), None]);
            }
        }
    }

    pub(crate) fn on_event(&mut self, event: Event, out: &mut VecDeque<AppEvent>) {
        match (self.fault, event) {
            (Fault::ConcealClose, Event::Closed { .. }) => {}
            (Fault::MisstateClose, Event::Closed { id, .. }) => {
                let reason = CloseReason::Remote {
                    code: 404,
                    reason: "made up".into(),
                };
                out.push_back(AppEvent::Event(Event::Closed { id, reason }));
            }
            (Fault::Haunt, event @ Event::Closed { .. }) => {
                out.push_back(AppEvent::Event(event));
                out.extend(self.before.take().map(AppEvent::Message));
            }
            (_, event) => out.push_back(AppEvent::Event(event)),
        }
    }
}
