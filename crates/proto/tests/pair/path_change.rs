//! A route that becomes longer under the same address is not taken for a queue.

use crate::world::*;

#[test]
#[ignore = "known gap: the path's own delay is remembered for up to 12 s"]
fn a_longer_route_starves_nobody() {
    let mut pair = Pair::over(config(), latency(10), 1);
    let play = |pair: &mut Pair, seconds: usize| {
        let before = pair.payloads(SERVER, UNRELIABLE).len();
        for i in 0..seconds * 100 {
            for channel in [UNRELIABLE, ORDERED] {
                pair.send(CLIENT, channel, &content(i, 1000));
            }
            pair.run_for(ms(10));
        }
        (pair.payloads(SERVER, UNRELIABLE).len() - before) as f64 / (seconds * 100) as f64
    };
    assert!(play(&mut pair, 5) > 0.95);
    pair.set_link(latency(30), 2);
    // A few round trips to notice.
    play(&mut pair, 3);
    let share = play(&mut pair, 5);
    assert!(share > 0.95, "{share} arrived");
    assert!(pair.stats(CLIENT).queueing < ms(5));
}
