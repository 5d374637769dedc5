//! Random rooms: whatever is reordered, repeated, lost with its sender or receiver, or invented, all end up with the
//! owner's values. Owners, leaders and hosts depart and hand over: nobody in sync goes back to an older value of a field.

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

/// A value of a field as `Board::values` shows it.
fn shown(field: usize, value: u32) -> String {
    match field {
        1..=PLAYERS => format!("word {value}"),
        5 => format!("(true, {value})"),
        _ => value.to_string(),
    }
}

/// What the room agreed on at some moment.
#[derive(Clone)]
struct Room {
    term: u64,
    authority: PeerId,
    members: BTreeSet<PeerId>,
    /// Members whose state is still on its way: they hear others, and say nothing.
    loading: BTreeSet<PeerId>,
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
    /// The term that its replicator has seen.
    viewed: Option<u64>,
    board: Board,
    replicator: Replicator,
    last_set: BTreeMap<usize, String>,
    /// The term in which it was loaded.
    loaded: u64,
    /// When the values that it has were set, by field, since it has got them all for the first time. A value of a term before it was loaded counts as
    /// the oldest: the others did not wait for it then.
    ages: Option<Vec<Age>>,
}

/// When a value was set: in which term of its setter, and its number among all values. Within a term a field has one owner, so a
/// later value of a field has a greater age, whoever set it.
type Age = (u64, u32);

impl Program {
    /// Shows the replicator the room. A message of its own says nothing.
    fn see(&mut self, view: &View<'_>) {
        self.viewed = Some(view.term);
        let board = &mut self.board;
        self.replicator.handle(board, view, view.me, &[]);
    }
}

struct Packet {
    from: PeerId,
    to: PeerId,
    bytes: Vec<u8>,
}

struct World {
    /// The seed it was made from, to be named when something is wrong.
    number: u64,
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
    /// When each value of each field was set.
    ages: BTreeMap<(usize, String), Age>,
}

impl World {
    fn new(seed: u64, is_mesh: bool, hostile: bool) -> World {
        let authority = PeerId(0);
        let room = Room {
            term: 1,
            authority,
            members: BTreeSet::from([authority]),
            loading: BTreeSet::new(),
            players: [Some(authority), None, None, None],
        };
        let mut world = World {
            number: seed,
            seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            is_mesh,
            history: vec![room],
            programs: BTreeMap::new(),
            network: Vec::new(),
            hostile: hostile.then_some(PeerId(2)),
            recorded: Vec::new(),
            next_peer: 1,
            // Above all initial values.
            next_value: 100,
            ages: BTreeMap::new(),
        };
        world.enter(authority);
        for _ in 0..2 {
            world.join();
            world.load(PeerId(world.next_peer - 1));
        }
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
            viewed: None,
            replicator: Replicator::new(&mut board).unwrap(),
            board,
            last_set: BTreeMap::new(),
            loaded: 0,
            ages: None,
        };
        self.programs.insert(peer, program);
    }

    fn join(&mut self) {
        let peer = PeerId(self.next_peer);
        self.next_peer += 1;
        let mut room = self.room().clone();
        room.members.insert(peer);
        room.loading.insert(peer);
        if let Some(place) = room.players.iter_mut().find(|place| place.is_none()) {
            *place = Some(peer);
        }
        self.change(room);
        self.enter(peer);
    }

    /// A member has loaded, and takes part from now on.
    fn load(&mut self, peer: PeerId) {
        let mut room = self.room().clone();
        if !room.loading.remove(&peer) {
            return;
        }
        self.change(room);
        let program = self.programs.get_mut(&peer).unwrap();
        program.heard = self.history.len() - 1;
        program.replicator.on_interruption(&mut program.board);
        program.loaded = self.history[program.heard].term;
        program.ages = None;
    }

    /// An honest member that may lead.
    fn candidate(&mut self, room: &Room) -> Option<PeerId> {
        let has_seen = |peer: &PeerId| self.programs[peer].viewed.is_some();
        let is_honest = |peer: &PeerId| Some(*peer) != self.hostile;
        let is_able =
            |peer: &PeerId| is_honest(peer) && has_seen(peer) && !room.loading.contains(peer);
        let able: Vec<_> = room.members.iter().copied().filter(is_able).collect();
        (!able.is_empty()).then(|| able[self.random(able.len())])
    }

    /// The authority hands over to another member, and stays.
    fn hand_over(&mut self) {
        let mut room = self.room().clone();
        let Some(authority) = self.candidate(&room) else {
            return;
        };
        if authority != room.authority {
            room.authority = authority;
            self.change(room);
        }
    }

    fn drop_member(&mut self) {
        let members: Vec<_> = self.room().members.iter().copied().collect();
        let peer = members[self.random(members.len())];
        if members.len() == 1 {
            return;
        }
        let mut room = self.room().clone();
        room.members.remove(&peer);
        room.loading.remove(&peer);
        for place in &mut room.players {
            if *place == Some(peer) {
                *place = None;
            }
        }
        if room.authority == peer {
            let Some(authority) = self.candidate(&room) else {
                return;
            };
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
        let in_sync = others.iter().copied();
        let in_sync: Vec<_> = in_sync.filter(|m| !room.loading.contains(m)).collect();
        let owner_of = |owner| room.owner_of(owner);
        let view = View {
            me: peer,
            authority: room.authority,
            others: &others,
            in_sync: &in_sync,
            is_mesh: self.is_mesh,
            term: room.term,
            former_term: room.term - 1,
            owner_of: &owner_of,
        };
        let result = act(program, &view);
        let (mut field, values) = (0, program.board.values());
        let (last_set, viewed) = (&mut program.last_set, program.viewed);
        program.board.for_each(&mut |f| {
            if owner_of(f.owner()) != Some(peer) {
                last_set.remove(&field);
            }
            // A value that was set and not sent yet is sent in the term that its owner has come to.
            let age = self.ages.get_mut(&(field, values[field].clone()));
            if let (Some(age), Some(term), true) = (age, viewed, f.mark().set) {
                age.0 = term;
            }
            field += 1;
        });
        // Who invents values invents their ages, and who still loads is not waited for.
        if self.hostile.is_none() && !self.room().loading.contains(&peer) {
            self.check_ages(peer);
        }
        result
    }

    /// No field of this program has gone back to an older value.
    fn check_ages(&mut self, peer: PeerId) {
        let program = self.programs.get_mut(&peer).unwrap();
        let replicator = &program.replicator;
        if program.ages.is_none() && replicator.is_complete() && !replicator.is_collecting() {
            program.ages = Some(vec![(0, 0); Board::owners().len()]);
        }
        let Some(ages) = &mut program.ages else {
            return;
        };
        let (values, mut terms) = (program.board.values(), Vec::new());
        let board = &mut program.board;
        board.for_each(&mut |field| terms.push(field.mark().stamp.term));
        for (field, value) in values.into_iter().enumerate() {
            let before = ages[field];
            let age = match value.as_str() {
                // Every newcomer that owns this field sets this value.
                "before" => (0, 0),
                _ if terms[field] < program.loaded => (0, 0),
                _ => *self.ages.get(&(field, value.clone())).unwrap_or(&(0, 0)),
            };
            assert!(
                age >= before || value == "before",
                "seed {}: field {field} at {peer} went back from {before:?} to {age:?}",
                self.number
            );
            ages[field] = age;
        }
    }

    fn poll(&mut self, peer: PeerId) -> bool {
        if self.room().loading.contains(&peer) {
            return false;
        }
        let said = self.with(peer, |program, view| {
            program.see(view);
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
            program.see(view);
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
                let number = self.next_value;
                let Some(term) = self.programs[&peer].viewed else {
                    return;
                };
                self.ages
                    .insert((field, shown(field, number)), (term, number));
                self.with(peer, |program, _| {
                    if program.board.set(field, number) {
                        program.last_set.insert(field, shown(field, number));
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
            96 => self.hand_over(),
            97 | 98 => self.load(peer),
            95 => self.interrupt(peer),
            _ => self.lie(),
        }
    }

    fn settle(&mut self) {
        for peer in self.room().loading.clone() {
            self.load(peer);
        }
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
            // Another owner may have set it in a term that this one missed.
            let age = |value: &str| self.ages.get(&(field, value.to_owned()));
            if let Some(last) = owning.last_set.get(&field)
                && age(&truth) <= age(last)
            {
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

/// How many rooms to try; `SEEDS` in the environment asks for more.
fn seeds() -> u64 {
    let asked = std::env::var("SEEDS").ok();
    asked.and_then(|seeds| seeds.parse().ok()).unwrap_or(5_000)
}

fn run(is_mesh: bool, hostile: bool) {
    for seed in 0..seeds() {
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
