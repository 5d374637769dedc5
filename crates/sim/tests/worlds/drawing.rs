//! What is shown moves with every frame, under every model and for everyone who draws.

use crate::entrance;
use std::time::Duration;

use crate::entrance::FIRST;
use samestep_netem::{Jitter, LinkConfig};
use samestep_session::{Match, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    Entities, Events, Input, Inputs, Live, Model, ModelKind, PlayerId, Record, Replicate, RoomKind,
    Simulation, SmoothConfig, Switch,
};
use samestep_wire::Wire;

#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Nothing;

impl Input for Nothing {
    fn predict(&self) -> Self {
        Nothing
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Runner {
    #[field(owner)]
    owner: PlayerId,
    #[field(range(0.0, 10000.0), precision = 0.01, blend = "linear")]
    x: f32,
}

#[derive(Clone, Default, Replicate)]
struct Track {
    runners: Entities<Runner>,
}

impl Simulation for Track {
    type Input = Nothing;
    type Event = ();
    const NAME: &'static str = "track";

    fn step(&mut self, inputs: &Inputs<'_, Nothing>, _: &mut Events<()>) {
        for &owner in inputs.players() {
            if self.runners.iter().all(|(_, runner)| runner.owner != owner) {
                self.runners.insert(Runner { owner, x: 0.0 });
            }
        }
        for (_, runner) in self.runners.iter_mut() {
            runner.x += 1.0;
        }
    }
}

type Game<M> = Match<Live<Track>, M>;
type AnyModel = Box<dyn Model + Send>;

/// Frames at 144 Hz that are looked at.
const FRAMES: u32 = 288;

struct Race<M: Model> {
    testbed: Testbed<Game<M>>,
    /// Where somebody plays, and draws.
    screens: Vec<NodeId>,
}

impl<M: Model> Race<M> {
    /// Two players, 50 ms from each other or from their server, whose game has run for a while.
    fn new(seed: u64, room: RoomKind, smooth: bool, model: impl Fn() -> M) -> Race<M> {
        let mut testbed: Testbed<Game<M>> = Testbed::new(seed);
        testbed.set_links(LinkConfig {
            latency: Duration::from_millis(25),
            jitter: Jitter {
                amount: Duration::from_millis(4),
                ..Jitter::default()
            },
            ..LinkConfig::default()
        });
        let mut screens = Vec::new();
        let programs = if room == RoomKind::Dedicated { 3 } else { 2 };
        for _ in 0..programs {
            let node = testbed.add_node();
            let to = (room, entrance::door(&testbed));
            if room != RoomKind::Dedicated || node != FIRST {
                screens.push(node);
            }
            let mut world = Live::new(Track::default());
            match smooth {
                true => world.smooth(SmoothConfig::default()),
                false => world.stop_smoothing(),
            }
            let config = SessionConfig::new("track", 1);
            entrance::enter(&mut testbed, to, node, config, (world, model()));
            testbed.run_for(Duration::from_secs(1));
        }
        entrance::start(&mut testbed);
        testbed.run_for(Duration::from_secs(3));
        Race { testbed, screens }
    }

    /// On each screen, the frames in which a runner stands still or goes back: the player's own, and the other's.
    fn still_frames(&mut self) -> Vec<[u32; 2]> {
        let mut still = vec![[0; 2]; self.screens.len()];
        let mut before = vec![[0.0; 2]; self.screens.len()];
        for _ in 0..FRAMES {
            self.testbed.run_for(Duration::from_micros(6_944));
            for (at, screen) in self.screens.iter().enumerate() {
                let draw = |now, game: &mut Game<M>| {
                    let me = game.session().my_players().next().expect("who draws plays");
                    let shown = game.shown(now).runners.iter();
                    let (own, other): (Vec<_>, Vec<_>) =
                        shown.partition(|(_, runner)| runner.owner == me);
                    [own[0].1.x, other[0].1.x]
                };
                let shown = self.testbed.with(*screen, draw).expect("it runs");
                for which in 0..2 {
                    still[at][which] += u32::from(shown[which] <= before[at][which]);
                }
                before[at] = shown;
            }
        }
        still
    }
}

fn assert_moves(still: &[[u32; 2]], what: &str) {
    let most = still.iter().flatten().max().unwrap();
    assert!(
        *most <= FRAMES / 50,
        "{what}: {still:?} of {FRAMES} frames stand still"
    );
}

#[test]
fn nobody_stands_still_between_ticks() {
    for kind in ModelKind::ALL {
        for room in kind.rooms {
            let model = || -> AnyModel { kind.config().build().unwrap() };
            let still = Race::new(3, *room, true, model).still_frames();
            assert_moves(&still, &format!("{} {room:?}", kind.name));
        }
    }
}

#[test]
fn nobody_stands_still_after_a_change_of_model() {
    let choices: Vec<_> = ModelKind::ALL.iter().map(ModelKind::config).collect();
    let model = || Switch::new(choices.clone()).unwrap();
    let mut race = Race::new(4, RoomKind::Hosted, true, model);
    for choice in [1, 2, 3, 0] {
        let changed = race.testbed.with(FIRST, |now, game| {
            let time = game.session().time(now).expect("a host knows the time");
            game.model_mut().to(time, choice)
        });
        assert_eq!(changed, Some(true));
        race.testbed.run_for(Duration::from_secs(3));
        let still = race.still_frames();
        assert_moves(&still, choices[choice].kind().name);
    }
}

#[test]
fn who_turns_it_off_sees_ticks() {
    for name in ["rollback", "state-sync"] {
        let kind = ModelKind::named(name).unwrap();
        let model = || -> AnyModel { kind.config().build().unwrap() };
        let still = Race::new(5, RoomKind::Hosted, false, model).still_frames();
        // Five frames of twelve show a new tick.
        for [own, _] in still {
            assert!(own.abs_diff(FRAMES * 7 / 12) <= 5, "{name}: {own}");
        }
    }
}
