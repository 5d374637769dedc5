//! tmp
pub mod command;
pub mod input;
pub mod screen;
pub mod spacing;
pub mod values;
pub use screen::printable;
