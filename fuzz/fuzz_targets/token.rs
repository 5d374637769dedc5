//! Connect tokens: claims have one encoding, and only what the lobby signed is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samestep_proto::fuzzing::verify;
use samestep_proto::{TokenClaims, TokenIssuer};
use std::sync::LazyLock;

static LOBBY: LazyLock<TokenIssuer> = LazyLock::new(|| TokenIssuer::new([7; 32]));

fuzz_target!(|input: (bool, u16, &[u8])| {
    let (sign, flip, bytes) = input;
    assert!(verify(&LOBBY.public_key(), bytes).is_err());
    let Ok(claims) = TokenClaims::decode(bytes) else {
        return;
    };
    assert_eq!(claims.encode().as_deref(), Ok(bytes));
    let address = "192.0.2.1".parse().expect("an address");
    let _ = claims.check(0, &claims.servers, address);
    if sign {
        let mut token = LOBBY.issue(&claims).expect("within the limits");
        assert_eq!(verify(&LOBBY.public_key(), &token), Ok(claims));
        let bit = usize::from(flip) % (token.len() * 8);
        token[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&LOBBY.public_key(), &token).is_err());
    }
});
