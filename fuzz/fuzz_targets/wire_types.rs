//! Every kind of derived type from arbitrary bytes, whole and against a baseline: what decodes is something the encoder
//! accepts and that decodes to itself.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/wire/tests/shapes/mod.rs"]
mod shapes;

use libfuzzer_sys::fuzz_target;
use samestep_wire::{
    BitReader, decode_delta_exact, decode_exact, encode_delta_to_vec, encode_to_vec,
};
use shapes::{Action, Floats, Lists, Mixed, Random, Sample, Scalars, Tree};

fn check<T: Sample>(bytes: &[u8], baseline: &T) {
    let mut r = BitReader::new(bytes);
    if let Ok(value) = T::decode(&mut r) {
        assert!(r.bit_len() <= bytes.len() * 8);
        let again = encode_to_vec(&value).expect("decoded values are valid");
        let again = decode_exact::<T>(&again).expect("an encoding decodes");
        assert!(again.same(&value));
        check_delta(&value, baseline);
    }
    let mut r = BitReader::new(bytes);
    if let Ok(value) = T::decode_delta(baseline, &mut r) {
        assert!(r.bit_len() <= bytes.len() * 8);
        check_delta(&value, baseline);
    }
}

fn check_delta<T: Sample>(value: &T, baseline: &T) {
    let delta = encode_delta_to_vec(value, baseline).expect("decoded values are valid");
    let again = decode_delta_exact(baseline, &delta).expect("an encoding decodes");
    assert!(again.same(value));
}

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (which, seed, bytes) = input;
    let random = &mut Random(u64::from(seed));
    match which % 6 {
        0 => check(bytes, &Scalars::sample(random)),
        1 => check(bytes, &Floats::sample(random)),
        2 => check(bytes, &Lists::sample(random)),
        3 => check(bytes, &Action::sample(random)),
        4 => check(bytes, &Tree::sample(random)),
        _ => check(bytes, &Mixed::sample(random)),
    }
});
