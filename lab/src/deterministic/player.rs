//! The notes about one program: when its inputs are executed, how long it stalls.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use samestep_catalog::evaluation::{COLOURS, Evaluation};
use samestep_session::{Match, MatchEvent};
use samestep_sync::{EntityId, Model, ModelEvent, Tick, World};
use samestep_wire::encode_to_vec;

use super::instrumented::{Instrumented, sum_of};
use super::notes::Notes;
use crate::samples::Counts;
use crate::testmatch::{EventLog, Playable, Program, ProgramObserver, TICK};

/// An input of this program's player.
#[derive(Clone, Copy, Debug)]
pub struct GivenInput {
    /// Tells it apart from others.
    pub sum: u64,
    /// The time at which it was given.
    pub at: Duration,
    /// The tick that was shown then.
    pub shown: Tick,
}

/// Notes of one program, by its own clock.
pub struct PlayerNotes {
    /// The inputs that are not executed yet.
    given: VecDeque<GivenInput>,
    /// The time of each input, and the delay until it was executed.
    delays: Vec<(Duration, Duration)>,
    /// The newest tick, and when it was reached.
    stepped: (Tick, Duration),
    longest_pause: Duration,
    /// The detailed notes, if few play.
    details: Option<Notes>,
    desyncs: u64,
}

impl PlayerNotes {
    /// Notes of a program that begins now.
    pub fn new(now: Duration, detailed: bool) -> PlayerNotes {
        PlayerNotes {
            given: VecDeque::new(),
            delays: Vec::new(),
            stepped: (Tick(0), now),
            longest_pause: Duration::ZERO,
            details: detailed.then(Notes::default),
            desyncs: 0,
        }
    }
}

impl<G: Playable> ProgramObserver<Instrumented<G>> for PlayerNotes {
    fn on_call<M: Model>(&mut self, now: Duration, game: &mut Match<Instrumented<G>, M>) {
        let me = game.session().my_players().next();
        let world = game.world_mut();
        world.poll_events();
        for executed in world.executed.drain(..) {
            if Some(executed.player) != me {
                if let Some(notes) = &mut self.details {
                    notes.on_others(now, executed);
                }
                continue;
            }
            let is_it = |given: &GivenInput| given.sum == executed.sum;
            let at = self.given.iter().position(is_it);
            let given = at.and_then(|at| self.given.remove(at));
            if let Some(given) = given {
                self.delays.push((given.at, now.saturating_sub(given.at)));
            }
            if let Some(notes) = &mut self.details {
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
        if let Some(notes) = &mut self.details {
            notes.on_call(pause, &depths, correction);
            notes.drawn.extend(moved);
        }
    }

    fn on_event<M: Model>(&mut self, game: &Match<Instrumented<G>, M>, event: &MatchEvent) {
        if let MatchEvent::Model(ModelEvent::Desync(report)) = event {
            self.desyncs += u64::from(Some(report.peer) == game.session().me());
        }
    }

    fn on_input(&mut self, now: Duration, world: &Instrumented<G>, input: &G::Input) {
        let bytes = encode_to_vec(input).unwrap_or_default();
        self.given.push_back(GivenInput {
            sum: sum_of(&bytes),
            at: now,
            shown: world.farthest,
        });
    }
}

impl<G: Playable, M: Model> Program<Instrumented<G>, M, PlayerNotes> {
    /// The events of the game.
    pub fn events(&self) -> &EventLog<G::Event> {
        &self.game.world().events
    }

    /// The time of each input on this program's clock, and the delay until it was executed here.
    pub fn delays(&self) -> &[(Duration, Duration)] {
        &self.observer.delays
    }

    /// Longest time without a step that was longer than a tick, by how much, since last forgotten.
    pub fn longest_pause(&self) -> Duration {
        self.observer.longest_pause
    }

    /// Counts pauses anew.
    pub fn forget_pauses(&mut self, now: Duration) {
        let notes = &mut self.observer;
        notes.longest_pause = Duration::ZERO;
        notes.stepped.1 = notes.stepped.1.max(now.saturating_sub(TICK));
    }

    /// The detailed notes, if they are taken.
    pub fn notes(&self) -> Option<&Notes> {
        self.observer.details.as_ref()
    }

    /// Notes everything anew.
    pub fn forget_notes(&mut self, now: Duration) {
        self.forget_pauses(now);
        let details = &mut self.observer.details;
        *details = details.as_ref().map(|_| Notes::default());
    }

    /// Checksums of the state since last asked.
    pub fn take_checksums(&mut self) -> Vec<(Tick, u64)> {
        std::mem::take(&mut self.game.world_mut().checksums)
    }

    /// Bytes of the state that was taken over when joining.
    pub fn adopted_bytes(&self) -> u64 {
        self.game.world().adopted_bytes
    }

    /// Bytes of the whole state, as it is transferred.
    pub fn state_bytes(&mut self) -> usize {
        self.game.world_mut().checkpoint().len()
    }

    /// The counters of this program so far, without views.
    pub fn counts(&self) -> Counts {
        let world = self.game.world();
        Counts {
            ticks_lagged: self.status().stalled_ticks,
            desyncs: self.observer.desyncs,
            rollbacks: world.rollbacks,
            resimulated: world.resimulated,
            ..Counts::of(self.game.session())
        }
    }
}

impl<M: Model> Program<Instrumented<Evaluation>, M, PlayerNotes> {
    /// Keeps the positions at every tick from now on.
    pub fn keep_positions(&mut self) {
        self.game.world_mut().positions = Some(BTreeMap::new());
    }

    /// The first entity that is elsewhere than in another program at a tick, if both keep positions.
    pub fn first_displaced(&self, other: &Self, tick: Tick) -> Option<EntityId> {
        let positions =
            |program: &Self| Some(program.game.world().positions.as_ref()?.get(&tick)?.clone());
        let (here, there) = (positions(self)?, positions(other)?);
        let displaced = here.iter().zip(&there).find(|(here, there)| here != there);
        displaced.map(|(here, _)| here.0)
    }

    /// Changes the state behind the rules' back; says which field was changed, and of which entity if it is one.
    pub fn damage(&mut self, everything: bool) -> (Option<EntityId>, &'static str) {
        let state = self.game.world_mut().state_mut();
        let count = state.entities().len() as u16;
        if everything {
            for number in 0..count {
                if let Some(entity) = state.entity_mut(number) {
                    entity.position.0 += 0.5;
                }
            }
            return (None, "position");
        }
        let number = count / 3;
        if let Some(entity) = state.entity_mut(number) {
            entity.colour = (entity.colour + 1) % COLOURS;
        }
        (Some(EntityId::fixed(u32::from(number))), "colour")
    }
}
