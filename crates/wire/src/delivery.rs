//! What a message is promised on its way: the one list that channels, messages and models share.

/// Declares the deliveries. A line holds all there is to say about one, so that nothing can be forgotten.
macro_rules! deliveries {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $promise:expr;)+) => {
        /// How a message is delivered: whether it arrives, and in which order.
        ///
        /// The number of a delivery is part of the wire format, so a new one comes last.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
        pub enum Delivery {
            $($(#[$doc])* $variant,)+
        }

        impl Delivery {
            /// All deliveries, in the order of their numbers.
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$variant),+];

            /// The name of each, in the same order.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            const UNKNOWN: &'static str = concat!("unknown delivery: use one of", $(" \"", $name, "\""),+);

            const fn promise(self) -> Promise {
                match self {
                    $(Self::$variant => $promise,)+
                }
            }
        }
    };
}

deliveries! {
    /// Sent once; may be lost or overtaken, never duplicated: for what is soon sent again.
    Unreliable = "unreliable", Promise::NONE;
    /// Sent once; a message that arrives after a newer one is dropped: for what replaces its predecessor, such as a position.
    UnreliableSequenced = "unreliable-sequenced", Promise { sequenced: true, ..Promise::NONE };
    /// Arrives exactly once, in any order.
    ReliableUnordered = "reliable-unordered", Promise { reliable: true, ..Promise::NONE };
    /// Arrives exactly once, in the order sent.
    ReliableOrdered = "reliable-ordered", Promise { reliable: true, ordered: true, ..Promise::NONE };
    /// Reliable and ordered, repeated verbatim in the next packets until acknowledged: for small messages such as inputs,
    /// where one lost packet must not cost a round trip and decoding must stay trivial.
    Redundant = "redundant", Promise { reliable: true, ordered: true, redundant: true, ..Promise::NONE };
}

struct Promise {
    reliable: bool,
    ordered: bool,
    sequenced: bool,
    redundant: bool,
}

impl Promise {
    const NONE: Self = Self {
        reliable: false,
        ordered: false,
        sequenced: false,
        redundant: false,
    };
}

impl Delivery {
    /// The name of the delivery, as attributes and plans write it.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The delivery of this name.
    pub const fn from_name(name: &str) -> Option<Self> {
        let mut number = 0;
        while number < Self::ALL.len() {
            if is_same(Self::NAMES[number].as_bytes(), name.as_bytes()) {
                return Some(Self::ALL[number]);
            }
            number += 1;
        }
        None
    }

    /// The delivery of this name, for attributes.
    ///
    /// # Panics
    /// If there is none. As a constant it does not compile, and the error lists the names.
    pub const fn named(name: &str) -> Self {
        match Self::from_name(name) {
            Some(delivery) => delivery,
            None => panic!("{}", Self::UNKNOWN),
        }
    }

    /// Whether everything accepted for sending arrives, as long as the connection lasts.
    pub const fn is_reliable(self) -> bool {
        self.promise().reliable
    }

    /// Whether every message arrives after all those sent before it.
    pub const fn is_ordered(self) -> bool {
        self.promise().ordered
    }

    /// Whether a message that a newer one has overtaken is dropped.
    pub const fn is_sequenced(self) -> bool {
        self.promise().sequenced
    }

    /// Whether messages are repeated until they are acknowledged, without waiting for a loss.
    pub const fn is_redundant(self) -> bool {
        self.promise().redundant
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], []) => true,
        ([a, rest @ ..], [b, others @ ..]) => *a == *b && is_same(rest, others),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_handshake() {
        let numbers = Delivery::ALL.map(|delivery| delivery as u8);
        assert_eq!(numbers[..5], [0, 1, 2, 3, 4]);
        assert_eq!(Delivery::UnreliableSequenced as u8, 1);
        assert_eq!(Delivery::Redundant as u8, 4);
    }

    #[test]
    fn deliveries_are_found_by_their_names() {
        for delivery in Delivery::ALL {
            assert_eq!(Delivery::from_name(delivery.name()), Some(delivery));
            assert_eq!(Delivery::named(delivery.name()), delivery);
        }
        assert_eq!(Delivery::from_name("tcp"), None);
        assert_eq!(Delivery::from_name(""), None);
    }

    #[test]
    #[should_panic = r#"use one of "unreliable" "unreliable-sequenced" "reliable-unordered" "reliable-ordered" "redundant""#]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let _ = Delivery::named("reliable");
    }
}
