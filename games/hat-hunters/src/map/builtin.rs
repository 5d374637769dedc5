//! The maps that come with the game.

use super::Map;

/// A map that comes with the game.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Builtin {
    /// Stumps here and there.
    #[default]
    Glade,
    /// Rows of trees, with lanes in between.
    Orchard,
    /// Four yards with gates, some of them barred by boxes.
    Yards,
    /// A thicket of stumps in the middle, and bushes at its edge.
    Thicket,
    /// Narrow: for two.
    Burrow,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Builtin; 5] = [
        Builtin::Glade,
        Builtin::Orchard,
        Builtin::Yards,
        Builtin::Thicket,
        Builtin::Burrow,
    ];

    /// The one with this name, as in its text; capitals do not matter.
    pub fn named(name: &str) -> Option<Builtin> {
        Self::ALL
            .into_iter()
            .find(|builtin| builtin.name().eq_ignore_ascii_case(name))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Builtin::Glade => "Glade",
            Builtin::Orchard => "Orchard",
            Builtin::Yards => "Yards",
            Builtin::Thicket => "Thicket",
            Builtin::Burrow => "Burrow",
        }
    }

    /// Its text, which can be a start for another map.
    pub const fn text(self) -> &'static str {
        match self {
            Builtin::Glade => include_str!("../../maps/glade.txt"),
            Builtin::Orchard => include_str!("../../maps/orchard.txt"),
            Builtin::Yards => include_str!("../../maps/yards.txt"),
            Builtin::Thicket => include_str!("../../maps/thicket.txt"),
            Builtin::Burrow => include_str!("../../maps/burrow.txt"),
        }
    }

    /// The map itself.
    pub fn map(self) -> Map {
        Map::parse(self.text()).expect("what comes with the game was tested")
    }
}
