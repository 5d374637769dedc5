//! Snapshots of a state as a stream: quantised once, each client told of what has changed since what it confirmed.
//!
//! A state is cut into [pages](page) of 64 rows, field by field, on the [grid] of the wire. What one client is told of a tick is
//! a number of [parts](part), each of which can be understood on its own and may be lost: a part covers a range of pages and
//! consists of [segments](segment), rows of a page against one baseline. What it does not mention has not changed.

mod column;
mod grid;
mod page;
mod part;
mod segment;

pub use grid::Grid;
