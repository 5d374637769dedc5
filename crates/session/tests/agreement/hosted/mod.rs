//! Hosted rooms: leases, what is seen and what is certain, and changes of host.

mod cases;
mod fault;
mod game;
mod hostile;
mod measure;
mod random;
mod world;
