//! Keys change every 65,536 packets, and nobody notices.

use std::time::Duration;

use samestep_proto::Cipher;

use crate::world::*;

#[test]
fn beyond_the_first_key_in_both_directions_through_loss_and_reordering() {
    for cipher in [Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305] {
        let mut pair = Pair::over(
            samestep_proto::Config { cipher, ..config() },
            rough(10, 0.05),
            7,
        );
        let packets = 67_000u32;
        for i in 0..packets {
            for who in [CLIENT, SERVER] {
                pair.send(who, UNRELIABLE, &i.to_le_bytes());
            }
            pair.run_for(Duration::from_micros(250));
        }
        pair.send(CLIENT, ORDERED, b"the end");
        pair.send(SERVER, ORDERED, b"the end");
        pair.run_for(secs(1));
        for who in [CLIENT, SERVER] {
            let stats = pair.stats(who);
            assert!(stats.packets_sent > 65_536 + 1000);
            assert_eq!((stats.refused.forged, stats.refused.too_old), (0, 0));
            let got = pair.payloads(who, UNRELIABLE);
            let share = got.len() as f64 / f64::from(packets);
            assert!((0.94..0.96).contains(&share), "{share} arrived");
            // Around the boundary too: packets count from before the first message.
            let near = |n: &u32| (65_000..66_000).contains(n);
            let numbers = got
                .iter()
                .map(|m| u32::from_le_bytes(m[..].try_into().unwrap()));
            let near = numbers.filter(near).count();
            assert!(
                (900..1000).contains(&near),
                "{near} of 1000 near the boundary"
            );
            assert_eq!(pair.payloads(who, ORDERED), [b"the end"]);
            assert_eq!(pair.closed(who), None);
        }
    }
}
