//! A member of the room says whatever it likes: the others do not panic, and a hosted room stays whole.
#![no_main]

mod table;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use samestep_proto::ChannelId;
use samestep_session::{Delivery, Message, MessageKind, PeerId, State, To};
use std::time::Duration;
use table::{GUEST, OPENER, Table, Take};

/// What the sessions may keep, given that nobody reads or answers for long.
const MEMORY: usize = 64 << 20;

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    /// Anything, on any channel.
    Raw {
        to: u8,
        channel: u8,
        bytes: &'a [u8],
    },
    /// The session's own messages.
    Control {
        to: u8,
        reliable: bool,
        body: &'a [u8],
    },
    /// The game's messages, of the kinds that are handled and of the library's own.
    Game {
        to: u8,
        delivery: u8,
        kind: u8,
        payload: &'a [u8],
    },
    Request {
        payload: &'a [u8],
    },
    Act {
        payload: &'a [u8],
    },
    Wait {
        ms: u8,
    },
}

fuzz_target!(|input: (bool, bool, Vec<Op<'_>>)| {
    let (mesh, opener_lies, ops) = input;
    let liar = if opener_lies { OPENER } else { GUEST };
    let mut table = Table::new(mesh);
    let peer = |to: u8| PeerId(u16::from(to % 4));
    for op in ops {
        let now = table.now;
        let liar = &mut table.sessions[liar];
        match op {
            Op::Raw { to, channel, bytes } => {
                liar.send_raw(now, peer(to), ChannelId(channel % 8), bytes);
            }
            Op::Control { to, reliable, body } => {
                let bytes = [&[8][..], body].concat();
                let channel = ChannelId(if reliable { 5 } else { 0 });
                liar.send_raw(now, peer(to), channel, &bytes);
            }
            Op::Game {
                to,
                delivery,
                kind,
                payload,
            } => {
                let delivery = Delivery::ALL[usize::from(delivery) % Delivery::ALL.len()];
                let kind = match kind % 8 {
                    own @ 0..4 => MessageKind(0xFF00 + u16::from(own)),
                    kind => MessageKind(u16::from(kind - 4)),
                };
                let _ = liar.send_bytes(now, To::Peer(peer(to)), delivery, kind, payload);
            }
            Op::Request { payload } => {
                let _ = liar.request_bytes(now, Take::KIND, payload);
            }
            Op::Act { payload } => {
                let _ = liar.act_bytes(now, Take::KIND, payload);
            }
            Op::Wait { ms } => table.now += Duration::from_millis(u64::from(ms)),
        }
        table.exchange();
        for session in &table.sessions {
            let bytes = session.endpoint().memory_bytes();
            assert!(bytes < MEMORY, "{bytes}");
        }
    }
    if !mesh && !opener_lies {
        // A client cannot talk the host and another client apart.
        table.wait(Duration::from_secs(1));
        let [host, _, bystander] = &table.sessions[..] else {
            unreachable!("three were made");
        };
        assert_eq!(*bystander.state(), State::InSync);
        assert_eq!(host.room(), bystander.room());
    }
});
