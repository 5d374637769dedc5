//! The suites `sessions` and `actions`: rooms of both kinds through storms and calms.
//!
//! In a storm programs join, crash, return, leave and are sent away, links fail and groups are cut off, while the members
//! play; then the network recovers, and soon everyone must agree.

mod fault;
mod operations;
mod program;
mod verdict;

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::Rng;
use samestep_session::{PeerId, Session, SessionEvent, Ticket, Verdict};

use super::conditions::{Severity, good_link};
use super::{Outcome, Trace};
use crate::check::{Agreement, Breach, ConfirmedActions, Part, Promise, UnconfirmedActions};
use crate::{NodeId, Testbed};
pub use fault::RoomFault;
use program::{Program, Terms, sound};

/// What the members of a room mostly do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    /// Come and go.
    Sessions,
    /// Act.
    Actions,
}

/// Runs the world of `seed`: actions, and what went wrong.
pub(super) fn run(focus: Focus, seed: u64, fault: Option<RoomFault>, trace: Trace<'_>) -> Outcome {
    let mut script = Script::new(focus, seed, trace);
    script.fault = fault;
    let result = script.run();
    (script.acted, result)
}

/// Runs the room of `seed` with a fault in one of its members, which a checker must find.
pub fn run_broken_room(seed: u64, fault: RoomFault) -> Result<(), Breach> {
    let focus = match fault.is_in_actions() {
        true => Focus::Actions,
        false => Focus::Sessions,
    };
    run(focus, seed, Some(fault), None).1
}

struct Script<'t> {
    focus: Focus,
    rng: Rng,
    terms: Terms,
    testbed: Testbed<Session>,
    severity: Severity,
    /// Every program that ever ran, in order of starting.
    programs: Vec<Program>,
    mends: Vec<(Duration, Cut)>,
    /// Tickets that the authority takes its time with.
    undecided: Vec<(Duration, Part, Ticket, Vec<u8>)>,
    agreement: Agreement,
    confirmed: ConfirmedActions,
    unconfirmed: UnconfirmedActions,
    acted: u64,
    /// Since when somebody has been known to be away.
    absent: BTreeMap<PeerId, Duration>,
    /// When somebody was last noticed to be away: who was let in again and did not come is given as long once more.
    last_missed: BTreeMap<PeerId, Duration>,
    fault: Option<RoomFault>,
    trace: Trace<'t>,
}

#[derive(Clone, Debug)]
enum Cut {
    Pair(NodeId, NodeId),
    Node(NodeId),
    /// Some members of a mesh, cut off for so long that it shows who stands still: a minority must, and of two halves at least one.
    Split {
        off: Vec<NodeId>,
        halves: bool,
    },
}

impl<'t> Script<'t> {
    fn new(focus: Focus, seed: u64, trace: Trace<'t>) -> Script<'t> {
        let mut rng = Rng::stream(seed, 2);
        let severity = match focus {
            Focus::Actions => Severity::Rough,
            Focus::Sessions => Severity::random(&mut rng),
        };
        Script {
            focus,
            terms: Terms::random(&mut rng),
            testbed: Testbed::new(seed),
            severity,
            programs: Vec::new(),
            mends: Vec::new(),
            undecided: Vec::new(),
            agreement: Agreement::default(),
            confirmed: ConfirmedActions::default(),
            unconfirmed: UnconfirmedActions::default(),
            acted: 0,
            absent: BTreeMap::new(),
            last_missed: BTreeMap::new(),
            fault: None,
            trace,
            rng,
        }
    }

    fn run(&mut self) -> Result<(), Breach> {
        let terms = format!("{:?}", self.terms);
        self.trace(|| terms);
        self.testbed.set_links(good_link());
        self.open_room();
        let members = 1 + self.rng.range(0..6);
        for _ in 0..members {
            self.join();
        }
        self.run_for(Duration::from_secs(2))?;
        let storms = self.rng.range(1..4);
        for storm in 0..storms {
            self.storm()?;
            self.calm(storm + 1 == storms)?;
        }
        self.farewell()
    }

    fn storm(&mut self) -> Result<(), Breach> {
        let link = self.severity.random_link(&mut self.rng);
        self.trace(|| format!("storm: {link}"));
        self.testbed.set_links(link);
        let end = self.testbed.now() + Duration::from_secs(self.rng.range(8..25));
        let pause_s = match self.focus {
            Focus::Sessions => 0.25,
            Focus::Actions => 0.06,
        };
        while self.testbed.now() < end {
            let wait = Duration::from_secs_f64(pause_s * self.rng.exponential());
            self.run_for(wait)?;
            self.operate()?;
        }
        Ok(())
    }

    /// The network recovers; within a bound everyone must agree.
    fn calm(&mut self, last: bool) -> Result<(), Breach> {
        // Half of the splits last until it shows who stands still.
        let split = |(at, cut): &(Duration, Cut)| matches!(cut, Cut::Split { .. }).then_some(*at);
        if let Some(until) = self.mends.iter().find_map(split)
            && self.rng.chance(0.5)
        {
            self.run_for(until.saturating_sub(self.testbed.now()))?;
        }
        self.trace(|| "calm".into());
        self.mends.clear();
        self.testbed.mend_all();
        self.testbed.set_links(good_link());
        if self.terms.waits() {
            self.bring_all_back();
        }
        let mut patience = self.terms.settling();
        if last {
            patience += self.terms.grace;
        }
        self.run_for(patience)?;
        // The end of somebody's grace is a change too, and may have come just now.
        for _ in 0..3 {
            if self.judge_calm().is_ok() {
                return Ok(());
            }
            self.run_for(Duration::from_millis(700))?;
        }
        self.judge_calm()
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Breach> {
        let end = self.testbed.now() + time;
        loop {
            let mend = self.mends.iter().map(|(at, _)| *at).min();
            let decision = self.undecided.iter().map(|(at, ..)| *at).min();
            let pause = [mend, decision]
                .into_iter()
                .flatten()
                .fold(end, Duration::min);
            if let Some((at, node, event)) = self.testbed.next(pause) {
                match self.fault_of(node) {
                    None => self.on_event(at, node, event)?,
                    Some(fault) => {
                        for event in fault.events(event) {
                            self.on_event(at, node, event)?;
                        }
                    }
                }
                continue;
            }
            self.mend_due()?;
            self.decide_due()?;
            self.look_around()?;
            if self.testbed.now() >= end {
                return Ok(());
            }
        }
    }

    /// The second member is the one with the fault.
    fn fault_of(&self, node: NodeId) -> Option<RoomFault> {
        self.fault.filter(|_| node == NodeId(1))
    }

    fn on_event(&mut self, at: Duration, node: NodeId, event: SessionEvent) -> Result<(), Breach> {
        let Some(part) = self.part_at(node) else {
            return Ok(());
        };
        self.trace(|| format!("{node} (part {}): {event:?}", part.0));
        let broken =
            |promise: Promise| move |what: String| promise.breach(at, format!("{node}: {what}"));
        self.programs[part.0]
            .life
            .on_event(&event)
            .map_err(broken(Promise::SessionLife))?;
        match &event {
            SessionEvent::Joined { me } => self.on_joined(part, *me),
            SessionEvent::InSync => self.judge_place(part)?,
            SessionEvent::PeerAway { peer } => {
                self.absent.entry(*peer).or_insert(at);
                self.last_missed.insert(*peer, at);
            }
            SessionEvent::PeerInSync { peer } => {
                self.absent.remove(peer);
            }
            SessionEvent::Stranded => self.on_stranded(part),
            SessionEvent::Left { .. } => self.programs[part.0].stopped_at = Some(at),
            SessionEvent::Reconnecting { .. } | SessionEvent::Frozen => {
                self.programs[part.0].whole = false;
            }
            SessionEvent::StateWanted { peer } => {
                let (peer, bytes) = (*peer, self.terms.state_bytes);
                self.testbed.with(node, |now, session| {
                    let mut state = vec![7; bytes];
                    state[..8].copy_from_slice(&session.log_index().to_le_bytes());
                    session.provide_state(now, peer, &state);
                });
            }
            SessionEvent::InitialState { state } => {
                let holds = state.first_chunk().copied().map(u64::from_le_bytes);
                if state.len() != self.terms.state_bytes || holds.is_none() {
                    return Err(broken(Promise::SessionLife)(format!(
                        "a state of {} bytes arrived as {}",
                        self.terms.state_bytes,
                        state.len()
                    )));
                }
                // What came before is contained in it.
                self.programs[part.0].since = holds;
                self.testbed.with(node, |now, session| session.loaded(now));
            }
            SessionEvent::Request {
                ticket, payload, ..
            } => {
                let wait = match self.rng.chance(0.2) {
                    true => Duration::from_millis(self.rng.range(1..600)),
                    false => Duration::ZERO,
                };
                self.undecided
                    .push((at + wait, part, *ticket, payload.to_vec()));
                self.decide_due()?;
            }
            SessionEvent::Command {
                index,
                request,
                payload,
                ..
            } => self
                .confirmed
                .on_command(part, *index, *request, payload)
                .map_err(broken(Promise::Confirmed))?,
            SessionEvent::Included { request, .. } => self
                .confirmed
                .on_included(part, *request)
                .map_err(broken(Promise::Confirmed))?,
            SessionEvent::Denied {
                request, reason, ..
            } => self
                .confirmed
                .on_denied(part, *request, !reason.is_empty())
                .map_err(broken(Promise::Confirmed))?,
            SessionEvent::Acted {
                request, payload, ..
            } => self
                .unconfirmed
                .on_acted(part, *request, payload)
                .map_err(broken(Promise::Unconfirmed))?,
            SessionEvent::Check {
                ticket, payload, ..
            } => {
                let ok = sound(payload);
                self.unconfirmed
                    .on_judged(part, payload, ok)
                    .map_err(broken(Promise::Unconfirmed))?;
                let verdict = match ok {
                    true => Ok(()),
                    false => Err(b"unsound".to_vec()),
                };
                let ticket = *ticket;
                self.testbed
                    .with(node, |now, session| session.judge(now, ticket, verdict));
            }
            SessionEvent::Rejected { request, .. } => self
                .unconfirmed
                .on_rejected(part, *request)
                .map_err(broken(Promise::Unconfirmed))?,
            _ => {}
        }
        Ok(())
    }

    /// The authority decides what it is done thinking about.
    fn decide_due(&mut self) -> Result<(), Breach> {
        let now = self.testbed.now();
        while let Some(index) = self.undecided.iter().position(|(at, ..)| *at <= now) {
            let (_, part, ticket, payload) = self.undecided.remove(index);
            let program = &self.programs[part.0];
            if !program.runs {
                continue;
            }
            let verdict = match sound(&payload) {
                true => Verdict::Command(payload),
                false => Verdict::Deny(b"unsound".to_vec()),
            };
            self.testbed.with(program.node, |now, session| {
                session.resolve(now, ticket, verdict);
            });
        }
        Ok(())
    }

    fn mend_due(&mut self) -> Result<(), Breach> {
        let now = self.testbed.now();
        while let Some(index) = self.mends.iter().position(|(at, _)| *at <= now) {
            let (_, cut) = self.mends.remove(index);
            self.trace(|| format!("{cut:?} is mended"));
            match cut {
                Cut::Pair(a, b) => self.testbed.mend(a, b),
                Cut::Node(node) => self.testbed.rejoin(node),
                Cut::Split { off, halves } => {
                    self.judge_split(&off, halves)?;
                    let nodes: Vec<NodeId> = self.testbed.nodes().collect();
                    for a in &off {
                        for b in &nodes {
                            self.testbed.mend(*a, *b);
                        }
                    }
                }
            }
            self.keep_splits();
        }
        Ok(())
    }

    /// Tells whoever watches what happens.
    fn trace(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let what = what();
            trace(format!(
                "{:.6} {what:.300}",
                self.testbed.now().as_secs_f64()
            ));
        }
    }
}
