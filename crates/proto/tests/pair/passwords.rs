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

#[test]
fn a_password_that_was_changed_opens_no_more() {
    for config in [config(), config().plain()] {
        let server = Config {
            accept: Some(AcceptConfig {
                password: Some("sesame".into()),
                ..AcceptConfig::default()
            }),
            ..config.clone()
        };
        let mut pair = Pair::with(config, server);
        let with = |password: &str| ConnectOptions {
            password: Some(password.into()),
            ..ConnectOptions::default()
        };
        assert_eq!(pair.connect(with("sesame")), Ok(()));
        let open = pair[SERVER].endpoint.connections().count();
        let server = &mut pair[SERVER].endpoint;
        let empty = server.set_password(Some("".into()));
        assert_eq!(empty, Err(ConfigError::EmptyPassword));
        server.set_password(Some("barley".into())).unwrap();
        assert_eq!(server.connections().count(), open, "who is in stays");
        let wrong = Err(CloseReason::Refused(RefuseReason::Password));
        assert_eq!(pair.connect(with("sesame")), wrong);
        assert_eq!(pair.connect(with("barley")), Ok(()));
        pair[SERVER].endpoint.set_password(None).unwrap();
        assert_eq!(pair.connect(ConnectOptions::default()), Ok(()));
    }
}

#[test]
fn who_has_not_confirmed_the_old_password_begins_anew() {
    let server = Config {
        accept: Some(AcceptConfig {
            password: Some("sesame".into()),
            ..AcceptConfig::default()
        }),
        ..config()
    };
    let mut pair = Pair::with(config(), server);
    // The Accept does not arrive: the client is known to the server, and has not confirmed.
    pair.filter = Some(Box::new(|datagram| datagram.bytes[0] != 0x04));
    let refused = pair.connect(ConnectOptions {
        password: Some("sesame".into()),
        ..ConnectOptions::default()
    });
    assert_eq!(refused, Err(CloseReason::NoAnswer));
    assert_eq!(pair[SERVER].endpoint.endpoint_stats().open, 1);
    let server = &mut pair[SERVER].endpoint;
    server.set_password(Some("barley".into())).unwrap();
    assert_eq!(server.endpoint_stats().open, 0);
    assert!(server.poll_event().is_none(), "nobody guessed wrong");
}
