//! Connect tokens: claims have one encoding, and only what the lobby signed is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samestep_proto::fuzzing::{Presented, verify};
use samestep_proto::{TokenClaims, TokenIssuer};
use std::sync::LazyLock;

static LOBBY: LazyLock<TokenIssuer> = LazyLock::new(|| TokenIssuer::new([7; 32]));

fuzz_target!(|input: (bool, u16, &[u8])| {
    let (sign, flip, bytes) = input;
    let Ok(claims) = TokenClaims::decode(bytes) else {
        return;
    };
    assert_eq!(claims.encode().as_deref(), Ok(bytes));
    let at = Presented {
        server: claims.server,
        shard: claims.shard,
        client: claims.client,
        address: "192.0.2.1".parse().expect("an address"),
        unix_s: claims.issued_unix_s,
        started_unix_s: 0,
    };
    assert!(verify(&LOBBY.public_key(), bytes, &at).is_err());
    let good = claims.check(&at).map(|()| claims.clone());
    if sign && let Ok(mut token) = LOBBY.issue(&claims) {
        assert_eq!(verify(&LOBBY.public_key(), &token, &at), good);
        let bit = usize::from(flip) % (token.len() * 8);
        token[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&LOBBY.public_key(), &token, &at).is_err());
    }
});
