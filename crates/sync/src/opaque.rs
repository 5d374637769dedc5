//! Parts of a state that are not made of fields: a physics engine's world, a script's memory.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use crate::digest::{self, StateDigest};
use crate::record::CellKind;
use crate::replicate::{Extraction, Part, Restoration};
use crate::table::{RestoreError, SchemaBuilder};

/// A part of a state that is saved, compared and transferred as a whole, by what it is encoded to.
///
/// Rollback saves it by sharing: a copy is made when the rules change what is saved. Lockstep compares a checksum of its bytes. A joiner, a save game
/// and a replay have its bytes. [`Snapshot`](crate::Snapshot) and [`StateSync`](crate::StateSync) send the rows of 64 bytes that have changed, and a guest takes
/// it over when all of them are there; it changes all at once, so what is drawn smoothly belongs into records beside it. A difference is named by its place
/// in the bytes.
///
/// `T` says itself what its bytes are ([`OpaqueState`]), or `Opaque<T, Serde>` takes what serde says (feature `serde`).
///
/// ```
/// use samestep_sync::{Opaque, OpaqueState, Replicate};
///
/// /// A world of a library that has no fields to describe.
/// #[derive(Clone, Default)]
/// struct Weather {
///     winds: Vec<i16>,
/// }
///
/// impl OpaqueState for Weather {
///     fn encode(&self, out: &mut Vec<u8>) {
///         self.winds.iter().for_each(|wind| out.extend(wind.to_le_bytes()));
///     }
///
///     fn decode(bytes: &[u8]) -> Result<Self, String> {
///         let (winds, []) = bytes.as_chunks() else {
///             return Err("half a wind".into());
///         };
///         Ok(Weather { winds: winds.iter().map(|wind| i16::from_le_bytes(*wind)).collect() })
///     }
/// }
///
/// #[derive(Clone, Default, Replicate)]
/// struct Island {
///     weather: Opaque<Weather>,
/// }
///
/// let mut island = Island::default();
/// let saved = island.clone();
/// island.weather.winds.push(-3); // reads and changes like a `Weather`
/// assert_ne!(island.checksum(), saved.clone().checksum());
/// ```
pub struct Opaque<T, Codec = Own> {
    value: Arc<T>,
    /// Of the value, made when it is asked for.
    encoded: OnceLock<Arc<Encoded>>,
    codec: PhantomData<fn() -> Codec>,
}

/// What an [`Opaque`] part does itself.
pub trait OpaqueState: Clone + 'static {
    /// Counts incompatible changes of the encoding: programs with others refuse each other.
    const VERSION: u32 = 1;

    /// Adds its bytes, the same for equal values on every machine.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads what [`encode`](Self::encode) wrote. The bytes may come from anybody: nothing is allocated on the strength of a length that they announce. The error
    /// says what is wrong.
    fn decode(bytes: &[u8]) -> Result<Self, String>;

    /// Its checksum, if there is a cheaper one than that of its bytes. Default: none.
    fn checksum(&self) -> Option<u64> {
        None
    }
}

/// How the bytes of an [`Opaque`] part are made: by itself ([`Own`]), or by serde.
pub trait OpaqueCodec<T>: 'static {
    /// Counts incompatible changes of the encoding.
    const VERSION: u32;

    /// Adds the bytes of a value.
    fn encode(value: &T, out: &mut Vec<u8>);

    /// Reads what [`encode`](Self::encode) wrote.
    fn decode(bytes: &[u8]) -> Result<T, String>;

    /// A checksum that is cheaper than that of the bytes.
    fn checksum(_value: &T) -> Option<u64> {
        None
    }
}

/// The bytes that an [`OpaqueState`] makes itself.
#[derive(Debug)]
pub struct Own;

impl<T: OpaqueState> OpaqueCodec<T> for Own {
    const VERSION: u32 = T::VERSION;

    fn encode(value: &T, out: &mut Vec<u8>) {
        value.encode(out);
    }

    fn decode(bytes: &[u8]) -> Result<T, String> {
        T::decode(bytes)
    }

    fn checksum(value: &T) -> Option<u64> {
        value.checksum()
    }
}

/// The bytes that serde makes, in the format of the crate `postcard`.
#[cfg(feature = "serde")]
#[derive(Debug)]
pub struct Serde;

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> OpaqueCodec<T> for Serde {
    const VERSION: u32 = 1;

    fn encode(value: &T, out: &mut Vec<u8>) {
        match postcard::to_extend(value, core::mem::take(out)) {
            Ok(bytes) => *out = bytes,
            Err(error) => panic!(
                "an opaque part of the state cannot be encoded: {error}: leave what cannot out with `#[serde(skip)]`"
            ),
        }
    }

    fn decode(bytes: &[u8]) -> Result<T, String> {
        postcard::from_bytes(bytes).map_err(|error| error.to_string())
    }
}

struct Encoded {
    bytes: Vec<u8>,
    digest: u64,
}

/// Cells in a row.
const WIDTH: usize = 8;
/// Cells of the first row that are not bytes: their number, and their digest, by which a row that is older than the others is noticed.
const HEAD: usize = 2;

impl<T, C> Opaque<T, C> {
    /// Holds a value.
    pub fn new(value: T) -> Self {
        Opaque {
            value: Arc::new(value),
            encoded: OnceLock::new(),
            codec: PhantomData,
        }
    }
}

impl<T, C: OpaqueCodec<T>> Opaque<T, C> {
    fn encoded(&self) -> &Encoded {
        self.encoded.get_or_init(|| {
            let mut bytes = Vec::new();
            C::encode(&self.value, &mut bytes);
            Arc::new(Encoded {
                digest: digest::of_bytes(&bytes),
                bytes,
            })
        })
    }

    /// The value that rows hold.
    fn read(rows: &[u64], kind: &str) -> Result<Self, RestoreError> {
        let unreadable = |reason: String| RestoreError::Unreadable {
            kind: kind.into(),
            reason,
        };
        let [len, digest, words @ ..] = rows else {
            return Err(unreadable("nothing of it is there".into()));
        };
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if *len > bytes.len() as u64 {
            return Err(unreadable("its end is not there".into()));
        }
        bytes.truncate(*len as usize);
        if digest::of_bytes(&bytes) != *digest {
            return Err(unreadable("not all of it is there".into()));
        }
        let part = Opaque::new(C::decode(&bytes).map_err(unreadable)?);
        let digest = *digest;
        let _ = part.encoded.set(Arc::new(Encoded { bytes, digest }));
        Ok(part)
    }

    /// Whether rows hold what it is already.
    fn is_in(&self, rows: &[u64]) -> bool {
        let known = self.encoded.get();
        known.is_some_and(|known| rows.starts_with(&[known.bytes.len() as u64, known.digest]))
    }
}

/// Rows of eight words: the number of its bytes, their digest, and the bytes.
impl<T: Clone + 'static, C: OpaqueCodec<T>> Part for Opaque<T, C> {
    fn describe_part(name: &str, schema: &mut SchemaBuilder) {
        schema.add_rows(name, false, 0, |into| {
            // Names are part of the fingerprint.
            into.enter(&format!("version {}", C::VERSION));
            for _ in 0..WIDTH {
                into.cell(CellKind::Opaque);
            }
            into.leave();
        });
    }

    fn extract_part(&self, into: &mut Extraction<'_>) {
        let encoded = self.encoded();
        let rows = into.next_kind();
        let words = HEAD + encoded.bytes.len().div_ceil(8);
        rows.resize(words.div_ceil(WIDTH), WIDTH);
        rows.cells[0] = encoded.bytes.len() as u64;
        rows.cells[1] = encoded.digest;
        let (chunks, rest) = encoded.bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = chunks.iter().chain([&last]);
        let words = words.map(|word| u64::from_le_bytes(*word));
        for (cell, word) in rows.cells[HEAD..]
            .iter_mut()
            .zip(words.chain(core::iter::repeat(0)))
        {
            *cell = word;
        }
    }

    fn build_part(from: &mut Restoration<'_>) -> Result<Self, RestoreError> {
        let rows = from.next_kind(false, WIDTH)?;
        Opaque::read(&rows.cells, &from.described().name)
    }

    fn restore_part(&mut self, from: &mut Restoration<'_>) -> Result<(), RestoreError> {
        let rows = from.next_kind(false, WIDTH)?;
        if self.is_in(&rows.cells) {
            return Ok(());
        }
        match Opaque::read(&rows.cells, &from.described().name) {
            Ok(part) => *self = part,
            Err(_) if from.is_streamed => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn assign_part(&mut self, from: &Self) {
        self.clone_from(from);
    }

    fn digest_part(&mut self, summary: &mut StateDigest) {
        // One row and one leaf: it is compared and transferred as a whole.
        summary.begin_kind(1, 0);
        let own = C::checksum(&self.value);
        summary.add_leaf(own.unwrap_or_else(|| self.encoded().digest));
    }
}

impl<T, C> Clone for Opaque<T, C> {
    fn clone(&self) -> Self {
        Opaque {
            value: self.value.clone(),
            encoded: self.encoded.clone(),
            codec: PhantomData,
        }
    }
}

impl<T: Default, C> Default for Opaque<T, C> {
    fn default() -> Self {
        Opaque::new(T::default())
    }
}

impl<T, C> Deref for Opaque<T, C> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Whoever only reads should not ask for it: what is saved is copied then.
impl<T: Clone, C> DerefMut for Opaque<T, C> {
    fn deref_mut(&mut self) -> &mut T {
        self.encoded.take();
        Arc::make_mut(&mut self.value)
    }
}

impl<T: PartialEq, C> PartialEq for Opaque<T, C> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: fmt::Debug, C> fmt::Debug for Opaque<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
