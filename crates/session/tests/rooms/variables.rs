//! Variables of all declarations in whole rooms, over links that lose, double and reorder.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::room::{NodeIndex, TestNetwork, address, config, ms};
use samestep_session::{JoinTo, NetworkId, Owner, PlayerId, Role, ShareError, Shared, State};
use samestep_sync::{
    ChangeId, ChangeOutcome, DeclarationError, Refusal, SetError, SharedFields, Synced, Variable,
};

const PLAYERS: usize = 4;

#[derive(Default, SharedFields)]
struct Arena {
    #[shared(owner = authority)]
    round: Synced<u32>,
    /// Whoever hits somebody says so.
    #[shared(owner = each_player, exact, changed_by = all)]
    health: [Variable<i32>; PLAYERS],
    #[shared(owner = player(1))]
    power_up: PowerUp,
    #[shared(owner = player(2), exact, settled, changed_by = all)]
    sayings: Variable<Vec<String>>,
    #[shared(owner = authority, exact, linearisable, changed_by = all)]
    tickets: [Variable<u16>; 2],
    #[shared(owner = authority, settled)]
    radius: Variable<f32>,
}

#[derive(Default, SharedFields)]
#[shared(group)]
struct PowerUp {
    #[shared(exact)]
    is_there: Variable<bool>,
    #[shared(exact)]
    taken_by: Variable<Option<PlayerId>>,
    /// How often it was taken.
    #[shared(exact)]
    taken: Variable<u8>,
}

struct Party {
    network: TestNetwork,
    arenas: Vec<Shared<Arena>>,
    read: Vec<usize>,
    outcomes: Vec<Vec<(ChangeId, ChangeOutcome)>>,
    /// Every list of sayings that a node has shown.
    shown: Vec<Vec<Vec<String>>>,
}

impl Party {
    fn new(seed: u64, mesh: bool, members: usize) -> Party {
        let mut network = TestNetwork::rough(seed);
        match mesh {
            true => network.mesh(config("Ann"), members),
            false => network.hosted(config("Ann"), members - 1),
        };
        let arena = |_| Shared::new(NetworkId::Static(1), Arena::default()).unwrap();
        let mut party = Party {
            network,
            arenas: (0..members).map(arena).collect(),
            read: vec![0; members],
            outcomes: vec![Vec::new(); members],
            shown: vec![Vec::new(); members],
        };
        party.until("all have what the owners have", |party| {
            party.living().all(|node| party.arenas[node].is_complete())
        });
        party
    }

    fn living(&self) -> impl Iterator<Item = NodeIndex> {
        let in_sync = |node: &NodeIndex| *self.network.at(*node).state() == State::InSync;
        self.network
            .running()
            .filter(in_sync)
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn run(&mut self, time: Duration) {
        let end = self.network.now() + time;
        while self.network.now() < end {
            self.network.run(ms(10));
            for node in self.network.running().collect::<Vec<_>>() {
                let events = self.network.events[node].split_off(self.read[node]);
                let arena = &mut self.arenas[node];
                self.network.with(node, |now, session| {
                    for event in &events {
                        arena.handle(now, session, event);
                    }
                    let _ = arena.flush(now, session);
                });
                self.network.events[node].extend(events);
                self.read[node] = self.network.events[node].len();
                while let Some(outcome) = self.arenas[node].poll_outcome() {
                    self.outcomes[node].push(outcome);
                }
                if self.shown[node].last() != Some(&*self.arenas[node].sayings) {
                    self.shown[node].push(self.arenas[node].sayings.to_vec());
                }
            }
        }
    }

    #[track_caller]
    fn until(&mut self, what: &str, so: impl Fn(&Party) -> bool) {
        for _ in 0..1_500 {
            self.run(ms(20));
            if so(self) {
                return;
            }
        }
        panic!("not so after 30 s: {what}\n{:?}", self.network);
    }

    /// The node of whoever owns what belongs to this player.
    fn owner(&self, player: u16) -> NodeIndex {
        let at = self.living().next().expect("somebody");
        let owner = self.network.at(at).room().owner_of(Owner::player(player));
        let mut living = self.living();
        living
            .find(|node| self.network.at(*node).me() == owner)
            .expect("an owner")
    }

    fn outcome(&self, node: NodeIndex, id: ChangeId) -> Option<ChangeOutcome> {
        let of_it = |(known, _): &&(ChangeId, ChangeOutcome)| *known == id;
        self.outcomes[node]
            .iter()
            .find(of_it)
            .map(|(_, outcome)| *outcome)
    }

    #[track_caller]
    fn made(&mut self, node: NodeIndex, id: Option<ChangeId>) {
        let id = id.expect("a request");
        self.until("it is made", |party| party.outcome(node, id).is_some());
        assert_eq!(self.outcome(node, id), Some(ChangeOutcome::Made));
    }
}

/// Both kinds of rooms.
fn rooms(members: usize) -> [Party; 2] {
    [Party::new(1, true, members), Party::new(2, false, members)]
}

/// Situation A of the thesis: one that is not the owner decreases somebody's health.
#[test]
fn health_is_decreased_by_who_hits() {
    for mut party in rooms(4) {
        for player in 0..PLAYERS as u16 {
            let hitting = party.owner((player + 1) % PLAYERS as u16);
            let id = party.arenas[hitting].health[usize::from(player)]
                .modify(-10)
                .unwrap();
            party.made(hitting, id);
            // Everybody has it by the time its requester is told.
            for node in party.living() {
                assert_eq!(*party.arenas[node].health[usize::from(player)], -10);
            }
        }
    }
}

/// Situation B: a power-up is taken by somebody who does not own it.
#[test]
fn what_only_the_owner_changes_is_refused() {
    for mut party in rooms(4) {
        let other = party.owner(3);
        let power_up = &mut party.arenas[other].power_up;
        let error = power_up.is_there.set(true).unwrap_err();
        assert_eq!(error, SetError::NotYours(Owner::player(1)));
        assert!(error.to_string().contains("player 1"), "{error}");
        party.run(ms(1_000));
        assert!(!*party.arenas[other].power_up.is_there);
        assert_eq!(party.outcomes.iter().map(Vec::len).sum::<usize>(), 0);
    }
}

/// Situation C: it is taken by its owner, and its variables change together.
#[test]
fn a_power_up_is_taken_in_one_step() {
    for mut party in rooms(4) {
        let owner = party.owner(1);
        let power_up = &mut party.arenas[owner].power_up;
        let first = power_up.is_there.set(true).unwrap();
        party.made(owner, first);
        let power_up = &mut party.arenas[owner].power_up;
        let ids = [
            power_up.is_there.set(false).unwrap(),
            power_up.taken_by.set(Some(PlayerId(1))).unwrap(),
            power_up.taken.modify(1).unwrap(),
        ];
        assert!(ids.iter().all(|id| *id == ids[0]), "one request");
        for _ in 0..300 {
            party.run(ms(10));
            for node in party.living() {
                let power_up = &party.arenas[node].power_up;
                let state = (*power_up.is_there, *power_up.taken_by, *power_up.taken);
                let whole = [(true, None, 0), (false, Some(PlayerId(1)), 1)];
                assert!(whole.contains(&state), "{state:?} at {node}");
            }
        }
        party.made(owner, ids[0]);
        // What does not fit changes nothing of the group.
        let power_up = &mut party.arenas[owner].power_up;
        power_up.is_there.set(true).unwrap();
        let id = power_up.taken.modify(255).unwrap().unwrap();
        party.until("refused", |party| party.outcome(owner, id).is_some());
        let refused = ChangeOutcome::Refused(Refusal::DoesNotFit);
        assert_eq!(party.outcome(owner, id), Some(refused));
        for node in party.living() {
            assert!(!*party.arenas[node].power_up.is_there);
        }
    }
}

#[test]
fn everyone_sees_the_same_sequence_of_all_changes() {
    for mut party in rooms(4) {
        let mut expected = BTreeSet::new();
        for round in 0..20 {
            for node in 0..4 {
                let word = format!("{node}.{round}");
                let arena = &mut party.arenas[node];
                arena.sayings.modify(vec![word.clone()]).unwrap();
                arena.tickets[node % 2].modify(1).unwrap();
                expected.insert(word);
            }
            party.run(ms(30));
        }
        party.until("all are made", |party| {
            party.outcomes.iter().all(|outcomes| outcomes.len() == 40)
        });
        party.run(ms(1_000));
        let all = party.arenas[0].sayings.to_vec();
        assert_eq!(all.iter().cloned().collect::<BTreeSet<_>>(), expected);
        assert_eq!(all.len(), 80, "each once");
        for node in 0..4 {
            assert!(party.shown[node].iter().all(|shown| all.starts_with(shown)));
            assert_eq!(party.shown[node].last(), Some(&all));
            let arena = &party.arenas[node];
            assert_eq!([*arena.tickets[0], *arena.tickets[1]], [40, 40]);
            assert!(arena.tickets[0].is_certain());
            // Those of one program are in its order.
            let own = all
                .iter()
                .filter(|word| word.starts_with(&format!("{node}.")));
            let rounds = own.map(|word| word[2..].parse::<u32>().unwrap());
            assert!(rounds.eq(0..20));
        }
    }
}

#[test]
fn nothing_is_lost_or_done_twice_when_owners_vanish() {
    for seed in 0..4 {
        for mut party in [Party::new(seed, true, 4), Party::new(seed, true, 3)] {
            let gone = party.owner(2);
            let mut ids = Vec::new();
            for round in 0..30 {
                for node in party.living().collect::<Vec<_>>() {
                    let word = format!("{node}.{round}");
                    let id = party.arenas[node].sayings.modify(vec![word]).unwrap();
                    ids.push((node, id.unwrap(), round));
                }
                party.run(ms(20));
                if round == 15 {
                    party.network.kill(gone);
                }
            }
            let waits = |party: &Party| {
                let mut ids = ids.iter().filter(|(node, ..)| *node != gone);
                ids.all(|(node, id, _)| party.outcome(*node, *id) == Some(ChangeOutcome::Made))
            };
            party.until("the heir makes the rest", waits);
            party.run(ms(1_000));
            let at = party.living().next().unwrap();
            let all = party.arenas[at].sayings.to_vec();
            let once: BTreeSet<&String> = all.iter().collect();
            assert_eq!(once.len(), all.len(), "done twice");
            for (node, id, round) in &ids {
                let made = party.outcome(*node, *id) == Some(ChangeOutcome::Made);
                assert!(!made || once.contains(&format!("{node}.{round}")), "lost");
            }
            for node in party.living() {
                assert_eq!(*party.arenas[node].sayings, all);
                assert!(party.shown[node].iter().all(|shown| all.starts_with(shown)));
            }
        }
    }
}

#[test]
fn spectators_see_variables_and_change_none() {
    let mut party = Party::new(5, false, 2);
    let mut watching = config("Vi");
    watching.players.clear();
    let role = Role::Spectator(JoinTo::new(address(0)));
    let spectator = party.network.enter(watching, role);
    let arena = Shared::new(NetworkId::Static(1), Arena::default()).unwrap();
    party.arenas.push(arena);
    party.read.push(0);
    party.outcomes.push(Vec::new());
    party.shown.push(Vec::new());
    party.until("it watches", |party| {
        party.living().any(|node| node == spectator) && party.arenas[spectator].is_complete()
    });
    let id = party.arenas[0].health[1].modify(-3).unwrap();
    party.made(0, id);
    assert_eq!(*party.arenas[spectator].health[1], -3);
    let id = party.arenas[spectator].health[1]
        .modify(-3)
        .unwrap()
        .unwrap();
    party.until("refused", |party| party.outcome(spectator, id).is_some());
    let refused = ChangeOutcome::Refused(Refusal::Watches);
    assert_eq!(party.outcome(spectator, id), Some(refused));
    assert_eq!(*party.arenas[0].health[1], -3);
}

#[test]
fn inexact_variables_are_as_fresh_as_they_are_declared() {
    let mut party = Party::new(3, true, 3);
    let leader = (0..3)
        .find(|node| party.network.at(*node).is_authority())
        .unwrap();
    for step in 1..=50 {
        assert_eq!(party.arenas[leader].radius.set(step as f32), Ok(None));
        party.run(ms(10));
    }
    party.until("all have it", |party| {
        party.arenas.iter().all(|arena| *arena.radius == 50.0)
    });
    let error = party.arenas[(leader + 1) % 3]
        .radius
        .modify(1.0)
        .unwrap_err();
    assert_eq!(error, SetError::NotYours(Owner::Authority));
}

#[test]
fn declarations_that_contradict_themselves_are_refused() {
    #[derive(Default, SharedFields)]
    struct Loose {
        #[shared(changed_by = all)]
        score: Variable<u8>,
    }

    #[derive(Default, SharedFields)]
    struct Plain {
        #[shared(exact)]
        score: Synced<u8>,
    }

    #[derive(Default, SharedFields)]
    #[shared(group)]
    struct Torn {
        #[shared(exact)]
        one: Variable<u8>,
        #[shared(exact, owner = player(1))]
        other: Variable<u8>,
    }

    fn error<S: SharedFields>(fields: S) -> ShareError {
        let shared = Shared::new(NetworkId::Static(1), fields);
        shared.map(drop).unwrap_err()
    }
    let loose = DeclarationError::NeedsExact("changed by all");
    assert_eq!(error(Loose::default()), ShareError::Declared(loose));
    assert!(
        error(Loose::default())
            .to_string()
            .contains("write `exact`")
    );
    let plain = DeclarationError::NotAVariable;
    assert_eq!(error(Plain::default()), ShareError::Declared(plain));
    assert_eq!(
        error(Torn::default()),
        ShareError::Declared(DeclarationError::NotAlike)
    );
}
