//! Units of Skirmish: thousands of them in a few triangles each.

use eframe::egui::{Color32, Pos2, Rect, Vec2, vec2};
use samestep_catalog::skirmish::{ONE, SideId, Skirmish, Unit, UnitKind, Work};
use samestep_sync::EntityId;

use super::ground::Sight;
use super::keyboard::Circle;
use super::spot;
use crate::canvas::{Canvas, mix};
use crate::theme;

/// The colour of units and buildings without a side.
pub(super) const NOBODY: Color32 = Color32::from_rgb(0xb4, 0xb4, 0xac);
const DARK: Color32 = Color32::from_rgb(0x12, 0x16, 0x18);
const HURT: Color32 = Color32::from_rgb(0x50, 0x18, 0x18);
const GOLD: Color32 = Color32::from_rgb(0xff, 0xd3, 0x55);
const STEEL: Color32 = Color32::from_rgb(0xe8, 0xec, 0xf0);
const CHOSEN: Color32 = Color32::from_rgb(0xff, 0xff, 0xe0);
const WELL: Color32 = Color32::from_rgb(0x6f, 0xdc, 0x6a);
const BAD: Color32 = Color32::from_rgb(0xf0, 0x5a, 0x3c);

/// Triangles that the units of a screen may take; if there are too many of them, they get simpler.
const TRIANGLES: usize = 30_000;

/// The sides' colours, and what each kind of units makes of them.
pub(super) struct Colours {
    sides: Vec<[Color32; 4]>,
}

impl Colours {
    pub(super) fn new(game: &Skirmish) -> Colours {
        let tones = |side: &samestep_catalog::skirmish::Side| {
            let base = theme::player_colour(usize::from(side.player.0));
            [
                mix(base, Color32::from_rgb(0xd8, 0xc8, 0xa0), 0.5),
                base,
                mix(base, Color32::WHITE, 0.42),
                mix(base, Color32::BLACK, 0.16),
            ]
        };
        Colours {
            sides: game.sides().iter().map(tones).collect(),
        }
    }

    /// A side's colour.
    pub(super) fn of(&self, side: SideId) -> Color32 {
        self.tone(side, UnitKind::Spear)
    }

    fn tone(&self, side: SideId, kind: UnitKind) -> Color32 {
        let tones = self.sides.get(side.index());
        tones.map_or(NOBODY, |tones| tones[kind as usize])
    }
}

/// How units are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Detail {
    /// Two triangles.
    Dots,
    /// Two or three corners, by which the kinds differ.
    Shapes,
    /// About twenty.
    Figures,
}

impl Detail {
    /// The level of detail for a scale and a number of units.
    pub(super) fn of(scale: f32, units: usize) -> Detail {
        match scale {
            ..4.0 => Detail::Dots,
            9.0.. if units * 24 <= TRIANGLES => Detail::Figures,
            _ => Detail::Shapes,
        }
    }
}

/// The selection: a squad, or the units in a circle.
#[derive(Clone, Copy)]
pub(super) struct Chosen {
    pub(super) side: SideId,
    pub(super) squad: u8,
    pub(super) circle: Option<Circle>,
}

impl Chosen {
    fn has(&self, unit: &Unit) -> bool {
        unit.side == self.side
            && match self.circle {
                Some(circle) => circle.contains(spot(unit.place)),
                None => unit.squad == self.squad,
            }
    }
}

/// Draws the units that are seen.
pub(super) fn paint(
    sight: Sight<'_>,
    colours: &Colours,
    chosen: Option<Chosen>,
    seconds: f32,
    canvas: &mut Canvas,
) {
    let window = canvas.seen().expand(1.0);
    let is_shown = |unit: &Unit| window.contains(spot(unit.place)) && sight.sees(unit.place);
    let units = || sight.game.units().iter().filter(|(_, unit)| is_shown(unit));
    let mut crowd = Crowd {
        game: sight.game,
        colours,
        detail: Detail::of(canvas.scale(), units().count()),
        seconds,
        canvas,
    };
    for (id, unit) in units() {
        let is_chosen = chosen.is_some_and(|chosen| chosen.has(unit));
        crowd.unit(id, unit, is_chosen);
    }
    if crowd.detail != Detail::Dots {
        for (id, unit) in units() {
            crowd.arrow(id, unit);
        }
    }
}

struct Crowd<'a> {
    game: &'a Skirmish,
    colours: &'a Colours,
    detail: Detail,
    seconds: f32,
    canvas: &'a mut Canvas,
}

impl Crowd<'_> {
    fn unit(&mut self, id: EntityId, unit: &Unit, is_chosen: bool) {
        let place = spot(unit.place);
        let tone = self.colours.tone(unit.side, unit.kind);
        let health = f32::from(unit.health) / f32::from(unit.kind.stats().health);
        match self.detail {
            Detail::Dots => self.dot(place, unit, tone, is_chosen),
            Detail::Shapes => {
                if is_chosen {
                    kite(
                        place,
                        vec2(0.0, -0.85),
                        0.85,
                        CHOSEN.gamma_multiply(0.45),
                        self.canvas,
                    );
                }
                let tone = mix(HURT, tone, 0.45 + 0.55 * health.clamp(0.0, 1.0));
                self.shape(place, unit, tone);
            }
            Detail::Figures => self.figure(place, id, unit, tone, health, is_chosen),
        }
    }

    fn dot(&mut self, place: Pos2, unit: &Unit, tone: Color32, is_chosen: bool) {
        let size = match unit.kind {
            UnitKind::Worker => 0.6,
            UnitKind::Knight => 1.05,
            UnitKind::Spear | UnitKind::Archer => 0.85,
        };
        // Never less than what can be seen.
        let size = (size as f32).max(1.3 / self.canvas.scale());
        let tone = if is_chosen {
            mix(tone, Color32::WHITE, 0.6)
        } else {
            tone
        };
        self.canvas
            .rect(Rect::from_center_size(place, Vec2::splat(size)), tone);
    }

    fn shape(&mut self, place: Pos2, unit: &Unit, tone: Color32) {
        let ahead = self.facing(unit);
        let side = ahead.rot90();
        match unit.kind {
            UnitKind::Worker => {
                kite(place, vec2(0.0, -0.42), 0.42, tone, self.canvas);
                if unit.work == Work::Carrying {
                    kite(
                        place - ahead * 0.3,
                        vec2(0.0, -0.26),
                        0.26,
                        GOLD,
                        self.canvas,
                    );
                }
            }
            // A point, a bow, a shield.
            UnitKind::Spear => self.canvas.polygon(
                &[
                    place + ahead * 0.85,
                    place + side * 0.38 - ahead * 0.15,
                    place - ahead * 0.5,
                    place - side * 0.38 - ahead * 0.15,
                ],
                tone,
            ),
            UnitKind::Archer => {
                for way in [1.0, -1.0] {
                    self.canvas.triangle(
                        [
                            place + ahead * 0.5,
                            place + side * (0.62 * way) - ahead * 0.42,
                            place - ahead * 0.12,
                        ],
                        tone,
                    );
                }
            }
            UnitKind::Knight => self.canvas.polygon(
                &[
                    place + ahead * 0.8,
                    place + side * 0.55 + ahead * 0.2,
                    place + side * 0.45 - ahead * 0.6,
                    place - side * 0.45 - ahead * 0.6,
                    place - side * 0.55 + ahead * 0.2,
                ],
                tone,
            ),
        }
    }

    fn figure(
        &mut self,
        place: Pos2,
        id: EntityId,
        unit: &Unit,
        tone: Color32,
        health: f32,
        is_chosen: bool,
    ) {
        let ahead = self.facing(unit);
        let side = ahead.rot90();
        if is_chosen {
            let corners = [(0.0, -0.9), (0.9, 0.0), (0.0, 0.9), (-0.9, 0.0)];
            let corners = corners.map(|(x, y)| place + vec2(x, y));
            self.canvas
                .outline(&corners, 1.0, CHOSEN.gamma_multiply(0.8));
        }
        let middle = place + self.lunge(id, unit, ahead);
        let canvas = &mut *self.canvas;
        six(
            middle + vec2(0.08, 0.14),
            vec2(0.0, 0.5),
            1.0,
            Color32::from_black_alpha(60),
            canvas,
        );
        let long = if unit.kind == UnitKind::Knight {
            1.5
        } else {
            1.0
        };
        six(middle, ahead * 0.5, long, DARK, canvas);
        six(middle, ahead * 0.41, long, tone, canvas);
        let thin = (0.14 * canvas.scale()).max(1.0);
        match unit.kind {
            UnitKind::Worker => {
                kite(middle, ahead * 0.22, 0.22, mix(tone, DARK, 0.55), canvas);
                if unit.work == Work::Carrying {
                    kite(middle - ahead * 0.45, vec2(0.0, -0.28), 0.28, GOLD, canvas);
                }
            }
            UnitKind::Spear => {
                let hand = middle + side * 0.38;
                canvas.line(
                    hand - ahead * 0.5,
                    hand + ahead * 0.95,
                    thin,
                    mix(STEEL, DARK, 0.35),
                );
                kite(hand + ahead * 1.0, ahead * 0.26, 0.12, STEEL, canvas);
                kite(
                    middle,
                    ahead * 0.2,
                    0.2,
                    mix(tone, Color32::WHITE, 0.5),
                    canvas,
                );
            }
            UnitKind::Archer => {
                let (left, right) = (middle + side * 0.6, middle - side * 0.6);
                let bow = middle + ahead * 0.62;
                canvas.line(left, bow, thin, STEEL);
                canvas.line(bow, right, thin, STEEL);
                kite(middle, ahead * 0.2, 0.2, mix(tone, DARK, 0.5), canvas);
            }
            UnitKind::Knight => {
                kite(
                    middle + ahead * 0.72,
                    ahead * 0.3,
                    0.22,
                    mix(tone, DARK, 0.4),
                    canvas,
                );
                kite(middle, ahead * 0.26, 0.3, STEEL, canvas);
            }
        }
        if health < 0.995 {
            let colour = mix(BAD, WELL, health);
            let bar =
                Rect::from_center_size(place - vec2(0.0, 0.85), vec2(1.1, 2.0 / canvas.scale()));
            canvas.bar(bar, health, colour, DARK);
        }
    }

    /// Where a unit looks: where it goes, whom it fights, where its squad looks.
    fn facing(&self, unit: &Unit) -> Vec2 {
        let (x, y) = unit.velocity;
        let way = match (x, y, unit.target) {
            (0, 0, Some(target)) => self
                .game
                .units()
                .get(target)
                .map(|target| spot(target.place) - spot(unit.place)),
            (0, 0, None) => {
                let squad = self.game.squads(unit.side).get(usize::from(unit.squad));
                squad.map(|squad| vec2(f32::from(squad.facing.0), f32::from(squad.facing.1)))
            }
            _ => Some(vec2(f32::from(x), f32::from(y))),
        };
        let way = way.unwrap_or_default().normalized();
        if way == Vec2::ZERO {
            vec2(1.0, 0.0)
        } else {
            way
        }
    }

    /// The phase of a unit's attack, 0 to 1; `None` if no enemy is in range.
    fn swing(&self, id: EntityId, unit: &Unit) -> Option<(f32, Pos2)> {
        if unit.velocity != (0, 0) {
            return None;
        }
        let target = self.game.units().get(unit.target?)?;
        let stats = unit.kind.stats();
        let way = spot(target.place) - spot(unit.place);
        if way.length() > stats.range as f32 / ONE as f32 + 1.0 {
            return None;
        }
        let phase = id.number() as f32 * 0.618;
        let beat = self.seconds * 60.0 / f32::from(stats.period) + phase;
        Some((beat.fract(), spot(target.place)))
    }

    /// How far those who fight hand to hand lean forward.
    fn lunge(&self, id: EntityId, unit: &Unit, ahead: Vec2) -> Vec2 {
        match self
            .swing(id, unit)
            .filter(|_| unit.kind != UnitKind::Archer)
        {
            Some((beat, _)) => ahead * ((beat * std::f32::consts::TAU).sin().max(0.0) * 0.22),
            None => Vec2::ZERO,
        }
    }

    /// The arrow of an archer.
    fn arrow(&mut self, id: EntityId, unit: &Unit) {
        const FLIGHT: f32 = 0.45;
        if unit.kind != UnitKind::Archer || unit.target.is_none() {
            return;
        }
        let Some((beat, target)) = self.swing(id, unit).filter(|(beat, _)| *beat < FLIGHT) else {
            return;
        };
        let from = spot(unit.place);
        let tip = from + (target - from) * (beat / FLIGHT);
        let along = (target - from).normalized() * 0.7;
        self.canvas
            .line(tip - along, tip, 1.0, STEEL.gamma_multiply(0.8));
    }
}

/// Four corners: one ahead, one behind, and one on each side at this distance.
fn kite(middle: Pos2, ahead: Vec2, wide: f32, colour: Color32, canvas: &mut Canvas) {
    let side = ahead.normalized().rot90() * wide;
    canvas.polygon(
        &[middle + ahead, middle + side, middle - ahead, middle - side],
        colour,
    );
}

/// Six corners, longer than wide by a factor.
fn six(middle: Pos2, ahead: Vec2, long: f32, colour: Color32, canvas: &mut Canvas) {
    let (half, side) = (ahead * (0.5 * long), ahead.rot90() * 0.87);
    canvas.polygon(
        &[
            middle + ahead * long,
            middle + half + side,
            middle - half + side,
            middle - ahead * long,
            middle - half - side,
            middle + half - side,
        ],
        colour,
    );
}
