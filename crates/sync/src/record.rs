//! Records: fixed sets of fields, as cells of 64 bits.

use crate::digest::Digest;
use crate::id::{PeerId, PlayerId};
use crate::input::Tick;

mod describe;

pub use describe::{Blend, CellKind, Describe, Field, Holds, Shown, When};

/// A value of a fixed number of cells: a number, an entity, or part of one.
///
/// Derive it with [`#[derive(Record)]`](derive@crate::Record). Numbers, `bool`, ids, options, boxes, arrays, tuples,
/// [`List`](crate::List) and [`Text`](crate::Text) are records as well. What grows (`String`, `Vec`, `VecDeque`, `BTreeMap`, `BTreeSet`) takes cells
/// for its greatest length, which `#[field(max_len = 16)]` says; types of other crates are converted by `#[field(with = …)]`
/// ([`FieldWith`](crate::FieldWith)). Records that are `Copy` are saved fastest.
///
/// A cell holds an unsigned number as it is, a signed one with its sign extended, a float by its bits; so nothing is
/// lost, not even the payload of a NaN.
///
/// By hand it is written like this:
///
/// ```
/// use samestep_sync::{CellKind, Describe, Digest, InvalidCell, Record};
///
/// /// Minutes of a day.
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Time(u16);
///
/// impl Record for Time {
///     const CELLS: usize = 1;
///
///     fn describe(into: &mut Describe) {
///         into.cell(CellKind::Unsigned);
///     }
///
///     fn store(&self, cells: &mut [u64]) {
///         cells[0] = self.0.into();
///     }
///
///     fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
///         match cells[0] {
///             minutes @ 0..1440 => Ok(Time(minutes as u16)),
///             _ => Err(InvalidCell::FIRST),
///         }
///     }
///
///     fn digest(&self, digest: &mut Digest) {
///         digest.push(self.0.into(), 16);
///     }
/// }
///
/// let mut cells = [0; 2];
/// (Time(600), true).store(&mut cells);
/// assert_eq!(cells, [600, 1]);
/// assert_eq!(<(Time, bool)>::load(&[1440, 1]), Err(InvalidCell(0)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    label = "has no fixed set of cells",
    note = "derive `Record` for your own structs and enums; for `String`, `Vec`, `VecDeque`, `BTreeMap` and `BTreeSet`, say how long they become: `#[field(max_len = 16)]`; for a type of another crate, name a conversion: `#[field(with = Conversion)]` with `impl FieldWith<Type> for Conversion`; instead of `usize` and `isize`, which differ between machines, use `u32` or `i64`; instead of `HashMap`, whose order differs, use `BTreeMap` or `Entities`"
)]
pub trait Record: Clone + 'static {
    /// How many cells a value takes.
    const CELLS: usize;

    /// Describes the cells, in their order.
    fn describe(into: &mut Describe);

    /// Writes all cells; `cells` are exactly [`CELLS`](Self::CELLS).
    fn store(&self, cells: &mut [u64]);

    /// Reads what [`store`](Self::store) wrote. The error names a cell whose value is invalid.
    fn load(cells: &[u64]) -> Result<Self, InvalidCell>;

    /// Folds the value into a checksum.
    fn digest(&self, digest: &mut Digest);
}

/// A cell whose value is invalid for its type, counted from the first of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidCell(pub usize);

impl InvalidCell {
    /// The first cell.
    pub const FIRST: InvalidCell = InvalidCell(0);

    /// The same cell, counted from the first of a record in which `cells` others come before.
    #[must_use]
    pub const fn after(self, cells: usize) -> InvalidCell {
        InvalidCell(self.0 + cells)
    }
}

macro_rules! by_cell {
    ($($type:ty: $kind:ident, $bits:literal, |$value:ident| $to:expr, |$cell:ident| $from:expr;)*) => {$(
        impl $crate::Record for $type {
            const CELLS: usize = 1;

            fn describe(into: &mut $crate::Describe) {
                into.cell_of_bits($crate::CellKind::$kind, $bits);
            }

            #[inline(always)]
            fn store(&self, cells: &mut [u64]) {
                let $value = *self;
                cells[0] = $to;
            }

            #[inline(always)]
            fn load(cells: &[u64]) -> Result<Self, $crate::InvalidCell> {
                let $cell = cells[0];
                $from.ok_or($crate::InvalidCell::FIRST)
            }

            #[inline(always)]
            fn digest(&self, digest: &mut $crate::Digest) {
                let $value = *self;
                // The bits of an extended sign are left out.
                digest.push($to & (u64::MAX >> (64 - $bits)), $bits);
            }
        }
    )*};
}
pub(crate) use by_cell;

by_cell! {
    u8: Unsigned, 8, |value| u64::from(value), |cell| u8::try_from(cell).ok();
    u16: Unsigned, 16, |value| u64::from(value), |cell| u16::try_from(cell).ok();
    u32: Unsigned, 32, |value| u64::from(value), |cell| u32::try_from(cell).ok();
    u64: Unsigned, 64, |value| value, |cell| Some(cell);
    i8: Signed, 8, |value| i64::from(value) as u64, |cell| i8::try_from(cell as i64).ok();
    i16: Signed, 16, |value| i64::from(value) as u64, |cell| i16::try_from(cell as i64).ok();
    i32: Signed, 32, |value| i64::from(value) as u64, |cell| i32::try_from(cell as i64).ok();
    i64: Signed, 64, |value| value as u64, |cell| Some(cell as i64);
    bool: Bool, 8, |value| u64::from(value), |cell| match cell {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    };
    char: Unsigned, 21, |value| u64::from(u32::from(value)), |cell| u32::try_from(cell).ok().and_then(char::from_u32);
    f32: F32, 32, |value| u64::from(value.to_bits()), |cell| u32::try_from(cell).ok().map(f32::from_bits);
    f64: F64, 64, |value| value.to_bits(), |cell| Some(f64::from_bits(cell));
    PlayerId: Player, 16, |value| u64::from(value.0), |cell| u16::try_from(cell).ok().map(PlayerId);
    PeerId: Peer, 16, |value| u64::from(value.0), |cell| u16::try_from(cell).ok().map(PeerId);
    Tick: Tick, 64, |value| value.0, |cell| Some(Tick(cell));
}

impl<T: Record, const N: usize> Record for [T; N] {
    const CELLS: usize = N * T::CELLS;

    fn describe(into: &mut Describe) {
        for place in 0..N {
            into.enter_item(place);
            T::describe(into);
            into.leave();
        }
    }

    #[inline]
    fn store(&self, cells: &mut [u64]) {
        for (place, item) in self.iter().enumerate() {
            item.store(&mut cells[place * T::CELLS..][..T::CELLS]);
        }
    }

    #[inline]
    fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
        let mut invalid = None;
        let items: [Option<T>; N] = core::array::from_fn(|place| {
            let at = place * T::CELLS;
            match T::load(&cells[at..at + T::CELLS]) {
                Ok(item) => Some(item),
                Err(error) => {
                    invalid.get_or_insert(error.after(at));
                    None
                }
            }
        });
        match invalid {
            Some(invalid) => Err(invalid),
            None => Ok(items.map(|item| item.expect("all items were read"))),
        }
    }

    #[inline]
    fn digest(&self, digest: &mut Digest) {
        for item in self {
            item.digest(digest);
        }
    }
}

/// A tag for whether there is a value; then the value, or zeros.
impl<T: Record> Record for Option<T> {
    const CELLS: usize = 1 + T::CELLS;

    fn describe(into: &mut Describe) {
        let tag = into.cell(CellKind::Variant(&["None", "Some"]));
        into.enter_variant("", tag, 1);
        into.enter_item(0);
        T::describe(into);
        into.leave();
        into.leave();
    }

    #[inline]
    fn store(&self, cells: &mut [u64]) {
        cells[0] = u64::from(self.is_some());
        match self {
            Some(value) => value.store(&mut cells[1..1 + T::CELLS]),
            None => cells[1..1 + T::CELLS].fill(0),
        }
    }

    #[inline]
    fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
        match cells[0] {
            0 => Ok(None),
            1 => match T::load(&cells[1..1 + T::CELLS]) {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(error.after(1)),
            },
            _ => Err(InvalidCell::FIRST),
        }
    }

    #[inline]
    fn digest(&self, digest: &mut Digest) {
        let value = match self {
            None => 0,
            Some(value) => {
                let mut inner = Digest::new();
                value.digest(&mut inner);
                inner.finish()
            }
        };
        digest.push(value, 64);
    }
}

/// The same cells as what is in it.
impl<T: Record> Record for Box<T> {
    const CELLS: usize = T::CELLS;

    fn describe(into: &mut Describe) {
        T::describe(into);
    }

    #[inline]
    fn store(&self, cells: &mut [u64]) {
        T::store(self, cells);
    }

    #[inline]
    fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
        T::load(cells).map(Box::new)
    }

    #[inline]
    fn digest(&self, digest: &mut Digest) {
        T::digest(self, digest);
    }
}

macro_rules! tuples {
    ($(($($type:ident $place:tt),*);)*) => {$(
        impl<$($type: Record),*> Record for ($($type,)*) {
            const CELLS: usize = 0 $(+ $type::CELLS)*;

            fn describe(_into: &mut Describe) {
                $(
                    _into.enter_item($place);
                    $type::describe(_into);
                    _into.leave();
                )*
            }

            #[inline(always)]
            fn store(&self, _cells: &mut [u64]) {
                $(
                    let (cells, _cells) = _cells.split_at_mut($type::CELLS);
                    self.$place.store(cells);
                )*
            }

            #[inline(always)]
            fn load(_cells: &[u64]) -> Result<Self, InvalidCell> {
                let mut _at = 0;
                Ok(($(
                    {
                        let at = _at;
                        _at += $type::CELLS;
                        match $type::load(&_cells[at.._at]) {
                            Ok(value) => value,
                            Err(error) => return Err(error.after(at)),
                        }
                    },
                )*))
            }

            #[inline(always)]
            fn digest(&self, _digest: &mut Digest) {
                $(self.$place.digest(_digest);)*
            }
        }
    )*};
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}
