//! What programs, players and the network do.

use std::collections::BTreeSet;
use std::time::Duration;

use samestep_session::{
    Delivery, JoinTo, MessageKind, PeerId, Presence, Profile, RejoinSecret, Session, Settings,
    State, To,
};

use super::program::{Kind, Program};
use super::{Cut, Focus, RoomFault, Script};
use crate::NodeId;
use crate::check::{Breach, Part, RoomView};

const CONFIRMED: MessageKind = MessageKind(1);
const UNCONFIRMED: MessageKind = MessageKind(2);
const CHAT: MessageKind = MessageKind(3);

/// Programs at once, so that no seed takes much longer than the others.
const MOST: usize = 9;

impl Script<'_> {
    /// One random thing that happens.
    pub(super) fn operate(&mut self) -> Result<(), Breach> {
        let rare = match self.focus {
            Focus::Sessions => 1.0,
            Focus::Actions => 0.1,
        };
        if self.rng.chance(0.45 * rare) {
            match self.rng.range(0..100) {
                0..20 => self.join(),
                20..34 => self.crash(),
                34..60 => self.come_back(),
                60..66 => self.leave(),
                66..70 => self.kick(),
                70..85 => self.separate(),
                85..95 => self.split(),
                _ => self.change_links(),
            }
        } else if self.rng.chance(0.3 * rare) {
            self.set_up();
        } else {
            self.act();
        }
        Ok(())
    }

    pub(super) fn part_at(&self, node: NodeId) -> Option<Part> {
        let last = self.programs.iter().rposition(|p| p.node == node)?;
        self.programs[last].runs.then_some(Part(last))
    }

    pub(super) fn running(&self) -> Vec<Part> {
        let runs = |part: &Part| self.programs[part.0].runs;
        (0..self.programs.len()).map(Part).filter(runs).collect()
    }

    pub(super) fn in_sync(&self) -> Vec<Part> {
        let state = |part: &Part| self.state(*part) == Some(State::InSync);
        self.running().into_iter().filter(state).collect()
    }

    pub(super) fn state(&self, part: Part) -> Option<State> {
        let state = self.session(part)?.state().clone();
        Some(match self.fault_of(self.programs[part.0].node) {
            Some(fault) => fault.state(state),
            None => state,
        })
    }

    pub(super) fn view(&self, part: Part) -> Option<RoomView> {
        let seen = RoomView::of(self.session(part)?);
        let program = &self.programs[part.0];
        Some(match self.fault_of(program.node) {
            Some(fault) => fault.view(seen, program.owed.is_some()),
            None => seen,
        })
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        match from.len() as u64 {
            0 => None,
            count => Some(from[self.rng.range(0..count) as usize].clone()),
        }
    }

    pub(super) fn session(&self, part: Part) -> Option<&Session> {
        let program = &self.programs[part.0];
        self.testbed.machine(program.node).filter(|_| program.runs)
    }

    pub(super) fn authority(&self) -> Option<Part> {
        self.in_sync().into_iter().find(|part| self.rules(*part))
    }

    pub(super) fn rules(&self, part: Part) -> bool {
        self.session(part).is_some_and(Session::is_authority)
            || self.fault_of(self.programs[part.0].node) == Some(RoomFault::SecondAuthority)
    }

    pub(super) fn open_room(&mut self) {
        let node = self.testbed.add_node();
        self.launch(Program::new(node, Kind::Opener), None);
    }

    /// Somebody new joins: at the host, or at any member of a mesh.
    pub(super) fn join(&mut self) {
        if self.running().len() >= MOST {
            return;
        }
        let node = self.testbed.add_node();
        self.testbed.set_drift(node, (self.rng.f64() - 0.5) * 200.0);
        let spectates = !self.terms.mesh && self.rng.chance(0.15);
        let kind = match spectates {
            true => Kind::Spectator,
            false => Kind::Player([1, 1, 1, 2, 3][self.rng.range(0..5) as usize]),
        };
        self.launch(Program::new(node, kind), None);
    }

    fn launch(&mut self, mut program: Program, rejoin: Option<RejoinSecret>) {
        // A mesh that waits for somebody stands still, and that one returns through any of those who wait.
        let inside = |part: &Part| matches!(self.state(*part), Some(State::InSync | State::Frozen));
        let members: Vec<NodeId> = self
            .running()
            .into_iter()
            .filter(inside)
            .map(|part| self.programs[part.0].node)
            .filter(|node| *node != program.node)
            .collect();
        let through = match (self.terms.mesh, self.pick(&members)) {
            (true, Some(member)) => member,
            _ => self
                .programs
                .first()
                .map_or(program.node, |opener| opener.node),
        };
        let mut join = JoinTo::new(self.testbed.address(through));
        join.password = self.terms.password.clone();
        join.rejoin = rejoin;
        let config = self.terms.config(
            &format!("p{}", program.node.0),
            program.kind.players(&self.terms),
        );
        let role = program.kind.role(&self.terms, join);
        let part = Part(self.programs.len());
        let (node, kind) = (program.node, program.kind);
        // A machine runs one program at a time.
        for former in self.programs.iter_mut().filter(|p| p.node == node) {
            former.runs = false;
        }
        self.trace(|| {
            format!(
                "part {} starts at {node} as {kind:?} through {through}, returning {}",
                part.0,
                rejoin.is_some()
            )
        });
        self.testbed.start(node, |now, seed| {
            Session::new(now, config, role, seed).expect("a session that can be")
        });
        program.returning = rejoin.is_some();
        program.secret = rejoin;
        self.programs.push(program);
        self.keep_splits();
    }

    /// Where its log begins: there, unless it is back as who it was and has missed nothing for good.
    pub(super) fn on_joined(&mut self, part: Part, me: PeerId) {
        let Some(session) = self.session(part) else {
            return;
        };
        let (index, secret) = (session.log_index(), session.rejoin_secret());
        // Whoever went on alone did so as another room.
        let joined_as = Some((*session.room().id(), me));
        let program = &mut self.programs[part.0];
        if program.joined_as != joined_as {
            program.since = Some(index);
        }
        program.joined_as = joined_as;
        program.secret = Some(secret);
    }

    /// The only member of a room that runs waits for nobody any longer: whoever stands at its door comes to the room that it goes on as.
    pub(super) fn on_stranded(&mut self, part: Part) {
        self.programs[part.0].stranded = true;
        let is_member =
            |p: &Part| !matches!(self.state(*p), Some(State::Connecting | State::Left(_)));
        let mut members = self.running().into_iter().filter(is_member);
        if members.any(|p| p != part) {
            return;
        }
        let node = self.programs[part.0].node;
        self.trace(|| format!("{node} goes on alone"));
        self.testbed
            .with(node, |now, session| session.go_on_alone(now));
    }

    /// A program dies. The host does not: its room would die with it. A mesh keeps a majority.
    fn crash(&mut self) {
        let running = self.running();
        let Some(part) = self.pick(&running) else {
            return;
        };
        let program = &self.programs[part.0];
        if program.kind == Kind::Opener && !self.terms.mesh {
            return;
        }
        if self.terms.mesh && !self.majority_without(&[program.node]) {
            return;
        }
        // Who is waited for must be able to come back.
        if self.terms.waits() && !program.life.is_in_sync() {
            return;
        }
        self.stop(part, "crashes");
        let node = self.programs[part.0].node;
        self.testbed.kill(node);
    }

    fn stop(&mut self, part: Part, how: &str) {
        let now = self.testbed.now();
        let program = &mut self.programs[part.0];
        program.runs = false;
        program.stopped_at = Some(now);
        let node = program.node;
        self.trace(|| format!("{node} (part {}) {how}", part.0));
    }

    /// Whether more than half of a mesh's members would still be there and hear each other without these.
    fn majority_without(&self, without: &[NodeId]) -> bool {
        let lost: Vec<NodeId> = self
            .mends
            .iter()
            .flat_map(|(_, cut)| match cut {
                Cut::Pair(..) => Vec::new(),
                Cut::Node(node) => vec![*node],
                Cut::Split { off, .. } => off.clone(),
            })
            .chain(without.iter().copied())
            .collect();
        let in_sync = self.in_sync();
        let left = in_sync
            .iter()
            .map(|part| &self.programs[part.0])
            // Who was sent away may not have heard of it yet, and stays no longer.
            .filter(|program| !program.dismissed && !lost.contains(&program.node))
            .count();
        let listed = in_sync
            .iter()
            .filter_map(|part| self.session(*part))
            .map(|session| session.room().peers().len())
            .max()
            .unwrap_or(0);
        2 * left > listed && left >= 2
    }

    /// A program that crashed starts again, mostly with what it needs to find its place.
    fn come_back(&mut self) {
        let nodes: Vec<NodeId> = self.testbed.nodes().collect();
        let gone: Vec<NodeId> = nodes
            .into_iter()
            .filter(|node| self.part_at(*node).is_none())
            .collect();
        if let Some(node) = self.pick(&gone) {
            let with_secret = self.rng.chance(0.8) || self.terms.waits();
            self.bring_back(node, with_secret);
        }
    }

    pub(super) fn bring_all_back(&mut self) {
        let nodes: Vec<NodeId> = self.testbed.nodes().collect();
        for node in nodes {
            // Also who tried before, through somebody who could not help.
            let wanted = |p: &Program| match p.runs {
                true => p.returning && p.life.has_left() && p.life.me().is_none(),
                false => !p.life.has_left(),
            };
            if self
                .programs
                .iter()
                .rfind(|p| p.node == node)
                .is_some_and(wanted)
            {
                self.bring_back(node, true);
            }
        }
    }

    fn bring_back(&mut self, node: NodeId, with_secret: bool) {
        let Some(before) = self.programs.iter().rfind(|p| p.node == node) else {
            return;
        };
        let mut program = Program::new(node, before.kind);
        if before.kind == Kind::Opener {
            program.kind = Kind::Player(1);
        }
        let secret = before.secret.filter(|_| with_secret);
        // A spectator has no place to lose; a place is kept from when the absence was noticed.
        let plays = before.kind != Kind::Spectator;
        if secret.is_some() && plays && !before.dismissed {
            let noticed = |(peer, _): &(PeerId, _)| self.absent.get(peer).copied();
            let since = before.place.as_ref().and_then(noticed);
            program.owed = before.place.clone();
            // In a mesh it is kept from when its silence was too long, counted from when it was last heard.
            let silent = before
                .stopped_at
                .map(|at| at + self.terms.silence_of_mesh() / 2);
            let since = since.into_iter().chain(silent).min();
            program.owed_until = since.map(|at| at + self.terms.grace);
        }
        self.launch(program, secret);
    }

    fn leave(&mut self) {
        let running = self.in_sync();
        let Some(part) = self.pick(&running) else {
            return;
        };
        let program = &self.programs[part.0];
        let node = program.node;
        if program.kind == Kind::Opener && !self.terms.mesh {
            return;
        }
        if self.terms.mesh && !self.majority_without(&[node]) {
            return;
        }
        // Words that nobody hears leave the others waiting, as they should.
        if self.terms.waits() && !self.mends.is_empty() {
            return;
        }
        self.trace(|| format!("{node} leaves"));
        self.programs[part.0].dismissed = true;
        self.testbed
            .with(node, |now, session| session.leave(now, "enough"));
    }

    fn kick(&mut self) {
        let Some(authority) = self.authority() else {
            return;
        };
        let others: Vec<Part> = self
            .in_sync()
            .into_iter()
            .filter(|part| *part != authority)
            .collect();
        let Some(part) = self.pick(&others) else {
            return;
        };
        let node = self.programs[part.0].node;
        let Some(me) = self.programs[part.0].life.me() else {
            return;
        };
        if self.terms.mesh && !self.majority_without(&[node]) {
            return;
        }
        self.trace(|| format!("{node} ({me}) is sent away"));
        self.programs[part.0].dismissed = true;
        let by = self.programs[authority.0].node;
        self.testbed
            .with(by, |now, session| session.kick(now, me, "be nice"));
    }

    /// Cuts off a pair, in one or both directions, or a node; now and then for longer than the time-out.
    fn separate(&mut self) {
        let nodes: Vec<NodeId> = self
            .running()
            .iter()
            .map(|p| self.programs[p.0].node)
            .collect();
        let (Some(a), Some(b)) = (self.pick(&nodes), self.pick(&nodes)) else {
            return;
        };
        if a == b {
            return;
        }
        let kind = self.rng.range(0..4);
        if kind == 0 && self.terms.mesh && !self.majority_without(&[a]) {
            return;
        }
        self.trace(|| format!("{a} and {b} are separated, kind {kind}"));
        let cut = match kind {
            0 => {
                self.testbed.isolate(a);
                Cut::Node(a)
            }
            1 => {
                self.testbed.cut_one_way(a, b);
                Cut::Pair(a, b)
            }
            _ => {
                self.testbed.cut(a, b);
                Cut::Pair(a, b)
            }
        };
        let wait = Duration::from_secs_f64(1.5 * self.rng.exponential());
        self.mends.push((self.testbed.now() + wait, cut));
    }

    /// Cuts a minority of a mesh off, or a half, for long.
    fn split(&mut self) {
        if !self.terms.mesh
            || self
                .mends
                .iter()
                .any(|(_, cut)| matches!(cut, Cut::Split { .. }))
        {
            return;
        }
        let members: Vec<NodeId> = self
            .in_sync()
            .iter()
            .map(|p| self.programs[p.0].node)
            .collect();
        let mut off: Vec<NodeId> = Vec::new();
        for node in &members {
            if self.rng.chance(0.4) {
                off.push(*node);
            }
        }
        // Nothing else is cut, so that all are there to go on when the halves meet again.
        let halves = 2 * off.len() == members.len() && self.mends.is_empty();
        if off.is_empty() || !(halves || self.majority_without(&off)) {
            return;
        }
        self.trace(|| format!("{off:?} are cut off"));
        self.testbed.split(|node| off.contains(&node));
        let until = self.testbed.now() + self.terms.settling();
        self.mends.push((until, Cut::Split { off, halves }));
    }

    fn change_links(&mut self) {
        let link = self.severity.random_link(&mut self.rng);
        self.trace(|| format!("links: {link}"));
        self.testbed.set_links(link);
    }

    /// Before and after the game.
    fn set_up(&mut self) {
        let members = self.in_sync();
        let Some(part) = self.pick(&members) else {
            return;
        };
        let node = self.programs[part.0].node;
        let places = self.programs[part.0]
            .place
            .clone()
            .map_or(Vec::new(), |(_, places)| places);
        let player = self.pick(&places);
        let what = self.rng.range(0..10);
        let number = self.rng.range(0..100);
        self.trace(|| format!("{node} sets up, kind {what}"));
        self.testbed
            .with(node, |now, session| match (what, player) {
                (0..4, Some(player)) => session.set_ready(now, player, number < 80),
                (4, Some(player)) => {
                    let profile = Profile::named(&format!("n{number}"));
                    session.set_profile(now, player, profile);
                }
                (5..7, _) => {
                    let settings = Settings {
                        map: format!("m{number}"),
                        ..Settings::default()
                    };
                    session.propose_settings(now, settings);
                }
                (7, _) if session.is_authority() => session.start(now),
                (8, _) => session.propose_end(now, &[number as u8]),
                (9, _) => session.rematch(now),
                _ => {}
            });
    }

    /// Those in sync whom this member knows to be.
    fn audience(&self, of: Part, members: &[Part]) -> BTreeSet<Part> {
        let knows = |part: &&Part| {
            let me = self.session(**part).and_then(Session::me);
            let room = self.session(of).map(Session::room);
            let listed = me.zip(room).and_then(|(me, room)| room.peer(me));
            listed.is_some_and(|peer| peer.presence == Presence::InSync)
        };
        members.iter().filter(knows).copied().collect()
    }

    /// The authority of this member's room.
    fn judge_of(&self, of: Part, members: &[Part]) -> Option<Part> {
        let authority = self.session(of)?.room().authority();
        let is = |part: &&Part| self.session(**part).and_then(Session::me) == Some(authority);
        members.iter().find(is).copied()
    }

    /// Somebody acts, in one of the two ways, or talks.
    fn act(&mut self) {
        let members = self.in_sync();
        let Some(part) = self.pick(&members) else {
            return;
        };
        let program = &mut self.programs[part.0];
        program.numbered += 1;
        let (node, number) = (program.node, program.numbered);
        let mut payload = vec![part.0 as u8, (part.0 >> 8) as u8];
        payload.extend_from_slice(&number.to_le_bytes());
        match self.rng.range(0..10) {
            0..5 => {
                let asked = self.testbed.with(node, |now, session| {
                    session.request_bytes(now, CONFIRMED, &payload)
                });
                if let Some(Ok(request)) = asked {
                    self.acted += 1;
                    self.confirmed.on_request(part, request, &payload);
                    self.trace(|| format!("{node} asks for {payload:?} as {request:?}"));
                }
            }
            5..8 => {
                let acted = self.testbed.with(node, |now, session| {
                    session.act_bytes(now, UNCONFIRMED, &payload)
                });
                if let Some(Ok(request)) = acted {
                    self.acted += 1;
                    let audience = self.audience(part, &members);
                    let judge = self.judge_of(part, &members);
                    self.unconfirmed
                        .on_act(part, request, &payload, audience, judge);
                    self.trace(|| format!("{node} does {payload:?} as {request:?}"));
                }
            }
            _ => {
                self.testbed.with(node, |now, session| {
                    session.send_bytes(now, To::Others, Delivery::ReliableOrdered, CHAT, &payload)
                });
            }
        }
    }
}
