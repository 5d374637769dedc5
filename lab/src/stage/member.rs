//! One program of the room.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{Machine, Transmit};
use samestep_session::{Match, MatchEvent, PlayerId, Presence, SessionEvent, State};
use samestep_sync::{Live, Model, Status, Tick};

use super::ledger::Ledger;
use super::truth::Places;
use super::work::Work;
use crate::arena::{Notice, Placed, TICK, Told};

/// A player and its program.
pub struct Member<G: Placed, M: Model> {
    game: Match<Live<G>, M>,
    /// When the game began, by the common clock.
    began: Option<Duration>,
    told: Told<G::Event>,
    notices: VecDeque<Notice>,
    /// What only the opener notes.
    host: Option<Books>,
    /// The newest tick that is known.
    reached: Tick,
    /// How much work it has, if that is counted.
    work: Option<Work>,
    watch: Option<Watch<G>>,
}

/// Told after every call, by the program's own clock: the game and how the model gets on.
type Watch<G> = Box<dyn FnMut(Duration, &Live<G>, &Status)>;

/// What is noted of the opener: what is true, and what it sends.
#[derive(Default)]
struct Books {
    states: Vec<(Tick, Places)>,
    spare: Vec<Places>,
    sent: Ledger,
}

impl<G: Placed, M: Model> Member<G, M> {
    /// A program with such a game; the opener keeps books.
    pub fn new(game: Match<Live<G>, M>, opens: bool) -> Member<G, M> {
        Member {
            game,
            began: None,
            told: Told::default(),
            notices: VecDeque::new(),
            host: opens.then(Books::default),
            reached: Tick(0),
            work: opens.then(Work::default),
            watch: None,
        }
    }

    /// Has somebody look at the game after everything that happens to it, from here on.
    pub fn set_watch(&mut self, watch: impl FnMut(Duration, &Live<G>, &Status) + 'static) {
        self.watch = Some(Box::new(watch));
    }

    /// The game.
    pub fn game(&self) -> &Match<Live<G>, M> {
        &self.game
    }

    /// The game, to do something with it.
    pub fn game_mut(&mut self) -> &mut Match<Live<G>, M> {
        &mut self.game
    }

    /// Begins the game.
    pub fn start(&mut self, now: Duration) {
        self.game.session_mut().start(now);
    }

    /// Whether it is in sync in a room in which that many are.
    pub fn is_in_sync(&self, members: usize) -> bool {
        let session = self.game.session();
        let peers = session.room().peers().iter();
        let in_sync = peers.filter(|peer| peer.presence == Presence::InSync);
        *session.state() == State::InSync && in_sync.count() == members
    }

    /// Whether its simulation has begun.
    pub fn is_playing(&self) -> bool {
        *self.game.session().state() == State::InSync && self.status().tick > Tick(0)
    }

    /// How the model gets on.
    pub fn status(&self) -> Status {
        self.game.status()
    }

    /// Who plays here.
    pub fn player(&self) -> Option<PlayerId> {
        self.game.session().my_players().next()
    }

    /// The player acts.
    pub fn give(&mut self, now: Duration, player: PlayerId, input: &G::Input) -> bool {
        self.game.input(now, player, input)
    }

    /// What the game has said happened.
    pub fn told(&self) -> &Told<G::Event> {
        &self.told
    }

    /// What the opener has sent since last forgotten; nothing of others.
    pub fn sent(&self) -> &Ledger {
        const NOTHING: &Ledger = &Ledger::new();
        self.host.as_ref().map_or(NOTHING, |books| &books.sent)
    }

    /// Has its work counted from here on; the opener's is anyway.
    pub fn count_work(&mut self) {
        self.work = Some(Work::default());
    }

    /// How much work it had since last forgotten, if that is counted.
    pub fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    /// Counts everything anew.
    pub fn forget(&mut self) {
        self.work = self.work.as_ref().map(|_| Work::default());
        if let Some(books) = &mut self.host {
            books.sent = Ledger::default();
        }
    }

    /// Draws a picture: which tick of what others do it shows, by the common clock, and how the model gets on then.
    pub fn draw(&mut self, now: Duration, shown: &mut Places) -> (f64, Status) {
        let began = self.began.unwrap_or_default();
        let time = self.game.session().time(now).unwrap_or_default();
        self.game.shown(now).places(shown);
        let status = self.game.status();
        let time =
            time.as_secs_f64() - began.as_secs_f64() - status.interpolation_delay.as_secs_f64();
        (time / TICK.as_secs_f64(), status)
    }

    /// Where everything was in the ticks since last asked, on the opener.
    pub fn take_states(&mut self) -> Vec<(Tick, Places)> {
        let books = self.host.as_mut();
        books.map_or_else(Vec::new, |books| std::mem::take(&mut books.states))
    }

    /// Gives memory back.
    pub fn reuse(&mut self, mut places: Places) {
        places.clear();
        if let Some(books) = &mut self.host {
            books.spare.push(places);
        }
    }

    fn look(&mut self, now: Duration) {
        while let Some(told) = self.game.world_mut().poll_event() {
            self.told.hear(told);
        }
        while let Some(event) = self.game.poll_event() {
            if let MatchEvent::Session(SessionEvent::Starting { at }) = &event {
                self.began = Some(*at);
            }
            self.notices.extend(Notice::of(event));
        }
        if let Some(watch) = &mut self.watch {
            watch(now, self.game.world(), &self.game.status());
        }
        let tick = self.game.status().tick;
        if tick <= self.reached {
            return;
        }
        self.reached = tick;
        if let Some(books) = &mut self.host {
            let mut places = books.spare.pop().unwrap_or_default();
            self.game.world().state().places(&mut places);
            books.states.push((tick, places));
        }
    }
}

impl<G: Placed, M: Model> Machine for Member<G, M> {
    type Event = Notice;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        let game = &mut self.game;
        match &mut self.work {
            Some(work) => work.hear(|| game.handle_datagram(now, from, datagram)),
            None => game.handle_datagram(now, from, datagram),
        }
        self.look(now);
    }

    fn handle_timeout(&mut self, now: Duration) {
        let game = &mut self.game;
        match &mut self.work {
            Some(work) => {
                let before = game.status().tick;
                work.pass(|| {
                    game.handle_timeout(now);
                    game.status().tick.since(before)
                });
            }
            None => game.handle_timeout(now),
        }
        self.look(now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        let game = &mut self.game;
        let transmit = match &mut self.work {
            Some(work) => work.send(|| game.poll_transmit(now, buf)),
            None => game.poll_transmit(now, buf),
        }?;
        if let Some(books) = &mut self.host {
            books.sent.push(now, transmit.to, transmit.len);
        }
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
