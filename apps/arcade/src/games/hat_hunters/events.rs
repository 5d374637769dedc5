//! Events as short animations. Predicted ones are drawn paler; cancelled ones become a cross.

use std::f32::consts::{PI, TAU};

use eframe::egui::{Color32, Pos2, Vec2, vec2};
use samestep_catalog::hat_hunters::{HatHunters, HatHuntersEvent, ItemKind};
use samestep_sync::{EntityId, EventStage};

use crate::canvas::{Canvas, mix};
use crate::drawn::{FADES, RecentEvent, Scene};

use super::icon::{self, GREEN};
use super::shapes::{block, coin, light, star, way};
use super::{colour_of, ghost, scatter, spot};

/// How clearly something is drawn that may be taken back yet.
const UNSURE: f32 = 0.6;

const GOLD: Color32 = Color32::from_rgb(255, 222, 96);
const DUST: Color32 = Color32::from_rgb(214, 196, 160);
const SPLINTER: Color32 = Color32::from_rgb(176, 126, 70);
const FIRE: Color32 = Color32::from_rgb(255, 150, 50);
const TAKEN_BACK: Color32 = Color32::from_rgb(255, 92, 160);

type Events<'a> = [RecentEvent<'a, HatHuntersEvent>];

/// Something to be shown: how long ago it was, and how clearly.
struct ShownEvent<'a> {
    ago: f32,
    clear: f32,
    event: &'a HatHuntersEvent,
}

/// The events to show, each once, however often it was reported.
fn shown<'a>(recent: &'a Events<'a>) -> impl Iterator<Item = ShownEvent<'a>> {
    recent.iter().enumerate().filter_map(|(at, told)| {
        let is_same = |other: &&RecentEvent<'_, HatHuntersEvent>| other.event == told.event;
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
pub(super) fn latest(recent: &Events<'_>, is_it: impl Fn(&HatHuntersEvent) -> bool) -> Option<f32> {
    let times = shown(recent).filter(|shown| is_it(shown.event));
    times.map(|shown| shown.ago).reduce(f32::min)
}

/// Where an event took place, if it has a place of its own.
pub(super) fn place_of(event: &HatHuntersEvent) -> Option<Pos2> {
    match event {
        HatHuntersEvent::BoxPlaced { cell, .. }
        | HatHuntersEvent::BoxRemoved { cell }
        | HatHuntersEvent::ItemCollected { cell, .. }
        | HatHuntersEvent::Grew { cell } => Some(spot(cell.middle())),
        HatHuntersEvent::StarCollected { place, .. }
        | HatHuntersEvent::ItemUsed { place, .. }
        | HatHuntersEvent::Bounced { place }
        | HatHuntersEvent::Broke { place }
        | HatHuntersEvent::Burst { place }
        | HatHuntersEvent::Hit { place, .. }
        | HatHuntersEvent::StarLost { place, .. }
        | HatHuntersEvent::Out { place, .. } => Some(spot(*place)),
        _ => None,
    }
}

/// Draws the effects behind the characters.
pub(super) fn paint_below(scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    for shown in shown(scene.recent) {
        let Some(middle) = place_of(shown.event) else {
            continue;
        };
        let part = (shown.ago / 0.5).min(1.0);
        let fade = (1.0 - part) * shown.clear;
        match shown.event {
            HatHuntersEvent::BoxPlaced { .. } | HatHuntersEvent::Grew { .. } => {
                for side in 0..8 {
                    let puff = middle + way(side, 8) * (0.45 + 0.35 * part);
                    coin(
                        puff,
                        0.16 * (1.0 - part),
                        DUST.gamma_multiply(0.7 * fade),
                        canvas,
                    );
                }
            }
            HatHuntersEvent::Burst { .. } => {
                light(middle, 2.6, FIRE.gamma_multiply(0.8 * fade), canvas);
            }
            _ => {}
        }
    }
}

/// Draws the effects in front of them.
pub(super) fn paint_above(game: &HatHunters, scene: &Scene<'_, HatHunters>, canvas: &mut Canvas) {
    for shown in shown(scene.recent) {
        paint_event(game, &shown, canvas);
    }
    for told in scene.recent {
        if told.stage == EventStage::Cancelled
            && let Some(place) = place_of(told.event)
        {
            let left = 1.0 - told.ago / FADES;
            let is_small = matches!(told.event, HatHuntersEvent::Bounced { .. });
            let reach = if is_small { 0.14 } else { 0.3 };
            ghost::cross(place, reach, TAKEN_BACK.gamma_multiply(left), canvas);
        }
    }
}

fn paint_event(game: &HatHunters, shown: &ShownEvent<'_>, canvas: &mut Canvas) {
    let ShownEvent { ago, clear, event } = *shown;
    let part = (ago / FADES).min(1.0);
    let fade = (1.0 - part) * clear;
    let place = place_of(event);
    let character = |id: &EntityId| game.characters().get(*id).map(|it| spot(it.place()));
    match (event, place) {
        (HatHuntersEvent::StarCollected { .. }, Some(middle)) => {
            let rise = middle - vec2(0.0, 0.9 * part);
            light(rise, 0.7, GOLD.gamma_multiply(0.5 * fade), canvas);
            star(
                rise,
                0.26 * (1.0 - part * 0.4),
                ago * 5.0,
                GOLD.gamma_multiply(fade),
                canvas,
            );
            sparks(middle, 0.9, GOLD, part, fade, canvas);
        }
        (HatHuntersEvent::ItemCollected { .. }, Some(middle)) => {
            sparks(
                middle,
                0.7,
                Color32::from_rgb(150, 180, 255),
                part,
                fade,
                canvas,
            );
        }
        (HatHuntersEvent::BoxRemoved { cell }, Some(middle)) => {
            for nth in 0..9 {
                let chance = |of| scatter(cell.column.into(), cell.row.into(), 50 + 3 * nth + of);
                let along = Vec2::angled(chance(0) * TAU) * (0.3 + 1.1 * chance(1));
                let chip = middle + along * part + vec2(0.0, 0.5 * part * part);
                let half = vec2(0.13, 0.05) * (1.2 - part);
                block(chip, half, SPLINTER.gamma_multiply(fade), canvas);
            }
        }
        (HatHuntersEvent::ItemUsed { item, .. }, Some(middle)) => {
            if *item == ItemKind::Whistle {
                for nth in 0..3 {
                    let far = 1.0 + 5.0 * part - nth as f32 * 0.5;
                    let white = Color32::WHITE.gamma_multiply(0.6 * fade);
                    canvas.ring(middle, far.max(0.1), 1.6, white);
                }
            }
            icon::paint(
                *item,
                middle - vec2(0.0, 0.7 + 0.5 * part),
                0.26 * (1.0 - part),
                canvas,
            );
        }
        (HatHuntersEvent::Bounced { .. }, Some(middle)) => {
            let part = (ago / 0.25).min(1.0);
            let colour = Color32::WHITE.gamma_multiply((1.0 - part) * clear * 0.8);
            canvas.ring(middle, 0.12 + 0.3 * part, 1.6, colour);
        }
        (HatHuntersEvent::Broke { .. }, Some(middle)) => {
            sparks(middle, 0.8, GREEN, part, fade, canvas);
        }
        (HatHuntersEvent::Burst { .. }, Some(middle)) => {
            let red = mix(FIRE, Color32::from_rgb(90, 60, 60), part);
            for side in 0..12 {
                let far = 2.2 * (1.0 - (1.0 - part) * (1.0 - part));
                let puff = middle + way(side, 12) * far * (0.6 + 0.4 * scatter(side as i32, 7, 3));
                coin(puff, 0.5 * (1.0 - part), red.gamma_multiply(fade), canvas);
            }
            canvas.ring(middle, 2.25 * part.sqrt(), 3.0, FIRE.gamma_multiply(fade));
        }
        (HatHuntersEvent::Hit { .. }, Some(middle)) => {
            let part = (ago / 0.4).min(1.0);
            let fade = (1.0 - part) * clear;
            for side in 0..6 {
                let (from, to) = (0.35 + 0.3 * part, 0.6 + 0.4 * part);
                let along = way(side, 6);
                canvas.line(
                    middle + along * from,
                    middle + along * to,
                    2.4,
                    Color32::WHITE.gamma_multiply(fade),
                );
            }
        }
        (HatHuntersEvent::Out { .. }, Some(middle)) => {
            for side in 0..10 {
                let puff = middle + way(side, 10) * (0.2 + 0.7 * part);
                coin(
                    puff,
                    0.26 * (1.0 - part),
                    Color32::from_gray(230).gamma_multiply(fade),
                    canvas,
                );
            }
        }
        (HatHuntersEvent::StarStolen { victim, by }, _) => {
            if let Some((from, to)) = character(victim).zip(character(by)) {
                let there = from + (to - from) * part - vec2(0.0, (part * PI).sin() * 0.6);
                star(there, 0.24, ago * 9.0, GOLD.gamma_multiply(clear), canvas);
            }
        }
        (
            HatHuntersEvent::HatOn {
                character: id,
                player,
            },
            _,
        ) => {
            if let Some(middle) = character(id) {
                let colour = colour_of(*player).gamma_multiply(fade);
                canvas.ring(middle, 0.5 + 1.2 * part, 3.0, colour);
            }
        }
        _ => {}
    }
}

/// Points that fly apart.
fn sparks(middle: Pos2, far: f32, colour: Color32, part: f32, fade: f32, canvas: &mut Canvas) {
    let out = 1.0 - (1.0 - part) * (1.0 - part);
    for side in 0..8 {
        let spark = middle + way(side, 8) * (0.2 + far * out);
        coin(
            spark,
            0.07 * (1.0 - part),
            colour.gamma_multiply(fade),
            canvas,
        );
    }
}
