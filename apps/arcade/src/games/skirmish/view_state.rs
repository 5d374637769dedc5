//! The state of a screen of Skirmish between steps: camera, selection, last acts.

use std::collections::VecDeque;

use eframe::egui::Pos2;
use samestep_catalog::skirmish::{BuildingId, BuildingKind, Command, SQUADS, UnitKind};

use super::super::camera::Camera;

/// How long marks stay, in steps.
pub(super) const MARK: u16 = 36;
/// How long a message is shown, in steps.
pub(super) const NOTE: u16 = 150;
/// Two presses within so many steps are a double one.
pub(super) const DOUBLE: u16 = 24;
/// Until a command has surely been carried out, on the slowest line, in steps.
const UNDER_WAY: u16 = 90;

/// The state of a screen.
#[derive(Default)]
pub struct ViewState {
    pub(super) camera: Camera,
    /// The squad that orders go to, once the person has acted.
    pub(super) squad: Option<u8>,
    /// Where a circle around units was begun, and where it has come to.
    pub(super) drag: Option<(Pos2, Pos2)>,
    /// The cursor of a person without a mouse.
    pub(super) crosshair: Option<Pos2>,
    /// The last place of the mouse.
    pub(super) pointed: Option<Pos2>,
    /// Whether digits choose what to make.
    pub(super) is_making: bool,
    /// The last kind built or trained.
    pub(super) made: Option<Make>,
    pub(super) marks: Vec<Mark>,
    pub(super) note: Option<Note>,
    pub(super) last_order: Option<(Pos2, u16)>,
    pub(super) last_digit: Option<(u8, u16)>,
    pub(super) asked: Option<Asked>,
    /// Steps for which a squad that looks empty may not be.
    pub(super) taken: [u16; SQUADS],
    /// The commands still to be sent: one fits into a step.
    pub(super) queue: VecDeque<Command>,
}

/// Something to be had for gold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Make {
    /// A unit, trained.
    Unit(UnitKind),
    /// A building, built.
    Building(BuildingKind),
}

impl Make {
    /// All there is, in the order of the digits 1 to 6.
    pub(super) const ALL: [Make; 6] = [
        Make::Unit(UnitKind::Worker),
        Make::Unit(UnitKind::Spear),
        Make::Unit(UnitKind::Archer),
        Make::Unit(UnitKind::Knight),
        Make::Building(BuildingKind::Barracks),
        Make::Building(BuildingKind::Hall),
    ];

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Make::Unit(kind) => unit_name(kind),
            Make::Building(BuildingKind::Hall) => "hall",
            Make::Building(BuildingKind::Barracks) => "barracks",
            Make::Building(BuildingKind::Outpost) => "outpost",
        }
    }

    /// Gold it costs.
    pub(super) fn cost(self) -> u32 {
        match self {
            Make::Unit(kind) => kind.stats().cost,
            Make::Building(kind) => kind.cost().unwrap_or_default(),
        }
    }
}

/// The name of a kind of units.
pub(super) const fn unit_name(kind: UnitKind) -> &'static str {
    match kind {
        UnitKind::Worker => "worker",
        UnitKind::Spear => "spear",
        UnitKind::Archer => "archer",
        UnitKind::Knight => "knight",
    }
}

/// The last order to a building, which its state does not contain yet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Asked {
    pub(super) building: BuildingId,
    pub(super) kind: UnitKind,
    pub(super) count: u8,
    pub(super) left: u16,
}

/// Shown for a short time where the person has acted, before the game knows of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Mark {
    pub(super) what: Act,
    pub(super) place: Pos2,
    /// Steps it is still shown.
    pub(super) left: u16,
}

/// What the person did at a place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Sent a squad to fight.
    Attack,
    /// Sent a squad, not to fight.
    Move,
    /// Sent workers to dig.
    Gather,
    /// Had units join a squad, within so many units of length.
    Select(f32),
    /// Had something made.
    Make,
}

/// Words to the player.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Note {
    pub(super) words: String,
    /// Steps it is still shown.
    pub(super) left: u16,
}

impl ViewState {
    /// A step passes.
    pub(super) fn age(&mut self) {
        for mark in &mut self.marks {
            mark.left = mark.left.saturating_sub(1);
        }
        self.marks.retain(|mark| mark.left > 0);
        if let Some(note) = &mut self.note {
            note.left = note.left.saturating_sub(1);
        }
        self.note.take_if(|note| note.left == 0);
        let ages = self.last_order.iter_mut().map(|(_, left)| left);
        let ages = ages.chain(self.last_digit.iter_mut().map(|(_, left)| left));
        let ages = ages.chain(self.asked.iter_mut().map(|asked| &mut asked.left));
        for left in ages.chain(&mut self.taken) {
            *left = left.saturating_sub(1);
        }
        self.last_order.take_if(|(_, left)| *left == 0);
        self.last_digit.take_if(|(_, left)| *left == 0);
        self.asked.take_if(|asked| asked.left == 0);
    }

    /// Says something to the player.
    pub(super) fn say(&mut self, words: impl Into<String>) {
        self.note = Some(Note {
            words: words.into(),
            left: NOTE,
        });
    }

    /// Marks a place.
    pub(super) fn mark(&mut self, what: Act, place: Pos2) {
        let left = MARK;
        self.marks.truncate(7);
        self.marks.insert(0, Mark { what, place, left });
    }

    /// A squad is being filled: it is not free, whatever is seen of it for now.
    pub(super) fn take(&mut self, squad: u8) {
        if let Some(taken) = self.taken.get_mut(usize::from(squad)) {
            *taken = UNDER_WAY;
        }
    }

    /// Remembers what was asked of a building.
    pub(super) fn ask(&mut self, building: BuildingId, kind: UnitKind, count: u8) {
        self.asked = Some(Asked {
            building,
            kind,
            count,
            left: UNDER_WAY,
        });
    }
}
