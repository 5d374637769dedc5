//! The attacker reads a log, or a report that somebody posted. They want a key or a password.

use samestep_proto::{AcceptConfig, Config, ConnectOptions, Endpoint, Identity};

use crate::world::*;

#[test]
fn debug_output_holds_no_secret() {
    let config = Config {
        identity: Some(Identity::from_secret([0xAB; 32])),
        accept: Some(AcceptConfig {
            password: Some("open sesame".into()),
            ..AcceptConfig::default()
        }),
        ..config()
    };
    let options = ConnectOptions {
        password: Some("open sesame".into()),
        ..ConnectOptions::default()
    };
    let mut shown = format!("{config:?} {options:?}");
    let mut pair = Pair::with(self::config(), config);
    let (now, server) = (pair.now, pair[SERVER].address);
    let endpoint: &mut Endpoint = &mut pair[CLIENT].endpoint;
    endpoint.connect(now, server, options.clone()).unwrap();
    pair.run_for(ms(25));
    // An exchange is under way, then done.
    shown += &format!("{:?}", pair[CLIENT].endpoint);
    pair.run_for(ms(500));
    shown += &format!("{:?} {:?}", pair[CLIENT].endpoint, pair[SERVER].endpoint);
    assert!(pair[CLIENT].id.is_some());
    for secret in ["sesame", "171, 171", "abab", "0xab"] {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
}
