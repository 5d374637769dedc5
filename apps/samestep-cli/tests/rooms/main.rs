//! Rooms as people meet them: several `samestep` programs, each with its own input and output.

mod discover;
mod failures;
mod hosted;
mod invited;
mod journal;
mod known;
mod mesh;
mod namespaces;
mod outlived;
mod played;
mod terminal;
mod without_host;
