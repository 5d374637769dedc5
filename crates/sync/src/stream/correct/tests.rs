//! What was predicted, and what was.

use super::*;
use crate::random::Rng;
use crate::stream::store::tests::{CALM, Line, ROUGH, Sky, same_rows};
use crate::{Entities, Replicate};

/// What was at a tick, with secrets.
type Past = std::collections::BTreeMap<u64, Table>;

fn run(line: &mut Line, sky: &mut Sky, past: &mut Past) {
    sky.step(&mut line.rng);
    let mut table = sky.table();
    line.advance(&table);
    // On the grid, and with what is secret.
    let secret = table.clone();
    line.publisher.grid().snap(&mut table);
    let (rows, secret) = (table.kind_mut(1).unwrap(), secret.kind(1).unwrap());
    let width = rows.cells.len() / rows.count.max(1);
    for (cells, secret) in rows
        .cells
        .chunks_exact_mut(width)
        .zip(secret.cells.chunks_exact(width))
    {
        cells[width - 1] = secret[width - 1];
    }
    past.insert(line.tick, table);
}

#[test]
fn what_was_predicted_right_is_left_alone() {
    for (seed, budget) in (0..20).zip([None, Some(900)].into_iter().cycle()) {
        let mut sky = Sky::new(300, &mut Rng::new(seed));
        let mut line = Line::new(seed, ROUGH, &Sky::schema());
        line.budget = budget;
        let mut past = Past::new();
        for _ in 0..300 {
            run(&mut line, &mut sky, &mut past);
            let mut batch = line.received.clone();
            batch.sort_by_key(|received| received.tick);
            for received in batch {
                let mut predicted = past[&received.tick.0].clone();
                let differed = line.store.correct(received.tick, &mut predicted);
                assert!(!differed, "seed {seed} {received:?}");
                assert!(same_rows(&predicted, &past[&received.tick.0]));
            }
        }
    }
}

#[test]
fn what_is_certain_is_taken_over() {
    for seed in 0..20 {
        let mut sky = Sky::new(300, &mut Rng::new(seed));
        let mut line = Line::new(seed, ROUGH, &Sky::schema());
        let mut past = Past::new();
        let mut rng = Rng::new(seed + 1000);
        let mut corrected = 0;
        for _ in 0..300 {
            run(&mut line, &mut sky, &mut past);
            for received in line.received.clone().iter().filter(|r| r.complete) {
                let right = &past[&received.tick.0];
                let mut wrong = Sky::from_table(right).expect("it is a state");
                // Moved, killed, born.
                for _ in 0..rng.below(4) {
                    if let Some(mote) = wrong.motes.row_mut(rng.below(300) as usize) {
                        mote.at.0 = rng.below(1024) as f32;
                    }
                }
                let ids = wrong.motes.ids().to_vec();
                for _ in 0..rng.below(3) {
                    wrong
                        .motes
                        .remove(ids[rng.below(ids.len() as u32) as usize]);
                }
                if rng.chance(0.3) {
                    let mote = wrong.motes.as_slice()[0];
                    wrong.motes.insert(mote);
                }
                if rng.chance(0.3) {
                    wrong.marks.push((3, false));
                    wrong.score += 1;
                } else if rng.chance(0.3) {
                    wrong.marks.pop();
                }
                let mut predicted = wrong.table();
                let was_right = same_rows(&predicted, right);
                let differed = line.store.correct(received.tick, &mut predicted);
                assert_eq!(differed, !was_right, "seed {seed}");
                let now = Sky::from_table(&predicted).expect("it is a state");
                let right = Sky::from_table(right).expect("it is a state");
                assert_eq!(now.motes.ids(), right.motes.ids());
                for (id, mote) in right.motes.iter() {
                    let mut now = *now.motes.get(id).expect("it is there");
                    if !ids.contains(&id) || wrong.motes.get(id).is_none() {
                        assert_eq!(now.plan, 0);
                        now.plan = mote.plan;
                    }
                    assert_eq!(now, *mote, "seed {seed} {id}");
                }
                assert_eq!((now.marks, now.score), (right.marks, right.score));
                assert!(!line.store.correct(received.tick, &mut predicted));
                corrected += 1;
            }
        }
        assert!(corrected > 10);
    }
}

#[test]
fn what_is_told_of_now_and_then_is_put_right_then() {
    // A budget for a few rows at a time: never is all certain.
    for seed in 0..10 {
        let mut sky = Sky::new(300, &mut Rng::new(seed));
        let mut line = Line::new(seed, CALM, &Sky::schema());
        let mut past = Past::new();
        for _ in 0..30 {
            run(&mut line, &mut sky, &mut past);
        }
        line.budget = Some(500);
        // A client that simulates nothing right from here on, but takes over what it is told.
        let mut client = past[&30].clone();
        for _ in 0..600 {
            run(&mut line, &mut sky, &mut past);
            for received in line.received.clone() {
                line.store.correct(received.tick, &mut client);
                assert!(Sky::from_table(&client).is_ok(), "seed {seed}");
            }
        }
        // Nothing happens any more: it comes to have all.
        let last = sky.table();
        for _ in 0..600 {
            line.advance(&last);
            for received in line.received.clone() {
                line.store.correct(received.tick, &mut client);
            }
        }
        let client = Sky::from_table(&client).expect("it is a state");
        let mut snapped = last.clone();
        line.publisher.grid().snap(&mut snapped);
        let right = Sky::from_table(&snapped).expect("it is a state");
        let mut ids = client.motes.ids().to_vec();
        ids.sort_unstable();
        let mut right_ids = right.motes.ids().to_vec();
        right_ids.sort_unstable();
        assert_eq!(ids, right_ids, "seed {seed}");
        for (id, mote) in right.motes.iter() {
            assert_eq!(client.motes[id].at, mote.at, "seed {seed} {id}");
        }
    }
}

#[derive(Clone, Replicate)]
struct Heap {
    things: Entities<u8>,
    rest: Vec<u8>,
}

#[test]
fn a_store_that_knows_nothing_corrects_nothing() {
    let mut heap = Heap {
        things: Entities::new(),
        rest: vec![1, 2],
    };
    heap.things.insert(5);
    let mut table = Table::new(Heap::schema());
    heap.extract(&mut table);
    let before = table.clone();
    let mut store = Store::new(Heap::schema());
    assert!(!store.correct(Tick(9), &mut table));
    assert_eq!(table, before);
    assert!(!store.known(Tick(9), &mut table));
    assert!(Heap::from_table(&table).is_ok_and(|heap| heap.rest.is_empty()));
}
