//! The choice of path, step by step.

use super::*;

const RELAY: Route = Route::Relay(SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
    1,
));
const DIRECT: Route = Route::Socket(SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)),
    2,
));
const PROBE: Due = Due {
    probe: true,
    lost: false,
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Direct since 100 ms, and talking.
fn direct() -> PathChoice {
    let mut choice = PathChoice::new(&TraversalConfig::default());
    choice.set_expected(ms(0), true);
    choice.on_relay(ms(0), Some(RELAY));
    choice.on_answered("192.0.2.1:1".parse().unwrap());
    assert_eq!(
        (choice.path(), choice.routes(ms(0))),
        (Path::Relayed, (Some(RELAY), None))
    );
    choice.on_heard(ms(50), false);
    choice.on_nominated(ms(100), DIRECT, true);
    assert_eq!(choice.path(), Path::Direct);
    choice
}

#[test]
fn it_begins_over_the_relay_and_moves_with_both_in_use_for_a_moment() {
    let mut choice = direct();
    assert_eq!(choice.routes(ms(100)), (Some(DIRECT), Some(RELAY)));
    choice.on_heard(ms(150), true);
    assert_eq!(choice.routes(ms(151)), (Some(DIRECT), None));
    // The peer's last datagrams over the relay change nothing.
    choice.on_heard(ms(152), false);
    assert_eq!(choice.routes(ms(153)), (Some(DIRECT), None));
    // Who is not heard there at all is not sent to twice for ever.
    assert_eq!(direct().routes(ms(1300)), (Some(DIRECT), None));
}

#[test]
fn a_silent_way_is_left_and_found_again() {
    let mut choice = direct();
    choice.on_heard(ms(1000), true);
    assert_eq!(choice.poll_timeout(), Some(ms(1400)));
    assert_eq!(choice.handle_timeout(ms(1399)), Due::default());
    assert_eq!(choice.handle_timeout(ms(1400)), PROBE);
    assert_eq!(
        (choice.path(), choice.routes(ms(1400)).0),
        (Path::Relayed, Some(RELAY))
    );
    for at in 1400..=4400 {
        choice.on_heard(ms(at), false);
    }
    // Every three seconds it asks for the direct way.
    assert_eq!(choice.poll_timeout(), Some(ms(4400)));
    assert_eq!(choice.handle_timeout(ms(4400)), PROBE);
    choice.on_nominated(ms(4500), DIRECT, true);
    assert_eq!(choice.path(), Path::Direct);
    assert_eq!(choice.next_probe, None);
}

#[test]
fn who_leaves_the_direct_way_is_answered_over_the_relay_at_once() {
    let mut choice = direct();
    choice.on_heard(ms(1000), true);
    choice.on_heard(ms(1110), false);
    assert_eq!(choice.routes(ms(1110)), (Some(DIRECT), Some(RELAY)));
}

#[test]
fn the_relay_helps_before_a_way_is_given_up() {
    let mut choice = direct();
    choice.on_heard(ms(1000), true);
    assert_eq!(choice.routes(ms(1200)), (Some(DIRECT), None));
    assert_eq!(choice.routes(ms(1201)), (Some(DIRECT), Some(RELAY)));
    choice.set_expected(ms(1201), false);
    assert_eq!(choice.routes(ms(1201)), (Some(DIRECT), None));
}

#[test]
fn who_is_silent_everywhere_is_lost_until_heard() {
    let mut choice = direct();
    choice.on_heard(ms(1000), true);
    assert_eq!(choice.handle_timeout(ms(1400)), PROBE);
    let lost = Due {
        probe: true,
        lost: true,
    };
    assert_eq!(choice.handle_timeout(ms(1800)), lost);
    assert!(choice.is_lost());
    assert_eq!(choice.handle_timeout(ms(1900)), Due::default());
    assert_eq!(choice.handle_timeout(ms(4800)), PROBE);
    assert!(choice.on_heard(ms(5000), false));
    assert!(!choice.on_heard(ms(5001), false));
}

#[test]
fn nobody_is_lost_who_need_not_talk() {
    let mut choice = direct();
    choice.set_expected(ms(150), false);
    assert_eq!(choice.poll_timeout(), None);
    assert_eq!(choice.handle_timeout(ms(100_000)), Due::default());
    choice.set_expected(ms(100_000), true);
    assert_eq!(choice.poll_timeout(), Some(ms(101_200)));
}

#[test]
fn who_never_gets_off_the_relay_tries_less_and_less() {
    let mut choice = PathChoice::new(&TraversalConfig::default());
    choice.on_relay(ms(0), Some(RELAY));
    choice.on_answered("192.0.2.1:1".parse().unwrap());
    let mut probes = 0;
    for at in 0..600 {
        probes += u32::from(choice.handle_timeout(ms(at * 1000)).probe);
    }
    assert!((8..=14).contains(&probes), "{probes}");
}

#[test]
fn without_a_relay_a_silent_way_stays_the_way() {
    let mut choice = PathChoice::new(&TraversalConfig::default());
    choice.set_expected(ms(0), true);
    assert_eq!(choice.routes(ms(0)), (None, None));
    choice.on_nominated(ms(0), DIRECT, true);
    choice.on_heard(ms(1), true);
    let lost = Due {
        probe: true,
        lost: true,
    };
    assert_eq!(choice.handle_timeout(ms(401)), lost);
    assert_eq!(choice.routes(ms(401)).0, Some(DIRECT));
    assert_eq!(choice.path(), Path::Direct);
}

#[test]
fn nobody_is_sent_to_for_long_who_does_not_answer() {
    let mut choice = PathChoice::new(&TraversalConfig::default());
    choice.on_relay(ms(0), Some(RELAY));
    choice.on_relay(ms(2000), Some(RELAY));
    assert_eq!(choice.routes(ms(2999)).0, Some(RELAY));
    assert_eq!(choice.poll_timeout(), Some(ms(3000)));
    choice.handle_timeout(ms(3000));
    assert_eq!(
        (choice.path(), choice.routes(ms(3000)).0),
        (Path::None, None)
    );
    // An answer from there, even a late one, proves it for good.
    choice.on_answered("192.0.2.1:2".parse().unwrap());
    assert_eq!(choice.routes(ms(3001)).0, None, "another port");
    choice.on_answered("192.0.2.1:1".parse().unwrap());
    assert_eq!(choice.routes(ms(100_000)).0, Some(RELAY));
}
