//! The vectors of WIRE.md, section 1: this crate encodes to them, decodes from them, and refuses what must be refused.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

use samestep_wire::{
    BitReader, BitWriter, Codec, DecodeError, MaxLen, Plain, Quantised, Range, Varint, Wire,
};

#[derive(Clone, Debug, PartialEq, Wire)]
struct Point {
    #[wire(range = 0..=15)]
    x: u8,
    #[wire(range = 0..=15)]
    y: u8,
}

#[derive(Clone, Debug, PartialEq, Wire)]
enum Action {
    Idle,
    Jump,
    Turn(#[wire(range = 0..=359)] u16),
}

const GRID: Quantised = Quantised::new(-10.0, 10.0, 0.1);

fn vectors() -> BTreeMap<&'static str, Vec<u8>> {
    let mut v = Vectors::default();

    v.bits("bits.order", &[(1, 1), (2, 2), (0x1ff, 9)]);
    v.bits("bits.wide", &[(1, 1), (0x0123_4567_89ab_cdef, 64)]);
    v.plain("bits.u16", 0x1234u16);
    v.plain("bits.u16-unaligned", (true, 0x1234u16));
    v.plain("bits.i16", -2i16);
    v.plain("bits.bool", true);
    v.plain("bits.char", 'é');

    v.coded("bits.varint-0", &Varint, 0u64);
    v.coded("bits.varint-127", &Varint, 127u64);
    v.coded("bits.varint-128", &Varint, 128u64);
    v.coded("bits.varint-300", &Varint, 300u64);
    v.coded("bits.varint-max", &Varint, u64::MAX);
    v.coded("bits.zigzag-minus-1", &Varint, -1i64);
    v.coded("bits.zigzag-64", &Varint, 64i64);
    v.coded("bits.zigzag-min", &Varint, i64::MIN);

    v.coded("bits.range-0-100", &Range::<0, 100>, 100u8);
    v.coded("bits.range-minus-3-4", &Range::<-3, 4>, -1i32);
    v.coded("bits.range-single", &Range::<7, 7>, 7u8);
    v.coded("bits.range-i64", &WHOLE_I64, -1i64);

    v.plain("bits.f32", 1.5f32);
    v.plain("bits.f64", -0.0f64);
    v.coded("bits.float-min", &GRID, -10.0f32);
    v.coded("bits.float-zero", &GRID, 0.0f32);
    v.coded("bits.float-max", &GRID, 10.0f32);
    v.snapped("bits.float-rounded", &GRID, 1.26, 1.3);
    v.snapped("bits.float-half", &Quantised::new(0.0, 4.0, 1.0), 1.5, 2.0);
    v.snapped("bits.float-above", &GRID, 1e30, 10.0);
    v.snapped("bits.float-nan", &GRID, f32::NAN, 0.0);
    v.snapped(
        "bits.float-uneven",
        &Quantised::new(0.0, 1.0, 0.3),
        0.3,
        0.25,
    );
    v.coded("bits.vector", &GRID, [-10.0f32, 0.0, 10.0]);

    v.plain("bits.string", String::from("hé"));
    v.coded(
        "bits.string-max-8",
        &MaxLen::new(8, Plain),
        String::from("hé"),
    );
    v.plain("bits.list", vec![1u8, 2, 3]);
    let digits = MaxLen::new(3, Range::<0, 9>);
    v.coded("bits.list-max-3", &digits, vec![9u8, 0]);
    v.coded("bits.list-empty", &digits, Vec::<u8>::new());

    v.plain("bits.none", None::<u8>);
    v.plain("bits.some", Some(0xa5u8));
    v.plain("bits.array", [1u8, 2]);
    v.plain("bits.struct", Point { x: 3, y: 12 });
    v.plain("bits.enum-idle", Action::Idle);
    v.plain("bits.enum-jump", Action::Jump);
    v.plain("bits.enum-turn", Action::Turn(90));

    v.delta("bits.delta-same", &Plain, 500u16, 500);
    v.delta("bits.delta-small", &Plain, 501u16, 500);
    v.delta("bits.delta-small-minus-16", &Plain, 484u16, 500);
    v.delta("bits.delta-medium", &Plain, 517u16, 500);
    v.delta("bits.delta-whole", &Plain, 9000u16, 500);
    v.delta("bits.delta-wraps", &Plain, 1u16, 65535);
    v.delta("bits.delta-range-narrow", &Range::<0, 31>, 6u8, 5);
    v.delta("bits.delta-range", &Range::<-1000, 1000>, 4i16, 7);
    v.delta("bits.delta-range-single", &Range::<7, 7>, 7u8, 7);
    v.delta("bits.delta-varint", &Varint, 1001u32, 1000);
    v.delta("bits.delta-float", &GRID, 0.5f32, 0.0);
    v.delta("bits.delta-float-same-step", &GRID, 0.0f32, 0.01);
    v.delta("bits.delta-f32", &Plain, 1.5f32, 1.0);
    v.delta("bits.delta-bool", &Plain, false, true);
    v.delta(
        "bits.delta-string",
        &Plain,
        String::from("b"),
        String::from("a"),
    );
    v.delta("bits.delta-none-to-some", &Plain, Some(1u8), None);
    v.delta("bits.delta-some-to-none", &Plain, None, Some(1u8));
    v.delta("bits.delta-some-to-some", &Plain, Some(2u8), Some(1));
    v.delta("bits.delta-list", &digits, vec![9u8, 1], vec![9, 0]);
    v.delta(
        "bits.delta-list-longer",
        &digits,
        vec![9u8, 0, 5],
        vec![9, 0],
    );
    v.delta("bits.delta-list-shorter", &digits, vec![9u8], vec![9, 0]);
    v.delta("bits.delta-array-1", &Plain, [501u16], [500]);
    v.delta(
        "bits.delta-struct",
        &Plain,
        Point { x: 3, y: 13 },
        Point { x: 3, y: 12 },
    );
    v.delta(
        "bits.delta-enum-from-unit",
        &Plain,
        Action::Turn(90),
        Action::Idle,
    );
    v.delta(
        "bits.delta-enum-other",
        &Plain,
        Action::Jump,
        Action::Turn(90),
    );
    v.delta(
        "bits.delta-enum-fields",
        &Plain,
        Action::Turn(91),
        Action::Turn(90),
    );
    v.0
}

/// The name, how to read it, and the error that must come of it.
type Refused = (&'static str, fn(&[u8]) -> Option<DecodeError>, DecodeError);

const REFUSED: [Refused; 9] = [
    (
        "bits.truncated",
        |b| refusal::<u16, _>(&Plain, b),
        DecodeError::Truncated,
    ),
    (
        "bits.varint-overlong",
        |b| refusal::<u64, _>(&Varint, b),
        DecodeError::Overlong,
    ),
    (
        "bits.varint-65-bits",
        |b| refusal::<u64, _>(&Varint, b),
        DecodeError::Overlong,
    ),
    (
        "bits.range-exceeded",
        |b| refusal::<u8, _>(&Range::<0, 100>, b),
        DecodeError::OutOfRange,
    ),
    (
        "bits.float-exceeded",
        |b| refusal::<f32, _>(&GRID, b),
        DecodeError::OutOfRange,
    ),
    (
        "bits.list-too-long",
        |b| refusal::<Vec<()>, _>(&MaxLen::new(4, Plain), b),
        DecodeError::TooLong,
    ),
    (
        "bits.list-beyond-input",
        |b| refusal::<Vec<u64>, _>(&Plain, b),
        DecodeError::Truncated,
    ),
    (
        "bits.string-not-utf8",
        |b| refusal::<String, _>(&MaxLen::new(8, Plain), b),
        DecodeError::BadUtf8,
    ),
    (
        "bits.enum-unknown",
        |b| refusal::<Action, _>(&Plain, b),
        DecodeError::UnknownVariant,
    ),
];

const WHOLE_I64: Range<{ i64::MIN as i128 }, { i64::MAX as i128 }> = Range;

#[derive(Default)]
struct Vectors(BTreeMap<&'static str, Vec<u8>>);

impl Vectors {
    fn add(&mut self, name: &'static str, write: impl Fn(&mut BitWriter<'_>)) -> Vec<u8> {
        let mut buffer = [0; 64];
        let mut w = BitWriter::new(&mut buffer);
        write(&mut w);
        let len = w.finish().expect(name);
        assert!(self.0.insert(name, buffer[..len].to_vec()).is_none());
        buffer[..len].to_vec()
    }

    fn bits(&mut self, name: &'static str, fields: &[(u64, u32)]) {
        let bytes = self.add(name, |w| {
            for &(value, bits) in fields {
                w.write_bits(value, bits);
            }
        });
        let mut r = BitReader::new(&bytes);
        for &(value, bits) in fields {
            assert_eq!(r.read_bits(bits), Ok(value), "{name}");
        }
        r.finish().expect(name);
    }

    fn plain<T: Wire + PartialEq + Debug>(&mut self, name: &'static str, value: T) {
        self.coded(name, &Plain, value);
    }

    fn coded<T: PartialEq + Debug>(&mut self, name: &'static str, codec: &impl Codec<T>, value: T) {
        let bytes = self.add(name, |w| codec.encode(&value, w));
        let mut r = BitReader::new(&bytes);
        assert_eq!(codec.decode(&mut r), Ok(value), "{name}");
        r.finish().expect(name);
    }

    /// A float that does not lie on the grid arrives as one that does.
    fn snapped(&mut self, name: &'static str, grid: &Quantised, value: f32, arrives: f32) {
        let bytes = self.add(name, |w| grid.encode(&value, w));
        assert_eq!(
            grid.decode(&mut BitReader::new(&bytes)),
            Ok(arrives),
            "{name}"
        );
    }

    fn delta<T: Debug>(
        &mut self,
        name: &'static str,
        codec: &impl Codec<T>,
        value: T,
        baseline: T,
    ) {
        let bytes = self.add(name, |w| codec.encode_delta(&value, &baseline, w));
        let mut r = BitReader::new(&bytes);
        let decoded = codec.decode_delta(&baseline, &mut r).expect(name);
        assert!(codec.same(&decoded, &value), "{name}: {decoded:?}");
        r.finish().expect(name);
    }
}

fn refusal<T, C: Codec<T>>(codec: &C, bytes: &[u8]) -> Option<DecodeError> {
    codec.decode(&mut BitReader::new(bytes)).err()
}

/// The lines `name = hex # remark` of all fenced blocks of a kind, as far as they are of section 1.
fn documented(kind: &str) -> BTreeMap<String, Vec<u8>> {
    let text = std::fs::read_to_string("../../WIRE.md")
        .expect("WIRE.md lies at the root of the workspace");
    let mut found = BTreeMap::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            inside = !inside && fence == kind;
            continue;
        }
        let entry = line.split('#').next().unwrap_or_default();
        if inside
            && let Some((name, hex)) = entry.split_once('=')
            && name.starts_with("bits.")
        {
            let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            let byte = |pair: &[u8]| {
                let pair = std::str::from_utf8(pair).expect(line);
                u8::from_str_radix(pair, 16).expect(line)
            };
            let bytes = digits.chunks(2).map(byte).collect();
            let earlier = found.insert(name.trim().to_string(), bytes);
            assert!(earlier.is_none(), "twice: {line}");
        }
    }
    found
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

#[test]
fn encodings_are_those_of_the_standard() {
    let documented = documented("vectors");
    let mut wrong = String::new();
    for (name, bytes) in &vectors() {
        if documented.get(*name) != Some(bytes) {
            writeln!(wrong, "{name} = {}", hex(bytes)).expect("a string takes everything");
        }
    }
    assert_eq!(wrong, "", "WIRE.md says otherwise about these");
    let vectors = vectors();
    for name in documented.keys() {
        assert!(vectors.contains_key(name.as_str()), "{name} is not tested");
    }
}

#[test]
fn what_the_standard_refuses_is_refused() {
    let documented = documented("refused");
    for (name, read, error) in REFUSED {
        let bytes = documented.get(name).expect(name);
        assert_eq!(read(bytes), Some(error), "{name}");
    }
    assert_eq!(documented.len(), REFUSED.len(), "some are not tested");
}
