//! The notes about one program: its events, its pictures, and the packets that the opener sends.

use std::time::Duration;

use samestep_proto::Transmit;
use samestep_session::{Match, MatchEvent, SessionEvent};
use samestep_sync::{Live, Model, Status, Tick};

use super::packet_log::PacketLog;
use super::world::{EventOf, ShownWorld};
use crate::testmatch::{
    EventLog, Playable, PlayedWorld, Positions, Program, ProgramObserver, TICK,
};

/// Notes of one program.
pub struct ViewNotes<W: ShownWorld> {
    /// The time at which the game began, by the common clock.
    began: Option<Duration>,
    events: EventLog<EventOf<W>>,
    /// The notes of the opener.
    opener: Option<OpenerNotes>,
    /// The newest tick that is known.
    reached: Tick,
    probe: Option<Probe<<W as PlayedWorld>::Game>>,
}

/// Called after every call, with the time of the program's own clock, the game and how the model gets on.
type Probe<G> = Box<dyn FnMut(Duration, &Live<G>, &Status)>;

/// The notes about the opener: the true states, and the packets it sends.
#[derive(Default)]
struct OpenerNotes {
    states: Vec<(Tick, Positions)>,
    spare: Vec<Positions>,
    sent: PacketLog,
}

impl<W: ShownWorld> ViewNotes<W> {
    /// Notes of the opener, or of another program.
    pub fn new(opens: bool) -> ViewNotes<W> {
        ViewNotes {
            began: None,
            events: EventLog::default(),
            opener: opens.then(OpenerNotes::default),
            reached: Tick(0),
            probe: None,
        }
    }
}

impl<W: ShownWorld> ProgramObserver<W> for ViewNotes<W> {
    fn on_call<M: Model>(&mut self, now: Duration, game: &mut Match<W, M>) {
        while let Some(occurrence) = game.world_mut().poll_event() {
            self.events.push(occurrence);
        }
        if let Some(probe) = &mut self.probe {
            probe(now, game.world().live(), &game.status());
        }
        let tick = game.status().tick;
        if tick <= self.reached {
            return;
        }
        self.reached = tick;
        W::on_tick(game, now);
        if let Some(opener) = &mut self.opener {
            let mut positions = opener.spare.pop().unwrap_or_default();
            game.world().state().positions(&mut positions);
            opener.states.push((tick, positions));
        }
    }

    fn on_event<M: Model>(&mut self, _: &Match<W, M>, event: &MatchEvent) {
        if let MatchEvent::Session(SessionEvent::Starting { at }) = event {
            self.began = Some(*at);
        }
    }

    fn on_transmit(&mut self, now: Duration, transmit: &Transmit) {
        if let Some(opener) = &mut self.opener {
            opener.sent.push(now, transmit.to, transmit.len);
        }
    }
}

impl<W: ShownWorld, M: Model> Program<W, M, ViewNotes<W>> {
    /// Has the game looked at after everything that happens to it, from here on.
    pub fn set_probe(&mut self, probe: impl FnMut(Duration, &Live<W::Game>, &Status) + 'static) {
        self.observer.probe = Some(Box::new(probe));
    }

    /// The events of the game.
    pub fn events(&self) -> &EventLog<EventOf<W>> {
        &self.observer.events
    }

    /// The packets that the opener has sent since they were last forgotten; empty for others.
    pub fn sent(&self) -> &PacketLog {
        const NOTHING: &PacketLog = &PacketLog::new();
        let opener = self.observer.opener.as_ref();
        opener.map_or(NOTHING, |opener| &opener.sent)
    }

    /// Counts everything anew.
    pub fn forget(&mut self) {
        if self.work().is_some() {
            self.count_work();
        }
        if let Some(opener) = &mut self.observer.opener {
            opener.sent = PacketLog::default();
        }
    }

    /// Draws a picture: which tick of what others do it shows, by the common clock, and how the model gets on then.
    pub fn draw(&mut self, now: Duration, shown: &mut Positions) -> (f64, Status) {
        let began = self.observer.began.unwrap_or_default();
        let time = self.game.session().time(now).unwrap_or_default();
        W::shown(&mut self.game, now).positions(shown);
        let status = self.game.status();
        let time =
            time.as_secs_f64() - began.as_secs_f64() - status.interpolation_delay.as_secs_f64();
        (time / TICK.as_secs_f64(), status)
    }

    /// The positions of all entities in the ticks since the last call, on the opener.
    pub fn take_states(&mut self) -> Vec<(Tick, Positions)> {
        let opener = self.observer.opener.as_mut();
        opener.map_or_else(Vec::new, |opener| std::mem::take(&mut opener.states))
    }

    /// Gives memory back.
    pub fn reuse(&mut self, mut positions: Positions) {
        positions.clear();
        if let Some(opener) = &mut self.observer.opener {
            opener.spare.push(positions);
        }
    }
}
