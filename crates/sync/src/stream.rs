//! Snapshots with delta compression: a state is quantised once, and each client is sent what has changed since the baseline it has [acknowledged].
//!
//! A state is cut into [snapshot pages](page) of 64 rows, field by field, on the [grid] of the wire. A client receives a snapshot as a number of [packet
//! parts](part), each of which can be decoded on its own and may be lost: a part covers a range of pages and consists of [delta segments](segment),
//! rows of a page against one baseline. Rows that no part mentions have not changed. A receiver draws snapshots through a [jitter buffer](jitter_buffer).
//!
//! The method is that of Quake 3 (each client's baseline is the newest snapshot it has acknowledged, so nothing is ever sent again) as described by Glenn
//! Fiedler, *Snapshot Compression*, 2015; baselines are kept for rows here, not for whole snapshots, so that budget and interest can differ by row.

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
pub use jitter_buffer::{Interpolation, InterpolationDelay};
pub(crate) use jitter_buffer::{JitterBuffer, JitterBufferConfig};
pub use pack::PacketPart;
pub use publish::{Publisher, PublisherConfig, PublisherStats};
pub use store::{ReceivedPart, Store, StoreStats};
