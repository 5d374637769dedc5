//! Snapshots of a state as a stream: quantised once, each client told of what has changed since what it confirmed.
//!
//! A state is cut into [pages](page) of 64 rows, field by field, on the [grid] of the wire. What one client is told of a tick is
//! a number of [parts](part), each of which can be understood on its own and may be lost: a part covers a range of pages and
//! consists of [segments](segment), rows of a page against one baseline. What it does not mention has not changed.

mod acknowledged;
mod cache;
mod client;
mod column;
mod correct;
mod grid;
mod history;
mod jitter_buffer;
mod pack;
mod page;
mod part;
mod priority;
mod publish;
mod sample;
mod segment;
mod store;
#[cfg(test)]
mod tests;

pub use grid::Grid;
pub use jitter_buffer::{Interpolation, InterpolationDelay, JitterBuffer, JitterBufferConfig};
pub use pack::PacketPart;
pub use publish::{Publisher, PublisherConfig, PublisherStats};
pub use store::{ReceivedPart, Store, StoreStats};
