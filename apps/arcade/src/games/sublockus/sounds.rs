//! How the events of Sublockus sound.

use samestep_catalog::sublockus::{Ability, Sublockus, SublockusEvent};
use samestep_sync::PlayerId;

use super::spot;
use crate::sound::{Heard, Note, Sound, Wave};

/// So far from the listener's character, in blocks, something is half as loud.
const REACH: f32 = 8.0;

static ENTERED: Sound = Sound(&[Note::new(Wave::Sine, 330.0, 0.3)
    .to(990.0)
    .attack(0.1)
    .loud(0.25)]);
static JUMPED: Sound = Sound(&[Note::new(Wave::Triangle, 260.0, 0.11).to(480.0).loud(0.2)]);
static STRIKE: Sound = Sound(&[Note::new(Wave::Noise, 1_500.0, 0.13)
    .to(5_500.0)
    .attack(0.05)
    .loud(0.3)]);
static FIREBALL: Sound = Sound(&[
    Note::new(Wave::Noise, 900.0, 0.35)
        .to(2_600.0)
        .attack(0.06)
        .loud(0.3),
    Note::new(Wave::Sine, 180.0, 0.3).to(320.0).loud(0.25),
]);
static BOLT: Sound = Sound(&[
    Note::new(Wave::Square, 1_900.0, 0.16).to(320.0).loud(0.25),
    Note::new(Wave::Noise, 9_000.0, 0.22).to(3_000.0).loud(0.25),
]);
static MEND: Sound = Sound(&[
    Note::new(Wave::Sine, 523.0, 0.18).attack(0.03).loud(0.3),
    Note::new(Wave::Sine, 784.0, 0.3)
        .attack(0.03)
        .at(0.1)
        .loud(0.3),
]);
static BURST: Sound = Sound(&[
    Note::new(Wave::Noise, 1_700.0, 0.5).to(110.0).loud(0.6),
    Note::new(Wave::Sine, 140.0, 0.35).to(45.0).loud(0.6),
]);
static HIT: Sound = Sound(&[
    Note::new(Wave::Square, 260.0, 0.11).to(90.0).loud(0.35),
    Note::new(Wave::Noise, 2_600.0, 0.07).loud(0.25),
]);
static FELL: Sound = Sound(&[
    Note::new(Wave::Triangle, 440.0, 0.5).to(70.0).loud(0.45),
    Note::new(Wave::Noise, 700.0, 0.4).to(120.0).loud(0.3),
]);
static FRAG: Sound = Sound(&[
    Note::new(Wave::Square, 659.0, 0.09).loud(0.22),
    Note::new(Wave::Square, 988.0, 0.22).at(0.08).loud(0.25),
]);
static TAKEN: Sound = Sound(&[Note::new(Wave::Triangle, 587.0, 0.12).to(880.0).loud(0.3)]);
static USED: Sound = Sound(&[Note::new(Wave::Triangle, 440.0, 0.14).to(554.0).loud(0.3)]);
static DROPPED: Sound = Sound(&[Note::new(Wave::Triangle, 330.0, 0.12).to(196.0).loud(0.3)]);
static ROUND_BEGAN: Sound = Sound(&[
    Note::new(Wave::Square, 294.0, 0.12).loud(0.22),
    Note::new(Wave::Square, 294.0, 0.12).at(0.16).loud(0.22),
    Note::new(Wave::Square, 440.0, 0.4).at(0.32).loud(0.25),
]);
static ROUND_WON: Sound = Sound(&[
    Note::new(Wave::Square, 440.0, 0.14).loud(0.22),
    Note::new(Wave::Square, 554.0, 0.14).at(0.13).loud(0.22),
    Note::new(Wave::Square, 659.0, 0.14).at(0.26).loud(0.22),
    Note::new(Wave::Square, 880.0, 0.6).at(0.39).loud(0.25),
]);
static ROUND_LOST: Sound = Sound(&[
    Note::new(Wave::Triangle, 440.0, 0.18),
    Note::new(Wave::Triangle, 392.0, 0.18).at(0.18),
    Note::new(Wave::Triangle, 330.0, 0.6).at(0.36),
]);

/// How an event sounds to a player who sees this state.
pub(super) fn heard(
    game: &Sublockus,
    event: &SublockusEvent,
    listener: Option<PlayerId>,
) -> Option<Heard> {
    let is_own = |player: &PlayerId| Some(*player) == listener;
    let sound = match event {
        SublockusEvent::Entered { .. } => &ENTERED,
        SublockusEvent::Jumped { .. } => &JUMPED,
        SublockusEvent::Cast { ability, .. } => match ability {
            Ability::Strike => &STRIKE,
            Ability::Fireball => &FIREBALL,
            Ability::Mend => &MEND,
            // It flashes at once, and that is heard.
            Ability::Bolt => return None,
        },
        SublockusEvent::Flashed { .. } => &BOLT,
        SublockusEvent::Burst { .. } => &BURST,
        SublockusEvent::Hit { .. } => &HIT,
        SublockusEvent::Fell { .. } => &FELL,
        SublockusEvent::Died { victim, killer } => match killer {
            Some(killer) if is_own(killer) && killer != victim => &FRAG,
            _ => return None,
        },
        SublockusEvent::Taken { .. } => &TAKEN,
        SublockusEvent::Used { .. } => &USED,
        SublockusEvent::Dropped { .. } => &DROPPED,
        SublockusEvent::RoundBegan => &ROUND_BEGAN,
        SublockusEvent::RoundOver { winner } => match winner {
            Some(player) if listener.is_none() || is_own(player) => &ROUND_WON,
            _ => &ROUND_LOST,
        },
        // Health comes from something that is heard itself.
        SublockusEvent::Healed { .. }
        | SublockusEvent::Joined { .. }
        | SublockusEvent::Left { .. } => return None,
    };
    let own = listener.and_then(|player| game.character_of(player));
    let ears = own.map(|character| spot(character.place()));
    Some(match event.place() {
        Some((_, place)) => Heard::from(sound, spot(place), ears, REACH),
        None => Heard::everywhere(sound),
    })
}
