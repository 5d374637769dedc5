//! Getting in, being told who is there, and being told why not.

mod room;

use room::{Hall, address, config, ms};
use samestep_session::{
    JoinTo, LeaveReason, PeerKind, PlayerId, Presence, Role, SessionConfig, SessionEvent, State,
};

#[test]
fn everyone_sees_the_same_room() {
    for seed in 0..10 {
        let mut hall = Hall::rough(seed);
        let places = hall.hosted(config("Ann"), 3);
        let room = hall.at(places[3]).room();
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
        let mut hall = Hall::rough(seed);
        let mut places = hall.mesh(config("Ann"), 3);
        let role = Role::Peer(JoinTo::new(address(places[2])));
        places.push(hall.enter(config("Bo"), role));
        hall.run_until(ms(10_000), |hall| {
            hall.agree(&places) && hall.at(0).room().peers().len() == 4
        });
        // And everyone talks to everyone.
        hall.run_until(ms(10_000), |hall| {
            places.iter().all(|p| {
                let session = hall.at(*p);
                session.room().peers().iter().all(|peer| {
                    Some(peer.id) == session.me()
                        || session.peer_stats(hall.local(*p), peer.id).unwrap().route
                            == samestep_session::PeerRoute::Direct
                })
            })
        });
    }
}

#[test]
fn a_dedicated_server_several_players_on_one_program_and_spectators() {
    let mut hall = Hall::near(1);
    let server = hall.enter(SessionConfig::new("test", 1), Role::Host);
    let couple = config("Ann").player("Bo");
    let couple = hall.enter(couple, Role::Client(JoinTo::new(address(server))));
    let watcher = SessionConfig::new("test", 1);
    let watcher = hall.enter(watcher, Role::Spectator(JoinTo::new(address(server))));
    hall.run_until(ms(3_000), |hall| {
        hall.agree(&[server, couple, watcher]) && hall.at(server).room().peers().len() == 3
    });
    let room = hall.at(watcher).room();
    assert_eq!(room.players().len(), 2);
    assert_eq!(hall.at(couple).my_players().count(), 2);
    assert_eq!(room.peers()[2].kind, PeerKind::Spectator);
    assert!(hall.at(server).is_authority());
}

#[test]
fn the_initial_state_comes_before_everything_that_follows_it() {
    for seed in 0..10 {
        let mut hall = Hall::rough(seed);
        let mut config = config("Ann");
        config.initial_state = true;
        let host = hall.enter(config.clone(), Role::Host);
        let client = hall.enter(config, Role::Client(JoinTo::new(address(host))));
        hall.run_until(ms(5_000), |hall| {
            let wanted = |e: &SessionEvent| matches!(e, SessionEvent::StateWanted { .. });
            hall.events[host].iter().any(wanted)
        });
        let peer = hall.at(host).room().peers()[1].id;
        let state = vec![7; 100_000];
        hall.with(host, |now, host| {
            host.provide_state(now, peer, &state);
            let kind = samestep_session::MessageKind(9);
            let delivery = samestep_session::Delivery::ReliableOrdered;
            host.send_bytes(now, samestep_session::To::Others, delivery, kind, b"after")
                .unwrap();
        });
        hall.run_until(ms(20_000), |hall| {
            hall.seen(
                client,
                &SessionEvent::InitialState {
                    state: state.clone(),
                },
            ) == 1
        });
        assert_eq!(*hall.at(client).state(), State::Loading);
        assert!(
            !hall.events[client]
                .iter()
                .any(|e| matches!(e, SessionEvent::Message { .. }))
        );
        hall.with(client, |now, client| client.loaded(now));
        hall.run_until(ms(5_000), |hall| hall.agree(&[host, client]));
        hall.run_until(ms(5_000), |hall| {
            hall.events[client]
                .iter()
                .any(|e| matches!(e, SessionEvent::Message { .. }))
        });
    }
}

#[test]
fn who_takes_too_long_to_load_is_sent_away() {
    let mut hall = Hall::near(1);
    let mut config = config("Ann");
    config.initial_state = true;
    config.load_grace = ms(2_000);
    let host = hall.enter(config.clone(), Role::Host);
    let client = hall.enter(config, Role::Client(JoinTo::new(address(host))));
    hall.run(ms(5_000));
    assert_eq!(
        *hall.at(client).state(),
        State::Left(LeaveReason::LoadingTooLong)
    );
    assert_eq!(hall.at(host).room().peers().len(), 1);
}

#[test]
fn refusals_say_why() {
    let mut hall = Hall::near(1);
    let mut open = config("Ann");
    open.capacity = 2;
    open.password = Some("sesame".into());
    let host = hall.enter(open, Role::Host);
    let mut join = JoinTo::new(address(host));
    let stranger = hall.enter(config("Bo"), Role::Client(join.clone()));
    join.password = Some("simsim".into());
    let guesser = hall.enter(config("Bo"), Role::Client(join.clone()));
    join.password = Some("sesame".into());
    let old = SessionConfig::new("test", 0).player("Bo");
    let old = hall.enter(old, Role::Client(join.clone()));
    let peer = hall.enter(config("Bo"), Role::Peer(join.clone()));
    let guest = hall.enter(config("Bo"), Role::Client(join.clone()));
    hall.run_until(ms(3_000), |hall| hall.agree(&[host, guest]));
    let late = hall.enter(config("Cy"), Role::Client(join.clone()));
    let nobody = hall.enter(config("Di"), Role::Client(JoinTo::new(address(99))));
    hall.run(ms(10_000));
    let why = |place| match hall.at(place).state() {
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
        let mut hall = Hall::rough(seed);
        let places = hall.hosted(config("Ann"), 2);
        let (host, client, other) = (places[0], places[1], places[2]);
        let (me, secret) = (hall.at(client).me(), hall.at(client).rejoin_secret());
        let player = hall.at(client).my_players().next();
        hall.kill(client);
        hall.run_until(ms(15_000), |hall| {
            let away = |p: usize| hall.at(p).room().peer(me.unwrap()).unwrap().presence;
            away(host) == Presence::Away && away(other) == Presence::Away
        });
        let newcomer = hall.enter(config("Cy"), Role::Client(JoinTo::new(address(host))));
        hall.run_until(ms(5_000), |hall| hall.agree(&[host, other, newcomer]));
        assert_eq!(hall.at(newcomer).my_players().next(), Some(PlayerId(3)));
        let mut join = JoinTo::new(address(host));
        join.rejoin = Some(secret);
        hall.replace(client, config("Ann"), Role::Client(join));
        hall.run_until(ms(5_000), |hall| {
            hall.agree(&[host, client, other, newcomer])
        });
        assert_eq!(hall.at(client).me(), me);
        assert_eq!(hall.at(client).my_players().next(), player);
    }
}

#[test]
fn a_lost_connection_is_taken_up_again() {
    for seed in 0..10 {
        let mut hall = Hall::rough(seed);
        let places = hall.hosted(config("Ann"), 2);
        let me = hall.at(1).me();
        hall.cut(0, 1);
        hall.run(ms(15_000));
        assert_eq!(*hall.at(1).state(), State::Connecting);
        hall.mend();
        hall.run_until(ms(10_000), |hall| hall.agree(&places));
        assert_eq!(hall.at(1).me(), me);
        assert_eq!(hall.at(0).room().peers().len(), 3);
    }
}

#[test]
fn a_place_is_given_up_in_the_end() {
    let mut hall = Hall::near(1);
    let mut config = config("Ann");
    config.rejoin_grace = ms(5_000);
    let places = hall.hosted(config, 2);
    let left = hall.at(1).me().unwrap();
    hall.kill(1);
    hall.run(ms(20_000));
    assert_eq!(hall.at(0).room().peers().len(), 2);
    let gone = SessionEvent::PeerLeft {
        peer: left,
        reason: LeaveReason::Silent,
    };
    assert_eq!(hall.seen(places[2], &gone), 1);
}

#[test]
fn leaving_kicking_banning_and_closing() {
    let mut hall = Hall::near(1);
    hall.hosted(config("Ann"), 4);
    hall.with(1, |now, client| client.leave(now, "supper"));
    let kicked = hall.at(2).me().unwrap();
    let banned = hall.at(3).me().unwrap();
    hall.with(0, |now, host| {
        host.kick(now, kicked, "rude");
        host.ban(now, banned, ms(60_000), "cheats");
    });
    hall.run(ms(500));
    let left = |reason: LeaveReason| State::Left(reason);
    assert_eq!(
        *hall.at(1).state(),
        left(LeaveReason::Left("supper".into()))
    );
    assert_eq!(
        *hall.at(2).state(),
        left(LeaveReason::Kicked("rude".into()))
    );
    assert_eq!(
        *hall.at(3).state(),
        left(LeaveReason::Banned("cheats".into()))
    );
    assert_eq!(hall.at(4).room().peers().len(), 2);
    let mut join = JoinTo::new(address(0));
    join.rejoin = Some(hall.at(3).rejoin_secret());
    let again = hall.enter(config("Di"), Role::Client(join));
    hall.run(ms(500));
    assert_eq!(
        *hall.at(again).state(),
        left(LeaveReason::Banned("cheats".into()))
    );
    hall.with(0, |now, host| host.close_room(now, "bed time"));
    hall.run(ms(500));
    assert_eq!(
        *hall.at(4).state(),
        left(LeaveReason::RoomClosed("bed time".into()))
    );
}
