use super::*;
use crate::lockstep::tests::virtual_room::ManyStones;
use crate::{Live, PlayerId, Simulation};

const KNOWN: KnownInputs = KnownInputs {
    upto: Tick(0),
    acknowledged: true,
};

fn predicting(max: u64) -> (Simulated, Timeline, Live<ManyStones>) {
    let mut simulated = Simulated::new(60);
    simulated.prediction = Some(Prediction {
        window: 8,
        max,
        lockstep_below: core::time::Duration::ZERO,
    });
    simulated.predicting = true;
    let mut world = Live::new(ManyStones::new());
    let mut attendance = Attendance::default();
    attendance.join(PlayerId(1));
    simulated.restart(Tick(0), &attendance, &mut world);
    (simulated, Timeline::default(), world)
}

fn push() -> Vec<u8> {
    let push = <ManyStones as Simulation>::Input::default();
    samestep_wire::encode_to_vec(&push).unwrap()
}

#[test]
fn prediction_ends_with_the_window_and_goes_on_as_inputs_arrive() {
    let (mut simulated, mut timeline, mut world) = predicting(8);
    let may = |simulated: &Simulated, known| simulated.may_predict(known, false, || true);
    while may(&simulated, Tick(0)) {
        simulated.predict_step(Tick(0), &mut timeline, &mut world);
    }
    assert_eq!(simulated.predicted_tick, Tick(8));
    assert!(may(&simulated, Tick(1)));
    assert!(
        !simulated.may_predict(Tick(8), true, || true),
        "a spectator"
    );
    assert!(simulated.may_predict(Tick(8), true, || false));
}

#[test]
fn a_changed_input_resimulates_what_follows_it() {
    let (mut simulated, mut timeline, mut world) = predicting(20);
    for _ in 0..10 {
        simulated.predict_step(Tick(0), &mut timeline, &mut world);
    }
    let before = simulated.predicted_tick;
    timeline.insert(Tick(4), PlayerId(1), &push());
    let changed = timeline.take_touched().unwrap();
    assert!(simulated.reconcile(changed, KNOWN, &mut timeline, &mut world));
    assert_eq!(simulated.predicted_tick, before);
    let Rollbacks {
        count,
        ticks,
        max_depth,
        ..
    } = simulated.rollbacks;
    assert_eq!((count, ticks, max_depth), (1, 6, 6));
    for _ in 0..10 {
        simulated.confirm(&mut timeline, &mut world);
    }
    assert_eq!(simulated.confirmed_tick, before);
    assert_eq!(simulated.confirmed_players.players(), [PlayerId(1)]);
}

#[test]
fn without_a_saved_state_there_is_no_rollback() {
    let (mut simulated, mut timeline, mut world) = predicting(20);
    simulated.predict_step(Tick(0), &mut timeline, &mut world);
    simulated.saves.forget();
    assert!(!simulated.reconcile(Tick(0), KNOWN, &mut timeline, &mut world));
    assert_eq!(simulated.rollbacks.count, 0);
}

#[test]
fn a_hold_ends_the_simulation() {
    let (mut simulated, mut timeline, mut world) = predicting(20);
    simulated.hold = Some(Tick(2));
    simulated.step(&mut timeline, &mut world);
    assert!(!simulated.is_held());
    simulated.step(&mut timeline, &mut world);
    assert!(simulated.is_held() && !simulated.is_over());
    simulated.confirm(&mut timeline, &mut world);
    simulated.confirm(&mut timeline, &mut world);
    assert!(simulated.is_over());
    assert!(simulated.is_check(Tick(60)) && !simulated.is_check(Tick(61)));
}
