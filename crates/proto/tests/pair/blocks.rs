//! Long messages: they arrive whole, and what does not fit is refused at once.

use samestep_proto::{ChannelId, SendError};

use crate::world::*;

const MIB: usize = 1 << 20;

#[test]
fn sixteen_mebibytes_arrive_through_loss() {
    for channel in [UNORDERED, ORDERED] {
        let mut pair = Pair::over(config(), lossy(20, 0.02), 3);
        let block = content(7, 16 * MIB);
        pair.send(CLIENT, channel, &block);
        pair.run_until(secs(30), |pair| !pair[SERVER].received.is_empty());
        assert!(pair.payloads(SERVER, channel) == [block]);
        pair.run_for(secs(2));
        assert_eq!(pair.stats(CLIENT).queued_bytes, 0);
        assert!(pair[SERVER].endpoint.memory_bytes() < 2 * 16 * MIB + 4 * MIB);
    }
}

#[test]
fn a_full_queue_and_too_long_a_message_are_errors_and_clog_nothing() {
    let mut pair = Pair::connected(config());
    let block = vec![1; 16 * MIB];
    pair.send(CLIENT, ORDERED, &block);
    pair.send(CLIENT, ORDERED, &block);
    assert_eq!(
        pair.try_send(CLIENT, ORDERED, &block),
        Err(SendError::QueueFull)
    );
    let limit = 32 * MIB;
    let too_long = vec![0; limit + 1];
    let refused = pair.try_send(CLIENT, UNORDERED, &too_long);
    assert_eq!(refused, Err(SendError::TooLong { limit }));
    let limit = 64 << 10;
    let refused = pair.try_send(CLIENT, UNRELIABLE, &too_long[..limit + 1]);
    assert_eq!(refused, Err(SendError::TooLong { limit }));
    let unknown = pair.try_send(CLIENT, ChannelId(31), b"x");
    assert_eq!(unknown, Err(SendError::UnknownChannel));
    // What was accepted arrives, also on the channel that was full, and then there is room again.
    pair.send(CLIENT, ORDERED, b"after");
    pair.send(CLIENT, UNRELIABLE, &too_long[..limit]);
    pair.run_until(secs(60), |pair| {
        pair[SERVER].received.iter().any(|r| r.payload == b"after")
    });
    assert_eq!(pair.payloads(SERVER, ORDERED).len(), 3);
    assert_eq!(pair.payloads(SERVER, UNRELIABLE), [vec![0; limit]]);
    pair.run_for(secs(1));
    pair.send(CLIENT, ORDERED, &block);
}

#[test]
fn many_small_messages_fill_the_queue_too() {
    let mut config = config();
    config.channels[3].queue_limit = 100_000;
    config.channels[3].max_message = 50_000;
    let mut pair = Pair::connected(config);
    let accepted = (0..10_000)
        .take_while(|_| pair.try_send(CLIENT, ORDERED, &[5; 100]).is_ok())
        .count();
    // Each counts 16 bytes beside its own.
    assert_eq!(accepted, 100_000 / 116);
    pair.run_for(secs(5));
    assert_eq!(pair.payloads(SERVER, ORDERED).len(), accepted);
}

#[test]
fn empty_messages_cannot_fill_the_memory() {
    let mut config = config();
    for channel in &mut config.channels {
        channel.queue_limit = 100_000;
        channel.max_message = 50_000;
    }
    for channel in all() {
        let mut pair = Pair::connected(config.clone());
        pair.filter = Some(Box::new(|_| false));
        let accepted = (0..1_000_000)
            .take_while(|_| pair.try_send(CLIENT, channel, b"").is_ok())
            .count();
        let held = pair.stats(CLIENT).messages_sent - pair.stats(CLIENT).messages_dropped;
        assert!(
            accepted < 1_000_000 || held < 100_000,
            "{channel:?}: {held} wait"
        );
    }
}
