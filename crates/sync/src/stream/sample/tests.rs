//! What is shown between updates, against what was.

extern crate std;

use std::collections::BTreeMap;
use std::println;

use super::*;
use crate::random::Rng;
use crate::stream::store::tests::{CALM, Line, Mote, ROUGH, Sky, Way};
use crate::{EntityId, Replicate, Tick};

const HOW: [Interpolation; 2] = [Interpolation::Linear, Interpolation::Hermite];

fn mote(x: f32) -> Mote {
    Mote {
        at: (x, 100.0),
        heading: 0.0,
        charge: 10,
        colour: 1,
        target: None,
        plan: 7,
    }
}

fn shown(line: &mut Line, ticks: f64, how: Interpolation) -> Sky {
    let mut table = Table::new(Sky::schema());
    line.store.sample(ticks, how, 6.0, &mut table);
    Sky::from_table(&table).expect("what is shown is a state")
}

/// A sky with one mote whose x is given for every tick.
fn one(x: impl Fn(u64) -> f32, way: Way, ticks: u64) -> (Line, EntityId) {
    let mut sky = Sky::new(0, &mut Rng::new(0));
    let id = sky.motes.insert(mote(x(0)));
    let mut line = Line::new(1, way, &Sky::schema());
    for tick in 1..=ticks {
        sky.motes.get_mut(id).unwrap().at.0 = x(tick);
        line.advance(&sky.table());
    }
    (line, id)
}

#[test]
fn even_motion_is_shown_as_it_was() {
    let (mut line, id) = one(|tick| 10.0 + tick as f32 * 0.5, CALM, 60);
    for how in HOW {
        for tenth in 60..600 {
            let ticks = f64::from(tenth) / 10.0;
            let sky = shown(&mut line, ticks, how);
            let error = sky.motes[id].at.0 as f64 - (10.0 + ticks * 0.5);
            assert!(error.abs() < 0.001, "{how:?} {ticks} {error}");
            assert_eq!((sky.motes[id].colour, sky.motes[id].plan), (1, 0));
        }
    }
}

#[test]
fn what_stood_until_a_tick_stands_until_then() {
    // Its next update after that of tick 9 is at tick 63.
    let x = |tick| 50.0 + if tick >= 61 { (tick - 60) as f32 } else { 0.0 };
    let (mut line, id) = one(x, CALM, 90);
    for how in HOW {
        for tick in [12.0, 30.5, 59.9, 60.0] {
            let sky = shown(&mut line, tick, how);
            assert_eq!(sky.motes[id].at.0, 50.0, "{how:?} {tick}");
        }
        let sky = shown(&mut line, 61.5, Interpolation::Linear);
        assert_eq!(sky.motes[id].at.0, 51.5, "{how:?}");
    }
}

#[test]
fn curves_are_nearer_to_what_was_and_overshoot_little() {
    let circle = |tick: u64| 500.0 + 100.0 * math::sin(tick as f64 * 0.1) as f32;
    let (mut line, id) = one(circle, CALM, 66);
    let mut errors = [0.0f64; 2];
    for tenth in 60..630 {
        let ticks = f64::from(tenth) / 10.0;
        let right = 500.0 + 100.0 * math::sin(ticks * 0.1);
        for (how, error) in HOW.into_iter().zip(&mut errors) {
            let x = f64::from(shown(&mut line, ticks, how).motes[id].at.0);
            *error = error.max((x - right).abs());
        }
    }
    println!("largest error, straight and curved: {errors:?}");
    assert!(errors[0] < 1.2 && errors[1] < errors[0] * 0.8);

    // It stops at once.
    let stop = |tick: u64| 500.0 + tick.min(30) as f32 * 4.0;
    let (mut line, id) = one(stop, CALM, 60);
    for tenth in 200..500 {
        let x = shown(&mut line, f64::from(tenth) / 10.0, Interpolation::Hermite).motes[id]
            .at
            .0;
        assert!(x <= 620.0 + 0.01, "{x}");
    }
}

#[test]
fn without_updates_it_goes_on_for_a_while_and_comes_back_without_a_step() {
    let mut sky = Sky::new(0, &mut Rng::new(0));
    let id = sky.motes.insert(mote(100.0));
    for how in HOW {
        let mut line = Line::new(1, CALM, &Sky::schema());
        let mut last: Option<f32> = None;
        for tick in 0..200u64 {
            // It turns round at tick 90, and nothing arrives between 88 and 100.
            let x = match tick {
                0..90 => 100.0 + tick as f32,
                _ => 190.0 - (tick - 90) as f32,
            };
            sky.motes.get_mut(id).unwrap().at.0 = x;
            line.way.loss = if (88..100).contains(&tick) { 1.0 } else { 0.0 };
            line.advance(&sky.table());
            for third in 0..3 {
                let ticks = line.tick as f64 - 5.0 + f64::from(third) / 3.0;
                if ticks < 6.0 {
                    continue;
                }
                let x = shown(&mut line, ticks, how).motes[id].at.0;
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
    let mut sky = Sky::new(0, &mut Rng::new(0));
    let first = sky.motes.insert(mote(1.0));
    let mut line = Line::new(1, CALM, &Sky::schema());
    let mut second = None;
    for tick in 1..=60 {
        match tick {
            20 => second = Some(sky.motes.insert(mote(2.0))),
            35 => sky.motes.get_mut(first).unwrap().colour = 5,
            40 => _ = sky.motes.remove(first),
            _ => {}
        }
        line.advance(&sky.table());
    }
    let second = second.expect("it was born");
    let there = |line: &mut Line, ticks: f64, id| {
        shown(line, ticks, Interpolation::Linear).motes.contains(id)
    };
    assert!(!there(&mut line, 20.9, second) && there(&mut line, 21.0, second));
    assert!(there(&mut line, 41.9, first) && !there(&mut line, 42.0, first));
    // It went to the other's row.
    assert!(there(&mut line, 41.9, second) && there(&mut line, 42.0, second));
    for (ticks, colour) in [(35.9, 1), (36.0, 5)] {
        let sky = shown(&mut line, ticks, Interpolation::Linear);
        assert_eq!(sky.motes[first].colour, colour);
    }
}

#[test]
fn who_goes_to_another_row_moves_on_evenly() {
    let mut sky = Sky::new(200, &mut Rng::new(5));
    let last = sky.motes.insert(mote(10.0));
    let mut line = Line::new(1, CALM, &Sky::schema());
    for tick in 1..=90u64 {
        sky.motes.get_mut(last).unwrap().at.0 = 10.0 + tick as f32;
        if tick.is_multiple_of(10) {
            // The last takes its place, and another comes behind.
            let other = sky.motes.ids()[tick as usize];
            sky.motes.remove(other);
        }
        line.advance(&sky.table());
        if tick > 12 {
            for part in [0.0, 0.3, 0.8] {
                let ticks = tick as f64 - 6.0 + part;
                let x = f64::from(
                    shown(&mut line, ticks, Interpolation::Linear).motes[last]
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
    let mut sky = Sky::new(0, &mut Rng::new(0));
    let id = sky.motes.insert(mote(1.0));
    let mut line = Line::new(1, CALM, &Sky::schema());
    for tick in 1..=12 {
        let mote = sky.motes.get_mut(id).unwrap();
        mote.heading = if tick < 7 { 3.0 } else { -3.0 };
        mote.charge = if tick < 7 { 255 } else { 0 };
        line.advance(&sky.table());
    }
    for how in HOW {
        let sky = shown(&mut line, 7.5, how);
        let heading = f64::from(sky.motes[id].heading);
        let off = (heading - core::f64::consts::PI).abs();
        assert!(
            off.min((off - core::f64::consts::TAU).abs()) < 0.001,
            "{heading}"
        );
        assert!((120..136).contains(&sky.motes[id].charge));
        // It would go on below zero.
        assert_eq!(shown(&mut line, 14.0, how).motes[id].charge, 0);
    }
}

#[test]
fn through_loss_and_disorder_views_stay_near_to_what_was() {
    for how in HOW {
        let (mut seen, mut far) = (0u32, 0u32);
        let mut errors = Vec::new();
        for seed in 0..8 {
            let mut rng = Rng::new(seed);
            let mut sky = Sky::new(300, &mut rng);
            let mut line = Line::new(seed, ROUGH, &Sky::schema());
            let mut past = BTreeMap::new();
            for _ in 0..300 {
                sky.step(&mut rng);
                line.advance(&sky.table());
                past.insert(line.tick, sky.clone());
                let ticks = line.tick as f64 - 22.5;
                if ticks < 20.0 {
                    continue;
                }
                let view = shown(&mut line, ticks, how);
                let (a, b) = (&past[&(ticks as u64)], &past[&(ticks as u64 + 1)]);
                for (id, mote) in view.motes.iter() {
                    let (Some(a), Some(b)) = (a.motes.get(id), b.motes.get(id)) else {
                        far += 1;
                        continue;
                    };
                    seen += 1;
                    let right = 0.5 * (a.at.0 + b.at.0);
                    errors.push((mote.at.0 - right).abs());
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
    let (line, _) = one(|tick| tick as f32, CALM, 30);
    assert_eq!(line.store.seen(10.5), Some((Tick(9), Tick(12), 0.5)));
}
