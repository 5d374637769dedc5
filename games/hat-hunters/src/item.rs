//! Items: what a container may hold.

use samestep_sync::{Record, Wire};

/// What a character can hold and use, once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Record, Wire)]
pub enum ItemKind {
    /// A green projectile: flies ahead, bounces off obstacles, destroys boxes, and takes a star from the character that it hits.
    Green,
    /// Steals a star from the nearest character in reach.
    Magnet,
    /// Lies there and bursts after a while: destroys boxes around it and takes a star from every character near it.
    Bomb,
    /// Destroys the boxes in a line ahead.
    Axe,
    /// Faster for a few seconds.
    Boots,
    /// Changes places with a character that nobody plays.
    Swap,
    /// All characters that nobody plays turn round. Who does not is somebody.
    Whistle,
}

impl ItemKind {
    /// All there are.
    pub const ALL: [ItemKind; 7] = [
        ItemKind::Green,
        ItemKind::Magnet,
        ItemKind::Bomb,
        ItemKind::Axe,
        ItemKind::Boots,
        ItemKind::Swap,
        ItemKind::Whistle,
    ];

    /// Its name in files and on screens.
    pub const fn name(self) -> &'static str {
        match self {
            ItemKind::Green => "green",
            ItemKind::Magnet => "magnet",
            ItemKind::Bomb => "bomb",
            ItemKind::Axe => "axe",
            ItemKind::Boots => "boots",
            ItemKind::Swap => "swap",
            ItemKind::Whistle => "whistle",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<ItemKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A set of kinds of items.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Items {
    bits: u16,
}

impl Items {
    /// None.
    pub const NONE: Items = Items { bits: 0 };
    /// Every kind.
    pub const ALL: Items = Items {
        bits: (1 << ItemKind::ALL.len()) - 1,
    };

    /// These kinds.
    pub fn of(kinds: &[ItemKind]) -> Items {
        let bits = kinds.iter().fold(0, |bits, kind| bits | 1 << *kind as u16);
        Items { bits }
    }

    /// Whether a kind is among them.
    pub fn contains(self, kind: ItemKind) -> bool {
        self.bits >> kind as u16 & 1 == 1
    }

    /// The kinds, in their order.
    pub fn iter(self) -> impl Iterator<Item = ItemKind> {
        ItemKind::ALL
            .into_iter()
            .filter(move |kind| self.contains(*kind))
    }

    /// One of them, by a random number.
    pub(crate) fn draw(self, number: u64) -> Option<ItemKind> {
        let count = self.iter().count() as u64;
        self.iter().nth(number.checked_rem(count)? as usize)
    }
}
