//! Interest management: what a program may see of a game that only the authority knows whole, and how often it is sent.

use crate::Schema;

/// The name of the part that is not the game's: what players hold, in the order of those present.
pub const INPUTS_PART: &str = "inputs";

/// How much one thing matters to a viewer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Relevance(u8);

impl Relevance {
    /// It must not be known: nothing of it is sent.
    pub const HIDDEN: Relevance = Relevance(0);
    /// It is told as often as anything is.
    pub const FULL: Relevance = Relevance(255);

    /// A share of the full rate, from above 0 to 1; visible in any case.
    pub fn weight(weight: f32) -> Relevance {
        Relevance((weight * 255.0) as u8).max(Relevance(1))
    }

    /// Full up to `near`, then falling with the distance, down to a sixteenth.
    pub fn at_distance(distance: f32, near: f32) -> Relevance {
        match distance > near {
            true => Relevance::weight(near / distance).max(Relevance(16)),
            false => Relevance::FULL,
        }
    }

    /// As a number from 0 (hidden) to 255 (full).
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// What one program may see. It begins with everything, and the game's [`interest`](crate::Simulation::interest) takes away from it.
///
/// ```
/// use samestep_sync::{Entities, Interest, Relevance, Replicate};
///
/// #[derive(Clone, Replicate)]
/// struct Battle {
///     buildings: Entities<(f32, f32)>,
///     units: Entities<(f32, f32)>,
/// }
///
/// impl Battle {
///     fn interest_at(&self, x: f32, y: f32, interest: &mut Interest) {
///         let mut units = interest.part("units");
///         for (row, unit) in self.units.as_slice().iter().enumerate() {
///             match (unit.0 - x).abs().max((unit.1 - y).abs()) {
///                 far if far > 50.0 => units.hide(row),
///                 near => units.row(row, Relevance::at_distance(near, 10.0)),
///             }
///         }
///     }
/// }
/// let mut battle = Battle { buildings: Entities::new(), units: Entities::new() };
/// battle.units.insert((3.0, 4.0));
/// battle.units.insert((99.0, 4.0));
/// let mut interest = Interest::new(&Battle::schema());
/// battle.interest_at(0.0, 0.0, &mut interest);
/// assert_eq!(interest.relevance(2, 0), Relevance::FULL);
/// assert_eq!(interest.relevance(2, 1), Relevance::HIDDEN);
/// assert_eq!(interest.relevance(1, 7), Relevance::FULL);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Interest {
    schema: Schema,
    parts: Vec<Rows>,
    /// What players hold, where the schema has no part for it.
    inputs: Rows,
}

/// What is said of the rows of a part.
#[derive(Clone, PartialEq, Debug)]
struct Rows {
    /// Of all that nothing is said about.
    others: Relevance,
    rows: Vec<Option<Relevance>>,
}

const EVERYTHING: Rows = Rows {
    others: Relevance::FULL,
    rows: Vec::new(),
};

impl Interest {
    /// Everything.
    pub fn new(schema: &Schema) -> Interest {
        let mut parts = Vec::new();
        parts.resize(schema.kinds().len(), EVERYTHING);
        Interest {
            schema: schema.clone(),
            parts,
            inputs: EVERYTHING,
        }
    }

    /// Everything again.
    pub fn reset(&mut self) {
        for part in &mut self.parts {
            part.others = Relevance::FULL;
            part.rows.clear();
        }
    }

    /// A part of the state by its field's name, `"globals"` for what is in no collection, or `"inputs"` for what players hold.
    ///
    /// # Panics
    /// If the state has no such part.
    pub fn part(&mut self, name: &str) -> PartInterest<'_> {
        let mut kinds = self.schema.kinds().iter();
        let rows = match kinds.position(|kind| kind.name == name) {
            Some(at) => &mut self.parts[at],
            None if name == INPUTS_PART => &mut self.inputs,
            None => panic!("the state has no part that is called {name:?}"),
        };
        PartInterest { rows }
    }

    /// A part by its place in the schema.
    pub(crate) fn kind(&mut self, kind: usize) -> PartInterest<'_> {
        PartInterest {
            rows: &mut self.parts[kind],
        }
    }

    /// Whether anything is said of a part.
    pub(crate) fn says_of(&self, kind: usize) -> bool {
        self.parts[kind] != EVERYTHING
    }

    /// Whether anything is hidden.
    pub(crate) fn hides(&self) -> bool {
        let hidden = |part: &Rows| {
            part.others == Relevance::HIDDEN || part.rows.contains(&Some(Relevance::HIDDEN))
        };
        self.parts.iter().any(hidden)
    }

    /// Whether nothing is hidden, and all at the full rate.
    pub fn is_everything(&self) -> bool {
        self.parts.iter().all(|part| *part == EVERYTHING)
    }

    /// Of a row, by the place of its part in the schema.
    #[inline]
    pub fn relevance(&self, kind: usize, row: usize) -> Relevance {
        let Some(part) = self.parts.get(kind) else {
            return Relevance::FULL;
        };
        part.rows.get(row).copied().flatten().unwrap_or(part.others)
    }
}

/// One part of what a program may see.
#[derive(Debug)]
pub struct PartInterest<'a> {
    rows: &'a mut Rows,
}

impl PartInterest<'_> {
    /// Of one row.
    pub fn row(&mut self, row: usize, relevance: Relevance) {
        if self.rows.rows.len() <= row {
            self.rows.rows.resize(row + 1, None);
        }
        self.rows.rows[row] = Some(relevance);
    }

    /// A row must not be known.
    pub fn hide(&mut self, row: usize) {
        self.row(row, Relevance::HIDDEN);
    }

    /// Of all rows, but for those of which something is said after this.
    pub fn all(&mut self, relevance: Relevance) {
        self.rows.others = relevance;
        self.rows.rows.clear();
    }
}
