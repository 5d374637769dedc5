//! A settled connection allocates nothing, whatever it is protected with and however much is lost.

#[path = "../benches/exchange/mod.rs"]
mod exchange;

use exchange::{Exchange, Protection};

fn allocations_per_20_000_packets(protection: Protection, loss: f64) -> u64 {
    let mut exchange = Exchange::new(protection);
    // The warm-up loses more, so that every queue and buffer has been longer than it needs to be afterwards.
    exchange.loss = 3.0 * loss;
    exchange.run(20_000);
    exchange.loss = loss;
    let (messages, recovered) = (exchange.messages, exchange.recovered());
    let info = allocation_counter::measure(|| exchange.run(20_000));
    assert!(exchange.messages - messages > 90_000);
    assert_eq!(exchange.recovered() > recovered, loss > 0.0);
    info.count_total
}

#[test]
fn on_a_clean_link() {
    for protection in Protection::ALL {
        let allocations = allocations_per_20_000_packets(protection, 0.0);
        assert_eq!(allocations, 0, "{}", protection.name());
    }
}

#[test]
fn while_losses_are_mended() {
    for protection in Protection::ALL {
        let allocations = allocations_per_20_000_packets(protection, 0.05);
        // Seldom a queue gets longer than ever before and doubles. The benchmark warms up until that has ceased.
        let name = protection.name();
        assert!(allocations <= 4, "{name}: {allocations} in 20,000 packets");
    }
}

/// The counter counts: a test that cannot fail proves nothing.
#[test]
fn connecting_does_allocate() {
    let info = allocation_counter::measure(|| drop(Exchange::new(Protection::Plain)));
    assert!(info.count_total > 0);
}
