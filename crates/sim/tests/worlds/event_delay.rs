//! Games whose inputs take effect after a common delay, in rooms with their own clocks. A failing seed replays with
//! `samestep lab soak --suite event-delay --seeds 1 --seed N`.

use std::time::Duration;

use crate::tally::{Room, links};
use samestep_netem::{Jitter, LinkConfig};
use samestep_sim::{NodeId, Suite, soak};
use samestep_sync::{EventDelay, EventDelayConfig, GameDelay};

fn constant(delay_ms: u64) -> EventDelay {
    EventDelay::new(EventDelayConfig {
        delay: GameDelay::Constant(Duration::from_millis(delay_ms)),
        ..EventDelayConfig::default()
    })
    .unwrap()
}

fn rollbacks(room: &Room<EventDelay>) -> u64 {
    let nodes = room.nodes();
    nodes.iter().map(|node| room.status(*node).rollbacks).sum()
}

fn stalled(room: &Room<EventDelay>) -> u64 {
    let nodes = room.nodes().into_iter();
    nodes.map(|node| room.status(node).stalled_ticks).sum()
}

#[test]
fn everyone_sees_the_same_and_plays_on() {
    let report = soak(Suite::EVENT_DELAY, 0, 50, |_| ());
    println!("event delay: {report}");
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
}

#[test]
fn within_the_delay_nothing_is_ever_corrected() {
    for latency_ms in [10, 25, 50] {
        let mut room = Room::of(true, (0..3).map(|_| constant(50)));
        room.testbed.set_links(links(latency_ms, 0.0));
        // The clock finds out about the links.
        room.play(10);
        let before = (rollbacks(&room), stalled(&room));
        room.play(60);
        assert_eq!(
            (rollbacks(&room), stalled(&room)),
            before,
            "{latency_ms} ms"
        );
        room.run(1000);
        room.assert_same();
        room.assert_recorded();
    }
}

#[test]
fn beyond_the_delay_nobody_waits() {
    for mesh in [true, false] {
        let mut room = Room::of(mesh, (0..3).map(|_| constant(50)));
        room.testbed.set_links(links(120, 0.1));
        room.play(10);
        let before = stalled(&room);
        room.play(20);
        assert_eq!(stalled(&room), before);
        assert!(rollbacks(&room) > 100);
        room.run(2000);
        room.assert_same();
    }
}

#[test]
fn the_delay_follows_the_links_in_every_room() {
    for (mesh, most) in [(true, 85), (false, 190)] {
        let mut room = Room::of(mesh, (0..3).map(|_| EventDelay::default()));
        room.testbed.set_links(LinkConfig {
            jitter: Jitter {
                amount: Duration::from_millis(10),
                ..Jitter::default()
            },
            ..links(40, 0.01)
        });
        room.play(15);
        let (before, seconds) = (rollbacks(&room), 30);
        room.play(seconds);
        let delays = room.nodes().into_iter();
        let delays: Vec<_> = delays
            .map(|node| room.game(node).model().game_delay())
            .collect();
        let shortest = *delays.iter().min().unwrap();
        let longest = *delays.iter().max().unwrap();
        assert!(longest - shortest < Duration::from_millis(10), "{delays:?}");
        assert!(longest < Duration::from_millis(most), "{delays:?}");
        // Of 20 inputs a second, at three programs, hardly any comes too late, and those that were lost.
        let late = rollbacks(&room) - before;
        assert!(late <= 20 * seconds * 3 / 50, "{late} late, mesh: {mesh}");
        room.run(1000);
        room.assert_same();
    }
}

#[test]
fn one_who_is_killed_stops_nobody() {
    let mut room = Room::of(true, (0..4).map(|_| EventDelay::default()));
    room.play(3);
    room.testbed.kill(NodeId(2));
    let (before, at) = (stalled(&room), room.status(NodeId(0)).tick);
    for second in 0..15 {
        room.play_at(&[NodeId(0), NodeId(1), NodeId(3)], 1);
        let ran = room.status(NodeId(0)).tick.since(at);
        let due = 60 * (second + 1);
        assert!(ran.abs_diff(due) <= 2, "{ran} of {due}");
    }
    assert_eq!(stalled(&room), before);
    room.run(1000);
    room.assert_same();
    let status = room.status(NodeId(0));
    assert!(status.tick.since(status.confirmed_tick) < 30, "{status:?}");
}

/// Bytes with their headers, and packets, that one of five players sends to each other one in a second.
#[test]
fn a_connection_needs_little() {
    const SECONDS: u64 = 20;
    let mut room = Room::of(true, (0..5).map(|_| EventDelay::default()));
    room.testbed.set_links(links(25, 0.0));
    room.play(5);
    let sent = |room: &Room<EventDelay>| {
        let traffic = room.testbed.traffic(NodeId(1));
        (traffic.wire_bytes_sent(), traffic.datagrams_sent)
    };
    let before = sent(&room);
    room.play(SECONDS);
    let after = sent(&room);
    let (bytes, packets) = (after.0 - before.0, after.1 - before.1);
    let kbit = bytes as f64 * 8.0 / 1000.0 / (SECONDS * 4) as f64;
    let packets = packets as f64 / (SECONDS * 4) as f64;
    println!("{kbit:.1} kbit/s and {packets:.1} packets/s on each connection");
    assert!(kbit < 18.0 && packets < 30.0, "{kbit} {packets}");
}
