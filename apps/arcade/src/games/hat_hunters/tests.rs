//! Drawing and playing, without a window.

use eframe::egui::{self, Rect, Vec2, pos2, vec2};
use samestep_catalog::hat_hunters::{
    Bot, Builtin, Cell, Controls, HatHunters, HatHuntersConfig, HatHuntersEvent, Heading, ItemKind,
    MapChoice, Mode, Steer,
};
use samestep_sync::{EntityId, EventStage, Live, PlayerId, TickInputs, TimedEvent, World};

use crate::canvas::{Canvas, at};
use crate::drawn::{Button, Drawn, HumanInput, Pointer, RecentEvent, Scene};

use super::{figure, spot};

const PLAYERS: u16 = 4;

/// The most triangles of a screen.
const MOST_TRIANGLES: usize = 40_000;

/// Bots play for so many seconds; `each` sees every tick.
fn play(
    config: &HatHuntersConfig,
    seconds: u64,
    mut each: impl FnMut(&HatHunters, &[TimedEvent<HatHuntersEvent>]),
) -> HatHunters {
    let mut game = Live::new(HatHunters::new(config).unwrap());
    let mut bots: Vec<_> = (0..PLAYERS).map(|p| Bot::new(3, PlayerId(p))).collect();
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

/// Draws a screen with the ghost of the same state over it; returns how many triangles it takes.
fn paint(
    game: &HatHunters,
    viewer: Option<PlayerId>,
    size: Vec2,
    recent: &[RecentEvent<'_, HatHuntersEvent>],
) -> usize {
    paint_shared(game, viewer, &[], size, recent)
}

/// The same for those who share a screen.
fn paint_shared(
    game: &HatHunters,
    viewer: Option<PlayerId>,
    sharing: &[PlayerId],
    size: Vec2,
    recent: &[RecentEvent<'_, HatHuntersEvent>],
) -> usize {
    let ctx = egui::Context::default();
    let mut triangles = 0;
    let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
        let frame = game.frame(viewer, &(), size);
        let rect = Rect::from_min_size(pos2(10.0, 20.0), size);
        let mut canvas = Canvas::new(ui.painter(), rect, frame);
        let scene = Scene {
            viewer,
            sharing,
            drawn: game,
            view_state: &(),
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
fn every_map_and_mode_is_drawn_for_everyone() {
    for (builtin, mode) in Builtin::ALL.into_iter().zip(Mode::ALL.into_iter().cycle()) {
        let mut config = HatHuntersConfig::in_mode(3, mode);
        config.map = MapChoice::Builtin(builtin);
        config.rules.ai = 40;
        let mut most = 0;
        let game = play(&config, 30, |game, events| {
            if events.is_empty() && !game.clock().is_multiple_of(60) {
                return;
            }
            let recent: Vec<_> = events
                .iter()
                .map(|event| RecentEvent {
                    ago: 0.2,
                    stage: event.stage,
                    was_predicted: false,
                    event: &event.event,
                })
                .collect();
            most = most.max(paint(game, Some(PlayerId(1)), SCREENS[1], &recent));
        });
        for size in SCREENS {
            for viewer in [None, Some(PlayerId(0)), Some(PlayerId(9))] {
                most = most.max(paint(&game, viewer, size, &[]));
            }
        }
        assert!(
            (1000..MOST_TRIANGLES).contains(&most),
            "{builtin:?}: {most}"
        );
    }
}

#[test]
fn everything_that_can_happen_is_drawn_at_every_age() {
    let game = play(&HatHuntersConfig::default(), 1, |_, _| {});
    let character = game.hunter(PlayerId(0)).unwrap().character;
    let (player, victim, by) = (PlayerId(0), character, game.characters().ids()[1]);
    let (place, cell) = (game.characters()[character].place(), Cell::new(3, 3));
    let mut events = vec![
        HatHuntersEvent::Joined { player },
        HatHuntersEvent::BoxPlaced { character, cell },
        HatHuntersEvent::BoxRemoved { cell },
        HatHuntersEvent::StarCollected { character, place },
        HatHuntersEvent::ItemCollected { character, cell },
        HatHuntersEvent::Bounced { place },
        HatHuntersEvent::Broke { place },
        HatHuntersEvent::Burst { place },
        HatHuntersEvent::Hit { victim, place },
        HatHuntersEvent::StarLost { victim, place },
        HatHuntersEvent::StarStolen { victim, by },
        HatHuntersEvent::HatOn { character, player },
        HatHuntersEvent::HatOff { character },
        HatHuntersEvent::Caught { victim, by },
        HatHuntersEvent::Out { character, place },
        HatHuntersEvent::Grew { cell },
        HatHuntersEvent::RoundOver { winner: None },
        HatHuntersEvent::RoundBegan,
    ];
    events.extend(ItemKind::ALL.map(|item| HatHuntersEvent::ItemUsed {
        character,
        item,
        place,
    }));
    for stage in [
        EventStage::Predicted,
        EventStage::Confirmed,
        EventStage::Cancelled,
    ] {
        let quiet = paint(&game, Some(player), SCREENS[2], &[]);
        for tenth in 0..8 {
            let recent = |event| RecentEvent {
                ago: tenth as f32 / 10.0,
                stage,
                was_predicted: stage == EventStage::Cancelled,
                event,
            };
            let recent: Vec<_> = events.iter().map(recent).collect();
            let takes = paint(&game, Some(player), SCREENS[2], &recent);
            assert!(takes > quiet, "{stage:?} {tenth}");
        }
    }
}

#[test]
fn all_of_the_field_is_seen() {
    let game = play(&HatHuntersConfig::default(), 1, |_, _| {});
    for size in &SCREENS[..4] {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), *size);
        let seen = game.frame(Some(PlayerId(0)), &(), *size).seen(rect);
        assert!(seen.contains(at(0.01, 0.01)) && seen.contains(at(23.9, 15.9)));
    }
}

#[test]
fn keys_and_mouse_steer() {
    let game = play(&HatHuntersConfig::default(), 1, |_, _| {});
    let controls = |human: &HumanInput| game.human_input(PlayerId(0), &mut (), human);
    assert_eq!(controls(&HumanInput::default()), Controls::steering(None));
    let human = HumanInput {
        up: true,
        right: true,
        ..HumanInput::default()
    };
    assert_eq!(controls(&human).steer, Steer::Towards(Heading(28)));
    let pressed = Button {
        held: true,
        pressed: true,
        released: false,
    };
    let mut human = HumanInput::default();
    human.actions[0] = pressed;
    human.actions[2] = pressed;
    let both = controls(&human);
    assert!(both.place_box && both.use_item);
    let here = spot(game.character_of(PlayerId(0)).unwrap().place());
    let pointer = Pointer {
        place: here + vec2(3.0, 0.6),
        primary: Button::default(),
        secondary: pressed,
        scroll: 0.0,
    };
    let human = HumanInput {
        pointer: Some(pointer),
        ..HumanInput::default()
    };
    assert_eq!(controls(&human).steer, Steer::Towards(Heading(1)));
}

#[test]
fn things_are_found_by_their_ids() {
    let game = play(&HatHuntersConfig::default(), 3, |_, _| {});
    for (id, character) in game.characters().iter() {
        let found = game.place_of("characters", Some(id));
        assert_eq!(found, Some(spot(character.place())));
        assert_eq!(game.place_of("purses", Some(id)), found);
    }
    for (id, star) in game.stars().iter() {
        assert_eq!(game.place_of("stars", Some(id)), Some(spot(star.place)));
    }
    let own = spot(game.character_of(PlayerId(1)).unwrap().place());
    assert_eq!(game.place_of("seats", EntityId::from_number(1)), Some(own));
    assert_eq!(game.place_of("characters", None), None);
    assert_eq!(game.place_of("nothing", EntityId::from_number(1)), None);
}

#[test]
fn captions_say_how_one_stands() {
    let game = play(&HatHuntersConfig::default(), 0, |_, _| {});
    assert_eq!(game.caption(None), "round 0");
    let mut tick = 0;
    let game = play(&HatHuntersConfig::default(), 1, |_, _| tick += 1);
    let caption = game.caption(Some(PlayerId(0)));
    assert!(
        caption.starts_with("round 1, ") && caption.ends_with("0 rounds won"),
        "{caption}"
    );
    assert_eq!(tick, 60);
}

#[test]
fn a_shared_screen_gives_nobody_away_until_the_round_is_over() {
    let mut config = HatHuntersConfig::default();
    config.rules.stars = 1;
    let all = [0, 1, 2, 3].map(PlayerId);
    let marks = |game: &HatHunters, sharing: &[PlayerId]| {
        let scene = Scene {
            viewer: Some(PlayerId(0)),
            sharing,
            drawn: game,
            view_state: &(),
            recent: &[],
            names: &[],
            seconds: 0.0,
        };
        let ids = game.characters().ids().iter();
        ids.filter(|id| figure::marked(game, &scene, **id).is_some())
            .count()
    };
    let (mut was_played, mut was_over) = (false, false);
    play(&config, 60, |game, _| {
        if game.hunters().len() < 4 {
            return;
        }
        let is_over = game.round().is_over();
        let (alone, shared) = if is_over { (4, 4) } else { (1, 0) };
        assert_eq!(marks(game, &[]), alone);
        assert_eq!(marks(game, &all), shared);
        was_played |= !is_over;
        was_over |= is_over;
        if game.clock().is_multiple_of(300) {
            for (size, count) in SCREENS.into_iter().zip([2, 3, 4, 2, 4]) {
                let triangles = paint_shared(game, Some(all[0]), &all[..count], size, &[]);
                assert!(triangles < MOST_TRIANGLES);
            }
        }
    });
    assert!(was_played && was_over);
}
