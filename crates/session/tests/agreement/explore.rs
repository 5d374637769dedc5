//! Every order of messages: an exhaustive search over replicas without time.
//!
//! A message that was sent stays on the network, so each may be delivered at any time, any number of times, or never: loss, repetition and reordering are all of them. Members may campaign,
//! append, end the view, leave and crash at any time, each a bounded number of times. States are compared by a hash of 128 bits.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use samestep_session::agreement::{
    Body, Entry, Incarnation, Log, Member, NextView, Outgoing, Replica, Request, Slot,
};

use crate::fault::Fault;

type Command = u8;

/// How often each thing may happen in one run.
#[derive(Clone, Copy, Hash, Debug, Default)]
pub struct Budget {
    pub campaigns: u8,
    pub commands: u8,
    pub views: u8,
    pub leaves: u8,
    pub crashes: u8,
    /// Guests of a hosted room, whose candidates lead when they are told to.
    pub guests: u8,
}

/// A message on the network.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sent {
    hash: u128,
    from: Incarnation,
    out: Outgoing<Command>,
}

/// A replica and its hash.
struct Hashed {
    replica: Replica<Command>,
    hash: u128,
}

/// States share what they have in common with those they followed.
#[derive(Clone)]
struct State {
    replicas: Vec<Rc<Hashed>>,
    /// Those that crashed.
    crashed: Vec<bool>,
    network: Vec<Rc<Sent>>,
    /// The sum of the hashes of what is on the network.
    network_hash: u128,
    /// Whether refusals get lost: they repeat what other messages say.
    without_status: bool,
    budget: Budget,
    /// The longest log that anybody ever decided.
    decided: Vec<Entry<Command>>,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    pub states: usize,
    /// The first violation.
    pub violation: Option<String>,
    /// Whether every state was visited.
    pub complete: bool,
    /// The most entries that were decided, and the highest view that was entered.
    pub most_decided: usize,
    pub highest_view: u32,
}

/// A quick hash of 128 bits: states are compared by it alone.
#[derive(Default)]
struct Wide(u64, u64);

impl Hasher for Wide {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(7) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
        self.1 = (self.1.rotate_left(25) ^ word).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        self.1 ^= self.1 >> 31;
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn hash_of(value: &impl Hash) -> u128 {
    let mut hasher = Wide::default();
    value.hash(&mut hasher);
    u128::from(hasher.0) << 64 | u128::from(hasher.1)
}

impl Hashed {
    fn new(replica: Replica<Command>) -> Rc<Self> {
        let hash = hash_of(&replica);
        Rc::new(Self { replica, hash })
    }
}

impl State {
    fn new(members: u64, learners: u64, budget: Budget) -> Self {
        let member = |n| Member {
            incarnation: Incarnation(n),
            slot: Slot(n as u16),
        };
        let first = NextView {
            members: (1..=members).map(member).collect(),
            tie_breaker: Incarnation(1),
            owner: Incarnation(1),
            cuts: Vec::new(),
        };
        let founding =
            (1..=members).map(|n| Replica::new(Incarnation(n), Log::founding(first.clone())));
        let learning =
            (members + 1..=members + learners).map(|n| Replica::new(Incarnation(n), Log::empty()));
        let guests = members + learners + 1..=members + learners + u64::from(budget.guests);
        let following =
            (guests.clone()).map(|n| Replica::new(Incarnation(n), Log::founding(first.clone())));
        let hosted = |mut replica: Replica<Command>| match budget.guests {
            0 => replica,
            _ => {
                replica = replica.hosted();
                guests
                    .clone()
                    .for_each(|n| replica.add_guest(Incarnation(n)));
                replica
            }
        };
        let all = founding.chain(learning).chain(following).map(hosted);
        let replicas: Vec<Rc<Hashed>> = all.map(Hashed::new).collect();
        Self {
            crashed: vec![false; replicas.len()],
            replicas,
            network: Vec::new(),
            network_hash: 0,
            without_status: members > 2,
            budget,
            decided: vec![Entry::Next(first)],
        }
    }

    fn fingerprint(&self) -> u128 {
        let replicas: Vec<u128> = self.replicas.iter().map(|r| r.hash).collect();
        let network = self.network_hash;
        hash_of(&(replicas, &self.crashed, network, self.budget, &self.decided))
    }

    fn place(&self, who: Incarnation) -> Option<usize> {
        self.replicas.iter().position(|r| r.replica.me() == who)
    }

    /// Puts what a replica says on the network, and checks what it decided.
    fn settle(
        &mut self,
        at: usize,
        mut replica: Replica<Command>,
        fault: Fault,
    ) -> Result<(), String> {
        let from = replica.me();
        while let Some(mut out) = replica.poll() {
            // How far its sender has decided does not matter to a leader.
            if matches!(out.body, Body::Accepted { .. }) {
                out.decided = 0;
            }
            let to = self.place(out.to);
            let deaf = to.is_none_or(|to| self.crashed[to] || self.replicas[to].replica.has_left());
            let lost = self.without_status && matches!(out.body, Body::Status(_));
            if deaf || lost || matches!(out.body, Body::Parted) {
                continue;
            }
            let hash = hash_of(&(from, &out));
            if let Err(place) = self.network.binary_search_by_key(&hash, |s| s.hash) {
                self.network_hash = self.network_hash.wrapping_add(hash);
                self.network
                    .insert(place, Rc::new(Sent { hash, from, out }));
            }
        }
        let log = replica.log();
        let known = self.decided.len().min(log.decided().index as usize);
        for index in 1..=log.decided().index as usize {
            let Some(entry) = log.entry(index as u64) else {
                continue;
            };
            let entry = fault.comparable(entry);
            if index > known {
                self.decided.push(entry);
            } else if fault.comparable(&self.decided[index - 1]) != entry {
                let before = &self.decided[index - 1];
                return Err(format!(
                    "two values at index {index}: {before:?}, and at {from} {entry:?}"
                ));
            }
        }
        self.replicas[at] = Hashed::new(replica);
        Ok(())
    }

    /// Every state that can follow, by one step of one member.
    fn steps(&self, fault: Fault, mut visit: impl FnMut(Result<State, String>)) {
        type Change<'a> = &'a dyn Fn(&mut Budget, &mut Replica<Command>);
        let mut step = |at: usize, change: Change<'_>| {
            let mut replica = self.replicas[at].replica.clone();
            let mut budget = self.budget;
            change(&mut budget, &mut replica);
            if replica == self.replicas[at].replica {
                return;
            }
            let mut next = self.clone();
            next.budget = budget;
            let settled = next.settle(at, replica, fault);
            visit(settled.map(|()| next));
        };
        for sent in &self.network {
            let Some(at) = self.place(sent.out.to).filter(|at| !self.crashed[*at]) else {
                continue;
            };
            step(at, &|_, replica| {
                let mut body = sent.out.body.clone();
                fault.strike(sent.out.to, &mut body);
                let Outgoing { view, decided, .. } = sent.out;
                replica.handle(sent.from, view, decided, body);
            });
        }
        for (at, replica) in self.replicas.iter().enumerate() {
            let replica = &replica.replica;
            if self.crashed[at] || !replica.votes() {
                continue;
            }
            let me = replica.me();
            if self.budget.campaigns > 0 && !replica.leads() {
                step(at, &|budget, replica| {
                    budget.campaigns -= 1;
                    replica.campaign();
                });
            }
            if replica.is_candidate() && replica.is_promised() && self.budget.guests > 0 {
                step(at, &|_, replica| replica.lead());
            }
            if self.budget.commands > 0 && replica.leads() {
                step(at, &|budget, replica| {
                    budget.commands -= 1;
                    let n = replica.log().last_request(me) + 1;
                    replica.append(Request { by: me, n }, budget.commands);
                });
            }
            if self.budget.views > 0 && replica.leads() {
                for next in self.next_views(replica) {
                    step(at, &|budget, replica| {
                        budget.views -= 1;
                        replica.close_view(next.clone());
                    });
                }
            }
            if self.budget.leaves > 0 {
                step(at, &|budget, replica| {
                    budget.leaves -= 1;
                    replica.leave(|_| 1);
                });
            }
        }
        if self.budget.crashes > 0 {
            for at in (0..self.replicas.len()).filter(|at| !self.crashed[*at]) {
                let mut next = self.clone();
                next.budget.crashes -= 1;
                next.crashed[at] = true;
                visit(Ok(next));
            }
        }
    }

    /// The views that a leader may propose: without one of the others, or with somebody who is not in.
    fn next_views(&self, leader: &Replica<Command>) -> Vec<NextView> {
        let (me, view) = (leader.me(), leader.view());
        let next = |members: Vec<Member>| NextView {
            members,
            tie_breaker: me,
            owner: me,
            cuts: Vec::new(),
        };
        let others = self
            .replicas
            .iter()
            .map(|r| r.replica.me())
            .filter(|m| *m != me);
        let change = |who: Incarnation| {
            let mut members = view.members.clone();
            match view.position(who) {
                Some(at) => {
                    members.remove(at);
                }
                None => members.push(Member {
                    incarnation: who,
                    slot: Slot(who.0 as u16),
                }),
            }
            next(members)
        };
        others.map(change).collect()
    }
}

/// Visits every state, or as many as `most`.
pub fn explore(members: u64, learners: u64, budget: Budget, fault: Fault, most: usize) -> Found {
    let first = State::new(members, learners, budget);
    let mut seen = BTreeSet::from([first.fingerprint()]);
    let mut open = vec![first];
    let mut found = Found {
        states: 1,
        violation: None,
        complete: false,
        most_decided: 1,
        highest_view: 1,
    };
    while let Some(state) = open.pop() {
        if seen.len() >= most {
            return found;
        }
        state.steps(fault, |next| match next {
            Ok(next) => {
                if seen.insert(next.fingerprint()) {
                    found.most_decided = found.most_decided.max(next.decided.len());
                    let views = next.replicas.iter().map(|r| r.replica.view().number);
                    found.highest_view = views.fold(found.highest_view, u32::max);
                    open.push(next);
                }
            }
            Err(violation) => {
                found.violation.get_or_insert(violation);
            }
        });
        found.states = seen.len();
        if found.violation.is_some() {
            return found;
        }
    }
    found.complete = true;
    found
}

const fn budget(campaigns: u8, commands: u8, views: u8, leaves: u8, crashes: u8) -> Budget {
    Budget {
        campaigns,
        commands,
        views,
        leaves,
        crashes,
        guests: 0,
    }
}

const fn with_guest(budget: Budget) -> Budget {
    Budget {
        guests: 1,
        ..budget
    }
}

/// Visits every state.
fn holds(members: u64, learners: u64, budget: Budget) -> Found {
    let found = explore(members, learners, budget, Fault::None, usize::MAX);
    println!("{members} members, {learners} learners, {budget:?}: {found:?}");
    assert_eq!(found.violation, None);
    assert!(found.complete);
    found
}

/// A search that must find the broken rule.
fn finds(fault: Fault, members: u64, budget: Budget) {
    let found = explore(members, 0, budget, fault, 2_000_000);
    println!("{fault:?}: {found:?}");
    assert!(found.violation.is_some(), "{fault:?} was not found");
    let sound = explore(members, 0, budget, Fault::None, found.states);
    assert_eq!(sound.violation, None);
}

#[test]
fn two_members_in_every_order() {
    let found = holds(2, 0, budget(1, 1, 0, 1, 1));
    assert_eq!(found.most_decided, 2);
    let found = holds(2, 1, budget(1, 0, 1, 1, 0));
    assert_eq!(found.highest_view, 2);
}

#[test]
fn three_members_in_every_order() {
    let found = holds(3, 0, budget(1, 1, 0, 0, 0));
    assert_eq!(found.most_decided, 2);
    let found = holds(3, 0, budget(0, 1, 0, 2, 0));
    assert_eq!(found.most_decided, 2);
    holds(3, 0, budget(1, 0, 0, 1, 1));
}

/// Hosted rooms: a guest follows, answers candidates, and may lie; nothing that is decided depends on it.
#[test]
fn members_and_a_guest_in_every_order() {
    for fault in [Fault::None, Fault::BoastfulTail, Fault::ForgedTail] {
        for members in [2, 3] {
            let budget = with_guest(budget(1, 1, 0, 0, 0));
            let found = explore(members, 0, budget, fault, 15_000);
            println!("{members} members and a guest, {fault:?}: {found:?}");
            assert_eq!((found.violation, found.most_decided), (None, 2));
        }
    }
}

#[test]
fn each_broken_rule_is_found() {
    finds(Fault::BareFarewell, 2, budget(1, 2, 0, 1, 0));
    finds(Fault::ForgetfulPromise, 2, budget(1, 2, 0, 1, 0));
    finds(Fault::ForgetfulPromise, 3, budget(1, 2, 0, 0, 0));
}

/// Larger searches, to the end: `cargo test -p samestep-session --test agreement more_in_every_order -- --ignored --nocapture`.
#[test]
#[ignore = "minutes"]
fn more_with_a_guest_in_every_order() {
    for fault in [Fault::None, Fault::BoastfulTail, Fault::ForgedTail] {
        holds_with_guest(2, budget(1, 1, 0, 0, 0), fault, true);
        holds_with_guest(2, budget(1, 1, 0, 0, 1), fault, true);
        holds_with_guest(2, budget(1, 1, 0, 1, 0), fault, false);
        holds_with_guest(3, budget(1, 1, 0, 0, 0), fault, false);
    }
}

/// Visits every state, or at least very many.
fn holds_with_guest(members: u64, budget: Budget, fault: Fault, complete: bool) {
    let most = match complete {
        true => usize::MAX,
        false => 1_000_000,
    };
    let found = explore(members, 0, with_guest(budget), fault, most);
    println!("{members} members and a guest, {fault:?}, {budget:?}: {found:?}");
    assert_eq!(found.violation, None);
    assert!(found.complete || !complete);
}

#[test]
#[ignore = "ten minutes"]
fn more_in_every_order() {
    let searches = [
        (2, 0, budget(2, 1, 0, 1, 0)),
        (2, 0, budget(1, 1, 1, 1, 0)),
        (3, 0, budget(2, 0, 0, 0, 0)),
        (3, 0, budget(1, 1, 0, 0, 1)),
        (3, 0, budget(1, 1, 0, 1, 0)),
        (3, 0, budget(1, 0, 1, 0, 0)),
        (3, 0, budget(1, 2, 0, 0, 0)),
        (3, 0, budget(2, 1, 0, 0, 0)),
    ];
    let states =
        searches.map(|(members, learners, budget)| holds(members, learners, budget).states);
    println!("{} states in all", states.iter().sum::<usize>());
}
