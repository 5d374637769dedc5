//! A room whose players press keys at random moments and look at every picture that their programs draw.

use std::collections::VecDeque;
use std::time::Duration;

use samestep_netem::Path;
use samestep_session::{JoinTo, Match, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed, is_in_sync};
use samestep_sync::{
    Entities, Events, Input, Inputs, Live, Model, ModelConfig, PlayerId, Record, Replicate, Rng,
    RoomKind, Simulation, SmoothConfig,
};
use samestep_wire::Wire;

use crate::stats::Samples;
use crate::testmatch::PATIENCE;

/// The least time between two keys of a player, in which what the first moves comes to rest, and the most beyond that.
const BETWEEN_KEYS: (Duration, Duration) = (Duration::from_millis(400), Duration::from_millis(400));
/// How far a picture has to show a walker on its way to be another picture; authorities send places to 1/100.
const NOTICED: f32 = 0.02;

/// A key that was pressed, or none.
#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Key(bool);

impl Input for Key {
    fn predict(&self) -> Self {
        Key(false)
    }

    fn merge(&mut self, late: &Self) -> bool {
        self.0 |= late.0;
        true
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Walker {
    #[field(owner)]
    owner: PlayerId,
    /// As many steps as keys were pressed.
    #[field(range(0.0, 10_000.0), precision = 0.01, blend = "linear")]
    place: f32,
}

/// Every key moves its player's walker by a step.
#[derive(Clone, Default, Replicate)]
struct Walk {
    walkers: Entities<Walker>,
}

impl Simulation for Walk {
    type Input = Key;
    type Event = ();
    const NAME: &'static str = "walk";

    fn step(&mut self, inputs: &Inputs<'_, Key>, _: &mut Events<()>) {
        for (player, key) in inputs.iter() {
            let is_own = |walker: &Walker| walker.owner == player;
            if let Some((_, walker)) = self.walkers.iter_mut().find(|(_, walker)| is_own(walker)) {
                walker.place += f32::from(u8::from(key.0));
                continue;
            }
            self.walkers.insert(Walker {
                owner: player,
                place: 0.0,
            });
        }
    }
}

type Program = Match<Live<Walk>, Box<dyn Model + Send>>;

/// The settings of a room.
pub struct RoomConfig {
    pub room: RoomKind,
    pub model: ModelConfig,
    pub players: usize,
    /// From each program to the one that opens the room, and back; in a mesh between any two.
    pub path: Path,
    /// Time between two pictures.
    pub frame: Duration,
}

/// What players felt.
#[derive(Debug, Default)]
pub struct Felt {
    /// From a player's keys to its own first pictures that show them.
    pub own_ms: Samples,
    /// From others' keys to a player's first pictures that show them.
    pub others_ms: Samples,
    /// What the model's status says when a key is pressed.
    pub told_ms: Samples,
    pub stalled_ticks: u64,
    pub deepest: u64,
    /// The judged seconds of all players.
    pub player_seconds: f64,
}

/// A player, its program and its screen.
struct Screen {
    node: NodeId,
    player: PlayerId,
    /// Whether the player is a guest, or in a mesh: a host has no way to go.
    judged: bool,
    /// When it draws its first picture.
    phase: Duration,
    next_key: Duration,
    keys: u32,
    /// For each player, the times of the keys that no picture here shows yet.
    awaited: Vec<VecDeque<(Duration, u32)>>,
    stalled_before: u64,
}

/// A room in virtual time.
pub struct Room {
    testbed: Testbed<Program>,
    config: RoomConfig,
    screens: Vec<Screen>,
    rng: Rng,
    /// When the next round of pictures begins.
    next: Duration,
    judging: bool,
    felt: Felt,
}

impl Room {
    /// Opens a room, lets everyone join and begins the game.
    pub fn open(config: RoomConfig, seed: u64) -> Result<Room, String> {
        let mut testbed: Testbed<Program> = Testbed::new(seed);
        testbed.set_links(config.path.up.clone());
        let server = usize::from(config.room == RoomKind::Dedicated);
        let programs = config.players + server;
        for at in 0..programs {
            let node = testbed.add_node();
            let door = JoinTo::new(testbed.address(NodeId(0)));
            let role = match (config.room, at) {
                (RoomKind::Mesh, 0) => Role::Introducer,
                (RoomKind::Mesh, _) => Role::Peer(door),
                (_, 0) => Role::Host,
                (_, _) => Role::Client(door),
            };
            let mut session = SessionConfig::new(Walk::NAME, 1);
            if at >= server {
                session = session.player("somebody");
            }
            let model = config.model.build().map_err(|error| error.to_string())?;
            let mut world = Live::without_recording(Walk::default());
            world.smooth(SmoothConfig::default());
            testbed.start(node, |now, seed| {
                Match::new(now, session, role, seed, model, world)
                    .expect("settings that make sense")
            });
            testbed.run_for(Duration::from_millis(50));
        }
        wait(&mut testbed, |program| {
            is_in_sync(program.session(), programs)
        })?;
        testbed.run_for(Duration::from_secs(1));
        testbed.with(NodeId(0), |now, program| program.session_mut().start(now));
        let everyone = config.players;
        wait(&mut testbed, |program| {
            program.world().state().walkers.iter().count() == everyone
        })?;
        let mut rng = Rng::new(seed);
        let now = testbed.now();
        let mut screens = Vec::new();
        for node in testbed.nodes() {
            let program = testbed.machine(node).ok_or("a program ended")?;
            if let Some(player) = program.session().my_players().next() {
                screens.push(Screen {
                    node,
                    player,
                    judged: config.room != RoomKind::Hosted || node != NodeId(0),
                    phase: config.frame.mul_f32(rng.unit()),
                    next_key: now + between_keys(&mut rng),
                    keys: 0,
                    awaited: vec![VecDeque::new(); config.players],
                    stalled_before: 0,
                });
            }
        }
        screens.sort_by_key(|screen| screen.phase);
        Ok(Room {
            testbed,
            config,
            screens,
            rng,
            next: now,
            judging: false,
            felt: Felt::default(),
        })
    }

    /// Keys pressed from now on count.
    pub fn judge(&mut self) {
        self.judging = true;
        for screen in &mut self.screens {
            let program = self.testbed.machine(screen.node);
            screen.stalled_before = program.map_or(0, |program| program.status().stalled_ticks);
        }
    }

    /// Everyone plays for this long.
    pub fn play_for(&mut self, time: Duration) -> Result<(), String> {
        let end = self.next + time;
        while self.next < end {
            for at in 0..self.screens.len() {
                let due = self.next + self.screens[at].phase;
                self.testbed.run_for(due.saturating_sub(self.testbed.now()));
                self.frame(at)?;
            }
            self.next += self.config.frame;
        }
        if self.judging {
            let judged = self.screens.iter().filter(|screen| screen.judged).count();
            self.felt.player_seconds += time.as_secs_f64() * judged as f64;
        }
        Ok(())
    }

    /// A program draws a picture, then looks at its keys.
    fn frame(&mut self, at: usize) -> Result<(), String> {
        let (now, screen) = (self.testbed.now(), &mut self.screens[at]);
        let player = screen.player;
        let pressed = (screen.next_key <= now).then_some(screen.next_key);
        let mut places = vec![0.0; screen.awaited.len()];
        let drawn = self.testbed.with(screen.node, |now, program| {
            for (_, walker) in program.shown(now).walkers.iter() {
                if let Some(place) = places.get_mut(usize::from(walker.owner.0)) {
                    *place = walker.place;
                }
            }
            let key = Key(pressed.is_some());
            let taken = program.set_controls(now, player, &key);
            taken.then(|| program.status().delay)
        });
        let told = drawn.flatten().ok_or("a player could not play")?;
        for (of, awaited) in screen.awaited.iter_mut().enumerate() {
            let samples = match of == usize::from(player.0) {
                true => &mut self.felt.own_ms,
                false => &mut self.felt.others_ms,
            };
            while let Some((pressed, key)) = awaited.front().copied()
                && places[of] > key as f32 + NOTICED
            {
                awaited.pop_front();
                samples.push((now - pressed).as_secs_f64() * 1e3);
            }
        }
        let Some(pressed) = pressed else {
            return Ok(());
        };
        let key = screen.keys;
        screen.keys += 1;
        screen.next_key = pressed + between_keys(&mut self.rng);
        if !self.judging {
            return Ok(());
        }
        if screen.judged {
            self.felt.told_ms.push(told.as_secs_f64() * 1e3);
        }
        for screen in self.screens.iter_mut().filter(|screen| screen.judged) {
            screen.awaited[usize::from(player.0)].push_back((pressed, key));
        }
        Ok(())
    }

    /// What was felt.
    pub fn felt(mut self) -> Felt {
        for screen in self.screens.iter().filter(|screen| screen.judged) {
            if let Some(program) = self.testbed.machine(screen.node) {
                let status = program.status();
                self.felt.stalled_ticks += status.stalled_ticks - screen.stalled_before;
                self.felt.deepest = self.felt.deepest.max(status.max_rollback_depth);
            }
        }
        self.felt
    }
}

fn between_keys(rng: &mut Rng) -> Duration {
    BETWEEN_KEYS.0 + BETWEEN_KEYS.1.mul_f32(rng.unit())
}

/// Waits until something is so in every program.
fn wait(testbed: &mut Testbed<Program>, is_so: impl Fn(&Program) -> bool) -> Result<(), String> {
    let end = testbed.now() + PATIENCE;
    while testbed.now() < end {
        let mut programs = testbed.nodes().filter_map(|node| testbed.machine(node));
        if programs.all(&is_so) {
            return Ok(());
        }
        testbed.run_for(Duration::from_millis(100));
    }
    Err("the players did not come together".into())
}
