//! What is known about other peers, and what is not.

mod room;

use room::{TestNetwork, config, ms};
use samestep_session::{PeerRoute, PeerStats};

fn stats(network: &TestNetwork, here: usize, of: usize) -> PeerStats {
    let peer = network.at(of).me().unwrap();
    let known = network.at(here).peer_stats(network.local(here), peer);
    known.unwrap()
}

#[test]
fn a_loss_is_unknown_before_it_is_measured() {
    let mut network = TestNetwork::near(1);
    network.hosted(config("Ann"), 1);
    assert_eq!(stats(&network, 1, 0).loss, None, "nothing is assumed");
    network.run(ms(60_000));
    assert_eq!(stats(&network, 1, 0).loss, Some(0.0), "nothing got lost");
    assert!(stats(&network, 1, 0).rtt.is_some());
}

#[test]
fn who_is_behind_a_host_has_no_figures_of_the_host() {
    let mut network = TestNetwork::near(2);
    network.hosted(config("Ann"), 2);
    network.run(ms(60_000));
    let host = network.at(0).me().unwrap();
    let other = stats(&network, 1, 2);
    let unknown = PeerStats {
        route: PeerRoute::Via(host),
        rtt: None,
        jitter: None,
        loss: None,
        clock_offset_us: None,
        bytes_sent: None,
        bytes_received: None,
    };
    assert_eq!(other, unknown);
    assert!(stats(&network, 1, 0).rtt.is_some());
    assert!(stats(&network, 0, 2).rtt.is_some());
}
