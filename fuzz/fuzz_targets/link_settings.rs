//! Settings of a link from text: refused with words, or a link that works.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samestep_netem::{Link, LinkConfig};
use std::time::Duration;

fuzz_target!(|settings: Vec<(u8, &str)>| {
    let mut config = LinkConfig::default();
    for (key, value) in settings {
        // A known key mostly; one past the last stands for the text itself.
        let at = usize::from(key) % (LinkConfig::KEYS.len() + 1);
        let key = LinkConfig::KEYS.get(at).map_or(value, |(key, _)| key);
        if let Err(error) = config.set(key, value) {
            assert!(!error.to_string().is_empty());
        }
    }
    if let Ok(mut link) = Link::new(config, 1) {
        for i in 0..20u64 {
            let now = Duration::from_millis(i * 7);
            for arrival in link.send(now, 1200).arrivals.iter() {
                assert!(*arrival >= now);
            }
        }
    }
});
