//! What the derive does beyond encoding fields one after the other.

use samestep_wire::{
    BitWriter, EncodeError, Wire, decode_delta_exact, decode_exact, encode_delta_to_vec,
    encode_into, encode_to_vec,
};

mod reexport {
    pub use samestep_wire as wire;
}

fn bits<T: Wire>(value: &T) -> usize {
    let mut buffer = [0; 256];
    let mut w = BitWriter::new(&mut buffer);
    value.encode(&mut w);
    w.bit_len()
}

fn delta_bits<T: Wire>(value: &T, baseline: &T) -> usize {
    let mut buffer = [0; 256];
    let mut w = BitWriter::new(&mut buffer);
    value.encode_delta(baseline, &mut w);
    w.bit_len()
}

#[test]
fn skipped_fields_are_default_or_the_baselines() {
    #[derive(Clone, Debug, PartialEq, Wire)]
    struct Sprite<T> {
        x: u8,
        #[wire(skip)]
        cache: Vec<T>,
        y: u8,
    }

    let sprite = |x, cache: &[u16]| Sprite {
        x,
        cache: cache.to_vec(),
        y: 2,
    };
    let bytes = encode_to_vec(&sprite(1, &[7])).unwrap();
    assert_eq!(decode_exact(&bytes), Ok(sprite(1, &[])));
    let delta = encode_delta_to_vec(&sprite(3, &[9]), &sprite(1, &[7])).unwrap();
    let decoded = decode_delta_exact(&sprite(1, &[5]), &delta);
    assert_eq!(decoded, Ok(sprite(3, &[5])));
    assert_eq!(delta_bits(&sprite(1, &[9]), &sprite(1, &[7])), 1);
}

#[test]
fn bounds_are_constant_expressions() {
    const MAX_HEALTH: u8 = 100;
    const WORLD: f32 = 64.0;

    #[derive(Clone, Debug, PartialEq, Wire)]
    struct Player {
        #[wire(range = 0..=MAX_HEALTH * 2)]
        health: u8,
        #[wire(range = -WORLD..=WORLD, precision = 1.0 / 8.0)]
        x: f32,
        #[wire(max_len = MAX_HEALTH as usize / 10)]
        items: Vec<bool>,
    }

    let player = Player {
        health: 200,
        x: -63.875,
        items: vec![true; 10],
    };
    assert_eq!(bits(&player), 8 + 11 + 4 + 10);
    let bytes = encode_to_vec(&player).unwrap();
    assert_eq!(decode_exact(&bytes), Ok(player));
}

#[test]
fn variants_take_as_few_bits_as_can_tell_them_apart() {
    #[derive(Clone, Wire)]
    enum One {
        Only(u8),
    }
    #[derive(Clone, Copy, Wire)]
    enum Five {
        A,
        B,
        C,
        D,
        E,
    }
    use Five::{A, B, C, D, E};

    assert_eq!(bits(&One::Only(3)), 8);
    assert_eq!([A, B, C, D, E].map(|five| bits(&five)), [3; 5]);
    assert_eq!(delta_bits(&A, &A), 1);
    assert_eq!(delta_bits(&E, &A), 4);
    assert_eq!(<Five as Wire>::min_bits(), 3);
    assert_eq!(<One as Wire>::min_bits(), 8);
}

#[test]
fn wrappers_cost_nothing() {
    #[derive(Clone, Wire)]
    struct Meters(#[wire(range = 0..=1000)] u16);
    #[derive(Clone, Wire)]
    struct Height {
        above_sea: Meters,
    }
    #[derive(Clone, Wire)]
    struct Marker;

    let height = |m| Height {
        above_sea: Meters(m),
    };
    assert_eq!(bits(&height(5)), 10);
    assert_eq!(delta_bits(&height(5), &height(5)), 1);
    assert_eq!(delta_bits(&height(6), &height(5)), 2 + 3);
    assert_eq!((bits(&Marker), delta_bits(&Marker, &Marker)), (0, 0));
}

#[test]
fn a_re_exported_crate_can_be_named() {
    #[derive(Clone, Debug, PartialEq, reexport::wire::Wire)]
    #[wire(crate = crate::reexport::wire)]
    struct Named {
        #[wire(range = 0..=7, max_len = 3)]
        values: Vec<u8>,
    }

    let named = Named { values: vec![1, 7] };
    assert_eq!(bits(&named), 2 + 6);
    assert_eq!(decode_exact(&encode_to_vec(&named).unwrap()), Ok(named));
}

#[test]
fn mistakes_of_the_encoding_side_surface_once() {
    #[derive(Clone, Wire)]
    struct Chat {
        #[wire(max_len = 4)]
        text: String,
        #[wire(range = 0..=9)]
        room: u8,
    }

    let chat = |text: &str, room| Chat {
        text: text.into(),
        room,
    };
    let mut buffer = [0; 8];
    assert_eq!(encode_into(&chat("abcd", 9), &mut buffer), Ok(5));
    let too_long = encode_into(&chat("abcde", 99), &mut buffer);
    assert_eq!(too_long, Err(EncodeError::TooLong));
    let out_of_range = encode_into(&chat("abcd", 10), &mut buffer);
    assert_eq!(out_of_range, Err(EncodeError::OutOfRange));
    let overflow = encode_into(&chat("abcd", 9), &mut buffer[..4]);
    assert_eq!(overflow, Err(EncodeError::Overflow));
    assert_eq!(
        encode_delta_to_vec(&chat("abcd", 10), &chat("abcd", 9)),
        Err(EncodeError::OutOfRange)
    );
}
