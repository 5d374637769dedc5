//! A game in a hosted room, which checks what it is shown: the order, the grades, and what is taken back.

use core::time::Duration;
use std::collections::VecDeque;

use samestep_session::agreement::{Grade, Hosted, HostedEvent, Incarnation, Request};

use super::fault::Fault;
use crate::oracle::{Oracle, chain};

/// What a program was shown.
#[derive(Default)]
pub struct Game {
    /// The last certain index, and a hash of all commands up to it.
    pub certain: u64,
    pub hash: u64,
    /// Commands that are seen and not certain.
    pub seen: VecDeque<(u64, Request, u32)>,
    pub host: Option<Incarnation>,
    pub frozen: bool,
    pub stranded: bool,
    /// How often, and how many commands, were taken back.
    pub rewinds: u32,
    pub taken_back: u32,
    /// The requests that were reported lost.
    pub lost: Vec<Request>,
    /// When a command was last shown, and the longest time between two.
    pub last_at: Duration,
    pub longest: Duration,
    /// Commands that were shown.
    pub commands: u64,
}

impl Game {
    /// Takes an event.
    pub fn play(
        &mut self,
        now: Duration,
        core: &Hosted<u32>,
        oracle: &mut Oracle,
        fault: Fault,
        event: HostedEvent<u32>,
    ) {
        let me = core.replica().me();
        let shows = !matches!(
            event,
            HostedEvent::Frozen
                | HostedEvent::Thawed
                | HostedEvent::Stranded
                | HostedEvent::HostChanged { .. }
        );
        if self.frozen && shows {
            oracle.violate(format!("{me} was shown something while frozen"));
        }
        match event {
            HostedEvent::Command {
                index,
                request,
                command,
                grade,
            } => {
                self.commands += 1;
                self.longest = self.longest.max(now - self.last_at);
                self.last_at = now;
                let last = self.seen.back().map_or(self.certain, |(index, ..)| *index);
                if index <= last {
                    oracle.violate(format!("{me} was shown {index} after {last}"));
                }
                self.seen.push_back((index, request, command));
                if grade == Grade::Certain || fault == Fault::SeenIsCertain {
                    if self.seen.len() > 1 && fault == Fault::None {
                        oracle.violate(format!("{me}: {index} is certain before those it follows"));
                    }
                    self.settle(me, oracle, index);
                }
            }
            HostedEvent::Certain { index } => self.settle(me, oracle, index),
            HostedEvent::Rewound { index, lost } => {
                self.rewinds += 1;
                if index < self.certain {
                    oracle.violate(format!("{me} was told to go back before {}", self.certain));
                }
                let stands = self.seen.iter().take_while(|(i, ..)| *i <= index).count();
                let gone = match fault {
                    Fault::NoRewind => VecDeque::new(),
                    _ => self.seen.split_off(stands),
                };
                let gone: Vec<Request> = gone.into_iter().map(|(_, request, _)| request).collect();
                self.taken_back += gone.len() as u32;
                let log = core.replica().log();
                let in_log = |request: &Request| request.n <= log.last_request(request.by);
                let named = gone.iter().all(|r| in_log(r) != lost.contains(r));
                if fault != Fault::NoRewind && (!named || lost.iter().any(|r| !gone.contains(r))) {
                    oracle.violate(format!("{me}: {gone:?} went, and {lost:?} were named"));
                }
                self.lost.extend(lost);
            }
            HostedEvent::Restored { index, state } => {
                if !self.seen.is_empty() && fault == Fault::None {
                    oracle.violate(format!("{me} restored what it had seen otherwise"));
                }
                oracle.on_restored(me, index, &state);
                self.hash = u64::from_le_bytes(state.try_into().unwrap_or_default());
                self.certain = index;
            }
            HostedEvent::HostChanged { host } => self.host = host,
            HostedEvent::Frozen => self.frozen = true,
            HostedEvent::Thawed => self.frozen = false,
            HostedEvent::Stranded => self.stranded = true,
            HostedEvent::ViewChanged { .. } => {}
        }
    }

    /// What was seen up to an index is certain: it must be what everybody decides there.
    fn settle(&mut self, me: Incarnation, oracle: &mut Oracle, index: u64) {
        let settled = self.seen.iter().take_while(|(i, ..)| *i <= index).count();
        for (index, _, command) in self.seen.drain(..settled) {
            self.hash = chain(self.hash, command);
            oracle.on_shown(me, self.certain, index, self.hash);
            self.certain = index;
        }
    }
}
