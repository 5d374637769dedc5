//! Events as short animations. Predicted ones are drawn paler; cancelled ones become a cross.

use eframe::egui::{Color32, Vec2, vec2};
use samestep_catalog::sublockus::{Ability, Sublockus, SublockusEvent};
use samestep_sync::EventStage;

use crate::canvas::{Canvas, mix};
use crate::drawn::{FADES, RecentEvent, Scene};

use super::effects::{
    banner, burst, dust, entered, fade, halo, lightning, number, part, shatter, slash, sparks,
};
use super::fireball::{FIRE, HEART};
use super::shapes::light;
use super::{colour_of, ghost, icon, spot};

/// How long a strike is seen, in seconds.
pub(super) const STRIKES: f32 = 0.2;

/// How clearly something is drawn that may be taken back yet.
const UNSURE: f32 = 0.6;

const HURT: Color32 = Color32::from_rgb(255, 122, 104);
const HEAL: Color32 = Color32::from_rgb(132, 236, 140);
const TAKEN_BACK: Color32 = Color32::from_rgb(255, 92, 160);

type Events<'a> = [RecentEvent<'a, SublockusEvent>];

/// Something to be shown: how long ago it was, and how clearly.
struct ShownEvent<'a> {
    ago: f32,
    clear: f32,
    event: &'a SublockusEvent,
}

/// The events to show, each once, however often it was reported.
fn shown<'a>(recent: &'a Events<'a>) -> impl Iterator<Item = ShownEvent<'a>> {
    recent.iter().enumerate().filter_map(|(at, told)| {
        let is_same = |other: &&RecentEvent<'_, SublockusEvent>| other.event == told.event;
        let clear = match told.stage {
            EventStage::Cancelled => return None,
            EventStage::Confirmed if told.was_predicted => return None,
            EventStage::Confirmed => 1.0,
            EventStage::Predicted => {
                let later = recent[..at].iter().rfind(is_same);
                match later.map(|told| told.stage) {
                    Some(EventStage::Cancelled) => return None,
                    Some(EventStage::Confirmed) => 1.0,
                    Some(EventStage::Predicted) | None => UNSURE,
                }
            }
        };
        Some(ShownEvent {
            ago: told.ago,
            clear,
            event: told.event,
        })
    })
}

/// The time since the last such event, if it is known.
pub(super) fn latest(recent: &Events<'_>, is_it: impl Fn(&SublockusEvent) -> bool) -> Option<f32> {
    let times = shown(recent).filter(|shown| is_it(shown.event));
    times.map(|shown| shown.ago).reduce(f32::min)
}

/// Draws the effects behind the characters.
pub(super) fn paint_below(scene: &Scene<'_, Sublockus>, canvas: &mut Canvas) {
    for shown in shown(scene.recent) {
        let ShownEvent { ago, clear, event } = shown;
        match *event {
            SublockusEvent::Entered { player, place } => {
                entered(
                    spot(place),
                    part(ago, 0.6),
                    colour_of(player),
                    clear,
                    canvas,
                );
            }
            SublockusEvent::Jumped { place, .. } => {
                dust(place, part(ago, 0.4), clear, canvas);
            }
            SublockusEvent::Burst { place, .. } => {
                let (middle, part) = (spot(place), part(ago, 0.3));
                light(
                    middle,
                    2.6,
                    FIRE.gamma_multiply(0.6 * fade(part) * clear),
                    canvas,
                );
            }
            _ => {}
        }
    }
}

/// Draws the effects in front of them.
pub(super) fn paint_above(game: &Sublockus, scene: &Scene<'_, Sublockus>, canvas: &mut Canvas) {
    for shown in shown(scene.recent) {
        paint_event(game, &shown, canvas);
    }
    for told in scene.recent {
        if told.stage == EventStage::Cancelled
            && let Some((_, place)) = told.event.place()
        {
            let left = 1.0 - told.ago / FADES;
            let is_small = matches!(told.event, SublockusEvent::Jumped { .. });
            let reach = if is_small { 0.14 } else { 0.3 };
            ghost::cross(spot(place), reach, TAKEN_BACK.gamma_multiply(left), canvas);
        }
    }
}

fn paint_event(game: &Sublockus, shown: &ShownEvent<'_>, canvas: &mut Canvas) {
    let ShownEvent { ago, clear, event } = *shown;
    match *event {
        SublockusEvent::Cast {
            player,
            ability,
            place,
            aim,
        } => {
            let colour = mix(colour_of(player), Color32::WHITE, 0.5).gamma_multiply(clear);
            let turn = aim.radians() as f32;
            match ability {
                Ability::Strike => slash(spot(place), turn, part(ago, STRIKES), colour, canvas),
                Ability::Mend => halo(spot(place), part(ago, 0.6), clear, canvas),
                Ability::Fireball | Ability::Bolt => {
                    let hand = spot(place) + Vec2::angled(turn) * 0.6;
                    let left = fade(part(ago, 0.15));
                    light(hand, 0.7, HEART.gamma_multiply(0.8 * left * clear), canvas);
                }
            }
        }
        SublockusEvent::Flashed { player, from, to } => {
            let left = fade(part(ago, 0.32)) * clear;
            lightning(from, to, ago, colour_of(player), left, canvas);
        }
        SublockusEvent::Burst { player, place } => {
            burst(place, part(ago, 0.4), colour_of(player), clear, canvas);
        }
        SublockusEvent::Hit { damage, place, .. } => {
            sparks(place, part(ago, 0.35), [HURT, HEART], clear, canvas);
            let is_hard = damage >= 30;
            let size = if is_hard { 17.0 } else { 14.0 };
            number(place, &format!("-{damage}"), ago, size, HURT, clear, canvas);
        }
        SublockusEvent::Healed { health, place, .. } => {
            number(place, &format!("+{health}"), ago, 14.0, HEAL, clear, canvas);
        }
        SublockusEvent::Fell { victim, place } => {
            shatter(place, part(ago, FADES), colour_of(victim), clear, canvas);
        }
        SublockusEvent::Died { killer, .. } => {
            let killer = killer.and_then(|killer| game.character_of(killer));
            if let Some(killer) = killer.filter(|killer| killer.is_in(game.clock())) {
                let gold = Color32::from_rgb(255, 214, 92);
                number(killer.place(), "+1", ago, 18.0, gold, clear, canvas);
            }
        }
        SublockusEvent::Taken { item, place, .. } | SublockusEvent::Used { item, place, .. } => {
            let part = part(ago, 0.5);
            let (colour, left) = (icon::colour_of(item), fade(part) * clear);
            let middle = spot(place) - vec2(0.0, part);
            canvas.ring(spot(place), 0.3 + part, 2.0, colour.gamma_multiply(left));
            if left > 0.0 {
                icon::paint(item, middle, 0.28 * (1.0 - part * 0.6), canvas);
            }
        }
        SublockusEvent::RoundOver { winner } => {
            let words = match winner {
                Some(winner) => format!("Player {} wins the round", winner.0 + 1),
                None => "A draw".into(),
            };
            banner(&words, ago, canvas);
        }
        SublockusEvent::RoundBegan => banner("A new round", ago, canvas),
        SublockusEvent::Entered { .. }
        | SublockusEvent::Jumped { .. }
        | SublockusEvent::Dropped { .. }
        | SublockusEvent::Joined { .. }
        | SublockusEvent::Left { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use samestep_sync::PlayerId;

    use super::*;

    fn told(
        stage: EventStage,
        ago: f32,
        event: &SublockusEvent,
    ) -> RecentEvent<'_, SublockusEvent> {
        RecentEvent {
            ago,
            stage,
            was_predicted: stage != EventStage::Predicted,
            event,
        }
    }

    #[test]
    fn what_was_predicted_and_confirmed_is_shown_once() {
        let event = SublockusEvent::Joined {
            player: PlayerId(1),
        };
        let recent = [
            told(EventStage::Confirmed, 0.1, &event),
            told(EventStage::Predicted, 0.2, &event),
        ];
        let all: Vec<_> = shown(&recent).map(|s| (s.ago, s.clear)).collect();
        assert_eq!(all, [(0.2, 1.0)]);
        assert_eq!(latest(&recent, |_| true), Some(0.2));
        assert_eq!(latest(&recent, |_| false), None);
    }

    #[test]
    fn what_may_be_taken_back_is_pale_and_what_was_is_gone() {
        let event = SublockusEvent::RoundBegan;
        let predicted = [told(EventStage::Predicted, 0.2, &event)];
        let all: Vec<_> = shown(&predicted).map(|s| s.clear).collect();
        assert_eq!(all, [UNSURE]);
        let cancelled = [
            told(EventStage::Cancelled, 0.1, &event),
            told(EventStage::Predicted, 0.2, &event),
        ];
        assert_eq!(shown(&cancelled).count(), 0);
    }
}
