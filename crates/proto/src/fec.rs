//! Forward error correction: a sliding-window random linear code over GF(256), as in RFC 8681 (RLC).
//!
//! It departs from the RFC in its pseudo-random coefficients, which a hash of repair key and segment number yields, and in
//! its window, which the sender moves with what is unacknowledged instead of announcing it.
//!
//! A *repair* is a linear combination of consecutive segments. One repair replaces any one missing segment of its
//! range, two replace any two, and so on; which ones were lost need not be known when it is sent.

/// Most segments a repair may span; the decoder keeps as many past segments.
pub const MAX_SPAN: usize = 32;
/// Repairs a decoder holds while they wait for more.
const MAX_ROWS: usize = 24;
/// Columns of the decoder's matrix: spans of waiting rows lie within two windows.
const COLUMNS: usize = 2 * MAX_SPAN;

const POLYNOMIAL: u16 = 0x11d;

/// Products of all pairs: a row per coefficient, so that scaling a slice is one lookup per byte.
static PRODUCTS: [[u8; 256]; 256] = products();

const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0u8; 256]; 256];
    let mut a = 0;
    while a < 256 {
        let mut b = 0;
        while b < 256 {
            let (mut x, mut y, mut product) = (a as u16, b as u16, 0u16);
            while y != 0 {
                if y & 1 != 0 {
                    product ^= x;
                }
                x <<= 1;
                if x & 0x100 != 0 {
                    x ^= POLYNOMIAL;
                }
                y >>= 1;
            }
            table[a][b] = product as u8;
            b += 1;
        }
        a += 1;
    }
    table
}

/// Reciprocals; that of 0 is unused.
static RECIPROCALS: [u8; 256] = reciprocals();

const fn reciprocals() -> [u8; 256] {
    let table = products();
    let mut inverse = [0u8; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            if table[a][b] == 1 {
                inverse[a] = b as u8;
            }
            b += 1;
        }
        a += 1;
    }
    inverse
}

/// The factor of segment `seq` in the repair with this key: never 0.
pub fn coefficient(key: u8, seq: u32) -> u8 {
    let mut x = seq.wrapping_mul(0x9e37_79b1) ^ u32::from(key).wrapping_mul(0x85eb_ca6b);
    x ^= x >> 15;
    x = x.wrapping_mul(0x2c1b_3c6d);
    x ^= x >> 13;
    (x % 255) as u8 + 1
}

/// `into += factor · from`, where `from` may be shorter.
fn add_scaled(into: &mut [u8], factor: u8, from: &[u8]) {
    let row = &PRODUCTS[usize::from(factor)];
    for (d, s) in into.iter_mut().zip(from) {
        *d ^= row[usize::from(*s)];
    }
}

fn scale(data: &mut [u8], factor: u8) {
    let row = &PRODUCTS[usize::from(factor)];
    for d in data {
        *d = row[usize::from(*d)];
    }
}

/// Adds a segment, with its length in front, to a combination.
fn add_segment(into: &mut [u8], factor: u8, segment: &[u8]) {
    let length = (segment.len() as u16).to_le_bytes();
    add_scaled(&mut into[..2], factor, &length);
    add_scaled(&mut into[2..], factor, segment);
}

/// Bytes of a repair over segments of which the longest has `longest` bytes.
pub fn repair_len(longest: usize) -> usize {
    longest + 2
}

/// Combines `segments`, the first of which is `first`, into `out` of `repair_len` bytes.
pub fn combine<'a>(key: u8, first: u32, segments: impl Iterator<Item = &'a [u8]>, out: &mut [u8]) {
    out.fill(0);
    for (seq, segment) in (first..).zip(segments) {
        add_segment(out, coefficient(key, seq), segment);
    }
}

/// A repair that still has more than one unknown segment.
#[derive(Debug)]
struct Row {
    /// Factor of segment `seq` at `seq % COLUMNS`; 0 for those known.
    factors: [u8; COLUMNS],
    /// The newest segment with a factor: all others lie within `COLUMNS` below it.
    newest: u32,
    /// The column this row alone has, with a factor of 1.
    pivot: usize,
    data: Vec<u8>,
}

impl Row {
    fn column(seq: u32) -> usize {
        seq as usize % COLUMNS
    }

    /// The only unknown, if there is but one.
    fn single(&self) -> Option<u32> {
        let mut found = None;
        for back in 0..COLUMNS as u32 {
            let seq = self.newest.wrapping_sub(back);
            if self.factors[Self::column(seq)] != 0 {
                if found.is_some() {
                    return None;
                }
                found = Some(seq);
            }
        }
        found
    }

    /// The oldest unknown.
    fn oldest(&self) -> Option<u32> {
        (0..COLUMNS as u32)
            .rev()
            .map(|back| self.newest.wrapping_sub(back))
            .find(|&seq| self.factors[Self::column(seq)] != 0)
    }

    /// `self += factor · other`.
    fn add(&mut self, factor: u8, other: &Row) {
        if other.data.len() > self.data.len() {
            self.data.resize(other.data.len(), 0);
        }
        add_scaled(&mut self.data, factor, &other.data);
        add_scaled(&mut self.factors, factor, &other.factors);
        self.newest = later(self.newest, other.newest);
    }
}

/// The later of two numbers that wrap.
fn later(a: u32, b: u32) -> u32 {
    if b.wrapping_sub(a) as i32 > 0 { b } else { a }
}

/// Collects repairs until they can be solved.
#[derive(Debug, Default)]
pub struct Decoder {
    rows: Vec<Row>,
    spare: Vec<Row>,
}

impl Decoder {
    /// Takes a repair over `count` segments from `first`. `known` gives a segment's bytes if it has been received;
    /// `None` for those missing. The caller makes sure that everything older than the missing is known.
    /// Returns the restored segment if the repair had a single unknown or completed a solution.
    pub fn insert<'a>(
        &mut self,
        key: u8,
        first: u32,
        count: usize,
        data: &[u8],
        known: impl Fn(u32) -> Option<&'a [u8]>,
    ) {
        debug_assert!(count <= MAX_SPAN);
        let mut row = self.spare.pop().unwrap_or_else(|| Row {
            factors: [0; COLUMNS],
            newest: 0,
            pivot: 0,
            data: Vec::new(),
        });
        row.factors.fill(0);
        row.data.clear();
        row.data.extend_from_slice(data);
        row.newest = first.wrapping_add(count as u32).wrapping_sub(1);
        let mut unknown = 0;
        for seq in (0..count as u32).map(|i| first.wrapping_add(i)) {
            let factor = coefficient(key, seq);
            match known(seq) {
                Some(segment) if repair_len(segment.len()) <= data.len() => {
                    add_segment(&mut row.data, factor, segment)
                }
                // A segment longer than the repair that claims to cover it: nonsense.
                Some(_) => {
                    self.spare.push(row);
                    return;
                }
                None => {
                    row.factors[Row::column(seq)] = factor;
                    unknown += 1;
                }
            }
        }
        if unknown == 0 {
            self.spare.push(row);
            return;
        }
        self.eliminate(row);
    }

    /// Brings a row into the reduced matrix.
    fn eliminate(&mut self, mut row: Row) {
        // Rows that reach too far back share columns with newer segments: give them up.
        let newest = self
            .rows
            .iter()
            .map(|other| other.newest)
            .fold(row.newest, later);
        let behind = |row: &Row| {
            row.oldest()
                .is_some_and(|oldest| newest.wrapping_sub(oldest) >= COLUMNS as u32)
        };
        if behind(&row) {
            self.spare.push(row);
            return;
        }
        self.forget(behind);
        for i in 0..self.rows.len() {
            let factor = row.factors[self.rows[i].pivot];
            if factor != 0 {
                row.add(factor, &self.rows[i]);
            }
        }
        let Some(pivot) = row.factors.iter().position(|f| *f != 0) else {
            self.spare.push(row);
            return;
        };
        let inverse = RECIPROCALS[usize::from(row.factors[pivot])];
        scale(&mut row.factors, inverse);
        scale(&mut row.data, inverse);
        row.pivot = pivot;
        for other in &mut self.rows {
            let factor = other.factors[pivot];
            if factor != 0 {
                other.add(factor, &row);
            }
        }
        if self.rows.len() == MAX_ROWS {
            let oldest = self.rows.remove(0);
            self.spare.push(oldest);
        }
        self.rows.push(row);
    }

    /// A segment became known: takes it out of the waiting rows.
    pub fn on_known(&mut self, seq: u32, segment: &[u8]) {
        let column = Row::column(seq);
        let mut i = 0;
        let mut unsettled = 0;
        while i < self.rows.len() - unsettled {
            let row = &mut self.rows[i];
            let factor = row.factors[column];
            if factor == 0 || row.newest.wrapping_sub(seq) >= COLUMNS as u32 {
                i += 1;
                continue;
            }
            row.factors[column] = 0;
            if repair_len(segment.len()) > row.data.len() {
                row.data.resize(repair_len(segment.len()), 0);
            }
            add_segment(&mut row.data, factor, segment);
            if row.pivot == column {
                // Without its pivot the row must find its place anew.
                let row = self.rows.remove(i);
                self.rows.push(row);
                unsettled += 1;
            } else {
                i += 1;
            }
        }
        for _ in 0..unsettled {
            if let Some(row) = self.rows.pop() {
                self.eliminate(row);
            }
        }
    }

    /// Takes out a segment that can be restored now, into `out`. Call until `None`.
    pub fn poll_restored(&mut self, out: &mut Vec<u8>) -> Option<u32> {
        let mut i = 0;
        while i < self.rows.len() {
            let Some(seq) = self.rows[i].single() else {
                i += 1;
                continue;
            };
            let mut row = self.rows.remove(i);
            let inverse = RECIPROCALS[usize::from(row.factors[Row::column(seq)])];
            scale(&mut row.data, inverse);
            let length = usize::from(u16::from_le_bytes([row.data[0], row.data[1]]));
            out.clear();
            let whole = row.data.get(2..2 + length);
            let found = whole.map(|bytes| out.extend_from_slice(bytes));
            self.spare.push(row);
            if found.is_some() {
                return Some(seq);
            }
        }
        None
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.rows
            .iter()
            .chain(&self.spare)
            .map(|r| r.data.capacity() + COLUMNS)
            .sum()
    }

    fn forget(&mut self, which: impl Fn(&Row) -> bool) {
        let mut i = 0;
        while i < self.rows.len() {
            if which(&self.rows[i]) {
                let row = self.rows.remove(i);
                self.spare.push(row);
            } else {
                i += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(n: usize) -> Vec<Vec<u8>> {
        (0..n)
            .map(|i| {
                (0..20 + i * 7 % 50)
                    .map(|b| (b * 31 + i * 17) as u8)
                    .collect()
            })
            .collect()
    }

    fn repair(key: u8, first: usize, all: &[Vec<u8>], count: usize) -> Vec<u8> {
        let covered = &all[first..first + count];
        let mut out = vec![0; repair_len(covered.iter().map(Vec::len).max().unwrap())];
        combine(
            key,
            first as u32,
            covered.iter().map(Vec::as_slice),
            &mut out,
        );
        out
    }

    #[test]
    fn reciprocals_invert() {
        for a in 1..=255u8 {
            assert_eq!(
                PRODUCTS[usize::from(a)][usize::from(RECIPROCALS[usize::from(a)])],
                1
            );
        }
    }

    #[test]
    fn coding_is_as_the_standard_says() {
        let coefficients: Vec<u8> = (0..4).map(|seq| coefficient(1, seq)).collect();
        assert_eq!(
            crate::golden::hex(&coefficients),
            crate::golden::vector("coding.coefficients")
        );
        let mut repair = [0; 4];
        combine(7, 5, [&b"a"[..], b"bc"].into_iter(), &mut repair);
        assert_eq!(
            crate::golden::hex(&repair),
            crate::golden::vector("coding.repair")
        );
    }

    #[test]
    fn one_repair_restores_any_one() {
        let all = segments(12);
        for lost in 0..12u32 {
            let mut decoder = Decoder::default();
            let data = repair(9, 0, &all, 12);
            decoder.insert(9, 0, 12, &data, |s| {
                (s != lost).then(|| all[s as usize].as_slice())
            });
            let mut out = Vec::new();
            assert_eq!(decoder.poll_restored(&mut out), Some(lost));
            assert_eq!(out, all[lost as usize]);
        }
    }

    #[test]
    fn as_many_repairs_as_losses_suffice_whatever_their_spans() {
        let all = segments(20);
        for seed in 0..200u32 {
            let losses = 1 + seed as usize % 5;
            let lost: Vec<u32> = (0..losses)
                .map(|i| 6 + (seed * 7 + i as u32 * 3) % 8)
                .collect();
            let mut distinct = lost.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let mut decoder = Decoder::default();
            let mut restored = std::collections::BTreeMap::new();
            let mut out = Vec::new();
            // One repair more than needed allows for the rare dependent combination.
            for k in 0..distinct.len() + 1 {
                let (first, count) = (k, 14);
                let data = repair((seed as u8).wrapping_add(k as u8), first, &all, count);
                let known = |s: u32| {
                    (!distinct.contains(&s) || restored.contains_key(&s))
                        .then(|| all[s as usize].as_slice())
                };
                decoder.insert(
                    (seed as u8).wrapping_add(k as u8),
                    first as u32,
                    count,
                    &data,
                    known,
                );
                while let Some(seq) = decoder.poll_restored(&mut out) {
                    restored.insert(seq, out.clone());
                    decoder.on_known(seq, &out);
                }
            }
            for seq in &distinct {
                assert_eq!(restored.get(seq), Some(&all[*seq as usize]), "seed {seed}");
            }
        }
    }

    #[test]
    fn late_segment_unlocks_waiting_repair() {
        let all = segments(10);
        let mut decoder = Decoder::default();
        let data = repair(1, 0, &all, 10);
        decoder.insert(1, 0, 10, &data, |s| {
            (s != 3 && s != 7).then(|| all[s as usize].as_slice())
        });
        let mut out = Vec::new();
        assert_eq!(decoder.poll_restored(&mut out), None);
        decoder.on_known(7, &all[7]);
        assert_eq!(decoder.poll_restored(&mut out), Some(3));
        assert_eq!(out, all[3]);
    }

    #[test]
    fn a_late_repair_does_not_meet_newer_ones() {
        let all = segments(130);
        let mut decoder = Decoder::default();
        let known = |lost: [u32; 2]| {
            let all = &all;
            move |s: u32| (!lost.contains(&s)).then(|| all[s as usize].as_slice())
        };
        decoder.insert(1, 100, 12, &repair(1, 100, &all, 12), known([101, 105]));
        // Segments 37 and 41 would share the columns of 101 and 105.
        for key in 2..5 {
            decoder.insert(key, 30, 12, &repair(key, 30, &all, 12), known([37, 41]));
        }
        let mut out = Vec::new();
        while let Some(seq) = decoder.poll_restored(&mut out) {
            assert_eq!(out, all[seq as usize]);
        }
        decoder.insert(9, 100, 12, &repair(9, 100, &all, 12), known([101, 105]));
        let mut restored = Vec::new();
        while let Some(seq) = decoder.poll_restored(&mut out) {
            assert_eq!(out, all[seq as usize]);
            restored.push(seq);
            decoder.on_known(seq, &out);
        }
        restored.sort_unstable();
        assert_eq!(restored, [101, 105]);
    }

    #[test]
    fn nonsense_is_harmless() {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        for i in 0..2000u32 {
            let data: Vec<u8> = (0..2 + i % 90).map(|b| (b * i) as u8).collect();
            decoder.insert(
                i as u8,
                i.wrapping_mul(5),
                1 + i as usize % MAX_SPAN,
                &data,
                |s| (s % 3 == 0).then_some(&[1u8, 2, 3][..]),
            );
            while decoder.poll_restored(&mut out).is_some() {}
            decoder.on_known(i * 4, &[7; 100]);
        }
        assert!(decoder.rows.len() <= MAX_ROWS);
    }
}
