//! Drawing every arena.

use eframe::egui::{self, Pos2, Rect, Vec2, pos2, vec2};
use samestep_catalog::sublockus::{
    Ability, Angle, ArenaChoice, Bot, Builtin, Controls, ItemKind, Sublockus, SublockusConfig,
    SublockusEvent,
};
use samestep_sync::{EntityId, EventStage, Live, PlayerId, Tick, TickInputs, TimedEvent, World};

use super::memory::ViewState;
use super::{extent, spot};
use crate::canvas::Canvas;
use crate::drawn::{Drawn, RecentEvent, Scene};

mod keyboard;

const PLAYERS: u16 = 4;

/// The limits of triangles for a screen: one of four, and one alone.
const MOST_TRIANGLES: [usize; 2] = [4_000, 8_000];

/// Plays bots in an arena and calls back after every tick, with what happened in it.
fn play(
    builtin: Builtin,
    seconds: u64,
    mut each: impl FnMut(&Sublockus, &[TimedEvent<SublockusEvent>]),
) -> Sublockus {
    let config = SublockusConfig {
        seed: 5,
        arena: ArenaChoice::Builtin(builtin),
        grace: 0,
        ..SublockusConfig::default()
    };
    let mut game = Live::new(Sublockus::new(&config).unwrap());
    let ids: Vec<PlayerId> = (0..PLAYERS).map(PlayerId).collect();
    let mut bots: Vec<Bot> = ids.iter().map(|player| Bot::new(5, *player)).collect();
    let mut inputs = TickInputs::new();
    inputs.set_players(&ids);
    for tick in (0..seconds * 60).map(Tick) {
        inputs.clear();
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

fn rect(size: Vec2) -> Rect {
    Rect::from_min_size(pos2(10.0, 20.0), size)
}

/// Draws a screen with the ghost of the same state over it; returns how many triangles it takes.
fn paint(
    game: &Sublockus,
    viewer: Option<PlayerId>,
    size: Vec2,
    view_state: &ViewState,
    recent: &[RecentEvent<'_, SublockusEvent>],
) -> usize {
    let ctx = egui::Context::default();
    let mut triangles = 0;
    let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
        let frame = game.frame(viewer, view_state, size);
        let mut canvas = Canvas::new(ui.painter(), rect(size), frame);
        let scene = Scene {
            viewer,
            sharing: &[],
            drawn: game,
            view_state,
            recent,
            names: &[],
            seconds: game.clock() as f32 / 60.0,
        };
        game.paint(&scene, &mut canvas);
        game.paint_ghost(&scene, &mut canvas);
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
fn every_arena_is_drawn_for_everyone_and_takes_few_triangles() {
    let viewers = || (0..=PLAYERS).map(|player| (player < PLAYERS).then_some(PlayerId(player)));
    for builtin in Builtin::ALL {
        let mut lately: Vec<(u32, EventStage, SublockusEvent)> = Vec::new();
        let mut most = 0;
        let view_states: Vec<ViewState> = viewers().map(|_| ViewState::default()).collect();
        let game = play(builtin, 20, |game, events| {
            let clock = game.clock();
            lately.retain(|(then, ..)| clock - then < 48);
            lately.extend(events.iter().map(|event| (clock, event.stage, event.event)));
            if !clock.is_multiple_of(40) {
                return;
            }
            let recent: Vec<_> = lately
                .iter()
                .rev()
                .map(|(then, stage, event)| RecentEvent {
                    ago: (clock - then) as f32 / 60.0,
                    stage: *stage,
                    was_predicted: false,
                    event,
                })
                .collect();
            for (viewer, view_state) in viewers().zip(&view_states) {
                most = most.max(paint(game, viewer, SCREENS[0], view_state, &recent));
            }
        });
        for (viewer, view_state) in viewers().zip(&view_states) {
            for size in SCREENS {
                let takes = paint(&game, viewer, size, view_state, &[]);
                let most = MOST_TRIANGLES[usize::from(size.x > 640.0)];
                assert!(takes <= most, "{builtin:?}, {size}: {takes}");
            }
        }
        assert!(most <= MOST_TRIANGLES[0], "{builtin:?} takes {most}");
    }
}

#[test]
fn everything_that_can_happen_is_drawn_at_every_age() {
    let game = play(Builtin::Courtyard, 1, |_, _| {});
    let player = PlayerId(0);
    let place = game.character_of(player).unwrap().place();
    let (item, aim) = (ItemKind::Robe, Angle::LEFT);
    let mut events = vec![
        SublockusEvent::Joined { player },
        SublockusEvent::Left { player },
        SublockusEvent::Entered { player, place },
        SublockusEvent::Jumped { player, place },
        SublockusEvent::Flashed {
            player,
            from: place,
            to: place,
        },
        SublockusEvent::Burst { player, place },
        SublockusEvent::Hit {
            victim: player,
            by: None,
            ability: None,
            damage: 12,
            place,
        },
        SublockusEvent::Healed {
            player,
            health: 7,
            place,
        },
        SublockusEvent::Died {
            victim: PlayerId(9),
            killer: Some(player),
        },
        SublockusEvent::Fell {
            victim: player,
            place,
        },
        SublockusEvent::Taken {
            player,
            item,
            place,
        },
        SublockusEvent::Used {
            player,
            item,
            place,
        },
        SublockusEvent::Dropped {
            player,
            item,
            place,
        },
        SublockusEvent::RoundOver {
            winner: Some(player),
        },
        SublockusEvent::RoundOver { winner: None },
        SublockusEvent::RoundBegan,
    ];
    events.extend(Ability::ALL.map(|ability| SublockusEvent::Cast {
        player,
        ability,
        place,
        aim,
    }));
    for stage in [
        EventStage::Predicted,
        EventStage::Confirmed,
        EventStage::Cancelled,
    ] {
        for tenth in 0..=8 {
            let recent: Vec<_> = events
                .iter()
                .map(|event| RecentEvent {
                    ago: tenth as f32 / 10.0,
                    stage,
                    was_predicted: stage == EventStage::Cancelled,
                    event,
                })
                .collect();
            let view_state = ViewState::default();
            paint(&game, Some(player), SCREENS[2], &view_state, &recent);
        }
    }
}

#[test]
fn the_frame_stays_in_the_arena_and_shows_the_viewer() {
    for builtin in Builtin::ALL {
        let view_state = ViewState::default();
        play(builtin, 8, |game, _| {
            let player = PlayerId(0);
            let character = game.character_of(player).unwrap();
            for size in &SCREENS[..4] {
                let seen = game
                    .frame(Some(player), &view_state, *size)
                    .seen(rect(*size));
                let all = Rect::from_min_size(Pos2::ZERO, extent(game));
                for (seen, all) in [
                    (seen.x_range(), all.x_range()),
                    (seen.y_range(), all.y_range()),
                ] {
                    // What is larger than the arena has it in its middle.
                    let is_inside = seen.min >= all.min - 0.01 && seen.max <= all.max + 0.01;
                    let is_around = (seen.center() - all.center()).abs() < 0.01;
                    assert!(is_inside || is_around, "{builtin:?} {size}: {seen:?}");
                }
                if character.is_in(game.clock()) {
                    assert!(seen.contains(spot(character.place())), "{builtin:?} {size}");
                }
            }
        });
    }
}

#[test]
fn small_screens_show_part_of_the_arena_and_large_ones_all() {
    let game = play(Builtin::Courtyard, 1, |_, _| {});
    let frame = |size| game.frame(Some(PlayerId(1)), &ViewState::default(), size);
    assert_eq!(frame(vec2(1280.0, 720.0)).size, extent(&game));
    let small = frame(vec2(480.0, 250.0)).size;
    assert!((20.0..=28.0).contains(&small.x), "{small}");
    let nobody = game.frame(None, &ViewState::default(), vec2(480.0, 250.0));
    assert_eq!(nobody.size, extent(&game));
}

#[test]
fn who_died_looks_on_and_then_to_where_it_will_enter() {
    let view_state = ViewState::default();
    let player = PlayerId(0);
    let size = vec2(480.0, 250.0);
    let mut before: Option<Pos2> = None;
    let mut deaths = 0;
    play(Builtin::Cellar, 40, |game, _| {
        let centre = game.frame(Some(player), &view_state, size).centre;
        let waits = !game.character_of(player).unwrap().is_in(game.clock());
        if let Some(before) = before.filter(|_| waits) {
            deaths += 1;
            assert!(before.distance(centre) < 1.5, "{before} {centre}");
        }
        before = Some(centre);
    });
    assert!(deaths > 0);
}

/// A game in which no protection is left, and all characters are rested.
fn quiet() -> Sublockus {
    let config = SublockusConfig {
        grace: 0,
        ..SublockusConfig::default()
    };
    let mut game = Live::new(Sublockus::new(&config).unwrap());
    step(&mut game, Controls::default());
    step(&mut game, Controls::default());
    game.state().clone()
}

fn step(game: &mut Live<Sublockus>, controls: Controls) {
    let mut inputs = TickInputs::new();
    inputs.set_players(&[PlayerId(0), PlayerId(1)]);
    inputs.give(PlayerId(0), &controls);
    let tick = game.tick();
    game.step(tick, &inputs);
    game.confirm(tick, &inputs);
}

#[test]
fn things_are_found_by_their_ids() {
    let game = play(Builtin::Courtyard, 3, |_, _| {});
    for (id, character) in game.characters().iter() {
        let found = game.place_of("characters", Some(id));
        assert_eq!(found, Some(spot(character.place())));
    }
    for (id, item) in game.items().iter() {
        assert_eq!(game.place_of("items", Some(id)), Some(spot(item.place)));
    }
    let seat = EntityId::from_number(1);
    let character = game.character_of(game.seats()[1].player).unwrap();
    assert_eq!(game.place_of("seats", seat), Some(spot(character.place())));
    assert_eq!(game.place_of("characters", None), None);
    assert_eq!(game.place_of("nothing", seat), None);
}

#[test]
fn captions_say_how_one_stands() {
    let game = quiet();
    let caption = game.caption(Some(PlayerId(0)));
    assert_eq!(caption, "0 frags, 0 deaths, 100 health, 100 mana");
    assert_eq!(game.caption(None), "0 frags");
}
