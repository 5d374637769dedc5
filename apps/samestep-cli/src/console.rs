//! tmp
pub mod command;
pub mod ending;
pub mod input;
pub mod screen;
pub mod spacing;
pub mod values;
pub mod who;
pub use screen::printable;
