//! A game written once, and kept the same everywhere: simulations, the models that keep them in step, and shared fields.
//!
//! # A game
//!
//! A game says what its state consists of (`#[derive(Replicate)]`) and how one tick turns it into the next ([`Simulation`]). That is all it says: it
//! knows neither time nor network, and `step` gives the same for the same everywhere, to the last bit.
//!
//! ```
//! use samestep_sync::{Events, Input, Inputs, Live, PlayerId, Replicate, Simulation, Tick, TickInputs, Wire, World, sync_test};
//!
//! /// What a player does in a tick: a stroke of the oars, or none.
//! #[derive(Clone, Default, PartialEq, Debug, Wire)]
//! struct Row(u8);
//!
//! impl Input for Row {
//!     fn predict(&self) -> Self {
//!         Row(0) // what to assume of the next tick: a stroke is not repeated by itself
//!     }
//! }
//!
//! #[derive(Clone, Default, Replicate)]
//! struct Boat {
//!     metres: u32,
//! }
//!
//! impl Simulation for Boat {
//!     type Input = Row;
//!     type Event = u32;
//!     const NAME: &'static str = "boat";
//!
//!     fn step(&mut self, inputs: &Inputs<'_, Row>, events: &mut Events<u32>) {
//!         for (_, Row(metres)) in inputs.given() {
//!             self.metres += u32::from(*metres);
//!             events.emit(self.metres); // a splash: an effect, not part of the state
//!         }
//!     }
//! }
//!
//! // Alone, without a network:
//! let mut boat = Live::new(Boat::default());
//! let mut inputs = TickInputs::new();
//! inputs.set_players(&[PlayerId(0)]);
//! inputs.give(PlayerId(0), &Row(3));
//! boat.step(Tick(0), &inputs);
//! assert_eq!(boat.state().metres, 3);
//!
//! // Against itself, every tick simulated again: are the rules deterministic, is the state complete?
//! let report = sync_test(Boat::default(), 200, 8, |tick, _, inputs| {
//!     inputs.set_players(&[PlayerId(0)]);
//!     if tick.0 % 20 == 0 {
//!         inputs.give(PlayerId(0), &Row(3));
//!     }
//! })?;
//! assert_eq!(report.ticks, 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From the one description come checksums, differences in words, exact encodings, save games, replays, repairs, and what is streamed to others.
//!
//! # Models
//!
//! A [`Model`] decides who simulates what, and what travels. The game is the same under all of them, and whether somebody joins late, vanishes, returns or only
//! watches is the model's affair.
//!
//! | | who simulates | what travels | one's own input shows | others are seen |
//! |---|---|---|---|---|
//! | [`Lockstep`] | everyone, what is known | inputs | when everyone has it | exactly, a little late |
//! | [`Rollback`] | everyone, ahead of what is known, and again where it was wrong | inputs | at once, or a set delay later | as predicted, then corrected |
//! | [`EventDelay`] | everyone, at the instant a tick is due, and again what was late | inputs | a delay later that is the same for all | at the same instant, exactly |
//! | [`Snapshot`] | the authority alone | states, as far as they changed | a round trip and a display delay later | smoothly, in the past |
//! | [`StateSync`] | the authority; each guest predicts | states, as far as they changed | at once | smoothly, in the past |
//!
//! [`Switch`] changes between them while a game runs; [`Beside`] runs two side by side, each with a part of the game. Lockstep, rollback and event delay work in
//! hosted rooms and in meshes; the others are for hosted rooms.
//!
//! # Running a model
//!
//! Programs put a game and a model into a `Match` of `samestep-session`, or let `samestep` do it. A model itself does no IO: it is told who is there and what arrived,
//! is lent the game as a [`World`], and says what to send. Two programs with the boat from above, in lockstep:
//!
//! ```
//! use core::time::Duration;
//! use samestep_sync::{
//!     Events, Input, InputKind, Inputs, Live, Lockstep, LockstepConfig, Member, Model, PeerId, PlayerId, Replicate, Roster,
//!     Simulation, Wire, World,
//! };
//! use samestep_wire::encode_to_vec;
//!
//! # #[derive(Clone, Default, PartialEq, Debug, Wire)]
//! # struct Row(u8);
//! #
//! # impl Input for Row {
//! #     fn predict(&self) -> Self {
//! #         Row(0) // a stroke is not repeated by itself
//! #     }
//! # }
//! #
//! # #[derive(Clone, Default, Replicate)]
//! # struct Boat {
//! #     metres: u32,
//! # }
//! #
//! # impl Simulation for Boat {
//! #     type Input = Row;
//! #     type Event = u32;
//! #     const NAME: &'static str = "boat";
//! #
//! #     fn step(&mut self, inputs: &Inputs<'_, Row>, events: &mut Events<u32>) {
//! #         for (_, Row(metres)) in inputs.given() {
//! #             self.metres += u32::from(*metres);
//! #             events.emit(self.metres);
//! #         }
//! #     }
//! # }
//! #
//! let member = |n| Member {
//!     peer: PeerId(n),
//!     players: vec![PlayerId(n)],
//!     in_sync: true,
//!     away: false,
//!     watches: false,
//!     incarnation: 0,
//!     latency: Duration::ZERO,
//!     loss: 0,
//! };
//! let roster = |me| Roster { me: PeerId(me), authority: PeerId(0), is_mesh: false, members: vec![member(0), member(1)] };
//! let mut host = Lockstep::new(LockstepConfig::default())?;
//! let mut guest = Lockstep::new(LockstepConfig::default())?;
//! let (mut at_host, mut at_guest) = (Live::new(Boat::default()), Live::new(Boat::default()));
//! let start = Duration::ZERO;
//! host.handle_roster(start, &roster(0));
//! guest.handle_roster(start, &roster(1));
//! let state = host.checkpoint(start, PeerId(1), &mut at_host);
//! guest.adopt(start, &state, &mut at_guest)?;
//! host.handle_start(start, start);
//! guest.handle_start(start, start);
//!
//! // A session does this, with a network between them.
//! for ms in 0..2000 {
//!     let now = Duration::from_millis(ms);
//!     if ms == 500 {
//!         assert!(guest.input(now, PlayerId(1), &encode_to_vec(&Row(3))?, InputKind::Controls));
//!     }
//!     host.advance(now, &mut at_host);
//!     guest.advance(now, &mut at_guest);
//!     while let Some(message) = host.poll_message() {
//!         guest.handle_message(now, PeerId(0), &message.bytes);
//!     }
//!     while let Some(message) = guest.poll_message() {
//!         host.handle_message(now, PeerId(1), &message.bytes);
//!     }
//! }
//! assert_eq!((at_host.state().metres, at_guest.state().metres), (3, 3));
//! assert_eq!(at_host.checksum(), at_guest.checksum());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Main types
//!
//! - [`Simulation`], [`Input`], [`Inputs`], [`Events`]: the rules. [`Entities`], [`List`], [`Text`], [`Rng`] and [`math`] are what deterministic rules are made of,
//!   [`FieldWith`] and [`Opaque`] what lets other crates' types in.
//! - [`Record`](trait@Record), [`Replicate`](trait@Replicate): the description. [`Table`], [`ChecksumTree`], [`Difference`] work on it without knowing the type.
//! - [`World`]: what a model is lent. [`Live`] makes one of any simulation.
//! - [`Model`] and the models above, each with its settings: [`LockstepConfig`], [`RollbackConfig`], [`EventDelayConfig`], [`SnapshotConfig`],
//!   [`StateSyncConfig`]. [`Status`] and [`ModelEvent`] say how it goes.
//! - [`Interest`]: who may see what, where the authority alone knows everything. [`LagCompensation`]: what a shooter saw.
//! - [`SmoothView`]: a state to draw, in between ticks, without the jumps of corrections. [`movement`]: dead reckoning and correction by force, for
//!   characters that walk.
//! - [`Recorder`], [`Replay`], [`Playback`]; [`save_game`], [`load_game`]; [`sync_test()`].
//!
//! # Shared fields
//!
//! Values with one owner that everyone sees, for what is not simulated. A [`Synced<T>`] is read like a `T`. Its owner sets it; everywhere else it follows. A
//! struct of such fields derives [`SharedFields`](derive@SharedFields) and is kept the same in all programs by a [`Replicator`] in each:
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
//!     in_sync: other,
//!     is_mesh: false,
//!     term: 1,
//!     former_term: 0,
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
//! It sends nothing, and has no clock and no rooms: a [`Roster`] or a [`View`] says who is there, `now` is an argument, and a session carries
//! the bytes. It cannot make rules deterministic: it finds out where they are not. Of a shared field only the newest value counts; what must not be
//! skipped is an input or a message. [`Model`] is unstable: the models to come will bend it.

// The derive names this crate by its own name, also in here.
extern crate self as samestep_sync;

mod authority;
mod beside;
mod blend;
mod breach;
mod bytes;
mod collections;
mod confirmation;
mod cut;
mod difference;
mod digest;
mod entities;
mod event;
mod event_delay;
mod exact;
mod fields;
#[cfg(feature = "glam")]
mod glam;
mod id;
mod input;
mod interest;
mod journal;
mod lag_compensation;
mod list;
mod live;
mod lockstep;
pub mod math;
mod model;
mod models;
pub mod movement;
mod opaque;
mod outbox;
pub mod random;
mod record;
mod released;
mod replay;
mod replicate;
mod replicator;
mod rewind;
mod rollback;
mod save;
mod simulation;
mod snapshot;
mod standby;
mod state_sync;
mod stream;
mod switch;
mod sync_test;
mod synced;
mod table;
#[cfg(test)]
mod test_room;
#[cfg(doctest)]
mod tests;
mod text;
mod timeline;
mod update;
mod variable;
mod view;
mod with;
mod world;

pub use authority::{RewindStats, SentStats};
pub use beside::{Beside, Both, Either};
pub use breach::{Breach, SeenBreach};
pub use confirmation::{Confirmation, Effect};
pub use cut::{Cut, Departing, Held};
pub use difference::Difference;
pub use digest::{ChecksumTree, Digest, RowChunk, StateDigest};
pub use entities::{Entities, EntityId};
pub(crate) use event::EventLedger;
pub use event::{EventStage, Events, TimedEvent};
pub use event_delay::{EventDelay, EventDelayConfig, EventDelayError};
pub use fields::{SharedField, SharedFields, Stamp};
pub use id::{Owner, PeerId, PlayerId};
pub use input::{Input, InputKind, Inputs, PlayerPresence, Tick, TickInputs, UpdateWindow};
pub use interest::{INPUTS_PART, Interest, PartInterest, Relevance};
pub use journal::{Journal, JournalClock, JournalError, JournalHeader, JournalWriter};
pub use lag_compensation::{LagCompensation, SeenState, ViewTime};
pub use list::{Full, List};
pub use live::Live;
pub use lockstep::{GameDelay, Length, Lockstep, LockstepConfig, LockstepError, Pace, SlowMachine};
pub use model::{DesyncReport, Member, Model, ModelEvent, ModelWrapper, Outgoing, Roster, Status};
pub use models::{ModelConfig, ModelConfigError, ModelKind, RoomKind};
#[cfg(feature = "serde")]
pub use opaque::Serde;
pub use opaque::{Opaque, OpaqueCodec, OpaqueState, Own};
pub use random::Rng;
pub use record::{Blend, CellKind, Describe, Field, Holds, InvalidCell, Record, Shown, When};
pub use replay::{
    Damage, Deviation, DivergedState, Divergence, Ending, Playback, Progress, Recorder,
    RecorderConfig, Replay, ReplayError, ReplayHeader, Verified, VerifyError,
};
pub use replicate::{Extraction, Part, Replicate, Restoration};
pub use replicator::{Recipient, Replicator, View};
pub use rewind::{Rewind, RewindConfig, RewindError, WindowLength};
pub use rollback::{Beyond, Rollback, RollbackConfig, RollbackError};
/// Derives [`Record`](trait@Record) for a struct or an enum whose fields are records.
///
/// `#[field(…)]` on a field says how views show it; exact encodings do not depend on it:
///
/// | `#[field(…)]` | |
/// |---|---|
/// | `range(0.0, 1024.0)` | the least and the greatest value |
/// | `precision = 0.01` | the step between neighbouring values of a range |
/// | `owner` | of a [`PlayerId`]: the row is that player's own |
/// | `secret` | never sent to who only views the state: a random generator, a hidden card |
/// | `blend = "linear"` | in proportion to time; `"angle"`, the shorter way round; `"step"`, all at once, is the default |
///
/// Two others say how a field of a type that is no record becomes one:
///
/// | `#[field(…)]` | |
/// |---|---|
/// | `max_len = 16` | of a `String`, `Vec`, `VecDeque`, `BTreeMap` or `BTreeSet`: at most so many bytes or items ([`Bounded`]) |
/// | `with = Conversion` | of any type: by `impl FieldWith<Type> for Conversion` ([`FieldWith`]) |
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
/// Misuse does not compile: types whose size differs between machines or that have no fixed number of fields, references, fields that are to be left
/// out, unknown or incomplete attributes, and types without values or with ambiguous ones.
pub use samestep_derive::Record;
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
/// `#[field(max_len = …)]` and `#[field(with = …)]` are those of [`Record`](derive@Record): for fields that are neither records nor collections of records.
///
/// Misuse does not compile: fields that are neither described nor skipped, scratch memory without a default, attributes in the wrong place, and a type
/// that is no struct, has parameters, or has nothing in it.
pub use samestep_derive::Replicate;
/// Derives [`SharedFields`](trait@SharedFields) for a struct.
///
/// Every field must be shared, a [`Synced`], a [`Variable`], an array of them, or a struct that derives this as well, or be skipped:
///
/// | `#[shared(…)]` | |
/// |---|---|
/// | `owner = authority` | the host, or the leader of a mesh |
/// | `owner = player(1)` | whoever plays in that place; any constant expression |
/// | `owner = each_player` | for arrays: the first belongs to player 0, the next to player 1, and so on |
/// | `exact`, `settled`, `linearisable` | how [`Variable`]s travel: see [`Exactness`], [`Freshness`], [`UpdateOrder`] |
/// | `changed_by = all` | every member may change them, not their owner alone |
/// | `skip` | not shared |
///
/// Without an owner a field keeps the one it was made with. `#[shared(group)]` on the struct makes all its exact variables change together.
/// `#[shared(crate = path::to::samestep_sync)]` on the struct is for crates that re-export this one.
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
/// What is neither shared nor skipped does not compile.
pub use samestep_derive::SharedFields;
pub use samestep_wire::{DecodeError, Delivery, Wire};
pub use save::{LoadError, load_game, save_game};
pub use simulation::Simulation;
pub use snapshot::{Snapshot, SnapshotConfig, SnapshotError};
pub use standby::{AcceptedInputs, FeedError, Handover, NotFed, Standby};
pub use state_sync::{RemotePlayers, StateSync, StateSyncConfig, StateSyncError};
pub use stream::{
    Grid, Interpolation, InterpolationDelay, PacketPart, Publisher, PublisherConfig,
    PublisherStats, ReceivedPart, Store, StoreStats,
};
pub use switch::{Switch, SwitchConditions, SwitchError, SwitchPolicy};
pub use sync_test::{Mismatch, MismatchKind, NotANumber, SyncTestReport, sync_test};
pub use synced::{SetError, Synced};
pub use table::{Kind, RestoreError, Row, Schema, SchemaBuilder, Table};
pub use text::Text;
pub use variable::{
    ChangeId, ChangeOutcome, ChangedBy, DeclarationError, Declared, DoesNotFit, Exactness,
    Freshness, MemberRole, Modify, NoDelta, Refusal, UpdateOrder, Variable, VariableField,
    Variables,
};
pub use view::{SmoothConfig, SmoothStats, SmoothView};
pub use with::{Bounded, FieldWith, MapList, Plain};
pub use world::{AdoptError, Patched, Scene, World, WorldLayout};
