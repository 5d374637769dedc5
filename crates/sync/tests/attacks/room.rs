//! A room in virtual time in which members can say whatever they like, and a game in which players add up numbers.

use core::time::Duration;
use std::collections::BTreeSet;

use samestep_sync::{
    Cut, Departing, Entities, Events, Held, Input, InputKind, Inputs, Live, Member, Model, PeerId,
    PlayerId, Replicate, Roster, Simulation, Wire,
};
use samestep_wire::encode_to_vec;

/// A number to add, once.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub struct Add(pub Option<u8>);

impl Input for Add {
    fn predict(&self) -> Self {
        Add(None)
    }
}

/// The sum of all that players have added, and some rows that are never changed.
#[derive(Clone, Replicate)]
pub struct Sum {
    pub total: u32,
    pub rows: Entities<(i32, i32)>,
}

impl Sum {
    pub fn new() -> Sum {
        let mut rows = Entities::new();
        for row in 0..200 {
            rows.insert((row, row));
        }
        Sum { total: 0, rows }
    }
}

impl Simulation for Sum {
    type Input = Add;
    type Event = u32;
    const NAME: &'static str = "sum";

    fn step(&mut self, inputs: &Inputs<'_, Add>, events: &mut Events<u32>) {
        for (_, add) in inputs.given() {
            if let Add(Some(number)) = add {
                self.total += u32::from(*number);
                events.emit(self.total);
            }
        }
    }
}

/// A program of the room.
pub struct Program<M> {
    pub model: M,
    pub world: Live<Sum>,
    pub watches: bool,
}

/// A message on its way.
struct OnTheWay {
    at: Duration,
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

/// Something a member received, and when it was sent.
pub struct Received {
    pub sent_at: Duration,
    pub from: usize,
    pub bytes: Vec<u8>,
}

/// What an attacker makes of the messages that its own program sends.
pub type Tampering = Box<dyn FnMut(&mut Vec<u8>)>;

/// What an attacker makes of its answer about somebody that is excluded.
pub type Lie<'a> = &'a dyn Fn(&mut Held);

/// Programs whose messages take 10 ms. The first is the authority at first; each that plays has the player of its own number.
pub struct Room<M> {
    pub now: Duration,
    pub programs: Vec<Program<M>>,
    pub received: Vec<Vec<Received>>,
    pub is_mesh: bool,
    pub authority: usize,
    /// What is done to the messages of an attacker.
    pub tampers: Option<(usize, Tampering)>,
    on_the_way: Vec<OnTheWay>,
}

pub const START: Duration = Duration::from_secs(2);
pub const LATENCY: Duration = Duration::from_millis(10);

impl<M: Model> Room<M> {
    /// Players and spectators behind them, who all have the state of the authority.
    pub fn new(is_mesh: bool, players: usize, spectators: usize, model: impl Fn() -> M) -> Room<M> {
        let program = |at: usize| Program {
            model: model(),
            world: Live::new(Sum::new()),
            watches: at >= players,
        };
        let programs: Vec<Program<M>> = (0..players + spectators).map(program).collect();
        let mut room = Room {
            now: Duration::from_secs(1),
            received: programs.iter().map(|_| Vec::new()).collect(),
            programs,
            is_mesh,
            authority: 0,
            tampers: None,
            on_the_way: Vec::new(),
        };
        room.pass_roster_on(&BTreeSet::new());
        for to in 1..room.programs.len() {
            let Program { model, world, .. } = &mut room.programs[0];
            let checkpoint = model.checkpoint(room.now, PeerId(to as u16), world);
            let Program { model, world, .. } = &mut room.programs[to];
            model.adopt(room.now, &checkpoint, world).unwrap();
        }
        for program in &mut room.programs {
            program.model.handle_start(room.now, START);
        }
        room
    }

    /// Tells everyone who is in the room; some are gone.
    pub fn pass_roster_on(&mut self, gone: &BTreeSet<usize>) {
        self.pass_roster_to(gone, |_| true);
    }

    /// Tells some of them.
    pub fn pass_roster_to(&mut self, gone: &BTreeSet<usize>, to: impl Fn(usize) -> bool) {
        let members: Vec<Member> = (0..self.programs.len())
            .filter(|at| !gone.contains(at))
            .map(|at| Member {
                peer: PeerId(at as u16),
                players: match self.programs[at].watches {
                    true => Vec::new(),
                    false => vec![PlayerId(at as u16)],
                },
                in_sync: true,
                away: false,
                watches: self.programs[at].watches,
                incarnation: 1,
                latency: LATENCY,
                loss: 0,
            })
            .collect();
        let programs = self.programs.iter_mut().enumerate();
        for (at, program) in programs.filter(|(at, _)| to(*at)) {
            let roster = Roster {
                me: PeerId(at as u16),
                authority: PeerId(self.authority as u16),
                is_mesh: self.is_mesh,
                members: members.clone(),
            };
            program.model.handle_roster(self.now, &roster);
        }
    }

    /// Asks everyone who stays what it has of somebody that is excluded, as the room of a mesh does, and decides where that ends. An attacker may make of its
    /// answer what it likes, and is believed about the items that others have too.
    pub fn cut(&mut self, gone: usize, attacker: Option<(usize, Lie<'_>)>) -> Cut {
        let departing = Departing {
            peer: PeerId(gone as u16),
            incarnation: 1,
            above: 0,
        };
        let mut answers: Vec<(bool, Held)> = Vec::new();
        for (at, program) in self.programs.iter_mut().enumerate() {
            if at != gone {
                for mut held in program.model.hold(self.now, &[departing]) {
                    let lies = attacker.as_ref().filter(|(who, _)| *who == at);
                    lies.iter().for_each(|(_, tamper)| tamper(&mut held));
                    answers.push((lies.is_some(), held));
                }
            }
        }
        let most = answers
            .into_iter()
            .max_by_key(|(lies, held)| (held.last, *lies));
        let (_, held) = most.expect("somebody has heard of it");
        Cut {
            peer: departing.peer,
            incarnation: 1,
            last: Some(held.last),
            items: held.items,
            was_authority: gone == self.authority,
            keeps_place: false,
            heir: None,
        }
    }

    /// Tells some of those who stay that somebody is excluded.
    pub fn pass_cut_to(&mut self, cut: &Cut, to: impl Fn(usize) -> bool) {
        let gone = usize::from(cut.peer.0);
        for at in (0..self.programs.len()).filter(|at| *at != gone && to(*at)) {
            self.programs[at]
                .model
                .cut(self.now, std::slice::from_ref(cut));
        }
        self.pass_roster_to(&[gone].into(), |at| at != gone && to(at));
    }

    /// A member sends bytes of its own making.
    pub fn say(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let at = self.now + LATENCY;
        self.on_the_way.push(OnTheWay {
            at,
            from,
            to,
            bytes,
        });
    }

    pub fn add(&mut self, at: usize, number: u8) -> bool {
        let input = encode_to_vec(&Add(Some(number))).unwrap();
        let player = PlayerId(at as u16);
        let model = &mut self.programs[at].model;
        model.input(self.now, player, &input, InputKind::Command)
    }

    pub fn total(&self, at: usize) -> u32 {
        self.programs[at].world.state().total
    }

    pub fn refused(&self, at: usize) -> u64 {
        self.programs[at].model.status().refused
    }

    pub fn tick(&self, at: usize) -> u64 {
        self.programs[at].model.status().tick.0
    }

    pub fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let waiting = core::mem::take(&mut self.on_the_way);
            let (due, rest): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|message| message.at <= self.now);
            self.on_the_way = rest;
            for message in due {
                let from = PeerId(message.from as u16);
                let model = &mut self.programs[message.to].model;
                model.handle_message(self.now, from, &message.bytes);
            }
            for at in 0..self.programs.len() {
                self.advance(at);
            }
        }
    }

    fn advance(&mut self, at: usize) {
        let Program { model, world, .. } = &mut self.programs[at];
        if model.poll_timeout().is_some_and(|due| due <= self.now) {
            model.advance(self.now, world);
        }
        while let Some(mut message) = model.poll_message() {
            if let Some((attacker, tamper)) = &mut self.tampers
                && *attacker == at
            {
                tamper(&mut message.bytes);
            }
            for to in message.to {
                let to = usize::from(to.0);
                if to >= self.received.len() {
                    // A liar has told it to ask somebody who is not there.
                    continue;
                }
                self.received[to].push(Received {
                    sent_at: self.now,
                    from: at,
                    bytes: message.bytes.clone(),
                });
                self.on_the_way.push(OnTheWay {
                    at: self.now + LATENCY,
                    from: at,
                    to,
                    bytes: message.bytes.clone(),
                });
            }
        }
        while model.poll_event().is_some() {}
    }
}

/// Appends a number as messages hold it.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front of a message.
pub fn take(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 {
            break;
        }
    }
    value
}

/// A message that is a tag and numbers.
pub fn message(tag: u8, numbers: &[u64]) -> Vec<u8> {
    let mut out = vec![tag];
    for number in numbers {
        put(&mut out, *number);
    }
    out
}
