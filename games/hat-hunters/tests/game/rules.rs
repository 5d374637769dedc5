//! The rules, one at a time.

use crate::scene::{Scene, cell, players, yard};
use samestep_hat_hunters::{
    BREAK, Cell, Confirmations, FUSE, Ground, HatHunters, HatHuntersConfig, HatHuntersConfigError,
    HatHuntersEvent, Heading, ItemKind, Items, MapChoice, Mode, ONE, Place, RADIUS, Rules, Star,
    Steer,
};
use samestep_playable::Playable;
use samestep_sync::{
    Confirmation, EntityId, Events, Input, Inputs, PlayerId, Simulation, Tick, UpdateWindow,
};

/// A tick under this window, and what it emits.
fn step(scene: &mut Scene, window: UpdateWindow) -> Vec<HatHuntersEvent> {
    scene.window = window;
    scene.events.clear();
    scene.run(1);
    core::mem::take(&mut scene.events)
}

fn window(ticks: u16, predicting: bool) -> UpdateWindow {
    UpdateWindow { ticks, predicting }
}

#[test]
fn nothing_said_goes_on_and_stop_stops() {
    let mut scene = players(2, &yard());
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(1);
    scene.held[0].steer = Steer::Keep;
    scene.run(30);
    let character = scene.character(0);
    assert_eq!(character.steering, Some(Heading::RIGHT));
    assert!(character.place().x > 4 * ONE);
    scene.steer(0, None);
    scene.run(90);
    let character = scene.character(0);
    assert_eq!((character.steering, character.look), (None, Heading::RIGHT));
    assert_eq!(character.body.velocity, Default::default());
}

#[test]
fn one_looks_where_one_steers_not_where_one_is_pushed() {
    let mut scene = players(2, &yard());
    scene.put(0, Place::middle_of(1, 4));
    scene.steer(0, Some(Heading(14)));
    scene.run(60);
    let character = scene.character(0);
    assert_eq!(character.look, Heading(14));
    assert_eq!(
        character.place().x,
        ONE + RADIUS,
        "it slides along the edge"
    );
    assert!(character.place().y > 6 * ONE);
}

#[test]
fn a_box_appears_when_its_character_has_left_the_cell() {
    let mut scene = players(2, &yard());
    scene.place_box(0);
    let silhouette = scene.character(0).silhouette.unwrap();
    assert_eq!((silhouette.cell, silhouette.is_left), (cell(2, 1), false));
    scene.run(60);
    assert_eq!(scene.game.field().ground(2, 1), Ground::Floor);
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(9);
    assert_eq!(scene.game.field().ground(2, 1), Ground::Floor);
    scene.run(20);
    assert_eq!(scene.game.field().ground(2, 1), Ground::Box);
    assert_eq!(scene.character(0).silhouette, None);
    // Nobody passes it.
    scene.steer(0, Some(Heading::LEFT));
    scene.run(90);
    assert_eq!(scene.character(0).place().x, 3 * ONE + RADIUS);
    // Not again before the cooldown is over.
    assert!(scene.purse(0).box_from > scene.game.clock());
    scene.place_box(0);
    assert_eq!(scene.character(0).silhouette, None);
    scene.run(240);
    scene.place_box(0);
    assert!(scene.character(0).silhouette.is_some());
}

#[test]
fn no_box_appears_where_somebody_else_is_or_something_lies() {
    for taken in [true, false] {
        let mut scene = players(2, &yard());
        scene.put(0, Place::middle_of(5, 6));
        scene.place_box(0);
        match taken {
            true => scene.put(1, Place::middle_of(5, 6)),
            false => {
                let id = scene.game.add_container(cell(5, 6));
                // A hand that holds something leaves it there.
                scene.purse_mut(0).item = Some(ItemKind::Boots);
                assert!(scene.game.containers().contains(id));
            }
        }
        scene.steer(0, Some(Heading::LEFT));
        scene.run(40);
        assert_eq!(scene.game.field().ground(5, 6), Ground::Floor);
        assert_eq!(scene.character(0).silhouette, None);
    }
}

#[test]
fn a_box_falls_apart_after_a_while() {
    let mut config = yard();
    config.rules.box_life = 100;
    let mut scene = players(1, &config);
    scene.place_box(0);
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(30);
    assert_eq!(scene.game.field().ground(2, 1), Ground::Box);
    scene.run(100);
    assert_eq!(scene.game.field().ground(2, 1), Ground::Floor);
    let removed = HatHuntersEvent::BoxRemoved { cell: cell(2, 1) };
    assert!(scene.events.contains(&removed));
}

#[test]
fn stars_appear_are_collected_by_touching_and_win() {
    let mut scene = players(2, &yard());
    scene.run(120);
    assert_eq!(scene.game.stars().len(), 3, "three lie at once");
    scene.game.clear_things();
    for column in 3..8 {
        scene
            .game
            .add_star(Star::lying(Place::middle_of(column, 1)));
    }
    scene.put(0, Place::middle_of(2, 1));
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(20);
    assert!((1..3).contains(&scene.purse(0).stars));
    scene.run(60);
    let round = scene.game.round();
    assert_eq!(round.winner, Some(PlayerId(0)));
    assert!(round.is_over() && !scene.game.is_over());
    let seat = scene.game.seat_of(PlayerId(0)).unwrap();
    assert_eq!((seat.wins, seat.stars), (1, 5));
    let over = HatHuntersEvent::RoundOver {
        winner: Some(PlayerId(0)),
    };
    assert_eq!(scene.count(|event| *event == over), 1);
    let before = scene.id(0);
    scene.run(u64::from(BREAK));
    assert_eq!(scene.game.round().number, 2);
    assert!(!scene.game.round().is_over());
    assert_ne!(scene.id(0), before, "another character");
    assert_eq!(scene.purse(0).stars, 0);
}

#[test]
fn characters_that_nobody_plays_collect_but_do_not_win() {
    let mut config = yard();
    config.rules.ai = 20;
    config.rules.stars = 1;
    config.rules.stars_at_once = 12;
    let mut scene = Scene::new(&config, 1);
    scene.run(1);
    scene.put(0, Place::middle_of(1, 1));
    let mut collected = 0;
    for _ in 0..1200 {
        scene.run(1);
        let id = scene.id(0);
        let others = scene.game.characters().ids().iter();
        let purses = others.filter(|other| **other != id);
        collected = purses
            .map(|id| u32::from(scene.game.purse(*id).unwrap().stars))
            .sum();
        if scene.game.round().is_over() {
            assert_eq!(scene.game.round().winner, Some(PlayerId(0)));
            break;
        }
    }
    assert!(collected > 5, "{collected}");
}

#[test]
fn a_hat_shows_who_is_about_to_win() {
    let mut scene = players(2, &yard());
    scene.purse_mut(0).stars = 3;
    scene.run(1);
    assert_eq!(scene.character(0).hat, None);
    scene.purse_mut(0).stars = 4;
    scene.run(1);
    assert_eq!(scene.character(0).hat, Some(PlayerId(0)));
    let (character, player) = (scene.id(0), PlayerId(0));
    assert!(
        scene
            .events
            .contains(&HatHuntersEvent::HatOn { character, player })
    );
    scene.purse_mut(0).stars = 2;
    scene.run(1);
    assert_eq!(scene.character(0).hat, None);
    assert!(
        scene
            .events
            .contains(&HatHuntersEvent::HatOff { character })
    );
}

#[test]
fn an_item_is_drawn_when_its_container_is_collected() {
    let mut config = yard();
    config.rules.items = Items::of(&[ItemKind::Axe]);
    let mut scene = players(2, &config);
    for column in [2, 6] {
        scene.game.add_container(cell(column, 1));
    }
    scene.run(1);
    assert_eq!(scene.purse(0).item, Some(ItemKind::Axe));
    let drawn = HatHuntersEvent::ItemDrawn {
        player: PlayerId(0),
        item: ItemKind::Axe,
    };
    assert!(scene.events.contains(&drawn));
    // Who holds one takes no other.
    scene.put(0, Place::middle_of(6, 1));
    scene.run(5);
    assert_eq!(scene.game.containers().len(), 1);
    scene.held[0].use_item = true;
    scene.run(2);
    assert_eq!(scene.game.containers().len(), 0);
}

#[test]
fn a_green_projectile_bounces_destroys_a_box_and_knocks_out_a_star() {
    let mut scene = players(2, &yard());
    scene.game.set_ground(cell(9, 1), Ground::Box);
    scene.put(1, Place::middle_of(4, 6));
    scene.purse_mut(1).stars = 2;
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(1);
    scene.steer(0, None);
    scene.use_item(0, ItemKind::Green);
    assert_eq!(scene.purse(0).item, None);
    scene.run(90);
    assert_eq!(scene.game.field().ground(9, 1), Ground::Floor);
    let removed = HatHuntersEvent::BoxRemoved { cell: cell(9, 1) };
    assert!(scene.events.contains(&removed));
    // It came back and hit who shot it, who has no star.
    let hit = |player: u16, scene: &Scene| {
        let id = scene.id(player);
        scene.count(|event| matches!(event, HatHuntersEvent::Hit { victim, .. } if *victim == id))
    };
    assert_eq!((hit(0, &scene), hit(1, &scene)), (1, 0));
    assert_eq!(scene.game.projectiles().len(), 0);
    // The other one loses a star, which moves and is whoever's it touches.
    scene.put(0, Place::middle_of(1, 6));
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(1);
    scene.steer(0, None);
    scene.use_item(0, ItemKind::Green);
    scene.game.clear_things();
    scene.run(30);
    assert_eq!((hit(1, &scene), scene.purse(1).stars), (1, 1));
    let moving = scene.game.stars().as_slice().iter();
    let moving = moving.filter(|star| star.is_moving()).count();
    let caught = scene.count(|event| matches!(event, HatHuntersEvent::StarCollected { .. }));
    assert_eq!(moving + caught, 1);
}

#[test]
fn a_projectile_flies_out_of_a_box_that_appears_around_it() {
    let mut scene = players(2, &yard());
    scene.put(0, Place::middle_of(2, 4));
    scene.put(1, Place::middle_of(2, 1));
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(1);
    scene.use_item(0, ItemKind::Green);
    let (id, shot) = scene.game.projectiles().iter().next().unwrap();
    let (shot, around) = (*shot, shot.place.cell());
    scene.game.set_ground(around, Ground::Box);
    scene.events.clear();
    scene.run(6);
    assert_eq!(scene.events, []);
    let flown = Place::new(shot.place.x + 6 * shot.velocity.x, shot.place.y);
    assert_eq!(scene.game.projectiles()[id].place, flown);
    assert_ne!(flown.cell(), around);
    assert_eq!(scene.game.field().at(around), Ground::Box);
}

#[test]
fn a_projectile_breaks_after_so_many_bounces() {
    let mut config = yard();
    config.rules.bounces = 2;
    let mut scene = players(2, &config);
    scene.put(0, Place::middle_of(4, 7));
    scene.put(1, Place::middle_of(2, 1));
    scene.steer(0, Some(Heading::UP));
    scene.run(1);
    scene.use_item(0, ItemKind::Green);
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(300);
    let bounces = scene.count(|event| matches!(event, HatHuntersEvent::Bounced { .. }));
    let breaks = scene.count(|event| matches!(event, HatHuntersEvent::Broke { .. }));
    assert_eq!((bounces, breaks), (3, 1));
    assert!(scene.game.projectiles().is_empty());
}

#[test]
fn a_star_that_moves_comes_to_rest_and_stays_inside() {
    let mut scene = players(1, &yard());
    scene.put(0, Place::middle_of(14, 8));
    let mut star = Star::lying(Place::middle_of(3, 3));
    star.velocity = Heading(5).way(70);
    let id = scene.game.add_star(star);
    for _ in 0..600 {
        scene.run(1);
        let Some(star) = scene.game.stars().get(id) else {
            break;
        };
        let (column, row) = star.place.column_and_row();
        assert!(!scene.game.field().is_solid(column, row), "{star:?}");
    }
    let star = scene.game.stars().get(id);
    assert!(star.is_none_or(|star| !star.is_moving()));
}

#[test]
fn a_magnet_steals_from_the_nearest_in_reach() {
    for (column, expected) in [(4, (1, 1)), (7, (0, 2))] {
        let mut scene = players(3, &yard());
        scene.purse_mut(1).stars = 2;
        scene.put(1, Place::middle_of(column, 1));
        scene.put(2, Place::middle_of(9, 8));
        scene.use_item(0, ItemKind::Magnet);
        assert_eq!((scene.purse(0).stars, scene.purse(1).stars), expected);
    }
}

#[test]
fn a_bomb_bursts_after_its_fuse() {
    let mut scene = players(2, &yard());
    scene.put(0, Place::middle_of(4, 6));
    scene.put(1, Place::middle_of(5, 6));
    scene.purse_mut(1).stars = 1;
    scene.game.set_ground(cell(4, 8), Ground::Box);
    scene.game.set_ground(cell(8, 8), Ground::Box);
    scene.use_item(0, ItemKind::Bomb);
    scene.put(0, Place::middle_of(12, 1));
    scene.run(u64::from(FUSE) - 1);
    assert_eq!(scene.purse(1).stars, 1);
    scene.run(1);
    assert_eq!(scene.purse(1).stars, 0);
    let field = scene.game.field();
    assert_eq!(field.ground(4, 8), Ground::Floor);
    assert_eq!(field.ground(8, 8), Ground::Box, "too far");
    assert_eq!(field.ground(8, 4), Ground::Stump);
    assert!(scene.game.bombs().is_empty());
}

#[test]
fn an_axe_destroys_the_boxes_ahead_up_to_a_stump() {
    let mut scene = players(1, &yard());
    scene.put(0, Place::middle_of(4, 4));
    for column in [3, 5, 6, 9] {
        scene.game.set_ground(cell(column, 4), Ground::Box);
    }
    scene.steer(0, Some(Heading::RIGHT));
    scene.use_item(0, ItemKind::Axe);
    let ground = |column| scene.game.field().ground(column, 4);
    assert_eq!(
        [3, 5, 6].map(ground),
        [Ground::Box, Ground::Floor, Ground::Floor]
    );
    assert_eq!([8, 9].map(ground), [Ground::Stump, Ground::Box]);
}

#[test]
fn boots_are_faster_for_a_while() {
    let way = |item: Option<ItemKind>| {
        let mut scene = players(1, &yard());
        if let Some(item) = item {
            scene.use_item(0, item);
        }
        scene.steer(0, Some(Heading::RIGHT));
        scene.run(60);
        scene.character(0).place().x - 2 * ONE
    };
    assert!(way(Some(ItemKind::Boots)) > way(None) * 14 / 10);
}

#[test]
fn a_swap_changes_places_with_somebody_that_nobody_plays() {
    let mut config = yard();
    config.rules.ai = 3;
    let mut scene = players(2, &config);
    let before: Vec<Place> = scene
        .game
        .characters()
        .as_slice()
        .iter()
        .map(|it| it.place())
        .collect();
    let (own, other) = (scene.character(0).place(), scene.character(1).place());
    scene.use_item(0, ItemKind::Swap);
    let now = scene.character(0).place();
    assert!(now.distance(own) > ONE / 2);
    assert!(before.iter().any(|place| place.distance(now) < ONE / 4));
    assert_eq!(scene.character(1).place(), other);
}

#[test]
fn a_whistle_makes_all_turn_that_nobody_plays() {
    let mut config = yard();
    config.rules.ai = 20;
    let mut scene = players(2, &config);
    scene.run(200);
    let steering = |scene: &Scene| -> Vec<_> {
        let characters = scene.game.characters().as_slice().iter();
        characters.map(|it| it.steering).collect()
    };
    let without = {
        let (mut other, before) = (scene.clone(), steering(&scene));
        other.run(1);
        steering(&other)
            .iter()
            .zip(&before)
            .filter(|(a, b)| a != b)
            .count()
    };
    let before = steering(&scene);
    scene.use_item(0, ItemKind::Whistle);
    scene.run(1);
    let turned = steering(&scene)
        .iter()
        .zip(&before)
        .filter(|(a, b)| a != b)
        .count();
    assert!(turned > without + 6, "{turned} and {without} without");
}

#[test]
fn who_wears_a_hat_can_be_caught_and_the_last_one_left_wins() {
    let mut config = yard();
    config.rules = Rules {
        ai: 0,
        containers: 0,
        ..Mode::HatCatch.rules()
    };
    let mut scene = players(3, &config);
    for (player, column) in [(0, 5), (1, 6), (2, 12)] {
        scene.put(player, Place::middle_of(column, 7));
    }
    scene.put(1, Place::new(5 * ONE + 512 + RADIUS, 7 * ONE + 512));
    scene.run(70);
    assert!(!scene.character(1).is_out, "without a hat nobody is caught");
    scene.purse_mut(1).stars = 2;
    scene.run(30);
    assert!(!scene.character(1).is_out, "a head start");
    scene.run(40);
    assert!(scene.character(1).is_out);
    assert_eq!(scene.game.hunter(PlayerId(0)).unwrap().catches, 1);
    assert!(!scene.game.round().is_over());
    // Who is out does nothing more.
    scene.place_box(1);
    assert_eq!(scene.character(1).silhouette, None);
    scene.purse_mut(0).stars = 2;
    scene.put(2, scene.character(0).place());
    scene.run(70);
    assert_eq!(scene.game.round().winner, Some(PlayerId(2)));
    // In other modes hats are only seen.
    let mut scene = players(2, &yard());
    scene.put(1, scene.character(0).place());
    scene.purse_mut(1).stars = 4;
    scene.run(90);
    assert!(!scene.character(1).is_out);
}

#[test]
fn who_is_hit_too_often_is_out() {
    let mut config = yard();
    config.rules = Rules {
        ai: 0,
        containers: 0,
        hits: 2,
        ..Mode::Elimination.rules()
    };
    let mut scene = players(2, &config);
    scene.put(1, Place::middle_of(5, 1));
    for hits in 1..=2 {
        scene.steer(0, Some(Heading::RIGHT));
        scene.run(1);
        scene.steer(0, None);
        scene.use_item(0, ItemKind::Green);
        scene.run(30);
        assert_eq!(scene.character(1).hits, hits);
    }
    assert!(scene.character(1).is_out);
    assert_eq!(scene.game.round().winner, Some(PlayerId(0)));
    scene.run(u64::from(BREAK));
    assert!(!scene.character(1).is_out, "the next round is for all");
}

#[test]
fn bushes_grow_and_keep_the_field_in_one_piece() {
    let mut config = HatHuntersConfig::in_mode(3, Mode::Bushes);
    config.rules = Rules {
        growth: 5,
        ai: 12,
        stars: 20,
        ..config.rules
    };
    let mut scene = Scene::new(&config, 2);
    scene.run(1);
    let floor = |scene: &Scene| {
        let field = scene.game.field();
        let cells = (0..field.height()).flat_map(|row| (0..field.width()).map(move |c| (c, row)));
        let open = |(column, row): &(i32, i32)| {
            matches!(field.ground(*column, *row), Ground::Floor | Ground::Box)
        };
        cells.filter(open).collect::<Vec<_>>()
    };
    let first = floor(&scene).len();
    for _ in 0..30 {
        scene.run(60);
        let open = floor(&scene);
        let mut reached = vec![open[0]];
        let mut at = 0;
        while let Some((column, row)) = reached.get(at).copied() {
            at += 1;
            for beside in [
                (column + 1, row),
                (column - 1, row),
                (column, row + 1),
                (column, row - 1),
            ] {
                if open.contains(&beside) && !reached.contains(&beside) {
                    reached.push(beside);
                }
            }
        }
        assert_eq!(reached.len(), open.len(), "one piece");
    }
    let last = floor(&scene).len();
    assert!(last < first * 2 / 3 && last >= 40, "{first} to {last}");
}

#[test]
fn the_match_is_over_when_somebody_has_won_enough_rounds() {
    let mut config = yard();
    config.rules.rounds = 2;
    let mut scene = players(2, &config);
    for _ in 0..2 {
        scene.run(1);
        scene.purse_mut(1).stars = 5;
        scene.run(1);
        scene.run(u64::from(BREAK));
    }
    assert!(scene.game.is_over());
    assert_eq!(scene.game.leader(), Some(PlayerId(1)));
    let over = HatHuntersEvent::MatchOver {
        winner: Some(PlayerId(1)),
    };
    assert_eq!(scene.count(|event| *event == over), 1);
    // Nothing changes the scores from here on, and a newcomer only watches.
    let scores = scene.game.scores();
    scene.purse_mut(0).stars = 9;
    scene.game.add_star(Star::lying(scene.character(0).place()));
    scene.players.push(PlayerId(7));
    scene.held.resize(8, Default::default());
    scene.run(1000);
    assert_eq!(scene.game.scores()[..2], scores);
    assert_eq!(scene.game.scores()[2].figures, [0, 0]);
    assert!(scene.game.hunter(PlayerId(7)).is_none());
}

#[test]
fn time_ends_the_match_and_who_is_ahead_wins_the_round() {
    let mut config = yard();
    config.rules.time_limit = Some(120);
    let mut scene = players(2, &config);
    scene.purse_mut(0).stars = 1;
    scene.run(118);
    assert!(!scene.game.is_over());
    scene.run(1);
    assert!(scene.game.is_over());
    assert_eq!(scene.game.scores()[0].player, PlayerId(0));
    assert_eq!(scene.game.scores()[0].figures, [1, 1]);
    // As many stars each: nobody.
    let mut scene = players(2, &config);
    scene.game.clear_things();
    scene.run(119);
    assert!(scene.game.is_over());
    assert_eq!(scene.game.leader(), None);
}

#[test]
fn who_is_away_walks_on_by_itself_and_who_is_gone_stays_as_nobody() {
    let mut config = yard();
    config.rules.ai = 4;
    let mut scene = players(3, &config);
    let id = scene.id(2);
    scene.steer(2, None);
    scene.run(30);
    scene.players.pop();
    scene.away = vec![(PlayerId(2), scene.tick)];
    let from = scene.game.characters()[id].place();
    scene.run(240);
    let to = scene.game.characters()[id].place();
    assert!(from.distance(to) > ONE / 2, "it walks");
    assert_eq!(scene.id(2), id);
    assert!(!scene.game.seat_of(PlayerId(2)).unwrap().is_here);
    // Back again: it is its own, and stands if it is told to.
    scene.players.push(PlayerId(2));
    scene.away.clear();
    scene.steer(2, None);
    scene.run(40);
    let from = scene.character(2).place();
    scene.run(200);
    assert_eq!(scene.character(2).place(), from);
    // Gone for good.
    scene.players.pop();
    scene.run(240);
    assert!(scene.game.hunter(PlayerId(2)).is_none());
    assert!(scene.game.seat_of(PlayerId(2)).is_none());
    assert!(scene.game.characters().contains(id));
    assert_eq!(scene.game.characters().len(), 7);
    let to = scene.game.characters()[id].place();
    assert!(from.distance(to) > ONE / 2, "it walks");
}

#[test]
fn who_comes_late_takes_over_a_character_that_nobody_plays() {
    let mut config = yard();
    config.rules.ai = 5;
    let mut scene = players(2, &config);
    let ids = scene.game.characters().ids().to_vec();
    for player in 2..6 {
        scene.players.push(PlayerId(player));
        scene.held.push(Default::default());
    }
    scene.run(1);
    assert_eq!(scene.game.characters().ids(), ids, "nothing shows");
    assert!(scene.game.hunter(PlayerId(3)).is_some());
    assert!(
        scene.game.hunter(PlayerId(4)).is_none(),
        "four play, others watch"
    );
    let own: Vec<EntityId> = (0..4).map(|player| scene.id(player)).collect();
    for (at, id) in own.iter().enumerate() {
        assert!(!own[..at].contains(id), "one each");
    }
    // When one of the four is gone, one of those who watch plays.
    scene.players.remove(0);
    scene.run(2);
    assert!(scene.game.hunter(PlayerId(4)).is_some());
    // The next round has as many characters as the rules say.
    scene.purse_mut(1).stars = 5;
    scene.run(u64::from(BREAK) + 2);
    assert_eq!(scene.game.round().number, 2);
    assert_eq!(scene.game.characters().len(), 9);
}

#[test]
fn without_others_a_newcomer_gets_a_new_character() {
    let mut scene = players(2, &yard());
    scene.players.push(PlayerId(2));
    scene.held.push(Default::default());
    scene.run(1);
    assert_eq!(scene.game.characters().len(), 3);
    let place = scene.character(2).place();
    let (column, row) = place.column_and_row();
    assert!(!scene.game.field().is_solid(column, row));
}

#[test]
fn neither_ids_nor_places_tell_who_is_played() {
    let mut config = HatHuntersConfig::default();
    let mut seen = Vec::new();
    for seed in 0..40 {
        config.seed = seed;
        let mut scene = Scene::new(&config, 4);
        scene.run(1);
        let index = scene.game.characters().index_of(scene.id(0)).unwrap();
        seen.push(index);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 10, "{seen:?}");
    assert!(seen[0] < 4 && seen[seen.len() - 1] > 11, "{seen:?}");
}

#[test]
fn under_a_window_effects_wait_until_their_tick_is_settled() {
    let mut scene = players(2, &yard());
    let (star, container) = (Star::lying(Place::middle_of(2, 1)), cell(2, 3));
    scene.game.add_star(star);
    scene.game.add_container(container);
    let events = step(&mut scene, window(6, false));
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(scene.game.claims().len(), 2);
    let made = scene.game.clock();
    for _ in 0..5 {
        assert!(step(&mut scene, window(6, false)).is_empty());
        assert_eq!(scene.game.claims().len(), 2, "each is claimed once");
    }
    // Where the characters are by now does not matter.
    scene.put(0, Place::middle_of(13, 8));
    let events = step(&mut scene, window(6, false));
    assert_eq!(scene.game.clock(), made + 6);
    assert!(events.contains(&HatHuntersEvent::StarCollected {
        character: scene.id(0),
        place: star.place,
    }));
    assert!(events.contains(&HatHuntersEvent::ItemCollected {
        character: scene.id(1),
        cell: container,
    }));
    assert_eq!(scene.purse(0).stars, 1);
    assert!(scene.purse(1).item.is_some());
}

#[test]
fn who_claims_first_gets_the_star() {
    let mut scene = players(2, &yard());
    scene.window = window(6, false);
    scene.game.add_star(Star::lying(Place::middle_of(5, 5)));
    scene.put(1, Place::middle_of(5, 5));
    scene.run(1);
    scene.put(0, Place::middle_of(5, 5));
    scene.put(1, Place::middle_of(9, 8));
    scene.run(20);
    assert_eq!((scene.purse(0).stars, scene.purse(1).stars), (0, 1));
}

#[test]
fn a_box_is_judged_when_it_is_settled() {
    for is_free in [true, false] {
        let mut scene = players(2, &yard());
        scene.window = window(6, false);
        scene.place_box(0);
        scene.steer(0, Some(Heading::RIGHT));
        while scene.game.claims().is_empty() {
            scene.run(1);
            assert!(scene.tick.0 < 60);
        }
        assert!(scene.character(0).silhouette.unwrap().is_left);
        // Somebody who walks in now is pushed out; something that lies there now is in the way.
        scene.put(1, Place::new(2 * ONE - RADIUS + 400, ONE + 512));
        if !is_free {
            scene.game.add_star(Star {
                from: u32::MAX,
                ..Star::lying(cell(2, 1).middle())
            });
        }
        scene.run(20);
        let expected = if is_free { Ground::Box } else { Ground::Floor };
        assert_eq!(scene.game.field().ground(2, 1), expected);
        assert_eq!(scene.character(0).silhouette, None);
        if is_free {
            assert_eq!(scene.character(1).place().x, 2 * ONE - RADIUS);
        }
    }
}

#[test]
fn a_bounce_that_waits_holds_the_projectile_at_the_obstacle() {
    for confirmation in [Confirmation::WindowEnd, Confirmation::AtOnce] {
        let mut scene = players(1, &yard());
        let confirmations = Confirmations {
            bounced: confirmation,
            ..Confirmations::default()
        };
        scene.game = scene.game.clone().with_confirmations(confirmations);
        scene.window = window(6, true);
        scene.put(0, Place::middle_of(12, 1));
        scene.steer(0, Some(Heading::RIGHT));
        scene.run(1);
        scene.steer(0, None);
        scene.use_item(0, ItemKind::Green);
        scene.run(16);
        let held = scene.game.projectiles().as_slice()[0];
        scene.run(4);
        assert_eq!(scene.game.projectiles().as_slice()[0].place, held.place);
        scene.run(10);
        let after = scene.game.projectiles().as_slice().first().copied();
        match confirmation {
            Confirmation::AtOnce => assert_eq!(after.unwrap().place, held.place),
            _ => assert!(after.is_none_or(|after| after.place.x < held.place.x)),
        }
    }
}

#[test]
fn what_the_authority_applies_a_client_waits_for() {
    let mut scene = players(1, &yard());
    let at_once = Confirmations::all(Confirmation::AtOnce);
    scene.game = scene.game.clone().with_confirmations(at_once);
    scene.game.add_star(Star::lying(Place::middle_of(2, 1)));
    scene.game.add_container(cell(2, 1));
    scene.window = window(6, true);
    scene.run(10);
    assert_eq!(
        (scene.game.stars().len(), scene.game.containers().len()),
        (1, 1)
    );
    scene.place_box(0);
    scene.steer(0, Some(Heading::RIGHT));
    scene.run(30);
    assert!(scene.character(0).silhouette.is_some());
    assert_eq!(scene.game.field().ground(2, 1), Ground::Floor);
    scene.use_item(0, ItemKind::Green);
    assert_eq!(scene.purse(0).item, Some(ItemKind::Green));
    assert!(scene.game.projectiles().is_empty());
    assert!(scene.game.claims().is_empty());
}

#[test]
fn events_count_when_their_effect_is_certain() {
    let game = players(1, &yard()).game;
    let place = Place::default();
    let character = EntityId::fixed(1);
    let collected = HatHuntersEvent::StarCollected { character, place };
    let bounced = HatHuntersEvent::Bounced { place };
    let placed = HatHuntersEvent::BoxPlaced {
        character,
        cell: Cell::default(),
    };
    assert_eq!(game.confirmation(&collected), Confirmation::AtOnce);
    assert_eq!(game.confirmation(&placed), Confirmation::AtOnce);
    assert_eq!(game.confirmation(&bounced), Confirmation::Predicted);
    let over = HatHuntersEvent::RoundOver { winner: None };
    assert_eq!(game.confirmation(&over), Confirmation::AtOnce);
    let predicted = game.with_confirmations(Confirmations::all(Confirmation::Predicted));
    assert_eq!(predicted.confirmation(&collected), Confirmation::Predicted);
}

#[test]
fn inputs_of_those_who_have_no_character_do_nothing() {
    let config = yard();
    let mut game = HatHunters::new(&config).unwrap();
    let controls = samestep_hat_hunters::Controls {
        use_item: true,
        place_box: true,
        steer: Steer::Towards(Heading::UP),
    };
    assert_ne!(controls.predict(), controls);
    let (players, held) = ([PlayerId(3)], [controls]);
    for tick in (0..10).map(Tick) {
        let inputs = Inputs::new(tick, &[], &[], &[]);
        game.step(&inputs, &mut Events::new());
        assert_eq!((game.round().number, game.characters().len()), (0, 0));
    }
    game.step(
        &Inputs::new(Tick(10), &players, &held, &[]),
        &mut Events::new(),
    );
    assert_eq!((game.round().number, game.characters().len()), (1, 1));
}

#[test]
fn impossible_configurations_are_refused() {
    let wrong = |change: fn(&mut Rules)| {
        let mut config = yard();
        change(&mut config.rules);
        HatHunters::new(&config).err()
    };
    assert_eq!(wrong(|_| {}), None);
    assert_eq!(
        wrong(|rules| rules.stars = 0),
        Some(HatHuntersConfigError::Counts)
    );
    assert_eq!(
        wrong(|rules| rules.ai = 41),
        Some(HatHuntersConfigError::Counts)
    );
    assert_eq!(
        wrong(|rules| rules.stars_at_once = 0),
        Some(HatHuntersConfigError::Counts)
    );
    assert_eq!(
        wrong(|rules| rules.time_limit = Some(3)),
        Some(HatHuntersConfigError::Times)
    );
    let config = HatHuntersConfig {
        map: MapChoice::Text("name: X\n\n###".into()),
        ..yard()
    };
    assert!(matches!(
        HatHunters::new(&config),
        Err(HatHuntersConfigError::Map(_))
    ));
}
