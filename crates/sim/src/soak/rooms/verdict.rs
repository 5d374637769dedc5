//! What must hold: always, after a long split, when all is calm, and at the end.

use std::collections::BTreeSet;
use std::time::Duration;

use samestep_session::{LeaveReason, PeerId, Session, State};

use super::{Cut, Script};
use crate::NodeId;
use crate::check::{Breach, Part, Promise, RoomView, difference, no_ghosts, same_place};

impl Script<'_> {
    /// At any time: sessions that have come equally far see the same room.
    pub(super) fn look_around(&mut self) -> Result<(), Breach> {
        for part in self.in_sync() {
            let Some(session) = self.session(part) else {
                continue;
            };
            let program = &self.programs[part.0];
            if program.seen_index == Some(session.log_index()) {
                continue;
            }
            let (node, me) = (program.node, session.me());
            let Some(seen) = self.view(part) else {
                continue;
            };
            let agreed = self.agreement.on_room(&seen);
            let program = &mut self.programs[part.0];
            program.seen_index = Some(seen.index);
            if let Some(me) = me {
                program.place = Some((me, seen.places(me)));
            }
            agreed.map_err(|what| self.breach(Promise::Agreement, node, &what))?;
        }
        Ok(())
    }

    fn breach(&self, promise: Promise, node: NodeId, what: &str) -> Breach {
        promise.breach(self.testbed.now(), format!("{node}: {what}"))
    }

    /// A minority that has been cut off for long must stand still, and of two halves at least one.
    pub(super) fn judge_split(&self, off: &[NodeId], halves: bool) -> Result<(), Breach> {
        let nodes = self.in_sync().into_iter().map(|p| self.programs[p.0].node);
        let (there, here): (Vec<NodeId>, Vec<NodeId>) = nodes.partition(|node| off.contains(node));
        match (there.first(), here.first()) {
            (Some(node), Some(_)) if halves => {
                let what = "goes on although the other half does";
                Err(self.breach(Promise::OneGame, *node, what))
            }
            (Some(node), _) if !halves => {
                let what = "goes on although it is cut off from the majority";
                Err(self.breach(Promise::OneGame, *node, what))
            }
            _ => Ok(()),
        }
    }

    /// When all is calm everyone who runs is in sync, or has left for a reason, and all see the same.
    pub(super) fn judge_calm(&mut self) -> Result<(), Breach> {
        let mut there = BTreeSet::new();
        let mut parts = Vec::new();
        for part in self.running() {
            let (Some(session), node) = (self.session(part), self.programs[part.0].node) else {
                continue;
            };
            match self.state(part).unwrap_or(State::Connecting) {
                State::InSync => {
                    parts.push(part);
                    there.extend(session.me());
                }
                State::Left(reason) if self.may_have_left(part, &reason) => self
                    .confirmed
                    .answered(part)
                    .map_err(|what| self.breach(Promise::Confirmed, node, &what))?,
                // It has said so: its program looks for the others at another door, or goes on alone.
                State::Frozen if self.is_forgotten(part) => {}
                state => {
                    let what = format!("is {state:?} when all is calm");
                    return Err(self.breach(Promise::Agreement, node, &what));
                }
            }
        }
        let may_return = self.may_return();
        let mut first: Option<(NodeId, RoomView)> = None;
        for part in &parts {
            let (Some(seen), node) = (self.view(*part), self.programs[part.0].node) else {
                continue;
            };
            no_ghosts(&seen, &there, &may_return)
                .map_err(|what| self.breach(Promise::NoGhosts, node, &what))?;
            match &first {
                None => first = Some((node, seen)),
                Some((other, known)) if *known != seen => {
                    let (here, there) = (format!("{seen:?}"), format!("{known:?}"));
                    let (here, there) = difference(&here, &there);
                    let what = format!("sees \"{here}\" where {other} sees \"{there}\"");
                    return Err(self.breach(Promise::Agreement, node, &what));
                }
                Some(_) => {}
            }
        }
        self.judge_authority(&parts)?;
        self.judge_actions(&parts)
    }

    /// Whether a program was told that it is stranded, and the others have given its slot up meanwhile: nobody looks for it any more.
    fn is_forgotten(&self, part: Part) -> bool {
        let me = self.session(part).and_then(Session::me);
        let in_sync = self.in_sync();
        let others: Vec<&Session> = in_sync.iter().filter_map(|p| self.session(*p)).collect();
        // Its number may be another's by now.
        let is_anothers = others.iter().any(|other| other.me() == me);
        let lists = |other: &&Session| me.is_some_and(|me| other.room().peer(me).is_some());
        let is_listed = others.iter().any(lists) && !is_anothers;
        self.programs[part.0].stranded && !others.is_empty() && !is_listed
    }

    fn judge_authority(&self, parts: &[Part]) -> Result<(), Breach> {
        let rulers = parts.iter().filter(|part| self.rules(**part)).count();
        if rulers == 1 {
            return Ok(());
        }
        let what = format!("{rulers} authorities among {} members", parts.len());
        Err(self.breach(Promise::OneGame, NodeId(0), &what))
    }

    /// Who has returned in time is who it was.
    pub(super) fn judge_place(&mut self, part: Part) -> Result<(), Breach> {
        let me = self.session(part).and_then(Session::me);
        let (Some(seen), Some(me)) = (self.view(part), me) else {
            return Ok(());
        };
        let program = &mut self.programs[part.0];
        let Some((peer, players)) = program.owed.take() else {
            return Ok(());
        };
        if program
            .owed_until
            .is_none_or(|until| self.testbed.now() >= until)
        {
            return Ok(());
        }
        let node = program.node;
        same_place((peer, &players), (me, &seen.places(me)))
            .map_err(|what| self.breach(Promise::Places, node, &what))
    }

    fn judge_actions(&self, parts: &[Part]) -> Result<(), Breach> {
        for part in parts {
            let program = &self.programs[part.0];
            if let (Some(session), Some(since)) = (self.session(*part), program.since) {
                self.confirmed
                    .settled(*part, since, session.log_index())
                    .map_err(|what| self.breach(Promise::Confirmed, program.node, &what))?;
            }
        }
        let whole = |part: &&Part| self.programs[part.0].whole;
        let whole: BTreeSet<Part> = parts.iter().filter(whole).copied().collect();
        self.unconfirmed
            .settled(&whole, self.authority())
            .map_err(|what| self.breach(Promise::Unconfirmed, NodeId(0), &what))
    }

    /// Members whose absence was noticed so lately that their places may be kept.
    fn may_return(&self) -> BTreeSet<PeerId> {
        let waits = self.terms.waits();
        let longest = self.terms.grace + Duration::from_secs(3);
        let kept = |at: Duration| waits || self.testbed.now() < at + longest;
        let missed = self.last_missed.iter().filter(|(_, at)| kept(**at));
        missed.map(|(peer, _)| *peer).collect()
    }

    fn may_have_left(&self, part: Part, reason: &LeaveReason) -> bool {
        let program = &self.programs[part.0];
        let apart = !program.whole;
        match reason {
            LeaveReason::Left(_) | LeaveReason::Kicked(_) => program.dismissed,
            LeaveReason::Full => self.terms.capacity < 64,
            LeaveReason::Silent => apart,
            // The door that it was told of is another program's by now.
            LeaveReason::NotReached(_) | LeaveReason::WrongKey(_) => {
                apart || program.life.me().is_none()
            }
            LeaveReason::LoadingTooLong => self.terms.state_bytes > 0,
            _ => false,
        }
    }

    /// The room is closed: everyone is told so.
    pub(super) fn farewell(&mut self) -> Result<(), Breach> {
        let Some(authority) = self.authority() else {
            return Ok(());
        };
        let node = self.programs[authority.0].node;
        self.trace(|| format!("{node} closes the room"));
        let members = self.in_sync();
        self.testbed
            .with(node, |now, session| session.close_room(now, "good night"));
        self.run_for(Duration::from_secs(3))?;
        for part in members {
            let (Some(session), node) = (self.session(part), self.programs[part.0].node) else {
                continue;
            };
            let state = session.state();
            if *state != State::Left(LeaveReason::RoomClosed("good night".into())) {
                let what = format!("is {state:?} after the room was closed");
                return Err(self.breach(Promise::SessionLife, node, &what));
            }
            self.confirmed
                .answered(part)
                .map_err(|what| self.breach(Promise::Confirmed, node, &what))?;
        }
        Ok(())
    }

    /// What would bridge a split that lasts is cut too.
    pub(super) fn keep_splits(&mut self) {
        let splits: Vec<Vec<NodeId>> = self
            .mends
            .iter()
            .filter_map(|(_, cut)| match cut {
                Cut::Split { off, .. } => Some(off.clone()),
                _ => None,
            })
            .collect();
        for off in splits {
            self.testbed.split(|node| off.contains(&node));
        }
    }
}
