//! The attacker is somebody with one address of their own. They can send a great many datagrams from it, valid cookies included, and
//! want nobody else to get in.

use samestep_netem::Rng;
use samestep_proto::{ConnectOptions, Endpoint};

use crate::forge::close_handshake;
use crate::world::*;

/// A Connect of the attacker with a valid cookie: everything about it is right but for its body.
fn connect_with_cookie(pair: &mut Pair, address: &str) -> Vec<u8> {
    let mut attacker = Endpoint::new(config(), [99; 32]).unwrap();
    let (now, from, to) = (pair.now, address.parse().unwrap(), pair[SERVER].address);
    attacker
        .connect(now, to, ConnectOptions::default())
        .unwrap();
    let mut buf = [0; 1500];
    let hello = attacker.poll_transmit(now, &mut buf).expect("a Hello");
    pair.inject(from, &buf[..hello.len]);
    let server = &mut pair[SERVER].endpoint;
    let retry = server.poll_transmit(now, &mut buf).expect("a Retry");
    attacker.handle_datagram(now, to, &mut buf[..retry.len]);
    let connect = attacker.poll_transmit(now, &mut buf).expect("a Connect");
    assert_eq!(buf[0], 0x03);
    buf[..connect.len].to_vec()
}

#[test]
fn forty_newcomers_are_in_within_two_seconds_beside_ten_thousand_damaged_connects_a_second() {
    let mut late = 0;
    for seed in 0..20 {
        let mut pair = Pair::with(config(), config().accepting(100));
        let mut random = Rng::new(seed);
        let mut damaged = connect_with_cookie(&mut pair, "10.66.66.66:6666");
        let clients: Vec<Who> = (0..40)
            .map(|i| pair.add(config(), &format!("10.0.1.{i}:1000")))
            .collect();
        let mut starts: Vec<u64> = clients.iter().map(|_| random.range(0..1000)).collect();
        starts.sort_unstable();
        let mut since = Vec::new();
        for step in 0..3000 {
            for (who, _) in clients.iter().zip(&starts).filter(|(_, at)| **at == step) {
                let (now, server) = (pair.now, pair[SERVER].address);
                let options = ConnectOptions::default();
                pair[*who].endpoint.connect(now, server, options).unwrap();
                since.push((*who, now));
            }
            for _ in 0..10 {
                let at = 80 + random.range(0..20) as usize;
                damaged[at] = damaged[at].wrapping_add(1 + random.range(0..255) as u8);
                close_handshake(&mut damaged);
                pair.inject("10.66.66.66:6666".parse().unwrap(), &damaged);
            }
            pair.run_for(ms(1));
            late += since
                .iter()
                .filter(|(who, at)| pair.now - *at == secs(2) && pair[*who].id.is_none())
                .count();
        }
    }
    assert_eq!(
        late, 0,
        "newcomers of 800 who were not in after two seconds"
    );
}
