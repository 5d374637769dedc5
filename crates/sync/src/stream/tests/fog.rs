//! What must not be seen.

use super::*;

/// The same game twice, in which only what is hidden differs: the bytes are the same, so nothing of it can be in them.
fn compare(seed: u64, budget: Option<usize>) {
    let schema = Field::schema();
    let mut rng = Rng::new(seed);
    let mut publishers = [(); 2].map(|()| Publisher::new(&schema, PublisherConfig::default()));
    let mut noise = [Rng::new(seed + 1), Rng::new(seed + 2)];
    publishers.iter_mut().for_each(|p| {
        p.join(CLIENT);
        p.join(PeerId(9));
    });
    let mut field = Field::new();
    (0..200).for_each(|_| field.spawn(&mut rng));
    let mut hidden = [false; 200];
    for tick in 0..80 {
        for unit in field.units.as_mut_slice() {
            unit.at.0 += rng.unit() - 0.5;
        }
        let mut interest = Interest::new(&schema);
        let mut units = interest.part("units");
        for (row, hidden) in hidden.iter_mut().enumerate() {
            if rng.chance(0.1) {
                *hidden = !*hidden;
            }
            if *hidden {
                units.hide(row);
            }
        }
        let mut written = Vec::new();
        let worlds = publishers.iter_mut().zip(&mut noise);
        for (publisher, noise) in worlds {
            let mut field = field.clone();
            let units = field.units.as_mut_slice().iter_mut().zip(hidden);
            for unit in units.filter(|(_, hidden)| *hidden).map(|(unit, _)| unit) {
                if noise.chance(0.7) {
                    unit.at = (noise.unit() * 256.0, noise.unit() * 9.0);
                    unit.health = noise.next_u32() as u8;
                    unit.heading = noise.unit();
                }
            }
            publisher.publish(Tick(tick), &field.table());
            // Another who sees everything, and whose segments could be taken for these.
            publisher.write(PeerId(9), None, None, &mut Vec::new());
            let mut parts = Vec::new();
            publisher.write(CLIENT, Some(&interest), budget, &mut parts);
            written.push(parts);
        }
        assert_eq!(written[0], written[1], "seed {seed}, tick {tick}");
        let latest = written[0].last().map_or(0, |part| part.number);
        let before = u128::from(rng.next_u64());
        for publisher in &mut publishers {
            publisher.acknowledge(CLIENT, latest, before);
            publisher.acknowledge(PeerId(9), latest, before);
        }
    }
}

#[test]
fn what_is_hidden_is_not_in_the_bytes() {
    for seed in 0..20 {
        compare(seed * 3, None);
        compare(seed * 3, Some(900));
    }
}

#[test]
fn what_is_hidden_is_told_to_be_gone_until_that_is_confirmed() {
    let mut rng = Rng::new(5);
    let schema = Field::schema();
    let mut field = Field::new();
    (0..3).for_each(|_| field.spawn(&mut rng));
    let mut publisher = Publisher::new(&schema, PublisherConfig::default());
    let mut receiver = Receiver::new(&schema);
    publisher.join(CLIENT);
    let mut interest = Interest::new(&schema);
    let units = PageId { kind: 1, page: 0 };
    let mut tick = Tick(0);
    let mut send = |interest: &Interest, receiver: &mut Receiver, is_confirmed: bool| {
        publisher.publish(tick, &field.table());
        let mut parts = Vec::new();
        publisher.write(CLIENT, Some(interest), None, &mut parts);
        let (_, said) = receiver.read(&parts[0].bytes).unwrap();
        let truth = Truth::new(&receiver.grid, &field.table(), Some(interest));
        receiver.handle(&parts[0].bytes, &truth);
        if is_confirmed {
            receiver.acknowledge(&mut publisher);
        }
        tick = tick.next();
        let mut rows = (0, 0);
        for said in said {
            if let PartContent::Page(update) = said
                && update.place == units
            {
                rows = (update.rows, update.values.present & update.rows);
            }
        }
        rows
    };
    assert_eq!(send(&interest, &mut receiver, true), (0b111, 0b111));
    assert_eq!(send(&interest, &mut receiver, true), (0, 0));
    interest.part("units").hide(1);
    assert_eq!(send(&interest, &mut receiver, false), (0b010, 0));
    assert_eq!(send(&interest, &mut receiver, true), (0b010, 0));
    assert_eq!(send(&interest, &mut receiver, true), (0, 0));
    // It comes back before it is confirmed to be gone, and has not changed meanwhile.
    interest.part("units").hide(2);
    assert_eq!(send(&interest, &mut receiver, false), (0b100, 0));
    interest.part("units").all(Relevance::FULL);
    assert_eq!(send(&interest, &mut receiver, true), (0b110, 0b110));
    assert_eq!(send(&interest, &mut receiver, true), (0, 0));
}
