//! Misuse of the derives that must not compile. These are tests of the documentation because only those may fail to compile.

/// Misuse of `#[derive(Record)]`.
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(usize);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(Vec<u8>);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(max_len = 4)] u8);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(max_len = 4, with = samestep_sync::Bounded<4>)] String);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank<'a>(&'a u8);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank { armour: u8, #[field(skip)] drawn: bool }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(blend = "cubic")] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(range(0.0))] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(precision = 0.1)] f32);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// struct Tank(#[field(range(9, 3))] u8);
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Record)]
/// enum Never {}
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, samestep_sync::Record)]
/// union Either { a: u8, b: i8 }
/// ```
mod record {}

/// Misuse of `#[derive(Replicate)]`.
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { winner: Option<String> }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { winners: Vec<String> }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { #[field(with = samestep_sync::Plain)] took: std::time::Duration }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { cars: std::collections::HashMap<u32, (f32, f32)> }
/// ```
///
/// ```compile_fail
/// #[derive(Clone)]
/// struct Scratch;
///
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { laps: u8, #[replicate(skip)] scratch: Scratch }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { #[field(range(0, 9))] laps: u8 }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// enum Race { Begun(u8) }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race<T> { laps: T }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, samestep_sync::Replicate)]
/// struct Race { #[replicate(skip)] laps: u8 }
/// ```
mod replicate {}

/// Misuse of `#[derive(SharedFields)]`.
///
/// ```compile_fail
/// #[derive(samestep_sync::SharedFields)]
/// struct Race {
///     laps: samestep_sync::Synced<u8>,
///     camera: (f32, f32),
/// }
/// ```
mod shared_fields {}
