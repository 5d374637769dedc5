//! Fields of types that are no records, as records.

use core::marker::PhantomData;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::digest::Digest;
use crate::list::List;
use crate::record::{CellKind, Describe, InvalidCell, Record};
use crate::text::Text;

/// A conversion of a field to a record and back, for types of other crates: `#[field(with = …)]` names it.
///
/// ```
/// use samestep_sync::{FieldWith, Record};
/// use std::time::Duration;
///
/// /// Whole milliseconds.
/// struct Millis;
///
/// impl FieldWith<Duration> for Millis {
///     type Record = u64;
///
///     fn to_record(value: &Duration) -> u64 {
///         value.as_millis() as u64
///     }
///
///     fn from_record(record: u64) -> Option<Duration> {
///         Some(Duration::from_millis(record))
///     }
/// }
///
/// #[derive(Clone, Record)]
/// struct Fuse {
///     #[field(with = Millis)]
///     left: Duration,
/// }
///
/// let mut cells = [0];
/// Fuse { left: Duration::from_secs(2) }.store(&mut cells);
/// assert_eq!(cells, [2000]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not convert `{T}`",
    label = "named by `with` or `max_len` of a field of type `{T}`",
    note = "`max_len` is for `String`, `Vec`, `VecDeque`, `BTreeMap` and `BTreeSet`, also in options, boxes and arrays; what is in them must be a record, or be bounded as well: `#[field(with = Bounded<8, Bounded<32>>)] names: Vec<String>`; for another type, name a conversion of your own: `#[field(with = Conversion)]` and `impl FieldWith<{T}> for Conversion`"
)]
pub trait FieldWith<T> {
    /// What the field is in the state.
    type Record: Record;

    /// The record of a value: equal values have equal records.
    fn to_record(value: &T) -> Self::Record;

    /// The value of a record that [`to_record`](Self::to_record) made. `None` if it is of none: bytes from elsewhere may be damaged.
    fn from_record(record: Self::Record) -> Option<T>;
}

/// Converts what grows and has at most `N` items, or bytes of a text: `#[field(max_len = N)]` stands for `#[field(with = Bounded<N>)]`.
///
/// `Inner` converts the items, of a map the values. All places take cells, so keep `N` small.
///
/// A field that holds more is a mistake of the rules, which would be a desync if it were cut: the next checksum, transfer or snapshot panics and says so.
/// Bound what players say where it enters the state.
#[derive(Debug)]
pub struct Bounded<const N: usize, Inner = Plain>(PhantomData<Inner>);

/// Leaves a record as it is.
#[derive(Debug)]
pub struct Plain;

impl<T: Record> FieldWith<T> for Plain {
    type Record = T;

    fn to_record(value: &T) -> T {
        value.clone()
    }

    fn from_record(record: T) -> Option<T> {
        Some(record)
    }
}

#[cold]
fn too_long(len: usize, most: usize) -> ! {
    panic!(
        "a field of the state with `max_len = {most}` holds {len}: let the rules keep it short, or raise its `max_len`"
    )
}

impl<const N: usize> FieldWith<String> for Bounded<N> {
    type Record = Text<N>;

    fn to_record(value: &String) -> Text<N> {
        if value.len() > N {
            too_long(value.len(), N);
        }
        Text::new(value)
    }

    fn from_record(record: Text<N>) -> Option<String> {
        Some(record.as_str().into())
    }
}

/// The records of items, which are at most `N`.
fn to_list<'a, T: 'a, A: FieldWith<T>, const N: usize>(
    items: impl ExactSizeIterator<Item = &'a T>,
) -> List<A::Record, N> {
    let (len, mut list) = (items.len(), List::new());
    for item in items {
        if list.push(A::to_record(item)).is_err() {
            too_long(len, N);
        }
    }
    list
}

macro_rules! bounded_sequences {
    ($($type:ident)*) => {$(
        impl<T, A: FieldWith<T>, const N: usize> FieldWith<$type<T>> for Bounded<N, A> {
            type Record = List<A::Record, N>;

            fn to_record(value: &$type<T>) -> Self::Record {
                to_list::<T, A, N>(value.iter())
            }

            fn from_record(record: Self::Record) -> Option<$type<T>> {
                record.iter().cloned().map(A::from_record).collect()
            }
        }
    )*};
}

bounded_sequences! { Vec VecDeque }

impl<T: Record + Ord, const N: usize> FieldWith<BTreeSet<T>> for Bounded<N> {
    type Record = List<T, N>;

    fn to_record(value: &BTreeSet<T>) -> Self::Record {
        to_list::<T, Plain, N>(value.iter())
    }

    fn from_record(record: Self::Record) -> Option<BTreeSet<T>> {
        let is_ascending = record.is_sorted_by(|a, b| a < b);
        is_ascending.then(|| record.iter().cloned().collect())
    }
}

impl<K: Record + Ord, V, A: FieldWith<V>, const N: usize> FieldWith<BTreeMap<K, V>>
    for Bounded<N, A>
{
    type Record = MapList<K, A::Record, N>;

    fn to_record(value: &BTreeMap<K, V>) -> Self::Record {
        let mut pairs = List::new();
        for (key, item) in value {
            if pairs.push((key.clone(), A::to_record(item))).is_err() {
                too_long(value.len(), N);
            }
        }
        MapList(pairs)
    }

    fn from_record(MapList(pairs): Self::Record) -> Option<BTreeMap<K, V>> {
        if !pairs.is_sorted_by(|(a, _), (b, _)| a < b) {
            return None;
        }
        let pairs = pairs.iter().cloned();
        pairs
            .map(|(key, value)| Some((key, A::from_record(value)?)))
            .collect()
    }
}

/// The keys and values of a map with at most `N`, within a record.
#[derive(Clone, Debug)]
pub struct MapList<K, V, const N: usize>(List<(K, V), N>);

/// As the list of the pairs.
impl<K: Record, V: Record, const N: usize> Record for MapList<K, V, N> {
    const CELLS: usize = <List<(K, V), N> as Record>::CELLS;

    fn describe(into: &mut Describe) {
        let len = into.cell_of_bits(CellKind::Unsigned, 16);
        for place in 0..N {
            into.map_place(len, place, K::describe, V::describe);
        }
    }

    fn store(&self, cells: &mut [u64]) {
        self.0.store(cells);
    }

    fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
        List::load(cells).map(MapList)
    }

    fn digest(&self, digest: &mut Digest) {
        self.0.digest(digest);
    }
}

macro_rules! bounded_within {
    ($($type:ty, [$($generics:tt)*], $record:ty, |$to:ident| $to_record:expr, |$from:ident| $from_record:expr;)*) => {$(
        impl<T, A, const N: usize, $($generics)*> FieldWith<$type> for Bounded<N, A>
        where
            Bounded<N, A>: FieldWith<T>,
        {
            type Record = $record;

            fn to_record($to: &$type) -> Self::Record {
                $to_record
            }

            fn from_record($from: Self::Record) -> Option<$type> {
                $from_record
            }
        }
    )*};
}

type Inner<T, A, const N: usize> = <Bounded<N, A> as FieldWith<T>>::Record;

bounded_within! {
    Option<T>, [], Option<Inner<T, A, N>>,
        |value| value.as_ref().map(Bounded::<N, A>::to_record),
        |record| match record {
            Some(record) => Bounded::<N, A>::from_record(record).map(Some),
            None => Some(None),
        };
    Box<T>, [], Inner<T, A, N>,
        |value| Bounded::<N, A>::to_record(value),
        |record| Bounded::<N, A>::from_record(record).map(Box::new);
    [T; M], [const M: usize], [Inner<T, A, N>; M],
        |value| core::array::from_fn(|at| Bounded::<N, A>::to_record(&value[at])),
        |record| {
            let items: Option<Vec<T>> = record.into_iter().map(Bounded::<N, A>::from_record).collect();
            items?.try_into().ok()
        };
}
