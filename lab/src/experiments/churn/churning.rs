//! The room of the churn experiment: who comes and goes, and what everyone ought to know.

use std::time::Duration;

use samestep_netem::Rng;
use samestep_session::{
    LeaveReason, PeerId, PlayerId, Presence, RejoinSecret, Session, SessionConfig, SessionEvent,
    Silence, State,
};
use samestep_sim::NodeId;

use crate::link;
use crate::parameters::Case;
use crate::testroom::TestRoom;

/// A change of the member list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Join,
    Return,
    Leave,
    /// Gone without a word: the time-out has passed.
    Vanish,
    /// The slot is freed.
    Forget,
}

/// A room and its coming and going. What it found is public once it has been lived.
pub(super) struct ChurningRoom {
    /// Every change with the world time at which everyone agreed on it, and how long that took.
    pub(super) settled: Vec<(Change, Duration, Duration)>,
    /// Players who returned in time and did not get their slot back.
    pub(super) slots_lost: usize,
    /// Members listed who were gone.
    pub(super) ghosts: usize,
    room: TestRoom,
    rng: Rng,
    visitors: Vec<Visitor>,
    open: Vec<Change>,
    stay: f64,
    away: f64,
    timeout: Duration,
    grace: Duration,
    end: Duration,
    /// Until when the silence of a leader that vanished may go unnoticed: nobody can agree on anything before.
    leaderless_until: Duration,
}

/// Somebody who comes and goes, always at the same node.
struct Visitor {
    node: NodeId,
    /// The time of its next action.
    turn: Duration,
    /// The time at which it vanished without a goodbye, if it did.
    vanished: Option<Duration>,
    me: Option<PeerId>,
    players: Vec<PlayerId>,
    secret: Option<RejoinSecret>,
    /// The peer and players that it must get back, as it returned in time.
    owed: Option<(PeerId, Vec<PlayerId>)>,
}

/// A change that not everyone has agreed on yet.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The kind of change.
    pub(super) kind: Kind,
    /// The node that changes.
    pub(super) node: NodeId,
    /// The peer that changes; a newcomer has no id yet.
    peer: Option<PeerId>,
    since: Duration,
}

/// A member listed for this much longer than allowed is a ghost.
const BOUND: Duration = Duration::from_secs(2);
/// A change on which nobody agrees for this long ends the measurement.
const HOPELESS: Duration = Duration::from_secs(30);

impl ChurningRoom {
    /// Everyone gathers.
    pub(super) fn open(case: &Case, seed: u64) -> Result<ChurningRoom, String> {
        let path = link::path(case)?;
        let (timeout, grace) = (case.millis("timeout_ms"), case.seconds("grace_s"));
        let players = case.number("players") as usize;
        let mut config = SessionConfig::new("samestep-lab", 1);
        // Slots that are kept count towards the capacity; whoever comes without proof takes another.
        config.capacity = 8 * players;
        config.rejoin_grace = grace;
        config.protocol.timeout = timeout;
        config.protocol.keep_alive = timeout / 5;
        config.silence = Silence::Drop { after: timeout };
        let mut room = TestRoom::open(seed, case, &path.up, config, Vec::new());
        room.gather(players, None)?;
        let mut churning = ChurningRoom {
            settled: Vec::new(),
            slots_lost: 0,
            ghosts: 0,
            rng: Rng::stream(seed, 77),
            visitors: Vec::new(),
            open: Vec::new(),
            stay: case.number("stay_s"),
            away: case.number("away_s"),
            timeout,
            grace,
            end: room.testbed.now() + case.seconds("seconds"),
            leaderless_until: Duration::ZERO,
            room,
        };
        for node in churning.room.testbed.nodes() {
            let turn = churning.later(churning.stay);
            churning.visitors.push(Visitor {
                node,
                turn,
                vanished: None,
                me: None,
                players: Vec::new(),
                secret: None,
                owed: None,
            });
            churning.note_slots(usize::from(node.0));
        }
        if !churning.room.is_mesh() {
            churning.visitors[0].turn = Duration::MAX;
        }
        Ok(churning)
    }

    fn later(&mut self, mean_s: f64) -> Duration {
        self.room.testbed.now() + Duration::from_secs_f64(mean_s * self.rng.exponential())
    }

    /// Lets time pass, then waits until nothing is left to agree on.
    pub(super) fn live(mut self) -> Result<ChurningRoom, String> {
        while self.room.testbed.now() < self.end {
            let turn = self.visitors.iter().map(|visitor| visitor.turn).min();
            self.run_until(turn.unwrap_or(self.end).min(self.end))?;
            let now = self.room.testbed.now();
            for index in 0..self.visitors.len() {
                if self.visitors[index].turn <= now && now < self.end {
                    self.take_turn(index);
                }
            }
        }
        let quiet = self.timeout + self.grace + HOPELESS;
        self.run_until(self.room.testbed.now() + quiet)?;
        self.count_ghosts();
        Ok(self)
    }

    fn run_until(&mut self, until: Duration) -> Result<(), String> {
        loop {
            let now = self.room.testbed.now();
            let due = self.open.iter().map(|change| change.since);
            let next = due.filter(|since| *since > now).min();
            let pause = next.unwrap_or(until).min(until);
            while let Some((at, node, event)) = self.room.next(pause)? {
                let may_settle = self.on_event(node, &event)?;
                if may_settle {
                    self.settle(at)?;
                }
            }
            self.settle(self.room.testbed.now())?;
            if self.room.testbed.now() >= until {
                return Ok(());
            }
        }
    }

    /// Whether the event may settle something.
    fn on_event(&mut self, node: NodeId, event: &SessionEvent) -> Result<bool, String> {
        let index = usize::from(node.0);
        match event {
            SessionEvent::InSync => {
                self.note_slots(index);
                let visitor = &mut self.visitors[index];
                if let Some((peer, players)) = visitor.owed.take()
                    && (visitor.me != Some(peer) || visitor.players != players)
                {
                    self.slots_lost += 1;
                }
                // Nobody has to forget somebody who is back.
                visitor.vanished = None;
                let back = visitor.me;
                self.open
                    .retain(|change| change.kind != Kind::Forget || change.peer != back);
            }
            SessionEvent::Left { reason } if !matches!(reason, LeaveReason::Left(_)) => {
                // Whom it asked has vanished meanwhile: it asks somebody else.
                let asking = |change: &Change| {
                    change.node == node && matches!(change.kind, Kind::Join | Kind::Return)
                };
                if !self.open.iter().any(asking) {
                    return Err(format!(
                        "{node} left at {:?}: {reason}",
                        self.room.testbed.now()
                    ));
                }
                self.open.retain(|change| !asking(change));
                self.keep_slot_again(index);
                if !self.come_back(index) {
                    self.visitors[index].turn = self.later(1.0);
                }
            }
            _ => {}
        }
        use SessionEvent::*;
        Ok(matches!(
            event,
            Joined { .. }
                | InSync
                | PeerJoined { .. }
                | PeerInSync { .. }
                | PeerAway { .. }
                | PeerLeft { .. }
                | Frozen
        ))
    }

    /// Whoever got its slot back and lost its way in before it was in sync vanishes a second time: the slot is kept from then on.
    fn keep_slot_again(&mut self, index: usize) {
        let (node, me) = (self.visitors[index].node, self.visitors[index].me);
        let is_back = |me| {
            self.present()
                .any(|session| is_present_or_loading(session, me))
        };
        if me.is_some_and(is_back) {
            let due = self.room.testbed.now() + self.timeout + self.grace;
            for change in &mut self.open {
                if change.kind == Kind::Forget && change.node == node && change.peer == me {
                    change.since = change.since.max(due);
                }
            }
        }
    }

    /// Remembers who a visitor is, to compare when it returns.
    fn note_slots(&mut self, index: usize) {
        let Some(session) = self.room.testbed.machine(self.visitors[index].node) else {
            return;
        };
        let me = session.me();
        let players = session
            .room()
            .players()
            .iter()
            .filter(|player| Some(player.peer) == me)
            .map(|player| player.id)
            .collect();
        let secret = session.rejoin_secret();
        let visitor = &mut self.visitors[index];
        visitor.me = me;
        visitor.players = players;
        visitor.secret = Some(secret);
    }

    fn session(&self, index: usize) -> Option<&Session> {
        let session = self.room.testbed.machine(self.visitors[index].node)?;
        (!matches!(session.state(), State::Left(_))).then_some(session)
    }

    /// The sessions that are in sync.
    fn present(&self) -> impl Iterator<Item = &Session> {
        let sessions = (0..self.visitors.len()).filter_map(|index| self.session(index));
        sessions.filter(|session| *session.state() == State::InSync)
    }

    /// A mesh that loses half of its members at once stands still, as it should; that is not what is measured.
    fn can_spare(&self) -> bool {
        let now = self.room.testbed.now();
        let silent = self.visitors.iter().filter(|visitor| {
            let noticed = visitor.vanished.map(|at| at + self.timeout + BOUND);
            noticed.is_some_and(|noticed| now < noticed)
        });
        let there = self.present().count();
        there > 2 && 2 * (there - 1) > there + silent.count()
    }

    fn take_turn(&mut self, index: usize) {
        let now = self.room.testbed.now();
        let node = self.visitors[index].node;
        let Some(session) = self.session(index) else {
            let stays = if self.come_back(index) {
                self.stay
            } else {
                1.0
            };
            self.visitors[index].turn = self.later(stays);
            return;
        };
        // Somebody who is just coming, or whom the others cannot spare, tries again later.
        if *session.state() != State::InSync || !self.can_spare() {
            self.visitors[index].turn = self.later(1.0);
            return;
        }
        let peer = self.visitors[index].me;
        self.open.retain(|change| {
            change.node != node || !matches!(change.kind, Kind::Join | Kind::Return)
        });
        if self.rng.chance(0.3) {
            self.room
                .testbed
                .with(node, |now, session| session.leave(now, "good night"));
            self.change(Kind::Leave, node, peer, now);
            self.visitors[index].secret = None;
            self.visitors[index].vanished = None;
        } else {
            if self.session(index).is_some_and(Session::is_authority) {
                self.leaderless_until = now + self.timeout;
                for change in &mut self.open {
                    change.since = change.since.max(self.leaderless_until);
                }
            }
            self.room.testbed.kill(node);
            self.visitors[index].vanished = Some(now);
            self.change(Kind::Vanish, node, peer, now + self.timeout);
            self.change(Kind::Forget, node, peer, now + self.timeout + self.grace);
        }
        self.visitors[index].turn = self.later(self.away).max(now + Duration::from_secs(3));
    }

    /// Starts the program again; one in five does not remember who it was. False if there is nobody in the mesh to ask.
    fn come_back(&mut self, index: usize) -> bool {
        let now = self.room.testbed.now();
        let forgetful = self.rng.chance(0.2);
        let members: Vec<NodeId> = (0..self.visitors.len())
            .filter(|index| {
                let session = self.session(*index);
                session.is_some_and(|session| *session.state() == State::InSync)
            })
            .map(|index| self.visitors[index].node)
            .collect();
        let through = match self.room.is_mesh() {
            true if members.is_empty() => return false,
            true => members[self.rng.range(0..members.len() as u64) as usize],
            false => NodeId(0),
        };
        let visitor = &mut self.visitors[index];
        let node = visitor.node;
        if forgetful {
            (visitor.secret, visitor.owed) = (None, None);
        }
        let secret = visitor.secret;
        // The slot is kept from when the absence was noticed, so at least this long; a leader that has just vanished
        // may keep the return waiting.
        let in_time = visitor
            .vanished
            .is_some_and(|at| now + BOUND < at + self.grace);
        let kind = match secret.is_some() && in_time {
            true => Kind::Return,
            false => Kind::Join,
        };
        if kind == Kind::Return {
            visitor.owed = visitor.me.map(|me| (me, visitor.players.clone()));
            self.open
                .retain(|change| change.node != node || change.kind != Kind::Vanish);
        }
        self.room.join(node, through, secret);
        self.change(kind, node, None, now);
        true
    }

    fn change(&mut self, kind: Kind, node: NodeId, peer: Option<PeerId>, since: Duration) {
        self.open.push(Change {
            kind,
            node,
            peer,
            since: since.max(self.leaderless_until),
        });
    }

    /// Notes the changes everyone has agreed on by now.
    fn settle(&mut self, now: Duration) -> Result<(), String> {
        let due: Vec<Change> = self
            .open
            .iter()
            .filter(|change| change.since <= now)
            .cloned()
            .collect();
        for change in due {
            let took = now - change.since;
            if !self.is_agreed(&change) {
                if took > HOPELESS {
                    return Err(format!(
                        "not everyone agrees on {change:?} at {:.3} s: {}",
                        now.as_secs_f64(),
                        self.opinions(&change)
                    ));
                }
                continue;
            }
            let gone = matches!(change.kind, Kind::Leave | Kind::Vanish | Kind::Forget);
            self.ghosts += usize::from(gone && took > BOUND);
            self.settled.push((change.clone(), now, took));
            self.open
                .retain(|open| open.node != change.node || open.kind != change.kind);
        }
        Ok(())
    }

    fn is_agreed(&self, change: &Change) -> bool {
        let lists = |session: &Session, peer| session.room().peer(peer).is_some();
        match (change.kind, change.peer) {
            (Kind::Join | Kind::Return, _) => {
                let index = usize::from(change.node.0);
                let session = self.session(index);
                let me = session
                    .filter(|session| *session.state() == State::InSync)
                    .and_then(Session::me);
                me.is_some_and(|me| self.present().all(|session| is_present(session, me)))
            }
            (Kind::Vanish, Some(peer)) => self.present().all(|session| !is_present(session, peer)),
            (Kind::Leave | Kind::Forget, Some(peer)) => {
                self.present().all(|session| !lists(session, peer))
            }
            (_, None) => true,
        }
    }

    /// The view of each member on a change, in words.
    fn opinions(&self, change: &Change) -> String {
        let opinion = |index: usize| {
            let session = self.session(index)?;
            let listed = change.peer.and_then(|peer| session.room().peer(peer));
            let presence = listed.map(|peer| peer.presence);
            let (me, state, at) = (session.me(), session.state(), session.log_index());
            Some(format!("{me:?} {state:?} at {at}: {presence:?}; "))
        };
        (0..self.visitors.len()).filter_map(opinion).collect()
    }

    /// Counts members that are listed at the end but are gone.
    fn count_ghosts(&mut self) {
        let there: Vec<PeerId> = self.present().filter_map(Session::me).collect();
        let ghosts = self
            .present()
            .flat_map(|session| session.room().peers())
            .filter(|peer| !there.contains(&peer.id))
            .count();
        self.ghosts += ghosts + self.open.len();
    }
}

/// Whether a session's room lists somebody as taking part.
fn is_present(session: &Session, peer: PeerId) -> bool {
    let listed = session.room().peer(peer);
    listed.is_some_and(|peer| peer.presence == Presence::InSync)
}

/// Whether a session's room lists somebody as taking part, or as about to.
fn is_present_or_loading(session: &Session, peer: PeerId) -> bool {
    let listed = session.room().peer(peer);
    listed.is_some_and(|peer| peer.presence != Presence::Away)
}
