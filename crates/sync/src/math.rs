//! Mathematics that gives the same bits everywhere.
//!
//! Addition, subtraction, multiplication, division, square roots and `clamp` of floats are the same wherever Rust compiles them.
//! Others are not: sines, powers and logarithms of `f32` call whatever library the system has, and of 0.0 and −0.0
//! its `min` and `max` take either. These here do not differ. Games should use nothing else.
//!
//! # Lints
//!
//! `games/clippy.toml` forbids what makes copies of a game drift apart: those methods, containers in the order of hashes,
//! clocks, threads, and cells that hide state from its description. Clippy finds it from every game below that folder; copy it
//! beside the `Cargo.toml` of your own. What it cannot see, [`sync_test`](crate::sync_test()) finds.
//!
//! One trap is left to the game: what is no number (0 divided by 0) has other bits on other processors, so none may
//! enter the state.
//!
//! ```
//! use samestep_sync::math;
//!
//! let (sin, cos) = math::sin_cos(1.0);
//! assert_eq!(sin.to_bits(), 0x3f57_6aa4);
//! assert_eq!(math::atan2(sin, cos), 1.0);
//! assert_eq!(math::hypot(3.0, 4.0), 5.0);
//! ```

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),+) = $function:ident / $function64:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name($($argument: f32),+) -> f32 {
                libm::$function($($argument),+)
            }
        )*

        /// The same for `f64`.
        pub mod double {
            $(
                $(#[$doc])*
                #[inline]
                pub fn $name($($argument: f64),+) -> f64 {
                    libm::$function64($($argument),+)
                }
            )*

            by_operators!(f64, sincos);
        }
    };
}

macro_rules! by_operators {
    ($float:ty, $sincos:ident) => {
        /// Sine and cosine of an angle in radians.
        #[inline]
        pub fn sin_cos(x: $float) -> ($float, $float) {
            libm::$sincos(x)
        }

        /// `x` to a whole power.
        pub fn powi(x: $float, n: i32) -> $float {
            let mut base = if n < 0 { 1.0 / x } else { x };
            let (mut n, mut power) = (n.unsigned_abs(), 1.0);
            while n > 0 {
                if n & 1 == 1 {
                    power *= base;
                }
                base *= base;
                n >>= 1;
            }
            power
        }

        /// The less of the two; `b` if they are equal, or if one is no number.
        #[inline(always)]
        pub const fn min(a: $float, b: $float) -> $float {
            if a < b { a } else { b }
        }

        /// The greater of the two; `b` if they are equal, or if one is no number.
        #[inline(always)]
        pub const fn max(a: $float, b: $float) -> $float {
            if a > b { a } else { b }
        }
    };
}

functions! {
    /// Sine of an angle in radians.
    sin(x) = sinf / sin;
    /// Cosine of an angle in radians.
    cos(x) = cosf / cos;
    /// Tangent of an angle in radians.
    tan(x) = tanf / tan;
    /// Angle whose sine is `x`.
    asin(x) = asinf / asin;
    /// Angle whose cosine is `x`.
    acos(x) = acosf / acos;
    /// Angle whose tangent is `x`.
    atan(x) = atanf / atan;
    /// Angle of the point (`x`, `y`), from −π to π.
    atan2(y, x) = atan2f / atan2;
    /// Hyperbolic sine.
    sinh(x) = sinhf / sinh;
    /// Hyperbolic cosine.
    cosh(x) = coshf / cosh;
    /// Hyperbolic tangent.
    tanh(x) = tanhf / tanh;
    /// Square root.
    sqrt(x) = sqrtf / sqrt;
    /// Cubic root.
    cbrt(x) = cbrtf / cbrt;
    /// Length of the vector (`x`, `y`).
    hypot(x, y) = hypotf / hypot;
    /// `e` to the power of `x`.
    exp(x) = expf / exp;
    /// 2 to the power of `x`.
    exp2(x) = exp2f / exp2;
    /// Natural logarithm.
    ln(x) = logf / log;
    /// Logarithm to the base 2.
    log2(x) = log2f / log2;
    /// Logarithm to the base 10.
    log10(x) = log10f / log10;
    /// `x` to the power of `y`.
    pow(x, y) = powf / pow;
    /// The largest whole number that is not greater.
    floor(x) = floorf / floor;
    /// The smallest whole number that is not less.
    ceil(x) = ceilf / ceil;
    /// The nearest whole number; halves go away from zero.
    round(x) = roundf / round;
    /// What is left of the point.
    trunc(x) = truncf / trunc;
    /// The remainder of a division, with the sign of `x`.
    fmod(x, y) = fmodf / fmod;
}

by_operators!(f32, sincosf);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_no_platform_may_change() {
        assert_eq!(sin(0.5).to_bits(), 0x3ef5_7744);
        assert_eq!(cos(0.5).to_bits(), 0x3f60_a940);
        assert_eq!(min(0.0, -0.0).to_bits(), (-0f32).to_bits());
        assert_eq!(max(-0.0, 0.0).to_bits(), 0);
        assert_eq!((double::min(2.0, 1.0), double::max(2.0, 1.0)), (1.0, 2.0));
        assert_eq!(powi(2.0, -3), 0.125);
        assert_eq!(powi(3.0, 5), 243.0);
        assert_eq!(double::powi(-2.0, 3), -8.0);
        assert_eq!(sqrt(2.0).to_bits(), 2f32.to_bits() - 0x004a_fb0d);
    }
}
