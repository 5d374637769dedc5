//! Two programs behind routers of every kind, with a relay between, in virtual time.

mod combinations;
mod endpoints;
mod failures;
mod hostile;
mod mesh;
mod nat;
mod relaying;
mod world;
