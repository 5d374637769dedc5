//! The figures the controller must reach, in a small simulated network.

use std::time::Duration;

use super::world::{App, Path, Report, World};
use super::{Ack, Congestion};

const SECOND: Duration = Duration::from_secs(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn path(rate_mbps: f64, queue: u64, rtt: u64, jitter: u64, loss: f64) -> Path {
    Path {
        rate_bps: rate_mbps * 1e6,
        queue: ms(queue),
        latency: ms(rtt) / 2,
        jitter: ms(jitter),
        loss,
        outage: None,
        changes: Vec::new(),
    }
}

fn flood(mbps: f64) -> App {
    App {
        message_bytes: 200,
        messages_per_s: mbps * 1e6 / 1600.0,
        stale: ms(50),
        ..App::default()
    }
}

fn one(path: Path, app: App, seed: u64, end: Duration) -> Report {
    World::new(path, &[app], seed).run(end).remove(0)
}

/// A block of 16 MiB beside a stream of small messages: seconds it takes, and milliseconds added to the stream's
/// p99.
fn block(path: Path, start: Duration, seed: u64) -> (f64, f64) {
    let app = App {
        message_bytes: 100,
        messages_per_s: 60.0,
        stale: 1000 * SECOND,
        block_bytes: 16 << 20,
        block_at: start,
        ..App::default()
    };
    let idle = path.latency + path.jitter;
    let report = one(path, app, seed, start + 60 * SECOND);
    let done = report.block_done.expect("done within a minute");
    let added = report.latency(0.99, start, done).saturating_sub(idle);
    ((done - start).as_secs_f64(), added.as_secs_f64() * 1e3)
}

#[test]
fn a_block_is_fast_and_leaves_the_stream_alone() {
    for (jitter, limit) in [(0, 2.4), (2, 2.6)] {
        for start in [Duration::ZERO, 3 * SECOND] {
            let (seconds, added_ms) = block(path(100.0, 100, 100, jitter, 0.02), start, 5);
            assert!(seconds < limit, "jitter {jitter} ms: {seconds:.2} s");
            assert!(
                added_ms < 15.0,
                "jitter {jitter} ms: stream {added_ms:.1} ms later"
            );
        }
    }
}

#[test]
fn a_block_survives_heavy_reordering() {
    let (seconds, added_ms) = block(path(100.0, 100, 100, 10, 0.02), 3 * SECOND, 5);
    assert!(
        seconds < 5.0 && added_ms < 20.0,
        "{seconds:.2} s, stream {added_ms:.1} ms later"
    );
}

#[test]
fn an_overloaded_link_stays_full_and_its_queue_short() {
    for (rtt, jitter, loss) in [
        (20, 0, 0.0),
        (20, 10, 0.02),
        (50, 5, 0.01),
        (100, 0, 0.02),
        (100, 10, 0.0),
        (100, 10, 0.02),
    ] {
        let report = one(
            path(1.0, 500, rtt, jitter, loss),
            flood(2.0),
            3,
            30 * SECOND,
        );
        let used = report.wire_bps(Duration::ZERO, 30 * SECOND) / 1e6;
        let wait = report.wait(0.95, Duration::ZERO, 30 * SECOND);
        assert!(
            used > 0.95,
            "rtt {rtt} jitter {jitter} loss {loss}: {used:.3} of the link"
        );
        assert!(
            wait < ms(42),
            "rtt {rtt} jitter {jitter} loss {loss}: {wait:?} in the queue"
        );
    }
}

#[test]
fn two_flows_share() {
    for late in [Duration::ZERO, 5 * SECOND] {
        let second = App {
            start: late,
            ..flood(2.0)
        };
        let reports =
            World::new(path(1.0, 500, 50, 5, 0.01), &[flood(2.0), second], 1).run(40 * SECOND);
        let rate = |flow: &Report| flow.wire_bps(10 * SECOND, 40 * SECOND);
        let (a, b) = (rate(&reports[0]), rate(&reports[1]));
        let jain = (a + b).powi(2) / (2.0 * (a * a + b * b));
        assert!(jain > 0.9, "{a:.0} and {b:.0} bit/s");
    }
}

#[test]
fn follows_the_capacity_down_and_up() {
    let mut path = path(4.0, 500, 50, 5, 0.01);
    path.changes = vec![(10 * SECOND, 1e6), (20 * SECOND, 4e6)];
    let report = one(path, flood(6.0), 1, 26 * SECOND);
    assert!(report.wait(0.95, 12 * SECOND, 20 * SECOND) < ms(50));
    assert!(report.wire_bps(24 * SECOND, 26 * SECOND) > 3.6e6);
}

#[test]
fn little_traffic_is_never_held_back() {
    for (rtt, jitter, loss, bytes, per_s) in [
        (50, 0, 0.3, 100, 60.0),
        (50, 100, 0.0, 100, 60.0),
        (100, 100, 0.1, 200, 300.0),
    ] {
        let app = App {
            message_bytes: bytes,
            messages_per_s: per_s,
            stale: 1000 * SECOND,
            ..App::default()
        };
        let report = one(path(100.0, 100, rtt, jitter, loss), app, 3, 30 * SECOND);
        let latest = report.latency(1.0, Duration::ZERO, 30 * SECOND);
        assert!(
            latest < ms(rtt / 2 + jitter + 20),
            "jitter {jitter} loss {loss}: {latest:?}"
        );
    }
}

#[test]
fn bursts_of_loss_do_not_bring_it_down() {
    let mut path = path(20.0, 100, 100, 2, 0.0);
    path.outage = Some((SECOND, ms(60)));
    let (seconds, _) = block(path, 3 * SECOND, 1);
    assert!(seconds < 9.5, "{seconds:.1} s where 7.5 would be perfect");
}

#[test]
fn a_queue_too_short_to_see_is_not_flooded() {
    let report = {
        let app = App {
            block_bytes: 8 << 20,
            ..App::default()
        };
        one(path(20.0, 5, 100, 0, 0.0), app, 1, 20 * SECOND)
    };
    assert!(report.block_done.expect("done") < 5 * SECOND);
    assert!(
        report.lost * 4 < report.packets,
        "{} of {} lost",
        report.lost,
        report.packets
    );
}

#[test]
fn silence_stops_the_sender_and_losses_let_it_try_again() {
    let mut control = Congestion::new(Duration::ZERO, 1200);
    let mut now = Duration::ZERO;
    let mut packets = 0;
    while let Some(next) = control.next_send(now) {
        now = next;
        while control.budget(now) > 0 {
            control.on_sent(now, packets, 1200, true);
            packets += 1;
        }
    }
    assert!((32..200).contains(&packets) && control.in_flight() >= control.window());
    for packet in 0..packets {
        control.on_lost(now, packet, 1200);
    }
    assert_eq!(control.in_flight(), 0);
    assert!(control.next_send(now).is_some());
    // They were only late after all: counted once.
    let ack = Ack {
        largest: packets - 1,
        sent_at: now,
        received_at_us: u32::MAX,
        ack_delay: Duration::ZERO,
        rtt: Some(ms(50)),
        newly_acked_bytes: 1200 * packets as usize,
        newly_acked_packets: packets as usize,
    };
    control.on_ack(now + ms(50), &ack);
    assert_eq!(control.in_flight(), 0);
}
