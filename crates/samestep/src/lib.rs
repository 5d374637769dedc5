//! Keeps one game simulation in step over any network.
