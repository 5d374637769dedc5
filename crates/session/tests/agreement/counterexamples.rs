//! Every counterexample that a rule of the agreement answers, by name; and every seed that failed while it was built.

use core::time::Duration;

use samestep_session::agreement::{
    Agreement, AgreementConfig, Body, Entry, Event, Incarnation, Log, Member, Message, NextView,
    Outgoing, Replica, Request, Slot, Standing,
};

use crate::fault::Fault;
use crate::random;
use crate::world::{MS, World};

fn next_view(members: &[u64], owner: u64) -> NextView {
    let members = members.iter().map(|n| Member {
        incarnation: Incarnation(*n),
        slot: Slot(*n as u16),
    });
    NextView {
        members: members.collect(),
        tie_breaker: Incarnation(owner),
        owner: Incarnation(owner),
        cuts: Vec::new(),
    }
}

/// Replicas 1 to 3 of one view, and what they said to each other.
struct Three {
    replicas: Vec<Replica<char>>,
    said: Vec<(u64, Outgoing<char>)>,
    fault: Fault,
}

impl Three {
    /// One of them leads.
    fn new(fault: Fault, leader: u64) -> Self {
        let log = || Log::founding(next_view(&[1, 2, 3], leader));
        Self {
            replicas: (1..=3)
                .map(|n| Replica::new(Incarnation(n), log()))
                .collect(),
            said: Vec::new(),
            fault,
        }
    }

    /// Lets a replica do something, and takes what it says.
    fn at<T>(&mut self, who: u64, act: impl FnOnce(&mut Replica<char>) -> T) -> T {
        let replica = &mut self.replicas[who as usize - 1];
        let done = act(replica);
        while let Some(out) = replica.poll() {
            self.said.push((who, out));
        }
        done
    }

    fn append(&mut self, who: u64, command: char) -> bool {
        let by = Incarnation(who);
        self.at(who, |r| {
            let n = r.log().last_request(by) + 1;
            r.append(Request { by, n }, command)
        })
    }

    /// Delivers what is said among these until nothing more is, and loses nothing of what is said to others.
    fn deliver(&mut self, among: &[u64]) {
        let hears =
            |(from, out): &(u64, Outgoing<char>)| among.contains(from) && among.contains(&out.to.0);
        while let Some(place) = self.said.iter().position(hears) {
            let (from, mut out) = self.said.remove(place);
            self.fault.strike(out.to, &mut out.body);
            let Outgoing {
                to,
                view,
                decided,
                body,
            } = out;
            self.at(to.0, |r| {
                r.handle(Incarnation(from), view, decided, body);
            });
        }
    }

    /// The commands that a replica has decided.
    fn decided(&self, who: u64) -> String {
        let log = self.replicas[who as usize - 1].log();
        let entries = (1..=log.decided().index).filter_map(|index| log.entry(index));
        let commands = entries.filter_map(|entry| match entry {
            Entry::Command { command, .. } => Some(*command),
            Entry::Next(_) => None,
        });
        commands.collect()
    }
}

/// 2 and 3 decide x and leave; 1 still leads an old ballot, and has everyone's farewell.
fn farewells_of_a_majority(fault: Fault) -> Three {
    let mut three = Three::new(fault, 1);
    three.at(2, |r| r.campaign());
    three.deliver(&[2, 3]);
    assert!(three.append(2, 'x'));
    three.deliver(&[2, 3]);
    assert_eq!(
        (three.decided(2), three.decided(3)),
        ("x".into(), "x".into())
    );
    three.said.clear();
    three.append(1, 'y');
    three.at(2, |r| r.leave(|_| 1));
    three.at(3, |r| r.leave(|_| 1));
    three.deliver(&[1, 2, 3]);
    three
}

#[test]
fn a_farewell_carries_what_was_decided_without_the_receiver() {
    let mut three = farewells_of_a_majority(Fault::None);
    assert_eq!(three.decided(1), "", "a higher ballot was promised");
    assert!(!three.replicas[0].leads());
    three.at(1, |r| r.campaign());
    assert_eq!(three.decided(1), "x");
    assert!(three.append(1, 'z'));
    assert_eq!(three.decided(1), "xz");
    assert_eq!(farewells_of_a_majority(Fault::BareFarewell).decided(1), "y");
}

/// 2 decides the end of the view and opens the next; 1, elected in the first view, completes the same entry. Both then want to decide something in the next view, with 3.
fn completed_by_another(fault: Fault) -> Three {
    let mut three = Three::new(fault, 2);
    three.at(2, |r| r.close_view(next_view(&[1, 2, 3], 2)));
    // 3 accepts the entry and does not hear that it is decided; 1 hears nothing.
    let said = core::mem::take(&mut three.said);
    for (_, out) in said.into_iter().filter(|(_, out)| out.to.0 == 3) {
        three.at(3, |r| {
            r.handle(Incarnation(2), out.view, out.decided, out.body)
        });
    }
    let said = core::mem::take(&mut three.said);
    for (_, out) in said.into_iter().filter(|(_, out)| out.to.0 == 2) {
        three.at(2, |r| {
            r.handle(Incarnation(3), out.view, out.decided, out.body)
        });
    }
    three.said.clear();
    assert!(three.replicas[1].view().number == 2 && three.replicas[1].leads());
    three.at(1, |r| r.campaign());
    three.deliver(&[1, 3]);
    assert_eq!(three.replicas[0].view().number, 2);
    three.append(1, 'a');
    three.deliver(&[1, 3]);
    three.said.clear();
    for command in ['x', 'y'] {
        three.append(2, command);
        three.deliver(&[2, 3]);
    }
    three
}

#[test]
fn only_its_owner_opens_a_view_without_promises() {
    let three = completed_by_another(Fault::None);
    assert_eq!(
        (three.decided(1), three.decided(2)),
        ("".into(), "xy".into())
    );
    let three = completed_by_another(Fault::SameLeaderOpens);
    assert_eq!(
        (three.decided(1), three.decided(2)),
        ("a".into(), "xy".into())
    );
}

#[test]
fn a_repeated_sync_never_shortens_a_log() {
    let mut three = Three::new(Fault::None, 1);
    three.at(2, |r| r.campaign());
    three.deliver(&[2, 3]);
    three.said.clear();
    three.append(2, 'x');
    // A Sync of the same ballot from before x comes again.
    let ballot = three.replicas[1].status().promised;
    let suffix = Three::new(Fault::None, 1).replicas[0].log().suffix_after(1);
    three.deliver(&[2, 3]);
    let length = three.replicas[2].status().length;
    three.at(3, |r| {
        r.handle(Incarnation(2), 1, 1, Body::Sync { ballot, suffix })
    });
    assert_eq!(three.replicas[2].status().length, length);
    assert_eq!(three.decided(2), "x");
}

#[test]
fn a_straggler_before_the_leaders_log_gets_a_snapshot() {
    let mut world = World::room(1, AgreementConfig::default(), 3, Fault::None);
    world.network.cut(0, 2);
    world.network.cut(1, 2);
    world.propose(0);
    world.run_for(200);
    world.compact(0);
    world.compact(1);
    world.network.heal();
    let settled = world.run_until(1000, World::is_settled);
    assert_eq!(world.oracle.violation, None);
    assert!(settled.is_some() && world.core(2).replica().log().snapshot().point.index > 0);
    assert_eq!(world.core(2).view().number, 3, "nobody was excluded");
}

/// Members 0 to 3, of whom 0 leads and breaks ties. 0 is isolated for some time, in which another is elected and may exclude it; then 0 and one more are cut from the
/// other two. Returns how many of the halves have decided something 50 s later, and whether two values were decided at one index.
fn halves_that_went_on(isolated_ms: u64, fault: Fault) -> (usize, bool) {
    let mut world = World::room(7, AgreementConfig::default(), 4, fault);
    world.network.split(|a| u64::from(a == 0));
    world.run_for(isolated_ms);
    let now = world.now;
    let leader = (1..4).find(|a| world.core(*a).leader(now) == Some(world.incarnation_at(*a)));
    let leader = leader.unwrap_or(1);
    let fourth = (1..4).rev().find(|a| *a != leader).unwrap_or(3);
    world.network.heal();
    world.network.split(|a| u64::from(a == 0 || a == fourth));
    let before: Vec<u64> = (0..4).map(|a| world.decided(a)).collect();
    world.run_for(5000);
    for _ in 0..9 {
        (0..4).for_each(|a| world.propose(a));
        world.run_for(5000);
    }
    let went_on = |half: &[usize]| {
        // A command was decided here: an exclusion alone would be one entry.
        half.iter().any(|a| world.decided(*a) > before[*a] + 2)
    };
    let others: Vec<usize> = (1..4).filter(|a| *a != fourth).collect();
    let halves = usize::from(went_on(&[0, fourth])) + usize::from(went_on(&others));
    (halves, world.oracle.violation.is_some())
}

#[test]
fn equal_halves_never_both_go_on() {
    let mut went_on = 0;
    for isolated_ms in (0..2500).step_by(50) {
        let (halves, violation) = halves_that_went_on(isolated_ms, Fault::None);
        assert!(halves <= 1 && !violation, "isolated for {isolated_ms} ms");
        went_on += halves;
    }
    assert!(went_on > 40, "one half usually goes on");
    let both = |ms| halves_that_went_on(ms, Fault::OwnTieBreaker);
    let split = (0..2500)
        .step_by(50)
        .map(both)
        .filter(|(n, v)| *n == 2 || *v);
    assert!(
        split.count() > 0,
        "the split is there if the tie-breaker is not part of the view"
    );
}

#[test]
fn a_slots_secret_does_not_prove_that_its_holder_is_dead() {
    let mut world = World::room(3, AgreementConfig::default(), 2, Fault::None);
    // The tie-breaker is merely cut off; somebody with its secret comes to the other.
    world.network.split(|a| u64::from(a == 0));
    let slot = world.core(0).view().slot(world.incarnation_at(0));
    world.join_as(2, slot);
    world.run_for(9000);
    assert_eq!(world.core(1).standing(), Standing::Frozen);
    assert_eq!(world.core(2).standing(), Standing::Learner);
    assert!(
        world.program(2).room_frozen,
        "the room says that it is frozen"
    );
    world.propose(0);
    world.run_for(100);
    assert_eq!(world.core(0).pending(), 0, "the other side goes on");
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn a_survivor_of_two_is_stranded_and_goes_on_as_a_new_room() {
    let mut world = World::room(4, AgreementConfig::default(), 2, Fault::None);
    world.propose(1);
    world.run_for(300);
    world.crash(0);
    world.run_for(10_000);
    assert!(!world.program(1).is_stranded());
    world.run_for(1_000);
    assert!(world.program(1).is_stranded());
    let now = world.now;
    let old = world.core(1).replica().log().decided().index;
    let mut alone = world
        .core(1)
        .found_from(now, 2, Incarnation(77))
        .expect("a member");
    alone.propose(now, 5).expect("few requests");
    let mut shown = Vec::new();
    while let Some(event) = alone.poll_event(now) {
        if let Event::Command { command, .. } = event {
            shown.push(command);
        }
    }
    assert_eq!(shown, [5], "what was shown before is not shown again");
    assert_eq!(alone.replica().log().decided().index, old + 2);
    assert_eq!(alone.view().members.len(), 1);
}

#[test]
fn a_star_whose_leader_hears_the_centre_alone_elects_the_centre() {
    let mut world = World::room(5, AgreementConfig::default(), 5, Fault::None);
    for a in [0, 1, 3, 4] {
        for b in [0, 1, 3, 4] {
            if a != b {
                world.network.cut(a, b);
            }
        }
    }
    let centre = world.incarnation_at(2);
    let leads = |w: &World| w.core(2).leader(w.now) == Some(centre);
    assert!(world.run_until(3000, leads).is_some());
    world.propose(2);
    assert!(world.run_until(300, |w| w.core(2).pending() == 0).is_some());
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn a_frozen_leader_decides_nothing() {
    let mut world = World::room(6, AgreementConfig::default(), 3, Fault::None);
    world.network.split(|a| u64::from(a == 0));
    world.run_for(600);
    assert_eq!(world.core(0).standing(), Standing::Frozen);
    let decided = world.decided(0);
    world.propose(0);
    world.run_for(3000);
    assert_eq!(world.decided(0), decided);
    world.network.heal();
    assert!(world.run_until(3000, World::is_settled).is_some());
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn all_who_have_not_said_farewell_go_on() {
    let mut world = World::room(8, AgreementConfig::default(), 2, Fault::None);
    // The tie-breaker leaves: the other is no quorum, but it is all there is.
    world.leave(0);
    assert!(world.run_until(1500, World::is_settled).is_some());
    world.propose(1);
    world.run_for(100);
    assert_eq!(
        (world.core(1).pending(), world.core(1).view().members.len()),
        (0, 1)
    );
    assert_eq!(world.oracle.violation, None);
}

#[test]
fn what_was_meant_for_a_former_incarnation_or_another_room_is_dropped() {
    let config = AgreementConfig::default();
    let me = Member {
        incarnation: Incarnation(5),
        slot: Slot(0),
    };
    let mut core: Agreement<u32> = Agreement::found(Duration::ZERO, config, 1, me);
    while core.poll_message().is_some() {}
    let learn = |room, to, from| Message {
        room,
        from: Incarnation(from),
        to: Incarnation(to),
        view: 0,
        decided: 0,
        body: Body::Learn {
            slot: None,
            feed: true,
            ready: true,
        },
    };
    core.handle(MS, Incarnation(9), learn(1, 4, 9));
    core.handle(MS, Incarnation(9), learn(2, 5, 9));
    core.handle(MS, Incarnation(8), learn(1, 5, 9));
    assert_eq!(core.poll_message(), None);
    core.handle(MS, Incarnation(9), learn(1, 5, 9));
    assert!(core.poll_message().is_some());
}

/// A plea of a learner that arrives after it was admitted must not admit it a second time: it would count twice.
#[test]
fn a_late_plea_of_a_member_does_not_admit_it_again() {
    let mut world = World::new(9, AgreementConfig::default(), Fault::None);
    world.network.duplicate_percent = 50;
    world.found(0);
    world.join(1);
    world.run_for(2000);
    assert_eq!(world.core(0).view().members.len(), 2);
    assert_eq!(world.oracle.violation, None);
}

/// Schedules that failed while the agreement was built: 7 (admitted and excluded before it heard of either), 74 (a snapshot within a ballot), 159 (held streams
/// released before a quorum followed the new leader), 11 (admitted twice), 906 (a stream meant for a former incarnation), 2019, 2725 (faults of the checker), 13458 (a flush shown before the
/// view it is about), 21921 (a view shown twice).
#[test]
fn seeds_that_failed_once() {
    for seed in [7, 11, 74, 159, 906, 2019, 2725, 13458, 21921] {
        assert_eq!(
            random::run(seed, Fault::None).violation,
            None,
            "seed {seed}"
        );
    }
}
