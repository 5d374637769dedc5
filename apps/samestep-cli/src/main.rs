//! The `samestep` program.

fn main() {}
