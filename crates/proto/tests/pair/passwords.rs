//! A password must be right, also on plain links, and is never asked for in vain.

use samestep_proto::{AcceptConfig, CloseReason, Config, ConnectOptions, RefuseReason};

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
        assert_eq!(connect(Some("sesame"), Some("")), wrong);
        let missing = refused(RefuseReason::PasswordRequired);
        assert_eq!(connect(Some("sesame"), None), missing);
        let unneeded = refused(RefuseReason::PasswordUnneeded);
        assert_eq!(connect(None, Some("sesame")), unneeded);
    }
}
