//! From peer to peer, the forms that the source document weighs (2.1.2) before it decides for a server: every peer tells all others of each change of steering of its characters.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_catalog::hat_hunters::{Bot, Character, HatHunters, Heading};
use samestep_netem::{Link, LinkConfig};
use samestep_sync::{EntityId, Live, PlayerId, Rng, Tick, TickInputs, World, random};

use super::super::update_window::theirs::Wire;
use super::look::{Look, Sighting};
use super::played::{MatchLength, game};
use super::track::{HunterSight, Track};
use crate::testmatch::TICK;

/// Who tells whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Every peer has its share of the AI characters, and tells all others of them and of its own.
    SpreadOverPeers,
    /// The first peer has all AI characters.
    OnePeer,
}

/// The settings of a match.
#[derive(Clone, Debug)]
pub(super) struct FormConfig {
    pub form: Form,
    pub players: usize,
    pub ai: u8,
    /// Between any two, but for its latency.
    pub link: LinkConfig,
    /// The least and the most latency between two, one way.
    pub latency: (Duration, Duration),
    pub length: MatchLength,
}

/// Bytes of a movement message: kind and time, the character's number; place, velocity and force as floats.
const MESSAGE: usize = 34;

/// A character as its message says it is at a tick.
#[derive(Clone, Copy, Debug)]
struct Movement {
    id: EntityId,
    clock: u32,
    character: Character,
}

/// Plays a match: what observers learn in it.
pub(super) fn play(config: &FormConfig, seed: u64) -> Result<Vec<Look>, String> {
    let mut playing = Playing::begin(config, seed)?;
    let ticks = |time: Duration| time.div_duration_f64(TICK) as u64;
    playing.play(ticks(config.length.settling));
    playing.take_looks(None);
    for window in 0..config.length.windows {
        playing.play(ticks(config.length.track));
        playing.take_looks(Some(window));
    }
    Ok(playing.looks)
}

/// A match that is played. All see the same game; what differs is when they learn of it.
struct Playing<'a> {
    config: &'a FormConfig,
    live: Live<HatHunters>,
    tick: u64,
    bots: Vec<Bot>,
    inputs: TickInputs,
    /// By sender and receiver.
    wires: BTreeMap<(usize, usize), Wire<Movement>>,
    /// Which program has each AI character.
    homes: BTreeMap<EntityId, usize>,
    steering: BTreeMap<EntityId, Option<Heading>>,
    /// What each program knows of the characters of others.
    known: Vec<BTreeMap<EntityId, Track<HunterSight>>>,
    looks: Vec<Look>,
}

impl<'a> Playing<'a> {
    fn begin(config: &'a FormConfig, seed: u64) -> Result<Playing<'a>, String> {
        let players: Vec<PlayerId> = (0..config.players as u16).map(PlayerId).collect();
        let mut inputs = TickInputs::new();
        inputs.set_players(&players);
        let mut rng = Rng::new(random::hash(seed, 1, 0x41de));
        let mut wires = BTreeMap::new();
        let (least, most) = config.latency;
        for a in 0..config.players {
            for b in 0..a {
                let latency = least + (most - least).mul_f32(rng.unit());
                for ends in [(a, b), (b, a)] {
                    let link = LinkConfig {
                        latency,
                        ..config.link.clone()
                    };
                    let link =
                        Link::new(link, rng.next_u64()).map_err(|error| error.to_string())?;
                    wires.insert(ends, Wire::new(link));
                }
            }
        }
        Ok(Playing {
            config,
            live: Live::without_recording(game(config.ai, seed)?),
            tick: 0,
            bots: players
                .into_iter()
                .map(|player| Bot::hiding(seed, player))
                .collect(),
            inputs,
            wires,
            homes: BTreeMap::new(),
            steering: BTreeMap::new(),
            known: vec![BTreeMap::new(); config.players],
            looks: Vec::new(),
        })
    }

    fn play(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.step();
            self.send_changes();
            self.receive();
            self.tick += 1;
        }
    }

    fn step(&mut self) {
        self.inputs.clear();
        let tick = Tick(self.tick);
        for bot in &mut self.bots {
            if let Some(controls) = bot.decide(tick, self.live.state()) {
                self.inputs.give(bot.player(), &controls);
            }
        }
        self.live.step(tick, &self.inputs);
        self.live.confirm(tick, &self.inputs);
    }

    fn now(&self) -> Duration {
        TICK * self.tick as u32
    }

    /// The program that decides what a character does.
    fn home(&self, id: EntityId) -> usize {
        let player = self.live.state().player_of(id);
        player.map_or_else(|| self.homes[&id], |player| player.0.into())
    }

    /// Tells of every character whose steering is another than in the tick before.
    fn send_changes(&mut self) {
        let state = self.live.state();
        let mut changed = Vec::new();
        for (id, character) in state.characters().iter() {
            let count = self.homes.len();
            if state.player_of(id).is_none() {
                self.homes.entry(id).or_insert(match self.config.form {
                    Form::SpreadOverPeers => count % self.config.players,
                    Form::OnePeer => 0,
                });
            }
            if self.steering.insert(id, character.steering) != Some(character.steering) {
                changed.push(Movement {
                    id,
                    clock: state.clock(),
                    character: *character,
                });
            }
        }
        for movement in changed {
            self.tell_all(self.home(movement.id), movement);
        }
    }

    fn send(&mut self, from: usize, to: usize, movement: Movement) {
        let now = self.now();
        if let Some(wire) = self.wires.get_mut(&(from, to)) {
            wire.send(now, MESSAGE, movement);
        }
    }

    fn tell_all(&mut self, from: usize, movement: Movement) {
        self.note(from, &movement);
        for to in (0..self.config.players).filter(|to| *to != from) {
            self.send(from, to, movement);
        }
    }

    /// Everyone reads its messages once a frame.
    fn receive(&mut self) {
        let now = self.now();
        let ends: Vec<(usize, usize)> = self.wires.keys().copied().collect();
        for (from, to) in ends {
            let wire = self.wires.get_mut(&(from, to));
            for movement in wire.map_or_else(Vec::new, |wire| wire.poll(now)) {
                self.note(to, &movement);
            }
        }
    }

    fn note(&mut self, observer: usize, movement: &Movement) {
        let state = self.live.state();
        let track = self.known[observer].entry(movement.id).or_default();
        let known = f64::from(state.clock());
        let sight = HunterSight::of(movement.clock, &movement.character);
        track.observe(known, sight, &state.field());
    }

    /// Ends a while; what was learnt in it becomes looks if it counts. Who has all AI characters knows them, and does not observe.
    fn take_looks(&mut self, window: Option<usize>) {
        let first = usize::from(self.config.form != Form::SpreadOverPeers);
        for observer in 0..self.config.players {
            let mut sightings = Vec::new();
            let mut tracks = std::mem::take(&mut self.known[observer]);
            for (id, track) in &mut tracks {
                let player = self.live.state().player_of(*id);
                let player = player.map(|player| usize::from(player.0));
                let features = track.take_features();
                if player != Some(observer) {
                    sightings.push(Sighting {
                        player,
                        is_local: self.home(*id) == observer,
                        features,
                    });
                }
            }
            self.known[observer] = tracks;
            if let Some(window) = window.filter(|_| observer >= first) {
                self.looks.push(Look { window, sightings });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(form: Form) -> Vec<Look> {
        let config = FormConfig {
            form,
            players: 3,
            ai: 6,
            link: LinkConfig::default(),
            latency: (Duration::from_millis(30), Duration::from_millis(90)),
            length: MatchLength {
                settling: Duration::from_secs(2),
                track: Duration::from_secs(6),
                windows: 1,
            },
        };
        play(&config, 5).unwrap()
    }

    /// The mean delays, in ticks, of those that are seen in a look.
    fn delays(look: &Look, is_seen: impl Fn(&Sighting) -> bool) -> Vec<f64> {
        let seen = look.sightings.iter().filter(|sighting| is_seen(sighting));
        let delay = |sighting: &Sighting| {
            let features = &sighting.features;
            features.delay_sum / features.explained as f64
        };
        seen.map(delay).collect()
    }

    /// The difference between the largest and the smallest.
    fn spread(values: &[f64]) -> f64 {
        let largest = values.iter().copied().fold(f64::MIN, f64::max);
        largest - values.iter().copied().fold(f64::MAX, f64::min)
    }

    #[test]
    fn ai_of_one_peer_shares_a_delay_and_ai_of_all_peers_does_not() {
        let one = looks(Form::OnePeer);
        assert_eq!(one.len(), 2);
        for look in &one {
            let ai = delays(look, |sighting| sighting.player.is_none());
            assert!(ai.len() == 6 && spread(&ai) < 0.5, "{ai:?}");
        }
        let all = looks(Form::SpreadOverPeers);
        assert_eq!(all.len(), 3);
        for look in &all {
            let own = delays(look, |sighting| sighting.is_local);
            // Its own it knows with the tick after, those of others when a message has come.
            assert!(
                own.len() == 2 && own.iter().all(|ticks| *ticks == 1.0),
                "{own:?}"
            );
            let others = delays(look, |sighting| !sighting.is_local);
            assert!(others.iter().all(|ticks| *ticks > 1.8), "{others:?}");
        }
    }
}
