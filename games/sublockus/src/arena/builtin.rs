//! The arenas that come with the game.

use super::Arena;

/// An arena that comes with the game.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Builtin {
    /// For two: a room with a few ledges.
    Cellar,
    /// For a handful: open ground between two houses.
    #[default]
    Courtyard,
    /// Narrow and high: a character that falls must climb again.
    Tower,
    /// Low tunnels and shafts.
    Mines,
    /// For many: halls on several floors.
    Citadel,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Builtin; 5] = [
        Builtin::Cellar,
        Builtin::Courtyard,
        Builtin::Tower,
        Builtin::Mines,
        Builtin::Citadel,
    ];

    /// One that suits so many players.
    pub const fn for_players(players: u16) -> Builtin {
        match players {
            0..=3 => Builtin::Cellar,
            4..=6 => Builtin::Courtyard,
            7..=8 => Builtin::Tower,
            9..=20 => Builtin::Mines,
            _ => Builtin::Citadel,
        }
    }

    /// The one with this name, as in its text; capitals do not matter.
    pub fn named(name: &str) -> Option<Builtin> {
        Self::ALL
            .into_iter()
            .find(|builtin| builtin.name().eq_ignore_ascii_case(name))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Builtin::Cellar => "Cellar",
            Builtin::Courtyard => "Courtyard",
            Builtin::Tower => "Tower",
            Builtin::Mines => "Mines",
            Builtin::Citadel => "Citadel",
        }
    }

    /// Its text, which can be a start for another arena.
    pub const fn text(self) -> &'static str {
        match self {
            Builtin::Cellar => include_str!("../../arenas/cellar.txt"),
            Builtin::Courtyard => include_str!("../../arenas/courtyard.txt"),
            Builtin::Tower => include_str!("../../arenas/tower.txt"),
            Builtin::Mines => include_str!("../../arenas/mines.txt"),
            Builtin::Citadel => include_str!("../../arenas/citadel.txt"),
        }
    }

    /// The arena itself.
    pub fn arena(self) -> Arena {
        Arena::parse(self.text()).expect("what comes with the game was tested")
    }
}
