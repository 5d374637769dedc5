//! Round trip, jitter and loss as the connection sees them, against what the link really does.

use samestep_netem::{Jitter, LinkConfig};

use crate::world::*;

/// Plays for a while at 60 Hz in both directions.
fn play(link: LinkConfig, seconds: u64) -> Pair {
    let mut pair = Pair::over(config(), link, 11);
    for i in 0..seconds * 60 {
        for who in [CLIENT, SERVER] {
            pair.send(who, UNRELIABLE, &content(i as usize, 60));
        }
        pair.run_for(std::time::Duration::from_micros(16_667));
    }
    pair
}

#[test]
fn round_trip_is_measured_to_the_millisecond() {
    for one_way in [1, 10, 40, 200] {
        let pair = play(latency(one_way), 5);
        for who in [CLIENT, SERVER] {
            let stats = pair.stats(who);
            let truth = 2 * ms(one_way);
            assert_eq!(stats.rtt_min, truth);
            assert!(
                stats.rtt >= truth && stats.rtt < truth + ms(2),
                "{:?}",
                stats.rtt
            );
            assert!(stats.jitter < ms(2), "{:?}", stats.jitter);
            assert_eq!(stats.packets_lost, 0);
        }
    }
}

#[test]
fn jitter_is_seen() {
    let link = LinkConfig {
        jitter: Jitter {
            amount: ms(10),
            ..Jitter::default()
        },
        ..latency(30)
    };
    let stats = play(link, 10).stats(CLIENT);
    assert!(
        stats.jitter > ms(1) && stats.jitter < ms(10),
        "{:?}",
        stats.jitter
    );
    assert!(stats.rtt > ms(60) && stats.rtt < ms(80), "{:?}", stats.rtt);
}

#[test]
fn loss_is_estimated_near_the_truth() {
    for loss in [0.0, 0.01, 0.05, 0.2] {
        let pair = play(lossy(30, loss), 30);
        for who in [CLIENT, SERVER] {
            let stats = pair.stats(who);
            let over_all = stats.packets_lost as f64 / stats.packets_sent as f64;
            assert!(
                (over_all - loss).abs() < 0.01 + loss / 5.0,
                "{over_all} of {loss} over all"
            );
            let lately = f64::from(stats.loss);
            assert!(
                (lately - loss).abs() < 0.03 + loss / 3.0,
                "{lately} of {loss} lately"
            );
        }
    }
}

#[test]
fn late_packets_are_not_counted_as_lost_for_good() {
    let link = LinkConfig {
        reorder: 0.05,
        reorder_by: ms(15),
        ..latency(30)
    };
    let stats = play(link, 20).stats(CLIENT);
    let share = stats.packets_lost as f64 / stats.packets_sent as f64;
    assert!(share < 0.01, "{share}");
}
