//! Models and worlds without a network: messages arrive after a while, or get lost.

mod cheats;
mod fog;
mod guests;
mod loopback;
mod rewind;
mod succession;
mod test_network;
