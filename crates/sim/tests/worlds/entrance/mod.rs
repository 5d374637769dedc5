//! How programs enter a room of any kind on a testbed: the first node opens it, the others come to it.

use samestep_session::{JoinTo, Match, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{Model, RoomKind, World};

/// The node whose program opens the room.
pub const FIRST: NodeId = NodeId(0);

/// Where the others join.
pub fn door<W: World, M: Model>(testbed: &Testbed<Match<W, M>>) -> JoinTo {
    JoinTo::new(testbed.address(FIRST))
}

/// Starts a program on a node, with one player unless it is a dedicated server.
pub fn enter<W: World, M: Model>(
    testbed: &mut Testbed<Match<W, M>>,
    (kind, door): (RoomKind, JoinTo),
    node: NodeId,
    mut config: SessionConfig,
    (world, model): (W, M),
) {
    let role = match (kind, node == FIRST) {
        (RoomKind::Mesh, true) => Role::Introducer,
        (RoomKind::Mesh, false) => Role::Peer(door),
        (_, true) => Role::Host,
        (_, false) => Role::Client(door),
    };
    if node != FIRST || kind != RoomKind::Dedicated {
        config = config.player("somebody");
    }
    testbed.start(node, |now, seed| {
        Match::new(now, config, role, seed, model, world).unwrap()
    });
}

/// Begins the game.
pub fn start<W: World, M: Model>(testbed: &mut Testbed<Match<W, M>>) {
    testbed.with(FIRST, |now, game| game.session_mut().start(now));
}
