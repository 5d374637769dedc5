//! The same tries under `EventDelay`, in a mesh of two programs with its own clock.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_session::{JoinTo, Match, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed, is_in_sync};
use samestep_sync::{
    EventDelay, EventDelayConfig, EventStage, Events, GameDelay, Input, Inputs, Live, PlayerId,
    Replicate, Rng, Simulation,
};
use samestep_wire::Wire;

use super::scenario::{BALL_FROM, BALL_SPEED, CAST, LENGTH, Outcome, RADIUS, SPEED, Try};

const TICKS: u32 = 60;
/// The players come together within this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the programs play before anything counts.
const SETTLING: Duration = Duration::from_secs(10);
/// Events are read this often.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Places are in thousandths of a unit.
fn thousandths(units: f64) -> i32 {
    (units * 1000.0).round() as i32
}

#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Act {
    /// A try begins, with the walker there.
    place: Option<i32>,
    walk: bool,
    throw: bool,
}

impl Input for Act {
    fn predict(&self) -> Self {
        Act {
            place: None,
            throw: false,
            ..*self
        }
    }
}

/// Something happened in a try.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
struct Happened {
    which: u32,
    what: What,
    place: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
enum What {
    Thrown,
    Hit,
    Missed,
}

#[derive(Clone, Default, Replicate)]
struct Arena {
    which: u32,
    place: i32,
    /// Ticks since the ball was thrown, and one; 0 before.
    ball: u32,
    judged: bool,
}

impl Simulation for Arena {
    type Input = Act;
    type Event = Happened;
    const NAME: &'static str = "fireball";
    const TICKS_PER_SECOND: u32 = TICKS;

    fn step(&mut self, inputs: &Inputs<'_, Act>, events: &mut Events<Happened>) {
        let mut throws = false;
        for (_, act) in inputs.iter() {
            if let Some(place) = act.place {
                *self = Arena {
                    which: self.which + 1,
                    place,
                    ..Arena::default()
                };
            }
            if act.walk {
                self.place += thousandths(SPEED / f64::from(TICKS));
            }
            throws |= act.throw;
        }
        let happened = |arena: &Arena, what| Happened {
            which: arena.which,
            what,
            place: arena.place,
        };
        if throws && self.ball == 0 {
            self.ball = 1;
            events.emit(happened(self, What::Thrown));
        } else if self.ball > 0 {
            self.ball += 1;
        }
        let cast = (CAST * f64::from(TICKS)) as u32;
        let Some(flown) = self.ball.checked_sub(cast + 1).filter(|_| !self.judged) else {
            return;
        };
        let step = i64::from(thousandths(BALL_SPEED / f64::from(TICKS)));
        let y = i64::from(flown) * step - i64::from(thousandths(BALL_FROM));
        let (x, radius) = (i64::from(self.place), i64::from(thousandths(RADIUS)));
        let what = match x * x + y * y <= radius * radius {
            true => What::Hit,
            false if y > radius => What::Missed,
            false => return,
        };
        self.judged = true;
        events.emit(happened(self, what));
    }
}

type Program = Match<Live<Arena>, EventDelay>;

/// What a program held of a try when it first simulated it.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    thrown: Option<Duration>,
    verdict: Option<(What, i32)>,
}

/// Plays so many tries with a constant delay.
pub fn play(delay: Duration, link: &LinkConfig, tries: u64, seed: u64) -> Result<Outcome, String> {
    let mut testbed: Testbed<Program> = Testbed::new(seed);
    testbed.set_links(link.clone());
    for at in 0..2 {
        let node = testbed.add_node();
        let role = match at {
            0 => Role::Introducer,
            _ => Role::Peer(JoinTo::new(testbed.address(NodeId(0)))),
        };
        let session = SessionConfig::new(Arena::NAME, 1).player("somebody");
        let config = EventDelayConfig {
            delay: GameDelay::Constant(delay),
            ..EventDelayConfig::default()
        };
        let model = EventDelay::new(config).map_err(|error| error.to_string())?;
        let world = Live::without_recording(Arena::default());
        testbed.start(node, |now, seed| {
            Match::new(now, session, role, seed, model, world).expect("settings that make sense")
        });
        testbed.run_for(Duration::from_millis(100));
    }
    let end = testbed.now() + PATIENCE;
    while !testbed
        .nodes()
        .filter_map(|node| testbed.machine(node))
        .all(|program| is_in_sync(program.session(), 2))
    {
        testbed.run_for(Duration::from_millis(100));
        if testbed.now() > end {
            return Err("the players did not come together".into());
        }
    }
    testbed.with(NodeId(0), |now, program| program.session_mut().start(now));
    testbed.run_for(SETTLING);
    let mut rng = Rng::new(seed);
    let mut outcome = Outcome::default();
    for which in 1..=tries {
        let it = Try::random(&mut rng);
        let held = play_one(&mut testbed, &it, which as u32)?;
        let [Some(one), Some(other)] = held.map(|held| held.verdict) else {
            return Err(format!("try {which} was not judged: {held:?}"));
        };
        outcome.tries += 1;
        outcome.hits += u64::from(other.0 == What::Hit);
        outcome.agreed += u64::from(one.0 == other.0);
        if one.0 == What::Hit && other.0 == What::Hit {
            let apart = f64::from(one.1.abs_diff(other.1)) / 1000.0;
            outcome.apart.push(apart);
        }
        if let [Some(one), Some(other)] = held.map(|held| held.thrown) {
            let apart = one.abs_diff(other).as_secs_f64() * 1e3;
            outcome.throw_apart_ms.push(apart);
        }
    }
    Ok(outcome)
}

/// Plays one try: what both programs held of it.
fn play_one(testbed: &mut Testbed<Program>, it: &Try, which: u32) -> Result<[Held; 2], String> {
    let begin = testbed.now();
    let place = Some(thousandths(it.place));
    let mut acts = vec![
        (
            begin,
            NodeId(0),
            Act {
                place,
                ..Act::default()
            },
        ),
        (
            begin + it.walk,
            NodeId(0),
            Act {
                walk: true,
                ..Act::default()
            },
        ),
        (
            begin + it.throw,
            NodeId(1),
            Act {
                throw: true,
                ..Act::default()
            },
        ),
    ];
    let mut held = [Held::default(); 2];
    while testbed.now() < begin + LENGTH {
        while acts.first().is_some_and(|act| act.0 <= testbed.now()) {
            let (_, node, act) = acts.remove(0);
            let gave = testbed.with(node, |now, program| {
                let player: Option<PlayerId> = program.session().my_players().next();
                player.is_some_and(|player| program.input(now, player, &act))
            });
            if gave != Some(true) {
                return Err("a player could not play".into());
            }
        }
        testbed.run_for(LOOK_EVERY);
        let now = testbed.now();
        for (at, held) in held.iter_mut().enumerate() {
            let events = testbed.with(NodeId(at as u16), |_, program| {
                let world = program.world_mut();
                core::iter::from_fn(|| world.poll_event()).collect::<Vec<_>>()
            });
            for event in events.unwrap_or_default() {
                let Happened {
                    which: of,
                    what,
                    place,
                } = event.event;
                if of != which || event.stage == EventStage::Cancelled {
                    continue;
                }
                match what {
                    What::Thrown => {
                        held.thrown.get_or_insert(now);
                    }
                    What::Hit | What::Missed => {
                        held.verdict.get_or_insert((what, place));
                    }
                }
            }
        }
    }
    Ok(held)
}
