//! A whole match in one program: every player's view of it, under any network conditions and any model, in time that can be paused and rewound.
//!
//! It is what one looks at to see what netcode does. Every player has a program of its own, with a session, a model and a clock, as it would on a
//! computer of its own; between them are links with latency, jitter and loss. All of it runs in virtual time and follows from a seed, so that
//! the same [`Scenario`] is the same match everywhere, natively and in a browser.
//!
//! ```
//! use samestep_catalog::evaluation::Evaluation;
//! use samestep_sandbox::{Conditions, Gauge, Sandbox, Scenario};
//!
//! let mut scenario = Scenario::new("evaluation");
//! scenario.set_conditions(Conditions::preset("lte")?);
//! let mut sandbox = Sandbox::<Evaluation>::new(&scenario)?;
//! for _ in 0..120 {
//!     sandbox.step();
//! }
//! let seen = sandbox.now().view(0);
//! println!("player 1 sees {} entities", seen.entities().len());
//! assert!(sandbox.gauges(0).latest(Gauge::RoundTrip) > Some(30.0));
//!
//! // The same again, to the last bit.
//! let mut again = Sandbox::<Evaluation>::new(&Scenario::from_link(&scenario.to_link())?)?;
//! (0..120).for_each(|_| again.step());
//! assert_eq!(again.checksum(), sandbox.checksum());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//!
//! - [`Scenario`]: game, model, players, seed, network conditions, as a link that can be shared. [`Conditions`]: those of a player.
//! - [`Sandbox`]: the match. [`StepRecord`]: what everyone saw at one time, and what was true. [`Gauges`]: what is plotted.
//! - [`ModelKind`]: the models of `samestep-sync`. [`Playable`]: what a game says of itself to be played here.
//!
//! # What it does not do
//!
//! It draws nothing, and uses neither a clock nor a socket.
#![forbid(unsafe_code)]

mod conditions;
mod gauges;
mod history;
mod sandbox;
mod scenario;

pub use conditions::{Conditions, PRESETS};
pub use gauges::{Gauge, Gauges, SAMPLES_PER_SECOND};
pub use history::{History, StepRecord};
pub use samestep_playable::{Playable, Setup, Sizes};
pub use samestep_sync::ModelKind;
pub use sandbox::{Desync, Driver, STEP, Sandbox, SandboxError};
pub use scenario::{LinkError, Scenario, Server};
