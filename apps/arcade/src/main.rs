//! The arcade in a window.
fn main() {}
