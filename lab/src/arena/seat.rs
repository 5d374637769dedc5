//! One program of a match, and what it notes about it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_evaluation::{COLOURS, Evaluation};
use samestep_proto::{Machine, Transmit};
use samestep_session::{
    Match, MatchEvent, PeerId, PlayerId, Presence, Role, SessionConfig, SessionEvent, State,
};
use samestep_sync::{DesyncReport, EntityId, Live, Lockstep, Model, Rollback, Status, Tick, World};

use super::contest::Contest;
use super::notes::Notes;
use super::told::Told;
use super::watched::{Watched, sum_of};
use super::{ArenaConfig, TICK};
use crate::busy::Stepping;
use crate::samples::Counts;

/// A model that the lab plays with.
pub trait ArenaModel: Model {
    /// With the settings of a match.
    fn of(config: &ArenaConfig) -> Self;
}

impl ArenaModel for Lockstep {
    fn of(config: &ArenaConfig) -> Self {
        Lockstep::new(config.lockstep.clone()).expect("lengths within their domains")
    }
}

impl ArenaModel for Rollback {
    fn of(config: &ArenaConfig) -> Self {
        Rollback::new(config.rollback.clone()).expect("lengths within their domains")
    }
}

/// What the lab wants to know of what happens.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A state differs.
    Desync(DesyncReport),
    /// It is the same again.
    Repaired {
        /// Whose.
        peer: PeerId,
        /// What was transferred for it.
        bytes: u64,
    },
    /// Somebody is not in the room any more.
    Left(String),
}

impl Notice {
    /// What an event says that is worth knowing.
    pub fn of(event: MatchEvent) -> Option<Notice> {
        match event {
            MatchEvent::Desync(report) => Some(Notice::Desync(report)),
            MatchEvent::Repaired { peer, bytes, .. } => Some(Notice::Repaired {
                peer,
                bytes: bytes as u64,
            }),
            MatchEvent::Session(SessionEvent::Left { reason }) => {
                Some(Notice::Left(reason.to_string()))
            }
            MatchEvent::NotLoaded(error) => Some(Notice::Left(error.to_string())),
            _ => None,
        }
    }
}

/// A command of this program's player.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// What it is.
    pub sum: u64,
    /// When it was given.
    pub at: Duration,
    /// The tick that was shown then.
    pub shown: Tick,
}

/// A player and its program.
pub struct Seat<G: Contest, M> {
    game: Match<Watched<G>, M>,
    /// The commands that are not executed yet.
    given: VecDeque<Given>,
    /// When a command was given, and how long after that it was executed.
    delays: Vec<(Duration, Duration)>,
    /// The newest tick, and when it was reached.
    stepped: (Tick, Duration),
    longest_pause: Duration,
    /// What is worth knowing where few play.
    notes: Option<Notes>,
    desyncs: u64,
    notices: VecDeque<Notice>,
}

impl<G: Contest, M: ArenaModel> Seat<G, M> {
    /// Opens or joins a room with a game that is as `game`. The seed is this program's own.
    pub fn new(
        now: Duration,
        config: &ArenaConfig,
        session: SessionConfig,
        role: Role,
        seed: [u8; 32],
        game: G,
    ) -> Seat<G, M> {
        // Everyone would record the same.
        let mut world = Watched::new(Live::without_recording(game));
        if config.closely {
            world.draw_pictures();
        }
        let game = Match::new(now, session, role, seed, M::of(config), world);
        Seat {
            game: game.expect("settings that make sense"),
            given: VecDeque::new(),
            delays: Vec::new(),
            stepped: (Tick(0), now),
            longest_pause: Duration::ZERO,
            notes: config.closely.then(Notes::default),
            desyncs: 0,
            notices: VecDeque::new(),
        }
    }

    /// Begins the game.
    pub fn start(&mut self, now: Duration) {
        self.game.session_mut().start(now);
    }

    /// Whether it is in sync in a room in which that many are.
    pub fn is_in_sync(&self, members: usize) -> bool {
        let session = self.game.session();
        let peers = session.room().peers().iter();
        *session.state() == State::InSync
            && peers
                .filter(|peer| peer.presence == Presence::InSync)
                .count()
                == members
    }

    /// Whether its simulation has begun.
    pub fn is_playing(&self) -> bool {
        *self.game.session().state() == State::InSync && self.status().tick > Tick(0)
    }

    /// How the model gets on.
    pub fn status(&self) -> Status {
        self.game.status()
    }

    /// The game as it is here.
    pub fn state(&self) -> &G {
        self.game.world().state()
    }

    /// What the game has said happened.
    pub fn told(&self) -> &Told<G::Event> {
        &self.game.world().told
    }

    /// Who this is to the room.
    pub fn peer(&self) -> Option<PeerId> {
        self.game.session().me()
    }

    /// Who plays here.
    pub fn player(&self) -> Option<PlayerId> {
        self.game.session().my_players().next()
    }

    /// The player acts.
    pub fn give(&mut self, now: Duration, player: PlayerId, command: &G::Input) {
        if self.game.input(now, player, command) {
            let bytes = samestep_wire::encode_to_vec(command).unwrap_or_default();
            self.given.push_back(Given {
                sum: sum_of(&bytes),
                at: now,
                shown: self.game.world().farthest,
            });
        }
    }

    /// When each command was given, on this program's clock, and how long after that it was executed here.
    pub fn delays(&self) -> &[(Duration, Duration)] {
        &self.delays
    }

    /// Longest time without a step that was longer than a tick, by how much, since last forgotten.
    pub fn longest_pause(&self) -> Duration {
        self.longest_pause
    }

    /// Counts pauses anew.
    pub fn forget_pauses(&mut self, now: Duration) {
        self.longest_pause = Duration::ZERO;
        self.stepped.1 = self.stepped.1.max(now.saturating_sub(TICK));
    }

    /// What was noted where few play.
    pub fn notes(&self) -> Option<&Notes> {
        self.notes.as_ref()
    }

    /// Notes everything anew.
    pub fn forget_notes(&mut self, now: Duration) {
        self.forget_pauses(now);
        self.notes = self.notes.as_ref().map(|_| Notes::default());
    }

    /// Check values of the state since last asked.
    pub fn take_looks(&mut self) -> Vec<(Tick, u64)> {
        std::mem::take(&mut self.game.world_mut().looks)
    }

    /// Bytes of the state that was taken over when joining.
    pub fn adopted_bytes(&self) -> u64 {
        self.game.world().adopted_bytes
    }

    /// Bytes of the whole state, as it is transferred.
    pub fn state_bytes(&mut self) -> usize {
        self.game.world_mut().checkpoint().len()
    }

    /// What this program has counted so far; views are not its business.
    pub fn counts(&self) -> Counts {
        let world = self.game.world();
        Counts {
            ticks_lagged: self.status().stalled_ticks,
            desyncs: self.desyncs,
            rollbacks: world.backs,
            resimulated: world.again,
            ..Counts::of(self.game.session())
        }
    }

    /// Takes note of what the world did until now.
    fn look(&mut self, now: Duration) {
        let me = self.player();
        let world = self.game.world_mut();
        world.hear();
        for executed in world.executed.drain(..) {
            if Some(executed.player) != me {
                if let Some(notes) = &mut self.notes {
                    notes.on_others(now, executed);
                }
                continue;
            }
            let is_it = |given: &Given| given.sum == executed.sum;
            let at = self.given.iter().position(is_it);
            let given = at.and_then(|at| self.given.remove(at));
            if let Some(given) = given {
                self.delays.push((given.at, now.saturating_sub(given.at)));
            }
            if let Some(notes) = &mut self.notes {
                notes.on_own(now, executed, given);
            }
        }
        let depths = std::mem::take(&mut world.depths);
        let correction = world.take_correction();
        let (mut pause, mut moved) = (None, None);
        if world.farthest > self.stepped.0 {
            let between = now.saturating_sub(self.stepped.1);
            (pause, moved) = (Some(between), world.draw(now));
            let longer = between.saturating_sub(TICK);
            self.longest_pause = self.longest_pause.max(longer);
            self.stepped = (world.farthest, now);
        }
        if let Some(notes) = &mut self.notes {
            notes.on_call(pause, &depths, correction);
            notes.drawn.extend(moved);
        }
        self.hear();
    }

    fn hear(&mut self) {
        while let Some(event) = self.game.poll_event() {
            if let MatchEvent::Desync(report) = &event {
                self.desyncs += u64::from(Some(report.peer) == self.peer());
            }
            self.notices.extend(Notice::of(event));
        }
    }
}

impl<M> Seat<Evaluation, M> {
    /// Changes the state behind the rules' back; says which entity and which field of it were changed first.
    pub fn damage(&mut self, everything: bool) -> (EntityId, &'static str)
    where
        M: ArenaModel,
    {
        let state = self.game.world_mut().state_mut();
        let count = state.entities().len() as u16;
        if everything {
            for number in 0..count {
                if let Some(entity) = state.entity_mut(number) {
                    entity.position.0 += 0.5;
                }
            }
            return (EntityId::fixed(0), "position");
        }
        let number = count / 3;
        if let Some(entity) = state.entity_mut(number) {
            entity.colour = (entity.colour + 1) % COLOURS;
        }
        (EntityId::fixed(u32::from(number)), "colour")
    }
}

impl<G: Contest, M: ArenaModel> Machine for Seat<G, M> {
    type Event = Notice;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        self.game.handle_datagram(now, from, datagram);
        self.look(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.game.handle_timeout(now);
        self.look(now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        self.game.poll_transmit(now, buf)
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        self.game.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn max_packet(&self) -> usize {
        Machine::max_packet(&self.game)
    }
}

impl<G: Contest, M: ArenaModel> Stepping for Seat<G, M> {
    fn steps(&self) -> u64 {
        self.game.world().steps
    }
}
