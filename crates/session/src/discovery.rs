//! Finding rooms in the local network.
