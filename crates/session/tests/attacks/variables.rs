//! Changing what is others', or changing one's own twice.
//!
//! The attacker is a member of a mesh in which exact variables are shared. It writes their messages by hand: it orders changes of variables that others own, says
//! that changes are certain which nobody has, asks for what only the owner may change, leaves gaps in its numbers, repeats them, asks for values
//! beyond all bounds, and floods. It wants another value than the owner's, an update twice, or others to wait forever.

use samestep_session::{
    Delivery, MessageKind, NetworkId, Owner, PeerId, Session, Shared, State, To,
};
use samestep_sync::{ChangeOutcome, SharedFields, Variable};
use samestep_wire::{Wire, encode_to_vec};

use crate::room::{NodeIndex, TestNetwork, config, ms};

const ATTACKER: NodeIndex = 3;
const PLAYERS: usize = 4;
const ID: NetworkId = NetworkId::Static(1);

/// Groups 0 to 3, and 4 to 7.
#[derive(Default, SharedFields)]
struct Scores {
    #[shared(owner = each_player, exact, changed_by = all)]
    open: [Variable<u8>; PLAYERS],
    #[shared(owner = each_player, exact)]
    own: [Variable<u8>; PLAYERS],
}

/// A message as WIRE.md describes it.
#[derive(Clone, Wire)]
struct Said {
    #[wire(varint)]
    term: u64,
    #[wire(varint)]
    group: u16,
    body: Body,
}

type Table = Vec<(PeerId, u64, u64)>;

#[derive(Clone, Wire)]
#[allow(dead_code)]
enum Body {
    Request(u64, #[wire(varint)] u64, #[wire(max_len = 16_384)] Vec<u8>),
    Entry(
        #[wire(varint)] u64,
        PeerId,
        u64,
        #[wire(varint)] u64,
        bool,
        Vec<u8>,
    ),
    Have(#[wire(varint)] u64),
    Certain(#[wire(varint)] u64),
    Claim(
        #[wire(varint)] u64,
        #[wire(varint)] u64,
        #[wire(varint)] u64,
    ),
    Question,
    State(#[wire(varint)] u64, Table, Vec<u8>),
    Collect(#[wire(varint)] u64, #[wire(varint)] u64),
    Reply(bool),
}

/// A change of the only variable of a group: set to this.
fn set(value: u8) -> Vec<u8> {
    change(false, &value)
}

fn change(is_delta: bool, value: &impl Wire) -> Vec<u8> {
    let mut bytes = [0; 32];
    let mut w = samestep_wire::BitWriter::new(&mut bytes);
    w.write_varint(1);
    w.write_varint(0);
    w.write_bool(is_delta);
    value.encode(&mut w);
    let len = w.finish().unwrap();
    bytes[..len].to_vec()
}

struct Party {
    network: TestNetwork,
    scores: Vec<Shared<Scores>>,
    read: [usize; ATTACKER],
}

impl Party {
    fn new(seed: u64) -> Party {
        let mut network = TestNetwork::near(seed);
        network.mesh(config("Ann"), 4);
        let scores = |_| Shared::new(ID, Scores::default()).unwrap();
        let mut party = Party {
            network,
            scores: (0..ATTACKER).map(scores).collect(),
            read: [0; ATTACKER],
        };
        // The attacker does not answer, and is not waited for any longer.
        party.run(7_000);
        assert!(party.scores[0].open.iter().enumerate().all(|(at, _)| {
            party.owner(at) == ATTACKER || party.scores[party.owner(at)].open[at].is_mine()
        }));
        party
    }

    fn run(&mut self, time_ms: u64) {
        for _ in 0..time_ms / 20 {
            self.network.run(ms(20));
            for node in 0..ATTACKER {
                let events = self.network.events[node].split_off(self.read[node]);
                let scores = &mut self.scores[node];
                self.network.with(node, |now, session: &mut Session| {
                    for event in &events {
                        scores.handle(now, session, event);
                    }
                    let _ = scores.flush(now, session);
                });
                self.network.events[node].extend(events);
                self.read[node] = self.network.events[node].len();
                assert_eq!(*self.network.at(node).state(), State::InSync);
            }
        }
    }

    /// The node that owns what belongs to a player.
    fn owner(&self, player: usize) -> NodeIndex {
        let owner = self
            .network
            .at(0)
            .room()
            .owner_of(Owner::player(player as u16));
        (0..4)
            .find(|node| self.network.at(*node).me() == owner)
            .unwrap()
    }

    /// A player whose variables belong to this node.
    fn player_of(&self, node: NodeIndex) -> usize {
        (0..PLAYERS)
            .find(|player| self.owner(*player) == node)
            .unwrap()
    }

    fn say(&mut self, to: NodeIndex, group: usize, body: Body) {
        let said = Said {
            term: self.network.at(0).room().owners_term(),
            group: group as u16,
            body,
        };
        let mut payload = encode_to_vec(&ID).unwrap();
        payload.extend(encode_to_vec(&said).unwrap());
        let to = To::Peer(self.network.peer(to));
        self.network.with(ATTACKER, |now, session: &mut Session| {
            let delivery = Delivery::ReliableOrdered;
            session
                .send_bytes(now, to, delivery, MessageKind::VARIABLES, &payload)
                .unwrap();
        });
    }

    fn open(&self, player: usize) -> Vec<u8> {
        self.scores
            .iter()
            .map(|scores| *scores.open[player])
            .collect()
    }

    /// A change of an honest member is made.
    #[track_caller]
    fn still_works(&mut self, player: usize) {
        let before = self.open(player)[0];
        let id = self.scores[0].open[player].modify(1).unwrap().unwrap();
        let mut outcome = None;
        for _ in 0..500 {
            self.run(20);
            while let Some((known, what)) = self.scores[0].poll_outcome() {
                outcome = outcome.or((known == id).then_some(what));
            }
            if outcome.is_some() {
                break;
            }
        }
        assert_eq!(outcome, Some(ChangeOutcome::Made));
        self.run(500);
        assert_eq!(self.open(player), [before + 1; ATTACKER]);
    }
}

#[test]
fn who_does_not_own_a_variable_neither_orders_nor_answers_for_it() {
    let mut party = Party::new(1);
    let player = party.player_of(1);
    party.still_works(player);
    let refused = party.scores[2].refused();
    let victim = party.network.peer(2);
    for body in [
        Body::Entry(3, victim, 1, 1, false, set(99)),
        Body::Certain(1 << 40),
        Body::Claim(0, 0, 1 << 40),
        Body::State(1 << 40, vec![(victim, 1, 1 << 40)], vec![99]),
    ] {
        party.say(2, player, body);
    }
    party.run(1_000);
    assert_eq!(party.scores[2].refused(), refused + 4);
    // Every member may ask what others have, and answer: who is in step with the owner has no use for it.
    party.say(2, player, Body::Collect(0, 0));
    party.say(2, player, Body::Reply(false));
    party.run(1_000);
    assert_eq!(party.open(player), [1; ATTACKER]);
    party.still_works(player);
}

#[test]
fn only_the_owner_changes_what_only_the_owner_may_change() {
    let mut party = Party::new(2);
    let player = party.player_of(1);
    party.say(1, PLAYERS + player, Body::Request(7, 1, set(99)));
    party.run(1_000);
    for scores in &party.scores {
        assert_eq!(*scores.own[player], 0);
    }
    // It was refused at its place, and all go on.
    party.scores[1].own[player].set(5).unwrap();
    party.run(1_000);
    for scores in &party.scores {
        assert_eq!(*scores.own[player], 5);
    }
}

#[test]
fn numbers_with_gaps_are_not_taken_and_repeated_ones_once() {
    let mut party = Party::new(3);
    let player = party.player_of(1);
    let add = |number| Body::Request(7, number, change(true, &1i64));
    for number in [5, 2, 0, u64::MAX] {
        party.say(1, player, add(number));
    }
    party.run(500);
    assert_eq!(party.open(player), [0; ATTACKER]);
    for number in [1, 1, 2, 1, 2, 4] {
        party.say(1, player, add(number));
    }
    party.run(500);
    assert_eq!(party.open(player), [2; ATTACKER]);
    party.still_works(player);
}

#[test]
fn values_beyond_their_bounds_change_nothing() {
    let mut party = Party::new(4);
    let player = party.player_of(1);
    let mut far = set(1);
    far[1] = 0xff;
    let beyond = [
        // More than a `u8` holds, no value, the variable of nobody, and too many steps.
        change(true, &256i64),
        change(false, &()),
        far,
        vec![0xff; 16_384],
        Vec::new(),
    ];
    for (number, bytes) in (1..).zip(beyond) {
        party.say(1, player, Body::Request(7, number, bytes));
    }
    party.run(1_000);
    assert_eq!(party.open(player), [0; ATTACKER]);
    party.still_works(player);
    for body in [Body::Have(1 << 40), Body::Have(u64::MAX)] {
        party.say(1, player, body);
    }
    party.still_works(player);
}

#[test]
fn a_flood_leaves_room_for_others() {
    let mut party = Party::new(5);
    let player = party.player_of(1);
    for number in 1..=2_000_u64 {
        party.say(1, player, Body::Request(7, number, set(number as u8)));
        party.say(1, player, Body::Question);
        if number.is_multiple_of(50) {
            party.run(20);
        }
    }
    party.run(2_000);
    let values = party.open(player);
    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    party.say(1, player, Body::Request(8, 1, set(0)));
    party.run(1_000);
    party.still_works(player);
}
