//! Brings together people who know no address: rooms with names, limits, passwords, invite codes, ready, chat and kick; a list that updates itself; and a start that hands every
//! member the others' ids, names, keys and ways, and a connect token for the host. `docs/lobby.md` has the protocol.
//!
//! | part | what it is |
//! |---|---|
//! | [`Directory`](directory::Directory) | the core, without IO: who may do what, and what is committed before it is answered |
//! | [`store`] | what survives: SQLite for one lobby, PostgreSQL for several |
//!
//! | [`Lobby`] | HTTP and WebSocket around it: [`Lobby::start`] for the program that hosts a lobby, [`Lobby::bind`] for a service |
//! | [`Client`] | a program's connection to a lobby, in the words of [`protocol`] |
//!
//! It is no matchmaker, carries no game traffic and knows no accounts: whoever holds a key and a secret is who it was.

mod client;
pub mod directory;
mod events;
mod ids;
mod limits;
pub mod protocol;
mod refusal;
mod room;
mod secret;
mod server;
pub mod store;
#[cfg(test)]
mod test_postgres;

pub use client::{Client, ClientError, ListClient};
pub use events::RoomSummary;
pub use ids::{InviteCode, LobbyId, MAX_NAME_CHARS, MemberId, Name, RoomId};
pub use limits::{Origin, Rate};
pub use refusal::Refusal;
pub use secret::{MAX_PASSWORD_BYTES, PasswordCost, PasswordHash, RejoinSecret, RoomPassword};
pub use server::{Lobby, LobbyConfig, LobbyError, RunningLobby, StoreChoice, openapi};
