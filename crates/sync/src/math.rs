//! Mathematics that gives the same bits everywhere.
//!
//! Addition, subtraction, multiplication, division and square roots of floats are the same wherever Rust compiles them.
//! Sines, powers, logarithms are not: the methods of `f32` call whatever library the system has. These do not. Games should
//! use nothing else; the lints in `games/clippy.toml` see to it.
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

            /// Sine and cosine of an angle in radians.
            #[inline]
            pub fn sin_cos(x: f64) -> (f64, f64) {
                libm::sincos(x)
            }

            /// `x` to a whole power.
            pub fn powi(x: f64, n: i32) -> f64 {
                let (mut base, mut n, mut power) = (if n < 0 { 1.0 / x } else { x }, n.unsigned_abs(), 1.0);
                while n > 0 {
                    if n & 1 == 1 {
                        power *= base;
                    }
                    base *= base;
                    n >>= 1;
                }
                power
            }
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

/// Sine and cosine of an angle in radians.
#[inline]
pub fn sin_cos(x: f32) -> (f32, f32) {
    libm::sincosf(x)
}

/// `x` to a whole power.
pub fn powi(x: f32, n: i32) -> f32 {
    let (mut base, mut n, mut power) = (if n < 0 { 1.0 / x } else { x }, n.unsigned_abs(), 1.0);
    while n > 0 {
        if n & 1 == 1 {
            power *= base;
        }
        base *= base;
        n >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_no_platform_may_change() {
        assert_eq!(sin(0.5).to_bits(), 0x3ef5_7744);
        assert_eq!(cos(0.5).to_bits(), 0x3f60_a940);
        assert_eq!(powi(2.0, -3), 0.125);
        assert_eq!(powi(3.0, 5), 243.0);
        assert_eq!(double::powi(-2.0, 3), -8.0);
        assert_eq!(sqrt(2.0).to_bits(), 2f32.to_bits() - 0x004a_fb0d);
    }
}
