//! When effects count while the authority may still change recent ticks.

use samestep_sync::{Confirmation, FieldWith, Record};

/// The [`Confirmation`] of each kind of effect. It matters under a model with an update window; under all others every effect applies in its own
/// tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Confirmations {
    /// Of a box that is placed. Default: at the end of the window.
    #[field(with = AsNumber)]
    pub box_placed: Confirmation,
    /// Of an item that is used: a projectile starts. Default: predicted.
    #[field(with = AsNumber)]
    pub projectile_started: Confirmation,
    /// Of a star that is collected, and of hits, which take stars from characters. Default: at the end of the window.
    #[field(with = AsNumber)]
    pub star_collected: Confirmation,
    /// Of an item that is collected. Default: at the end of the window.
    #[field(with = AsNumber)]
    pub item_collected: Confirmation,
    /// Of a box that is destroyed. Default: at the end of the window.
    #[field(with = AsNumber)]
    pub box_removed: Confirmation,
    /// Of a projectile or a star that bounces off an obstacle, or breaks there. Default: predicted.
    #[field(with = AsNumber)]
    pub bounced: Confirmation,
}

impl Default for Confirmations {
    fn default() -> Self {
        Self {
            projectile_started: Confirmation::Predicted,
            bounced: Confirmation::Predicted,
            ..Self::all(Confirmation::WindowEnd)
        }
    }
}

impl Confirmations {
    /// The same for all kinds.
    pub const fn all(confirmation: Confirmation) -> Self {
        Self {
            box_placed: confirmation,
            projectile_started: confirmation,
            star_collected: confirmation,
            item_collected: confirmation,
            box_removed: confirmation,
            bounced: confirmation,
        }
    }
}

/// When an event counts that an effect of this kind emits. The rules emit it when the effect applies: one that has waited for the end of the
/// window is certain then.
pub(crate) fn of_event(effect: Confirmation) -> Confirmation {
    match effect {
        Confirmation::WindowEnd => Confirmation::AtOnce,
        Confirmation::Predicted | Confirmation::AtOnce => effect,
    }
}

/// A confirmation as its place in [`Confirmation::ALL`].
struct AsNumber;

impl FieldWith<Confirmation> for AsNumber {
    type Record = u8;

    fn to_record(value: &Confirmation) -> u8 {
        let at = Confirmation::ALL.iter().position(|known| known == value);
        at.unwrap_or(0) as u8
    }

    fn from_record(record: u8) -> Option<Confirmation> {
        Confirmation::ALL.get(usize::from(record)).copied()
    }
}
