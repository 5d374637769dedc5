//! Models and worlds without a network: what they say arrives after a while, or gets lost.

mod guests;
mod meadow;
