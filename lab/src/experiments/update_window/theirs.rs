//! The published algorithm (Hat Hunters Online, chapters 4 and 5), as it is described, over the lab's own links.
//!
//! The server draws 60 frames a second and reads its messages once a frame, and so does every client. In each frame the server recomputes all frames of the update
//! window from its oldest state, with the stored times of the frames; a message counts in the frame that follows its time stamp, and one that is older
//! than the window is ignored. Only the force is taken from a movement message. Characters that changed are sent to all clients with place, velocity and force. A client
//! predicts its own character, and draws every character to what the newest message says by a force; it sends a message when the place that others
//! extrapolate from the last one is off by more than a threshold. All movement messages may be lost.
//!
//! What the document does not say is a setting: α, β, the threshold, the distance of a teleport. Whether a message carries the time when it was sent or when
//! its force began to act is not said either.

mod client;
mod network;
mod react;
mod state;
mod things;
mod update_window;

use std::time::Duration;

use samestep_netem::{Link, Path};
use samestep_sync::movement::{Body, DeadReckoning, Obstacles};
use samestep_sync::{Rng, random};

use super::corrections::Corrections;
use super::field::{Field, WALK};
use super::played::Played;
use super::walker::{Errand, Walker, direction};
use client::Client;
pub(in crate::experiments) use network::Wire;
pub(in crate::experiments) use react::{Reactions, react};
use state::{State, Steer};
pub(in crate::experiments) use things::Kind;
use update_window::UpdateWindow;

/// The settings of a match of theirs.
#[derive(Clone, Debug)]
pub(in crate::experiments) struct TheirConfig {
    /// The field, as text.
    pub field: String,
    /// Where everyone begins; players first, then AI characters.
    pub places: Vec<[f32; 2]>,
    /// How many of them are players, the host's among them.
    pub players: usize,
    /// What the players are after.
    pub errand: Errand,
    /// The links between each client but the host's and the server.
    pub path: Path,
    /// The length of the update window; zero for none.
    pub window: Duration,
    /// The standard deviation of the error of the common time.
    pub sync_error: Duration,
    /// The time that a movement message carries.
    pub stamp: Stamp,
    /// The constants of the correction, per second and second, and per second.
    pub alpha: f32,
    pub beta: f32,
    /// How far off others may be before a message is sent, in cells.
    pub threshold: f32,
    /// The distance beyond which a character is teleported, in cells.
    pub teleport: f32,
    /// What a correction does about an obstacle. Theirs pushes.
    pub obstacles: Obstacles,
    pub length: Duration,
    pub settling: Duration,
}

/// The time stamp of a movement message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::experiments) enum Stamp {
    /// When it was sent: the threshold had been exceeded.
    Sent,
    /// When its force began to act.
    Applied,
}

/// A movement message to the server.
#[derive(Clone, Copy, Debug)]
struct FromClient {
    stamp: Duration,
    steer: Steer,
}

/// A movement message to the clients.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiments) struct FromServer {
    pub stamp: Duration,
    pub character: usize,
    pub body: Body,
    pub force: [f32; 2],
}

/// A movement message that a client has read.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiments) struct Read {
    pub at: Duration,
    pub client: usize,
    pub message: FromServer,
}

/// Bytes of a message's kind and time.
const HEADER: usize = 9;
/// Bytes of a character in a message: its number; place, velocity and force as floats.
const CHARACTER: usize = 25;
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// Plays a match.
pub(in crate::experiments) fn play(config: &TheirConfig, seed: u64) -> Result<Played, String> {
    let mut game = Game::begin(config, seed)?;
    while game.next_frame() <= config.settling {
        game.frame();
    }
    game.judge();
    while game.next_frame() <= config.length {
        game.frame();
    }
    Ok(game.finish())
}

/// Plays a match in which every client has its own way to the server: all movement messages that clients read, in the order of time.
pub(in crate::experiments) fn overhear(
    config: &TheirConfig,
    paths: &[Path],
    seed: u64,
) -> Result<Vec<Read>, String> {
    let mut game = Game::begin_over(config, |at| paths.get(at).cloned(), seed)?;
    while game.next_frame() <= config.length {
        game.frame();
    }
    Ok(game.read)
}

/// A match that is played.
struct Game<'a> {
    config: &'a TheirConfig,
    field: Field,
    server: UpdateWindow,
    ai: Vec<Ai>,
    clients: Vec<Client>,
    up: Vec<Wire<FromClient>>,
    down: Vec<Wire<FromServer>>,
    /// The times of the next frames: the server's, then the clients'.
    next: Vec<Duration>,
    frame_rng: Rng,
    server_frame: Duration,
    /// What the AI decided for the server's next frame.
    decided: Vec<Steer>,
    notes: ServerNotes,
    /// What clients have read.
    read: Vec<Read>,
}

/// A character that the server moves.
#[derive(Debug)]
struct Ai {
    character: usize,
    walker: Walker,
    reckoning: DeadReckoning,
    sent: u64,
}

#[derive(Clone, Debug, Default)]
struct ServerNotes {
    frames: u64,
    full: u64,
    received: u64,
    gap: f64,
    reckoned: f64,
    /// The values when judging began.
    before: (u64, u64, u64),
}

impl<'a> Game<'a> {
    fn begin(config: &'a TheirConfig, seed: u64) -> Result<Game<'a>, String> {
        // The host's own client is on the same machine.
        let path = |at: usize| (at > 0).then(|| config.path.clone());
        Game::begin_over(config, path, seed)
    }

    /// Begins with a path of its own for each client; without one it is on the server's machine.
    fn begin_over(
        config: &'a TheirConfig,
        path: impl Fn(usize) -> Option<Path>,
        seed: u64,
    ) -> Result<Game<'a>, String> {
        let state = State::at(&config.places);
        let walker = |errand, at: usize| Walker::new(errand, random::hash(seed, at as u64, 5));
        let ai = (config.players..config.places.len()).map(|character| Ai {
            character,
            walker: walker(Errand::Wander, character),
            reckoning: DeadReckoning::new(config.threshold),
            sent: 0,
        });
        let clients = (0..config.players)
            .map(|own| Client::new(own, walker(config.errand, own), &state, config));
        let links = (0..config.players).map(|at| {
            let path = path(at).unwrap_or_default();
            path.links(random::hash(seed, at as u64, 6))
        });
        let links: Result<Vec<(Link, Link)>, _> = links.collect();
        let (up, down): (Vec<Link>, Vec<Link>) = links
            .map_err(|error| error.to_string())?
            .into_iter()
            .unzip();
        let mut frame_rng = Rng::new(random::hash(seed, 0, 7));
        let phases = (0..=config.players).map(|_| {
            let share = f64::from(frame_rng.below(1_000)) / 1e3;
            FRAME + FRAME.mul_f64(share)
        });
        Ok(Game {
            next: phases.collect(),
            frame_rng,
            field: Field::of(&config.field),
            server: UpdateWindow::new(config.window, state.clone()),
            ai: ai.collect(),
            clients: clients.collect(),
            up: up.into_iter().map(Wire::new).collect(),
            down: down.into_iter().map(Wire::new).collect(),
            server_frame: Duration::ZERO,
            decided: Vec::new(),
            notes: ServerNotes::default(),
            read: Vec::new(),
            config,
        })
    }

    fn next_frame(&self) -> Duration {
        self.next.iter().copied().min().expect("there is a server")
    }

    /// The next frame of somebody.
    fn frame(&mut self) {
        let now = self.next_frame();
        let whose = self.next.iter().position(|at| *at == now);
        let whose = whose.expect("somebody's");
        // A frame is shown with the screen's rate; the program begins it up to 1 ms sooner or later.
        let jitter = f64::from(self.frame_rng.below(2_000)) / 1e6 - 1e-3;
        self.next[whose] = now + Duration::from_secs_f64(FRAME.as_secs_f64() + jitter);
        match whose.checked_sub(1) {
            None => self.server_frame(now),
            Some(client) => self.client_frame(now, client),
        }
    }

    fn server_frame(&mut self, now: Duration) {
        let mut read = Vec::new();
        for (at, wire) in self.up.iter_mut().enumerate() {
            let arrived = wire.poll(now);
            // The host's own client is not judged.
            self.notes.received += if at == 0 { 0 } else { arrived.len() as u64 };
            read.extend(arrived.iter().map(|message| (message.stamp, message.steer)));
        }
        let decided = std::mem::take(&mut self.decided);
        let mut changed = self
            .server
            .frame(now, &read, &decided, &self.field, |_, _| ());
        // What AI characters do is the server's own: whether it is sent, dead reckoning says.
        changed.retain(|character| *character < self.config.players);
        let seconds = (now - self.server_frame).as_secs_f32();
        self.server_frame = now;
        changed.extend(self.decide(now, seconds));
        for character in changed {
            let of = self.server.current().characters[character];
            let message = FromServer {
                stamp: now,
                character,
                body: of.body,
                force: of.force,
            };
            for wire in &mut self.down {
                wire.send(now, HEADER + CHARACTER, message);
            }
        }
        self.notes.frames += 1;
        let everything = HEADER + CHARACTER * self.config.places.len();
        self.notes.full += (everything + samestep_netem::IP_UDP_OVERHEAD_BYTES) as u64;
        self.look();
    }

    /// AI characters decide what they do in the next frame. Returns those of which clients have to be told.
    fn decide(&mut self, now: Duration, seconds: f32) -> Vec<usize> {
        let mut told = Vec::new();
        for ai in &mut self.ai {
            let of = self.server.current().characters[ai.character];
            let heading = ai.walker.decide(now, of.body.place, &self.field);
            let force = direction(heading).map(|part| part * WALK);
            if force != of.force {
                self.decided.push(Steer {
                    character: ai.character,
                    force,
                });
            }
            let motion = self.field.during(seconds);
            if ai.reckoning.advance(&motion, of.body, of.force).is_some() {
                ai.sent += 1;
                told.push(ai.character);
            }
            let error = f64::from(ai.reckoning.error(of.body));
            self.notes.reckoned = self.notes.reckoned.max(error);
        }
        told
    }

    fn client_frame(&mut self, now: Duration, at: usize) {
        let arrived = self.down[at].poll(now);
        self.read.extend(arrived.iter().map(|message| Read {
            at: now,
            client: at,
            message: *message,
        }));
        let message = self.clients[at].frame(now, arrived, self.config, &self.field);
        if let Some(message) = message {
            self.up[at].send(now, HEADER + CHARACTER, message);
        }
    }

    fn look(&mut self) {
        for (at, client) in self.clients.iter().enumerate().skip(1) {
            let (own, is) = (
                client.own_place(),
                self.server.current().characters[at].body.place,
            );
            let gap = f64::from((own[0] - is[0]).hypot(own[1] - is[1]));
            self.notes.gap = self.notes.gap.max(gap);
        }
    }

    /// Everything before this does not count.
    fn judge(&mut self) {
        for client in &mut self.clients {
            client.notes = client::ClientNotes::default();
        }
        for ai in &mut self.ai {
            ai.sent = 0;
        }
        self.notes = ServerNotes {
            before: (
                self.server.ignored(),
                self.down_bytes(),
                self.server.recomputed(),
            ),
            ..ServerNotes::default()
        };
    }

    /// Bytes to all clients but the host's.
    fn down_bytes(&self) -> u64 {
        self.down.iter().skip(1).map(Wire::bytes).sum()
    }

    fn finish(self) -> Played {
        let seconds = (self.config.length - self.config.settling).as_secs_f64();
        let guests = self.clients.len() - 1;
        let mut corrections = Corrections::default();
        let (mut teleports, mut rates) = (0, Vec::new());
        let mut reckoned = self.notes.reckoned;
        for client in &self.clients[1..] {
            corrections.append(&client.notes.corrections);
            teleports += client.notes.teleports;
            rates.push(client.notes.sent as f64 / seconds);
            reckoned = reckoned.max(f64::from(client.notes.reckoned));
        }
        rates.extend(self.ai.iter().map(|ai| ai.sent as f64 / seconds));
        let client_seconds = seconds * guests as f64;
        let (ignored, bytes, recomputed) = self.notes.before;
        Played {
            client_seconds,
            corrections,
            teleports,
            gap: self.notes.gap,
            messages: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
            most_messages: rates.iter().copied().fold(0.0, f64::max),
            reckoned,
            incremental: (self.down_bytes() - bytes) as f64 / client_seconds,
            full: self.notes.full as f64 / seconds,
            ignored: (self.server.ignored() - ignored) as f64 * 100.0
                / self.notes.received.max(1) as f64,
            recomputed: (self.server.recomputed() - recomputed) as f64
                / self.notes.frames.max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use samestep_netem::LinkConfig;

    use super::*;

    const FIELD: &str = "
################
#..............#
#..............#
#....##....#...#
#..............#
#..............#
#......#.......#
#..............#
################
";

    pub(super) fn config(window: u64, latency: u64, errand: Errand) -> TheirConfig {
        TheirConfig {
            field: FIELD.into(),
            places: (0..8).map(|at| [1.5 + at as f32, 1.5]).collect(),
            players: 3,
            errand,
            path: Path::symmetric(LinkConfig {
                latency: Duration::from_millis(latency),
                ..LinkConfig::default()
            }),
            window: Duration::from_millis(window),
            sync_error: Duration::from_millis(6),
            stamp: Stamp::Sent,
            alpha: 40.0,
            beta: 5.0,
            threshold: 0.02,
            teleport: 1.0,
            obstacles: Obstacles::Push,
            length: Duration::from_secs(20),
            settling: Duration::from_secs(2),
        }
    }

    #[test]
    fn the_window_makes_corrections_across_smaller() {
        let across = |window| {
            let played = play(&config(window, 50, Errand::Wander), 3).unwrap();
            assert!(played.corrections.across.len() > 50);
            played.corrections.across.mean().unwrap()
        };
        let (with, without) = (across(100), across(0));
        assert!(with < 0.8 * without, "{with} {without}");
    }

    #[test]
    fn the_same_seed_gives_the_same_match() {
        let once = || play(&config(100, 50, Errand::Wander), 4).unwrap();
        let (one, other) = (once(), once());
        assert_eq!(one.corrections.total, other.corrections.total);
        assert!(one.reckoned <= 0.0201, "{}", one.reckoned);
        assert!(
            one.messages > 1.0 && one.messages < 40.0,
            "{}",
            one.messages
        );
        assert!(one.incremental < one.full);
    }

    #[test]
    fn beyond_the_window_messages_are_ignored() {
        let played = play(&config(100, 150, Errand::Wander), 5).unwrap();
        assert!(played.ignored > 90.0, "{}", played.ignored);
        let played = play(&config(100, 25, Errand::Wander), 5).unwrap();
        assert!(played.ignored < 1.0, "{}", played.ignored);
    }

    #[test]
    fn the_edge_of_an_obstacle_ends_in_teleports_unless_one_goes_around() {
        let push = config(100, 75, Errand::Edge);
        let teleports = |config: &TheirConfig| {
            let played = (0..12).map(|seed| play(config, seed).unwrap());
            played.map(|played| played.teleports).sum::<u64>()
        };
        assert!(teleports(&push) > 0);
        let around = TheirConfig {
            obstacles: Obstacles::default(),
            teleport: 4.0,
            ..push.clone()
        };
        assert_eq!(teleports(&around), 0);
    }
}
