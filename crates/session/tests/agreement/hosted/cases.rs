//! What hosted rooms promise, case by case; the counterexamples that their rules answer, by name; and every seed that failed while they were built.

use core::time::Duration;

use samestep_session::agreement::{
    Ballot, Body, Entry, Hosted, HostedConfig, HostedEvent, HostedRole, Incarnation, Log, Member,
    NextView, NotAppended, Replica, Request, Slot, Suffix,
};

use super::fault::Fault;
use super::random;
use super::world::{MS, World};

/// Answers to the host take 300 ms. The host is cut off, and its successor holds a lease as soon as the standbys' grants are over.
fn cut_off_after_slow_answers(seed: u64, fault: Fault) -> Option<String> {
    let mut world = World::room(seed, 3, 2, fault);
    world.network.latency_us = (500, 1500);
    world.slow = Some((0, 300 * MS));
    world.run_for(1000 + seed * 7);
    world.network.split(|a| u64::from(a == 0));
    world.run_for(2000);
    assert!(fault != Fault::None || world.host().is_some_and(|a| a != 0));
    world.oracle.violation
}

/// Rule 6: the standby's time is over before the host's, if the host counts from the arrival of the answer.
#[test]
fn a_lease_that_is_counted_from_the_answer_overlaps() {
    let overlaps = |fault| (0..40).filter(move |s| cut_off_after_slow_answers(*s, fault).is_some());
    assert_eq!(overlaps(Fault::None).count(), 0);
    let count = overlaps(Fault::LeaseFromAnswer).count();
    assert!(count > 30, "{count} of 40");
}

/// Rule 8: 3 and 4 are cut from the host, and their own grants are over. 1 grants to the host and leaves: with its farewell 3 and 4 are a quorum of five. Returns
/// whether two leases overlapped, and whether another hosts in the end.
fn standby_leaves_within_its_grant(seed: u64, fault: Fault) -> (bool, bool) {
    let mut world = World::new(seed, fault);
    world.config.timers.exclude = 3000 * MS;
    world.form(5, 4);
    world.chooses = false;
    world.network.latency_us = (500, 1500);
    world.run_for(seed * 3);
    world.network.cut(0, 3);
    world.network.cut(0, 4);
    world.run_for(505 + seed % 80);
    world.network.cut(0, 1);
    world.leave(1);
    world.run_for(2500);
    let another = world.host().is_some_and(|a| a != 0);
    (world.oracle.violation.is_some(), another)
}

#[test]
fn a_farewell_elects_another_and_does_not_grant_it_a_lease() {
    let runs = |fault| (0..60).map(move |s| standby_leaves_within_its_grant(s, fault));
    assert_eq!(runs(Fault::None).filter(|(overlap, _)| *overlap).count(), 0);
    assert!(runs(Fault::None).any(|(_, hosts)| hosts));
    let overlaps = runs(Fault::GrantsAnybody).filter(|(overlap, _)| *overlap);
    let count = overlaps.count();
    assert!(count > 30, "{count} of 60");
}

#[test]
fn three_programs_are_three_members_and_their_host_can_be_lost() {
    let mut world = World::room(1, 3, 2, Fault::None);
    assert_eq!(world.core(0).view().members.len(), 3);
    world.propose(1);
    world.run_for(100);
    world.crash(0);
    world.propose(2);
    assert!(world.run_until(2000, World::is_settled).is_some());
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn with_one_standby_a_host_that_dies_takes_the_room_with_it() {
    let mut world = World::room(2, 3, 1, Fault::None);
    world.propose(2);
    world.run_for(200);
    let standby = (1..3).find(|a| world.core(*a).role() == HostedRole::Standby);
    let standby = standby.expect("a standby");
    world.crash(0);
    world.run_for(9000);
    assert_eq!(
        (world.host(), world.core(standby).is_frozen()),
        (None, true)
    );
    assert!(!world.program(standby).game.stranded);
    world.run_for(3000);
    assert!(world.program(standby).game.stranded);
    let (now, slot) = (world.now, Slot(1));
    let me = Member {
        incarnation: Incarnation(77),
        slot,
    };
    let old = world.core(standby).replica().log().length();
    let mut alone = world
        .core(standby)
        .found_from(now, 2, me)
        .expect("it knows the room");
    assert!(alone.holds_lease(now) && alone.propose(now, 5).is_ok());
    assert_eq!(alone.replica().log().decided().index, old + 2);
    let mut shown = Vec::new();
    while let Some(event) = alone.poll_event(now) {
        if let HostedEvent::Command { command, .. } = event {
            shown.push(command);
        }
    }
    assert_eq!(shown, [5], "what was shown before is not shown again");
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn with_one_standby_a_host_that_leaves_hands_over() {
    let mut world = World::room(3, 2, 1, Fault::None);
    world.propose(1);
    world.run_for(50);
    world.leave(0);
    world.propose(1);
    assert!(world.run_until(1000, World::is_settled).is_some());
    assert_eq!((world.host(), world.core(1).pending()), (Some(1), 0));
    assert_eq!(world.program(1).game.rewinds, 0);
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn of_four_members_half_with_the_first_standby_go_on_without_the_host() {
    let mut world = World::room(4, 4, 3, Fault::None);
    let view = world.core(0).view().clone();
    assert_ne!(view.tie_breaker, world.incarnation_at(0));
    let first = (1..4).find(|a| world.incarnation_at(*a) == view.tie_breaker);
    let other = (1..4).find(|a| Some(*a) != first).expect("another standby");
    world.crash(0);
    world.crash(other);
    world.propose(first.expect("a tie-breaker"));
    assert!(world.run_until(3000, World::is_settled).is_some());
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn without_its_lease_a_host_orders_and_shows_nothing() {
    let mut world = World::room(5, 4, 2, Fault::None);
    world.ticks = true;
    world.run_for(500);
    world.network.split(|a| u64::from(a == 0));
    world.run_for(495);
    let shown = world.program(0).game.commands;
    let by = world.incarnation_at(0);
    world.with(0, |now, core| {
        let n = core.replica().log().last_request(by) + 1;
        let appended = core.append(now, Request { by, n }, 0);
        assert_eq!(appended, Err(NotAppended::NoLease));
    });
    world.run_for(3000);
    assert_eq!(world.program(0).game.commands, shown);
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn a_host_that_was_cut_off_is_told_what_is_taken_back_and_is_no_host() {
    let mut world = World::room(6, 6, 2, Fault::None);
    world.ticks = true;
    world.run_for(500);
    // A guest is cut off with it, and sees what the others do not.
    let guest = (1..6).find(|a| world.core(*a).role() == HostedRole::Guest);
    let guest = guest.expect("a guest");
    world.network.split(|a| u64::from(a == 0 || a == guest));
    world.run_for(3000);
    assert!(world.core(guest).is_frozen());
    world.network.heal();
    world.ticks = false;
    assert!(world.run_until(3000, World::is_settled).is_some());
    assert_ne!(world.core(0).role(), HostedRole::Host);
    for address in [0, guest] {
        let game = &world.program(address).game;
        assert!(game.rewinds > 0 && game.taken_back > 0);
        // The host asks again for what it had ordered for itself: it is late, but not lost.
        assert!(!game.lost.is_empty());
    }
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn what_is_asked_for_while_nobody_hosts_is_not_lost() {
    let mut world = World::room(7, 8, 2, Fault::None);
    world.crash(0);
    for round in 0..10 {
        (1..8).for_each(|address| world.propose(address));
        world.run_for(20 + round);
    }
    assert!(world.run_until(3000, World::is_settled).is_some());
    assert!((1..8).all(|a| world.program(a).game.commands >= 70));
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn a_guest_that_joins_late_gets_the_state_and_follows() {
    let mut world = World::room(8, 4, 2, Fault::None);
    (0..4).for_each(|a| world.propose(a));
    world.run_for(300);
    (0..4).for_each(|a| world.compact(a));
    world.join(4);
    assert!(world.run_until(1000, World::is_settled).is_some());
    assert!(world.core(4).replica().log().snapshot().point.index > 0);
    assert_eq!(world.core(4).role(), HostedRole::Guest);
    assert_eq!(world.oracle.violation, None);
}

fn next_view(members: &[u64]) -> NextView {
    let members = members.iter().map(|n| Member {
        incarnation: Incarnation(*n),
        slot: Slot(*n as u16),
    });
    NextView {
        members: members.collect(),
        tie_breaker: Incarnation(1),
        owner: Incarnation(1),
        cuts: Vec::new(),
    }
}

fn command(by: u64, n: u32, command: char) -> Entry<char> {
    let by = Incarnation(by);
    Entry::Command {
        request: Request { by, n },
        command,
    }
}

/// Members 1 to 3 and the guest 9. 1 led, x is certain and y was accepted by 2; then 2 stands, 3 promises, and the guest says that its log is this one.
fn adopted(accepted: Option<Ballot>, tail: Vec<Entry<char>>) -> String {
    let mut two = Replica::new(Incarnation(2), Log::founding(next_view(&[1, 2, 3]))).hosted();
    two.add_guest(Incarnation(9));
    let first = two.status().accepted;
    for (after, decided, entry) in [(1, 1, command(1, 1, 'x')), (2, 2, command(1, 2, 'y'))] {
        let accept = Body::Accept {
            ballot: first,
            after,
            entries: vec![entry],
        };
        two.handle(Incarnation(1), 1, decided, accept);
    }
    two.campaign();
    let ballot = two.status().promised;
    let promise = Body::Promise {
        ballot,
        accepted: first,
        length: 1,
        suffix: None,
    };
    two.handle(Incarnation(3), 1, 1, promise);
    let suffix = Some(Suffix {
        start: samestep_session::agreement::Start::After(1),
        entries: tail,
        decided: 1,
    });
    let tail = Body::Tail {
        ballot,
        accepted: accepted.unwrap_or(first),
        suffix,
    };
    two.handle(Incarnation(9), 1, 1, tail);
    assert!(!two.leads(), "it waits until it is told");
    two.lead();
    assert!(two.leads());
    let log = two.log();
    let entries = (2..=log.length()).filter_map(|index| log.entry(index));
    let text = entries.map(|entry| match entry {
        Entry::Command { command, .. } => *command,
        Entry::Next(_) => '|',
    });
    text.collect()
}

/// Invariant 1: a guest's log adds to the highest log of the promises, and changes nothing in it.
#[test]
fn a_guest_adds_what_it_saw_and_changes_nothing() {
    let (x, y, z) = (command(1, 1, 'x'), command(1, 2, 'y'), command(1, 3, 'z'));
    let w = command(1, 2, 'w');
    assert_eq!(adopted(None, vec![x.clone(), y.clone(), z.clone()]), "xyz");
    assert_eq!(adopted(None, vec![x.clone(), w.clone(), z.clone()]), "xy");
    assert_eq!(
        adopted(None, vec![x.clone(), y.clone(), w]),
        "xy",
        "2 is no next request"
    );
    let high = Some(Ballot {
        n: 1 << 30,
        by: Incarnation(9),
    });
    assert_eq!(adopted(high, vec![z.clone()]), "xy");
    let next = Entry::Next(next_view(&[9]));
    assert_eq!(
        adopted(None, vec![x, y, next, z]),
        "xy",
        "nor is it believed about views"
    );
}

#[test]
fn a_guest_deposes_nobody() {
    let config = HostedConfig::default();
    let me = Member {
        incarnation: Incarnation(5),
        slot: Slot(0),
    };
    let mut core: Hosted<u32> = Hosted::found(Duration::ZERO, config, 1, me);
    let mut status = core.replica().status();
    status.promised.n = 1 << 20;
    let guest = Incarnation(9);
    for body in [Body::Follow { status, feed: true }, Body::Status(status)] {
        let message = samestep_session::agreement::Message {
            room: 1,
            from: guest,
            to: Incarnation(5),
            view: 1,
            decided: 1,
            body,
        };
        core.handle(MS, guest, message);
    }
    assert!(core.holds_lease(MS) && core.guests(MS).eq([guest]));
    assert!(core.propose(MS, 1).is_ok() && core.pending() == 0);
}

/// Schedules that failed while hosted rooms were built: 9066, 22187 (a host that hands over is stood against again before it has given way), 51565 (a late
/// promise of an earlier ballot ended a grant), 81802 (a host that had handed over gave way to another as well). Some are other schedules by now.
#[test]
fn seeds_that_failed_once() {
    for seed in [9066, 22187, 51565, 81802] {
        assert_eq!(
            random::run(seed, Fault::None).violation,
            None,
            "seed {seed}"
        );
    }
}
