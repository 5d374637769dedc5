//! The server that the source document decides for, by the published algorithm: all AI is the server's, which puts late messages where they belong and tells of its present.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::Path;
use samestep_sync::movement::{Body, Motion, Obstacles};
use samestep_sync::{Rng, random};

use super::super::update_window::field::{Field, WIDTH};
use super::super::update_window::theirs::{FromServer, Stamp, TheirConfig, overhear};
use super::super::update_window::walker::Errand;
use super::super::update_window::{STUMPS, begin_places};
use super::look::{Look, Sighting};
use super::played::MatchLength;
use super::track::{Sight, Track};

/// The settings of a match.
#[derive(Clone, Debug)]
pub(super) struct TheirServerConfig {
    pub players: usize,
    pub ai: u8,
    /// Between each player's program and the server, but for its latency.
    pub path: Path,
    /// The least and the most latency of a player's way to the server, one way.
    pub latency: (Duration, Duration),
    pub length: MatchLength,
}

/// Frames of a second, by which an observer counts.
const FRAMES: f64 = 60.0;
/// How exactly an observer who counts in frames can tell where a character is, in cells: a character walks 0.08 in a frame.
const EXACTLY: f64 = 0.06;

/// Plays a match: what observers learn in it. Players and AI characters wander by the same script.
pub(super) fn play(config: &TheirServerConfig, seed: u64) -> Result<Vec<Look>, String> {
    let MatchLength {
        settling,
        track,
        windows,
    } = config.length;
    let characters = config.players + usize::from(config.ai);
    let match_config = TheirConfig {
        field: STUMPS.into(),
        places: begin_places(STUMPS, characters),
        players: config.players,
        errand: Errand::Wander,
        path: config.path.clone(),
        window: Duration::from_millis(100),
        sync_error: Duration::from_millis(6),
        stamp: Stamp::Sent,
        alpha: 40.0,
        beta: 5.0,
        threshold: 0.05 * WIDTH,
        teleport: 1.5 * WIDTH,
        obstacles: Obstacles::Push,
        length: settling + track * windows as u32,
        settling,
    };
    let mut rng = Rng::new(random::hash(seed, 2, 0x41de));
    let (least, most) = config.latency;
    let paths: Vec<Path> = (0..config.players)
        .map(|at| {
            let mut path = config.path.clone();
            let latency = least + (most - least).mul_f32(rng.unit());
            (path.up.latency, path.down.latency) = (latency, latency);
            // The first player's program is the server.
            if at == 0 { Path::default() } else { path }
        })
        .collect();
    let mut observers = Observers::new(config.players);
    let mut window = None;
    for read in overhear(&match_config, &paths, seed)? {
        while read.at >= settling + track * window.map_or(0, |at: usize| at as u32 + 1) {
            observers.take_looks(window);
            window = Some(window.map_or(0, |at| at + 1));
        }
        if read.client > 0 {
            observers.note(read.at, read.client, &read.message);
        }
    }
    observers.take_looks(window);
    Ok(observers.looks)
}

/// The programs of all players but the hosting one.
struct Observers {
    field: Field,
    players: usize,
    /// What each knows of every character.
    tracks: Vec<BTreeMap<usize, Track<TheirSight>>>,
    looks: Vec<Look>,
}

impl Observers {
    fn new(players: usize) -> Observers {
        let tracks = (0..players).map(|_| BTreeMap::new());
        Observers {
            field: Field::of(STUMPS),
            players,
            tracks: tracks.collect(),
            looks: Vec::new(),
        }
    }

    fn note(&mut self, now: Duration, observer: usize, message: &FromServer) {
        let track = self.tracks[observer].entry(message.character).or_default();
        let sight = TheirSight {
            clock: (message.stamp.as_secs_f64() * FRAMES).round() as u32,
            body: message.body,
            force: message.force,
        };
        track.observe(now.as_secs_f64() * FRAMES, sight, &self.field);
    }

    /// Ends a while; what was learnt in it becomes looks if it counts.
    fn take_looks(&mut self, window: Option<usize>) {
        for (observer, tracks) in self.tracks.iter_mut().enumerate().skip(1) {
            let mut sightings = Vec::new();
            for (character, track) in tracks {
                let features = track.take_features();
                if *character != observer {
                    sightings.push(Sighting {
                        player: (*character < self.players).then_some(*character),
                        is_local: false,
                        features,
                    });
                }
            }
            if let Some(window) = window {
                self.looks.push(Look { window, sightings });
            }
        }
    }
}

/// A character of theirs at a frame.
#[derive(Clone, Copy, Debug)]
struct TheirSight {
    clock: u32,
    body: Body,
    force: [f32; 2],
}

impl Sight<Field> for TheirSight {
    fn clock(&self) -> u32 {
        self.clock
    }

    fn until(&self, clock: u32, field: &Field) -> TheirSight {
        let motion = field.during(1.0 / FRAMES as f32);
        let mut later = *self;
        while later.clock < clock {
            later.clock += 1;
            later.body = motion.advance(later.body, later.force);
        }
        later
    }

    fn steered_as(&self, other: &Self) -> Self {
        TheirSight {
            force: other.force,
            ..*self
        }
    }

    fn is_steered_as(&self, other: &Self) -> bool {
        self.force == other.force
    }

    fn is_where(&self, other: &Self) -> bool {
        self.distance(other) <= EXACTLY
    }

    fn distance(&self, other: &Self) -> f64 {
        let [x, y] = [0, 1].map(|axis| self.body.place[axis] - other.body.place[axis]);
        f64::from(x.hypot(y))
    }

    fn stops(&self) -> bool {
        self.force == [0.0; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean delays, in frames, of those that are seen in a look.
    fn delays(look: &Look, is_seen: impl Fn(Option<usize>) -> bool) -> Vec<f64> {
        let seen = look.sightings.iter();
        let seen = seen.filter(|sighting| is_seen(sighting.player));
        let delay = |sighting: &Sighting| {
            let features = &sighting.features;
            features.delay_sum / features.explained as f64
        };
        seen.map(delay).collect()
    }

    #[test]
    fn what_a_human_does_takes_two_ways_and_what_an_ai_character_does_one() {
        let config = TheirServerConfig {
            players: 3,
            ai: 6,
            path: Path::default(),
            latency: (Duration::from_millis(40), Duration::from_millis(60)),
            length: MatchLength {
                settling: Duration::from_secs(2),
                track: Duration::from_secs(10),
                windows: 2,
            },
        };
        let looks = play(&config, 5).unwrap();
        // Two players observe, in two whiles.
        assert_eq!(looks.len(), 4);
        for look in &looks {
            assert_eq!(look.sightings.len(), 8);
            let ai = delays(look, |player| player.is_none());
            let guest = delays(look, |player| player.is_some_and(|at| at > 0));
            let mut sorted = ai.clone();
            sorted.sort_by(f64::total_cmp);
            assert!(guest[0] > sorted[3] + 0.8, "{ai:?} {guest:?}");
        }
    }
}
