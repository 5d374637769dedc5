//! State that stays the same everywhere.

mod id;

pub use id::{Owner, PeerId, PlayerId};
