//! One program of a match: a player, its machine, and what watches both.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{Machine, Transmit};
use samestep_session::{Match, MatchEvent, PeerId, PlayerId, SessionEvent, State};
use samestep_sim::is_in_sync;
use samestep_sync::{DesyncReport, Live, Model, ModelEvent, Simulation, Status, Tick, World};

use super::busy::Stepping;
use super::work::Work;

/// The world of a program.
pub trait PlayedWorld: World {
    /// The game in it.
    type Game: Simulation;

    /// The game as it is.
    fn state(&self) -> &Self::Game;

    /// Steps so far, for worlds whose steps cost time.
    fn steps(&self) -> u64 {
        0
    }

    /// A player of a match in this world acts. False if it may not now.
    fn give<M: Model>(
        game: &mut Match<Self, M>,
        now: Duration,
        player: PlayerId,
        input: &<Self::Game as Simulation>::Input,
    ) -> bool
    where
        Self: Sized,
    {
        game.input(now, player, input)
    }
}

impl<G: Simulation> PlayedWorld for Live<G> {
    type Game = G;

    fn state(&self) -> &G {
        Live::state(self)
    }
}

/// Watches one program. Times are those of the program's own clock.
pub trait ProgramObserver<W: PlayedWorld> {
    /// The program was called.
    fn on_call<M: Model>(&mut self, now: Duration, game: &mut Match<W, M>);

    /// Its match reported an event.
    fn on_event<M: Model>(&mut self, _game: &Match<W, M>, _event: &MatchEvent) {}

    /// Its player acted.
    fn on_input(&mut self, _now: Duration, _world: &W, _input: &<W::Game as Simulation>::Input) {}

    /// It sent a packet.
    fn on_transmit(&mut self, _now: Duration, _transmit: &Transmit) {}
}

/// The events of a match that the lab records.
#[derive(Clone, Debug)]
pub enum Notice {
    /// A state differs.
    Desync(DesyncReport),
    /// A state that differed has been repaired.
    Repaired {
        /// The peer whose state it is.
        peer: PeerId,
        /// The bytes that were transferred for it.
        bytes: u64,
    },
    /// Somebody is not in the room any more.
    Left(String),
}

impl Notice {
    /// The notice of an event, if it is recorded.
    fn of(event: MatchEvent) -> Option<Notice> {
        match event {
            MatchEvent::Model(ModelEvent::Desync(report)) => Some(Notice::Desync(report)),
            MatchEvent::Model(ModelEvent::Repaired { peer, bytes, .. }) => Some(Notice::Repaired {
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

/// A player's program.
pub struct Program<W, M, O> {
    pub(crate) game: Match<W, M>,
    pub(crate) observer: O,
    notices: VecDeque<Notice>,
    /// Processor time, if that is counted.
    work: Option<Work>,
}

impl<W: PlayedWorld, M: Model, O: ProgramObserver<W>> Program<W, M, O> {
    /// A program that plays a match; the opener's work is counted.
    pub fn new(game: Match<W, M>, observer: O, opens: bool) -> Self {
        Program {
            game,
            observer,
            notices: VecDeque::new(),
            work: opens.then(Work::default),
        }
    }

    /// The match.
    pub fn game(&self) -> &Match<W, M> {
        &self.game
    }

    /// The match, to do something with it.
    pub fn game_mut(&mut self) -> &mut Match<W, M> {
        &mut self.game
    }

    /// The game as it is here.
    pub fn state(&self) -> &W::Game {
        self.game.world().state()
    }

    /// How the model gets on.
    pub fn status(&self) -> Status {
        self.game.status()
    }

    /// Whether it is in sync in a room in which that many are.
    pub fn is_in_sync(&self, members: usize) -> bool {
        is_in_sync(self.game.session(), members)
    }

    /// Whether its simulation has begun.
    pub fn is_playing(&self) -> bool {
        *self.game.session().state() == State::InSync && self.status().tick > Tick(0)
    }

    /// The id of this program in its room.
    pub fn peer(&self) -> Option<PeerId> {
        self.game.session().me()
    }

    /// The player of this program.
    pub fn player(&self) -> Option<PlayerId> {
        self.game.session().my_players().next()
    }

    /// The player acts.
    pub fn give(
        &mut self,
        now: Duration,
        player: PlayerId,
        input: &<W::Game as Simulation>::Input,
    ) {
        if W::give(&mut self.game, now, player, input) {
            self.observer.on_input(now, self.game.world(), input);
        }
    }

    /// Counts its work anew from here on.
    pub fn count_work(&mut self) {
        self.work = Some(Work::default());
    }

    /// How much work it had since counting began, if that is counted.
    pub fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    fn observe(&mut self, now: Duration) {
        self.observer.on_call(now, &mut self.game);
        while let Some(event) = self.game.poll_event() {
            self.observer.on_event(&self.game, &event);
            self.notices.extend(Notice::of(event));
        }
    }
}

impl<W: PlayedWorld, M: Model, O: ProgramObserver<W>> Machine for Program<W, M, O> {
    type Event = Notice;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        let game = &mut self.game;
        Work::count(&mut self.work, || game.handle_datagram(now, from, datagram));
        self.observe(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        let game = &mut self.game;
        Work::count_steps(&mut self.work, || {
            let before = game.status().tick;
            game.handle_timeout(now);
            game.status().tick.since(before)
        });
        self.observe(now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        let game = &mut self.game;
        let transmit = Work::count(&mut self.work, || game.poll_transmit(now, buf))?;
        self.observer.on_transmit(now, &transmit);
        Some(transmit)
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

impl<W: PlayedWorld, M: Model, O: ProgramObserver<W>> Stepping for Program<W, M, O> {
    fn steps(&self) -> u64 {
        self.game.world().steps()
    }
}
