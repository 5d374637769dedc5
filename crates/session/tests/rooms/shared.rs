//! Structs of shared fields in whole rooms, over links that lose, double and reorder.

use std::time::Duration;

use crate::room::{NodeIndex, TestNetwork, address, config, ms};
use samestep_netem::Rng;
use samestep_session::{JoinTo, NetworkId, Owner, PlayerId, Role, SessionConfig, Shared, State};
use samestep_sync::{SetError, SharedFields, Synced};

const PLAYERS: usize = 4;

#[derive(Default, SharedFields)]
struct Board {
    #[shared(owner = authority)]
    round: Synced<u32>,
    #[shared(owner = each_player)]
    scores: [Synced<u32>; PLAYERS],
}

impl Board {
    fn values(&self) -> [u32; PLAYERS + 1] {
        let [a, b, c, d] = &self.scores;
        [*self.round, **a, **b, **c, **d]
    }
}

/// A network in which every program shares two boards of different names.
struct Party {
    network: TestNetwork,
    boards: Vec<[Shared<Board>; 2]>,
    read: Vec<usize>,
    mesh: bool,
}

impl Party {
    fn new(seed: u64, mesh: bool, members: usize) -> Party {
        Party::over(TestNetwork::rough(seed), config("Ann"), mesh, members)
    }

    fn over(mut network: TestNetwork, config: SessionConfig, mesh: bool, members: usize) -> Party {
        match mesh {
            true => network.mesh(config, members),
            false => network.hosted(config, members - 1),
        };
        let mut party = Party {
            network,
            boards: Vec::new(),
            read: Vec::new(),
            mesh,
        };
        for _ in 0..members {
            party.boards.push(boards());
            party.read.push(0);
        }
        party
    }

    fn enter(&mut self, role: Role, node: Option<NodeIndex>) -> NodeIndex {
        match node {
            Some(node) => {
                self.network.replace(node, config("Ann"), role);
                self.boards[node] = boards();
                self.read[node] = self.network.events[node].len();
                node
            }
            None => {
                let node = self.network.enter(config("Ann"), role);
                self.boards.push(boards());
                self.read.push(0);
                node
            }
        }
    }

    fn door(&self, at: NodeIndex) -> JoinTo {
        JoinTo::new(address(at))
    }

    fn role(&self, join: JoinTo) -> Role {
        match self.mesh {
            true => Role::Peer(join),
            false => Role::Client(join),
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.network.now() + time;
        while self.network.now() < end {
            self.network.run(ms(20));
            for node in self.living() {
                let events = self.network.events[node].split_off(self.read[node]);
                let boards = &mut self.boards[node];
                self.network.with(node, |now, session| {
                    for event in &events {
                        boards.iter_mut().for_each(|board| {
                            board.handle(now, session, event);
                        });
                    }
                    boards.iter_mut().for_each(|board| {
                        let _ = board.flush(now, session);
                    });
                });
                self.network.events[node].extend(events);
                self.read[node] = self.network.events[node].len();
            }
        }
    }

    fn living(&self) -> Vec<NodeIndex> {
        let nodes = self.network.running();
        let alive = |node: &NodeIndex| {
            let state = self.network.at(*node).state();
            !matches!(state, State::Left(_))
        };
        nodes.filter(alive).collect()
    }

    fn set(&mut self, node: NodeIndex, board: usize, field: usize, value: u32) -> bool {
        let board = &mut self.boards[node][board];
        match field {
            0 => board.round.set(value).is_ok(),
            _ => board.scores[field - 1].set(value).is_ok(),
        }
    }

    /// All have what the owner of each field has.
    fn difference(&self) -> Option<String> {
        let living = self.living();
        let room = self.network.at(living[0]).room();
        for board in 0..2 {
            for field in 0..=PLAYERS {
                let owner = match field {
                    0 => Owner::Authority,
                    _ => Owner::Player(PlayerId(field as u16 - 1)),
                };
                let owner = room.owner_of(owner);
                let owning = |node: &&NodeIndex| self.network.at(**node).me() == owner;
                let Some(owning) = living.iter().find(owning) else {
                    return Some(format!("{owner:?} is not alive"));
                };
                let truth = self.boards[*owning][board].values()[field];
                for node in &living {
                    let value = self.boards[*node][board].values()[field];
                    let complete = self.boards[*node][board].is_complete();
                    if value != truth || !complete {
                        return Some(format!(
                            "board {board} field {field}: {truth} at {owning}, {value} at {node} ({complete})"
                        ));
                    }
                }
            }
        }
        None
    }

    #[track_caller]
    fn settle(&mut self, what: &str) {
        for _ in 0..1_500 {
            self.run(ms(20));
            if self.network.agree(&self.living()) && self.difference().is_none() {
                return;
            }
        }
        let difference = self.difference();
        panic!("{what}: {difference:?}\n{:?}", self.network);
    }
}

fn boards() -> [Shared<Board>; 2] {
    [1, 2].map(|id| Shared::new(NetworkId::Static(id), Board::default()).unwrap())
}

#[test]
fn everyone_sees_what_owners_set_and_newcomers_too() {
    for (seed, mesh) in [(1, false), (2, true)] {
        let mut party = Party::new(seed, mesh, 3);
        party.run(ms(1_000));
        for node in 0..3 {
            let player = party.network.at(node).my_players().next().unwrap();
            let field = usize::from(player.0) + 1;
            assert!(party.set(node, 0, field, 100 + field as u32));
            assert!(!party.set(node, 0, 1 + field % 3, 0), "not its own");
        }
        assert!(party.set(0, 0, 0, 7));
        assert!(party.set(0, 1, 0, 8));
        assert_eq!(
            party.boards[1][0].round.set(9),
            Err(SetError::NotYours(Owner::Authority))
        );
        party.settle("set by all");
        assert_eq!(party.boards[2][0].values(), [7, 101, 102, 103, 0]);
        assert_eq!(party.boards[2][1].values(), [8, 0, 0, 0, 0]);

        let role = party.role(party.door(0));
        let late = party.enter(role, None);
        party.settle("a newcomer");
        assert_eq!(party.boards[late][0].values(), [7, 101, 102, 103, 0]);
        assert!(party.set(late, 0, 4, 104));
        party.settle("set by the newcomer");
        assert_eq!(party.boards[1][0].values(), [7, 101, 102, 103, 104]);
    }
}

#[test]
fn an_heir_goes_on_with_what_was_there_and_a_returner_takes_it_back() {
    for (seed, mesh) in [(3, false), (4, true)] {
        let mut party = Party::new(seed, mesh, 4);
        party.run(ms(1_000));
        let player = party.network.at(3).my_players().next().unwrap();
        let field = usize::from(player.0) + 1;
        assert!(party.set(3, 0, field, 33));
        party.settle("set by the one who will go");

        let secret = party.network.at(3).rejoin_secret();
        party.network.kill(3);
        party.run(ms(15_000));
        party.settle("the owner vanished");
        let owner = party.network.at(0).room().owner_of(Owner::Player(player));
        let heir = (0..3)
            .find(|node| party.network.at(*node).me() == owner)
            .expect("an heir among those who stayed");
        assert_eq!(*party.boards[heir][0].scores[field - 1], 33);
        assert!(party.set(heir, 0, field, 34));
        party.settle("set by the heir");

        let join = JoinTo {
            rejoin: Some(secret),
            ..party.door(0)
        };
        let role = party.role(join);
        party.enter(role, Some(3));
        party.settle("the owner is back");
        assert_eq!(*party.boards[3][0].scores[field - 1], 34);
        assert!(party.set(3, 0, field, 35));
        party.settle("set by the owner again");
        assert_eq!(*party.boards[0][0].scores[field - 1], 35);
    }
}

/// The owner of a field sets it, reaches one survivor and vanishes.
fn vanish_after_telling(party: &mut Party, owner: NodeIndex, told: NodeIndex, field: usize) {
    assert!(party.set(owner, 0, field, 33));
    party.settle("known to all");
    let others = party.living();
    for node in others.iter().filter(|&&node| node != owner && node != told) {
        party.network.cut(owner, *node);
    }
    assert!(party.set(owner, 0, field, 34));
    party.run(ms(60));
    for node in others.iter().filter(|&&node| node != owner) {
        let expected = if *node == told { 34 } else { 33 };
        assert_eq!(party.boards[*node][0].values()[field], expected);
    }
    party.network.kill(owner);
    party.network.mend();
    let (begun, mut took) = (party.network.now(), None);
    for _ in 0..500 {
        party.run(ms(20));
        assert_eq!(party.boards[told][0].values()[field], 34, "it went back");
        let has_it = |node: NodeIndex| party.boards[node][0].values()[field] == 34;
        if took.is_none() && party.living().into_iter().all(has_it) {
            took = Some(party.network.now() - begun);
        }
    }
    // Silence is noticed after three seconds; nobody waits for a reply as long as that may take at most.
    assert!(took.is_some_and(|took| took < ms(4_500)), "{took:?}");
    party.settle("the owner has vanished");
    assert_eq!(party.boards[told][0].values()[field], 34);
}

#[test]
fn an_heir_takes_the_last_value_that_only_another_member_had() {
    for seed in 0..5 {
        let mut party = Party::over(TestNetwork::near(seed), config("Ann"), true, 4);
        party.run(ms(1_000));
        let player = party.network.at(3).my_players().next().unwrap();
        let field = usize::from(player.0) + 1;
        let mut heirs = [0, 1, 2];
        heirs.sort_by_key(|node| party.network.peer(*node));
        let heir = heirs[usize::from(player.0) % 3];
        let told = heirs[(usize::from(player.0) + 1) % 3];
        vanish_after_telling(&mut party, 3, told, field);
        let owner = party.network.at(0).room().owner_of(Owner::Player(player));
        assert_eq!(owner, party.network.at(heir).me());
    }
}

#[test]
fn a_standby_that_takes_over_has_the_last_value_that_only_a_guest_had() {
    for seed in 0..5 {
        let mut able = config("Ann");
        (able.standbys, able.may_host) = (Some(2), Some(true));
        let mut party = Party::over(TestNetwork::near(seed), able, false, 4);
        party.network.run_until(ms(20_000), |network| {
            network.at(0).standbys().len() == 2 && network.agree(&[0, 1, 2, 3])
        });
        party.run(ms(1_000));
        let standbys = party.network.at(0).standbys().to_vec();
        let is_guest = |node: &NodeIndex| !standbys.contains(&party.network.peer(*node));
        let told = (1..4)
            .find(is_guest)
            .expect("a guest that does not stand by");
        vanish_after_telling(&mut party, 0, told, 0);
        let host = party.network.at(told).room().authority();
        assert!(standbys.contains(&host), "a standby took over");
    }
}

fn storm(seed: u64, mesh: bool) {
    let mut rng = Rng::new(seed);
    let mut party = Party::new(seed, mesh, 4);
    let (mut value, mut gone) = (0, Vec::new());
    for _ in 0..60 {
        let living = party.living();
        let node = living[(rng.next_u64() % living.len() as u64) as usize];
        match rng.next_u64() % 20 {
            0 if node != 0 => party.network.isolate(&[node]),
            1..4 => party.network.mend(),
            // One at a time: a mesh that has lost half of its members at once waits for them.
            4 if living.len() > 3 && party.network.agree(&living) && (mesh || node != 0) => {
                gone.push((node, party.network.at(node).rejoin_secret()));
                party.network.kill(node);
            }
            5 if !gone.is_empty() => {
                let (returning, secret) = gone.remove(0);
                let mut join = party.door(if mesh { node } else { 0 });
                join.rejoin = Some(secret);
                let role = party.role(join);
                party.enter(role, Some(returning));
            }
            _ => {
                value += 1;
                let (board, field) = (rng.next_u64() % 2, rng.next_u64() % (PLAYERS as u64 + 1));
                party.set(node, board as usize, field as usize, value);
            }
        }
        party.run(ms(20 + rng.next_u64() % 500));
    }
    party.network.mend();
    party.settle(&format!("seed {seed}, mesh {mesh}"));
}

#[test]
fn hosted_rooms_agree_after_storms() {
    for seed in 100..110 {
        storm(seed, false);
    }
}

#[test]
fn meshes_agree_after_storms() {
    for seed in 200..210 {
        storm(seed, true);
    }
}
