//! Two endpoints and an adversary on the link between them: arbitrary operations, and the promises of every channel.
#![no_main]

mod world;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use world::{Mode, World};

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Op {
    Send {
        server: bool,
        channel: u8,
        len: u16,
    },
    Burst {
        server: bool,
        channel: u8,
        count: u8,
        len: u8,
    },
    Wait {
        ms: u16,
    },
    Deliver {
        which: u8,
    },
    DeliverAll,
    Lose {
        which: u8,
    },
    LoseAll,
    Duplicate {
        which: u8,
    },
    Corrupt {
        which: u8,
        bit: u16,
    },
    Truncate {
        which: u8,
        len: u16,
    },
    Replay {
        which: u8,
    },
    Spoof {
        which: u8,
    },
    Move,
    Close {
        server: bool,
    },
    Abort {
        server: bool,
    },
    Reconnect,
}

fuzz_target!(|input: (Mode, Vec<Op>)| {
    let (mode, ops) = input;
    let mut world = World::new(mode);
    world.connect();
    world.run(40);
    for op in ops {
        match op {
            Op::Send {
                server,
                channel,
                len,
            } => {
                world.send(usize::from(server), channel % 5, usize::from(len) * 2);
            }
            Op::Burst {
                server,
                channel,
                count,
                len,
            } => {
                for _ in 0..count {
                    world.send(usize::from(server), channel % 5, usize::from(len));
                }
            }
            Op::Wait { ms } => world.wait(u64::from(ms % 3000)),
            Op::Deliver { which } => world.deliver(which),
            Op::DeliverAll => world.deliver_all(),
            Op::Lose { which } => drop(world.take(which)),
            Op::LoseAll => world.lose_all(),
            Op::Duplicate { which } => world.duplicate(which),
            Op::Corrupt { which, bit } => world.corrupt(which, bit),
            Op::Truncate { which, len } => world.truncate(which, len),
            Op::Replay { which } => world.replay(which),
            Op::Spoof { which } => world.spoof(which),
            Op::Move => world.move_client(),
            Op::Close { server } => world.close(usize::from(server)),
            Op::Abort { server } => world.abort(usize::from(server)),
            Op::Reconnect => world.connect(),
        }
        world.check();
    }
    world.heal();
});
