//! Bytes that no publisher wrote.

use super::*;

#[test]
fn damaged_parts_are_refused_or_mean_something_else() {
    let mut rng = Rng::new(8);
    let schema = Field::schema();
    let mut field = Field::new();
    (0..200).for_each(|_| field.spawn(&mut rng));
    let mut publisher = Publisher::new(&schema, PublisherConfig::default());
    let mut receiver = Receiver::new(&schema);
    publisher.join(CLIENT);
    let mut refused = 0;
    for tick in 0..40 {
        field.change(&mut rng);
        publisher.publish(Tick(tick), &field.table());
        let truth = Truth::new(&receiver.grid, &field.table(), None);
        let mut parts = Vec::new();
        publisher.write(CLIENT, None, None, &mut parts);
        for part in parts {
            for _ in 0..200 {
                let mut bytes = part.bytes.clone();
                for _ in 0..1 + rng.below(3) {
                    let at = rng.below(bytes.len() as u32) as usize;
                    match rng.below(3) {
                        0 => bytes[at] ^= 1 << rng.below(8),
                        1 => bytes[at] = rng.next_u32() as u8,
                        _ => bytes.truncate(at.max(1)),
                    }
                }
                refused += usize::from(receiver.read(&bytes).is_err());
            }
            receiver.handle(&part.bytes, &truth);
        }
        receiver.acknowledge(&mut publisher);
    }
    assert!(refused > 1000);
}

#[test]
fn noise_is_refused() {
    let mut rng = Rng::new(9);
    let receiver = Receiver::new(&Field::schema());
    for _ in 0..50_000 {
        let len = rng.below(60) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
        // So that it is more than a header.
        for (byte, header) in bytes.iter_mut().zip([1, 9, 0, 0, 0, 4, 0]) {
            if rng.chance(0.9) {
                *byte = header;
            }
        }
        let _ = receiver.read(&bytes);
    }
}

#[test]
fn baselines_that_are_not_there_are_refused() {
    let grid = Grid::new(&Field::schema());
    // A difference of all rows of the first page of units from the tick before.
    let bytes = [1, 9, 4, 1, 0, 2, 0, 0, 0b0010_0010, 0, 0];
    let read = |baseline: Option<Page>| {
        part::read(&grid, &bytes, &mut |_, _| baseline.clone(), &mut |_| {})
    };
    assert_eq!(read(None), Err(DecodeError::OutOfRange));
    assert_eq!(
        read(Some(Page::empty(grid.columns(1)))),
        Err(DecodeError::OutOfRange)
    );
}

#[test]
fn acknowledgements_of_what_was_never_sent_change_nothing() {
    let mut rng = Rng::new(10);
    let mut field = Field::new();
    (0..100).for_each(|_| field.spawn(&mut rng));
    let mut publisher = Publisher::new(&Field::schema(), PublisherConfig::default());
    publisher.acknowledge(CLIENT, 7, u128::MAX);
    publisher.join(CLIENT);
    for (latest, before) in [(0, 0), (u32::MAX, u128::MAX), (1 << 31, 5)] {
        publisher.acknowledge(CLIENT, latest, before);
    }
    publisher.publish(Tick(1), &field.table());
    let mut parts = Vec::new();
    publisher.write(CLIENT, None, None, &mut parts);
    publisher.acknowledge(CLIENT, u32::MAX, u128::MAX);
    publisher.acknowledge(CLIENT, 50, 0);
    publisher.publish(Tick(2), &field.table());
    let mut again = Vec::new();
    publisher.write(CLIENT, None, None, &mut again);
    assert_eq!(parts.len(), again.len());
    publisher.leave(CLIENT);
    again.clear();
    publisher.write(CLIENT, None, None, &mut again);
    assert!(again.is_empty());
}
