//! A world of machines of any kind: carrying, clocks, frames, cuts, crashes.

use std::time::Duration;

use samestep_netem::LinkConfig;
use samestep_proto::{ChannelId, Config, ConnectOptions, ConnectionId, Endpoint, Event};
use samestep_sim::{NodeId, Pace, ReceiveTime, Testbed};

const ORDERED: ChannelId = ChannelId(3);

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn testbed(seed: u64, latency: Duration) -> (Testbed<Endpoint>, NodeId, NodeId) {
    let mut testbed = Testbed::new(seed);
    testbed.set_links(LinkConfig {
        latency,
        ..LinkConfig::default()
    });
    let server = testbed.add_node();
    let client = testbed.add_node();
    testbed.start(server, |_, seed| {
        Endpoint::new(Config::new("game", 1).accepting(4), seed).unwrap()
    });
    testbed.start(client, |_, seed| {
        Endpoint::new(Config::new("game", 1), seed).unwrap()
    });
    (testbed, server, client)
}

/// Connects and returns when the server knew, with both ends' names for it.
fn connect(
    testbed: &mut Testbed<Endpoint>,
    client: NodeId,
    server: NodeId,
) -> (Duration, ConnectionId, ConnectionId) {
    let to = testbed.address(server);
    let own = testbed
        .with(client, |now, endpoint| {
            endpoint.connect(now, to, ConnectOptions::default())
        })
        .unwrap()
        .unwrap();
    let until = testbed.now() + Duration::from_secs(5);
    while let Some((at, node, event)) = testbed.next(until) {
        if let (true, Event::Connected { id, .. }) = (node == server, event) {
            return (at, own, id);
        }
    }
    panic!("not connected");
}

/// Sends a message each way and returns when the last arrived.
fn exchange(
    testbed: &mut Testbed<Endpoint>,
    ends: [(NodeId, ConnectionId); 2],
) -> Option<Duration> {
    for (node, id) in ends {
        testbed.with(node, |now, endpoint| {
            endpoint.send(now, id, ORDERED, b"hello").unwrap();
        });
    }
    let (mut got, until) = ([false; 2], testbed.now() + Duration::from_secs(3));
    while let Some((at, node, event)) = testbed.next(until) {
        for (mine, (of, id)) in got.iter_mut().zip(ends) {
            if node == of && event == (Event::Readable { id }) {
                testbed.with(node, |_, endpoint| {
                    while let Some(message) = endpoint.recv(id) {
                        *mine |= message.payload == b"hello";
                    }
                });
            }
        }
        if got == [true; 2] {
            return Some(at);
        }
    }
    None
}

#[test]
fn machines_talk_and_the_same_seed_tells_the_same_story() {
    let story = |seed| {
        let (mut testbed, server, client) = testbed(seed, ms(20));
        let (connected, own, theirs) = connect(&mut testbed, client, server);
        let exchanged = exchange(&mut testbed, [(client, own), (server, theirs)]).unwrap();
        assert!(
            exchanged - connected < ms(50),
            "{connected:?} {exchanged:?}"
        );
        let (up, down) = (testbed.traffic(client), testbed.traffic(server));
        assert_eq!(
            testbed.traffic_between(client, server).wire_bytes_sent(),
            up.wire_bytes_sent()
        );
        (exchanged, up, down, testbed.local(client))
    };
    assert_eq!(story(3), story(3));
    assert_ne!(story(3).3, story(4).3, "clocks start anywhere");
}

#[test]
fn drifting_clocks_still_meet_their_deadlines() {
    let (mut testbed, server, client) = testbed(5, ms(20));
    testbed.set_drift(client, 5_000.0);
    testbed.set_drift(server, -5_000.0);
    let (_, own, theirs) = connect(&mut testbed, client, server);
    let before = [testbed.local(client), testbed.local(server)];
    while testbed.next(Duration::from_secs(120)).is_some() {}
    assert!(exchange(&mut testbed, [(client, own), (server, theirs)]).is_some());
    let passed = [
        testbed.local(client) - before[0],
        testbed.local(server) - before[1],
    ];
    let apart = (passed[0] - passed[1]).as_secs_f64();
    assert!(
        (1.19..1.25).contains(&apart),
        "{apart} s apart after two minutes"
    );
}

#[test]
fn a_program_that_looks_once_a_frame_answers_later() {
    let (mut quick, server, client) = testbed(6, ms(10));
    let (prompt, ..) = connect(&mut quick, client, server);
    for receive_time in [ReceiveTime::Arrival, ReceiveTime::Reading] {
        let (mut slow, server, client) = testbed(6, ms(10));
        slow.set_pace(server, Pace::Frames { period: ms(50) }, receive_time);
        let (late, own, theirs) = connect(&mut slow, client, server);
        assert!(late > prompt + ms(10), "{late:?} after {prompt:?}");
        assert!(exchange(&mut slow, [(client, own), (server, theirs)]).is_some());
        slow.set_pace(server, Pace::Immediate, receive_time);
        assert!(exchange(&mut slow, [(client, own), (server, theirs)]).is_some());
    }
}

#[test]
fn cuts_lose_everything_in_the_directions_they_say() {
    let (mut testbed, server, client) = testbed(7, ms(10));
    let (_, own, theirs) = connect(&mut testbed, client, server);
    let ends = [(client, own), (server, theirs)];
    testbed.cut_one_way(server, client);
    while testbed.next(Duration::from_secs(1)).is_some() {}
    let received = testbed.traffic(client).datagrams_received;
    assert_eq!(exchange(&mut testbed, ends), None);
    assert_eq!(testbed.traffic(client).datagrams_received, received);
    assert!(testbed.traffic_between(client, server).datagrams_received > 3);
    testbed.mend(server, client);
    assert!(exchange(&mut testbed, ends).is_some());
    testbed.isolate(server);
    assert_eq!(exchange(&mut testbed, ends), None);
    testbed.rejoin(server);
    assert!(exchange(&mut testbed, ends).is_some());
    testbed.split(|node| node == server);
    assert_eq!(exchange(&mut testbed, ends), None);
    testbed.mend_all();
    assert!(exchange(&mut testbed, ends).is_some());
}

#[test]
fn a_killed_program_says_nothing_and_another_may_start_in_its_place() {
    let (mut testbed, server, client) = testbed(8, ms(10));
    let (_, own, _) = connect(&mut testbed, client, server);
    let sent = testbed.traffic(server).datagrams_sent;
    assert!(testbed.kill(server).is_some() && !testbed.is_running(server));
    assert!(testbed.with(server, |_, _| ()).is_none());
    let lost = loop {
        let (at, node, event) = testbed.next(Duration::from_secs(60)).unwrap();
        if let (true, Event::Closed { id, .. }) = (node == client, event) {
            assert_eq!(id, own);
            break at;
        }
    };
    assert!(
        lost > Duration::from_secs(9),
        "noticed by silence: {lost:?}"
    );
    assert_eq!(testbed.traffic(server).datagrams_sent, sent);
    testbed.start(server, |_, seed| {
        Endpoint::new(Config::new("game", 1).accepting(4), seed).unwrap()
    });
    let (_, own, theirs) = connect(&mut testbed, client, server);
    assert!(exchange(&mut testbed, [(client, own), (server, theirs)]).is_some());
}
