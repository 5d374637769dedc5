//! Members of a mesh: routes around cut pairs, votes, elections, minorities.

mod room;

use room::{Hall, Place, address, config, ms};
use samestep_session::{
    Delivery, JoinTo, LeaveReason, MessageKind, Owner, PeerRoute, Presence, Role, Session,
    SessionEvent, Silence, State, To,
};

const KIND: MessageKind = MessageKind(7);

fn say(hall: &mut Hall, place: Place, delivery: Delivery, word: u8) {
    hall.with(place, |now, session: &mut Session| {
        session
            .send_bytes(now, To::Others, delivery, KIND, &[word])
            .unwrap();
    });
}

/// The first bytes of what a place heard from a peer.
fn heard(hall: &Hall, place: Place, from: Place) -> Vec<u8> {
    let peer = hall.at(from).me().unwrap();
    let of = |event: &SessionEvent| match event {
        SessionEvent::Message { from, payload, .. } if *from == peer => Some(payload[0]),
        _ => None,
    };
    hall.events[place].iter().filter_map(of).collect()
}

#[test]
fn a_pair_that_cannot_hear_each_other_is_routed_through_a_third() {
    for seed in 0..5 {
        let mut hall = Hall::rough(seed);
        hall.mesh(config("Ann"), 4);
        hall.run(ms(3_000));
        hall.cut(1, 2);
        for word in 0..100 {
            for place in 0..4 {
                say(&mut hall, place, Delivery::ReliableOrdered, word);
            }
            hall.run(ms(50));
        }
        hall.run(ms(10_000));
        let words: Vec<u8> = (0..100).collect();
        for place in 0..4 {
            for from in (0..4).filter(|f| *f != place) {
                assert_eq!(
                    heard(&hall, place, from),
                    words,
                    "{from} to {place}, seed {seed}"
                );
            }
        }
        let two = hall.at(2).me().unwrap();
        let route = hall.at(1).peer_stats(hall.local(1), two).unwrap().route;
        assert!(matches!(route, PeerRoute::Via(_)), "{route:?}");
        assert!(hall.agree(&[0, 1, 2, 3]));
        // And back again.
        hall.mend();
        hall.run(ms(10_000));
        let route = hall.at(1).peer_stats(hall.local(1), two).unwrap().route;
        assert_eq!(route, PeerRoute::Direct);
    }
}

#[test]
fn a_pair_that_never_heard_each_other_is_routed_too() {
    for seed in 0..5 {
        let mut hall = Hall::rough(seed);
        let first = hall.enter(config("Ann"), Role::Introducer);
        for _ in 0..3 {
            hall.enter(config("Ann"), Role::Peer(JoinTo::new(address(first))));
        }
        hall.cut(2, 3);
        hall.run_until(ms(10_000), |hall| {
            hall.agree(&[0, 1, 2, 3]) && hall.at(0).room().peers().len() == 4
        });
        for place in 0..4 {
            say(&mut hall, place, Delivery::ReliableUnordered, place as u8);
        }
        hall.run(ms(5_000));
        for place in 0..4 {
            for from in (0..4).filter(|f| *f != place) {
                assert_eq!(heard(&hall, place, from), [from as u8], "{from} to {place}");
            }
        }
    }
}

#[test]
fn a_silent_member_is_dropped_and_what_it_owned_has_one_heir() {
    for seed in 0..5 {
        let mut hall = Hall::rough(seed);
        hall.mesh(config("Ann"), 5);
        let gone = hall.at(3).me().unwrap();
        let player = hall.at(3).my_players().next().unwrap();
        hall.kill(3);
        hall.run_until(ms(10_000), |hall| {
            [0, 1, 2, 4]
                .iter()
                .all(|p| !hall.at(*p).room().is_present(gone))
        });
        let heir = hall.at(0).room().owner_of(Owner::Player(player));
        assert!(heir.is_some_and(|heir| heir != gone));
        for place in [1, 2, 4] {
            assert_eq!(hall.at(place).room().owner_of(Owner::Player(player)), heir);
        }
    }
}

#[test]
fn the_leader_is_replaced_and_comes_back_as_a_member() {
    for seed in 0..10 {
        let mut hall = Hall::rough(seed);
        hall.mesh(config("Ann"), 4);
        let (leader, secret) = (hall.at(0).me().unwrap(), hall.at(0).rejoin_secret());
        hall.kill(0);
        hall.run_until(ms(15_000), |hall| {
            hall.agree(&[1, 2, 3]) && !hall.at(1).room().is_present(leader)
        });
        assert_ne!(hall.at(1).room().authority(), leader);
        assert_eq!((1..4).filter(|p| hall.at(*p).is_authority()).count(), 1);
        let mut join = JoinTo::new(address(2));
        join.rejoin = Some(secret);
        hall.replace(0, config("Ann"), Role::Peer(join));
        hall.run_until(ms(10_000), |hall| {
            hall.agree(&[0, 1, 2, 3]) && hall.at(1).room().is_present(leader)
        });
        assert_eq!(hall.at(0).me(), Some(leader));
        assert!(!hall.at(0).is_authority());
    }
}

#[test]
fn a_minority_freezes_and_rejoins() {
    for seed in 0..10 {
        for group in [vec![0, 1], vec![3, 4]] {
            let mut hall = Hall::rough(seed);
            hall.mesh(config("Ann"), 5);
            let rest: Vec<Place> = (0..5).filter(|p| !group.contains(p)).collect();
            hall.isolate(&group);
            hall.run(ms(15_000));
            for place in &group {
                assert_ne!(*hall.at(*place).state(), State::InSync, "{hall:?}");
                assert!(!hall.at(*place).is_authority());
            }
            assert!(hall.agree(&rest), "seed {seed}: {hall:?}");
            let present = hall.at(rest[0]).room().present().count();
            assert_eq!(present, 3);
            hall.mend();
            hall.run_until(ms(20_000), |hall| {
                hall.agree(&[0, 1, 2, 3, 4]) && hall.at(0).room().present().count() == 5
            });
        }
    }
}

#[test]
fn of_two_the_one_the_introducer_names_goes_on() {
    for named in [0, 1] {
        let mut hall = Hall::near(1);
        hall.mesh(config("Ann"), 2);
        if named == 1 {
            let other = hall.at(1).me().unwrap();
            hall.with(0, |now, session| session.name_survivor(now, other));
            hall.run(ms(1_000));
        }
        hall.cut(0, 1);
        hall.run(ms(12_000));
        assert_eq!(*hall.at(named).state(), State::InSync, "{hall:?}");
        assert!(hall.at(named).is_authority());
        assert_ne!(*hall.at(1 - named).state(), State::InSync);
        hall.mend();
        hall.run_until(ms(20_000), |hall| {
            hall.agree(&[0, 1]) && hall.at(0).room().present().count() == 2
        });
    }
}

#[test]
fn a_mesh_may_wait_instead() {
    let mut hall = Hall::near(1);
    let mut config = config("Ann");
    config.silence = Silence::Wait;
    hall.mesh(config, 3);
    hall.isolate(&[2]);
    hall.run(ms(20_000));
    for place in 0..3 {
        assert_eq!(*hall.at(place).state(), State::Frozen);
        assert_eq!(hall.at(place).room().present().count(), 3);
    }
    hall.mend();
    hall.run_until(ms(20_000), |hall| hall.agree(&[0, 1, 2]));
}

#[test]
fn leaving_a_mesh_takes_no_time_out() {
    for leaver in [0, 2] {
        let mut hall = Hall::near(1);
        hall.mesh(config("Ann"), 4);
        let peer = hall.at(leaver).me().unwrap();
        hall.with(leaver, |now, session| session.leave(now, "supper"));
        let rest: Vec<Place> = (0..4).filter(|p| *p != leaver).collect();
        hall.run_until(ms(2_000), |hall| {
            hall.agree(&rest) && hall.at(rest[0]).room().peer(peer).is_none()
        });
        let left = SessionEvent::PeerLeft {
            peer,
            reason: LeaveReason::Left("supper".into()),
        };
        assert_eq!(hall.seen(rest[1], &left), 1);
    }
}

#[test]
fn closing_a_mesh_closes_it_for_all() {
    let mut hall = Hall::near(1);
    hall.mesh(config("Ann"), 3);
    hall.with(0, |now, session| session.close_room(now, "bed time"));
    hall.run(ms(2_000));
    for place in 0..3 {
        let closed = State::Left(LeaveReason::RoomClosed("bed time".into()));
        assert_eq!(*hall.at(place).state(), closed);
    }
}

#[test]
fn kept_places_are_given_back_in_a_mesh() {
    let mut hall = Hall::rough(3);
    hall.mesh(config("Ann"), 3);
    let (me, secret) = (hall.at(2).me(), hall.at(2).rejoin_secret());
    let player = hall.at(2).my_players().next();
    hall.kill(2);
    // Back before anybody noticed.
    hall.run(ms(500));
    let mut join = JoinTo::new(address(1));
    join.rejoin = Some(secret);
    hall.replace(2, config("Ann"), Role::Peer(join));
    hall.run_until(ms(10_000), |hall| hall.agree(&[0, 1, 2]));
    assert_eq!(hall.at(2).me(), me);
    assert_eq!(hall.at(2).my_players().next(), player);
    assert_eq!(hall.at(0).room().peers().len(), 3);
    let presence = hall.at(0).room().peer(me.unwrap()).unwrap().presence;
    assert_eq!(presence, Presence::InSync);
    let place = hall.at(0).room().player(player.unwrap()).map(|p| p.peer);
    assert_eq!(place, me);
}
