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
struct Thing {
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
    doing: Doing,
    #[field(blend = "linear")]
    is_lit: bool,
    health: u8,
}

#[derive(Clone, Copy, PartialEq, Debug, Default, Record)]
enum Doing {
    #[default]
    Nothing,
    Jump(f32),
    Throw {
        what: Option<f32>,
    },
}

#[derive(Clone, Replicate)]
struct Room {
    things: Entities<Thing>,
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
        things: Entities::new(),
        tiles: vec![Tile::default(); 3],
        camera: Tile::default(),
    };
    let thing = room.things.insert(Thing::default());
    (room, thing)
}

/// A view of a room with one thing, and what is drawn of it halfway between what it was and what it becomes.
fn halfway(before: Thing, after: Thing) -> Thing {
    let (mut room, thing) = room();
    *room.things.get_mut(thing).unwrap() = before;
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(7), &room);
    *room.things.get_mut(thing).unwrap() = after;
    view.handle_state(Tick(8), &room);
    *view.draw_part(ms(0), 0.5).things.get(thing).unwrap()
}

#[test]
fn numbers_of_all_kinds_are_in_between_and_the_rest_is_not() {
    let before = Thing {
        place: (1.0, -1.0),
        height: 5.0,
        shade: 10,
        steps: -7,
        ..Thing::default()
    };
    let after = Thing {
        place: (2.0, -2.0),
        height: 8.0,
        shade: 255,
        steps: -10,
        is_lit: true,
        health: 100,
        ..before
    };
    let drawn = Thing {
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
        let thing = |heading| Thing {
            heading,
            ..Thing::default()
        };
        halfway(thing(before), thing(after)).heading
    };
    assert_eq!(heading(1.0, 2.0), 1.5);
    assert!((heading(0.2, TAU - 0.1) - 0.05).abs() < 1e-5);
    // What is drawn stays in the range that the game declared.
    assert!((heading(TAU - 0.3, 0.1) - (TAU - 0.1)).abs() < 1e-5);
}

#[test]
fn what_a_variant_holds_blends_while_it_is_that_variant() {
    let doing = |before, after| {
        let thing = |doing| Thing {
            doing,
            ..Thing::default()
        };
        halfway(thing(before), thing(after)).doing
    };
    let (jump, throw) = (Doing::Jump, |what| Doing::Throw { what });
    assert_eq!(doing(jump(1.0), jump(2.0)), jump(1.5));
    assert_eq!(doing(Doing::Nothing, jump(2.0)), jump(2.0));
    assert_eq!(doing(throw(Some(4.0)), jump(2.0)), jump(2.0));
    assert_eq!(doing(throw(None), throw(Some(2.0))), throw(Some(2.0)));
    assert_eq!(doing(throw(Some(1.0)), throw(Some(2.0))), throw(Some(1.5)));
    assert_eq!(doing(throw(Some(1.0)), throw(None)), throw(None));
    assert_eq!(doing(jump(f32::NAN), jump(2.0)), jump(2.0));
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
    let (mut room, thing) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    let mut drawn = Vec::new();
    for frame in 0..200 {
        // A tick every fourth frame, sometimes one late.
        let tick = (frame + 4 - u64::from(frame % 3 == 0)) / 4;
        room.things.get_mut(thing).unwrap().place.0 = tick as f32;
        view.handle_state(Tick(tick), &room);
        drawn.push(view.draw(ms(5 * frame)).things.get(thing).unwrap().place.0);
    }
    for pair in drawn[12..].windows(2) {
        assert!((pair[1] - pair[0] - 0.25).abs() < 1e-4, "{pair:?}");
    }
    // Without another tick it stands still where it got to.
    assert_eq!(view.draw(ms(5000)).things.get(thing).unwrap().place.0, 50.0);
}

#[test]
fn entities_are_themselves_wherever_they_lie() {
    let (mut room, first) = room();
    let thing = |x| Thing {
        place: (x, 0.0),
        ..Thing::default()
    };
    let others: Vec<_> = (1..6)
        .map(|n| room.things.insert(thing(n as f32)))
        .collect();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    view.draw(ms(0));
    // A correction leaves offsets, then rows change their places.
    for id in &others {
        room.things.get_mut(*id).unwrap().place.1 = 10.0;
    }
    view.handle_state(Tick(0), &room);
    room.things.remove(first);
    let new = room.things.insert(thing(50.0));
    room.things.get_mut(others[1]).unwrap().place.0 += 1.0;
    view.handle_state(Tick(1), &room);
    let drawn = view.draw_part(ms(0), 0.5);
    assert!(!drawn.things.contains(first));
    assert_eq!(drawn.things.get(new).unwrap().place, (50.0, 0.0));
    assert_eq!(drawn.things.get(others[1]).unwrap().place, (2.5, 0.0));
    assert_eq!(drawn.things.get(others[4]).unwrap().place, (5.0, 0.0));
    assert_eq!(drawn.things.ids(), room.things.ids());
}

#[test]
fn what_appears_or_vanishes_by_a_correction_does_so_at_once() {
    let (mut room, gone) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    view.draw(ms(0));
    room.things.remove(gone);
    let come = room.things.insert(Thing {
        place: (9.0, 9.0),
        ..Thing::default()
    });
    view.handle_state(Tick(0), &room);
    let drawn = view.draw(ms(1));
    assert!(!drawn.things.contains(gone));
    assert_eq!(drawn.things.get(come).unwrap().place, (9.0, 9.0));
    assert_eq!(view.stats().corrections, 0);
}

#[test]
fn what_was_corrected_glides_and_arrives_exactly() {
    let (mut room, thing) = room();
    let start = Thing {
        place: (3.0, 4.0),
        shade: 200,
        steps: 1000,
        heading: 0.25,
        ..Thing::default()
    };
    *room.things.get_mut(thing).unwrap() = start;
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    view.draw(ms(0));
    let right = Thing {
        place: (0.0, 0.1),
        height: 0.7,
        shade: 0,
        steps: -1000,
        heading: TAU - 0.25,
        health: 7,
        ..start
    };
    *room.things.get_mut(thing).unwrap() = right;
    view.handle_state(Tick(0), &room);
    let at_once = *view.draw(ms(0)).things.get(thing).unwrap();
    assert_eq!(at_once, Thing { health: 7, ..start });
    let mut last = at_once;
    for frame in 1..120 {
        let drawn = *view.draw(ms(10 * frame)).things.get(thing).unwrap();
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
    let (mut room, thing) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    for x in 1..100 {
        room.things.get_mut(thing).unwrap().place.0 = x as f32;
        view.handle_state(Tick(0), &room);
    }
    assert_eq!(view.draw(ms(0)).things.get(thing).unwrap().place.0, 99.0);
    assert_eq!((view.stats().corrections, view.stats().largest), (99, 1.0));
}

#[test]
fn what_is_too_far_off_is_there_at_once() {
    let (mut room, thing) = room();
    let config = SmoothConfig {
        snap: 10.0,
        ..SmoothConfig::default()
    };
    let mut view = SmoothView::new(config, RATE, Tick(0), &room);
    assert!(view.set_snap("things.steps", 1000.0));
    assert!(!view.set_snap("things.health", 1.0));
    view.draw(ms(0));
    let mut move_to = |x, steps| {
        let moved = room.things.get_mut(thing).unwrap();
        (moved.place, moved.steps) = ((x, x), steps);
        room.clone()
    };
    // Ten along both axes is farther than ten.
    view.handle_state(Tick(0), &move_to(9.0, 500));
    let drawn = *view.draw(ms(0)).things.get(thing).unwrap();
    assert_eq!((drawn.place, drawn.steps), ((9.0, 9.0), 0));
    assert_eq!(view.stats().snapped, 1);
    // Somebody who is put elsewhere does not fly there, neither.
    view.handle_state(Tick(1), &move_to(90.0, 500));
    let drawn = view.draw_part(ms(0), 0.1);
    assert_eq!(drawn.things.get(thing).unwrap().place, (90.0, 90.0));
    view.handle_state(Tick(2), &move_to(92.0, 500));
    let drawn = view.draw_part(ms(0), 0.5);
    assert_eq!(drawn.things.get(thing).unwrap().place, (91.0, 91.0));
}

#[test]
fn whole_numbers_stay_what_their_type_can_hold() {
    let mut rng = Rng::new(1);
    let (mut room, thing) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    for tick in 0..2000 {
        let again = tick - u64::from(rng.chance(0.3) && tick > 0);
        for tick in [again, tick] {
            let shade = rng.below(256) as u8;
            let changed = room.things.get_mut(thing).unwrap();
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
    let (mut room, thing) = room();
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(100), &room);
    view.draw(ms(0));
    room.things.get_mut(thing).unwrap().place.0 = 8.0;
    view.replace(Tick(95), &room);
    assert_eq!(view.draw(ms(0)).things.get(thing).unwrap().place.0, 0.0);
    room.things.get_mut(thing).unwrap().place.0 = 80.0;
    view.replace(Tick(5000), &room);
    assert_eq!(view.draw(ms(0)).things.get(thing).unwrap().place.0, 80.0);
    room.things.get_mut(thing).unwrap().place.0 = 90.0;
    view.handle_state(Tick(5001), &room);
    assert_eq!(
        view.draw_part(ms(0), 0.5)
            .things
            .get(thing)
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
        room.things.insert(Thing::default());
    }
    let mut view = SmoothView::new(SmoothConfig::default(), RATE, Tick(0), &room);
    let mut allocations = 0;
    for tick in 0..2000u64 {
        for again in tick.saturating_sub(3)..=tick {
            for _ in 0..20 {
                let at = rng.below(room.things.len() as u32) as usize;
                room.things.row_mut(at).unwrap().place.0 += 1.0;
            }
            // The newest one goes, so that another has its place.
            let newest = room.things.ids()[room.things.len() - 1];
            room.things.remove(newest);
            room.things.insert(Thing::default());
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
