//! Hits are judged by what the attacker saw, where that is known.

use crate::scene::two;
use samestep_sublockus::{Ability, Angle, Controls, SublockusEvent};
use samestep_sync::{Live, PlayerId, Tick, TickInputs, ViewTime, World};

/// Two who stand so many blocks apart; at tick 10 the second begins to run to the right. At tick 40 the first casts at where the second was
/// for it, or is. Returns whether it hit.
fn shoot(ability: Ability, apart: i32, seen: Option<f64>) -> bool {
    let scene = two(apart);
    let mut live = Live::new(scene.game);
    let players = [PlayerId(0), PlayerId(1)];
    let mut inputs = TickInputs::new();
    inputs.set_players(&players);
    let mut places = Vec::new();
    for tick in (0..41).map(Tick) {
        places.push(live.state().character_of(players[1]).unwrap().place());
        inputs.clear();
        if tick.0 == 40 {
            let from = live.state().character_of(players[0]).unwrap().place();
            let to = match seen {
                Some(at) => places[at as usize],
                None => places[40],
            };
            let controls = Controls {
                aim: Angle::of(from.to(to)),
                cast: Some(ability),
                ..Controls::default()
            };
            inputs.give(players[0], &controls);
            if let Some(at) = seen {
                let before = Tick(at as u64);
                let view_time = ViewTime {
                    before,
                    after: before.next(),
                    fraction: ((at - at.floor()) * 65_536.0) as u16,
                };
                inputs.set_view_time(players[0], view_time);
            }
        } else if tick.0 == 10 {
            let run = Controls {
                right: true,
                ..Controls::default()
            };
            inputs.give(players[1], &run);
        }
        while live.poll_event().is_some() {}
        live.step(tick, &inputs);
        live.confirm(tick, &inputs);
    }
    let mut is_hit = false;
    while let Some(told) = live.poll_event() {
        is_hit |= matches!(told.event, SublockusEvent::Hit { .. });
    }
    is_hit
}

#[test]
fn a_bolt_hits_whom_the_shooter_saw_there() {
    for seen in [12.0, 20.5, 30.25] {
        assert!(shoot(Ability::Bolt, 4, Some(seen)), "{seen}");
    }
    assert!(shoot(Ability::Bolt, 4, None));
}

#[test]
fn a_strike_hits_whom_the_striker_saw_there() {
    assert!(shoot(Ability::Strike, 1, Some(12.5)));
    assert!(!shoot(Ability::Strike, 1, None), "it has run away");
}

#[test]
fn states_of_long_ago_do_not_count() {
    assert!(!shoot(Ability::Strike, 1, Some(2.0)));
}
