//! A password must be right, also on plain links, and is never asked for in vain.

use samestep_proto::{
    AcceptConfig, CloseReason, Config, ConfigError, ConnectError, ConnectOptions, Endpoint, Event,
    RefuseReason,
};

use crate::world::*;

fn connect(config: Config, asked: Option<&str>, given: Option<&str>) -> Result<(), CloseReason> {
    let server = Config {
        accept: Some(AcceptConfig {
            password: asked.map(Into::into),
            ..AcceptConfig::default()
        }),
        ..config.clone()
    };
    Pair::with(config, server).connect(ConnectOptions {
        password: given.map(Into::into),
        ..ConnectOptions::default()
    })
}

#[test]
fn right_wrong_missing_and_unneeded() {
    for config in [config(), config().plain()] {
        let connect = |asked, given| connect(config.clone(), asked, given);
        let refused = |reason| Err(CloseReason::Refused(reason));
        assert_eq!(connect(Some("sesame"), Some("sesame")), Ok(()));
        assert_eq!(connect(None, None), Ok(()));
        let wrong = refused(RefuseReason::Password);
        assert_eq!(connect(Some("sesame"), Some("Sesame")), wrong);
        let missing = refused(RefuseReason::PasswordRequired);
        assert_eq!(connect(Some("sesame"), None), missing);
        let unneeded = refused(RefuseReason::PasswordUnneeded);
        assert_eq!(connect(None, Some("sesame")), unneeded);
    }
}

#[test]
fn an_empty_password_is_a_mistake() {
    let server = Config {
        accept: Some(AcceptConfig {
            password: Some("".into()),
            ..AcceptConfig::default()
        }),
        ..config()
    };
    let refused = Endpoint::new(server, [1; 32]).unwrap_err();
    assert_eq!(refused, ConfigError::EmptyPassword);
    let options = ConnectOptions {
        password: Some("".into()),
        ..ConnectOptions::default()
    };
    let mut client = Endpoint::new(config(), [1; 32]).unwrap();
    let to = "10.0.0.2:2000".parse().unwrap();
    let refused = client.connect(ms(0), to, options).unwrap_err();
    assert_eq!(refused, ConnectError::EmptyPassword);
}

#[test]
fn the_server_hears_of_a_wrong_password_when_nobody_confirms() {
    let server = Config {
        accept: Some(AcceptConfig {
            password: Some("sesame".into()),
            ..AcceptConfig::default()
        }),
        ..config()
    };
    let mut pair = Pair::with(config(), server);
    let options = ConnectOptions {
        password: Some("Sesame".into()),
        ..ConnectOptions::default()
    };
    pair.connect(options).unwrap_err();
    pair.run_for(secs(6));
    let reason = RefuseReason::Password;
    let peer = pair[CLIENT].address;
    assert_eq!(pair[SERVER].events, [Event::Refused { peer, reason }]);
}
