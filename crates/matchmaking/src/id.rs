//! The names of players, tickets, matches, beacons and servers.

use samestep_wire::Wire;

/// A player's account, as the lobby knows it. Who may speak for a player is the lobby's to check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct PlayerId(pub u64);

/// A request for a match. Ids grow in the order in which tickets come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct TicketId(pub u64);

/// A match that was formed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct MatchId(pub u64);

/// A mode of the game that players queue for: each has a queue of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct ModeId(pub u16);

/// A well-known place to which players measure round trips: a data centre, a relay, a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct BeaconId(pub u16);

/// A dedicated server that offers room for matches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct ServerId(pub u32);
