//! The evaluation game on the screen.

use eframe::egui::{Color32, Pos2, Rect, Vec2, pos2, vec2};
use samestep_catalog::evaluation::{COLOURS, Command, Entity, Evaluation, WORLD};
use samestep_sync::{EntityId, PlayerId};

use super::camera::{Camera, narrowness};
use crate::canvas::{Canvas, Frame, corners, mix};
use crate::drawn::{Drawn, HumanInput, Scene};
use crate::theme::{GHOST, player_colour};

const GROUND: Color32 = Color32::from_rgb(0x12, 0x16, 0x1e);
const LINE: Color32 = Color32::from_rgb(0x1d, 0x23, 0x2e);
const EDGE: Color32 = Color32::from_rgb(0x3a, 0x43, 0x54);
const CHOSEN: Color32 = Color32::from_rgb(0xff, 0xff, 0xe0);

/// The colours that entities can have.
const PAINTS: [Color32; COLOURS as usize] = [
    Color32::from_rgb(0xf4, 0xf1, 0xe6),
    Color32::from_rgb(0xf0, 0x6a, 0x5d),
    Color32::from_rgb(0xf5, 0xc2, 0x4c),
    Color32::from_rgb(0x7c, 0xc9, 0x6b),
    Color32::from_rgb(0x4f, 0xc3, 0xd9),
    Color32::from_rgb(0x5b, 0x7c, 0xf0),
    Color32::from_rgb(0xb0, 0x6d, 0xe8),
    Color32::from_rgb(0x2b, 0x30, 0x3a),
];

/// The maximum number of entities in a command.
const RUN: usize = 32;
/// Up to so many on the screen show where they come from.
const TAILS: usize = 5000;
/// Up to so many have an edge of their owner's colour; more are one triangle each.
const EDGES: usize = 6000;
/// The smallest difference that is drawn as a line, in points of the screen.
const LEAST: f32 = 1.2;
/// How long a mark is shown, in steps.
const MARK: u16 = 36;

/// The state of a screen between frames.
#[derive(Default)]
pub struct ViewState {
    camera: Camera,
    /// The first of those chosen, and how many.
    chosen: Option<(u16, u8)>,
    /// Where some were sent, and for how many steps that is still shown.
    mark: Option<(Pos2, u16)>,
    pointed: Option<Pos2>,
}

impl ViewState {
    fn has(&self, number: usize) -> bool {
        self.chosen.is_some_and(|(first, count)| {
            (usize::from(first)..usize::from(first) + usize::from(count)).contains(&number)
        })
    }
}

/// The whole world.
fn world() -> Rect {
    Rect::from_min_size(Pos2::ZERO, Vec2::splat(f32::from(WORLD)))
}

fn spot(entity: &Entity) -> Pos2 {
    let (x, y) = entity.position;
    pos2(x, y)
}

fn goal(entity: &Entity) -> Pos2 {
    let (x, y) = entity.coordinates;
    pos2(x as f32, y as f32)
}

impl Drawn for Evaluation {
    type ViewState = ViewState;

    const KEYS: &'static [(&'static str, &'static str)] = &[
        ("Directions, wheel", "look elsewhere, nearer, farther"),
        ("Action 1", "choose the nearest of yours and up to 31 more"),
        ("Action 2", "send them there"),
        ("1 to 8", "paint them"),
    ];

    fn frame(&self, viewer: Option<PlayerId>, view_state: &ViewState, screen: Vec2) -> Frame {
        let map = world();
        // A player's screen is filled; a spectator sees the whole world.
        let part = viewer.map_or(1.0, |_| narrowness(screen));
        let usual = Frame {
            centre: map.center(),
            size: map.size() * part,
        };
        view_state.camera.frame(map, usual, screen)
    }

    fn paint(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        paint_ground(canvas);
        let window = canvas.seen().expand(4.0);
        let is_shown = |entity: &Entity| window.contains(spot(entity));
        let entities = || self.entities().iter().enumerate();
        let shown = || entities().filter(|(_, entity)| is_shown(entity));
        let count = shown().count();
        let size = size_of(count, canvas);
        for (number, entity) in shown() {
            if count <= TAILS {
                paint_tail(entity, size, canvas);
            }
            if scene.view_state.has(number) {
                canvas.line(spot(entity), goal(entity), 1.0, CHOSEN.gamma_multiply(0.35));
                canvas.rect(square(spot(entity), size * 1.9), CHOSEN);
            }
            paint_entity(entity, size, count <= EDGES, canvas);
        }
        if let Some((place, left)) = scene.view_state.mark {
            let left = f32::from(left) / f32::from(MARK);
            let radius = 16.0 * left / canvas.scale();
            canvas.ring(place, radius, 2.0, CHOSEN.gamma_multiply(left));
        }
    }

    fn paint_ghost(&self, scene: &Scene<'_, Self>, canvas: &mut Canvas) {
        let window = canvas.seen();
        let drawn = scene.drawn.entities().iter();
        let is_shown = |entity: &&Entity| window.contains(spot(entity));
        let count = drawn.filter(is_shown).count();
        let size = size_of(count, canvas);
        // A crowd is drawn fainter: one still sees what is under it.
        let strength = (1500.0 / count.max(1) as f32).clamp(0.3, 1.0);
        let ghost = |part: f32| GHOST.gamma_multiply(part * strength);
        let least = LEAST / canvas.scale();
        for (real, drawn) in self.entities().iter().zip(scene.drawn.entities()) {
            let (place, seen) = (spot(real), spot(drawn));
            if !window.contains(place) {
                continue;
            }
            if real.coordinates != drawn.coordinates && count <= TAILS {
                let ahead = place + heading(real) * (size * 2.5);
                canvas.line(place, ahead, 1.0, ghost(0.7));
            }
            let off = (place - seen).abs();
            let is_off = off.x.max(off.y) > least;
            if is_off {
                canvas.line(seen, place, 1.0, ghost(0.6));
            }
            if is_off || real.colour != drawn.colour {
                let colour = ghost(0.85);
                match size * canvas.scale() {
                    ..4.0 => canvas.rect(square(place, size * 0.6), colour),
                    _ => canvas.outline(&corners(square(place, size * 1.25)), 1.0, colour),
                }
            }
        }
    }

    fn human_input(
        &self,
        player: PlayerId,
        view_state: &mut ViewState,
        human: &HumanInput,
    ) -> Command {
        view_state.camera.follow(human, world());
        if let Some((_, left)) = &mut view_state.mark {
            *left = left.saturating_sub(1);
        }
        view_state.mark.take_if(|(_, left)| *left == 0);
        if let Some(pointer) = &human.pointer {
            view_state.pointed = Some(pointer.place);
        }
        let middle = human.seen.map(|seen| seen.center());
        let Some(place) = view_state.pointed.or(middle) else {
            return Command::None;
        };
        if human.button(0).pressed {
            view_state.chosen = nearest_run(self, player, place);
        }
        let Some((first, count)) = view_state.chosen else {
            return Command::None;
        };
        if human.button(1).pressed {
            view_state.mark = Some((place, MARK));
            let along = |at: f32| at.round().clamp(0.0, f32::from(WORLD - 1)) as u16;
            let (x, y) = (along(place.x), along(place.y));
            return Command::Move { first, count, x, y };
        }
        match human.digit {
            Some(digit @ 1..=COLOURS) => Command::Paint {
                first,
                count,
                colour: digit - 1,
            },
            _ => Command::None,
        }
    }

    fn caption(&self, viewer: Option<PlayerId>) -> String {
        let own = viewer.and_then(|player| self.share_of(player));
        match own {
            Some(own) => format!("{} of {} entities", own.len(), self.entities().len()),
            None => format!("{} entities", self.entities().len()),
        }
    }

    fn place_of(&self, part: &str, entity: Option<EntityId>) -> Option<Pos2> {
        // Number 5 has the id `EntityId::fixed(5)`.
        let id = entity.filter(|id| part == "entities" && id.is_fixed())?;
        let number = u16::try_from(id.number() & 0xff_ffff).ok()?;
        self.entity(number).map(spot)
    }
}

/// The player's entity that is nearest to a place, and those whose numbers follow.
fn nearest_run(game: &Evaluation, player: PlayerId, place: Pos2) -> Option<(u16, u8)> {
    let own = game.share_of(player)?;
    let distance = |number: &usize| {
        let entity = game.entities().get(*number);
        entity.map_or(f32::MAX, |entity| (spot(entity) - place).length_sq())
    };
    let first = own
        .clone()
        .min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
    Some((first as u16, (own.end - first).min(RUN) as u8))
}

fn paint_ground(canvas: &mut Canvas) {
    const STEP: f32 = 64.0;
    canvas.fill(Color32::from_rgb(0x0a, 0x0d, 0x12));
    let map = world();
    canvas.rect(map, GROUND);
    for at in 1..(map.width() / STEP) as u32 {
        let along = at as f32 * STEP;
        canvas.line(pos2(along, map.min.y), pos2(along, map.max.y), 1.0, LINE);
        canvas.line(pos2(map.min.x, along), pos2(map.max.x, along), 1.0, LINE);
    }
    canvas.outline(&corners(map), 1.5, EDGE);
}

/// How wide entities are drawn, in units, if so many are on the screen.
fn size_of(count: usize, canvas: &Canvas) -> f32 {
    let screen = canvas.screen();
    let room = (screen.width() * screen.height() / count.max(1) as f32).sqrt();
    (room * 0.2).clamp(2.0, 9.0) / canvas.scale()
}

/// The colour of its owner.
fn tint(entity: &Entity) -> Color32 {
    player_colour(usize::from(entity.player.0))
}

/// Its direction: along both axes alike, until it has arrived there.
fn heading(entity: &Entity) -> Vec2 {
    let way = goal(entity) - spot(entity);
    let along = |way: f32| if way == 0.0 { 0.0 } else { way.signum() };
    vec2(along(way.x), along(way.y)).normalized()
}

/// Draws its fading tail.
fn paint_tail(entity: &Entity, size: f32, canvas: &mut Canvas) {
    let ahead = heading(entity);
    if ahead != Vec2::ZERO {
        let (place, side) = (spot(entity), ahead.rot90() * (size * 0.45));
        let colour = tint(entity).gamma_multiply(0.55);
        canvas.shaded([
            (place + side, colour),
            (place - side, colour),
            (place - ahead * (size * 2.6), Color32::TRANSPARENT),
        ]);
    }
}

fn paint_of(entity: &Entity) -> Color32 {
    PAINTS[usize::from(entity.colour) % PAINTS.len()]
}

fn paint_entity(entity: &Entity, size: f32, has_edge: bool, canvas: &mut Canvas) {
    let place = spot(entity);
    match has_edge && size * canvas.scale() >= 3.0 {
        true => {
            canvas.rect(square(place, size), tint(entity));
            canvas.rect(square(place, size * 0.52), paint_of(entity));
        }
        false => {
            let colour = mix(tint(entity), paint_of(entity), 0.3);
            let corner = |x: f32, y: f32| place + vec2(x, y) * size;
            canvas.triangle(
                [corner(0.0, -0.7), corner(0.7, 0.6), corner(-0.7, 0.6)],
                colour,
            );
        }
    }
}

fn square(middle: Pos2, width: f32) -> Rect {
    Rect::from_center_size(middle, Vec2::splat(width))
}

#[cfg(test)]
mod tests {
    use eframe::egui;
    use samestep_sync::{Events, Inputs, Simulation, Tick};

    use super::*;
    use crate::drawn::{Button, Pointer};

    const ME: PlayerId = PlayerId(1);

    fn paint(game: &Evaluation, truth: &Evaluation, view_state: &ViewState, size: Vec2) -> usize {
        let ctx = egui::Context::default();
        let mut triangles = 0;
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            let rect = Rect::from_min_size(pos2(30.0, 10.0), size);
            let frame = game.frame(Some(ME), view_state, size);
            let mut canvas = Canvas::new(ui.painter(), rect, frame);
            let scene = Scene {
                viewer: Some(ME),
                sharing: &[],
                drawn: game,
                view_state,
                recent: &[],
                names: &[],
                seconds: 1.0,
            };
            game.paint(&scene, &mut canvas);
            truth.paint_ghost(&scene, &mut canvas);
            triangles = canvas.triangles();
            canvas.finish();
        });
        output.textures_delta.clear();
        triangles
    }

    fn press(game: &Evaluation, view_state: &mut ViewState, place: Pos2, which: usize) -> Command {
        let mut buttons = [Button::default(); 2];
        buttons[which].pressed = true;
        let human = HumanInput {
            pointer: Some(Pointer {
                place,
                primary: buttons[0],
                secondary: buttons[1],
                scroll: 0.0,
            }),
            ..HumanInput::default()
        };
        game.human_input(ME, view_state, &human)
    }

    #[test]
    fn the_nearest_are_chosen_and_sent_and_painted() {
        let mut game = Evaluation::new(1, 2, 100);
        let mut view_state = ViewState::default();
        let place = spot(&game.entities()[60]);
        assert_eq!(press(&game, &mut view_state, place, 1), Command::None);
        press(&game, &mut view_state, place, 0);
        assert_eq!(view_state.chosen, Some((60, 32)));
        let sent = press(&game, &mut view_state, pos2(12.2, 2000.0), 1);
        let (first, count) = (60, 32);
        let (x, y) = (12, 1023);
        assert_eq!(sent, Command::Move { first, count, x, y });
        let digit = Some(3);
        let human = HumanInput {
            digit,
            ..HumanInput::default()
        };
        let painted = game.human_input(ME, &mut view_state, &human);
        let inputs = [Command::None, painted];
        let players = [PlayerId(0), ME];
        game.step(
            &Inputs::new(Tick(0), &players, &inputs, &[1]),
            &mut Events::new(),
        );
        assert!(game.entities()[60..92].iter().all(|one| one.colour == 2));
        // The last of one's own have nobody behind them.
        let last = spot(&game.entities()[97]);
        press(&game, &mut view_state, last, 0);
        assert_eq!(view_state.chosen, Some((97, 3)));
    }

    #[test]
    fn sixteen_thousand_take_few_triangles_and_ghosts_only_where_they_differ() {
        let size = vec2(640.0, 640.0);
        let game = Evaluation::new(1, 4, 16_000);
        let same = paint(&game, &game, &ViewState::default(), size);
        assert!((16_000..17_000).contains(&same), "{same} triangles");
        let mut other = game.clone();
        other.entity_mut(7).unwrap().position = (500.0, 500.0);
        let one = paint(&game, &other, &ViewState::default(), size) - same;
        assert!((1..=12).contains(&one), "{one} triangles");
    }

    #[test]
    fn it_is_drawn_at_any_size() {
        let mut game = Evaluation::new(1, 2, 300);
        let begin = game.clone();
        let players = [PlayerId(0), ME];
        for tick in 0..1200 {
            let inputs = [Command::None; 2];
            game.step(
                &Inputs::new(Tick(tick), &players, &inputs, &[]),
                &mut Events::new(),
            );
        }
        for size in [vec2(0.0, 0.0), vec2(3.0, 900.0), vec2(1900.0, 1000.0)] {
            paint(&game, &begin, &ViewState::default(), size);
        }
    }

    #[test]
    fn an_entity_can_be_pointed_at() {
        let game = Evaluation::new(1, 2, 300);
        let id = Some(EntityId::fixed(5));
        assert_eq!(
            game.place_of("entities", id),
            Some(spot(&game.entities()[5]))
        );
        assert_eq!(game.place_of("shares", id), None);
        assert_eq!(game.place_of("entities", Some(EntityId::fixed(300))), None);
    }
}
