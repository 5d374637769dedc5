//! What was predicted, and what was.

use super::*;
use crate::random::Rng;
use crate::stream::store::tests::{BAD_LINK, GOOD_LINK, Population, TestStream, same_rows};
use crate::{Entities, Replicate};

/// What was at a tick, with secrets.
type Past = std::collections::BTreeMap<u64, Table>;

fn run(stream: &mut TestStream, population: &mut Population, past: &mut Past) {
    population.step(&mut stream.rng);
    let mut table = population.table();
    stream.advance(&table);
    // On the grid, and with what is secret.
    let secret = table.clone();
    stream.publisher.grid().snap(&mut table);
    let (rows, secret) = (table.kind_mut(1).unwrap(), secret.kind(1).unwrap());
    let width = rows.cells.len() / rows.count.max(1);
    for (cells, secret) in rows
        .cells
        .chunks_exact_mut(width)
        .zip(secret.cells.chunks_exact(width))
    {
        cells[width - 1] = secret[width - 1];
    }
    past.insert(stream.tick, table);
}

#[test]
fn what_was_predicted_right_is_left_alone() {
    for (seed, budget) in (0..20).zip([None, Some(900)].into_iter().cycle()) {
        let mut population = Population::new(300, &mut Rng::new(seed));
        let mut stream = TestStream::new(seed, BAD_LINK, &Population::schema());
        stream.budget = budget;
        let mut past = Past::new();
        for _ in 0..300 {
            run(&mut stream, &mut population, &mut past);
            let mut batch = stream.received.clone();
            batch.sort_by_key(|received| received.tick);
            for received in batch {
                let mut predicted = past[&received.tick.0].clone();
                let differed = stream.store.correct(received.tick, &mut predicted);
                assert!(!differed, "seed {seed} {received:?}");
                assert!(same_rows(&predicted, &past[&received.tick.0]));
            }
        }
    }
}

#[test]
fn what_is_certain_is_taken_over() {
    for seed in 0..20 {
        let mut population = Population::new(300, &mut Rng::new(seed));
        let mut stream = TestStream::new(seed, BAD_LINK, &Population::schema());
        let mut past = Past::new();
        let mut rng = Rng::new(seed + 1000);
        let mut corrected = 0;
        for _ in 0..300 {
            run(&mut stream, &mut population, &mut past);
            for received in stream.received.clone().iter().filter(|r| r.complete) {
                let right = &past[&received.tick.0];
                let mut wrong = Population::from_table(right).expect("it is a state");
                // Moved, killed, born.
                for _ in 0..rng.below(4) {
                    if let Some(mover) = wrong.movers.row_mut(rng.below(300) as usize) {
                        mover.at.0 = rng.below(1024) as f32;
                    }
                }
                let ids = wrong.movers.ids().to_vec();
                for _ in 0..rng.below(3) {
                    wrong
                        .movers
                        .remove(ids[rng.below(ids.len() as u32) as usize]);
                }
                if rng.chance(0.3) {
                    let mover = wrong.movers.as_slice()[0];
                    wrong.movers.insert(mover);
                }
                if rng.chance(0.3) {
                    wrong.marks.push((3, false));
                    wrong.score += 1;
                } else if rng.chance(0.3) {
                    wrong.marks.pop();
                }
                let mut predicted = wrong.table();
                let was_right = same_rows(&predicted, right);
                let differed = stream.store.correct(received.tick, &mut predicted);
                assert_eq!(differed, !was_right, "seed {seed}");
                let now = Population::from_table(&predicted).expect("it is a state");
                let right = Population::from_table(right).expect("it is a state");
                assert_eq!(now.movers.ids(), right.movers.ids());
                for (id, mover) in right.movers.iter() {
                    let mut now = *now.movers.get(id).expect("it is there");
                    if !ids.contains(&id) || wrong.movers.get(id).is_none() {
                        assert_eq!(now.plan, 0);
                        now.plan = mover.plan;
                    }
                    assert_eq!(now, *mover, "seed {seed} {id}");
                }
                assert_eq!((now.marks, now.score), (right.marks, right.score));
                assert!(!stream.store.correct(received.tick, &mut predicted));
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
        let mut population = Population::new(300, &mut Rng::new(seed));
        let mut stream = TestStream::new(seed, GOOD_LINK, &Population::schema());
        let mut past = Past::new();
        for _ in 0..30 {
            run(&mut stream, &mut population, &mut past);
        }
        stream.budget = Some(500);
        // A client that simulates nothing right from here on, but takes over what it is told.
        let mut client = past[&30].clone();
        for _ in 0..600 {
            run(&mut stream, &mut population, &mut past);
            for received in stream.received.clone() {
                stream.store.correct(received.tick, &mut client);
                assert!(Population::from_table(&client).is_ok(), "seed {seed}");
            }
        }
        // Nothing happens any more: it comes to have all.
        let last = population.table();
        for _ in 0..600 {
            stream.advance(&last);
            for received in stream.received.clone() {
                stream.store.correct(received.tick, &mut client);
            }
        }
        let client = Population::from_table(&client).expect("it is a state");
        let mut snapped = last.clone();
        stream.publisher.grid().snap(&mut snapped);
        let right = Population::from_table(&snapped).expect("it is a state");
        let mut ids = client.movers.ids().to_vec();
        ids.sort_unstable();
        let mut right_ids = right.movers.ids().to_vec();
        right_ids.sort_unstable();
        assert_eq!(ids, right_ids, "seed {seed}");
        for (id, mover) in right.movers.iter() {
            assert_eq!(client.movers[id].at, mover.at, "seed {seed} {id}");
        }
    }
}

#[derive(Clone, Replicate)]
struct TwoCollections {
    entities: Entities<u8>,
    list: Vec<u8>,
}

#[test]
fn a_store_that_knows_nothing_corrects_nothing() {
    let mut state = TwoCollections {
        entities: Entities::new(),
        list: vec![1, 2],
    };
    state.entities.insert(5);
    let mut table = Table::new(TwoCollections::schema());
    state.extract(&mut table);
    let before = table.clone();
    let mut store = Store::new(TwoCollections::schema());
    assert!(!store.correct(Tick(9), &mut table));
    assert_eq!(table, before);
    assert!(!store.known(Tick(9), &mut table));
    assert!(TwoCollections::from_table(&table).is_ok_and(|state| state.list.is_empty()));
}
