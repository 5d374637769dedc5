//! Getting in, being told who is there, and being told why not.

use crate::room::{TestNetwork, address, config, ms};
use samestep_session::{
    JoinTo, LeaveReason, PeerKind, PlayerId, Presence, Role, SessionConfig, SessionEvent, State,
};

#[test]
fn everyone_sees_the_same_room() {
    for seed in 0..10 {
        let mut network = TestNetwork::rough(seed);
        let nodes = network.hosted(config("Ann"), 3);
        let room = network.at(nodes[3]).room();
        let names: Vec<_> = room
            .players()
            .iter()
            .map(|p| p.profile.name.as_str())
            .collect();
        assert_eq!(names, ["Ann", "Ann 2", "Ann 3", "Ann 4"]);
        let mut colours: Vec<_> = room.players().iter().map(|p| p.profile.colour).collect();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), 4);
    }
}

#[test]
fn a_mesh_is_joined_through_any_of_its_members() {
    for seed in 0..10 {
        let mut network = TestNetwork::rough(seed);
        let mut nodes = network.mesh(config("Ann"), 3);
        let role = Role::Peer(JoinTo::new(address(nodes[2])));
        nodes.push(network.enter(config("Bo"), role));
        network.run_until(ms(10_000), |network| {
            network.agree(&nodes) && network.at(0).room().peers().len() == 4
        });
        // And everyone talks to everyone.
        network.run_until(ms(10_000), |network| {
            nodes.iter().all(|p| {
                let session = network.at(*p);
                session.room().peers().iter().all(|peer| {
                    Some(peer.id) == session.me()
                        || session
                            .peer_stats(network.local(*p), peer.id)
                            .unwrap()
                            .route
                            == samestep_session::PeerRoute::Direct
                })
            })
        });
    }
}

#[test]
fn a_dedicated_server_several_players_on_one_program_and_spectators() {
    let mut network = TestNetwork::near(1);
    let server = network.enter(SessionConfig::new("test", 1), Role::Host);
    let couple = config("Ann").player("Bo");
    let couple = network.enter(couple, Role::Client(JoinTo::new(address(server))));
    let watcher = SessionConfig::new("test", 1);
    let watcher = network.enter(watcher, Role::Spectator(JoinTo::new(address(server))));
    network.run_until(ms(3_000), |network| {
        network.agree(&[server, couple, watcher]) && network.at(server).room().peers().len() == 3
    });
    let room = network.at(watcher).room();
    assert_eq!(room.players().len(), 2);
    assert_eq!(network.at(couple).my_players().count(), 2);
    let watching = room.peer(network.at(watcher).me().unwrap()).unwrap();
    assert_eq!(watching.kind, PeerKind::Spectator);
    assert!(network.at(server).is_authority());
}

#[test]
fn the_initial_state_comes_before_everything_that_follows_it() {
    for seed in 0..10 {
        let mut network = TestNetwork::rough(seed);
        let mut config = config("Ann");
        config.initial_state = true;
        let host = network.enter(config.clone(), Role::Host);
        let client = network.enter(config, Role::Client(JoinTo::new(address(host))));
        network.run_until(ms(5_000), |network| {
            let wanted = |e: &SessionEvent| matches!(e, SessionEvent::StateWanted { .. });
            network.events[host].iter().any(wanted)
        });
        let peer = network.at(host).room().peers()[1].id;
        let state = vec![7; 100_000];
        network.with(host, |now, host| {
            host.provide_state(now, peer, &state);
            let kind = samestep_session::MessageKind(9);
            let delivery = samestep_session::Delivery::ReliableOrdered;
            host.send_bytes(now, samestep_session::To::Others, delivery, kind, b"after")
                .unwrap();
        });
        network.run_until(ms(20_000), |network| {
            network.seen(
                client,
                &SessionEvent::InitialState {
                    state: state.clone(),
                },
            ) == 1
        });
        assert_eq!(*network.at(client).state(), State::Loading);
        assert!(
            !network.events[client]
                .iter()
                .any(|e| matches!(e, SessionEvent::Message { .. }))
        );
        network.with(client, |now, client| client.loaded(now));
        network.run_until(ms(5_000), |network| network.agree(&[host, client]));
        network.run_until(ms(5_000), |network| {
            network.events[client]
                .iter()
                .any(|e| matches!(e, SessionEvent::Message { .. }))
        });
    }
}

#[test]
fn who_takes_too_long_to_load_is_sent_away() {
    let mut network = TestNetwork::near(1);
    let mut config = config("Ann");
    config.initial_state = true;
    config.load_grace = ms(2_000);
    let host = network.enter(config.clone(), Role::Host);
    let client = network.enter(config, Role::Client(JoinTo::new(address(host))));
    network.run(ms(5_000));
    assert_eq!(
        *network.at(client).state(),
        State::Left(LeaveReason::LoadingTooLong)
    );
    assert_eq!(network.at(host).room().peers().len(), 1);
}

#[test]
fn refusals_say_why() {
    let mut network = TestNetwork::near(1);
    let mut open = config("Ann");
    open.capacity = 2;
    open.password = Some("sesame".into());
    let host = network.enter(open, Role::Host);
    let mut join = JoinTo::new(address(host));
    let stranger = network.enter(config("Bo"), Role::Client(join.clone()));
    join.password = Some("simsim".into());
    let guesser = network.enter(config("Bo"), Role::Client(join.clone()));
    join.password = Some("sesame".into());
    let old = SessionConfig::new("test", 0).player("Bo");
    let old = network.enter(old, Role::Client(join.clone()));
    let peer = network.enter(config("Bo"), Role::Peer(join.clone()));
    let guest = network.enter(config("Bo"), Role::Client(join.clone()));
    network.run_until(ms(3_000), |network| network.agree(&[host, guest]));
    let late = network.enter(config("Cy"), Role::Client(join.clone()));
    let nobody = network.enter(config("Di"), Role::Client(JoinTo::new(address(99))));
    network.run(ms(10_000));
    let why = |node| match network.at(node).state() {
        State::Left(reason) => reason.clone(),
        state => panic!("{state:?}"),
    };
    assert!(matches!(why(stranger), LeaveReason::WrongPassword(_)));
    assert!(matches!(why(guesser), LeaveReason::WrongPassword(_)));
    assert!(matches!(why(old), LeaveReason::WrongVersion(_)));
    assert_eq!(why(peer), LeaveReason::WrongTopology);
    assert_eq!(why(late), LeaveReason::Full);
    assert!(matches!(why(nobody), LeaveReason::NotReached(_)));
}

#[test]
fn a_vanished_client_gets_its_place_back() {
    for seed in 0..10 {
        let mut network = TestNetwork::rough(seed);
        let nodes = network.hosted(config("Ann"), 2);
        let (host, client, other) = (nodes[0], nodes[1], nodes[2]);
        let (me, secret) = (network.at(client).me(), network.at(client).rejoin_secret());
        let player = network.at(client).my_players().next();
        network.kill(client);
        network.run_until(ms(15_000), |network| {
            let away = |p: usize| network.at(p).room().peer(me.unwrap()).unwrap().presence;
            away(host) == Presence::Away && away(other) == Presence::Away
        });
        let newcomer = network.enter(config("Cy"), Role::Client(JoinTo::new(address(host))));
        network.run_until(ms(5_000), |network| network.agree(&[host, other, newcomer]));
        assert_eq!(network.at(newcomer).my_players().next(), Some(PlayerId(3)));
        let mut join = JoinTo::new(address(host));
        join.rejoin = Some(secret);
        network.replace(client, config("Ann"), Role::Client(join));
        network.run_until(ms(5_000), |network| {
            network.agree(&[host, client, other, newcomer])
        });
        assert_eq!(network.at(client).me(), me);
        assert_eq!(network.at(client).my_players().next(), player);
    }
}

#[test]
fn a_lost_connection_is_taken_up_again() {
    for seed in 0..10 {
        let mut network = TestNetwork::rough(seed);
        let nodes = network.hosted(config("Ann"), 2);
        let me = network.at(1).me();
        network.cut(0, 1);
        network.run(ms(15_000));
        assert_eq!(*network.at(1).state(), State::Connecting);
        network.mend();
        network.run_until(ms(10_000), |network| network.agree(&nodes));
        assert_eq!(network.at(1).me(), me);
        assert_eq!(network.at(0).room().peers().len(), 3);
    }
}

#[test]
fn a_place_is_given_up_in_the_end() {
    let mut network = TestNetwork::near(1);
    let mut config = config("Ann");
    config.rejoin_grace = ms(5_000);
    let nodes = network.hosted(config, 2);
    let left = network.at(1).me().unwrap();
    network.kill(1);
    network.run(ms(20_000));
    assert_eq!(network.at(0).room().peers().len(), 2);
    let gone = SessionEvent::PeerLeft {
        peer: left,
        reason: LeaveReason::Silent,
    };
    assert_eq!(network.seen(nodes[2], &gone), 1);
}

#[test]
fn leaving_kicking_banning_and_closing() {
    let mut network = TestNetwork::near(1);
    network.hosted(config("Ann"), 4);
    network.with(1, |now, client| client.leave(now, "supper"));
    let kicked = network.at(2).me().unwrap();
    let banned = network.at(3).me().unwrap();
    network.with(0, |now, host| {
        host.kick(now, kicked, "rude");
        host.ban(now, banned, ms(60_000), "cheats");
    });
    network.run(ms(500));
    let left = |reason: LeaveReason| State::Left(reason);
    assert_eq!(
        *network.at(1).state(),
        left(LeaveReason::Left("supper".into()))
    );
    assert_eq!(
        *network.at(2).state(),
        left(LeaveReason::Kicked("rude".into()))
    );
    assert_eq!(
        *network.at(3).state(),
        left(LeaveReason::Banned("cheats".into()))
    );
    assert_eq!(network.at(4).room().peers().len(), 2);
    let mut join = JoinTo::new(address(0));
    join.rejoin = Some(network.at(3).rejoin_secret());
    let again = network.enter(config("Di"), Role::Client(join));
    network.run(ms(500));
    assert_eq!(
        *network.at(again).state(),
        left(LeaveReason::Banned("cheats".into()))
    );
    network.with(0, |now, host| host.close_room(now, "bed time"));
    network.run(ms(500));
    assert_eq!(
        *network.at(4).state(),
        left(LeaveReason::RoomClosed("bed time".into()))
    );
}
