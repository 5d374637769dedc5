//! What a mesh costs while nothing is played.

use crate::room::{TestNetwork, config, ms};

#[test]
fn a_mesh_of_sixteen_says_little_while_nothing_is_played() {
    let mut network = TestNetwork::near(1);
    let nodes = network.mesh(config("Ann"), 16);
    network.run(ms(20_000));
    let sent = |network: &TestNetwork, node: usize| -> u64 {
        let now = network.local(node);
        let peers = network.at(node).room().peers().iter().map(|p| p.id);
        let stats = peers.filter_map(|peer| network.at(node).peer_stats(now, peer));
        stats.filter_map(|stats| stats.bytes_sent).sum()
    };
    let before: Vec<u64> = nodes.iter().map(|node| sent(&network, *node)).collect();
    network.run(ms(20_000));
    for (node, before) in nodes.iter().zip(before) {
        let rate = (sent(&network, *node) - before) / 20;
        assert!(rate <= 3_000, "node {node}: {rate} bytes a second");
    }
}
