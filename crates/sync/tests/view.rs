//! What is drawn moves smoothly, and gets where it is right.
#![allow(missing_docs)]

use core::f32::consts::TAU;
use core::time::Duration;

use samestep_sync::{
    CellKind, Describe, Digest, Entities, EntityId, InvalidCell, Record, Replicate, Rng,
    SmoothConfig, SmoothView, Tick,
};

/// 20 ms a tick.
const RATE: u32 = 50;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Record)]
struct Figure {
    #[field(blend = "linear")]
    place: (f32, f32),
    #[field(blend = "linear")]
    height: f64,
    #[field(range(0, 255), blend = "linear")]
    shade: u8,
    #[field(blend = "linear")]
    steps: i32,
    #[field(range(0.0, 6.2831855), blend = "angle")]
    heading: f32,
    #[field(blend = "linear")]
    activity: Activity,
    #[field(blend = "linear")]
    is_lit: bool,
    health: u8,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Record)]
enum Activity {
    #[default]
    Nothing,
    Jump(f32),
    Throw {
        what: Option<f32>,
    },
}

#[derive(Clone, Replicate)]
struct Room {
    figures: Entities<Figure>,
    tiles: Vec<Tile>,
    camera: Tile,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Record)]
struct Tile {
    #[field(blend = "linear")]
    level: f32,
}

fn room() -> (Room, EntityId) {
    let mut room = Room {
        figures: Entities::new(),
        tiles: vec![Tile::default(); 3],
        camera: Tile::default(),
    };
    let figure = room.figures.insert(Figure::default());
    (room, figure)
}

/// A view of a room with one figure, and what is drawn of it halfway between what it was and what it becomes.
fn halfway(before: Figure, after: Figure) -> Figure {
    let (mut room, figure) = room();
    *room.figures.get_mut(figure).unwrap() = before;
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(7), &room);
    *room.figures.get_mut(figure).unwrap() = after;
    view.handle_state(Tick(8), &room);
    *view.draw_part(ms(0), 0.5).figures.get(figure).unwrap()
}

#[test]
fn numbers_of_all_kinds_are_in_between_and_the_rest_is_not() {
    let before = Figure {
        place: (1.0, -1.0),
        height: 5.0,
        shade: 10,
        steps: -7,
        ..Figure::default()
    };
    let after = Figure {
        place: (2.0, -2.0),
        height: 8.0,
        shade: 255,
        steps: -10,
        is_lit: true,
        health: 100,
        ..before
    };
    let drawn = Figure {
        place: (1.5, -1.5),
        height: 6.5,
        shade: 133,
        steps: -9,
        ..after
    };
    assert_eq!(halfway(before, after), drawn);
}

#[test]
fn angles_take_the_shorter_way() {
    let heading = |before, after| {
        let figure = |heading| Figure {
            heading,
            ..Figure::default()
        };
        halfway(figure(before), figure(after)).heading
    };
    assert_eq!(heading(1.0, 2.0), 1.5);
    assert!((heading(0.2, TAU - 0.1) - 0.05).abs() < 1e-5);
    // What is drawn stays in the range that the game declared.
    assert!((heading(TAU - 0.3, 0.1) - (TAU - 0.1)).abs() < 1e-5);
}

#[test]
fn what_a_variant_holds_blends_while_it_is_that_variant() {
    let activity = |before, after| {
        let figure = |activity| Figure {
            activity,
            ..Figure::default()
        };
        halfway(figure(before), figure(after)).activity
    };
    let (jump, throw) = (Activity::Jump, |what| Activity::Throw { what });
    assert_eq!(activity(jump(1.0), jump(2.0)), jump(1.5));
    assert_eq!(activity(Activity::Nothing, jump(2.0)), jump(2.0));
    assert_eq!(activity(throw(Some(4.0)), jump(2.0)), jump(2.0));
    assert_eq!(activity(throw(None), throw(Some(2.0))), throw(Some(2.0)));
    assert_eq!(
        activity(throw(Some(1.0)), throw(Some(2.0))),
        throw(Some(1.5))
    );
    assert_eq!(activity(throw(Some(1.0)), throw(None)), throw(None));
    assert_eq!(activity(jump(f32::NAN), jump(2.0)), jump(2.0));
}

#[test]
fn lists_and_single_fields_blend_too() {
    let (mut room, _) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    room.tiles[2].level = 3.0;
    room.camera.level = 1.0;
    view.handle_state(Tick(1), &room);
    let drawn = view.draw_part(ms(0), 0.5);
    assert_eq!((drawn.tiles[2].level, drawn.camera.level), (1.5, 0.5));
    // Which of them is which is not known if there are more or fewer.
    room.tiles.remove(0);
    view.handle_state(Tick(2), &room);
    assert_eq!(view.draw_part(ms(0), 0.5).tiles, room.tiles);
}

#[test]
fn time_leads_from_tick_to_tick() {
    let (mut room, figure) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    let mut drawn = Vec::new();
    for frame in 0..200 {
        // A tick every fourth frame, sometimes one late.
        let tick = (frame + 4 - u64::from(frame % 3 == 0)) / 4;
        room.figures.get_mut(figure).unwrap().place.0 = tick as f32;
        view.handle_state(Tick(tick), &room);
        drawn.push(
            view.draw(ms(5 * frame))
                .figures
                .get(figure)
                .unwrap()
                .place
                .0,
        );
    }
    for pair in drawn[12..].windows(2) {
        assert!((pair[1] - pair[0] - 0.25).abs() < 1e-4, "{pair:?}");
    }
    // Without another tick it stands still where it got to.
    assert_eq!(
        view.draw(ms(5000)).figures.get(figure).unwrap().place.0,
        50.0
    );
}

#[test]
fn entities_are_themselves_wherever_they_lie() {
    let (mut room, first) = room();
    let figure = |x| Figure {
        place: (x, 0.0),
        ..Figure::default()
    };
    let others: Vec<_> = (1..6)
        .map(|n| room.figures.insert(figure(n as f32)))
        .collect();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    view.draw(ms(0));
    // A correction leaves offsets, then rows change their places.
    for id in &others {
        room.figures.get_mut(*id).unwrap().place.1 = 10.0;
    }
    view.handle_state(Tick(0), &room);
    room.figures.remove(first);
    let new = room.figures.insert(figure(50.0));
    room.figures.get_mut(others[1]).unwrap().place.0 += 1.0;
    view.handle_state(Tick(1), &room);
    let drawn = view.draw_part(ms(0), 0.5);
    assert!(!drawn.figures.contains(first));
    assert_eq!(drawn.figures.get(new).unwrap().place, (50.0, 0.0));
    assert_eq!(drawn.figures.get(others[1]).unwrap().place, (2.5, 0.0));
    assert_eq!(drawn.figures.get(others[4]).unwrap().place, (5.0, 0.0));
    assert_eq!(drawn.figures.ids(), room.figures.ids());
}

#[test]
fn what_appears_or_vanishes_by_a_correction_does_so_at_once() {
    let (mut room, gone) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    view.draw(ms(0));
    room.figures.remove(gone);
    let come = room.figures.insert(Figure {
        place: (9.0, 9.0),
        ..Figure::default()
    });
    view.handle_state(Tick(0), &room);
    let drawn = view.draw(ms(1));
    assert!(!drawn.figures.contains(gone));
    assert_eq!(drawn.figures.get(come).unwrap().place, (9.0, 9.0));
    assert_eq!(view.stats().corrections, 0);
}

#[test]
fn what_was_corrected_glides_and_arrives_exactly() {
    let (mut room, figure) = room();
    let start = Figure {
        place: (3.0, 4.0),
        shade: 200,
        steps: 1000,
        heading: 0.25,
        ..Figure::default()
    };
    *room.figures.get_mut(figure).unwrap() = start;
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    view.draw(ms(0));
    let right = Figure {
        place: (0.0, 0.1),
        height: 0.7,
        shade: 0,
        steps: -1000,
        heading: TAU - 0.25,
        health: 7,
        ..start
    };
    *room.figures.get_mut(figure).unwrap() = right;
    view.handle_state(Tick(0), &room);
    let at_once = *view.draw(ms(0)).figures.get(figure).unwrap();
    assert_eq!(at_once, Figure { health: 7, ..start });
    let mut last = at_once;
    for frame in 1..120 {
        let drawn = *view.draw(ms(10 * frame)).figures.get(figure).unwrap();
        assert!(
            drawn.place.0 <= last.place.0 && drawn.shade <= last.shade && drawn.steps <= last.steps
        );
        assert!(last.place.0 - drawn.place.0 <= 0.1 * 3.0);
        // Through 0, not around by the other side.
        assert!(drawn.heading <= 0.2501 || drawn.heading >= TAU - 0.2501);
        last = drawn;
    }
    assert_eq!(last, right);
    let stats = view.stats();
    assert_eq!((stats.corrections, stats.moved, stats.snapped), (1, 1, 0));
    assert_eq!(stats.largest, 2000.0);
    assert!((stats.largest_angle - 0.5).abs() < 1e-6);
    view.reset_stats();
    assert_eq!(view.stats(), Default::default());
}

#[test]
fn nothing_glides_that_nobody_has_seen() {
    let (mut room, figure) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    for x in 1..100 {
        room.figures.get_mut(figure).unwrap().place.0 = x as f32;
        view.handle_state(Tick(0), &room);
    }
    assert_eq!(view.draw(ms(0)).figures.get(figure).unwrap().place.0, 99.0);
    assert_eq!((view.stats().corrections, view.stats().largest), (99, 1.0));
}

#[test]
fn what_is_too_far_off_is_there_at_once() {
    let (mut room, figure) = room();
    let config = SmoothConfig {
        snap: 10.0,
        ..SmoothConfig::default()
    };
    let mut view = SmoothView::new(config, RATE, Tick(0), &room);
    assert!(view.set_snap("figures.steps", 1000.0));
    assert!(!view.set_snap("figures.health", 1.0));
    view.draw(ms(0));
    let mut move_to = |x, steps| {
        let moved = room.figures.get_mut(figure).unwrap();
        (moved.place, moved.steps) = ((x, x), steps);
        room.clone()
    };
    // Ten along both axes is farther than ten.
    view.handle_state(Tick(0), &move_to(9.0, 500));
    let drawn = *view.draw(ms(0)).figures.get(figure).unwrap();
    assert_eq!((drawn.place, drawn.steps), ((9.0, 9.0), 0));
    assert_eq!(view.stats().snapped, 1);
    // Somebody who is put elsewhere does not fly there, neither.
    view.handle_state(Tick(1), &move_to(90.0, 500));
    let drawn = view.draw_part(ms(0), 0.1);
    assert_eq!(drawn.figures.get(figure).unwrap().place, (90.0, 90.0));
    view.handle_state(Tick(2), &move_to(92.0, 500));
    let drawn = view.draw_part(ms(0), 0.5);
    assert_eq!(drawn.figures.get(figure).unwrap().place, (91.0, 91.0));
}

#[test]
fn whole_numbers_stay_what_their_type_can_hold() {
    let mut rng = Rng::new(1);
    let (mut room, figure) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    for tick in 0..2000 {
        let again = tick - u64::from(rng.chance(0.3) && tick > 0);
        for tick in [again, tick] {
            let shade = rng.below(256) as u8;
            let changed = room.figures.get_mut(figure).unwrap();
            changed.shade = if rng.chance(0.5) {
                shade | 0xf8
            } else {
                shade & 7
            };
            changed.steps = rng.next_u32() as i32;
            view.handle_state(Tick(tick), &room);
            view.draw_part(ms(tick * 3), rng.unit());
        }
    }
    assert!(view.stats().corrections > 100);
}

/// A number that is even.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Even(u8);

impl Record for Even {
    const CELLS: usize = 1;

    fn describe(into: &mut Describe) {
        into.cell(CellKind::Unsigned);
    }

    fn store(&self, cells: &mut [u64]) {
        cells[0] = self.0.into();
    }

    fn load(cells: &[u64]) -> Result<Self, InvalidCell> {
        match u8::try_from(cells[0]) {
            Ok(even) if even % 2 == 0 => Ok(Even(even)),
            _ => Err(InvalidCell::FIRST),
        }
    }

    fn digest(&self, digest: &mut Digest) {
        digest.push(self.0.into(), 8);
    }
}

#[derive(Clone, Copy, Record)]
struct Pair {
    #[field(blend = "linear")]
    even: Even,
}

#[derive(Clone, Replicate)]
struct Pairs {
    pair: Pair,
}

#[test]
fn what_a_type_refuses_is_drawn_as_it_is() {
    let pairs = |even| Pairs {
        pair: Pair { even: Even(even) },
    };
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &pairs(0));
    view.handle_state(Tick(1), &pairs(4));
    assert_eq!(view.draw_part(ms(0), 0.5).pair.even, Even(2));
    assert_eq!(view.draw_part(ms(0), 0.25).pair.even, Even(4));
}

#[test]
fn another_state_is_glided_to_if_it_is_near_in_time() {
    let (mut room, figure) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(100), &room);
    view.draw(ms(0));
    room.figures.get_mut(figure).unwrap().place.0 = 8.0;
    view.replace(Tick(95), &room);
    assert_eq!(view.draw(ms(0)).figures.get(figure).unwrap().place.0, 0.0);
    room.figures.get_mut(figure).unwrap().place.0 = 80.0;
    view.replace(Tick(5000), &room);
    assert_eq!(view.draw(ms(0)).figures.get(figure).unwrap().place.0, 80.0);
    room.figures.get_mut(figure).unwrap().place.0 = 90.0;
    view.handle_state(Tick(5001), &room);
    assert_eq!(
        view.draw_part(ms(0), 0.5)
            .figures
            .get(figure)
            .unwrap()
            .place
            .0,
        85.0
    );
}

#[test]
fn nothing_is_allocated_once_it_is_under_way() {
    let mut rng = Rng::new(5);
    let (mut room, _) = room();
    for _ in 0..500 {
        room.figures.insert(Figure::default());
    }
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    let mut allocations = 0;
    for tick in 0..2000u64 {
        for again in tick.saturating_sub(3)..=tick {
            for _ in 0..20 {
                let at = rng.below(room.figures.len() as u32) as usize;
                room.figures.row_mut(at).unwrap().place.0 += 1.0;
            }
            // The newest one goes, so that another has its place.
            let newest = room.figures.ids()[room.figures.len() - 1];
            room.figures.remove(newest);
            room.figures.insert(Figure::default());
            let counted = allocation_counter::measure(|| {
                view.handle_state(Tick(again), &room);
                view.draw(ms(20 * tick));
                view.draw(ms(20 * tick + 10));
            });
            if tick > 100 {
                allocations += counted.count_total;
            }
        }
    }
    assert_eq!(allocations, 0);
    assert!(view.stats().corrections > 100);
}
