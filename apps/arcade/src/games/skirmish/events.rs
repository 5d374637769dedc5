//! The recent events of Skirmish.

use eframe::egui::{Align2, Color32, Pos2, vec2};
use samestep_catalog::skirmish::{BuildingId, Skirmish, SkirmishEvent, UnitKind};
use samestep_sync::{EventStage, PlayerId};

use super::ground::Sight;
use super::spot;
use crate::canvas::Canvas;
use crate::drawn::{FADES, RecentEvent, Scene};
use crate::theme::{self, player_colour, player_name};

/// The maximum number of flashes shown.
const MOST: usize = 250;

/// Draws the recent events where the viewer sees them.
pub(super) fn paint(sight: Sight<'_>, scene: &Scene<'_, Skirmish>, canvas: &mut Canvas) {
    // A predicted event that was shown is not shown again when it is confirmed.
    let is_news = |recent: &&RecentEvent<'_, SkirmishEvent>| {
        recent.stage != EventStage::Confirmed || !recent.was_predicted
    };
    for recent in scene.recent.iter().filter(is_news).take(MOST) {
        let flash = Flash {
            age: (recent.ago / FADES).clamp(0.0, 1.0),
            is_cancelled: recent.stage == EventStage::Cancelled,
        };
        match *recent.event {
            SkirmishEvent::Killed {
                place,
                player,
                kind,
                ..
            } if sight.sees(place) => flash.killed(spot(place), kind, player, canvas),
            SkirmishEvent::Trained { unit, player, .. } => {
                let unit = sight.game.units().get(unit);
                if let Some(unit) = unit.filter(|unit| sight.sees(unit.place)) {
                    flash.appeared(spot(unit.place), 1.2, player, canvas);
                }
            }
            SkirmishEvent::Built {
                building, player, ..
            } => flash.building(sight, building, player, canvas),
            SkirmishEvent::Captured { building, by, .. } => {
                flash.building(sight, building, by, canvas);
            }
            _ => {}
        }
    }
    banner(sight.game, scene, canvas);
}

/// Something that fades.
struct Flash {
    /// From 0, just now, to 1.
    age: f32,
    is_cancelled: bool,
}

impl Flash {
    fn colour(&self, player: PlayerId) -> Color32 {
        let colour = match self.is_cancelled {
            true => Color32::GRAY,
            false => player_colour(usize::from(player.0)),
        };
        colour.gamma_multiply(1.0 - self.age)
    }

    /// A cross, and while it is new a burst.
    fn killed(&self, place: Pos2, kind: UnitKind, player: PlayerId, canvas: &mut Canvas) {
        let least = 2.0 / canvas.scale();
        let size = (if kind.is_soldier() { 0.5f32 } else { 0.35 }).max(least);
        let colour = self.colour(player);
        for way in [vec2(1.0, 1.0), vec2(1.0, -1.0)] {
            canvas.line(place - way * size, place + way * size, 1.5, colour);
        }
        if self.age < 0.35 && !self.is_cancelled {
            let strength = 1.0 - self.age / 0.35;
            let white = Color32::WHITE.gamma_multiply(0.55 * strength);
            let radius = (0.5 + 2.0 * self.age).max(2.5 * least);
            canvas.glow(place, radius, white);
        }
    }

    fn appeared(&self, place: Pos2, radius: f32, player: PlayerId, canvas: &mut Canvas) {
        let radius = radius * (0.4 + self.age);
        canvas.ring(place, radius, 1.5, self.colour(player));
    }

    fn building(
        &self,
        sight: Sight<'_>,
        building: BuildingId,
        player: PlayerId,
        canvas: &mut Canvas,
    ) {
        let building = sight.game.buildings().get(building.index());
        let Some(building) = building.filter(|building| sight.sees(building.place)) else {
            return;
        };
        let place = spot(building.place);
        canvas.glow(place, 5.0, self.colour(player).gamma_multiply(0.7));
        canvas.ring(place, 3.0 + 5.0 * self.age, 2.5, self.colour(player));
    }
}

/// How it ended, for this player or for all.
fn banner(game: &Skirmish, scene: &Scene<'_, Skirmish>, canvas: &mut Canvas) {
    let side = scene.viewer.and_then(|player| game.side_of(player));
    let is_defeated = side.is_some_and(|side| game.sides()[side.index()].is_defeated);
    let (words, colour) = match (game.winner(), is_defeated) {
        (Some(winner), _) if scene.viewer == Some(winner) => {
            ("Victory".to_string(), player_colour(usize::from(winner.0)))
        }
        (Some(winner), _) => {
            let name = player_name(usize::from(winner.0));
            (
                format!("{name} has won"),
                player_colour(usize::from(winner.0)),
            )
        }
        (None, true) => ("Defeated".to_string(), theme::FAINT),
        (None, false) => return,
    };
    let screen = canvas.screen();
    let at = screen.center_top() + vec2(0.0, screen.height() * 0.2);
    let size = (screen.height() * 0.09).clamp(18.0, 48.0);
    canvas.text_on_screen(
        at + vec2(1.5, 1.5),
        Align2::CENTER_CENTER,
        &words,
        size,
        theme::GROUND,
    );
    canvas.text_on_screen(at, Align2::CENTER_CENTER, &words, size, colour);
}
