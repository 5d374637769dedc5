//! The attacker wants a room's password. They can listen, keep what they heard and work on it for years; answer in the server's place,
//! since the client does not know its key; or ask the server as a client with guesses of their own.

use samestep_proto::{AcceptConfig, CloseReason, Config, ConnectOptions, RefuseReason};

use crate::forge::mac;
use crate::impostor;
use crate::world::*;

const PASSWORD: &str = "open sesame";
const DICTIONARY: [&str; 5] = ["12345", "hunter2", "open sesame", "simsim", "password"];

fn asking(config: Config) -> Config {
    Config {
        accept: Some(AcceptConfig {
            password: Some(PASSWORD.into()),
            ..AcceptConfig::default()
        }),
        ..config
    }
}

fn knowing(password: &str) -> ConnectOptions {
    ConnectOptions {
        password: Some(password.into()),
        ..ConnectOptions::default()
    }
}

/// Everything that follows from a guess alone: whoever finds one of these in what was sent has tested the guess.
fn traces(guess: &str, connect: &[u8], client: &[u8], server: &[u8]) -> Vec<Vec<u8>> {
    let session = mac(&[0; 32], b"SStp-sid", &[&connect[..67]]);
    let generator = impostor::generator(guess, client, server, &session);
    let key = mac(&[0; 32], b"SStppass", &[guess.as_bytes()]);
    let (nonce, cookie) = (&connect[6..14], &connect[14..34]);
    vec![
        guess.as_bytes().to_vec(),
        generator.compress().as_bytes()[..16].to_vec(),
        key[..16].to_vec(),
        // The proof of version 1 of the protocol in plain mode.
        mac(&key, b"SStpprov", &[cookie, nonce])[..16].to_vec(),
    ]
}

fn holds(bytes: &[u8], trace: &[u8]) -> bool {
    bytes.windows(trace.len()).any(|window| window == trace)
}

#[test]
fn one_connect_tells_nothing_about_the_password_even_to_whom_it_is_addressed() {
    for config in [config(), config().plain()] {
        let mut shares = Vec::new();
        let mut pair = Pair::with(config.clone(), asking(config));
        for _ in 0..2 {
            let connect = lured(&mut pair, CLIENT);
            let read = impostor::read_connect(&connect, &[66; 32]);
            for guess in DICTIONARY {
                let server = *impostor::key().as_bytes();
                for trace in traces(guess, &connect, &read.client, &server) {
                    assert!(!holds(&connect, &trace) && !holds(&read.payload, &trace));
                }
            }
            shares.push(read.payload[..32].to_vec());
        }
        assert_ne!(shares[0], shares[1], "a share is as good as random");
    }
}

#[test]
fn a_recorded_handshake_tells_nothing_about_the_password() {
    for config in [config(), config().plain()] {
        let server = Config {
            identity: Some(samestep_proto::Identity::from_secret([3; 32])),
            ..asking(config.clone())
        };
        let mut pair = Pair::with(config, server);
        pair.capture = true;
        pair.connect(knowing(PASSWORD)).unwrap();
        pair.send(CLIENT, ORDERED, b"hello");
        pair.run_for(secs(1));
        let connect = pair.captured.iter().find(|d| d.bytes[0] == 0x03).unwrap();
        let connect = connect.bytes.clone();
        // Even the server's static key, leaked later, opens no more than the client's share.
        let read = impostor::read_connect(&connect, &[3; 32]);
        let server = *pair[SERVER].endpoint.public_key().as_bytes();
        for guess in DICTIONARY {
            for trace in traces(guess, &connect, &read.client, &server) {
                assert!(!pair.captured.iter().any(|d| holds(&d.bytes, &trace)));
                assert!(!holds(&read.payload, &trace));
            }
        }
    }
}

/// The client's Connect to an impostor, whose Retry was faster than the server's.
fn lured(pair: &mut Pair, client: Who) -> Vec<u8> {
    let (now, server, from) = (pair.now, pair[SERVER].address, pair[client].address);
    let endpoint = &mut pair[client].endpoint;
    endpoint.connect(now, server, knowing(PASSWORD)).unwrap();
    let mut buf = [0; 1500];
    let hello = endpoint.poll_transmit(now, &mut buf).unwrap();
    let bytes = impostor::retry(&buf[..hello.len]);
    pair.arrive(Datagram {
        from: server,
        to: from,
        bytes,
    });
    let connect = pair[client].endpoint.poll_transmit(now, &mut buf).unwrap();
    assert_eq!(buf[0], 0x03);
    buf[..connect.len].to_vec()
}

/// What becomes of a client that is answered with these guesses: whether it connected, and what it sent from then on.
fn answered(config: Config, guesses: &[&str]) -> (Result<(), CloseReason>, usize) {
    let mut pair = Pair::with(config.clone(), asking(config));
    let connect = lured(&mut pair, CLIENT);
    let (client, server) = (pair[CLIENT].address, pair[SERVER].address);
    pair.filter = Some(Box::new(|_| false));
    pair.capture = true;
    for guess in guesses {
        let bytes = impostor::accept(&connect, guess);
        pair.arrive(Datagram {
            from: server,
            to: client,
            bytes,
        });
    }
    pair.run_for(ms(100));
    let sent = pair.captured.iter().filter(|d| d.from == client).count();
    match (pair.closed(CLIENT), pair[CLIENT].id) {
        (None, Some(_)) => (Ok(()), sent),
        (reason, _) => (Err(reason.expect("it is over")), sent),
    }
}

#[test]
fn somebody_in_the_middle_has_one_guess() {
    for config in [config(), config().plain()] {
        let (lucky, _) = answered(config.clone(), &[PASSWORD]);
        assert_eq!(lucky, Ok(()), "the impostor does what a server does");
        let mut guesses = vec!["guess"; 500];
        guesses.push(PASSWORD);
        let wrong = Err(CloseReason::Refused(RefuseReason::Password));
        let (ended, sent) = answered(config, &guesses);
        assert_eq!(ended, wrong);
        assert_eq!(sent, 0, "not a word after a wrong proof");
    }
}

#[test]
fn a_guessing_client_has_five_guesses_and_then_one_in_five_seconds() {
    for config in [config(), config().plain()] {
        let mut pair = Pair::with(config.clone(), asking(config.clone()));
        let honest = pair.add(config, "10.0.0.77:1000");
        let start = pair.now;
        let mut guesses = 0;
        while pair.now - start < secs(60) {
            match pair.connect(knowing("guess")) {
                Err(CloseReason::Refused(RefuseReason::Password)) => guesses += 1,
                Err(CloseReason::Refused(RefuseReason::Busy)) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!((10..=5 + 60 / 5 + 2).contains(&guesses), "{guesses}");
        assert_eq!(pair.connect_as(honest, knowing(PASSWORD)), Ok(()));
    }
}

#[test]
fn who_knows_the_password_is_never_kept_waiting() {
    let mut pair = Pair::with(config(), asking(config()));
    for _ in 0..50 {
        pair.connect(knowing(PASSWORD)).unwrap();
    }
}
