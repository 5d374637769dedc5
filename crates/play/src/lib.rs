//! The games of Samestep played over a network, without a screen.
//!
//! A program that shows a game reads a [`Command`] from its command line and opens a [`Playing`] with it: a [`Game`](samestep::Game) of `samestep` with
//! all that a shipped game needs around it. It then loops: [`run_for`](Playing::run_for), [`set_controls`](Playing::set_controls), draw
//! [`shown`](Playing::shown), [`table`](Playing::table), [`lines`](Playing::lines) and [`figures`](Playing::figures). The `samestep` program does
//! so in a terminal, the arcade in a window.
//!
//! - [`Command`] and its arguments are the command line, the same for terminal and window; [`link`] is the impaired link.
//! - [`Playing`] is one program's part in a match: waiting room, settings, bots, chat, scores, coming back after a crash.
//! - [`Table`] is the score table with names.
//! - [`announce`] and [`search`] let a room be found in the local network, [`address`] resolves one.
//! - [`state_folder`] is where programs keep what they remember.
//! - [`password`] is where the password of a game is read from, [`lobby`] what a lobby has to do with it.
//! - [`identity`] keeps this user's keys, [`known_hosts`] those of hosts that were joined.
//! - [`failure`] says in words and as an exit code why something did not work.
//!
//! It knows no game: a game implements [`Playable`](samestep_playable::Playable) and is played.

pub mod address;
pub mod announce;
mod arguments;
mod bots;
mod ending;
pub mod failure;
mod folder;
pub mod identity;
mod journal;
pub mod known_hosts;
pub mod link;
pub mod lobby;
pub mod password;
mod playing;
mod rejoin;
mod scores;
pub mod search;
mod text;

pub use arguments::{
    Command, HostArguments, JoinArguments, OpenArguments, PlayerArguments, RoomArguments,
    ServeArguments, SharedArguments, WatchArguments, user_name,
};
pub use ending::ending;
pub use folder::state_folder;
pub use journal::JournalArguments;
pub use playing::{Playing, Stage, VERSION};
pub use scores::{Row, Table};
pub use text::printable;
