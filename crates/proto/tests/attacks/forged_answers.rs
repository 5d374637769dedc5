//! The attacker sees what a client sends and answers faster than the server. Without the server's key they want the client to give
//! up, or to believe that its password is wrong.

use samestep_netem::Rng;
use samestep_proto::{AcceptConfig, Config, ConnectOptions};

use crate::forge::close_handshake;
use crate::world::*;

fn forged_accept(nonce: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut forged = vec![0x04];
    let body = 50 + 48 * random.range(0..2) as usize;
    forged.extend_from_slice(b"SStp");
    forged.push(VERSION);
    forged.extend_from_slice(nonce);
    forged.extend_from_slice(&(body as u16).to_le_bytes());
    forged.extend((0..body).map(|_| random.next_u64() as u8));
    forged.extend_from_slice(&[0; 4]);
    close_handshake(&mut forged);
    forged
}

const VERSION: u8 = 2;

#[test]
fn five_hundred_and_one_forged_accepts_are_ignored() {
    for password in [None, Some("open sesame")] {
        let server = Config {
            accept: Some(AcceptConfig {
                password: password.map(Into::into),
                ..AcceptConfig::default()
            }),
            ..config()
        };
        let mut pair = Pair::with(config(), server);
        pair.set_link(latency(400), 1);
        pair.capture = true;
        let (now, to) = (pair.now, pair[SERVER].address);
        let options = ConnectOptions {
            password: password.map(Into::into),
            ..ConnectOptions::default()
        };
        pair[CLIENT].endpoint.connect(now, to, options).unwrap();
        let mut random = Rng::new(1);
        while !pair.captured.iter().any(|d| d.bytes[0] == 0x03) {
            pair.run_for(ms(1));
        }
        let nonce = pair.captured[0].bytes[6..14].to_vec();
        let client = pair[CLIENT].address;
        for _ in 0..501 {
            let bytes = forged_accept(&nonce, &mut random);
            pair.arrive(Datagram {
                from: to,
                to: client,
                bytes,
            });
        }
        pair.run_for(secs(3));
        assert_eq!(pair.closed(CLIENT), None);
        assert!(pair[CLIENT].id.is_some(), "the server's own answer counts");
    }
}
