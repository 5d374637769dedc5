//! Random rooms, in parts so that they run side by side. A failing seed replays with
//! `samestep lab soak --suite NAME --seeds 1 --seed N`.

use samestep_sim::{RoomFault, Suite, check::Promise, soak};

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
    run(Suite::Sessions, 0, 150);
}

#[test]
fn actions_take_place_exactly_once() {
    run(Suite::Actions, 0, 150);
}

/// A world that went wrong once.
fn replay(suite: Suite, seed: u64) {
    if let Err(breach) = suite.run(seed).1 {
        panic!("{} {seed}: {breach}", suite.name());
    }
}

#[test]
fn what_is_said_to_who_somebody_was_is_not_owed_to_who_came_back() {
    replay(Suite::Sessions, 201);
    replay(Suite::Actions, 800);
}

#[test]
fn who_is_waited_for_and_gave_up_too_soon_tries_again() {
    replay(Suite::Sessions, 209);
    replay(Suite::Sessions, 869);
    replay(Suite::Sessions, 951);
}

#[test]
fn who_looks_for_a_way_back_waits_for_the_welcome() {
    replay(Suite::Sessions, 468);
    replay(Suite::Sessions, 967);
}

#[test]
fn who_is_being_sent_away_is_no_part_of_a_majority() {
    replay(Suite::Sessions, 518);
}

#[test]
fn who_opened_a_mesh_counts_under_another_leader() {
    replay(Suite::Sessions, 597);
}

#[test]
fn who_lags_behind_learns_it_from_who_came_last() {
    replay(Suite::Actions, 30024);
}

/// The checker that a fault is there for finds it within a few worlds; what else the fault brings about does not count.
fn find(suite: Suite, fault: RoomFault, promises: &[Promise]) {
    let found = (0..200).any(|seed| {
        let breach = suite.run_broken(seed, fault).err();
        breach.is_some_and(|breach| promises.contains(&breach.promise))
    });
    assert!(found, "{fault:?} was not found");
}

#[test]
fn faults_in_actions_are_found() {
    use Promise::{Confirmed, SessionLife, Unconfirmed};
    let find = |fault, promises: &[Promise]| find(Suite::Actions, fault, promises);
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
    let find = |fault, promises: &[Promise]| find(Suite::Sessions, fault, promises);
    find(RoomFault::RepeatInSync, &[SessionLife]);
    find(RoomFault::OtherRoom, &[Agreement]);
    find(RoomFault::Ghost, &[NoGhosts]);
    find(RoomFault::OtherPlace, &[Places, Agreement]);
    find(RoomFault::SecondAuthority, &[OneGame]);
    find(RoomFault::NeverFreezes, &[OneGame]);
    find(RoomFault::NeverSettles, &[Agreement]);
}
