//! The models that are played with, and what their worlds are like.

use std::fmt;
use std::time::Duration;

use samestep_netem::{Jitter, LinkConfig, Loss, Rng};
use samestep_sync::{
    Beyond, EventDelay, EventDelayConfig, GameDelay, Length, Lockstep, LockstepConfig, Model,
    Rollback, RollbackConfig, SlowMachine,
};

use crate::soak::Suite;
use crate::soak::conditions::Severity;
use crate::soak::players::MAX_PROGRAMS;

/// The longest that everyone stalls in latency and loss alone.
const LONGEST_STALL: Duration = Duration::from_millis(1500);
/// The longest that others wait for some who are frozen, in a mesh or by policy: until they are awake, or known to be gone.
const UNTIL_DROPPED: Duration = Duration::from_secs(8);

/// The suites of models that simulate everywhere: to add one, implement `Settings` and list it here.
impl Suite {
    /// Games in lockstep, in rooms of both kinds.
    pub const LOCKSTEP: Suite = Suite::new("lockstep", super::run::<LockstepConfig>);
    /// Games that simulate ahead of the confirmed inputs, in rooms of both kinds.
    pub const ROLLBACK: Suite = Suite::new("rollback", super::run::<RollbackConfig>);
    /// Games whose inputs take effect after a common delay, in rooms of both kinds.
    pub const EVENT_DELAY: Suite = Suite::new("event-delay", super::run::<EventDelayConfig>);
    /// All of these.
    pub const MODELS: &'static [Suite] = &[Suite::LOCKSTEP, Suite::ROLLBACK, Suite::EVENT_DELAY];
}

/// Settings of a model, and what happens in worlds that are played with it.
pub(crate) trait Settings: Clone + fmt::Debug {
    type Model: Model;

    fn random(rng: &mut Rng) -> Self;

    fn model(self) -> Self::Model;

    /// A description of what a model knows.
    fn explain(model: &Self::Model) -> String;

    /// States are compared this often.
    fn set_check_every(&mut self, ticks: u64);

    /// How many join before the game begins.
    fn first_guests(rng: &mut Rng) -> u64;

    /// What somebody is who joins.
    fn kind(rng: &mut Rng, mesh: bool) -> ProgramKind;

    /// The links of a storm.
    fn storm(rng: &mut Rng, severity: Severity) -> LinkConfig;

    /// Whether nobody comes, goes or freezes in a storm.
    fn is_undisturbed(rng: &mut Rng) -> bool;

    /// The longest that the game may stand still in a storm, and in the calm after it.
    fn longest_stall(&self, link: &LinkConfig, undisturbed: bool, mesh: bool) -> Option<Duration>;
}

/// What somebody is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramKind {
    /// Players of one program; none for one who watches.
    pub(super) players: usize,
    /// How wrongly its clock goes.
    pub(super) drift_ppm: f64,
    /// Time between two of its frames, if it looks only then.
    pub(super) frames: Option<Duration>,
}

impl ProgramKind {
    pub(super) const PLAYER: ProgramKind = ProgramKind {
        players: 1,
        drift_ppm: 0.0,
        frames: None,
    };

    pub(super) fn watches(self) -> bool {
        self.players == 0
    }
}

fn length(rng: &mut Rng, most: u64) -> Length {
    match rng.chance(0.5) {
        true => Length::Fixed(1 + rng.range(0..most)),
        false => Length::Dynamic { min: 1, max: most },
    }
}

fn slow_machine(rng: &mut Rng) -> SlowMachine {
    match rng.range(0..3) {
        0 => SlowMachine::GoOn,
        1 => SlowMachine::Wait { behind: 60 },
        _ => SlowMachine::Ease {
            behind: 30,
            percent: 10,
        },
    }
}

fn check_every(rng: &mut Rng) -> u64 {
    [0, 15, 60, 100][rng.range(0..4) as usize]
}

impl Settings for LockstepConfig {
    type Model = Lockstep;

    fn random(rng: &mut Rng) -> Self {
        LockstepConfig {
            turn: length(rng, 15),
            input_delay: length(rng, 15),
            slow: slow_machine(rng),
            desync_check_interval: check_every(rng),
            // Whose state is spoiled is drawn among all.
            correct_host: true,
            ..LockstepConfig::default()
        }
    }

    fn model(self) -> Lockstep {
        Lockstep::new(self).expect("settings that make sense")
    }

    fn explain(model: &Lockstep) -> String {
        model.explain()
    }

    fn set_check_every(&mut self, ticks: u64) {
        self.desync_check_interval = ticks;
    }

    fn first_guests(rng: &mut Rng) -> u64 {
        rng.range(1..5)
    }

    fn kind(_: &mut Rng, _: bool) -> ProgramKind {
        ProgramKind::PLAYER
    }

    fn storm(rng: &mut Rng, severity: Severity) -> LinkConfig {
        severity.random_link(rng)
    }

    fn is_undisturbed(_: &mut Rng) -> bool {
        false
    }

    fn longest_stall(&self, _: &LinkConfig, _: bool, _: bool) -> Option<Duration> {
        None
    }
}

impl Settings for RollbackConfig {
    type Model = Rollback;

    fn random(rng: &mut Rng) -> Self {
        let window = rng.range(2..17);
        RollbackConfig {
            window,
            input_delay: length(rng, 15),
            beyond: match rng.chance(0.5) {
                true => Beyond::Wait,
                false => Beyond::GoOn {
                    ticks: window + 1 + rng.range(0..120),
                },
            },
            lockstep_below: match rng.chance(0.5) {
                true => Duration::ZERO,
                false => Duration::from_millis(rng.range(20..300)),
            },
            slow: slow_machine(rng),
            desync_check_interval: check_every(rng),
            correct_host: true,
            ..RollbackConfig::default()
        }
    }

    fn model(self) -> Rollback {
        Rollback::new(self).expect("settings that make sense")
    }

    fn explain(model: &Rollback) -> String {
        let status = model.status();
        format!(
            "{}, shown tick {}, delay {}, later by {:?}{}",
            model.explain(),
            status.tick,
            status.input_delay,
            status.playout_delay,
            if status.predicting {
                ", predicting"
            } else {
                ""
            }
        )
    }

    fn set_check_every(&mut self, ticks: u64) {
        self.desync_check_interval = ticks;
    }

    fn first_guests(rng: &mut Rng) -> u64 {
        // Four players most often.
        match rng.chance(0.4) {
            true => 3,
            false => rng.range(1..MAX_PROGRAMS as u64),
        }
    }

    fn kind(rng: &mut Rng, mesh: bool) -> ProgramKind {
        ProgramKind {
            players: match rng.range(0..10) {
                0 if !mesh => 0,
                1..3 => 2,
                _ => 1,
            },
            drift_ppm: (rng.f64() - 0.5) * 200.0,
            frames: match rng.chance(0.3) {
                true => Some(Duration::from_millis(rng.range(7..34))),
                false => None,
            },
        }
    }

    /// Up to 100 ms one way and a loss of 25 %, every other time just that.
    fn storm(rng: &mut Rng, severity: Severity) -> LinkConfig {
        let (latency, loss) = (Duration::from_millis(100), 0.25);
        if rng.chance(0.5) {
            return LinkConfig {
                latency,
                loss: Loss::Bernoulli(loss),
                jitter: Jitter {
                    amount: Duration::from_millis(rng.range(0..20)),
                    ..Jitter::default()
                },
                ..LinkConfig::default()
            };
        }
        let link = severity.random_link(rng);
        LinkConfig {
            latency: link.latency.min(latency),
            loss: match link.loss {
                Loss::Bernoulli(rate) => Loss::Bernoulli(rate.min(loss)),
                Loss::Burst { rate, mean } => Loss::Burst {
                    rate: rate.min(loss),
                    mean,
                },
                other => other,
            },
            // One packet that is late for seconds would hold up all after it.
            keep_order: false,
            ..link
        }
    }

    fn is_undisturbed(rng: &mut Rng) -> bool {
        rng.chance(0.4)
    }

    fn longest_stall(&self, link: &LinkConfig, undisturbed: bool, mesh: bool) -> Option<Duration> {
        let outage = match link.loss {
            Loss::Burst { mean, .. } => 8 * mean,
            _ => Duration::ZERO,
        };
        let waits = mesh || matches!(self.slow, SlowMachine::Wait { .. });
        let most = match (undisturbed, waits) {
            (true, _) => LONGEST_STALL,
            (false, false) => LONGEST_STALL + self.patience,
            (false, true) => LONGEST_STALL + UNTIL_DROPPED,
        };
        Some(most + outage)
    }
}

impl Settings for EventDelayConfig {
    type Model = EventDelay;

    fn random(rng: &mut Rng) -> Self {
        let time = |rng: &mut Rng, most| Duration::from_millis(rng.range(0..most));
        EventDelayConfig {
            delay: match rng.chance(0.5) {
                true => GameDelay::Constant(time(rng, 200)),
                false => {
                    let min = time(rng, 50);
                    let max = min + time(rng, 400);
                    GameDelay::Dynamic { min, max }
                }
            },
            packets_per_second: 5 + rng.range(0..60) as u32,
            slow: slow_machine(rng),
            desync_check_interval: check_every(rng),
            correct_host: true,
            ..EventDelayConfig::default()
        }
    }

    fn model(self) -> EventDelay {
        EventDelay::new(self).expect("settings that make sense")
    }

    fn explain(model: &EventDelay) -> String {
        let (status, delay) = (model.status(), model.game_delay());
        let (tick, explanation) = (status.tick, model.explain());
        format!("{explanation}, shown tick {tick}, game delay {delay:?}")
    }

    fn set_check_every(&mut self, ticks: u64) {
        self.desync_check_interval = ticks;
    }

    fn first_guests(rng: &mut Rng) -> u64 {
        RollbackConfig::first_guests(rng)
    }

    fn kind(rng: &mut Rng, mesh: bool) -> ProgramKind {
        RollbackConfig::kind(rng, mesh)
    }

    fn storm(rng: &mut Rng, severity: Severity) -> LinkConfig {
        severity.random_link(rng)
    }

    fn is_undisturbed(rng: &mut Rng) -> bool {
        rng.chance(0.4)
    }

    /// Nobody waits for the network; by policy all may wait for a machine that cannot keep up.
    fn longest_stall(&self, _: &LinkConfig, undisturbed: bool, _: bool) -> Option<Duration> {
        match self.slow {
            SlowMachine::Wait { .. } if !undisturbed => Some(LONGEST_STALL + UNTIL_DROPPED),
            _ => Some(LONGEST_STALL),
        }
    }
}
