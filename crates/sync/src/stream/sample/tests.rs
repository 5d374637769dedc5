//! What is shown between updates, against what was.

extern crate std;

use std::collections::BTreeMap;
use std::println;

use super::*;
use crate::random::Rng;
use crate::stream::store::tests::{
    BAD_LINK, GOOD_LINK, LinkConditions, Mover, Population, TestStream,
};
use crate::{EntityId, Replicate, Tick};

const HOW: [Interpolation; 2] = [Interpolation::Linear, Interpolation::Hermite];

fn mover(x: f32) -> Mover {
    Mover {
        at: (x, 100.0),
        heading: 0.0,
        charge: 10,
        colour: 1,
        target: None,
        plan: 7,
    }
}

fn shown(stream: &mut TestStream, ticks: f64, how: Interpolation) -> Population {
    let mut table = Table::new(Population::schema());
    stream.store.sample(ticks, how, 6.0, &mut table);
    Population::from_table(&table).expect("what is shown is a state")
}

/// A population with one mover whose x is given for every tick.
fn one(x: impl Fn(u64) -> f32, link: LinkConditions, ticks: u64) -> (TestStream, EntityId) {
    let mut population = Population::new(0, &mut Rng::new(0));
    let id = population.movers.insert(mover(x(0)));
    let mut stream = TestStream::new(1, link, &Population::schema());
    for tick in 1..=ticks {
        population.movers.get_mut(id).unwrap().at.0 = x(tick);
        stream.advance(&population.table());
    }
    (stream, id)
}

#[test]
fn even_motion_is_shown_as_it_was() {
    let (mut stream, id) = one(|tick| 10.0 + tick as f32 * 0.5, GOOD_LINK, 60);
    for how in HOW {
        for tenth in 60..600 {
            let ticks = f64::from(tenth) / 10.0;
            let population = shown(&mut stream, ticks, how);
            let error = population.movers[id].at.0 as f64 - (10.0 + ticks * 0.5);
            assert!(error.abs() < 0.001, "{how:?} {ticks} {error}");
            assert_eq!(
                (population.movers[id].colour, population.movers[id].plan),
                (1, 0)
            );
        }
    }
}

#[test]
fn what_stood_until_a_tick_stands_until_then() {
    // Its next update after that of tick 9 is at tick 63.
    let x = |tick| 50.0 + if tick >= 61 { (tick - 60) as f32 } else { 0.0 };
    let (mut stream, id) = one(x, GOOD_LINK, 90);
    for how in HOW {
        for tick in [12.0, 30.5, 59.9, 60.0] {
            let population = shown(&mut stream, tick, how);
            assert_eq!(population.movers[id].at.0, 50.0, "{how:?} {tick}");
        }
        let population = shown(&mut stream, 61.5, Interpolation::Linear);
        assert_eq!(population.movers[id].at.0, 51.5, "{how:?}");
    }
}

#[test]
fn curves_are_nearer_to_what_was_and_overshoot_little() {
    let circle = |tick: u64| 500.0 + 100.0 * math::sin(tick as f64 * 0.1) as f32;
    let (mut stream, id) = one(circle, GOOD_LINK, 66);
    let mut errors = [0.0f64; 2];
    for tenth in 60..630 {
        let ticks = f64::from(tenth) / 10.0;
        let right = 500.0 + 100.0 * math::sin(ticks * 0.1);
        for (how, error) in HOW.into_iter().zip(&mut errors) {
            let x = f64::from(shown(&mut stream, ticks, how).movers[id].at.0);
            *error = error.max((x - right).abs());
        }
    }
    println!("largest error, straight and curved: {errors:?}");
    assert!(errors[0] < 1.2 && errors[1] < errors[0] * 0.8);

    // It stops at once.
    let stop = |tick: u64| 500.0 + tick.min(30) as f32 * 4.0;
    let (mut stream, id) = one(stop, GOOD_LINK, 60);
    for tenth in 200..500 {
        let x = shown(&mut stream, f64::from(tenth) / 10.0, Interpolation::Hermite).movers[id]
            .at
            .0;
        assert!(x <= 620.0 + 0.01, "{x}");
    }
}

#[test]
fn without_updates_it_goes_on_for_a_while_and_comes_back_without_a_step() {
    let mut population = Population::new(0, &mut Rng::new(0));
    let id = population.movers.insert(mover(100.0));
    for how in HOW {
        let mut stream = TestStream::new(1, GOOD_LINK, &Population::schema());
        let mut last: Option<f32> = None;
        for tick in 0..200u64 {
            // It turns round at tick 90, and nothing arrives between 88 and 100.
            let x = match tick {
                0..90 => 100.0 + tick as f32,
                _ => 190.0 - (tick - 90) as f32,
            };
            population.movers.get_mut(id).unwrap().at.0 = x;
            stream.link.loss = if (88..100).contains(&tick) { 1.0 } else { 0.0 };
            stream.advance(&population.table());
            for third in 0..3 {
                let ticks = stream.tick as f64 - 5.0 + f64::from(third) / 3.0;
                if ticks < 6.0 {
                    continue;
                }
                let x = shown(&mut stream, ticks, how).movers[id].at.0;
                if let Some(last) = last {
                    assert!((x - last).abs() < 1.3, "{how:?} {ticks}: {last} to {x}");
                }
                last = Some(x);
                assert!(x < 196.0, "{x}");
                if !(88.0..125.0).contains(&ticks) {
                    let right = match ticks < 91.0 {
                        true => 99.0 + ticks,
                        false => 190.0 - (ticks - 91.0),
                    };
                    assert!(
                        (f64::from(x) - right).abs() < 0.6,
                        "{how:?} {ticks}: {x} {right}"
                    );
                }
            }
        }
    }
}

#[test]
fn it_appears_and_vanishes_with_its_updates_and_fields_change_then() {
    let mut population = Population::new(0, &mut Rng::new(0));
    let first = population.movers.insert(mover(1.0));
    let mut stream = TestStream::new(1, GOOD_LINK, &Population::schema());
    let mut second = None;
    for tick in 1..=60 {
        match tick {
            20 => second = Some(population.movers.insert(mover(2.0))),
            35 => population.movers.get_mut(first).unwrap().colour = 5,
            40 => _ = population.movers.remove(first),
            _ => {}
        }
        stream.advance(&population.table());
    }
    let second = second.expect("it was born");
    let there = |stream: &mut TestStream, ticks: f64, id| {
        shown(stream, ticks, Interpolation::Linear)
            .movers
            .contains(id)
    };
    assert!(!there(&mut stream, 20.9, second) && there(&mut stream, 21.0, second));
    assert!(there(&mut stream, 41.9, first) && !there(&mut stream, 42.0, first));
    // It went to the other's row.
    assert!(there(&mut stream, 41.9, second) && there(&mut stream, 42.0, second));
    for (ticks, colour) in [(35.9, 1), (36.0, 5)] {
        let population = shown(&mut stream, ticks, Interpolation::Linear);
        assert_eq!(population.movers[first].colour, colour);
    }
}

#[test]
fn who_goes_to_another_row_moves_on_evenly() {
    let mut population = Population::new(200, &mut Rng::new(5));
    let last = population.movers.insert(mover(10.0));
    let mut stream = TestStream::new(1, GOOD_LINK, &Population::schema());
    for tick in 1..=90u64 {
        population.movers.get_mut(last).unwrap().at.0 = 10.0 + tick as f32;
        if tick.is_multiple_of(10) {
            // The last takes its place, and another comes behind.
            let other = population.movers.ids()[tick as usize];
            population.movers.remove(other);
        }
        stream.advance(&population.table());
        if tick > 12 {
            for part in [0.0, 0.3, 0.8] {
                let ticks = tick as f64 - 6.0 + part;
                let x = f64::from(
                    shown(&mut stream, ticks, Interpolation::Linear).movers[last]
                        .at
                        .0,
                );
                assert!((x - 10.0 - ticks).abs() < 0.01, "{ticks}: {x}");
            }
        }
    }
}

#[test]
fn angles_go_the_short_way_and_whole_numbers_stay_whole() {
    let mut population = Population::new(0, &mut Rng::new(0));
    let id = population.movers.insert(mover(1.0));
    let mut stream = TestStream::new(1, GOOD_LINK, &Population::schema());
    for tick in 1..=12 {
        let mover = population.movers.get_mut(id).unwrap();
        mover.heading = if tick < 7 { 3.0 } else { -3.0 };
        mover.charge = if tick < 7 { 255 } else { 0 };
        stream.advance(&population.table());
    }
    for how in HOW {
        let population = shown(&mut stream, 7.5, how);
        let heading = f64::from(population.movers[id].heading);
        let off = (heading - core::f64::consts::PI).abs();
        assert!(
            off.min((off - core::f64::consts::TAU).abs()) < 0.001,
            "{heading}"
        );
        assert!((120..136).contains(&population.movers[id].charge));
        // It would go on below zero.
        assert_eq!(shown(&mut stream, 14.0, how).movers[id].charge, 0);
    }
}

#[test]
fn through_loss_and_disorder_views_stay_near_to_what_was() {
    for how in HOW {
        let (mut seen, mut far) = (0u32, 0u32);
        let mut errors = Vec::new();
        for seed in 0..8 {
            let mut rng = Rng::new(seed);
            let mut population = Population::new(300, &mut rng);
            let mut stream = TestStream::new(seed, BAD_LINK, &Population::schema());
            let mut past = BTreeMap::new();
            for _ in 0..300 {
                population.step(&mut rng);
                stream.advance(&population.table());
                past.insert(stream.tick, population.clone());
                let ticks = stream.tick as f64 - 22.5;
                if ticks < 20.0 {
                    continue;
                }
                let view = shown(&mut stream, ticks, how);
                let (a, b) = (&past[&(ticks as u64)], &past[&(ticks as u64 + 1)]);
                for (id, mover) in view.movers.iter() {
                    let (Some(a), Some(b)) = (a.movers.get(id), b.movers.get(id)) else {
                        far += 1;
                        continue;
                    };
                    seen += 1;
                    let right = 0.5 * (a.at.0 + b.at.0);
                    errors.push((mover.at.0 - right).abs());
                }
            }
        }
        errors.sort_by(f32::total_cmp);
        let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
        println!(
            "{how:?}: error p50 {} p95 {} p99 {}, of those shown not there {:.4}",
            at(0.5),
            at(0.95),
            at(0.99),
            f64::from(far) / f64::from(seen)
        );
        // A quarter of a unit in a tick is fifteen in a second.
        assert!(at(0.95) <= 0.02 && at(0.99) < 0.75);
        assert!(far * 100 < seen);
    }
}

#[test]
fn a_display_time_lies_between_two_snapshots() {
    let (stream, _) = one(|tick| tick as f32, GOOD_LINK, 30);
    assert_eq!(stream.store.seen(10.5), Some((Tick(9), Tick(12), 0.5)));
}
