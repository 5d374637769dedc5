//! Random rooms: whatever is reordered, repeated, lost with its sender or receiver, or invented, all end up with the
//! owner's values.

use std::collections::{BTreeMap, BTreeSet};

use samestep_sync::{Owner, PeerId, PlayerId, Recipient, Replicator, SharedFields, Synced, View};

const PLAYERS: usize = 4;

#[derive(Default, SharedFields)]
struct Board {
    #[shared(owner = authority)]
    round: Synced<u32>,
    #[shared(owner = each_player)]
    words: [Synced<String>; PLAYERS],
    pair: Pair,
    #[shared(skip)]
    _local: u8,
}

#[derive(Default, SharedFields)]
struct Pair {
    #[shared(owner = player(1))]
    left: Synced<(bool, u16)>,
    right: Synced<u32>,
}

impl Board {
    fn new() -> Board {
        let mut board = Board::default();
        board.pair.right = Synced::owned_by(Owner::player(2), 7);
        board
    }

    fn owners() -> Vec<Owner> {
        let mut board = Board::new();
        let mut owners = Vec::new();
        board.declare_owners();
        board.for_each(&mut |field| owners.push(field.owner()));
        owners
    }

    fn values(&self) -> Vec<String> {
        let mut values = vec![self.round.to_string()];
        values.extend(self.words.iter().map(|word| word.to_string()));
        values.push(format!("{:?}", self.pair.left));
        values.push(self.pair.right.to_string());
        values
    }

    fn set(&mut self, field: usize, to: u32) -> bool {
        match field {
            0 => self.round.set(to).is_ok(),
            1..=PLAYERS => self.words[field - 1].set(format!("word {to}")).is_ok(),
            5 => self.pair.left.set((true, to as u16)).is_ok(),
            _ => self.pair.right.update(|value| *value = to).is_ok(),
        }
    }
}

/// What the room agreed on at some moment.
#[derive(Clone)]
struct Room {
    term: u64,
    authority: PeerId,
    members: BTreeSet<PeerId>,
    players: [Option<PeerId>; PLAYERS],
}

impl Room {
    fn owner_of(&self, owner: Owner) -> Option<PeerId> {
        match owner {
            Owner::Player(PlayerId(n)) => self.players[n as usize].or(Some(self.authority)),
            _ => Some(self.authority),
        }
    }
}

struct Program {
    /// How much of the room's history it has heard.
    heard: usize,
    board: Board,
    replicator: Replicator,
    last_set: BTreeMap<usize, String>,
}

struct Packet {
    from: PeerId,
    to: PeerId,
    bytes: Vec<u8>,
}

struct World {
    seed: u64,
    is_mesh: bool,
    history: Vec<Room>,
    programs: BTreeMap<PeerId, Program>,
    network: Vec<Packet>,
    /// A member that also sends nonsense.
    hostile: Option<PeerId>,
    recorded: Vec<Vec<u8>>,
    next_peer: u16,
    next_value: u32,
}

impl World {
    fn new(seed: u64, is_mesh: bool, hostile: bool) -> World {
        let authority = PeerId(0);
        let room = Room {
            term: 1,
            authority,
            members: BTreeSet::from([authority]),
            players: [Some(authority), None, None, None],
        };
        let mut world = World {
            seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            is_mesh,
            history: vec![room],
            programs: BTreeMap::new(),
            network: Vec::new(),
            hostile: hostile.then_some(PeerId(2)),
            recorded: Vec::new(),
            next_peer: 1,
            next_value: 0,
        };
        world.enter(authority);
        world.join();
        world.join();
        world
    }

    fn random(&mut self, below: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as usize % below
    }

    fn room(&self) -> &Room {
        self.history.last().unwrap()
    }

    fn enter(&mut self, peer: PeerId) {
        let mut board = Board::new();
        board.words[1].set("before".into()).unwrap();
        let program = Program {
            heard: self.history.len() - 1,
            replicator: Replicator::new(&mut board).unwrap(),
            board,
            last_set: BTreeMap::new(),
        };
        self.programs.insert(peer, program);
    }

    fn join(&mut self) {
        let peer = PeerId(self.next_peer);
        self.next_peer += 1;
        let mut room = self.room().clone();
        room.members.insert(peer);
        if let Some(place) = room.players.iter_mut().find(|place| place.is_none()) {
            *place = Some(peer);
        }
        self.change(room);
        self.enter(peer);
    }

    fn drop_member(&mut self) {
        let members: Vec<_> = self.room().members.iter().copied().collect();
        let peer = members[self.random(members.len())];
        if members.len() == 1 || (!self.is_mesh && peer == self.room().authority) {
            return;
        }
        let mut room = self.room().clone();
        room.members.remove(&peer);
        for place in &mut room.players {
            if *place == Some(peer) {
                *place = None;
            }
        }
        if room.authority == peer {
            let honest = room.members.iter().find(|&&m| Some(m) != self.hostile);
            let Some(&authority) = honest else { return };
            room.authority = authority;
        }
        self.change(room);
        self.programs.remove(&peer);
        // What it said may still come; what it was told is gone.
        self.network.retain(|packet| packet.to != peer);
    }

    fn change(&mut self, mut room: Room) {
        room.term += 1;
        self.history.push(room);
        let (authority, heard) = (self.room().authority, self.history.len() - 1);
        if let Some(program) = self.programs.get_mut(&authority) {
            program.heard = heard;
        }
    }

    fn with<R>(&mut self, peer: PeerId, act: impl FnOnce(&mut Program, &View<'_>) -> R) -> R {
        let program = self.programs.get_mut(&peer).unwrap();
        let room = &self.history[program.heard];
        let others: Vec<_> = room
            .members
            .iter()
            .copied()
            .filter(|&m| m != peer)
            .collect();
        let owner_of = |owner| room.owner_of(owner);
        let view = View {
            me: peer,
            authority: room.authority,
            others: &others,
            is_mesh: self.is_mesh,
            term: room.term,
            owner_of: &owner_of,
        };
        let result = act(program, &view);
        let mut field = 0;
        let last_set = &mut program.last_set;
        program.board.for_each(&mut |f| {
            if owner_of(f.owner()) != Some(peer) {
                last_set.remove(&field);
            }
            field += 1;
        });
        result
    }

    fn poll(&mut self, peer: PeerId) -> bool {
        let said = self.with(peer, |program, view| {
            let said = program.replicator.poll(&mut program.board, view);
            said.map(|(to, bytes)| (to, bytes, view.others.to_vec()))
        });
        let Some((to, bytes, others)) = said else {
            return false;
        };
        let receivers = match to {
            Recipient::Others => others,
            Recipient::Peer(peer) => vec![peer],
        };
        self.recorded.push(bytes.clone());
        for to in receivers
            .into_iter()
            .filter(|to| self.programs.contains_key(to))
        {
            let bytes = bytes.clone();
            self.network.push(Packet {
                from: peer,
                to,
                bytes,
            });
        }
        true
    }

    fn deliver(&mut self, duplicate: bool) {
        if self.network.is_empty() {
            return;
        }
        let at = self.random(self.network.len());
        let Packet { from, to, bytes } = self.network.swap_remove(at);
        self.with(to, |program, view| {
            program
                .replicator
                .handle(&mut program.board, view, from, &bytes);
            if duplicate {
                program
                    .replicator
                    .handle(&mut program.board, view, from, &bytes);
            }
        });
    }

    fn lie(&mut self) {
        let Some(hostile) = self.hostile.filter(|h| self.room().members.contains(h)) else {
            return;
        };
        if self.recorded.is_empty() || self.room().authority == hostile {
            return;
        }
        let at = self.random(self.recorded.len());
        let mut bytes = self.recorded[at].clone();
        for _ in 0..self.random(4) {
            let (at, bit) = (self.random(bytes.len()), self.random(8));
            bytes[at] ^= 1 << bit;
        }
        bytes.truncate(1 + self.random(bytes.len() * 2));
        let members: Vec<_> = self.programs.keys().copied().collect();
        let to = members[self.random(members.len())];
        self.network.push(Packet {
            from: hostile,
            to,
            bytes,
        });
    }

    /// Cuts `peer` off. It comes back knowing the room, and everything under way from or to it is lost.
    fn interrupt(&mut self, peer: PeerId) {
        if !self.is_mesh && peer == self.room().authority {
            return;
        }
        self.programs.get_mut(&peer).unwrap().heard = self.history.len() - 1;
        self.network
            .retain(|packet| packet.to != peer && packet.from != peer);
        self.with(peer, |program, _| {
            program.replicator.on_interruption(&mut program.board)
        });
    }

    fn step(&mut self) {
        let peers: Vec<_> = self.programs.keys().copied().collect();
        let peer = peers[self.random(peers.len())];
        match self.random(100) {
            0..30 => {
                let field = self.random(Board::owners().len());
                self.next_value += 1;
                let value = self.next_value;
                self.with(peer, |program, _| {
                    if program.board.set(field, value) {
                        let value = program.board.values().swap_remove(field);
                        program.last_set.insert(field, value);
                    }
                });
            }
            30..50 => drop(self.poll(peer)),
            50..85 => {
                let duplicate = self.random(4) == 0;
                self.deliver(duplicate);
            }
            85..93 => {
                let newest = self.history.len() - 1;
                let program = self.programs.get_mut(&peer).unwrap();
                program.heard = newest.min(program.heard + 1);
            }
            93 if self.programs.len() < 6 => self.join(),
            94 => self.drop_member(),
            95 => self.interrupt(peer),
            _ => self.lie(),
        }
    }

    fn settle(&mut self) {
        let newest = self.history.len() - 1;
        for program in self.programs.values_mut() {
            program.heard = newest;
        }
        loop {
            let peers: Vec<_> = self.programs.keys().copied().collect();
            let mut silent = true;
            for peer in peers {
                silent &= !self.poll(peer);
            }
            if silent && self.network.is_empty() {
                return;
            }
            self.deliver(false);
        }
    }

    fn check(&self, seed: u64) {
        let room = self.room();
        for (field, &owner) in Board::owners().iter().enumerate() {
            let owner = room.owner_of(owner).unwrap();
            if Some(owner) == self.hostile {
                continue;
            }
            let owning = &self.programs[&owner];
            let truth = owning.board.values().swap_remove(field);
            if let Some(last) = owning.last_set.get(&field) {
                assert_eq!(&truth, last, "seed {seed}: {owner} lost field {field}");
            }
            let honest = self.programs.iter();
            for (peer, program) in honest.filter(|(peer, _)| Some(**peer) != self.hostile) {
                assert!(
                    program.replicator.is_complete(),
                    "seed {seed}: {peer} waits"
                );
                let value = program.board.values().swap_remove(field);
                assert_eq!(
                    value, truth,
                    "seed {seed}: field {field} of {owner} at {peer}"
                );
            }
        }
    }
}

fn run(is_mesh: bool, hostile: bool) {
    for seed in 0..5_000 {
        let mut world = World::new(seed, is_mesh, hostile);
        for _ in 0..300 {
            world.step();
        }
        world.settle();
        world.check(seed);
    }
}

#[test]
fn a_hosted_room_agrees() {
    run(false, false);
}

#[test]
fn a_mesh_agrees() {
    run(true, false);
}

#[test]
fn a_hosted_room_agrees_despite_a_liar() {
    run(false, true);
}

#[test]
fn a_mesh_agrees_despite_a_liar() {
    run(true, true);
}
