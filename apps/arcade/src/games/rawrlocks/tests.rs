//! Drawing and playing, without a window.

use eframe::egui::{self, Pos2, Rect, Vec2, pos2, vec2};
use samestep_catalog::rawrlocks::{
    Ability, Bot, Cursor, Heading, ONE, Phase, Place, PowerUpKind, Rawrlocks, RawrlocksConfig,
    RawrlocksEvent,
};
use samestep_sync::{EntityId, EventStage, Live, PlayerId, TickInputs, TimedEvent, World};

use crate::canvas::Canvas;
use crate::drawn::{Button, Drawn, HumanInput, Pointer, RecentEvent, Scene};

use super::play::ViewState;
use super::spot;

const PLAYERS: u16 = 10;

/// The most triangles of a screen.
const MOST_TRIANGLES: usize = 40_000;

/// Bots play for so many seconds; `each` sees every tick.
fn play(seconds: u64, each: impl FnMut(&Rawrlocks, &[TimedEvent<RawrlocksEvent>])) -> Rawrlocks {
    run(PLAYERS, seconds, each)
}

/// A round has begun, and nobody does anything.
fn quiet() -> Rawrlocks {
    run(0, 2, |_, _| {})
}

/// So many of the players are bots; the others do nothing.
fn run(
    bots: u16,
    seconds: u64,
    mut each: impl FnMut(&Rawrlocks, &[TimedEvent<RawrlocksEvent>]),
) -> Rawrlocks {
    let config = RawrlocksConfig {
        shrink_ticks: 180,
        break_ticks: 60,
        ..RawrlocksConfig::for_players(3, PLAYERS)
    };
    let mut game = Live::new(Rawrlocks::new(&config).unwrap());
    let mut bots: Vec<_> = (0..bots).map(|p| Bot::new(3, PlayerId(p))).collect();
    let players: Vec<_> = (0..PLAYERS).map(PlayerId).collect();
    for _ in 0..60 * seconds {
        let tick = game.tick();
        let mut inputs = TickInputs::new();
        inputs.set_players(&players);
        for bot in &mut bots {
            if let Some(controls) = bot.decide(tick, game.state()) {
                inputs.give(bot.player(), &controls);
            }
        }
        game.step(tick, &inputs);
        game.confirm(tick, &inputs);
        let events: Vec<_> = std::iter::from_fn(|| game.poll_event()).collect();
        each(game.state(), &events);
    }
    game.state().clone()
}

/// Draws a screen with the ghost of another state over it; returns how many triangles it takes.
fn paint(
    game: &Rawrlocks,
    truth: &Rawrlocks,
    viewer: Option<PlayerId>,
    size: Vec2,
    recent: &[RecentEvent<'_, RawrlocksEvent>],
) -> usize {
    let ctx = egui::Context::default();
    let view_state = ViewState::default();
    let mut triangles = 0;
    let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
        let frame = game.frame(viewer, &view_state, size);
        let rect = Rect::from_min_size(pos2(10.0, 20.0), size);
        let mut canvas = Canvas::new(ui.painter(), rect, frame);
        let scene = Scene {
            viewer,
            sharing: &[],
            drawn: game,
            view_state: &view_state,
            recent,
            names: &[(PlayerId(1), "Morgana".into())],
            seconds: game.clock() as f32 / 60.0,
        };
        game.paint(&scene, &mut canvas);
        truth.paint_ghost(&scene, &mut canvas);
        triangles = canvas.triangles();
        canvas.finish();
    });
    output.textures_delta.clear();
    triangles
}

const SCREENS: [Vec2; 5] = [
    vec2(480.0, 250.0),
    vec2(640.0, 340.0),
    vec2(1280.0, 720.0),
    vec2(300.0, 900.0),
    vec2(3.0, 1.0),
];

#[test]
fn whole_rounds_are_drawn_for_everyone() {
    let (mut most, mut phases) = (0, [false; 3]);
    let mut before = play(0, |_, _| {});
    let mut happened = Vec::new();
    let game = play(60, |game, events| {
        match game.round().phase {
            Phase::Waiting => {}
            Phase::Starting { .. } => phases[0] = true,
            Phase::Fighting => phases[1] = true,
            Phase::Over { .. } => phases[2] = true,
        }
        happened.extend(events.iter().map(|event| event.event));
        if !game.clock().is_multiple_of(20) {
            return;
        }
        let recent = |event| RecentEvent {
            ago: 0.2,
            stage: EventStage::Confirmed,
            was_predicted: false,
            event,
        };
        let recent: Vec<_> = happened.iter().map(recent).collect();
        let viewer = Some(PlayerId(1));
        most = most.max(paint(game, &before, viewer, SCREENS[1], &recent));
        before = game.clone();
        happened.clear();
    });
    assert_eq!(phases, [true; 3], "all that a match goes through");
    for size in SCREENS {
        for viewer in [None, Some(PlayerId(0)), Some(PlayerId(90))] {
            most = most.max(paint(&game, &game, viewer, size, &[]));
        }
    }
    assert!((2000..MOST_TRIANGLES).contains(&most), "{most}");
}

#[test]
fn everything_that_can_happen_is_drawn_at_every_age() {
    let game = play(3, |_, _| {});
    let (player, by, kind) = (PlayerId(0), PlayerId(1), PowerUpKind::Damage);
    let (victim, place, damage) = (player, Place::yards(30, 40), 7);
    let mut events = vec![
        RawrlocksEvent::Joined { player },
        RawrlocksEvent::Left { player },
        RawrlocksEvent::RoundBegan { number: 2 },
        RawrlocksEvent::RoundOver { winner: None },
        RawrlocksEvent::MatchOver { winner: player },
        RawrlocksEvent::ArenaShrank { yards: 200 },
        RawrlocksEvent::Burst { player, place },
        RawrlocksEvent::Faded { player, place },
        RawrlocksEvent::Teleported {
            player,
            from: place,
            to: Place::CENTRE,
        },
        RawrlocksEvent::Burnt {
            victim,
            damage,
            place,
        },
        RawrlocksEvent::Died {
            victim,
            killer: Some(by),
            place,
        },
        RawrlocksEvent::PowerTaken { player, kind },
        RawrlocksEvent::PowerEnded { player, kind },
        RawrlocksEvent::PowerUpBack { kind },
    ];
    for ability in Ability::ALL {
        events.push(RawrlocksEvent::CastBegan {
            player,
            ability,
            place,
        });
        events.push(RawrlocksEvent::Fired {
            player,
            ability,
            place,
        });
        events.push(RawrlocksEvent::Hit {
            victim,
            by,
            ability,
            damage,
            place,
        });
    }
    for stage in [
        EventStage::Predicted,
        EventStage::Confirmed,
        EventStage::Cancelled,
    ] {
        let quiet = paint(&game, &game, Some(player), SCREENS[2], &[]);
        for tenth in 0..8 {
            let recent = |event| RecentEvent {
                ago: tenth as f32 / 10.0,
                stage,
                was_predicted: stage == EventStage::Cancelled,
                event,
            };
            let recent: Vec<_> = events.iter().map(recent).collect();
            let takes = paint(&game, &game, Some(player), SCREENS[2], &recent);
            assert!(takes > quiet, "{stage:?} {tenth}");
        }
    }
    for event in &events {
        for listener in [None, Some(player), Some(by), Some(PlayerId(90))] {
            let heard = game.sound(event, listener);
            assert!(heard.is_none_or(|heard| (0.0..=1.0).contains(&heard.volume)));
        }
    }
    let sounds = events.iter().filter_map(|event| game.sound(event, None));
    assert!(sounds.count() >= 14);
}

#[test]
fn all_of_the_arena_is_seen() {
    let game = play(0, |_, _| {});
    let radius = super::yards(game.full_radius());
    for size in &SCREENS[..4] {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), *size);
        let frame = game.frame(Some(PlayerId(0)), &ViewState::default(), *size);
        let seen = frame.seen(rect);
        for turn in 0..32 {
            let edge = Vec2::angled(turn as f32 * 0.196) * radius;
            assert!(seen.contains(edge.to_pos2()), "{size:?}");
        }
    }
}

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

fn pointing(place: Pos2) -> HumanInput {
    HumanInput {
        pointer: Some(Pointer {
            place,
            primary: Button::default(),
            secondary: Button::default(),
            scroll: 0.0,
        }),
        ..HumanInput::default()
    }
}

#[test]
fn keys_walk_in_eight_directions() {
    let game = quiet();
    let controls =
        |human: &HumanInput| game.human_input(PlayerId(0), &mut ViewState::default(), human);
    assert_eq!(controls(&HumanInput::default()).walk, None);
    let human = HumanInput {
        up: true,
        right: true,
        ..HumanInput::default()
    };
    assert_eq!(controls(&human).walk, Some(Heading(28)));
    let both = HumanInput {
        left: true,
        right: true,
        ..HumanInput::default()
    };
    assert_eq!(controls(&both).walk, None);
    // Who has no avatar does no harm.
    game.human_input(PlayerId(90), &mut ViewState::default(), &human);
}

#[test]
fn every_action_is_cast_at_the_mouse() {
    let game = quiet();
    for (action, ability) in Ability::ALL.into_iter().enumerate() {
        let mut human = pointing(pos2(-123.5, 77.25));
        human.actions[action] = press();
        let controls = game.human_input(PlayerId(0), &mut ViewState::default(), &human);
        assert_eq!(controls.cast, Some(ability));
        let exact = Place::new(-123 * ONE - ONE / 2, 77 * ONE + ONE / 4);
        assert_eq!(controls.cursor, Cursor::at(exact));
    }
    // A mouse that only looks around is told less exactly.
    let look = |x: f32| {
        let human = pointing(pos2(x, 50.0));
        let controls = game.human_input(PlayerId(0), &mut ViewState::default(), &human);
        controls.cursor
    };
    assert_eq!(look(100.0), look(101.0));
    assert_ne!(look(100.0), look(107.0));
}

#[test]
fn fireballs_are_thrown_as_long_as_the_button_is_held_and_not_twice_on_a_slow_link() {
    let game = quiet();
    let mut view_state = ViewState::default();
    let mut human = pointing(pos2(0.0, 0.0));
    human.actions[0] = hold();
    let mut cast = |human: &HumanInput| {
        let controls = game.human_input(PlayerId(0), &mut view_state, human);
        controls.cast
    };
    assert_eq!(cast(&human), Some(Ability::Fireball));
    // The state does not show it yet.
    assert_eq!(cast(&human), None);
    human.actions[0] = press();
    assert_eq!(cast(&human), Some(Ability::Fireball), "asked for once more");
    // Nothing else repeats.
    let mut human = pointing(pos2(0.0, 0.0));
    human.actions[1] = hold();
    assert_eq!(cast(&human), None);
}

#[test]
fn without_a_mouse_one_aims_at_who_is_nearest_or_ahead() {
    let game = quiet();
    let own = game.avatar_of(PlayerId(0)).unwrap().place();
    let others = game.avatars().as_slice().iter();
    let others = others.filter(|other| other.player != PlayerId(0));
    let nearest = others
        .map(|other| other.place())
        .min_by_key(|place| own.distance(*place));
    let mut view_state = ViewState::default();
    let mut human = HumanInput {
        left: true,
        ..HumanInput::default()
    };
    human.actions[0] = press();
    let fireball = game.human_input(PlayerId(0), &mut view_state, &human);
    assert_eq!(fireball.cursor, Cursor::at(nearest.unwrap()));
    // It goes on looking where it went.
    let mut human = HumanInput::default();
    human.actions[3] = press();
    let thrust = game.human_input(PlayerId(0), &mut view_state, &human);
    assert_eq!(thrust.cast, Some(Ability::Thrust));
    let aim = own.to(thrust.cursor.place());
    assert_eq!(Heading::of(aim), Some(Heading::LEFT));
}

#[test]
fn things_are_found_by_their_ids() {
    let mut flying = None;
    let game = play(20, |game, _| {
        if !game.fireballs().is_empty() {
            flying = Some(game.clone());
        }
    });
    for (id, avatar) in game.avatars().iter() {
        let found = game.place_of("avatars", Some(id));
        assert_eq!(found, Some(spot(avatar.place())));
    }
    let flying = flying.expect("somebody threw a fireball");
    for (id, fireball) in flying.fireballs().iter() {
        let found = flying.place_of("fireballs", Some(id));
        assert_eq!(found, Some(spot(fireball.place)));
    }
    let own = spot(game.avatar_of(PlayerId(1)).unwrap().place());
    let first = EntityId::from_number(1);
    assert_eq!(game.place_of("seats", first), Some(own));
    let power = spot(PowerUpKind::Damage.place());
    assert_eq!(game.place_of("power_ups", first), Some(power));
    assert_eq!(game.place_of("avatars", None), None);
    assert_eq!(game.place_of("nothing", first), None);
}

#[test]
fn captions_say_how_one_stands() {
    let game = play(2, |_, _| {});
    assert_eq!(game.caption(None), "round 1");
    let caption = game.caption(Some(PlayerId(0)));
    assert!(
        caption.starts_with("round 1, 0 won, 0 kills, "),
        "{caption}"
    );
    let mut dead = false;
    play(40, |game, _| {
        let avatar = game.avatar_of(PlayerId(0)).unwrap();
        if !avatar.is_alive() {
            dead = true;
            assert!(game.caption(Some(PlayerId(0))).ends_with(", dead"));
        }
    });
    assert!(dead);
}
