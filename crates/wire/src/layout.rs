//! A hash of what types consist of, to compare those of two programs.

use alloc::vec::Vec;
use core::any::type_name;

use crate::Wire;

/// Hashes the layout of types: the names, order and encodings of their fields and variants (64-bit FNV-1a).
#[derive(Clone, Debug)]
pub struct LayoutHasher {
    hash: u64,
    /// The derived types so far: each is described once, since it may contain itself.
    seen: Vec<&'static str>,
}

/// The hash of a type's layout. Two programs whose hashes are equal read each other's values as they were meant.
pub fn layout_hash<T: Wire>() -> u64 {
    let mut hasher = LayoutHasher {
        hash: 0xCBF2_9CE4_8422_2325,
        seen: Vec::new(),
    };
    T::layout(&mut hasher);
    hasher.hash
}

impl LayoutHasher {
    /// Adds a name: of an encoding, a field or a variant.
    pub fn name(&mut self, name: &str) {
        self.bytes(name.as_bytes());
        self.bytes(&[0]);
    }

    /// Adds a number: a width, a bound, a maximum.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// Adds a type with names of its own, which `describe` gives; the second time only that it is the same again.
    pub fn once<T>(&mut self, describe: impl FnOnce(&mut Self)) {
        let of_type = type_name::<T>();
        match self.seen.iter().position(|seen| *seen == of_type) {
            Some(at) => {
                self.name("again");
                self.number(at as u64);
            }
            None => {
                self.seen.push(of_type);
                self.name("{");
                describe(self);
                self.name("}");
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}
