//! Events as short animations. Predicted ones are drawn paler; cancelled ones become a cross.

use eframe::egui::{Color32, Pos2};
use samestep_catalog::rawrlocks::{Ability, RADIUS, Rawrlocks, RawrlocksEvent};
use samestep_sync::EventStage;

use crate::canvas::Canvas;
use crate::drawn::{FADES, RecentEvent, Scene};

use super::effects::{blast, burst, cross, fade, gate, number, part, puff, shatter};
use super::fireball::FIRE;
use super::{colour_of, icon, power_up, spot, yards};

/// How clearly something is drawn that may be taken back yet.
const UNSURE: f32 = 0.6;

const HURT: Color32 = Color32::from_rgb(255, 122, 104);
const GOLD: Color32 = Color32::from_rgb(255, 214, 92);
const TAKEN_BACK: Color32 = Color32::from_rgb(255, 92, 160);

type Events<'a> = [RecentEvent<'a, RawrlocksEvent>];

/// Something to be shown: how long ago it was, and how clearly.
struct ShownEvent<'a> {
    ago: f32,
    clear: f32,
    event: &'a RawrlocksEvent,
}

/// The events to show, each once, however often it was reported.
fn shown<'a>(recent: &'a Events<'a>) -> impl Iterator<Item = ShownEvent<'a>> {
    recent.iter().enumerate().filter_map(|(at, told)| {
        let is_same = |other: &&RecentEvent<'_, RawrlocksEvent>| other.event == told.event;
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

/// Draws the effects behind the warlocks.
pub(super) fn paint_below(scene: &Scene<'_, Rawrlocks>, canvas: &mut Canvas) {
    for ShownEvent { ago, clear, event } in shown(scene.recent) {
        match *event {
            RawrlocksEvent::ArenaShrank { yards } => {
                let part = part(ago, 0.7);
                let colour = FIRE.gamma_multiply(fade(part) * clear);
                let wide = 40.0 * (1.0 - part) * canvas.scale();
                canvas.ring(Pos2::ZERO, f32::from(yards) + 20.0, wide, colour);
            }
            RawrlocksEvent::Fired {
                player,
                ability: Ability::Thrust,
                place,
            } => {
                let dust = colour_of(player);
                blast(spot(place), 30.0, part(ago, 0.4), dust, clear, canvas);
            }
            RawrlocksEvent::Teleported { from, to, .. } => {
                let colour = icon::colour_of(Ability::Teleport);
                for place in [from, to] {
                    gate(spot(place), part(ago, 0.5), colour, clear, canvas);
                }
                let left = fade(part(ago, 0.3)) * clear;
                canvas.line(spot(from), spot(to), 2.0, colour.gamma_multiply(0.5 * left));
            }
            _ => {}
        }
    }
}

/// Draws the effects in front of them.
pub(super) fn paint_above(game: &Rawrlocks, scene: &Scene<'_, Rawrlocks>, canvas: &mut Canvas) {
    for shown in shown(scene.recent) {
        paint_event(game, &shown, canvas);
    }
    for told in scene.recent {
        if told.stage == EventStage::Cancelled
            && let Some(place) = told.event.place()
        {
            let left = 1.0 - told.ago / FADES;
            let colour = TAKEN_BACK.gamma_multiply(left);
            cross(spot(place), 10.0, colour, canvas);
        }
    }
}

fn paint_event(game: &Rawrlocks, shown: &ShownEvent<'_>, canvas: &mut Canvas) {
    let ShownEvent { ago, clear, event } = *shown;
    match *event {
        RawrlocksEvent::Fired {
            ability: Ability::Scourge,
            place,
            ..
        } => {
            let reach = yards(Ability::Scourge.stats().reach);
            let colour = icon::colour_of(Ability::Scourge);
            blast(spot(place), reach, part(ago, 0.45), colour, clear, canvas);
        }
        RawrlocksEvent::Burst { place, .. } => burst(spot(place), part(ago, 0.4), clear, canvas),
        RawrlocksEvent::Faded { place, .. } => puff(spot(place), part(ago, 0.5), clear, canvas),
        RawrlocksEvent::Hit { damage, place, .. } if damage > 0 => {
            number(
                spot(place),
                &format!("-{damage}"),
                ago,
                16.0,
                HURT,
                clear,
                canvas,
            );
        }
        RawrlocksEvent::Burnt { damage, place, .. } => {
            number(
                spot(place),
                &format!("-{damage}"),
                ago,
                12.0,
                FIRE,
                clear,
                canvas,
            );
        }
        RawrlocksEvent::Died {
            victim,
            killer,
            place,
        } => {
            let colour = colour_of(victim);
            shatter(spot(place), part(ago, FADES), colour, clear, canvas);
            let killer = killer.and_then(|killer| game.avatar_of(killer));
            if let Some(killer) = killer.filter(|killer| killer.is_alive()) {
                number(spot(killer.place()), "+1", ago, 20.0, GOLD, clear, canvas);
            }
        }
        RawrlocksEvent::PowerTaken { player, kind } => {
            let (colour, part) = (power_up::colour_of(kind), part(ago, 0.6));
            blast(spot(kind.place()), 50.0, part, colour, clear, canvas);
            if let Some(avatar) = game.avatar_of(player) {
                let words = format!("double {}", kind.name());
                number(
                    spot(avatar.place()),
                    &words,
                    ago,
                    14.0,
                    colour,
                    clear,
                    canvas,
                );
            }
        }
        RawrlocksEvent::PowerUpBack { kind } => {
            let colour = power_up::colour_of(kind);
            gate(spot(kind.place()), part(ago, 0.6), colour, clear, canvas);
        }
        RawrlocksEvent::PowerEnded { player, kind } => {
            if let Some(avatar) = game.avatar_of(player) {
                let left = fade(part(ago, 0.5)) * clear;
                let colour = power_up::colour_of(kind).gamma_multiply(left);
                let radius = yards(RADIUS) * (1.4 - 0.6 * part(ago, 0.5));
                canvas.ring(spot(avatar.place()), radius, 2.0, colour);
            }
        }
        RawrlocksEvent::Hit { .. }
        | RawrlocksEvent::Fired { .. }
        | RawrlocksEvent::CastBegan { .. }
        | RawrlocksEvent::Teleported { .. }
        | RawrlocksEvent::ArenaShrank { .. }
        | RawrlocksEvent::RoundBegan { .. }
        | RawrlocksEvent::RoundOver { .. }
        | RawrlocksEvent::MatchOver { .. }
        | RawrlocksEvent::Joined { .. }
        | RawrlocksEvent::Left { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(
        stage: EventStage,
        ago: f32,
        event: &RawrlocksEvent,
    ) -> RecentEvent<'_, RawrlocksEvent> {
        RecentEvent {
            ago,
            stage,
            was_predicted: stage != EventStage::Predicted,
            event,
        }
    }

    #[test]
    fn what_was_predicted_is_shown_once_and_pale_until_it_is_certain() {
        let event = RawrlocksEvent::RoundBegan { number: 1 };
        let clear = |recent: &Events<'_>| {
            let all = shown(recent).map(|shown| shown.clear);
            all.collect::<Vec<_>>()
        };
        let predicted = told(EventStage::Predicted, 0.2, &event);
        assert_eq!(clear(&[predicted]), [UNSURE]);
        let confirmed = [
            told(EventStage::Confirmed, 0.1, &event),
            told(EventStage::Predicted, 0.2, &event),
        ];
        assert_eq!(clear(&confirmed), [1.0]);
        let cancelled = [
            told(EventStage::Cancelled, 0.1, &event),
            told(EventStage::Predicted, 0.2, &event),
        ];
        assert!(clear(&cancelled).is_empty());
    }
}
