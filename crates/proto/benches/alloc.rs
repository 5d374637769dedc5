//! How often memory is allocated once a connection has settled: never, or this ends with an error.

mod exchange;

use exchange::{Exchange, Protection};
use std::process::ExitCode;

/// At three times the loss, and long: a queue that gets longer than ever before doubles its memory, once, and how long
/// queues get is a matter of luck.
const WARM_UP: u64 = 300_000;
const MEASURED: u64 = 60_000;

fn main() -> ExitCode {
    let mut clean = true;
    println!(
        "allocations in {MEASURED} packets after {WARM_UP} of warm-up, all five kinds of channel"
    );
    for loss in [0.0, 0.05] {
        for protection in Protection::ALL {
            let mut exchange = Exchange::new(protection);
            exchange.loss = 3.0 * loss;
            exchange.run(WARM_UP);
            exchange.loss = loss;
            let (messages, recovered) = (exchange.messages, exchange.recovered());
            let info = allocation_counter::measure(|| exchange.run(MEASURED));
            println!(
                "{:<18} loss {:>3.0} %  {:>6} allocations  {:>8} bytes  {:>7} messages  {:>5} segments restored",
                protection.name(),
                loss * 100.0,
                info.count_total,
                info.bytes_total,
                exchange.messages - messages,
                exchange.recovered() - recovered,
            );
            clean &= info.count_total == 0;
        }
    }
    if clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
