//! Models and worlds without a network: what they say arrives after a while, or gets lost.

mod cheats;
mod fog;
mod guests;
mod test_network;
