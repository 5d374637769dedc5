//! How the events of Rawrlocks sound.

use samestep_catalog::rawrlocks::{Ability, Rawrlocks, RawrlocksEvent};
use samestep_sync::PlayerId;

use super::spot;
use crate::sound::{Heard, Note, Sound, Wave};

/// So far from the listener's avatar, in yards, something is half as loud.
const REACH: f32 = 220.0;

static CHARGE: Sound = Sound(&[Note::new(Wave::Triangle, 170.0, 0.36)
    .to(520.0)
    .attack(0.2)
    .loud(0.16)]);
static RUMBLE: Sound = Sound(&[Note::new(Wave::Noise, 160.0, 0.28)
    .to(700.0)
    .attack(0.2)
    .loud(0.25)]);
static FIREBALL: Sound = Sound(&[
    Note::new(Wave::Noise, 1_100.0, 0.3)
        .to(3_000.0)
        .attack(0.04)
        .loud(0.3),
    Note::new(Wave::Sine, 150.0, 0.28).to(290.0).loud(0.28),
]);
static SCOURGE: Sound = Sound(&[
    Note::new(Wave::Noise, 2_400.0, 0.55).to(90.0).loud(0.55),
    Note::new(Wave::Square, 120.0, 0.4).to(38.0).loud(0.35),
]);
static TELEPORT: Sound = Sound(&[
    Note::new(Wave::Sine, 1_400.0, 0.12).to(300.0).loud(0.3),
    Note::new(Wave::Sine, 300.0, 0.22)
        .to(1_700.0)
        .at(0.1)
        .loud(0.3),
]);
static THRUST: Sound = Sound(&[Note::new(Wave::Noise, 500.0, 0.3)
    .to(4_200.0)
    .attack(0.03)
    .loud(0.4)]);
static BURST: Sound = Sound(&[
    Note::new(Wave::Noise, 1_500.0, 0.45).to(120.0).loud(0.55),
    Note::new(Wave::Sine, 130.0, 0.3).to(48.0).loud(0.55),
]);
static FADED: Sound = Sound(&[Note::new(Wave::Noise, 900.0, 0.16).to(300.0).loud(0.12)]);
static OWN_HIT: Sound = Sound(&[
    Note::new(Wave::Square, 240.0, 0.12).to(80.0).loud(0.35),
    Note::new(Wave::Noise, 2_400.0, 0.07).loud(0.25),
]);
static BURNT: Sound = Sound(&[Note::new(Wave::Noise, 5_200.0, 0.14).to(2_600.0).loud(0.16)]);
static DIED: Sound = Sound(&[
    Note::new(Wave::Triangle, 392.0, 0.6).to(58.0).loud(0.45),
    Note::new(Wave::Noise, 800.0, 0.5).to(110.0).loud(0.3),
]);
static KILL: Sound = Sound(&[
    Note::new(Wave::Square, 587.0, 0.09).loud(0.22),
    Note::new(Wave::Square, 880.0, 0.24).at(0.08).loud(0.25),
]);
static POWER: Sound = Sound(&[
    Note::new(Wave::Triangle, 523.0, 0.12).loud(0.3),
    Note::new(Wave::Triangle, 659.0, 0.12).at(0.09).loud(0.3),
    Note::new(Wave::Triangle, 1_047.0, 0.26).at(0.18).loud(0.3),
]);
static POWER_ENDED: Sound = Sound(&[Note::new(Wave::Triangle, 660.0, 0.25).to(220.0).loud(0.22)]);
static POWER_BACK: Sound = Sound(&[Note::new(Wave::Sine, 880.0, 0.3)
    .to(1_320.0)
    .attack(0.08)
    .loud(0.15)]);
static SHRANK: Sound = Sound(&[
    Note::new(Wave::Noise, 320.0, 0.9).to(70.0).loud(0.5),
    Note::new(Wave::Sine, 62.0, 0.8).to(34.0).loud(0.5),
]);
static ROUND_BEGAN: Sound = Sound(&[
    Note::new(Wave::Square, 220.0, 0.14).loud(0.22),
    Note::new(Wave::Square, 220.0, 0.14).at(0.18).loud(0.22),
    Note::new(Wave::Square, 330.0, 0.45).at(0.36).loud(0.25),
]);
static ROUND_WON: Sound = Sound(&[
    Note::new(Wave::Square, 330.0, 0.14).loud(0.22),
    Note::new(Wave::Square, 440.0, 0.14).at(0.13).loud(0.22),
    Note::new(Wave::Square, 554.0, 0.14).at(0.26).loud(0.22),
    Note::new(Wave::Square, 659.0, 0.6).at(0.39).loud(0.25),
]);
static ROUND_LOST: Sound = Sound(&[
    Note::new(Wave::Triangle, 330.0, 0.2),
    Note::new(Wave::Triangle, 294.0, 0.2).at(0.2),
    Note::new(Wave::Triangle, 220.0, 0.6).at(0.4),
]);

/// How an event sounds to a player who sees this state.
pub(super) fn heard(
    game: &Rawrlocks,
    event: &RawrlocksEvent,
    listener: Option<PlayerId>,
) -> Option<Heard> {
    let is_own = |player: &PlayerId| Some(*player) == listener;
    let sound = match event {
        RawrlocksEvent::CastBegan { ability, .. } => match ability {
            Ability::Fireball => &CHARGE,
            Ability::Scourge => &RUMBLE,
            // They take effect at once, and that is heard.
            Ability::Teleport | Ability::Thrust => return None,
        },
        RawrlocksEvent::Fired { ability, .. } => match ability {
            Ability::Fireball => &FIREBALL,
            Ability::Scourge => &SCOURGE,
            Ability::Thrust => &THRUST,
            Ability::Teleport => return None,
        },
        RawrlocksEvent::Teleported { .. } => &TELEPORT,
        RawrlocksEvent::Burst { .. } => &BURST,
        RawrlocksEvent::Faded { .. } => &FADED,
        // That of others is heard as what hits them.
        RawrlocksEvent::Hit { victim, .. } if is_own(victim) => &OWN_HIT,
        RawrlocksEvent::Burnt { .. } => &BURNT,
        RawrlocksEvent::Died { killer, .. } if killer.as_ref().is_some_and(is_own) => &KILL,
        RawrlocksEvent::Died { .. } => &DIED,
        RawrlocksEvent::PowerTaken { .. } => &POWER,
        RawrlocksEvent::PowerEnded { player, .. } if is_own(player) => &POWER_ENDED,
        RawrlocksEvent::PowerUpBack { .. } => &POWER_BACK,
        RawrlocksEvent::ArenaShrank { .. } => &SHRANK,
        RawrlocksEvent::RoundBegan { .. } => &ROUND_BEGAN,
        RawrlocksEvent::RoundOver { winner } => match winner {
            Some(player) if listener.is_none() || is_own(player) => &ROUND_WON,
            _ => &ROUND_LOST,
        },
        RawrlocksEvent::Hit { .. }
        | RawrlocksEvent::PowerEnded { .. }
        | RawrlocksEvent::MatchOver { .. }
        | RawrlocksEvent::Joined { .. }
        | RawrlocksEvent::Left { .. } => return None,
    };
    let own = listener.and_then(|player| game.avatar_of(player));
    let ears = own.map(|avatar| spot(avatar.place()));
    Some(match event.place() {
        Some(place) => Heard::from(sound, spot(place), ears, REACH),
        None => Heard::everywhere(sound),
    })
}
