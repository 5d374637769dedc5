//! Hat Hunters under `Rewind`, in virtual time: the players are bots with the brain of an AI character, and programs note what they learn of all others.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_catalog::hat_hunters::{Bot, HatHunters};
use samestep_netem::Path;
use samestep_session::{JoinTo, Match, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed, is_in_sync};
use samestep_sync::{
    EntityId, Live, PlayerId, Replicate, Rewind, RewindConfig, Rng, Simulation, Table, Tick,
    TickInputs, World, random,
};

use super::look::{Look, Sighting};
use super::played::{MatchLength, game};
use super::track::{HunterSight, Track};
use crate::testmatch::{OPENER, PATIENCE, TICK};

/// The settings of a match under `Rewind`.
#[derive(Clone, Debug)]
pub(super) struct RoomConfig {
    /// Whether a dedicated server opens the room; else the first player's program does.
    pub is_dedicated: bool,
    pub players: usize,
    pub ai: u8,
    pub model: RewindConfig,
    /// Between each player's program and the server, but for its latency.
    pub path: Path,
    /// The least and the most latency of a player's way to the server, one way.
    pub latency: (Duration, Duration),
    /// Whether the hosting player observes; else all others do.
    pub host_observes: bool,
    pub length: MatchLength,
}

type Program = Match<Live<HatHunters>, Rewind>;

/// No state that a client keeps is older than this.
const KEPT_TICKS: u64 = 60;
/// How often programs are looked at in a tick.
const LOOKS_PER_TICK: u32 = 4;

/// Plays a match: what observers learn in it.
pub(super) fn play(config: &RoomConfig, seed: u64) -> Result<Vec<Look>, String> {
    let mut room = Room::open(config, seed)?;
    room.play_for(config.length.settling);
    room.take_looks(None);
    for window in 0..config.length.windows {
        room.play_for(config.length.track);
        room.take_looks(Some(window));
    }
    room.finish()
}

/// A room in which a match is played.
struct Room {
    testbed: Testbed<Program>,
    /// A player at each program that has one.
    seats: Vec<Seat>,
    observers: Vec<Watching>,
    looks: Vec<Look>,
    next: Duration,
}

struct Seat {
    node: NodeId,
    player: PlayerId,
    bot: Bot,
    /// The tick in which the bot decided last.
    decided: Option<Tick>,
}

/// A program that notes what it learns of all characters but its own.
struct Watching {
    node: NodeId,
    own: PlayerId,
    tracks: BTreeMap<EntityId, Track<HunterSight>>,
    /// The tick of the newest state that the authority has told, and how often the program was corrected by then.
    told: (Tick, u64),
    /// Where told states are read from.
    table: Table,
    read: Live<HatHunters>,
}

impl Room {
    fn open(config: &RoomConfig, seed: u64) -> Result<Room, String> {
        let mut testbed: Testbed<Program> = Testbed::new(seed);
        let mut rng = Rng::new(random::hash(seed, 0, 0x41de));
        let game = game(config.ai, seed)?;
        let server = usize::from(config.is_dedicated);
        let programs = config.players + server;
        for at in 0..programs {
            let node = testbed.add_node();
            let mut session = SessionConfig::new(HatHunters::NAME, 1);
            if at >= server {
                session = session.player("somebody");
            }
            let role = match node {
                OPENER => Role::Host,
                _ => Role::Client(JoinTo::new(testbed.address(OPENER))),
            };
            let (least, most) = config.latency;
            let latency = least + (most - least).mul_f32(rng.unit());
            let mut path = config.path.clone();
            (path.up.latency, path.down.latency) = (latency, latency);
            testbed.set_link(node, OPENER, path.up);
            testbed.set_link(OPENER, node, path.down);
            let model = Rewind::new(config.model.clone()).map_err(|error| error.to_string())?;
            let world = Live::without_recording(game.clone());
            testbed.start(node, |now, seed| {
                Match::new(now, session, role, seed, model, world)
                    .expect("settings that make sense")
            });
            testbed.run_for(Duration::from_millis(20));
        }
        let step = Duration::from_millis(50);
        if !testbed.wait_for_all(PATIENCE, step, |program| {
            is_in_sync(program.session(), programs)
        }) {
            return Err("the players did not come together".into());
        }
        testbed.run_for(Duration::from_secs(1));
        testbed.with(OPENER, |now, program| program.session_mut().start(now));
        let characters = config.players + usize::from(config.ai);
        if !testbed.wait_for_all(PATIENCE, step, |program| {
            program.world().state().characters().len() == characters
        }) {
            return Err("the game did not begin everywhere".into());
        }
        let mut seats = Vec::new();
        for node in testbed.nodes() {
            let program = testbed.machine(node).ok_or("a program ended")?;
            if let Some(player) = program.session().my_players().next() {
                seats.push(Seat {
                    node,
                    player,
                    bot: Bot::hiding(seed, player),
                    decided: None,
                });
            }
        }
        let observes = |seat: &&Seat| (seat.node == OPENER) == config.host_observes;
        let observers = seats.iter().filter(observes).map(|seat| Watching {
            node: seat.node,
            own: seat.player,
            tracks: BTreeMap::new(),
            told: (Tick(0), 0),
            table: Table::new(HatHunters::schema()),
            read: Live::without_recording(game.clone()),
        });
        Ok(Room {
            observers: observers.collect(),
            seats,
            looks: Vec::new(),
            next: testbed.now(),
            testbed,
        })
    }

    fn play_for(&mut self, time: Duration) {
        let end = self.next + time;
        while self.next < end {
            let wait = self.next.saturating_sub(self.testbed.now());
            self.testbed.run_for(wait);
            for seat in &mut self.seats {
                seat.act(&mut self.testbed);
            }
            for watching in &mut self.observers {
                watching.note(&mut self.testbed);
            }
            self.next += TICK / LOOKS_PER_TICK;
        }
    }

    /// Ends a while; what was learnt in it becomes looks if it counts.
    fn take_looks(&mut self, window: Option<usize>) {
        let truth = self
            .testbed
            .machine(OPENER)
            .map(|host| host.world().state());
        let Some(truth) = truth else {
            return;
        };
        for watching in &mut self.observers {
            let mut sightings = Vec::new();
            for (id, track) in &mut watching.tracks {
                let player = truth.player_of(*id);
                let features = track.take_features();
                if player == Some(watching.own) {
                    continue;
                }
                sightings.push(Sighting {
                    player: player.map(|player| usize::from(player.0)),
                    is_local: player.is_none() && watching.node == OPENER,
                    features,
                });
            }
            if let Some(window) = window {
                self.looks.push(Look { window, sightings });
            }
        }
    }

    fn finish(self) -> Result<Vec<Look>, String> {
        let truth = self
            .testbed
            .machine(OPENER)
            .ok_or("the host's program ended")?;
        match truth.world().state().round().number {
            1 => Ok(self.looks),
            _ => Err("a round ended, after which everybody is somebody else".into()),
        }
    }
}

impl Seat {
    /// The player acts by what its program shows, once a tick.
    fn act(&mut self, testbed: &mut Testbed<Program>) {
        testbed.with(self.node, |now, program| {
            let live = program.world();
            if self.decided.replace(live.tick()) == Some(live.tick()) {
                return;
            }
            let decided = self.bot.decide(live.tick(), live.state());
            if let Some(controls) = decided {
                program.input(now, self.player, &controls);
            }
        });
    }
}

impl Watching {
    fn note(&mut self, testbed: &mut Testbed<Program>) {
        testbed.with(self.node, |_, program| match self.node {
            OPENER => self.note_at_host(program),
            _ => self.note_at_client(program),
        });
    }

    /// Notes what a hosting player is shown: what its loopback client was told, or else the present of the authority.
    fn note_at_host(&mut self, program: &mut Program) {
        let (clock, tick) = (program.world().state().clock(), program.world().tick());
        let mut is_loopback = false;
        program.world_mut().with_loopback(&mut |world| {
            is_loopback = true;
            // The oldest state that a client keeps is the newest that it was told.
            let mut kept = (tick.0.saturating_sub(KEPT_TICKS)..=tick.0).map(Tick);
            let scene = world.scene();
            let mut is_kept = |tick: &Tick| scene.extract_at(*tick, &mut self.table);
            let told = kept.find(&mut is_kept);
            if let Some(told) = told.filter(|told| *told > self.told.0) {
                self.told.0 = told;
                self.note_table(told, clock);
            }
        });
        if !is_loopback && tick > self.told.0 {
            self.told.0 = tick;
            note(&mut self.tracks, program.world().state(), clock);
        }
    }

    /// Notes the newest state that the authority has told. Everything that a client knows of others follows from these.
    fn note_at_client(&mut self, program: &mut Program) {
        let status = program.status();
        let told = (status.confirmed_tick, status.corrections);
        if told == self.told {
            return;
        }
        self.told = told;
        let clock = program.world().state().clock();
        let scene = program.world_mut().scene();
        if scene.extract_at(told.0, &mut self.table) {
            self.note_table(told.0, clock);
        }
    }

    /// Notes a state that was told, which became known in a tick of the game's clock.
    fn note_table(&mut self, told: Tick, clock: u32) {
        let held = TickInputs::new();
        let read = self.read.scene().replace(told, &self.table, &held);
        if read.is_ok() {
            note(&mut self.tracks, self.read.state(), clock);
        }
    }
}

/// Notes a state that became known in a tick of the game's clock.
fn note(tracks: &mut BTreeMap<EntityId, Track<HunterSight>>, state: &HatHunters, known: u32) {
    let field = state.field();
    for (id, character) in state.characters().iter() {
        let track = tracks.entry(id).or_default();
        let sight = HunterSight::of(state.clock(), character);
        track.observe(known.into(), sight, &field);
    }
}

#[cfg(test)]
mod tests {
    use samestep_netem::{LinkConfig, Loss};

    use super::*;

    fn config(client_window: bool) -> RoomConfig {
        RoomConfig {
            is_dedicated: true,
            players: 3,
            ai: 6,
            model: RewindConfig {
                client_window,
                ..RewindConfig::default()
            },
            path: Path::symmetric(LinkConfig {
                loss: Loss::Bernoulli(0.01),
                ..LinkConfig::default()
            }),
            latency: (Duration::from_millis(40), Duration::from_millis(60)),
            host_observes: false,
            length: MatchLength {
                settling: Duration::from_secs(3),
                track: Duration::from_secs(3),
                windows: 2,
            },
        }
    }

    /// The changes of steering that became known, and how many of them were told otherwise before, of humans or of AI characters.
    fn changes(looks: &[Look], is_human: bool) -> (usize, usize) {
        let seen = looks.iter().flat_map(|look| &look.sightings);
        let of = seen.filter(|sighting| sighting.player.is_some() == is_human);
        of.fold((0, 0), |(all, late), sighting| {
            (
                all + sighting.features.changes,
                late + sighting.features.late,
            )
        })
    }

    #[test]
    fn nothing_that_clients_were_told_changes() {
        let looks = play(&config(true), 3).unwrap();
        // Each of three players sees two others and six AI characters, twice.
        assert_eq!(looks.len(), 6);
        assert!(looks.iter().all(|look| look.sightings.len() == 8));
        for is_human in [true, false] {
            let (all, late) = changes(&looks, is_human);
            assert!(all > 30, "{all}");
            assert_eq!(late, 0);
        }
    }

    #[test]
    fn an_authority_that_tells_of_its_present_changes_what_humans_do_and_nothing_else() {
        let looks = play(&config(false), 3).unwrap();
        let (all, late) = changes(&looks, true);
        assert!(late * 2 > all, "{late} of {all}");
        assert_eq!(changes(&looks, false).1, 0);
    }
}
