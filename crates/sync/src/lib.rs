//! State that stays the same everywhere: values with one owner that everyone sees.
//!
//! A [`Synced<T>`] is read like a `T`. Its owner sets it; everywhere else it follows. A struct of such fields derives
//! [`SharedFields`](derive@SharedFields) and is kept the same in all programs by a [`Replicator`] in each:
//!
//! ```
//! use samestep_sync::{Owner, PeerId, Replicator, SharedFields, Synced, View};
//!
//! #[derive(Default, SharedFields)]
//! struct Match {
//!     #[shared(owner = authority)]
//!     seconds_left: Synced<u32>,
//!     #[shared(owner = player(1))]
//!     answer: Synced<String>,
//! }
//!
//! // Two programs in a room: peer 0 is the authority, peer 1 plays as player 1.
//! let owner_of = |owner| match owner {
//!     Owner::Authority => Some(PeerId(0)),
//!     _ => Some(PeerId(1)),
//! };
//! let view = |me: u16, other: &'static [PeerId]| View {
//!     me: PeerId(me),
//!     authority: PeerId(0),
//!     others: other,
//!     is_mesh: false,
//!     term: 1,
//!     owner_of: &owner_of,
//! };
//! let (host_view, guest_view) = (view(0, &[PeerId(1)]), view(1, &[PeerId(0)]));
//! let (mut host, mut guest) = (Match::default(), Match::default());
//! let (mut at_host, mut at_guest) = (Replicator::new(&mut host)?, Replicator::new(&mut guest)?);
//!
//! host.seconds_left.set(90)?;
//! guest.answer.set("42".into())?;
//! // A session carries the bytes; here they go straight across until both have fallen silent.
//! loop {
//!     if let Some((_, bytes)) = at_guest.poll(&mut guest, &guest_view) {
//!         at_host.handle(&mut host, &host_view, PeerId(1), &bytes);
//!     } else if let Some((_, bytes)) = at_host.poll(&mut host, &host_view) {
//!         at_guest.handle(&mut guest, &guest_view, PeerId(0), &bytes);
//!     } else {
//!         break;
//!     }
//! }
//! assert_eq!(*guest.seconds_left, 90);
//! assert_eq!(*host.answer, "42");
//! assert!(host.answer.set("43".into()).is_err()); // it is the guest's
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//!
//! It sends nothing and knows no rooms: a [`View`] says who is there and who owns what, and a session carries the bytes.
//! Only the newest value of a field counts; what must not be skipped is a message.
#![no_std]

extern crate alloc;
// The derive names this crate by its own name, also in here.
extern crate self as samestep_sync;

mod difference;
mod digest;
mod entities;
mod event;
mod exact;
mod fields;
mod id;
mod input;
mod list;
mod live;
mod lockstep;
pub mod math;
mod model;
pub mod random;
mod record;
mod replay;
mod replicate;
mod replicator;
mod save;
mod simulation;
mod sync_test;
mod synced;
mod table;
mod timeline;
mod update;
mod world;

pub use difference::Difference;
pub use digest::{CHUNK_ROWS, Chunk, Digest, Summary, Tree};
pub use entities::{Entities, EntityId};
pub use event::{Events, Ledger, Occurrence, Stage};
pub use fields::{SharedField, SharedFields, Stamp};
pub use id::{Owner, PeerId, PlayerId};
pub use input::{Input, Inputs, Tick, TickInputs};
pub use list::{Full, List};
pub use live::Live;
pub use lockstep::{Length, Lockstep, LockstepConfig, LockstepError, Pace, SlowMachine};
pub use model::{Carriage, DesyncReport, Member, Model, ModelEvent, Outgoing, Roster, Status};
pub use random::Rng;
pub use record::{Blend, CellKind, Describe, Field, Holds, InvalidCell, Record, Shown, When};
pub use replay::{
    Damage, Deviation, Divergence, Ending, Playback, Progress, Recorder, RecorderConfig, Replay,
    ReplayError, ReplayHeader, Side, Verified, VerifyError,
};
pub use replicate::{Extraction, Part, Replicate, Restoration};
pub use replicator::{Recipient, Replicator, View};
/// Derives [`Record`](trait@Record) for a struct or an enum whose fields are records.
///
/// `#[field(…)]` on a field says how views show it; exact encodings do not depend on it:
///
/// | `#[field(…)]` | |
/// |---|---|
/// | `range(0.0, 1024.0)` | the least and the greatest value |
/// | `precision = 0.01` | the step between neighbouring values of a range |
/// | `blend = "linear"` | in proportion to time; `"angle"`, the shorter way round; `"step"`, all at once, is the default |
///
/// They apply to all numbers in the field. `#[record(crate = path::to::samestep_sync)]` on the type is for crates that
/// re-export this one.
///
/// ```
/// use samestep_sync::{EntityId, Record};
///
/// #[derive(Clone, Copy, PartialEq, Debug, Record)]
/// struct Tank {
///     #[field(range(-512.0, 512.0), precision = 0.01, blend = "linear")]
///     position: [f32; 2],
///     #[field(range(0.0, 6.3), precision = 0.01, blend = "angle")]
///     turret: f32,
///     #[field(range(0, 100))]
///     armour: u8,
///     order: Order,
/// }
///
/// #[derive(Clone, Copy, PartialEq, Debug, Record)]
/// enum Order {
///     Stop,
///     Follow(EntityId),
///     Drive { to: [f32; 2], fast: bool },
/// }
///
/// assert_eq!(Tank::CELLS, 2 + 1 + 1 + 5);
/// ```
///
/// Misuse does not compile: types whose size differs between machines, or that have no fixed number of fields,
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(usize);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(Vec<u8>);
/// ```
///
/// references,
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank<'a>(&'a u8);
/// ```
///
/// fields that are to be left out,
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank { armour: u8, #[field(skip)] drawn: bool }
/// ```
///
/// unknown or incomplete attributes,
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(blend = "cubic")] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(range(0.0))] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(precision = 0.1)] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(range(9, 3))] u8);
/// ```
///
/// and types without values, or with ambiguous ones.
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// enum Never {}
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, samestep_sync::Record)]
/// union Either { a: u8, b: i8 }
/// ```
pub use samestep_sync_derive::Record;
/// Derives [`Replicate`](trait@Replicate) for the struct that holds the whole state of a game.
///
/// Its fields are [`Entities`] or `Vec`s of records, records, or structs that derive this as well. Scratch memory that is no
/// part of the state is `#[replicate(skip)]`; it must be `Clone + Default` and must never bear on the outcome.
/// `#[replicate(crate = path::to::samestep_sync)]` on the struct is for crates that re-export this one.
///
/// ```
/// use samestep_sync::{Entities, PlayerId, Replicate, Rng};
///
/// #[derive(Clone, Replicate)]
/// struct Race {
///     cars: Entities<(f32, f32)>,
///     laps: Vec<(PlayerId, u8)>,
///     weather: Weather,
///     rng: Rng,
///     #[replicate(skip)]
///     nearest: Vec<usize>,
/// }
///
/// #[derive(Clone, Replicate)]
/// struct Weather {
///     clouds: Entities<f32>,
///     wind: f32,
/// }
///
/// let schema = Race::schema();
/// let kinds: Vec<_> = schema.kinds().iter().map(|kind| &*kind.name).collect();
/// assert_eq!(kinds, ["globals", "cars", "laps", "weather.clouds"]);
/// ```
///
/// Misuse does not compile: what is neither described nor skipped,
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { winner: String }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { cars: std::collections::HashMap<u32, (f32, f32)> }
/// ```
///
/// scratch memory without a default,
///
/// ```compile_fail
/// #[derive(Clone)]
/// struct Scratch;
///
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { laps: u8, #[replicate(skip)] scratch: Scratch }
/// ```
///
/// attributes in the wrong place, and what is no struct, or has parameters, or nothing in it.
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { #[field(range(0, 9))] laps: u8 }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// enum Race { Begun(u8) }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race<T> { laps: T }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { #[replicate(skip)] laps: u8 }
/// ```
pub use samestep_sync_derive::Replicate;
/// Derives [`SharedFields`](trait@SharedFields) for a struct.
///
/// Every field must be shared, a [`Synced`], an array of them, or a struct that derives this as well, or be skipped:
///
/// | `#[shared(…)]` | |
/// |---|---|
/// | `owner = authority` | the host, or the leader of a mesh |
/// | `owner = player(1)` | whoever plays in that place; any constant expression |
/// | `owner = each_player` | for arrays: the first belongs to player 0, the next to player 1, and so on |
/// | `skip` | not shared |
///
/// Without an owner a field keeps the one it was made with. `#[shared(crate = path::to::samestep_sync)]` on the struct is
/// for crates that re-export this one.
///
/// ```
/// use samestep_sync::{SharedFields, Synced};
///
/// #[derive(Default, SharedFields)]
/// struct Race {
///     #[shared(owner = authority)]
///     laps: Synced<u8>,
///     #[shared(owner = each_player)]
///     positions: [Synced<(f32, f32)>; 4],
///     #[shared(skip)]
///     camera: (f32, f32),
/// }
/// ```
///
/// What is neither shared nor skipped does not compile:
///
/// ```compile_fail
/// #[derive(samestep_sync::SharedFields)]
/// struct Race {
///     laps: samestep_sync::Synced<u8>,
///     camera: (f32, f32),
/// }
/// ```
pub use samestep_sync_derive::SharedFields;
pub use samestep_wire::{DecodeError, Wire};
pub use save::{LoadError, load_game, save_game};
pub use simulation::Simulation;
pub use sync_test::{Mismatch, MismatchKind, NotANumber, SyncTestReport, sync_test};
pub use synced::{SetError, Synced};
pub use table::{Kind, RestoreError, Row, Schema, SchemaBuilder, Table};
pub use world::{AdoptError, Patched, World};
