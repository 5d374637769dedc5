//! Numbers at the ends of their ranges, in every field of every message.
//!
//! The attacker is any member: a player, a spectator, or the authority itself. It wants arithmetic on a tick, a time or a count to overflow, so that
//! the program of another panics, or loops for as long as there are ticks.

use samestep_sync::{
    EventDelay, Lockstep, LockstepConfig, Model, ModelConfig, Pace, Rewind, Rollback,
    RollbackConfig, Snapshot, StateSync, Switch,
};

use crate::room::{Room, message};

const EXTREMES: [u64; 9] = [
    0,
    1,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    (1 << 48) - 1,
    1 << 48,
    (1 << 50) + 1,
    u32::MAX as u64,
];

/// Fields of a message at most.
const FIELDS: usize = 11;

/// Messages of every tag, with every number of fields, of which one is extreme and the others are small, or as the tick is.
fn messages(tags: core::ops::Range<u8>, tick: u64) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for tag in tags {
        for fields in 0..FIELDS {
            messages.push(message(tag, &vec![1; fields]));
            for extreme in EXTREMES {
                messages.push(message(tag, &vec![extreme; fields]));
                for at in 0..fields {
                    for other in [1, tick] {
                        let mut numbers = vec![other; fields];
                        numbers[at] = extreme;
                        messages.push(message(tag, &numbers));
                    }
                }
            }
        }
    }
    messages
}

/// Has peer `from` send all of it to `to`, who goes on simulating.
fn send<M: Model>(room: &mut Room<M>, from: usize, to: usize, messages: Vec<Vec<u8>>) {
    for (at, bytes) in messages.into_iter().enumerate() {
        room.say(from, to, bytes);
        if at % 50 == 0 {
            room.run(1);
        }
    }
    room.run(50);
}

/// A player and a spectator attack the authority, which plays on with the other player; then the authority attacks a player.
fn attack<M: Model>(is_mesh: bool, tags: core::ops::Range<u8>, model: impl Fn() -> M) {
    let mut room = Room::new(is_mesh, 3, 1, &model);
    room.run(3000);
    for attacker in [1, 3] {
        let tick = room.tick(0);
        send(&mut room, attacker, 0, messages(tags.clone(), tick));
    }
    if !is_mesh {
        let (before, ticks) = (room.total(0), room.tick(0));
        room.add(2, 5);
        room.run(1000);
        assert!(room.tick(0) > ticks + 30, "the host plays on");
        assert_eq!(room.total(0), before + 5);
    }
    let tick = room.tick(1);
    send(&mut room, 0, 1, messages(tags.clone(), tick));
    send(&mut room, 2, 1, messages(tags, tick));
    room.run(200);
}

#[test]
fn lockstep() {
    attack(false, 0..24, Lockstep::default);
    attack(true, 0..24, Lockstep::default);
}

#[test]
fn rollback() {
    attack(false, 0..24, Rollback::default);
    attack(true, 0..24, Rollback::default);
}

#[test]
fn event_delay() {
    attack(false, 0..24, EventDelay::default);
    attack(true, 0..24, EventDelay::default);
}

#[test]
fn turns() {
    let model = || {
        Lockstep::new(LockstepConfig {
            pace: Pace::Initiative { ticks: 5 },
            ..LockstepConfig::default()
        })
        .unwrap()
    };
    let mut room = Room::new(false, 2, 1, model);
    room.run(3000);
    for (from, to) in [(1, 0), (2, 0), (0, 1)] {
        let tick = room.tick(to);
        send(&mut room, from, to, messages(0..24, tick));
    }
}

#[test]
fn authorities() {
    attack(false, 0..5, Snapshot::default);
    attack(false, 0..5, StateSync::default);
    attack(false, 0..5, Rewind::default);
}

/// Messages whose tag is their last byte.
fn reversed(messages: Vec<Vec<u8>>, mark: impl Fn(u8) -> u8) -> Vec<Vec<u8>> {
    let reversed = messages.into_iter().map(|mut bytes| {
        let tag = bytes.remove(0);
        bytes.push(mark(tag));
        bytes
    });
    reversed.collect()
}

#[test]
fn switches() {
    let choices = || {
        let rollback = RollbackConfig::default();
        vec![
            ModelConfig::Lockstep(LockstepConfig::default()),
            ModelConfig::Rollback(rollback),
        ]
    };
    let mut room = Room::new(false, 3, 1, || Switch::new(choices()).unwrap());
    room.run(3000);
    for (from, to) in [(1, 0), (3, 0), (0, 1), (2, 1)] {
        let tick = room.tick(to);
        // The switch's own, and those of a model with an announced change behind them.
        send(
            &mut room,
            from,
            to,
            reversed(messages(0..7, tick), |tag| tag),
        );
        for extreme in EXTREMES {
            for epoch in [0x80, 0x81, 0xbf, 0xc0, 0xc1, 0xff] {
                let mut bytes = vec![3];
                bytes.extend_from_slice(&extreme.to_le_bytes());
                bytes.extend_from_slice(&[1, epoch]);
                room.say(from, to, bytes);
            }
        }
        room.run(100);
    }
    room.run(1000);
}

#[test]
fn states_to_adopt() {
    // The first numbers of a checkpoint: layout, tick, start, schedule offset and what follows.
    for layout in [1, 2] {
        for fields in 1..16 {
            for extreme in EXTREMES {
                for at in 1..fields.max(2) {
                    let mut numbers = vec![1; fields];
                    numbers[0] = layout;
                    if let Some(number) = numbers.get_mut(at) {
                        *number = extreme;
                    }
                    let checkpoint = message(0, &numbers).split_off(1);
                    let mut guests = guests();
                    guests.adopt_all(&checkpoint);
                }
            }
        }
    }
}

/// A guest of every model, which takes over any state that it is given.
struct Guests(Vec<(Box<dyn Model>, samestep_sync::Live<crate::room::Sum>)>);

fn guests() -> Guests {
    let models: Vec<Box<dyn Model>> = vec![
        Box::new(Lockstep::default()),
        Box::new(Rollback::default()),
        Box::new(EventDelay::default()),
        Box::new(Snapshot::default()),
        Box::new(StateSync::default()),
        Box::new(Rewind::default()),
    ];
    let world = || samestep_sync::Live::new(crate::room::Sum::new());
    Guests(models.into_iter().map(|model| (model, world())).collect())
}

impl Guests {
    fn adopt_all(&mut self, checkpoint: &[u8]) {
        let now = core::time::Duration::from_secs(5);
        for (model, world) in &mut self.0 {
            let member = |peer| samestep_sync::Member {
                peer: samestep_sync::PeerId(peer),
                players: vec![samestep_sync::PlayerId(peer)],
                in_sync: true,
                away: false,
                watches: false,
                incarnation: 1,
                latency: crate::room::LATENCY,
                loss: 0,
            };
            let roster = samestep_sync::Roster {
                me: samestep_sync::PeerId(1),
                authority: samestep_sync::PeerId(0),
                is_mesh: false,
                members: vec![member(0), member(1)],
            };
            model.handle_roster(now, &roster);
            model.handle_start(now, now);
            let _ = model.adopt(now, checkpoint, world);
            model.advance(now, world);
            let _ = model.status();
        }
    }
}
