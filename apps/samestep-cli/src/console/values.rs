//! Values shared by all peers of a room.

use samestep::prelude::*;
use samestep::sync::PeerId;
use samestep::wire::{decode_exact, encode_to_vec};

/// Requests the change of a value. As a confirmed action it is applied everywhere in the same order: of two concurrent changes the
/// same one wins for all.
#[derive(Clone, Debug, PartialEq, Wire, Message, Action)]
#[message(kind = 2)]
pub struct Set {
    #[wire(max_len = 64)]
    pub key: String,
    /// Nothing removes it.
    #[wire(max_len = 1000)]
    pub value: Option<String>,
}

/// The values, as this program knows them.
#[derive(Clone, Debug, Default, PartialEq, Wire)]
pub struct Values {
    #[wire(max_len = 256)]
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Wire)]
struct Entry {
    #[wire(max_len = 64)]
    key: String,
    #[wire(max_len = 1000)]
    value: String,
    by: PeerId,
}

/// The maximum number of values in a room.
const LIMIT: usize = 256;

impl Values {
    /// Whether a change is possible; asked by the authority alone, before it is agreed.
    pub fn check(&self, set: &Set) -> Result<(), String> {
        let known = self.find(&set.key).is_ok();
        match set.value {
            Some(_) if !known && self.entries.len() >= LIMIT => Err(format!(
                "there are {LIMIT} values already: remove one with /unset"
            )),
            None if !known => Err(format!("there is no value \"{}\"", set.key)),
            _ => Ok(()),
        }
    }

    /// Applies a committed change.
    pub fn apply(&mut self, by: PeerId, set: &Set) {
        match (self.find(&set.key), &set.value) {
            (Ok(at), Some(value)) => {
                self.entries[at].value = value.clone();
                self.entries[at].by = by;
            }
            (Ok(at), None) => drop(self.entries.remove(at)),
            (Err(at), Some(value)) if self.entries.len() < LIMIT => {
                let (key, value) = (set.key.clone(), value.clone());
                self.entries.insert(at, Entry { key, value, by });
            }
            (Err(_), _) => {}
        }
    }

    pub fn value(&self, key: &str) -> Option<(&str, PeerId)> {
        let entry = &self.entries[self.find(key).ok()?];
        Some((&entry.value, entry.by))
    }

    /// All: name, value, and who set it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, PeerId)> {
        self.entries
            .iter()
            .map(|entry| (entry.key.as_str(), entry.value.as_str(), entry.by))
    }

    /// The encoded values for a peer that joins.
    pub fn to_bytes(&self) -> Vec<u8> {
        encode_to_vec(self).expect("what is in here was checked on its way in")
    }

    /// Decodes the values that a peer has sent, which may be malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Values> {
        let values: Values = decode_exact(bytes).ok()?;
        let ordered = values.entries.is_sorted_by(|a, b| a.key < b.key);
        ordered.then_some(values)
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries
            .binary_search_by(|entry| entry.key.as_str().cmp(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, value: Option<&str>) -> Set {
        Set {
            key: key.into(),
            value: value.map(Into::into),
        }
    }

    #[test]
    fn values_are_set_replaced_removed_and_sent_to_newcomers() {
        let mut values = Values::default();
        values.apply(PeerId(1), &set("b", Some("1")));
        values.apply(PeerId(2), &set("a", Some("2")));
        values.apply(PeerId(3), &set("b", Some("3")));
        values.apply(PeerId(3), &set("never", None));
        let copy = Values::from_bytes(&values.to_bytes()).unwrap();
        assert_eq!(copy, values);
        assert_eq!(copy.value("b"), Some(("3", PeerId(3))));
        assert_eq!(copy.iter().count(), 2);
        values.apply(PeerId(1), &set("b", None));
        assert_eq!(values.value("b"), None);
        assert_eq!(Values::from_bytes(b"\xff\xff\xff"), None);
    }

    #[test]
    fn what_cannot_be_is_denied_with_words() {
        let mut values = Values::default();
        assert!(
            values
                .check(&set("x", None))
                .unwrap_err()
                .contains("no value")
        );
        for number in 0..LIMIT {
            let set = set(&number.to_string(), Some(""));
            assert_eq!(values.check(&set), Ok(()));
            values.apply(PeerId(0), &set);
        }
        let one_more = set("one more", Some(""));
        assert!(values.check(&one_more).unwrap_err().contains("/unset"));
        assert_eq!(values.check(&set("7", Some("again"))), Ok(()));
        values.apply(PeerId(0), &one_more);
        assert_eq!(values.iter().count(), LIMIT);
    }
}
