//! What is known about other peers, and what is not.

use crate::room::{TestNetwork, config, ms};
use samestep_session::{PeerId, PeerRoute, PeerStats, PlayerId, SessionEvent, State};

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
        last_heard: None,
        bytes_sent: None,
        bytes_received: None,
    };
    assert_eq!(other, unknown);
    assert!(stats(&network, 1, 0).rtt.is_some());
    assert!(stats(&network, 0, 2).rtt.is_some());
}

#[test]
fn a_host_that_is_gone_is_reported_within_two_seconds_and_named_in_the_end() {
    let mut network = TestNetwork::near(3);
    network.hosted(config("Ann"), 2);
    network.run(ms(20_000));
    let silences = |network: &TestNetwork| {
        let events = network.events[1].iter();
        let silent = |event: &&SessionEvent| matches!(event, SessionEvent::HostSilent { .. });
        events.filter(silent).count()
    };
    assert_eq!(silences(&network), 0, "an idle room is no silent one");
    network.isolate(&[0]);
    // Something to answer: an idle room has nothing to say for a while.
    network.with(1, |now, guest| guest.set_ready(now, PlayerId(1), true));
    network.run(ms(1_000));
    assert_eq!(silences(&network), 0);
    network.run(ms(1_000));
    assert_eq!(silences(&network), 1);
    assert!(network.at(1).is_host_silent());
    network.mend();
    network.run(ms(5_000));
    assert_eq!(network.seen(1, &SessionEvent::HostHeard), 1);
    assert!(!network.at(1).is_host_silent());

    network.kill(0);
    network.run(ms(20_000));
    let gone = network.at(1).peer_stats(network.local(1), PeerId(0));
    let gone = gone.unwrap();
    assert_eq!((gone.rtt, gone.loss, gone.bytes_sent), (None, None, None));
    network.run(ms(80_000));
    let State::Left(reason) = network.at(1).state() else {
        panic!("{:?}", network.at(1).state());
    };
    let words =
        "lost the host, and not back within 60 s: nothing heard from the other side for too long";
    assert_eq!(reason.to_string(), words);
}
