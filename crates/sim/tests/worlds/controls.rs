//! Controls and commands mean the same under every model, at any frame rate.

use crate::entrance;
use std::time::Duration;

use samestep_netem::{Jitter, LinkConfig, Loss};
use samestep_session::{Match, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    EventDelayConfig, Events, GameDelay, Input, Inputs, Live, Model, ModelConfig, ModelKind,
    PlayerId, Replicate, RoomKind, Simulation,
};
use samestep_wire::Wire;

/// Controls: a value that is held, and an edge.
#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Pad {
    held: u32,
    fire: bool,
}

impl Input for Pad {
    fn predict(&self) -> Self {
        Pad {
            fire: false,
            ..*self
        }
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.fire |= late.fire;
        true
    }
}

#[derive(Clone, Default, Replicate)]
struct Range {
    held: [u32; 4],
    shots: [u32; 4],
    /// The values held in ticks with a shot, mixed in their order.
    order: [u64; 4],
}

impl Simulation for Range {
    type Input = Pad;
    type Event = ();
    const NAME: &'static str = "range";

    fn step(&mut self, inputs: &Inputs<'_, Pad>, _: &mut Events<()>) {
        for (player, pad) in inputs.iter() {
            let place = usize::from(player.0);
            self.held[place] = pad.held;
            if pad.fire {
                self.shots[place] += 1;
                self.order[place] = mix(self.order[place], pad.held);
            }
        }
    }
}

fn mix(order: u64, held: u32) -> u64 {
    order.wrapping_mul(31).wrapping_add(u64::from(held))
}

type Game = Match<Live<Range>, Box<dyn Model + Send>>;

struct Room {
    testbed: Testbed<Game>,
}

const ME: NodeId = NodeId(2);

/// The default settings, but for a delay that would follow the network: two rooms would not have the same.
fn config_of(kind: ModelKind) -> ModelConfig {
    match kind.config() {
        ModelConfig::EventDelay(config) => ModelConfig::EventDelay(EventDelayConfig {
            delay: GameDelay::Constant(Duration::from_millis(150)),
            ..config
        }),
        config => config,
    }
}

impl Room {
    /// Three programs in a game that has begun; two of them play where there is a dedicated server.
    fn new(kind: ModelKind, room: RoomKind, latency: Duration) -> Room {
        let mut testbed = Testbed::new(5);
        testbed.set_links(LinkConfig {
            latency,
            jitter: Jitter {
                amount: Duration::from_millis(4),
                ..Jitter::default()
            },
            loss: Loss::Bernoulli(0.02),
            ..LinkConfig::default()
        });
        let nodes = [(); 3].map(|()| testbed.add_node());
        for node in nodes {
            let to = (room, entrance::door(&testbed));
            let config = SessionConfig::new("range", 1);
            let game = (
                Live::new(Range::default()),
                config_of(kind).build().unwrap(),
            );
            entrance::enter(&mut testbed, to, node, config, game);
            testbed.run_for(Duration::from_secs(1));
        }
        entrance::start(&mut testbed);
        testbed.run_for(Duration::from_secs(4));
        Room { testbed }
    }

    fn me(&self) -> PlayerId {
        let game = self.testbed.machine(ME).unwrap();
        game.session().my_players().next().expect("plays here")
    }

    fn state(&self, node: NodeId) -> &Range {
        self.testbed.machine(node).unwrap().world().state()
    }

    /// Calls `set_controls` with another value at this rate; the delays in ms until the own state shows what was set, one per frame.
    fn delays(&mut self, rate_hz: u32) -> Vec<u32> {
        let (me, begin) = (self.me(), self.testbed.now());
        let frame = Duration::from_secs(1) / rate_hz;
        let ms = |testbed: &Testbed<Game>| (testbed.now() - begin).as_millis() as u32 + 1;
        let mut delays = Vec::new();
        for count in 0..rate_hz * 6 {
            let held = ms(&self.testbed);
            let fire = false;
            let set = |now, game: &mut Game| game.set_controls(now, me, &Pad { held, fire });
            assert!(self.testbed.with(ME, set).unwrap());
            self.testbed.run_for(frame);
            let shown = self.state(ME).held[usize::from(me.0)];
            if count > rate_hz {
                delays.push(ms(&self.testbed) - shown);
            }
        }
        delays.sort_unstable();
        delays
    }
}

fn for_each_room(test: impl Fn(ModelKind, RoomKind)) {
    for kind in ModelKind::ALL {
        for room in kind.rooms {
            test(*kind, *room);
        }
    }
}

#[test]
fn own_controls_are_seen_as_soon_at_144_calls_a_second_as_at_one_a_tick() {
    for_each_room(|kind, room| {
        let p95 = |rate_hz| {
            let delays = Room::new(kind, room, Duration::from_millis(50)).delays(rate_hz);
            delays[delays.len() * 95 / 100]
        };
        let (often, once) = (p95(144), p95(60));
        assert!(
            often <= once + 17,
            "{} {room:?}: {often} ms, once a tick {once} ms",
            kind.name
        );
    });
}

#[test]
fn what_is_pressed_for_one_frame_is_seen_by_everyone_exactly_once() {
    for_each_room(|kind, room| {
        let mut range = Room::new(kind, room, Duration::from_millis(30));
        let me = range.me();
        let mut pressed = 0;
        for frame in 0..144 * 4 {
            let fire = frame % 7 == 3;
            pressed += u32::from(fire);
            let pad = Pad {
                held: frame / 5,
                fire,
            };
            let set = |now, game: &mut Game| game.set_controls(now, me, &pad);
            range.testbed.with(ME, set);
            range.testbed.run_for(Duration::from_micros(6_944));
        }
        range.testbed.run_for(Duration::from_secs(2));
        for node in range.testbed.nodes() {
            let shots = range.state(node).shots[usize::from(me.0)];
            assert_eq!(shots, pressed, "{} {room:?} at {node}", kind.name);
        }
    });
}

#[test]
fn every_command_is_done_exactly_once_and_in_order() {
    for_each_room(|kind, room| {
        let mut range = Room::new(kind, room, Duration::from_millis(30));
        let me = range.me();
        // More than can wait, in bursts: what is refused is not done.
        let (mut given, mut order) = (0, 0);
        for burst in 0..4 {
            for number in 0..300 {
                let held = burst * 1000 + number;
                let pad = Pad { held, fire: true };
                let command = |now, game: &mut Game| game.command(now, me, &pad);
                if range.testbed.with(ME, command).unwrap() {
                    given += 1;
                    order = mix(order, held);
                }
            }
            range.testbed.run_for(Duration::from_secs(1));
        }
        assert!(
            (200..1200).contains(&given),
            "{} {room:?}: {given} taken",
            kind.name
        );
        range.testbed.run_for(Duration::from_secs(10));
        for node in range.testbed.nodes() {
            let place = usize::from(me.0);
            let state = range.state(node);
            assert_eq!(
                (state.shots[place], state.order[place]),
                (given, order),
                "{} {room:?} at {node}",
                kind.name
            );
        }
    });
}
