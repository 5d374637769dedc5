//! Which parts have arrived.

/// How many numbers back are remembered.
const WORDS: usize = 32;
const REMEMBERED: u32 = 64 * WORDS as u32;

/// The numbers of the latest parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    latest: Option<u32>,
    /// A ring: the bit of a number is the number modulo their count.
    arrived: [u64; WORDS],
}

impl Numbers {
    pub(super) fn latest(&self) -> Option<u32> {
        self.latest
    }

    /// Whether a part is one that has not arrived, as far as that is remembered.
    pub(super) fn is_new(&self, number: u32) -> bool {
        self.latest.is_none_or(|latest| number > latest)
            || !self.has(number) && self.is_near(number)
    }

    pub(super) fn insert(&mut self, number: u32) {
        match self.latest {
            Some(latest) if number <= latest => {
                if !self.is_near(number) {
                    return;
                }
            }
            Some(latest) if number - latest < REMEMBERED => {
                for skipped in latest + 1..=number {
                    let (word, bit) = place(skipped);
                    self.arrived[word] &= !bit;
                }
                self.latest = Some(number);
            }
            _ => {
                self.arrived = [0; WORDS];
                self.latest = Some(number);
            }
        }
        let (word, bit) = place(number);
        self.arrived[word] |= bit;
    }

    /// A number that has arrived, and which of the 128 before it have: bit `i` is the number less `1 + i`.
    pub(super) fn acknowledgement(&self, number: u32) -> (u32, u128) {
        let mut before = 0;
        for i in 0..128u32 {
            if number.checked_sub(1 + i).is_some_and(|n| self.has(n)) {
                before |= 1 << i;
            }
        }
        (number, before)
    }

    /// The greatest number that has arrived and is at most this one.
    pub(super) fn at_most(&self, number: u32) -> Option<u32> {
        let last = self.latest?.saturating_sub(REMEMBERED - 1);
        (last..=number).rev().find(|number| self.has(*number))
    }

    fn has(&self, number: u32) -> bool {
        let (word, bit) = place(number);
        self.latest.is_some_and(|latest| number <= latest)
            && self.is_near(number)
            && self.arrived[word] & bit != 0
    }

    fn is_near(&self, number: u32) -> bool {
        self.latest
            .is_some_and(|latest| latest.saturating_sub(number) < REMEMBERED)
    }
}

fn place(number: u32) -> (usize, u64) {
    let number = number % REMEMBERED;
    (number as usize / 64, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_arrived_is_acknowledged_and_not_new() {
        let mut numbers = Numbers::default();
        assert!(numbers.is_new(0));
        for number in [5, 7, 6, 200] {
            assert!(numbers.is_new(number));
            numbers.insert(number);
            assert!(!numbers.is_new(number));
        }
        assert_eq!(numbers.acknowledgement(200), (200, 0));
        assert_eq!(numbers.at_most(199), Some(7));
        assert_eq!(numbers.acknowledgement(7), (7, 0b11));
        assert_eq!(numbers.at_most(4), None);
        assert!(numbers.is_new(8));
    }

    #[test]
    fn a_leap_forgets() {
        let mut numbers = Numbers::default();
        numbers.insert(1);
        numbers.insert(1 + REMEMBERED);
        assert!(!numbers.is_new(1), "nobody knows");
        assert_eq!(numbers.acknowledgement(1 + REMEMBERED).1, 0);
        numbers.insert(u32::MAX);
        assert!(numbers.is_new(u32::MAX - 1));
        assert_eq!(numbers.latest(), Some(u32::MAX));
        assert_eq!(numbers.at_most(u32::MAX), Some(u32::MAX));
    }
}
