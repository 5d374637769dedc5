//! Hostile bytes are refused or decode to something that is valid; nothing panics, nothing is read past the end.

mod shapes;

use samestep_wire::{
    BitReader, DecodeError, MAX_DEPTH, Wire, decode_delta_exact, decode_exact, encode_delta_to_vec,
    encode_to_vec,
};
use shapes::{Action, Floats, Lists, Mixed, Random, Sample, Scalars, Tree};

/// What decodes must be a value that the encoder accepts and that decodes to itself.
fn check<T: Sample>(bytes: &[u8], baseline: &T, what: &str) {
    let mut r = BitReader::new(bytes);
    if let Ok(value) = T::decode(&mut r) {
        assert!(r.bit_len() <= bytes.len() * 8);
        let again = encode_to_vec(&value).expect(what);
        assert!(
            decode_exact::<T>(&again).expect(what).same(&value),
            "{what}"
        );
    }
    let mut r = BitReader::new(bytes);
    if let Ok(value) = T::decode_delta(baseline, &mut r) {
        let again = encode_delta_to_vec(&value, baseline).expect(what);
        let again = decode_delta_exact(baseline, &again).expect(what);
        assert!(again.same(&value), "{what}");
    }
}

fn random_and_damaged_bytes<T: Sample>() {
    for seed in 0..4000 {
        let mut random = Random(seed);
        let baseline = T::sample(&mut random);
        // Sparse bytes reach further into lists than uniform ones do.
        let sparse = random.below(9);
        let bytes = random.list(200, |random| match random.below(8) < sparse {
            true => 0,
            false => random.next() as u8,
        });
        check(&bytes, &baseline, &format!("random, seed {seed}"));

        let mut value = baseline.clone();
        value.change(&mut random);
        let whole = encode_to_vec(&value).unwrap();
        let delta = encode_delta_to_vec(&value, &baseline).unwrap();
        for mut bytes in [whole, delta] {
            for _ in 0..1 + random.below(4) {
                let bits = bytes.len() as u64 * 8;
                if bits > 0 {
                    let bit = random.below(bits);
                    bytes[bit as usize / 8] ^= 1 << (bit % 8);
                }
            }
            check(&bytes, &baseline, &format!("damaged, seed {seed}"));
            bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
            check(&bytes, &baseline, &format!("truncated, seed {seed}"));
        }
    }
}

#[test]
fn scalars() {
    random_and_damaged_bytes::<Scalars>();
}

#[test]
fn floats() {
    random_and_damaged_bytes::<Floats>();
}

#[test]
fn lists() {
    random_and_damaged_bytes::<Lists>();
}

#[test]
fn enums() {
    random_and_damaged_bytes::<Action>();
}

#[test]
fn recursive_types() {
    random_and_damaged_bytes::<Tree>();
}

#[test]
fn tuples_arrays_generics() {
    random_and_damaged_bytes::<Mixed>();
}

#[test]
fn every_truncation_is_refused() {
    fn check<T: Sample>() {
        for seed in 0..200 {
            let value = T::sample(&mut Random(seed));
            let bytes = encode_to_vec(&value).unwrap();
            for len in 0..bytes.len() {
                let read = T::decode(&mut BitReader::new(&bytes[..len]));
                assert_eq!(read.unwrap_err(), DecodeError::Truncated);
            }
        }
    }
    check::<Scalars>();
    check::<Floats>();
    check::<Lists>();
    check::<Action>();
    check::<Tree>();
    check::<Mixed>();
}

#[test]
fn nesting_is_bounded() {
    // Each level says "another one inside": a stack per bit of input, if nothing stopped it.
    #[derive(Clone, Wire)]
    struct Chain(Option<Box<Chain>>);
    #[derive(Clone, Wire)]
    struct Nest(#[wire(max_len = 1)] Vec<Nest>);

    let ones = vec![0xff; 1 << 16];
    let chain = Chain::decode(&mut BitReader::new(&ones));
    assert_eq!(chain.err(), Some(DecodeError::TooDeep));
    let nest = Nest::decode(&mut BitReader::new(&ones));
    assert_eq!(nest.err(), Some(DecodeError::TooDeep));

    let mut deep = Chain(None);
    for _ in 0..MAX_DEPTH {
        deep = Chain(Some(Box::new(deep)));
    }
    let bytes = encode_to_vec(&deep).unwrap();
    assert!(decode_exact::<Chain>(&bytes).is_ok());
    encode_to_vec(&Chain(Some(Box::new(deep)))).unwrap_err();
}

#[test]
fn unknown_variants_are_refused() {
    let read = |byte: u8| decode_exact::<shapes::Team>(&[byte]);
    assert_eq!(read(2), Ok(shapes::Team::Blue));
    assert_eq!(read(3), Err(DecodeError::UnknownVariant));
}
