//! The programs of a room, what they ask for, and what they are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use samestep_session::{
    JoinTo, NetworkId, PeerKind, Role, Session, SessionConfig, SessionEvent, Shared, Silence, State,
};
use samestep_sync::{ChangeId, ChangeOutcome};

use super::Vanishing;
use super::board::{Board, SharedBoard, TARGETS};
use super::fault::OwnersFault;
use crate::check::{Breach, Promise};
use crate::soak::Trace;
use crate::{NodeId, Testbed};

/// How often programs look after what is shared.
const FRAME: Duration = Duration::from_millis(20);

/// One run of one program.
struct Program {
    node: NodeId,
    /// The program that it joined through.
    door: Option<usize>,
    board: SharedBoard,
    runs: bool,
    is_leaving: bool,
    is_stranded: bool,
    /// Whether it has been in sync since it last showed something.
    is_whole: bool,
    /// What it has shown.
    shown: Vec<Vec<u32>>,
    /// What it asked for and was not told of.
    pending: BTreeMap<ChangeId, Vec<Asked>>,
    looks: u64,
}

#[derive(Clone, Copy)]
struct Asked {
    target: usize,
    mark: u32,
    at: Duration,
}

/// The name of a program's player, by which others know it.
fn name_of(node: NodeId) -> String {
    format!("player {}", node.0)
}

/// What became of a room.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) lost: u64,
    pub(super) twice: u64,
    pub(super) owners: (usize, usize),
    pub(super) differs: Option<String>,
}

pub(super) struct World<'t> {
    pub(super) testbed: Testbed<Session>,
    is_mesh: bool,
    silence: Duration,
    programs: Vec<Program>,
    /// Changes that somebody was told to be made: when they were asked for, and when it was told.
    told: Vec<(Asked, Duration)>,
    /// How long each of these took.
    pub(super) took: Vec<Duration>,
    next_mark: u32,
    fault: Option<OwnersFault>,
    trace: Trace<'t>,
}

impl<'t> World<'t> {
    pub(super) fn new(seed: u64, is_mesh: bool, silence: Duration, trace: Trace<'t>) -> World<'t> {
        World {
            testbed: Testbed::new(seed),
            is_mesh,
            silence,
            programs: Vec::new(),
            told: Vec::new(),
            took: Vec::new(),
            next_mark: 1,
            fault: None,
            trace,
        }
    }

    /// From now on the second program has a fault.
    pub(super) fn break_one(&mut self, fault: Option<OwnersFault>) {
        self.fault = fault;
    }

    pub(super) fn now(&self) -> Duration {
        self.testbed.now()
    }

    pub(super) fn tell(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let what = what();
            trace(format!(
                "{:.6} {what:.300}",
                self.testbed.now().as_secs_f64()
            ));
        }
    }

    pub(super) fn open(&mut self) {
        let role = match self.is_mesh {
            true => Role::Introducer,
            false => Role::Host,
        };
        self.launch(role, None);
    }

    /// A program joins through another.
    pub(super) fn join(&mut self, through: usize) {
        let to = JoinTo::new(self.testbed.address(self.programs[through].node));
        let role = match self.is_mesh {
            true => Role::Peer(to),
            false => Role::Client(to),
        };
        self.launch(role, Some(through));
    }

    fn launch(&mut self, role: Role, door: Option<usize>) {
        let node = self.testbed.add_node();
        let mut config = SessionConfig::new("marks", 1).player(&name_of(node));
        config.capacity = 32;
        config.protocol.timeout = self.silence;
        config.protocol.keep_alive = self.silence / 5;
        config.silence = Silence::Drop {
            after: self.silence,
        };
        let board =
            Shared::new(NetworkId::Static(1), Board::default()).expect("it is declared well");
        self.testbed.start(node, |now, seed| {
            Session::new(now, config, role, seed).expect("settings that make sense")
        });
        self.programs.push(Program {
            node,
            door,
            board,
            runs: true,
            is_leaving: false,
            is_stranded: false,
            is_whole: false,
            shown: vec![Vec::new(); TARGETS],
            pending: BTreeMap::new(),
            looks: 0,
        });
        let at = self.programs.len() - 1;
        self.tell(|| format!("{at} comes"));
    }

    /// The programs that run and have not said that they leave.
    pub(super) fn running(&self) -> Vec<usize> {
        let all = self.programs.iter().enumerate();
        let stays = all.filter(|(_, program)| program.runs && !program.is_leaving);
        stays.map(|(at, _)| at).collect()
    }

    pub(super) fn state(&self, at: usize) -> State {
        let session = self.testbed.machine(self.programs[at].node);
        session.map_or(State::Connecting, |session| session.state().clone())
    }

    /// Those of them that are in the room.
    pub(super) fn in_sync(&self) -> Vec<usize> {
        let mut running = self.running();
        running.retain(|at| self.state(*at) == State::InSync);
        running
    }

    /// How many members a program sees that are there.
    pub(super) fn sees(&self, at: usize) -> usize {
        let session = self.testbed.machine(self.programs[at].node);
        session.map_or(0, |session| session.room().present().count())
    }

    /// Whether most of these members, itself among them, have it in their rooms.
    pub(super) fn is_listed(&self, member: usize, by: &[usize]) -> bool {
        let session = |at: usize| self.testbed.machine(self.programs[at].node);
        let id = session(member).and_then(Session::me);
        let lists = |at: &&usize| {
            let rooms = session(**at).map(Session::room);
            rooms.is_some_and(|room| room.present().any(|peer| Some(peer.id) == id))
        };
        by.iter().filter(lists).count() * 2 > by.len()
    }

    /// Whether it hosts the room.
    pub(super) fn hosts(&self, at: usize) -> bool {
        let session = self.testbed.machine(self.programs[at].node);
        let me = session.and_then(|s| s.room().peer(s.me()?));
        me.is_some_and(|me| me.kind == PeerKind::Host)
    }

    pub(super) fn node(&self, at: usize) -> NodeId {
        self.programs[at].node
    }

    pub(super) fn owner_of(&self, target: usize) -> Option<usize> {
        let mut in_sync = self.in_sync().into_iter();
        in_sync.find(|at| self.programs[*at].board.is_mine(target))
    }

    pub(super) fn vanish(&mut self, at: usize, how: Vanishing) {
        self.tell(|| format!("{at} {}", how.name()));
        let node = self.programs[at].node;
        match how {
            Vanishing::Crashes => self.stop(at),
            Vanishing::Leaves => {
                self.programs[at].is_leaving = true;
                self.testbed
                    .with(node, |now, session| session.leave(now, "good bye"));
            }
            Vanishing::CutOff => self.testbed.isolate(node),
        }
    }

    /// A program ends from one moment to the next.
    pub(super) fn stop(&mut self, at: usize) {
        self.programs[at].runs = false;
        let node = self.programs[at].node;
        self.testbed.kill(node);
    }

    /// Asks for a mark, if the program is in the room.
    pub(super) fn ask(&mut self, at: usize, target: usize) {
        if self.state(at) != State::InSync {
            return;
        }
        let (mark, now) = (self.next_mark, self.now());
        self.next_mark += 1;
        let program = &mut self.programs[at];
        let Ok(Some(id)) = program.board.ask(target, mark) else {
            return;
        };
        let asked = Asked {
            target,
            mark,
            at: now,
        };
        program.pending.entry(id).or_default().push(asked);
        if self.fault == Some(OwnersFault::EarlyAnswers) && at == 1 && mark.is_multiple_of(16) {
            let never = Asked {
                mark: mark + (1 << 30),
                ..asked
            };
            self.told.push((never, now));
        }
    }

    pub(super) fn run_for(&mut self, time: Duration) -> Result<(), Breach> {
        let end = self.now() + time;
        while self.now() < end {
            let pause = end.min(self.now() + FRAME);
            while let Some((_, node, event)) = self.testbed.next(pause) {
                self.on_event(node, &event);
            }
            for at in 0..self.programs.len() {
                if self.programs[at].runs {
                    self.look_after(at)?;
                }
            }
        }
        Ok(())
    }

    /// Runs until it is so, for half a minute at most.
    pub(super) fn until(
        &mut self,
        what: &str,
        so: impl Fn(&World<'t>) -> bool,
    ) -> Result<(), String> {
        for _ in 0..300 {
            if so(self) {
                return Ok(());
            }
            self.run_for(Duration::from_millis(100))
                .map_err(|breach| breach.to_string())?;
        }
        let states: Vec<_> = self
            .running()
            .into_iter()
            .map(|at| self.state(at))
            .collect();
        Err(format!(
            "{what}: {states:?}, {} unanswered",
            self.unanswered()
        ))
    }

    fn on_event(&mut self, node: NodeId, event: &SessionEvent) {
        let Some(at) = self.programs.iter().position(|p| p.node == node) else {
            return;
        };
        if !matches!(event, SessionEvent::Message { .. }) {
            self.tell(|| format!("{at}: {event:?}"));
        }
        let program = &mut self.programs[at];
        let board = &mut program.board;
        self.testbed
            .with(node, |now, session| board.handle(now, session, event));
        match event {
            SessionEvent::Reconnecting { .. } | SessionEvent::Frozen => program.is_whole = false,
            SessionEvent::Stranded => program.is_stranded = true,
            SessionEvent::Left { .. } => program.runs = false,
            _ => {}
        }
        if matches!(event, SessionEvent::Left { .. }) {
            self.testbed.kill(node);
        }
    }

    /// Whether one of those that it knows from the room, or joined through, still runs.
    fn knows_somebody(&self, at: usize) -> bool {
        let session = self.testbed.machine(self.programs[at].node);
        let players = session.map_or(&[][..], |session| session.room().players());
        let knows = |other: &usize| {
            let name = name_of(self.programs[*other].node);
            *other != at && players.iter().any(|player| player.profile.name == name)
        };
        let door = self.programs[at].door.filter(|door| *door != at);
        let mut running = self.running().into_iter();
        running.any(|other| door == Some(other) || knows(&other))
    }

    /// Of those that are told to be stranded, one goes on alone if nobody else is in the room; the others end. So do those that look for a way back and know nobody any
    /// more: players would ask the others for an address.
    pub(super) fn end_the_stranded(&mut self) {
        for at in self.running() {
            if self.state(at) == State::Connecting && !self.knows_somebody(at) {
                self.tell(|| format!("{at} knows nobody and ends"));
                self.stop(at);
                continue;
            }
            if !self.programs[at].is_stranded || self.state(at) != State::Frozen {
                continue;
            }
            if self.running().len() > 1 {
                self.tell(|| format!("{at} is stranded and ends"));
                self.stop(at);
            } else {
                self.tell(|| format!("{at} goes on alone"));
                let node = self.programs[at].node;
                self.testbed
                    .with(node, |now, session| session.go_on_alone(now));
            }
        }
    }

    fn look_after(&mut self, at: usize) -> Result<(), Breach> {
        let now = self.now();
        let fault = self.fault.filter(|_| at == 1);
        let program = &mut self.programs[at];
        let board = &mut program.board;
        self.testbed.with(program.node, |now, session| {
            // What does not fit into a queue is sent again by the next call.
            let _ = board.flush(now, session);
        });
        while let Some((id, outcome)) = program.board.poll_outcome() {
            if fault == Some(OwnersFault::NoAnswers) {
                continue;
            }
            for asked in program.pending.remove(&id).unwrap_or_default() {
                match outcome {
                    ChangeOutcome::Made => {
                        self.told.push((asked, now));
                        self.took.push(now - asked.at);
                    }
                    ChangeOutcome::Unknown => {}
                    ChangeOutcome::Refused(refusal) => {
                        let what = format!("{at} was refused what it may do: {refusal}");
                        return Err(Promise::Variables.breach(now, what));
                    }
                }
            }
        }
        if self.state(at) != State::InSync || !self.programs[at].board.is_complete() {
            return Ok(());
        }
        self.check(at)
    }

    /// What a program shows continues what it has shown, has nothing twice, and is whole.
    fn check(&mut self, at: usize) -> Result<(), Breach> {
        let now = self.now();
        let fault = self.fault.filter(|_| at == 1);
        let breach = |what: String| Err(Promise::Variables.breach(now, format!("{at}: {what}")));
        let program = &mut self.programs[at];
        program.looks += 1;
        for target in 0..TARGETS {
            let marks = program.board.marks(target);
            if fault.is_none() && marks == program.shown[target] {
                continue;
            }
            let mut marks = marks.to_vec();
            if let Some(fault) = fault {
                marks = fault.marks(marks, program.looks);
            }
            let shown = &program.shown[target];
            if program.is_whole && !marks.starts_with(shown) {
                return breach(format!("shows {marks:?} after {shown:?}"));
            }
            let once: BTreeSet<u32> = marks.iter().copied().collect();
            if once.len() != marks.len() {
                return breach(format!("something is made twice: {marks:?}"));
            }
            program.shown[target] = marks;
        }
        program.is_whole = true;
        let is_torn = fault == Some(OwnersFault::TornGroup) && program.shown[0].len() > 3;
        let torn = program.board.torn();
        match torn.or(is_torn.then(|| "half of it".to_string())) {
            Some(torn) => breach(format!("what changes together is torn: {torn}")),
            None => Ok(()),
        }
    }

    /// Changes that nobody has answered, of programs that are there.
    pub(super) fn unanswered(&self) -> u64 {
        let running = self.running().into_iter();
        let pending = running.map(|at| self.programs[at].pending.values().flatten().count());
        pending.sum::<usize>() as u64
    }

    /// Whether everyone is in the room, and nothing is waited for.
    pub(super) fn is_settled(&self) -> bool {
        let (running, in_sync) = (self.running(), self.in_sync());
        let has_all = |at: &usize| {
            let board = &self.programs[*at].board;
            board.is_complete() && !board.is_waiting() && self.sees(*at) == running.len()
        };
        in_sync.len() == running.len() && in_sync.iter().all(has_all) && self.unanswered() == 0
    }

    pub(super) fn made(&self) -> u64 {
        self.told.len() as u64
    }

    /// When somebody was first told of a change of this target that was asked for after `since`.
    pub(super) fn first_made(&self, target: usize, since: Duration) -> Option<Duration> {
        let later = |(asked, _): &&(Asked, Duration)| asked.target == target && asked.at > since;
        self.told.iter().filter(later).map(|(_, told)| *told).min()
    }

    /// What there is in the end.
    pub(super) fn judge(&self) -> Verdict {
        let mut verdict = Verdict {
            owners: (0, usize::MAX),
            ..Verdict::default()
        };
        let in_sync = self.in_sync();
        let Some(first) = in_sync.first() else {
            verdict.differs = Some("nobody is left".into());
            verdict.owners.1 = 0;
            return verdict;
        };
        for target in 0..TARGETS {
            let marks = &self.programs[*first].shown[target];
            let once: BTreeSet<u32> = marks.iter().copied().collect();
            verdict.twice += (marks.len() - once.len()) as u64;
            let of_it = self.told.iter().filter(|(asked, _)| asked.target == target);
            verdict.lost += of_it
                .filter(|(asked, _)| !once.contains(&asked.mark))
                .count() as u64;
            for at in &in_sync {
                let theirs = &self.programs[*at].shown[target];
                if theirs != marks {
                    let what = format!("{first} has {marks:?} and {at} {theirs:?}");
                    verdict.differs.get_or_insert(what);
                }
            }
            let claims = |at: &&usize| {
                let second = **at == 1 && self.fault == Some(OwnersFault::SecondOwner);
                second || self.programs[**at].board.is_mine(target)
            };
            let owners = in_sync.iter().filter(claims).count();
            let (most, least) = verdict.owners;
            verdict.owners = (most.max(owners), least.min(owners));
        }
        verdict
    }
}
