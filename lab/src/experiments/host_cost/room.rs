//! A hosted match of Hat Hunters, and the processor time of one of its programs in every tick.

use std::time::Duration;

use samestep_catalog::hat_hunters::{HatHunters, HatHuntersConfig, Rules};
use samestep_netem::Path;
use samestep_playable::Setup;
use samestep_session::Match;
use samestep_sim::NodeId;
use samestep_sync::{Model, Rewind, RewindStats};

use super::timed::{Scheme, Spent, Timed};
use crate::testmatch::{
    MatchConfig, OPENER, Observer, ProgramObserver, Programs, TICK, TestMatch, processor_time,
    seeing_bots,
};

/// The settings of a match.
#[derive(Clone, Debug)]
pub(super) struct RoomConfig {
    pub players: u16,
    pub ai: u8,
    pub path: Path,
    /// The program whose time is measured: the host's, or that of a guest.
    pub program: NodeId,
    pub scheme: Scheme,
    pub length: Duration,
    pub settling: Duration,
}

/// The processor time of a program in a tick, by area.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct TickCost {
    pub logic: Duration,
    pub recomputing: Duration,
    /// Session, model and protocol: everything that is none of the others.
    pub network: Duration,
    pub drawing: Duration,
}

impl TickCost {
    /// All areas.
    pub fn total(&self) -> Duration {
        self.logic + self.recomputing + self.network + self.drawing
    }

    /// The smaller of each: the same work, less disturbed.
    pub fn least(&self, other: &TickCost) -> TickCost {
        TickCost {
            logic: self.logic.min(other.logic),
            recomputing: self.recomputing.min(other.recomputing),
            network: self.network.min(other.network),
            drawing: self.drawing.min(other.drawing),
        }
    }
}

/// What was measured of a match.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Tick by tick.
    pub ticks: Vec<TickCost>,
    /// What the authority has recomputed in these ticks, in states, and what the whole window in every tick would have been.
    pub recomputed: u64,
    pub whole_windows: u64,
}

/// Plays a match.
pub(super) fn play(config: &RoomConfig, seed: u64) -> Result<Measured, String> {
    let game = HatHunters::new(&HatHuntersConfig {
        seed,
        rules: Rules {
            ai: config.ai,
            stars: 20,
            rounds: 20,
            ..Rules::default()
        },
        ..HatHuntersConfig::default()
    });
    let game = game.map_err(|error| error.to_string())?;
    let setup = Setup {
        players: config.players,
        size: None,
        seed,
    };
    let observer = AreaTimer {
        program: config.program,
        before: (Spent::default(), Duration::ZERO),
        ticks: Vec::new(),
    };
    let scheme = config.scheme;
    let program = move |node: NodeId, _| {
        // Only the authority has a window to recompute.
        let scheme = if node == OPENER {
            scheme
        } else {
            Scheme::Changed
        };
        (
            Timed::new(game.clone(), scheme),
            Rewind::default(),
            DropEvents,
        )
    };
    let room = MatchConfig::hosted(config.players, config.path.clone(), 1_000_000_000);
    let mut room = TestMatch::new(room, seed, seeing_bots(setup, None), observer, program);
    room.begin(config.players.into())?;
    room.with(config.program, |_, program| program.count_work());
    room.play_until(config.settling)?;
    let before = rewound(&room);
    let settled = room.observer().ticks.len();
    room.play_until(config.length)?;
    let after = rewound(&room);
    Ok(Measured {
        ticks: room.observer().ticks[settled..].to_vec(),
        recomputed: after.recomputed - before.recomputed,
        whole_windows: after.whole_windows - before.whole_windows,
    })
}

fn rewound(room: &TestMatch<AreaTimer, Rewind>) -> RewindStats {
    room.program(OPENER).game().model().rewound()
}

/// Notes the processor time of one program once a tick, in which it draws a picture.
struct AreaTimer {
    program: NodeId,
    /// The time that the program's world and the program had spent before this tick.
    before: (Spent, Duration),
    ticks: Vec<TickCost>,
}

impl Observer for AreaTimer {
    type World = Timed<HatHunters>;
    type Program = DropEvents;
    const PERIOD: Duration = TICK;

    fn observe<M: Model>(&mut self, testbed: &mut Programs<Self, M>, _: u32) {
        testbed.with(self.program, |now, program| {
            let spent = program.game().world().spent();
            let begin = processor_time();
            if !program.game_mut().draw(now) {
                program.game_mut().world_mut().shown(now);
            }
            let drawing = processor_time().saturating_sub(begin);
            let worked = program.work().map_or(Duration::ZERO, |work| work.total());
            // What the world spends on a picture counts as drawing.
            let drawn = program.game().world().spent();
            let (spent_before, worked_before) =
                std::mem::replace(&mut self.before, (drawn, worked));
            let logic = spent.logic - spent_before.logic;
            let recomputing = spent.recomputing - spent_before.recomputing;
            let beside = spent.beside - spent_before.beside;
            let network = worked
                .saturating_sub(worked_before)
                .saturating_sub(logic + recomputing + beside);
            self.ticks.push(TickCost {
                logic,
                recomputing,
                network,
                drawing,
            });
        });
    }
}

/// Takes the events of a game, as a program would.
struct DropEvents;

impl ProgramObserver<Timed<HatHunters>> for DropEvents {
    fn on_call<M: Model>(&mut self, _: Duration, game: &mut Match<Timed<HatHunters>, M>) {
        game.world_mut().drop_events();
    }
}
