//! The description of a record's cells.

use core::fmt::Write as _;

/// The kind of value that a cell holds.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum CellKind {
    /// 0 or 1.
    Bool,
    /// An unsigned number.
    Unsigned,
    /// A signed number, its sign extended.
    Signed,
    /// The bits of an `f32`.
    F32,
    /// The bits of an `f64`.
    F64,
    /// The variant of an enum, or whether there is a value.
    Variant(&'static [&'static str]),
    /// An [`EntityId`](crate::EntityId).
    Entity,
    /// A [`PlayerId`](crate::PlayerId).
    Player,
    /// A [`PeerId`](crate::PeerId).
    Peer,
    /// A [`Tick`](crate::Tick).
    Tick,
    /// Up to seven bytes of a text: their number in the lowest byte, then the bytes.
    Text,
    /// Eight bytes of an [`Opaque`](crate::Opaque) part.
    Opaque,
}

impl CellKind {
    /// A number for it in fingerprints.
    pub(crate) fn number(self) -> u8 {
        match self {
            CellKind::Bool => 0,
            CellKind::Unsigned => 1,
            CellKind::Signed => 2,
            CellKind::F32 => 3,
            CellKind::F64 => 4,
            CellKind::Variant(_) => 5,
            CellKind::Entity => 6,
            CellKind::Player => 7,
            CellKind::Peer => 8,
            CellKind::Tick => 9,
            CellKind::Text => 10,
            CellKind::Opaque => 11,
        }
    }
}

/// How a view interpolates a field between two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Blend {
    /// The value changes all at once.
    #[default]
    Step,
    /// The value changes in proportion to time.
    Linear,
    /// The value is an angle in radians and takes the shorter way round.
    Angle,
}

/// The attributes of `#[field(…)]`: how exactly a view shows a field. Exact encodings do not depend on them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Shown {
    /// The least and the greatest value.
    pub range: Option<(f64, f64)>,
    /// The step between neighbouring values.
    pub precision: Option<f64>,
    /// How it is interpolated.
    pub blend: Blend,
    /// Whether it names the player whose row it is.
    pub owner: bool,
    /// Whether it is kept from all views.
    pub secret: bool,
}

impl Shown {
    /// Exact, without interpolation.
    pub const EXACT: Shown = Shown {
        range: None,
        precision: None,
        blend: Blend::Step,
        owner: false,
        secret: false,
    };

    /// Within this range.
    ///
    /// # Panics
    /// If it is empty.
    #[must_use]
    pub const fn range(self, least: f64, greatest: f64) -> Shown {
        assert!(
            least < greatest,
            "a range goes from its least to its greatest value"
        );
        Shown {
            range: Some((least, greatest)),
            ..self
        }
    }

    /// In steps of this size.
    ///
    /// # Panics
    /// If it is not above 0.
    #[must_use]
    pub const fn precision(self, step: f64) -> Shown {
        assert!(step > 0.0, "a precision is a step above 0");
        Shown {
            precision: Some(step),
            ..self
        }
    }

    /// With this interpolation.
    #[must_use]
    pub const fn blend(self, blend: Blend) -> Shown {
        Shown { blend, ..self }
    }

    /// Naming the player whose row it is.
    #[must_use]
    pub const fn owner(self) -> Shown {
        Shown {
            owner: true,
            ..self
        }
    }

    /// Kept from all views.
    #[must_use]
    pub const fn secret(self) -> Shown {
        Shown {
            secret: true,
            ..self
        }
    }
}

/// A cell of a record, described.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Field {
    /// The path to it from the record: `"position.1"`, `"order.Move.x"`.
    pub name: String,
    /// What it holds.
    pub kind: CellKind,
    /// How views show it.
    pub shown: Shown,
    /// The condition under which it has a meaning; else it is zero.
    pub when: Option<When>,
    /// How many bits its type has.
    pub bits: u32,
    /// The key that it belongs to, if it is in a value of a map.
    pub(crate) key: Option<KeyCells>,
}

impl Field {
    pub(crate) fn unsigned(name: &str) -> Field {
        Field {
            name: name.into(),
            kind: CellKind::Unsigned,
            shown: Shown::EXACT,
            when: None,
            bits: 64,
            key: None,
        }
    }
}

/// Where the key of a map's value stands in its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyCells {
    /// The number of its first field.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The part of the value's name that the key stands for: the place in the map.
    pub(crate) place: (usize, usize),
}

/// A condition: cells of a variant have a meaning only while the value is that variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct When {
    /// The number of the field that decides; it comes before.
    pub field: usize,
    /// The value it must hold.
    pub holds: Holds,
}

/// The value that a deciding field must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// Exactly this.
    Exactly(u64),
    /// At least this.
    AtLeast(u64),
}

impl When {
    pub(crate) fn is_met(&self, deciding: u64) -> bool {
        match self.holds {
            Holds::Exactly(value) => deciding == value,
            Holds::AtLeast(least) => deciding >= least,
        }
    }
}

/// Collects the descriptions of a record's cells.
#[derive(Clone, Debug, Default)]
pub struct Describe {
    fields: Vec<Field>,
    path: String,
    /// The enclosing fields: length of the path, view, condition, key.
    outer: Vec<(usize, Shown, Option<When>, Option<KeyCells>)>,
    shown: Shown,
    when: Option<When>,
    key: Option<KeyCells>,
}

impl Describe {
    pub(crate) fn finish(self) -> Vec<Field> {
        self.fields
    }

    /// Describes the next cell; returns its number.
    pub fn cell(&mut self, kind: CellKind) -> usize {
        self.cell_of_bits(kind, 64)
    }

    /// As [`cell`](Self::cell), for a value of so many bits: programs whose types differ in width do not understand each other.
    pub fn cell_of_bits(&mut self, kind: CellKind, bits: u32) -> usize {
        self.fields.push(Field {
            name: self.path.clone(),
            kind,
            shown: self.shown,
            when: self.when,
            bits,
            key: self.key,
        });
        self.fields.len() - 1
    }

    /// Begins the field of this name; the cells up to [`leave`](Self::leave) belong to it.
    pub fn enter(&mut self, name: &str) {
        self.outer
            .push((self.path.len(), self.shown, self.when, self.key));
        if !self.path.is_empty() && !name.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    /// As [`enter`](Self::enter), for a field with attributes.
    pub fn enter_shown(&mut self, name: &str, shown: Shown) {
        self.enter(name);
        self.shown = shown;
    }

    /// Begins an item of an array or a tuple.
    pub fn enter_item(&mut self, place: usize) {
        self.enter("");
        if !self.path.is_empty() {
            self.path.push('.');
        }
        write!(self.path, "{place}").expect("a string takes everything");
    }

    /// Begins a variant: its cells have a meaning only while the field `tag` holds its number.
    pub fn enter_variant(&mut self, name: &str, tag: usize, variant: u64) {
        self.enter(name);
        self.when = Some(When {
            field: tag,
            holds: Holds::Exactly(variant),
        });
    }

    /// Begins a place of a list whose length is the field `len`.
    pub fn enter_place(&mut self, len: usize, place: usize) {
        self.enter_item(place);
        self.when = Some(When {
            field: len,
            holds: Holds::AtLeast(place as u64 + 1),
        });
    }

    /// Describes a place of a map whose length is the field `len`: its key, then its value, which differences name by the key.
    pub(crate) fn map_place(
        &mut self,
        len: usize,
        place: usize,
        key: fn(&mut Self),
        value: fn(&mut Self),
    ) {
        let begin = self.path.len();
        self.enter_place(len, place);
        let end = self.path.len();
        self.shown.blend = Blend::Step;
        self.enter("key");
        let first = self.fields.len();
        key(self);
        self.leave();
        let count = self.fields.len() - first;
        self.key = self.key.or(Some(KeyCells {
            first,
            count,
            place: (begin, end),
        }));
        value(self);
        self.leave();
    }

    /// Ends what `enter` began.
    pub fn leave(&mut self) {
        let (len, shown, when, key) = self.outer.pop().expect("leave after enter");
        self.path.truncate(len);
        self.shown = shown;
        self.when = when;
        self.key = key;
    }
}
