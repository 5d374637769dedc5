use super::*;
use crate::Rng;

fn delivered<E: Clone + PartialEq>(ledger: &mut EventLedger<E>) -> Vec<(u64, EventStage, E)> {
    core::iter::from_fn(|| ledger.poll())
        .map(|delivered| (delivered.tick.0, delivered.stage, delivered.event))
        .collect()
}

#[test]
fn what_comes_out_again_is_the_same_event() {
    let mut ledger = EventLedger::default();
    ledger.emit(Tick(1), "shot");
    ledger.emit(Tick(2), "hit");
    ledger.rewind(Tick(1));
    ledger.emit(Tick(1), "shot");
    ledger.confirm_before(Tick(3));
    ledger.confirm_before(Tick(7));
    assert_eq!(
        delivered(&mut ledger),
        [
            (1, EventStage::Predicted, "shot"),
            (2, EventStage::Predicted, "hit"),
            (1, EventStage::Confirmed, "shot"),
            (2, EventStage::Cancelled, "hit"),
        ]
    );
}

#[test]
fn two_equal_events_of_a_tick_are_two() {
    let mut ledger = EventLedger::default();
    ledger.emit(Tick(1), "hit");
    ledger.emit(Tick(1), "hit");
    ledger.rewind(Tick(0));
    ledger.emit(Tick(1), "hit");
    ledger.confirm_before(Tick(6));
    let resolved: Vec<_> = delivered(&mut ledger).split_off(2);
    assert_eq!(
        resolved,
        [
            (1, EventStage::Confirmed, "hit"),
            (1, EventStage::Cancelled, "hit")
        ]
    );
}

#[test]
fn events_are_confirmed_in_the_order_of_the_last_simulation() {
    let mut ledger = EventLedger::default();
    for event in ["a", "b", "c"] {
        ledger.emit(Tick(1), event);
    }
    ledger.rewind(Tick(1));
    for event in ["d", "c", "a"] {
        ledger.emit(Tick(1), event);
    }
    ledger.confirm_before(Tick(6));
    let resolved: Vec<_> = delivered(&mut ledger).split_off(4);
    assert_eq!(
        resolved,
        [
            (1, EventStage::Confirmed, "d"),
            (1, EventStage::Confirmed, "c"),
            (1, EventStage::Confirmed, "a"),
            (1, EventStage::Cancelled, "b"),
        ]
    );
}

#[test]
fn an_event_that_comes_a_little_earlier_or_later_is_the_same() {
    for to in 6..=14 {
        let mut ledger = EventLedger::default();
        ledger.emit(Tick(10), "hit");
        ledger.rewind(Tick(5));
        ledger.emit(Tick(to), "hit");
        ledger.confirm_before(Tick(99));
        ledger.poll();
        let resolved = ledger.poll().unwrap();
        assert_eq!(
            (resolved.tick, resolved.stage),
            (Tick(to), EventStage::Confirmed)
        );
        assert_eq!(resolved.predicted, Some(Tick(10)));
        assert_eq!(ledger.poll(), None);
    }
    for to in [5, 15] {
        let mut ledger = EventLedger::default();
        ledger.emit(Tick(10), "hit");
        ledger.rewind(Tick(5));
        ledger.emit(Tick(to), "hit");
        ledger.confirm_before(Tick(99));
        assert_eq!(delivered(&mut ledger).len(), 4);
    }
}

#[test]
fn an_event_that_its_own_tick_emits_again_is_that() {
    let mut ledger = EventLedger::default();
    ledger.emit(Tick(10), "hit");
    ledger.emit(Tick(11), "hit");
    ledger.rewind(Tick(10));
    ledger.emit(Tick(11), "hit");
    ledger.emit(Tick(12), "hit");
    ledger.confirm_before(Tick(99));
    let resolved = core::iter::from_fn(|| ledger.poll()).skip(2);
    let ticks: Vec<_> = resolved
        .map(|delivered| (delivered.predicted.unwrap().0, delivered.tick.0))
        .collect();
    assert_eq!(ticks, [(11, 11), (10, 12)]);
}

#[test]
fn what_a_final_tick_emits_again_is_not_cancelled() {
    let mut ledger = EventLedger::default();
    ledger.emit(Tick(3), "hit");
    ledger.rewind(Tick(3));
    ledger.confirm(Tick(3), "hit");
    ledger.confirm_before(Tick(99));
    assert_eq!(
        delivered(&mut ledger),
        [
            (3, EventStage::Predicted, "hit"),
            (3, EventStage::Confirmed, "hit")
        ]
    );
}

#[test]
fn what_is_forgotten_is_cancelled_once() {
    let mut ledger = EventLedger::default();
    ledger.emit(Tick(3), "hit");
    ledger.emit(Tick(5), "miss");
    ledger.rewind(Tick(4));
    ledger.forget();
    ledger.confirm_before(Tick(99));
    let resolved: Vec<_> = delivered(&mut ledger).split_off(2);
    assert_eq!(
        resolved,
        [
            (3, EventStage::Cancelled, "hit"),
            (5, EventStage::Cancelled, "miss")
        ]
    );
}

/// What the simulation emits in each tick.
type EventsByTick = Vec<Vec<u8>>;

fn events_by_tick(ticks: usize, rng: &mut Rng) -> EventsByTick {
    let kinds = 1 + rng.below(6);
    let most = 1 + rng.below(4);
    let emitted = |rng: &mut Rng| {
        let count = rng.below(2) * rng.below(most + 1);
        (0..count).map(|_| rng.below(kinds) as u8).collect()
    };
    (0..ticks).map(|_| emitted(rng)).collect()
}

/// What somebody expects who does not know all: some events missing, added, in another order or in another tick.
fn mistaken(right: &EventsByTick, rng: &mut Rng) -> EventsByTick {
    let mut wrong = vec![Vec::new(); right.len()];
    let late = rng.range(-5..6) * rng.below(2) as i32;
    for (tick, events) in right.iter().enumerate() {
        for event in events {
            let tick = tick as i64 + i64::from(late);
            let Some(events) = usize::try_from(tick)
                .ok()
                .and_then(|tick| wrong.get_mut(tick))
            else {
                continue;
            };
            match rng.below(6) {
                0 => {}
                1 => events.push(rng.below(6) as u8),
                2 => events.insert(0, *event),
                3 => events.extend([*event, *event]),
                _ => events.push(*event),
            }
        }
    }
    wrong
}

/// Simulates the events of some ticks with mistakes, again and again, and confirms them bit by bit.
fn play(right: &EventsByTick, rng: &mut Rng, mut on_event: impl FnMut(TimedEvent<u8>)) {
    let mut ledger = EventLedger::default();
    let ticks = right.len();
    let (mut known, mut settled, mut head) = (0, 0, 0);
    while settled < ticks {
        // What becomes known changes what is expected of later ticks.
        known = ticks.min(known + rng.below(4) as usize);
        let expected = mistaken(right, rng);
        let from = rng.range(settled as i32..head as i32 + 1) as usize;
        let from = from.min(known.max(settled));
        ledger.rewind(Tick(from as u64));
        head = ticks.min(head.max(known) + rng.below(5) as usize);
        let at_once = rng.chance(0.5);
        for tick in from..head {
            let is_known = tick < known;
            let events = if is_known {
                &right[tick]
            } else {
                &expected[tick]
            };
            let is_next = is_known && at_once && settled == tick;
            for event in events {
                match is_next {
                    true => ledger.confirm(Tick(tick as u64), *event),
                    false => ledger.emit(Tick(tick as u64), *event),
                }
            }
            if is_next {
                settled = tick + 1;
                ledger.confirm_before(Tick(settled as u64));
            }
        }
        // Only what was simulated in this round is known to have been simulated with what is right.
        let right_before = known.min(head);
        if from <= settled && right_before > settled {
            settled = rng.range(settled as i32..right_before as i32 + 1) as usize;
            ledger.confirm_before(Tick(settled as u64));
        }
        while let Some(delivered) = ledger.poll() {
            on_event(delivered);
        }
    }
    ledger.confirm_before(Tick(ticks as u64 + SHIFT + 1));
    assert!(ledger.standing.is_empty() && ledger.rewound.is_empty());
    while let Some(delivered) = ledger.poll() {
        on_event(delivered);
    }
}

#[test]
fn whatever_was_expected_the_confirmed_events_are_those_of_a_straight_run() {
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let right = events_by_tick(40, &mut rng);
        let straight = right.iter().zip(0..);
        let straight: Vec<(u64, u8)> = straight
            .flat_map(|(events, tick)| events.iter().map(move |event| (tick, *event)))
            .collect();
        for _ in 0..3 {
            let (mut open, mut confirmed) = (Vec::new(), Vec::new());
            play(&right, &mut rng, |delivered| {
                let named = (delivered.predicted, delivered.event);
                match delivered.stage {
                    EventStage::Predicted => open.push((Some(delivered.tick), delivered.event)),
                    _ if delivered.predicted.is_some() => {
                        let at = open.iter().position(|open| *open == named);
                        open.swap_remove(at.expect("predicted, and not resolved before"));
                    }
                    stage => assert_eq!(stage, EventStage::Confirmed, "seed {seed}"),
                }
                if delivered.stage == EventStage::Confirmed {
                    confirmed.push((delivered.tick.0, delivered.event));
                }
            });
            assert_eq!(confirmed, straight, "seed {seed}");
            assert_eq!(open, [], "seed {seed}");
        }
    }
}

#[test]
fn going_back_again_and_again_allocates_nothing() {
    let mut ledger = EventLedger::default();
    let mut run = |ticks: core::ops::Range<u64>| {
        for tick in ticks {
            ledger.rewind(Tick(tick - 8));
            for again in tick - 8..=tick {
                ledger.emit(Tick(again), again as u32);
                ledger.emit(Tick(again), (again ^ tick) as u32 % 5);
            }
            ledger.confirm_before(Tick(tick - 8));
            while ledger.poll().is_some() {}
        }
    };
    run(8..500);
    let allocations = allocation_counter::measure(|| run(500..2000));
    assert_eq!(allocations.count_total, 0);
}
