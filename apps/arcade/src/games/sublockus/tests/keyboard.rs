//! Playing with keyboard and mouse.

use eframe::egui::vec2;
use samestep_catalog::sublockus::{Ability, Act, Angle, Builtin, Controls};
use samestep_sync::{Live, PlayerId};

use super::{PLAYERS, play, quiet, step};
use crate::drawn::{Button, Drawn, HumanInput, Pointer};
use crate::games::sublockus::memory::ViewState;
use crate::games::sublockus::spot;

fn press() -> Button {
    Button {
        held: true,
        pressed: true,
        released: false,
    }
}

fn hold() -> Button {
    Button {
        held: true,
        ..Button::default()
    }
}

#[test]
fn keys_run_and_jump() {
    let human = HumanInput {
        left: true,
        up: true,
        down: true,
        ..HumanInput::default()
    };
    let controls = quiet().human_input(PlayerId(0), &mut ViewState::default(), &human);
    assert!(controls.left && !controls.right && controls.jump && controls.down);
    assert!(controls.cast.is_none() && controls.act == Act::None);
    assert!(controls.aim.is_left());
    // Who has no character does no harm.
    quiet().human_input(PlayerId(30), &mut ViewState::default(), &human);
}

#[test]
fn one_aims_at_the_pointer() {
    let game = quiet();
    let own = spot(game.character_of(PlayerId(0)).unwrap().place());
    for (way, angle) in [
        (vec2(3.0, 0.0), Angle::RIGHT),
        (vec2(0.0, -2.0), Angle::UP),
        (vec2(-9.0, 0.0), Angle::LEFT),
        (vec2(0.0, 1.0), Angle::DOWN),
    ] {
        let human = HumanInput {
            pointer: Some(Pointer {
                place: own + way,
                primary: Button::default(),
                secondary: Button::default(),
                scroll: 0.0,
            }),
            ..HumanInput::default()
        };
        let controls = game.human_input(PlayerId(0), &mut ViewState::default(), &human);
        let off = controls.aim.0.wrapping_sub(angle.0) as i16;
        assert!(off.abs() < 20, "{way}: {:?}", controls.aim);
    }
}

#[test]
fn without_a_pointer_one_aims_where_one_goes_and_goes_on_doing_so() {
    let game = quiet();
    let mut view_state = ViewState::default();
    let left = HumanInput {
        left: true,
        ..HumanInput::default()
    };
    assert!(
        game.human_input(PlayerId(0), &mut view_state, &left)
            .aim
            .is_left()
    );
    let nothing = HumanInput::default();
    assert!(
        game.human_input(PlayerId(0), &mut view_state, &nothing)
            .aim
            .is_left()
    );
}

#[test]
fn what_is_held_is_cast_again_when_it_is_possible_and_not_before() {
    let mut game = Live::new(quiet());
    let mut view_state = ViewState::default();
    let mut casts = Vec::new();
    for tick in 0..100 {
        let mut human = HumanInput::default();
        human.actions[0] = if tick == 0 { press() } else { hold() };
        let controls = game
            .state()
            .human_input(PlayerId(0), &mut view_state, &human);
        if controls.cast.is_some() {
            casts.push(tick);
        }
        step(&mut game, controls);
    }
    let cooldown = Ability::Fireball.stats().cooldown;
    assert!(casts.len() >= 3, "{casts:?}");
    assert!(
        casts.windows(2).all(|two| two[1] - two[0] >= cooldown),
        "{casts:?}"
    );
}

#[test]
fn a_state_that_does_not_show_it_yet_is_not_told_again() {
    let game = quiet();
    let mut view_state = ViewState::default();
    let mut human = HumanInput::default();
    human.actions[2] = press();
    let cast = game.human_input(PlayerId(0), &mut view_state, &human).cast;
    assert_eq!(cast, Some(Ability::Bolt));
    human.actions[2] = hold();
    assert_eq!(
        game.human_input(PlayerId(0), &mut view_state, &human).cast,
        None
    );
}

#[test]
fn every_action_has_its_ability() {
    for (action, ability) in [
        (0, Ability::Fireball),
        (1, Ability::Strike),
        (2, Ability::Bolt),
        (3, Ability::Mend),
    ] {
        let mut human = HumanInput::default();
        human.actions[action] = press();
        let controls = quiet().human_input(PlayerId(0), &mut ViewState::default(), &human);
        assert_eq!(controls.cast, Some(ability));
    }
}

#[test]
fn the_fourth_action_lets_a_fireball_burst() {
    let mut game = Live::new(quiet());
    let controls = Controls {
        cast: Some(Ability::Fireball),
        aim: Angle::UP,
        ..Controls::default()
    };
    step(&mut game, controls);
    let id = game.state().projectiles().ids()[0];
    let mut human = HumanInput::default();
    human.actions[3] = press();
    let controls = game
        .state()
        .human_input(PlayerId(0), &mut ViewState::default(), &human);
    assert_eq!((controls.act, controls.cast), (Act::Detonate(id), None));
    step(&mut game, controls);
    assert!(game.state().projectiles().is_empty());
}

#[test]
fn digits_use_what_is_in_a_pocket() {
    let mut used = false;
    play(Builtin::Cellar, 20, |game, _| {
        for player in (0..PLAYERS).map(PlayerId) {
            let pockets = game.character_of(player).unwrap().kit.pockets.len();
            for digit in 0..=9 {
                let human = HumanInput {
                    digit: Some(digit),
                    ..HumanInput::default()
                };
                let act = game
                    .human_input(player, &mut ViewState::default(), &human)
                    .act;
                let is_there = digit > 0 && usize::from(digit) <= pockets;
                let wanted = if is_there {
                    Act::Use(digit - 1)
                } else {
                    Act::None
                };
                assert_eq!(act, wanted);
                used |= is_there;
            }
        }
    });
    assert!(used, "nobody has picked up anything");
}
