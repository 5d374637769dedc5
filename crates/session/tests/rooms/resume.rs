//! A host is restarted, and its room goes on.

use crate::room;
use crate::room::{TestNetwork, config, ms};
use samestep_session::{
    Identity, JoinTo, Phase, Presence, ResumeError, Role, Session, SessionConfig, SessionEvent,
    Settings, State,
};

fn hosting(name: &str) -> SessionConfig {
    let mut config = config(name);
    config.protocol.identity = Some(Identity::from_secret([7; 32]));
    config
}

/// A host with two clients, who play.
fn playing(seed: u64) -> (TestNetwork, Vec<usize>) {
    let mut network = TestNetwork::rough(seed);
    let mut nodes = vec![network.enter(hosting("Ann"), Role::Host)];
    for name in ["Bo", "Cy"] {
        let role = Role::Client(JoinTo::new(room::address(nodes[0])));
        nodes.push(network.enter(config(name), role));
    }
    network.run_until(ms(20_000), |network| {
        network.agree(&nodes) && network.at(0).room().peers().len() == 3
    });
    network.with(0, |now, host| {
        let settings = Settings {
            map: "cellar".into(),
            ..Settings::default()
        };
        host.propose_settings(now, settings);
        host.start(now);
    });
    network.run(ms(4000));
    assert_eq!(network.seen(1, &SessionEvent::Started), 1);
    (network, nodes)
}

#[test]
fn everyone_returns_to_its_place_and_time_goes_on() {
    for seed in 0..5 {
        let (mut network, nodes) = playing(seed);
        let before = network.at(0).room().clone();
        let times = [0, 1, 2].map(|node| network.at(node).time(network.local(node)));
        let (saved, committed) =
            network.with(0, |now, host| (host.save_room(now), host.log_index()));
        // The room was saved when it changed last, which may be long ago.
        network.run(ms(2000));
        network.kill(0);
        network.run(ms(3000));
        network.resume(0, hosting("Ann"), &saved.unwrap());
        let host = network.at(0);
        assert_eq!(*host.state(), State::InSync);
        assert!(host.log_index() > committed);
        assert!(matches!(host.room().phase(), Phase::Playing { .. }));
        assert_eq!(host.room().settings().map, "cellar");
        let is_away = |node| {
            let peer = host.room().peer(network.peer(node));
            peer.is_some_and(|peer| peer.presence == Presence::Away)
        };
        assert!(is_away(1) && is_away(2));
        network.run_until(ms(30_000), |network| network.agree(&nodes));
        let after = network.at(0).room();
        assert_eq!(after.players(), before.players());
        assert_eq!(after.phase(), before.phase());
        assert_eq!(after.peers().len(), 3);
        let host_time = network.at(0).time(network.local(0)).unwrap();
        assert!(host_time > times[0].unwrap() + ms(5000), "{host_time:?}");
        assert_eq!(network.seen(0, &SessionEvent::Started), 1);
        for (node, time) in [1, 2].into_iter().zip(&times[1..]) {
            let now = network.at(node).time(network.local(node)).unwrap();
            assert!(now > time.unwrap(), "it does not run backwards");
            assert!(now.abs_diff(host_time) < ms(40), "{now:?} {host_time:?}");
            // The game began once.
            assert_eq!(network.seen(node, &SessionEvent::Started), 1);
        }
        // The room goes on as ever.
        network.with(0, |now, host| host.propose_end(now, b"over"));
        network.run_until(ms(5000), |network| {
            let over =
                |node: &usize| matches!(network.at(*node).room().phase(), Phase::Ended { .. });
            nodes.iter().all(over)
        });
    }
}

#[test]
fn who_does_not_return_loses_its_place_as_ever() {
    let (mut network, _) = playing(1);
    let saved = network.with(0, |now, host| host.save_room(now)).unwrap();
    network.kill(0);
    network.kill(2);
    network.resume(0, hosting("Ann"), &saved);
    network.run_until(ms(90_000), |network| {
        network.at(0).room().peers().len() == 2 && network.agree(&[0, 1])
    });
}

#[test]
fn what_is_no_room_of_this_host_is_refused() {
    let (mut network, _) = playing(1);
    let saved = network.with(0, |now, host| host.save_room(now)).unwrap();
    assert_eq!(network.with(1, |now, guest| guest.save_room(now)), None);
    let later = network.local(0) + ms(1000);
    let resume = |now, config, saved: &[u8]| Session::resume(now, config, [1; 32], saved).err();
    assert_eq!(resume(later, hosting("Ann"), &saved), None);
    let other = resume(later, config("Ann"), &saved);
    assert_eq!(other, Some(ResumeError::OtherKey));
    let early = resume(ms(1), hosting("Ann"), &saved);
    assert!(matches!(early, Some(ResumeError::ClockBehind { .. })));
    for len in 0..saved.len() {
        let cut = resume(later, hosting("Ann"), &saved[..len]);
        assert_eq!(cut, Some(ResumeError::Malformed), "{len}");
    }
    for at in 0..saved.len() {
        let mut damaged = saved.clone();
        damaged[at] ^= 0x41;
        // Whatever it says: it is refused, or it is a room.
        let _ = resume(later, hosting("Ann"), &damaged);
    }
}
