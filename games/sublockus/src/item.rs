//! Items: lying about, carried and worn.

use samestep_sync::{List, PlayerId, Record, Wire};

use crate::place::Place;

/// The number of items that a character can carry, beside what it wears.
pub const POCKETS: usize = 6;

/// Ticks until an item is back in its place.
pub const BACK: u32 = 15 * 60;

/// Ticks that something dropped lies there.
pub const LITTER: u32 = 20 * 60;

/// Ticks for which a dropped item cannot be picked up.
pub(crate) const SETTLING: u32 = 45;

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Record, Wire)]
pub enum ItemKind {
    /// Worn on the feet: a quarter faster.
    Boots,
    /// Worn on the feet: a second jump in the air.
    Wings,
    /// Worn on the body: takes two fifths of the damage, and a tenth of the speed.
    Mail,
    /// Worn on the body: room for half as much mana again, which comes back faster.
    Robe,
    /// Held: fireballs and bolts hurt a quarter more.
    Staff,
    /// Held: strikes hurt half as much again, and throw twice as far.
    Hammer,
    /// A potion: half of the health.
    Potion,
    /// A potion: all of the mana.
    Elixir,
}

/// Where something is worn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Record, Wire)]
pub enum Part {
    /// Boots and wings.
    Feet,
    /// Mail and robes.
    Body,
    /// Staffs and hammers.
    Hand,
}

impl ItemKind {
    /// All kinds.
    pub const ALL: [ItemKind; 8] = [
        ItemKind::Boots,
        ItemKind::Wings,
        ItemKind::Mail,
        ItemKind::Robe,
        ItemKind::Staff,
        ItemKind::Hammer,
        ItemKind::Potion,
        ItemKind::Elixir,
    ];

    /// Where it is worn; `None` if it is drunk.
    pub const fn part(self) -> Option<Part> {
        match self {
            ItemKind::Boots | ItemKind::Wings => Some(Part::Feet),
            ItemKind::Mail | ItemKind::Robe => Some(Part::Body),
            ItemKind::Staff | ItemKind::Hammer => Some(Part::Hand),
            ItemKind::Potion | ItemKind::Elixir => None,
        }
    }
}

/// The items that a character carries and wears.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Kit {
    /// Carried, in the order it was picked up.
    pub pockets: List<ItemKind, POCKETS>,
    worn: [Option<ItemKind>; 3],
}

impl Kit {
    /// What is worn there.
    pub fn worn(&self, part: Part) -> Option<ItemKind> {
        self.worn[part as usize]
    }

    /// Whether it is worn.
    pub fn wears(&self, kind: ItemKind) -> bool {
        kind.part()
            .is_some_and(|part| self.worn(part) == Some(kind))
    }

    /// Everything, carried and worn.
    pub fn all(&self) -> impl Iterator<Item = ItemKind> + '_ {
        let worn = self.worn.iter().copied().flatten();
        self.pockets.iter().copied().chain(worn)
    }

    /// Puts on what is in a pocket; what was worn there goes into the pockets.
    pub(crate) fn put_on(&mut self, pocket: usize) -> bool {
        let kind = self.pockets.get(pocket).copied();
        let Some((kind, part)) = kind.and_then(|kind| Some((kind, kind.part()?))) else {
            return false;
        };
        self.pockets.remove(pocket);
        if let Some(before) = self.worn[part as usize].replace(kind) {
            // There is room: something has just been taken out.
            let _ = self.pockets.push(before);
        }
        true
    }

    /// Puts into the pockets what is worn there, if there is room.
    pub(crate) fn take_off(&mut self, part: Part) -> Option<ItemKind> {
        let kind = self.worn(part)?;
        self.pockets.push(kind).ok()?;
        self.worn[part as usize] = None;
        Some(kind)
    }
}

/// An item that lies about, or will again. Its id is that of its place in [`Entities`](samestep_sync::Entities).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Its middle.
    pub place: Place,
    /// How fast it falls, in units per tick.
    pub(crate) fall: i32,
    /// From when on it can be picked up, by the game's [clock](crate::Sublockus::clock).
    pub(crate) from: u32,
    /// When it vanishes, if it was dropped; what belongs to its place stays.
    pub(crate) until: Option<u32>,
    /// Whether it is something else every time.
    pub(crate) varies: bool,
    /// The player who dropped it.
    pub(crate) by: Option<PlayerId>,
}

impl Item {
    /// Whether a character dropped it, so that it will vanish.
    pub fn is_dropped(&self) -> bool {
        self.until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_worn_goes_into_the_pockets() {
        let mut kit = Kit::default();
        for kind in [ItemKind::Boots, ItemKind::Potion, ItemKind::Wings] {
            kit.pockets.push(kind).unwrap();
        }
        assert!(kit.put_on(0) && kit.wears(ItemKind::Boots));
        assert!(!kit.put_on(0), "a potion is not worn");
        assert!(!kit.put_on(2), "an empty pocket");
        assert!(kit.put_on(1));
        assert_eq!(kit.worn(Part::Feet), Some(ItemKind::Wings));
        assert_eq!(kit.pockets[..], [ItemKind::Potion, ItemKind::Boots]);
        assert_eq!(kit.take_off(Part::Feet), Some(ItemKind::Wings));
        assert_eq!(kit.take_off(Part::Feet), None);
        assert_eq!(kit.all().count(), 3);
    }

    #[test]
    fn full_pockets_take_nothing_more() {
        let mut kit = Kit::default();
        kit.pockets.push(ItemKind::Mail).unwrap();
        kit.put_on(0);
        while kit.pockets.push(ItemKind::Potion).is_ok() {}
        assert_eq!(kit.take_off(Part::Body), None);
        assert!(kit.wears(ItemKind::Mail));
        assert_eq!(kit.all().count(), POCKETS + 1);
    }
}
