//! The agreement of a room: one log, and who decides it. `docs/agreement.md` describes the protocol.
//!
//! [`Agreement`] is one program's part. It holds a [`Replica`] (Sequence Paxos within a [`View`], a last entry that names the next view between views) and what has
//! to do with time: who is heard, when to campaign, whom to admit and to exclude. It has no endpoint, no clock and no randomness of its own.
//!
//! Two programs, one of which founds a room and the other joins it:
//!
//! ```
//! use core::time::Duration;
//! use samestep_session::agreement::{Agreement, AgreementConfig, Event, Incarnation, Member, Slot};
//!
//! let config = AgreementConfig::default();
//! let me = Member { incarnation: Incarnation(0x5eed), slot: Slot(0) };
//! let mut one = Agreement::found(Duration::ZERO, config, 7, me);
//! let mut two = Agreement::join(Duration::ZERO, config, 7, Incarnation(0xcafe), None);
//! two.propose(Duration::ZERO, "open the door")?;
//! let mut shown = Vec::new();
//! for now in (0..1000).step_by(50).map(Duration::from_millis) {
//!     one.handle_timeout(now);
//!     two.handle_timeout(now);
//!     while let Some(message) = two.poll_knock().or_else(|| two.poll_message()) {
//!         one.handle(now, message.from, message);
//!     }
//!     while let Some(message) = one.poll_message() {
//!         two.handle(now, message.from, message);
//!     }
//!     while let Some(event) = one.poll_event(now) {
//!         if let Event::Command { command, .. } = event {
//!             shown.push(command);
//!         }
//!     }
//! }
//! assert_eq!(one.view().members.len(), 2);
//! assert_eq!(shown, ["open the door"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ballot;
mod config;
mod core;
mod delivery;
mod detector;
mod election;
mod farewell;
mod flush;
mod hosted;
mod leader;
mod learner;
mod lease;
mod log;
mod message;
mod replica;
mod requests;
mod shown;
mod standby;
mod view;

pub use self::core::{Agreement, Standing, TooManyRequests};
pub use ballot::Ballot;
pub use config::AgreementConfig;
pub use delivery::Event;
pub use farewell::{Farewell, Farewells};
pub use flush::{Flush, Holding};
pub use hosted::{Hosted, HostedConfig, HostedRole, NotAppended};
pub use log::{Entry, Log, MAX_ENTRIES, Point, Snapshot, Start, Suffix};
pub use message::{Beat, Body, Message, Status};
pub use replica::{Outgoing, Replica};
pub use requests::{MAX_ASKED, MAX_PENDING, Request, RequestTable};
pub use shown::{Grade, HostedEvent};
pub use standby::{Ability, Demand, choose_standbys};
pub use view::{Cut, Incarnation, Item, MAX_MEMBERS, Member, NextView, Slot, View};
