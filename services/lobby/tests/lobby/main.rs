//! Lobbies with real sockets: a whole evening, hostile requests, restarts, and two lobbies on one PostgreSQL that are killed.

mod evening;
mod hostile;
mod http;
mod killing;
mod load;
mod restart;
#[path = "../../src/test_postgres.rs"]
mod test_postgres;
mod tokens;
