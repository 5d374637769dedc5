//! Misuse of the derive that must not compile. These are tests of the documentation because only those may fail to compile.

/// Misuse of `#[derive(Wire)]`.
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(rang = 0..=100)] u8);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(min = 0)] u8);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(range = 0..100)] u8);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(range = 0.0..=1.0)] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(precision = 0.1)] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(range = 1.0..=0.0, precision = 0.1)] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(range = 0..=100)] String);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(max_len = 3)] u8);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(range = 0..=256)] u8);
///
/// samestep_wire::encode_to_vec(&Player(0));
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// struct Player(#[wire(skip, max_len = 3)] String);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_wire::Wire)]
/// enum Never {}
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, samestep_wire::Wire)]
/// union Either { a: u8, b: i8 }
/// ```
mod wire {}
