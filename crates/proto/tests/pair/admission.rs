//! Who may not come in: too many, too many from one place, and those banned.

use samestep_proto::{AcceptConfig, CloseReason, Config, ConnectOptions, RefuseReason};

use crate::world::*;

fn limited(capacity: usize, per_address: usize) -> Pair {
    Pair::with(
        config(),
        Config {
            accept: Some(AcceptConfig {
                capacity,
                per_address,
                ..AcceptConfig::default()
            }),
            ..config()
        },
    )
}

fn full() -> Result<(), CloseReason> {
    Err(CloseReason::Refused(RefuseReason::Full))
}

#[test]
fn a_full_server_says_so_until_somebody_leaves() {
    let mut pair = limited(2, 64);
    let second = pair.add(config(), "10.0.0.3:1000");
    let third = pair.add(config(), "10.0.0.4:1000");
    let options = ConnectOptions::default;
    assert_eq!(pair.connect(options()), Ok(()));
    assert_eq!(pair.connect_as(second, options()), Ok(()));
    assert_eq!(pair.connect_as(third, options()), full());
    pair.close(CLIENT, 0, "");
    pair.run_for(secs(3));
    assert_eq!(pair.connect_as(third, options()), Ok(()));
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 2);
}

#[test]
fn one_address_has_its_own_limit() {
    let mut pair = limited(8, 2);
    let second = pair.add(config(), "10.0.0.1:1001");
    let third = pair.add(config(), "10.0.0.1:1002");
    let elsewhere = pair.add(config(), "10.0.0.9:1000");
    let options = ConnectOptions::default;
    assert_eq!(pair.connect(options()), Ok(()));
    assert_eq!(pair.connect_as(second, options()), Ok(()));
    assert_eq!(pair.connect_as(third, options()), full());
    assert_eq!(pair.connect_as(elsewhere, options()), Ok(()));
}

#[test]
fn a_banned_address_is_cut_off_and_told_until_the_ban_ends() {
    let mut pair = Pair::connected(config());
    let (now, address) = (pair.now, pair[CLIENT].address);
    pair[SERVER].endpoint.ban(now, address.ip(), secs(60));
    pair.run_for(secs(1));
    let kicked = CloseReason::Remote {
        code: 0,
        reason: "banned".into(),
    };
    assert_eq!(pair.closed(CLIENT), Some(kicked));
    assert_eq!(pair.closed(SERVER), Some(CloseReason::Local));
    let told = Err(CloseReason::Refused(RefuseReason::Banned));
    assert_eq!(pair.connect(ConnectOptions::default()), told);
    assert!(pair[SERVER].endpoint.endpoint_stats().banned > 0);
    pair.run_for(secs(60));
    assert_eq!(pair.connect(ConnectOptions::default()), Ok(()));
}

#[test]
fn a_flood_of_requests_leaves_room_for_others() {
    let mut pair = Pair::with(
        config(),
        Config {
            accept: Some(AcceptConfig {
                capacity: 500,
                per_address: 500,
                handshakes_per_second: 40,
                ..AcceptConfig::default()
            }),
            ..config()
        },
    );
    let clients: Vec<Who> = (0..100)
        .map(|i| pair.add(config(), &format!("10.0.1.{i}:1000")))
        .collect();
    let (now, server) = (pair.now, pair[SERVER].address);
    for who in clients {
        let options = ConnectOptions::default();
        pair[who].endpoint.connect(now, server, options).unwrap();
    }
    pair.run_for(ms(200));
    let stats = *pair[SERVER].endpoint.endpoint_stats();
    assert!(stats.accepted <= 20, "{} at once", stats.accepted);
    assert!(stats.handshakes_limited >= 30);
    pair.run_for(secs(5));
    let accepted = pair[SERVER].endpoint.endpoint_stats().accepted;
    assert!(accepted >= 80, "{accepted} of 100 in the end");
}
