use crate::delta::{Step, read_step, write_step};
use crate::int::bits_for;
use crate::{BitReader, BitWriter, Codec, DecodeError, LayoutHasher, Wire};

/// Floats from `min` to `max` on a grid of equal steps, both ends included:
/// `#[wire(min = -100.0, max = 100.0, precision = 0.01)]`.
///
/// Values round to the nearest step, halves upwards; values outside become the nearest end; NaN counts as 0. All of it is
/// plain IEEE 754 double arithmetic, hence the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantised {
    min: f64,
    max: f64,
    steps: u64,
    /// Steps per unit.
    scale: f64,
    bits: u32,
    /// Whether `f32` tells neighbouring steps apart.
    suits_f32: bool,
}

impl Quantised {
    /// A grid whose steps are as wide as `precision`, or narrower where that does not divide the range. The error is half a step.
    ///
    /// # Panics
    /// If the numbers are not finite, the range is empty, or there would be more than 2⁴⁸ steps. In a constant that is a compile error.
    pub const fn new(min: f64, max: f64, precision: f64) -> Quantised {
        assert!(
            min.is_finite() && max.is_finite() && (max - min).is_finite(),
            "the ends of a float range must be finite"
        );
        assert!(min < max, "an empty range: min is not less than max");
        assert!(
            precision > 0.0 && precision.is_finite(),
            "the precision must be greater than zero"
        );
        let exact = (max - min) / precision;
        assert!(
            exact <= (1u64 << 48) as f64,
            "the precision is too fine for the range"
        );
        // 200 / 0.01 is not quite 20000, still less when the 0.01 was an f32.
        let nearest = (exact + 0.5) as u64;
        let miss = (exact - nearest as f64).abs();
        let slack = exact / (1u64 << 22) as f64;
        let steps = if nearest > 0 && miss <= slack && miss <= 0.25 {
            nearest
        } else {
            exact as u64 + 1
        };
        let step = (max - min) / steps as f64;
        let largest = if max.abs() > min.abs() {
            max.abs()
        } else {
            min.abs()
        };
        Quantised {
            min,
            max,
            steps,
            scale: steps as f64 / (max - min),
            bits: bits_for(steps),
            suits_f32: step >= largest / (1u64 << 23) as f64,
        }
    }

    /// Bits that each value takes.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Steps from `min` to `max`, one less than there are values.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The step nearest to `value`, counted from `min`.
    #[inline]
    pub const fn index(&self, value: f64) -> u64 {
        let value = if value.is_nan() { 0.0 } else { value };
        // Through i64, which processors convert faster than u64; 2⁴⁸ steps fit both.
        let index = ((value.clamp(self.min, self.max) - self.min) * self.scale + 0.5) as i64 as u64;
        if index < self.steps {
            index
        } else {
            self.steps
        }
    }

    /// The value of a step; beyond the last one, `max`.
    #[inline]
    pub const fn value(&self, index: u64) -> f64 {
        if index >= self.steps {
            return self.max;
        }
        // Multiplying first keeps the middle of a symmetric range exactly 0.
        self.min + index as i64 as f64 * (self.max - self.min) / self.steps as i64 as f64
    }

    /// What the other side will see of `value`. A simulation that is predicted there should live on these values.
    #[inline]
    pub const fn snap(&self, value: f64) -> f64 {
        self.value(self.index(value))
    }

    #[inline]
    fn write_delta(&self, index: u64, baseline: u64, w: &mut BitWriter<'_>) {
        write_step(w, index.wrapping_sub(baseline) as i64, index, self.bits);
    }

    #[inline]
    fn read(&self, r: &mut BitReader<'_>) -> Result<f64, DecodeError> {
        self.check(r.read_bits(self.bits)?)
    }

    #[inline]
    fn read_delta(&self, baseline: u64, r: &mut BitReader<'_>) -> Result<f64, DecodeError> {
        self.check(match read_step(r, self.bits)? {
            Step::Keep => baseline,
            Step::Add(by) => baseline.wrapping_add(by as u64),
            Step::Replace(index) => index,
        })
    }

    #[inline]
    fn check(&self, index: u64) -> Result<f64, DecodeError> {
        match index <= self.steps {
            true => Ok(self.value(index)),
            false => Err(DecodeError::OutOfRange),
        }
    }
}

macro_rules! quantised {
    ($($float:ident, $suits:expr;)*) => {$(
        impl Codec<$float> for Quantised {
            #[inline]
            fn encode(&self, value: &$float, w: &mut BitWriter<'_>) {
                let suits: fn(&Quantised) -> bool = $suits;
                debug_assert!(
                    suits(self),
                    "the precision is finer than f32 itself: a decoded value would encode differently"
                );
                w.write_bits(self.index(f64::from(*value)), self.bits);
            }

            #[inline]
            fn decode(&self, r: &mut BitReader<'_>) -> Result<$float, DecodeError> {
                Ok(self.read(r)? as $float)
            }

            #[inline]
            fn same(&self, value: &$float, other: &$float) -> bool {
                self.index(f64::from(*value)) == self.index(f64::from(*other))
            }

            #[inline]
            fn encode_delta(&self, value: &$float, baseline: &$float, w: &mut BitWriter<'_>) {
                self.write_delta(self.index(f64::from(*value)), self.index(f64::from(*baseline)), w);
            }

            #[inline]
            fn decode_delta(
                &self,
                baseline: &$float,
                r: &mut BitReader<'_>,
            ) -> Result<$float, DecodeError> {
                Ok(self.read_delta(self.index(f64::from(*baseline)), r)? as $float)
            }

            #[inline]
            fn min_bits(&self) -> usize {
                self.bits as usize
            }

            fn layout(&self, hasher: &mut LayoutHasher) {
                hasher.name("quantised");
                hasher.number(self.min.to_bits());
                hasher.number(self.max.to_bits());
                hasher.number(self.steps);
            }
        }

        /// All bits of the IEEE 754 number; exact, NaN included.
        impl Wire for $float {
            #[inline]
            fn encode(&self, w: &mut BitWriter<'_>) {
                self.to_bits().encode(w);
            }

            #[inline]
            fn decode(r: &mut BitReader<'_>) -> Result<Self, DecodeError> {
                Ok($float::from_bits(Wire::decode(r)?))
            }

            #[inline]
            fn same(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits()
            }

            #[inline]
            fn min_bits() -> usize {
                size_of::<$float>() * 8
            }

            fn layout(hasher: &mut LayoutHasher) {
                hasher.name(stringify!($float));
            }
        }
    )*};
}

quantised! {
    f32, |grid| grid.suits_f32;
    f64, |_| true;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_meets_both_ends_and_the_middle() {
        let grid = Quantised::new(-100.0, 100.0, 0.01);
        assert_eq!((grid.steps(), grid.bits()), (20_000, 15));
        assert_eq!(grid.value(0), -100.0);
        assert_eq!(grid.value(10_000), 0.0);
        assert_eq!(grid.value(20_000), 100.0);
        assert_eq!(grid.snap(0.014_99) as f32, 0.01);
        assert_eq!(grid.snap(-0.004_99), 0.0);
        assert_eq!(Quantised::new(0.0, 4.0, 1.0).snap(1.5), 2.0);
    }

    #[test]
    fn a_precision_that_does_not_divide_the_range_is_refined() {
        let grid = Quantised::new(0.0, 1.0, 0.3);
        assert_eq!((grid.steps(), grid.bits()), (4, 3));
        assert_eq!(Quantised::new(0.0, 1.0, 5.0).steps(), 1);
        assert_eq!(
            Quantised::new(0.0, 200.0, f64::from(0.01f32)).steps(),
            20_000
        );
    }

    #[test]
    fn nothing_leaves_the_range() {
        let grid = Quantised::new(1.0, 2.0, 0.25);
        assert_eq!(grid.snap(f64::NAN), 1.0);
        assert_eq!(grid.snap(f64::INFINITY), 2.0);
        assert_eq!(grid.snap(f64::NEG_INFINITY), 1.0);
        assert_eq!(Quantised::new(-2.0, 2.0, 0.25).snap(f64::NAN), 0.0);
        let bytes = [0b101];
        let read: Result<f32, _> = grid.decode(&mut BitReader::new(&bytes));
        assert_eq!(read, Err(DecodeError::OutOfRange));
    }

    #[test]
    fn every_step_of_an_f32_grid_encodes_as_itself() {
        for grid in [
            Quantised::new(-100.0, 100.0, 0.01),
            Quantised::new(0.1, 0.7, 0.000_01),
            Quantised::new(-3.2, 1234.5, 0.001),
            Quantised::new(-1.0, 1.0, 1.0 / f64::from(1 << 22)),
        ] {
            assert!(grid.suits_f32);
            for index in (0..=grid.steps()).step_by(7) {
                let value = grid.value(index) as f32;
                assert_eq!(grid.index(f64::from(value)), index, "{grid:?}");
            }
        }
    }

    #[test]
    fn the_finest_grid_of_f64_encodes_as_itself() {
        let grid = Quantised::new(-1.0, 1.0, 2.0 / (1u64 << 48) as f64);
        for index in (0..=grid.steps()).step_by((1 << 38) - 1) {
            assert_eq!(grid.index(grid.value(index)), index);
        }
    }

    #[test]
    #[should_panic(expected = "finer than f32")]
    #[cfg(debug_assertions)]
    fn a_grid_finer_than_f32_is_a_mistake() {
        let grid = Quantised::new(0.0, 1e6, 0.001);
        grid.encode(&1f32, &mut BitWriter::new(&mut [0; 8]));
    }
}
