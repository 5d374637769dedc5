//! Random rooms: some here, many in `make soak`. A failing seed replays with
//! `samestep lab soak --suite NAME --seeds 1 --seed N`.

use samestep_sim::{RoomFault, Suite, check::Promise, run_broken_room, soak};

fn run(suite: Suite, first: u64, count: u64) {
    let report = soak(suite, first, count, |_| ());
    println!("{} from seed {first}: {report}", suite.name());
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(
        report.failures.is_empty(),
        "{report}: {}",
        report.failures[0]
    );
}

#[test]
fn members_come_and_go_and_agree() {
    run(Suite::SESSIONS, 0, 50);
}

#[test]
fn actions_take_place_exactly_once() {
    run(Suite::ACTIONS, 0, 50);
}

/// The checker that a fault is there for finds it within a few worlds; what else the fault brings about does not count.
fn find(fault: RoomFault, promises: &[Promise]) {
    let found = (0..200).any(|seed| {
        let breach = run_broken_room(seed, fault).err();
        breach.is_some_and(|breach| promises.contains(&breach.promise))
    });
    assert!(found, "{fault:?} was not found");
}

#[test]
fn faults_in_actions_are_found() {
    use Promise::{Confirmed, SessionLife, Unconfirmed};
    find(RoomFault::SkipCommands, &[Confirmed]);
    find(RoomFault::RepeatCommands, &[SessionLife, Confirmed]);
    find(RoomFault::OtherCommands, &[Confirmed]);
    find(RoomFault::RepeatDenials, &[Confirmed]);
    find(RoomFault::RepeatActs, &[Unconfirmed]);
    find(RoomFault::SkipRejections, &[Unconfirmed]);
}

#[test]
fn faults_in_rooms_are_found() {
    use Promise::{Agreement, NoGhosts, OneGame, Places, SessionLife};
    find(RoomFault::RepeatInSync, &[SessionLife]);
    find(RoomFault::OtherRoom, &[Agreement]);
    find(RoomFault::Ghost, &[NoGhosts]);
    find(RoomFault::OtherPlace, &[Places, Agreement]);
    find(RoomFault::SecondAuthority, &[OneGame]);
    find(RoomFault::NeverFreezes, &[OneGame]);
    find(RoomFault::NeverSettles, &[Agreement]);
}
