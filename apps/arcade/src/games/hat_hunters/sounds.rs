//! How the events of Hat Hunters sound. Nothing tells a character that somebody plays from one that nobody does.

use eframe::egui::Pos2;
use samestep_catalog::hat_hunters::{HatHunters, HatHuntersEvent, ItemKind};
use samestep_sync::PlayerId;

use super::events::place_of;
use super::spot;
use crate::sound::{Heard, Note, Sound, Wave};

/// So far from the listener's character, in cells, something is half as loud.
const REACH: f32 = 7.0;

/// A knock of wood on the ground.
static BOX_PLACED: Sound = Sound(&[
    Note::new(Wave::Noise, 900.0, 0.07).to(300.0).loud(0.3),
    Note::new(Wave::Sine, 170.0, 0.14).to(90.0).loud(0.6),
]);
/// Wood splinters.
static BOX_REMOVED: Sound = Sound(&[
    Note::new(Wave::Noise, 3_200.0, 0.1).to(900.0).loud(0.35),
    Note::new(Wave::Noise, 1_400.0, 0.2)
        .to(250.0)
        .at(0.05)
        .loud(0.35),
]);
/// Two bright notes, upwards.
static STAR: Sound = Sound(&[
    Note::new(Wave::Triangle, 988.0, 0.1).loud(0.35),
    Note::new(Wave::Triangle, 1_319.0, 0.32).at(0.07).loud(0.4),
]);
/// A container opens.
static ITEM_COLLECTED: Sound = Sound(&[
    Note::new(Wave::Triangle, 440.0, 0.09).to(660.0).loud(0.35),
    Note::new(Wave::Triangle, 660.0, 0.14)
        .to(880.0)
        .at(0.08)
        .loud(0.35),
]);
/// One's own item is drawn.
static ITEM_DRAWN: Sound = Sound(&[
    Note::new(Wave::Sine, 523.0, 0.09),
    Note::new(Wave::Sine, 659.0, 0.09).at(0.07),
    Note::new(Wave::Sine, 784.0, 0.2).at(0.14),
]);
/// The projectile starts: a shot that falls.
static GREEN: Sound = Sound(&[
    Note::new(Wave::Square, 1_250.0, 0.2).to(210.0).loud(0.3),
    Note::new(Wave::Noise, 5_000.0, 0.06).loud(0.2),
]);
/// A hum that rises.
static MAGNET: Sound = Sound(&[Note::new(Wave::Square, 110.0, 0.38)
    .to(330.0)
    .attack(0.12)
    .loud(0.28)]);
/// A fuse is lit.
static BOMB: Sound = Sound(&[
    Note::new(Wave::Sine, 220.0, 0.09).to(140.0).loud(0.5),
    Note::new(Wave::Noise, 7_000.0, 0.4)
        .attack(0.15)
        .loud(0.14)
        .at(0.05),
]);
/// A blade swings.
static AXE: Sound = Sound(&[
    Note::new(Wave::Noise, 1_200.0, 0.2)
        .to(5_200.0)
        .attack(0.1)
        .loud(0.3),
    Note::new(Wave::Square, 160.0, 0.09).at(0.15).loud(0.3),
]);
/// Quick steps.
static BOOTS: Sound = Sound(&[
    Note::new(Wave::Triangle, 330.0, 0.07),
    Note::new(Wave::Triangle, 415.0, 0.07).at(0.07),
    Note::new(Wave::Triangle, 523.0, 0.07).at(0.14),
    Note::new(Wave::Triangle, 659.0, 0.12).at(0.21),
]);
/// Two that cross: one rises, the other falls.
static SWAP: Sound = Sound(&[
    Note::new(Wave::Sine, 300.0, 0.28).to(900.0).loud(0.3),
    Note::new(Wave::Sine, 900.0, 0.28).to(300.0).loud(0.3),
]);
/// A whistle with a pea in it.
static WHISTLE: Sound = Sound(&[
    Note::new(Wave::Sine, 2_100.0, 0.5)
        .to(2_250.0)
        .attack(0.03)
        .loud(0.3),
    Note::new(Wave::Noise, 60.0, 0.45).loud(0.12),
]);
/// A ball on a wall.
static BOUNCED: Sound = Sound(&[Note::new(Wave::Triangle, 520.0, 0.07).to(760.0).loud(0.35)]);
/// It falls to pieces.
static BROKE: Sound = Sound(&[
    Note::new(Wave::Square, 620.0, 0.12).to(180.0).loud(0.2),
    Note::new(Wave::Noise, 6_000.0, 0.16).to(2_000.0).loud(0.2),
]);
/// A bomb bursts.
static BURST: Sound = Sound(&[
    Note::new(Wave::Noise, 1_500.0, 0.7).to(80.0).loud(0.8),
    Note::new(Wave::Sine, 120.0, 0.5).to(38.0).loud(0.8),
]);
/// A blow.
static HIT: Sound = Sound(&[
    Note::new(Wave::Square, 240.0, 0.13).to(70.0).loud(0.4),
    Note::new(Wave::Noise, 2_500.0, 0.09).to(600.0).loud(0.35),
]);
/// The two notes of a star, downwards.
static STAR_LOST: Sound = Sound(&[
    Note::new(Wave::Triangle, 1_319.0, 0.1).loud(0.3),
    Note::new(Wave::Triangle, 784.0, 0.28)
        .to(740.0)
        .at(0.08)
        .loud(0.35),
]);
/// It is snatched away.
static STAR_STOLEN: Sound = Sound(&[
    Note::new(Wave::Triangle, 1_319.0, 0.18).to(494.0).loud(0.3),
    Note::new(Wave::Triangle, 988.0, 0.22)
        .to(1_480.0)
        .at(0.16)
        .loud(0.3),
]);
/// A fanfare: somebody is about to win.
static HAT_ON: Sound = Sound(&[
    Note::new(Wave::Square, 523.0, 0.1).loud(0.25),
    Note::new(Wave::Square, 523.0, 0.1).at(0.12).loud(0.25),
    Note::new(Wave::Square, 784.0, 0.35).at(0.24).loud(0.28),
]);
/// The fanfare, backwards.
static HAT_OFF: Sound = Sound(&[
    Note::new(Wave::Square, 784.0, 0.1).loud(0.22),
    Note::new(Wave::Square, 523.0, 0.25)
        .to(494.0)
        .at(0.12)
        .loud(0.22),
]);
/// Caught.
static CAUGHT: Sound = Sound(&[
    Note::new(Wave::Noise, 4_000.0, 0.06).loud(0.3),
    Note::new(Wave::Triangle, 587.0, 0.12).at(0.04).loud(0.4),
    Note::new(Wave::Triangle, 880.0, 0.2).at(0.12).loud(0.4),
]);
/// A puff, and it is gone.
static OUT: Sound = Sound(&[
    Note::new(Wave::Noise, 2_400.0, 0.35)
        .to(300.0)
        .attack(0.03)
        .loud(0.35),
    Note::new(Wave::Sine, 440.0, 0.4).to(110.0).loud(0.35),
]);
/// Leaves rustle.
static GREW: Sound = Sound(&[
    Note::new(Wave::Noise, 6_500.0, 0.12)
        .attack(0.05)
        .loud(0.12),
    Note::new(Wave::Noise, 5_000.0, 0.18)
        .attack(0.06)
        .at(0.09)
        .loud(0.12),
]);
/// Somebody comes.
static JOINED: Sound = Sound(&[
    Note::new(Wave::Sine, 392.0, 0.14).loud(0.3),
    Note::new(Wave::Sine, 523.0, 0.22).at(0.12).loud(0.3),
]);
/// Somebody goes.
static LEFT: Sound = Sound(&[
    Note::new(Wave::Sine, 523.0, 0.14).loud(0.3),
    Note::new(Wave::Sine, 392.0, 0.22).at(0.12).loud(0.3),
]);
/// A round begins.
static ROUND_BEGAN: Sound = Sound(&[
    Note::new(Wave::Triangle, 392.0, 0.12),
    Note::new(Wave::Triangle, 392.0, 0.12).at(0.16),
    Note::new(Wave::Triangle, 587.0, 0.4).at(0.32),
]);
/// One's own round.
static ROUND_WON: Sound = Sound(&[
    Note::new(Wave::Triangle, 523.0, 0.14),
    Note::new(Wave::Triangle, 659.0, 0.14).at(0.12),
    Note::new(Wave::Triangle, 784.0, 0.14).at(0.24),
    Note::new(Wave::Triangle, 1_047.0, 0.6).at(0.36),
    Note::new(Wave::Sine, 659.0, 0.6).at(0.36).loud(0.25),
]);
/// Somebody else's round, or nobody's.
static ROUND_LOST: Sound = Sound(&[
    Note::new(Wave::Triangle, 523.0, 0.16),
    Note::new(Wave::Triangle, 494.0, 0.16).at(0.15),
    Note::new(Wave::Triangle, 392.0, 0.55).at(0.3),
]);
/// One's own match.
static MATCH_WON: Sound = Sound(&[
    Note::new(Wave::Square, 523.0, 0.14).loud(0.25),
    Note::new(Wave::Square, 659.0, 0.14).at(0.14).loud(0.25),
    Note::new(Wave::Square, 784.0, 0.14).at(0.28).loud(0.25),
    Note::new(Wave::Square, 1_047.0, 0.3).at(0.42).loud(0.28),
    Note::new(Wave::Square, 784.0, 0.14).at(0.66).loud(0.22),
    Note::new(Wave::Square, 1_047.0, 0.9).at(0.8).loud(0.28),
    Note::new(Wave::Triangle, 523.0, 0.9).at(0.8),
]);
/// Somebody else's match, or nobody's.
static MATCH_LOST: Sound = Sound(&[
    Note::new(Wave::Triangle, 392.0, 0.25),
    Note::new(Wave::Triangle, 349.0, 0.25).at(0.24),
    Note::new(Wave::Triangle, 311.0, 0.25).at(0.48),
    Note::new(Wave::Triangle, 262.0, 0.9).at(0.72),
]);

/// How an event sounds to a player who sees this state.
pub(super) fn heard(
    game: &HatHunters,
    event: &HatHuntersEvent,
    listener: Option<PlayerId>,
) -> Option<Heard> {
    let own = listener.and_then(|player| game.character_of(player));
    let ears = own.map(|character| spot(character.place()));
    let is_own = |player: &PlayerId| Some(*player) == listener;
    let sound = match event {
        HatHuntersEvent::Joined { .. } => &JOINED,
        HatHuntersEvent::Left { .. } => &LEFT,
        HatHuntersEvent::BoxPlaced { .. } => &BOX_PLACED,
        HatHuntersEvent::BoxRemoved { .. } => &BOX_REMOVED,
        HatHuntersEvent::StarCollected { .. } => &STAR,
        HatHuntersEvent::ItemCollected { .. } => &ITEM_COLLECTED,
        HatHuntersEvent::ItemDrawn { player, .. } if is_own(player) => &ITEM_DRAWN,
        HatHuntersEvent::ItemDrawn { .. } => return None,
        HatHuntersEvent::ItemUsed { item, .. } => item_used(*item),
        HatHuntersEvent::Bounced { .. } => &BOUNCED,
        HatHuntersEvent::Broke { .. } => &BROKE,
        HatHuntersEvent::Burst { .. } => &BURST,
        HatHuntersEvent::Hit { .. } => &HIT,
        HatHuntersEvent::StarLost { .. } => &STAR_LOST,
        HatHuntersEvent::StarStolen { .. } => &STAR_STOLEN,
        HatHuntersEvent::HatOn { .. } => &HAT_ON,
        HatHuntersEvent::HatOff { .. } => &HAT_OFF,
        HatHuntersEvent::Caught { .. } => &CAUGHT,
        HatHuntersEvent::Out { .. } => &OUT,
        HatHuntersEvent::Grew { .. } => &GREW,
        HatHuntersEvent::RoundBegan => &ROUND_BEGAN,
        // Who only watches is glad for whoever wins.
        HatHuntersEvent::RoundOver { winner } => match winner {
            Some(player) if listener.is_none() || is_own(player) => &ROUND_WON,
            _ => &ROUND_LOST,
        },
        HatHuntersEvent::MatchOver { winner } => match winner {
            Some(player) if listener.is_none() || is_own(player) => &MATCH_WON,
            _ => &MATCH_LOST,
        },
    };
    Some(match source(game, event) {
        Some(place) => Heard::from(sound, place, ears, REACH),
        None => Heard::everywhere(sound),
    })
}

/// Where an event is heard from; `None` if it concerns everybody.
fn source(game: &HatHunters, event: &HatHuntersEvent) -> Option<Pos2> {
    let character = match event {
        HatHuntersEvent::StarStolen { by, .. } | HatHuntersEvent::Caught { by, .. } => by,
        _ => return place_of(event),
    };
    let character = game.characters().get(*character)?;
    Some(spot(character.place()))
}

fn item_used(item: ItemKind) -> &'static Sound {
    match item {
        ItemKind::Green => &GREEN,
        ItemKind::Magnet => &MAGNET,
        ItemKind::Bomb => &BOMB,
        ItemKind::Axe => &AXE,
        ItemKind::Boots => &BOOTS,
        ItemKind::Swap => &SWAP,
        ItemKind::Whistle => &WHISTLE,
    }
}

#[cfg(test)]
mod tests {
    use samestep_catalog::hat_hunters::{Cell, HatHuntersConfig, Place};
    use samestep_sync::EntityId;

    use super::*;

    const ME: PlayerId = PlayerId(0);
    const OTHER: PlayerId = PlayerId(1);

    fn game() -> HatHunters {
        HatHunters::new(&HatHuntersConfig::default()).unwrap()
    }

    /// Every kind of event, and of those that sound in several ways each of them.
    fn events() -> Vec<HatHuntersEvent> {
        use HatHuntersEvent as Event;
        let (character, place) = (EntityId::fixed(1), Place::default());
        let cell = Cell { column: 1, row: 1 };
        let (victim, by) = (character, EntityId::fixed(2));
        let mut events = vec![
            Event::Joined { player: OTHER },
            Event::Left { player: OTHER },
            Event::BoxPlaced { character, cell },
            Event::BoxRemoved { cell },
            Event::StarCollected { character, place },
            Event::ItemCollected { character, cell },
            Event::ItemDrawn {
                player: ME,
                item: ItemKind::Axe,
            },
            Event::Bounced { place },
            Event::Broke { place },
            Event::Burst { place },
            Event::Hit { victim, place },
            Event::StarLost { victim, place },
            Event::StarStolen { victim, by },
            Event::HatOn {
                character,
                player: ME,
            },
            Event::HatOff { character },
            Event::Caught { victim, by },
            Event::Out { character, place },
            Event::Grew { cell },
            Event::RoundBegan,
            Event::RoundOver { winner: Some(ME) },
            Event::RoundOver { winner: None },
            Event::MatchOver { winner: Some(ME) },
            Event::MatchOver {
                winner: Some(OTHER),
            },
        ];
        events.extend(ItemKind::ALL.map(|item| Event::ItemUsed {
            character,
            item,
            place,
        }));
        events
    }

    #[test]
    fn every_kind_of_event_has_a_sound_of_its_own() {
        let game = game();
        let mut known: Vec<(&Sound, HatHuntersEvent)> = Vec::new();
        for event in events() {
            let heard = heard(&game, &event, Some(ME));
            let sound = heard.unwrap_or_else(|| panic!("{event:?} is silent")).sound;
            let same = known.iter().find(|(other, _)| *other == sound);
            assert_eq!(same, None, "{event:?}");
            let samples = sound.render();
            let loudest = samples.iter().fold(0.0f32, |most, one| most.max(one.abs()));
            assert!((0.1..=1.0).contains(&loudest), "{event:?}: {loudest}");
            assert!(sound.length() < 2.0, "{event:?}");
            known.push((sound, event));
        }
    }

    #[test]
    fn what_somebody_else_draws_is_a_secret_and_rounds_are_won_or_lost() {
        let game = game();
        let drawn = HatHuntersEvent::ItemDrawn {
            player: OTHER,
            item: ItemKind::Axe,
        };
        assert_eq!(heard(&game, &drawn, Some(ME)), None);
        let over = HatHuntersEvent::RoundOver { winner: Some(ME) };
        let sound = |listener| heard(&game, &over, listener).unwrap().sound;
        assert_eq!(sound(Some(ME)), &ROUND_WON);
        assert_eq!(sound(None), &ROUND_WON);
        assert_eq!(sound(Some(OTHER)), &ROUND_LOST);
    }
}
