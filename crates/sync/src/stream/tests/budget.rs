//! Where not everything can be updates.

use super::*;

/// The most snapshots between two times at which a row was certain, once all were.
fn longest_gap(units: usize, budget: usize, loss: f32, weight: impl Fn(usize) -> Relevance) -> u64 {
    let schema = Field::schema();
    let mut rng = Rng::new(6);
    let mut field = Field::new();
    (0..units).for_each(|_| field.spawn(&mut rng));
    let mut publisher = Publisher::new(&schema, PublisherConfig::default());
    let mut receiver = Receiver::new(&schema);
    publisher.join(CLIENT);
    let mut interest = Interest::new(&schema);
    for row in 0..units {
        interest.part("units").row(row, weight(row));
    }
    let mut longest = 0;
    for tick in 0..300 {
        for unit in field.units.as_mut_slice() {
            unit.at.0 = 100.0 + (unit.at.0 + rng.unit() - 0.5) % 50.0;
            unit.at.1 = 100.0 + (unit.at.1 + rng.unit() - 0.5) % 50.0;
        }
        let table = field.table();
        publisher.publish(Tick(tick), &table);
        let mut parts = Vec::new();
        publisher.write(CLIENT, Some(&interest), Some(budget), &mut parts);
        let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
        assert!(bytes <= budget, "{bytes} at {tick}");
        let truth = Truth::new(&receiver.grid, &table, None);
        for part in parts {
            if !rng.chance(loss) {
                receiver.handle(&part.bytes, &truth);
            }
        }
        receiver.acknowledge(&mut publisher);
        if tick > 100 {
            let rows = (0..units).map(|row| {
                let page = (row / PAGE_ROWS) as u32;
                let certain = receiver
                    .certain
                    .get(&(PageId { kind: 1, page }, row % PAGE_ROWS));
                certain.map_or(tick, |certain| tick - certain.0)
            });
            longest = longest.max(rows.max().unwrap_or(0));
        }
    }
    longest
}

#[test]
fn nobody_waits_for_two_seconds_at_256_kbit() {
    let gap = longest_gap(1000, 256_000 / 8 / 20, 0.0, |_| Relevance::FULL);
    assert!(gap <= 10, "{gap} snapshots");
    let gap = longest_gap(1000, 256_000 / 8 / 20, 0.05, |_| Relevance::FULL);
    assert!(gap <= 25, "{gap} snapshots");
}

#[test]
fn what_matters_little_is_told_less_often_but_never_forgotten() {
    let far = |row: usize| match row % 4 {
        0 => Relevance::FULL,
        _ => Relevance::at_distance(100.0, 10.0),
    };
    let gap = longest_gap(1000, 1600, 0.0, far);
    assert!((7..=25).contains(&gap), "{gap} snapshots");
}

#[test]
fn a_tiny_budget_still_goes_round() {
    let gap = longest_gap(40, 120, 0.0, |_| Relevance::FULL);
    assert!(gap <= 20, "{gap} snapshots");
}

#[test]
fn a_lower_weight_is_a_lower_rate_in_powers_of_two() {
    let schema = Field::schema();
    let mut rng = Rng::new(7);
    let mut field = Field::new();
    (0..64).for_each(|_| field.spawn(&mut rng));
    let mut publisher = Publisher::new(&schema, PublisherConfig::default());
    let mut receiver = Receiver::new(&schema);
    publisher.join(CLIENT);
    let mut interest = Interest::new(&schema);
    for row in 0..64 {
        let weight = [1.0, 0.4, 0.25, 0.1][row % 4];
        interest.part("units").row(row, Relevance::weight(weight));
    }
    let mut updates = [0; 4];
    for tick in 0..400 {
        for unit in field.units.as_mut_slice() {
            unit.at.0 = (unit.at.0 + 1.0) % 256.0;
        }
        publisher.publish(Tick(tick), &field.table());
        let mut parts = Vec::new();
        publisher.write(CLIENT, Some(&interest), None, &mut parts);
        for part in parts {
            let (_, said) = receiver.read(&part.bytes).unwrap();
            for said in said {
                if let PartContent::Page(update) = said
                    && update.place.kind == 1
                {
                    rows_of(update.rows).for_each(|row| updates[row % 4] += 1);
                }
            }
            let truth = Truth::new(&receiver.grid, &field.table(), Some(&interest));
            receiver.handle(&part.bytes, &truth);
        }
        receiver.acknowledge(&mut publisher);
    }
    let rates = updates.map(|count| f64::from(count) / 16.0 / 400.0);
    for (rate, expected) in rates.into_iter().zip([1.0, 0.5, 0.25, 0.125]) {
        assert!((rate - expected).abs() < 0.01, "{rates:?}");
    }
}
