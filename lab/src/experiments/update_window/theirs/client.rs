//! A client of theirs: predicts its own character, draws all of them to what the server says, and tells the server when it would be wrong.

use std::time::Duration;

use samestep_sync::Rng;
use samestep_sync::movement::{
    CorrectedBody, CorrectionConfig, CorrectionForce, DeadReckoning, Motion, Obstacles, Teleport,
};

use super::super::corrections::Corrections;
use super::super::field::{Field, WALK};
use super::super::walker::{Walker, direction};
use super::state::{State, Steer};
use super::{FromClient, FromServer, Stamp, TheirConfig};

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    /// The character of its player.
    own: usize,
    walker: Walker,
    characters: Vec<Shown>,
    reckoning: DeadReckoning,
    correction: CorrectionConfig,
    clock: Clock,
    last_frame: Duration,
    last_seconds: f32,
    /// The force of its player, and since which frame it acts.
    force: ([f32; 2], Duration),
    /// The force that the server was told last.
    told: [f32; 2],
    pub(super) notes: ClientNotes,
}

/// A character as a client shows it.
#[derive(Debug)]
struct Shown {
    body: CorrectedBody,
    /// The force from the last message, and its time stamp.
    force: [f32; 2],
    newest: Duration,
}

/// What is noted of a client, from some time on.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientNotes {
    pub(super) corrections: Corrections,
    pub(super) teleports: u64,
    /// Movement messages sent, and the largest error of what a receiver would extrapolate if messages took no time, in cells.
    pub(super) sent: u64,
    pub(super) reckoned: f32,
}

/// What the client takes for the server's time: wrong by a little, and differently every second.
#[derive(Debug)]
struct Clock {
    rng: Rng,
    std_dev: f64,
    second: u64,
    error: f64,
}

impl Clock {
    fn time(&mut self, now: Duration) -> Duration {
        if self.second != now.as_secs() {
            self.second = now.as_secs();
            // The sum of twelve uniform numbers is as good as normal.
            let sum: f64 = (0..12)
                .map(|_| f64::from(self.rng.below(1 << 16)) / 65_536.0)
                .sum();
            self.error = (sum - 6.0) * self.std_dev;
        }
        let time = now.as_secs_f64() + self.error;
        Duration::from_secs_f64(time.max(0.0))
    }
}

impl Client {
    pub(super) fn new(own: usize, walker: Walker, state: &State, config: &TheirConfig) -> Client {
        let characters = state.characters.iter().map(|character| Shown {
            body: CorrectedBody::new(character.body),
            force: [0.0; 2],
            newest: Duration::ZERO,
        });
        Client {
            own,
            walker,
            characters: characters.collect(),
            reckoning: DeadReckoning::new(config.threshold),
            correction: CorrectionConfig {
                force: CorrectionForce {
                    alpha: config.alpha,
                    beta: config.beta,
                    // Theirs has no bound. Who is led around an obstacle hurries.
                    strongest: match config.obstacles {
                        Obstacles::Push => f32::INFINITY,
                        Obstacles::GoAround { .. } => 2.0 * WALK,
                    },
                    near: 0.005,
                    slow: 0.02,
                },
                teleport: Teleport {
                    beyond: config.teleport,
                },
                obstacles: config.obstacles,
                agility: 0.3,
            },
            clock: Clock {
                rng: Rng::new(own as u64 + 77),
                std_dev: config.sync_error.as_secs_f64(),
                second: u64::MAX,
                error: 0.0,
            },
            last_frame: Duration::ZERO,
            last_seconds: 0.0,
            force: ([0.0; 2], Duration::ZERO),
            told: [0.0; 2],
            notes: ClientNotes::default(),
        }
    }

    /// Has its player go to a place.
    pub(super) fn seek(&mut self, now: Duration, place: [f32; 2]) {
        self.walker.seek(now, place);
    }

    /// What it takes for the server's time.
    pub(super) fn stamp(&mut self, now: Duration) -> Duration {
        self.clock.time(now)
    }

    /// The place of its own character on its screen.
    pub(super) fn own_place(&self) -> [f32; 2] {
        self.characters[self.own].body.body().place
    }

    /// One frame: reads what has arrived, takes the player's input, moves everyone. Returns a message to the server, if there is one.
    pub(super) fn frame(
        &mut self,
        now: Duration,
        arrived: Vec<FromServer>,
        config: &TheirConfig,
        field: &Field,
    ) -> Option<FromClient> {
        for message in arrived {
            self.read(&message);
        }
        let place = self.own_place();
        let heading = self.walker.decide(now, place, field);
        let force = direction(heading).map(|part| part * WALK);
        if force != self.force.0 {
            self.force = (force, now);
            self.notes.corrections.turn();
        }
        // Receivers have come as far as the last frame.
        let own = self.characters[self.own].body.body();
        let before = field.during(self.last_seconds);
        let sent = self.reckoning.advance(&before, own, force);
        self.notes.sent += u64::from(sent.is_some());
        self.notes.reckoned = self.notes.reckoned.max(self.reckoning.error(own));
        let seconds = (now - self.last_frame).as_secs_f32();
        self.advance(&field.during(seconds), force);
        (self.last_frame, self.last_seconds) = (now, seconds);
        let applied = match config.stamp {
            Stamp::Sent => now,
            // What is told again counts from now on.
            Stamp::Applied if self.told == force => now,
            Stamp::Applied => self.force.1,
        };
        sent?;
        self.told = force;
        Some(FromClient {
            stamp: self.clock.time(applied),
            steer: Steer {
                character: self.own,
                force,
            },
        })
    }

    /// A movement message of the server: what it says is where the character really is, from now on. Older ones than the newest are not read.
    fn read(&mut self, message: &FromServer) {
        let shown = &mut self.characters[message.character];
        if message.stamp <= shown.newest {
            return;
        }
        shown.newest = message.stamp;
        shown.force = message.force;
        if message.character == self.own {
            let is = shown.body.body();
            let by = [0, 1].map(|axis| f64::from(message.body.place[axis] - is.place[axis]));
            self.notes.corrections.push(by, is.velocity.map(f64::from));
        }
        shown.body.receive(message.body);
    }

    fn advance(&mut self, motion: &impl Motion, own_force: [f32; 2]) {
        for (at, shown) in self.characters.iter_mut().enumerate() {
            let is_own = at == self.own;
            let force = if is_own { own_force } else { shown.force };
            let step = shown.body.advance(motion, &self.correction, force);
            self.notes.teleports += u64::from(step.teleported && is_own);
        }
    }
}
