//! The six datagrams of the handshake and what they carry. What decodes is written the same way again, but for padding.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/proto/tests/pair/forge.rs"]
mod forge;

use libfuzzer_sys::fuzz_target;
use samestep_proto::handshake::{
    AcceptPayload, ConnectPayload, Datagram, MAGIC, PROTOCOL_VERSION,
};

fn check(bytes: &[u8]) {
    let Ok(datagram) = Datagram::decode(bytes) else {
        return;
    };
    let again = match &datagram {
        Datagram::Hello(hello) => hello.encode().to_vec(),
        Datagram::Retry(retry) => retry.encode().to_vec(),
        Datagram::Connect(connect) => {
            assert_eq!(connect.header.encode(connect.body.len()), connect.prologue);
            if connect.body.len() > 1000 {
                return;
            }
            connect.header.datagram(connect.body)
        }
        Datagram::Accept(accept) => accept.encode(),
        Datagram::Refuse(refuse) => refuse.encode().to_vec(),
        Datagram::Finish(finish) => finish.encode().to_vec(),
    };
    // A Refuse of a later protocol may hold what this one does not know.
    if !matches!(datagram, Datagram::Refuse(_)) {
        assert_eq!(Datagram::decode(&again), Ok(datagram));
    } else {
        assert!(Datagram::decode(&again).is_ok());
    }
}

fuzz_target!(|input: (u8, &[u8])| {
    let (kind, bytes) = input;
    check(bytes);
    // And with everything right that arbitrary bytes would hardly ever get right.
    let mut datagram = bytes.to_vec();
    if datagram.len() < 10 {
        datagram.resize(10, 0);
    }
    datagram[0] = kind % 7;
    datagram[1..5].copy_from_slice(&MAGIC);
    if kind < 240 {
        datagram[5] = PROTOCOL_VERSION;
    }
    forge::close_handshake(&mut datagram);
    check(&datagram);
    for password in [false, true] {
        if let Ok(payload) = ConnectPayload::decode(bytes, password) {
            assert_eq!(payload.encode(), bytes);
        }
    }
    if let Ok(accept) = AcceptPayload::decode(bytes) {
        assert_eq!(accept.encode(), bytes);
    }
});
