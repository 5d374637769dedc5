//! Skirmish on screens of all sizes.

use eframe::egui::{Vec2, vec2};
use samestep_catalog::skirmish::{Bot, Skirmish, SkirmishConfig, SkirmishEvent};
use samestep_sync::{EntityId, Live, PlayerId, Replicate, Tick, TickInputs, TimedEvent, World};

use super::super::units::Detail;
use super::super::view_state::ViewState;
use super::super::{map_of, spot};
use super::{ME, game, paint};
use crate::drawn::{Drawn, FADES, RecentEvent};

const SCREENS: [Vec2; 5] = [
    vec2(470.0, 300.0),
    vec2(1280.0, 720.0),
    vec2(200.0, 900.0),
    vec2(1.0, 1.0),
    vec2(0.0, 40.0),
];

/// A game after bots have played it; `each` gets every tick with its events.
fn play(game: Skirmish, ticks: u64, mut each: impl FnMut(&Skirmish, &[TimedEvent<SkirmishEvent>])) {
    let players: Vec<_> = game.sides().iter().map(|side| side.player).collect();
    let mut bots: Vec<_> = players.iter().map(|player| Bot::new(3, *player)).collect();
    let mut game = Live::new(game);
    let mut inputs = TickInputs::new();
    inputs.set_players(&players);
    for tick in (0..ticks).map(Tick) {
        inputs.clear();
        for bot in &mut bots {
            if let Some(command) = bot.decide(tick, game.state()) {
                inputs.give(bot.player(), &command);
            }
        }
        game.step(tick, &inputs);
        game.confirm(tick, &inputs);
        let told: Vec<_> = std::iter::from_fn(|| game.poll_event()).collect();
        each(game.state(), &told);
    }
}

#[test]
fn frames_stay_on_the_map_at_any_size() {
    let game = game();
    for screen in SCREENS {
        for viewer in [None, Some(ME), Some(PlayerId(9))] {
            let frame = game.frame(viewer, &ViewState::default(), screen);
            assert!(map_of(&game).contains(frame.centre), "{frame:?}");
            assert!(frame.size.min_elem() >= 1.0, "{frame:?}");
        }
        // A spectator sees everything.
        let all = game.frame(None, &ViewState::default(), screen);
        assert_eq!(all.size, map_of(&game).size());
    }
}

#[test]
fn a_battle_is_drawn_at_any_time_and_size() {
    let game = Skirmish::new(&SkirmishConfig::battle(2, 3, 240)).unwrap();
    let begin = game.clone();
    let mut lately: Vec<(u64, TimedEvent<SkirmishEvent>)> = Vec::new();
    let mut now = 0;
    play(game, 20 * 60, |game, told| {
        now += 1;
        lately.extend(told.iter().map(|told| (now, told.clone())));
        lately.retain(|(then, _)| (now - then) as f32 / 60.0 <= FADES);
        if now % 120 != 0 {
            return;
        }
        let recent = lately.iter().rev().map(|(then, told)| RecentEvent {
            ago: (now - then) as f32 / 60.0,
            stage: told.stage,
            was_predicted: false,
            event: &told.event,
        });
        let recent: Vec<_> = recent.collect();
        for (at, size) in SCREENS.into_iter().enumerate() {
            let viewer = [
                Some(ME),
                Some(PlayerId(2)),
                None,
                Some(PlayerId(9)),
                Some(ME),
            ][at];
            paint(game, &begin, viewer, &ViewState::default(), &recent, size);
        }
    });
}

#[test]
fn four_thousand_units_on_four_screens_take_few_triangles() {
    let game = Skirmish::new(&SkirmishConfig::battle(1, 4, 4000)).unwrap();
    let begin = game.clone();
    let mut battle = None;
    play(game, 15 * 60, |game, _| battle = Some(game.clone()));
    let battle = battle.unwrap();
    assert!(battle.units().len() > 3800);
    // Wherever one looks from; and everything at once.
    let mut all = 0;
    for player in (0..4).map(PlayerId) {
        let view_state = ViewState::default();
        all += paint(
            &battle,
            &battle,
            Some(player),
            &view_state,
            &[],
            vec2(470.0, 300.0),
        );
    }
    assert!(all < 40_000, "{all} triangles");
    let whole = paint(
        &battle,
        &battle,
        None,
        &ViewState::default(),
        &[],
        vec2(1900.0, 1000.0),
    );
    assert!(whole < 40_000, "{whole} triangles");
    // A ghost of everybody, all of them elsewhere.
    let ghosts = paint(
        &battle,
        &begin,
        None,
        &ViewState::default(),
        &[],
        vec2(500.0, 500.0),
    );
    assert!(ghosts < 60_000, "{ghosts} triangles");
}

#[test]
fn units_get_simpler_as_they_get_smaller_or_more() {
    assert_eq!(Detail::of(3.0, 10), Detail::Dots);
    assert_eq!(Detail::of(5.0, 10), Detail::Shapes);
    assert_eq!(Detail::of(12.0, 500), Detail::Figures);
    assert_eq!(Detail::of(12.0, 16_000), Detail::Shapes);
}

#[test]
fn a_ghost_is_drawn_only_where_it_differs() {
    let game = game();
    let mut other = game.clone();
    let count = |truth| {
        paint(
            &game,
            truth,
            Some(ME),
            &ViewState::default(),
            &[],
            vec2(640.0, 360.0),
        )
    };
    let same = count(&game);
    let id = *game.units().ids().first().unwrap();
    other.unit_mut(id).unwrap().place.x += 3 * samestep_catalog::skirmish::ONE;
    assert!((1..=12).contains(&(count(&other) - same)));
}

#[test]
fn differing_parts_of_the_state_can_be_pointed_at() {
    let game = game();
    let row = |row: u32| EntityId::from_number(row + 1);
    for kind in Skirmish::schema().kinds() {
        let kind = &*kind.name;
        let entity = match kind {
            "units" => game.units().ids().first().copied(),
            _ => row(0),
        };
        let place = game.place_of(kind, entity);
        assert_eq!(place.is_none(), kind == "globals", "{kind}");
        assert!(place.is_none_or(|place| map_of(&game).contains(place)));
        assert_eq!(game.place_of(kind, row(1_000_000)), None, "{kind}");
    }
    assert_eq!(
        game.place_of("mines", row(1)),
        Some(spot(game.mines()[1].place))
    );
}

#[test]
fn the_caption_says_how_a_player_stands() {
    let game = game();
    let caption = game.caption(Some(PlayerId(1)));
    assert!(
        caption.starts_with("200 gold · 12 units · 0 killed"),
        "{caption}"
    );
    assert_eq!(game.caption(None), "24 units");
}
