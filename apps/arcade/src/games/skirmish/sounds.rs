//! How the events of Skirmish sound: what one's own side should notice, and what it sees of a battle.

use samestep_catalog::skirmish::{Place, Skirmish, SkirmishEvent};
use samestep_sync::PlayerId;

use crate::sound::{Heard, Note, Sound, Wave};

static KILLED: Sound = Sound(&[
    Note::new(Wave::Noise, 2_200.0, 0.12).to(300.0).loud(0.25),
    Note::new(Wave::Square, 180.0, 0.08).to(80.0).loud(0.15),
]);
static LOST: Sound = Sound(&[
    Note::new(Wave::Noise, 1_200.0, 0.16).to(200.0).loud(0.3),
    Note::new(Wave::Triangle, 330.0, 0.2).to(165.0).loud(0.3),
]);
static TRAINED: Sound = Sound(&[Note::new(Wave::Triangle, 523.0, 0.1).to(659.0).loud(0.2)]);
static BUILT: Sound = Sound(&[
    Note::new(Wave::Noise, 900.0, 0.07).loud(0.3),
    Note::new(Wave::Noise, 900.0, 0.07).at(0.12).loud(0.3),
    Note::new(Wave::Triangle, 392.0, 0.3).at(0.24),
]);
static CAPTURED: Sound = Sound(&[
    Note::new(Wave::Square, 392.0, 0.12).loud(0.22),
    Note::new(Wave::Square, 523.0, 0.12).at(0.12).loud(0.22),
    Note::new(Wave::Square, 659.0, 0.3).at(0.24).loud(0.25),
]);
static TAKEN_FROM_US: Sound = Sound(&[
    Note::new(Wave::Square, 659.0, 0.12).loud(0.22),
    Note::new(Wave::Square, 494.0, 0.12).at(0.12).loud(0.22),
    Note::new(Wave::Square, 370.0, 0.35).at(0.24).loud(0.25),
]);
static WON: Sound = Sound(&[
    Note::new(Wave::Square, 523.0, 0.16).loud(0.22),
    Note::new(Wave::Square, 659.0, 0.16).at(0.15).loud(0.22),
    Note::new(Wave::Square, 784.0, 0.16).at(0.3).loud(0.22),
    Note::new(Wave::Square, 1_047.0, 0.8).at(0.45).loud(0.25),
]);
static DEFEATED: Sound = Sound(&[
    Note::new(Wave::Triangle, 392.0, 0.3),
    Note::new(Wave::Triangle, 349.0, 0.3).at(0.28),
    Note::new(Wave::Triangle, 262.0, 0.9).at(0.56),
]);

/// How an event sounds to a player who sees this state. Players are over their map, not on it: what they see is as loud everywhere.
pub(super) fn heard(
    game: &Skirmish,
    event: &SkirmishEvent,
    listener: Option<PlayerId>,
) -> Option<Heard> {
    let side = listener.and_then(|player| game.side_of(player));
    let sees = |place: Place| side.is_none_or(|side| game.sees(side, place));
    let is_own = |player: PlayerId| Some(player) == listener;
    let (sound, volume) = match *event {
        SkirmishEvent::Killed { player, .. } if is_own(player) => (&LOST, 0.6),
        SkirmishEvent::Killed { place, .. } if sees(place) => (&KILLED, 0.4),
        SkirmishEvent::Trained { player, .. } if is_own(player) => (&TRAINED, 0.5),
        SkirmishEvent::Built { player, .. } if is_own(player) => (&BUILT, 0.8),
        SkirmishEvent::Captured { by, .. } if is_own(by) => (&CAPTURED, 1.0),
        SkirmishEvent::Captured { from, .. } if from.is_some_and(is_own) => (&TAKEN_FROM_US, 1.0),
        SkirmishEvent::Defeated { player, .. } if is_own(player) => (&DEFEATED, 1.0),
        SkirmishEvent::Won { player } if listener.is_none() || is_own(player) => (&WON, 1.0),
        _ => return None,
    };
    Some(Heard { sound, volume })
}
