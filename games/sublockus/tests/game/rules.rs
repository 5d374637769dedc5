//! The rules, one at a time.

use crate::scene::{Scene, floor, hall, two};
use samestep_sublockus::{
    Ability, Act, Angle, BREAK, Block, HALF, HEALTH, ItemKind, LITTER, MANA, ONE, POCKETS, Part,
    Place, Sublockus, SublockusConfig, SublockusConfigError, SublockusEvent,
};
use samestep_sync::{EntityId, PlayerId, Simulation};

fn hits(scene: &Scene) -> Vec<(u16, i16)> {
    let hit = |event: &SublockusEvent| match event {
        SublockusEvent::Hit { victim, damage, .. } => Some((victim.0, *damage)),
        _ => None,
    };
    scene.events.iter().filter_map(hit).collect()
}

fn kill(scene: &mut Scene, victim: u16) {
    let character = scene.game.character_mut(PlayerId(victim)).unwrap();
    character.health = 1;
}

#[test]
fn a_strike_hits_whoever_is_close_in_front() {
    for (apart, aim, expected) in [
        (1, Angle::RIGHT, true),
        (2, Angle::RIGHT, true),
        (3, Angle::RIGHT, false),
        (2, Angle::LEFT, false),
    ] {
        let mut scene = two(apart);
        scene.cast(0, Ability::Strike, aim);
        assert_eq!(!hits(&scene).is_empty(), expected, "{apart} {aim:?}");
    }
    let mut scene = two(1);
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    assert_eq!(hits(&scene), [(1, 24)]);
    assert!((MANA - 4..MANA).contains(&scene.character(0).mana));
    scene.run(6);
    let thrown = scene.character(1).place();
    assert!(thrown.x > floor(4).x + ONE / 2 && thrown.y < floor(4).y);
}

#[test]
fn a_bolt_hits_the_first_in_its_way_at_once() {
    let mut scene = Scene::new(&hall(), 3);
    scene.run(20);
    for (player, column) in [(0, 3), (1, 9), (2, 12)] {
        scene.put(player, floor(column));
    }
    scene.run(5);
    scene.events.clear();
    scene.cast(0, Ability::Bolt, Angle::RIGHT);
    assert_eq!(hits(&scene), [(1, 38)]);
    let end = scene.events.iter().find_map(|event| match event {
        SublockusEvent::Flashed { to, .. } => Some(*to),
        _ => None,
    });
    let end = end.unwrap();
    assert!((end.x - (floor(9).x - HALF.x)).abs() < 4, "{end:?}");
    // Nobody is hit through the floor, or beyond the reach.
    scene.run(60);
    scene.events.clear();
    scene.cast(2, Ability::Bolt, Angle::DOWN);
    assert_eq!(hits(&scene), []);
    let mut scene = two(25);
    scene.cast(0, Ability::Bolt, Angle::RIGHT);
    assert_eq!(hits(&scene), []);
}

#[test]
fn a_fireball_bursts_where_it_hits_and_spares_its_owner() {
    let mut scene = two(8);
    scene.cast(0, Ability::Fireball, Angle::RIGHT);
    assert_eq!(scene.game.projectiles().len(), 1);
    scene.run(20);
    assert_eq!(hits(&scene), []);
    scene.run(20);
    assert!(matches!(hits(&scene)[..], [(1, 20..=34)]));
    assert_eq!(scene.game.projectiles().len(), 0);
    assert!(scene.character(1).place().x > floor(11).x);
    // At the wall beside it: thrown, but not hurt.
    scene.put(0, floor(2));
    let before = scene.character(0);
    scene.cast(0, Ability::Fireball, Angle::LEFT);
    scene.run(15);
    let after = scene.character(0);
    assert_eq!(after.health, before.health);
    assert!(after.place().x > before.place().x);
}

#[test]
fn a_fireball_bursts_when_its_owner_says_so_and_nobody_else() {
    let mut scene = two(8);
    scene.cast(0, Ability::Fireball, Angle::RIGHT);
    let id = scene.game.projectiles().ids()[0];
    scene.run(5);
    scene.act(1, Act::Detonate(id));
    assert_eq!(scene.game.projectiles().len(), 1);
    scene.act(0, Act::Detonate(id));
    assert_eq!(scene.game.projectiles().len(), 0);
    let burst = |event: &SublockusEvent| matches!(event, SublockusEvent::Burst { .. });
    assert_eq!(scene.count(burst), 1);
}

#[test]
fn abilities_cost_mana_and_take_time() {
    let mut scene = two(8);
    for ability in Ability::ALL {
        scene.game.character_mut(PlayerId(0)).unwrap().mana = MANA;
        scene.run(300);
        scene.events.clear();
        let stats = ability.stats();
        let mut ready = 0;
        for _ in 0..u64::from(stats.cooldown) + 1 {
            scene.cast(0, ability, Angle::UP);
            let cast = |event: &SublockusEvent| matches!(event, SublockusEvent::Cast { .. });
            ready = scene.count(cast);
        }
        assert_eq!(ready, 2, "{ability:?}");
        scene.game.character_mut(PlayerId(0)).unwrap().mana = stats.mana - 2;
        scene.run(u64::from(stats.cooldown) % 6);
        scene.events.clear();
        scene.cast(0, ability, Angle::UP);
        assert_eq!(scene.events, [], "{ability:?} without mana");
    }
}

#[test]
fn health_and_mana_come_back_up_to_all_of_it() {
    let mut scene = two(8);
    let character = scene.game.character_mut(PlayerId(0)).unwrap();
    (character.health, character.mana) = (50, 50);
    scene.run(60);
    let character = scene.character(0);
    assert_eq!((character.health, character.mana), (52, 60));
    scene.run(60 * 60);
    let character = scene.character(0);
    assert_eq!((character.health, character.mana), (HEALTH, MANA));
    let character = scene.game.character_mut(PlayerId(0)).unwrap();
    character.health = 80;
    scene.events.clear();
    scene.cast(0, Ability::Mend, Angle::UP);
    assert_eq!(scene.character(0).health, HEALTH);
    let healed =
        |event: &SublockusEvent| matches!(event, SublockusEvent::Healed { health: 20, .. });
    assert_eq!(scene.count(healed), 1);
}

#[test]
fn a_frag_is_counted_and_the_dead_enter_again() {
    let mut scene = two(1);
    kill(&mut scene, 1);
    let id = scene.game.characters().ids()[1];
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    let (victim, killer) = (PlayerId(1), Some(PlayerId(0)));
    assert!(
        scene
            .events
            .contains(&SublockusEvent::Died { victim, killer })
    );
    let seats = scene.game.seats();
    assert_eq!((seats[0].frags, seats[0].deaths), (1, 0));
    assert_eq!((seats[1].frags, seats[1].deaths), (0, 1));
    // It waits as another one, at a spawn point.
    let waiting = scene.character(1);
    assert!(!scene.game.characters().contains(id));
    assert!(!waiting.is_in(scene.game.clock()));
    let spawns = scene.game.spawns().iter();
    assert!(
        spawns
            .map(|spawn| spawn.standing())
            .any(|place| place == waiting.place())
    );
    // Acting while dead has no effect.
    scene.events.clear();
    scene.held[1].right = true;
    scene.cast(1, Ability::Strike, Angle::LEFT);
    scene.run(100);
    assert_eq!(scene.character(1), waiting);
    assert_eq!(scene.events, []);
    scene.held[1].right = false;
    scene.run(25);
    let entered = |event: &SublockusEvent| matches!(event, SublockusEvent::Entered { .. });
    assert_eq!(scene.count(entered), 1);
    assert_eq!(scene.character(1).health, HEALTH);
}

#[test]
fn thorns_hurt_and_the_last_to_hurt_gets_the_frag() {
    let mut scene = two(1);
    scene.put(1, floor(37));
    scene.run(120);
    assert!(hits(&scene).len() >= 2);
    assert!(scene.game.terrain().block(37, 7) == Block::Thorns);
    scene.put(0, floor(34));
    scene.put(1, floor(35));
    scene.cast(0, Ability::Strike, Angle::UP);
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    kill(&mut scene, 1);
    scene.put(1, floor(37));
    scene.events.clear();
    scene.run(60);
    let died: Vec<_> = scene
        .events
        .iter()
        .filter(|event| matches!(event, SublockusEvent::Died { .. }))
        .collect();
    assert_eq!(died.len(), 1, "{died:?}");
}

#[test]
fn who_joins_is_left_alone_for_a_while_and_leaves_others_alone() {
    let config = SublockusConfig {
        grace: 100,
        ..hall()
    };
    let mut scene = Scene::new(&config, 3);
    scene.players.truncate(2);
    scene.run(150);
    scene.players.push(PlayerId(2));
    scene.run(1);
    assert!(scene.events.contains(&SublockusEvent::Joined {
        player: PlayerId(2)
    }));
    for (player, column) in [(0, 5), (1, 15), (2, 6)] {
        scene.put(player, floor(column));
    }
    scene.run(30);
    scene.events.clear();
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    scene.cast(0, Ability::Bolt, Angle::RIGHT);
    assert_eq!(hits(&scene), [(1, 38)], "through the newcomer");
    scene.cast(2, Ability::Strike, Angle::LEFT);
    assert_eq!(scene.character(0).health, HEALTH);
    scene.run(80);
    scene.put(2, floor(6));
    scene.put(0, floor(5));
    scene.cast(2, Ability::Strike, Angle::LEFT);
    assert!(scene.character(0).health < HEALTH);
}

#[test]
fn who_is_away_keeps_its_score_and_who_is_gone_loses_it() {
    let mut scene = two(1);
    kill(&mut scene, 1);
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    scene.players = vec![PlayerId(1)];
    scene.away = vec![(PlayerId(0), scene.tick)];
    scene.run(1);
    assert!(scene.game.character_of(PlayerId(0)).is_none());
    assert_eq!(
        scene
            .game
            .seat_of(PlayerId(0))
            .map(|seat| (seat.is_here, seat.frags)),
        Some((false, 1))
    );
    (scene.players, scene.away) = (vec![PlayerId(0), PlayerId(1)], Vec::new());
    scene.run(1);
    assert!(scene.game.character_of(PlayerId(0)).is_some());
    assert_eq!(
        scene
            .game
            .seat_of(PlayerId(0))
            .map(|seat| (seat.is_here, seat.frags)),
        Some((true, 1))
    );
    scene.players = vec![PlayerId(1)];
    scene.run(1);
    assert!(scene.game.seat_of(PlayerId(0)).is_none());
}

#[test]
fn more_than_thirty_two_watch_until_there_is_room() {
    let mut scene = Scene::new(&hall(), 40);
    scene.run(2);
    assert_eq!(scene.game.characters().len(), 32);
    assert_eq!(scene.game.seats().len(), 40);
    assert!(scene.game.character_of(PlayerId(35)).is_none());
    scene.players.remove(3);
    scene.run(1);
    assert_eq!(scene.game.characters().len(), 32);
    assert!(scene.game.character_of(PlayerId(32)).is_some());
}

fn give(scene: &mut Scene, kinds: &[ItemKind]) {
    let character = scene.game.character_mut(PlayerId(0)).unwrap();
    for kind in kinds {
        character.kit.pockets.push(*kind).unwrap();
    }
}

#[test]
fn what_is_worn_changes_what_one_can() {
    let mut scene = two(1);
    let bare = scene.character(0);
    give(
        &mut scene,
        &[ItemKind::Boots, ItemKind::Robe, ItemKind::Hammer],
    );
    for _ in 0..3 {
        scene.act(0, Act::Use(0));
    }
    let dressed = scene.character(0);
    assert!(dressed.kit.pockets.is_empty());
    assert_eq!(dressed.speed(), bare.speed() * 5 / 4);
    assert_eq!(dressed.max_mana(), 150);
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    assert_eq!(hits(&scene), [(1, 36)]);
    scene.act(0, Act::TakeOff(Part::Feet));
    assert_eq!(scene.character(0).speed(), bare.speed());
    assert_eq!(scene.character(0).kit.pockets[..], [ItemKind::Boots]);
    // And what the other wears.
    let mut scene = two(1);
    let other = scene.game.character_mut(PlayerId(1)).unwrap();
    other.kit.pockets.push(ItemKind::Mail).unwrap();
    scene.act(1, Act::Use(0));
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    assert_eq!(hits(&scene), [(1, 15)]);
}

#[test]
fn potions_and_elixirs_are_drunk() {
    let mut scene = two(8);
    give(&mut scene, &[ItemKind::Potion, ItemKind::Elixir]);
    let character = scene.game.character_mut(PlayerId(0)).unwrap();
    (character.health, character.mana) = (10, 10);
    scene.act(0, Act::Use(0));
    scene.act(0, Act::Use(0));
    let character = scene.character(0);
    assert_eq!((character.health, character.mana), (60, MANA));
    assert!(character.kit.pockets.is_empty());
    scene.events.clear();
    scene.act(0, Act::Use(0));
    assert_eq!(scene.events, []);
}

#[test]
fn items_are_dropped_picked_up_and_vanish() {
    let mut scene = two(8);
    give(&mut scene, &[ItemKind::Staff, ItemKind::Boots]);
    scene.act(0, Act::Drop(0));
    assert_eq!(scene.character(0).kit.pockets[..], [ItemKind::Boots]);
    assert_eq!(scene.game.items().len(), 1);
    scene.run(40);
    assert_eq!(scene.game.items().len(), 1, "not at once");
    let place = scene.game.items().as_slice()[0].place;
    assert_eq!(place.y, 8 * ONE - ONE / 4, "it lies on the floor");
    scene.run(10);
    assert_eq!(
        scene.character(0).kit.pockets[..],
        [ItemKind::Boots, ItemKind::Staff]
    );
    assert_eq!(scene.game.items().len(), 0);
    // What somebody had when it died lies about for a while.
    scene.act(0, Act::Use(1));
    let character = scene.game.character_mut(PlayerId(0)).unwrap();
    character.health = 0;
    scene.run(1);
    assert_eq!(scene.game.items().len(), 2);
    assert!(
        scene
            .game
            .items()
            .as_slice()
            .iter()
            .all(|item| item.is_dropped())
    );
    scene.put(1, floor(30));
    scene.put(0, floor(25));
    scene.run(u64::from(LITTER));
    assert_eq!(scene.game.items().len(), 0);
}

#[test]
fn items_come_back_to_their_places() {
    let config = SublockusConfig {
        grace: 0,
        ..SublockusConfig::duel(1)
    };
    let mut scene = Scene::new(&config, 2);
    scene.run(1);
    let items = scene.game.items().clone();
    assert_eq!(items.len(), scene.game.arena().pads().len());
    let (id, item) = items
        .iter()
        .find(|(_, item)| item.kind == ItemKind::Boots)
        .unwrap();
    scene.put(0, item.place);
    scene.run(1);
    assert_eq!(scene.character(0).kit.pockets[..], [ItemKind::Boots]);
    let is_there = |scene: &Scene| scene.game.is_there(scene.game.items().get(id).unwrap());
    assert!(!is_there(&scene));
    scene.put(0, Place::new(7 * ONE, 2 * ONE));
    scene.put(1, Place::new(16 * ONE, 2 * ONE));
    scene.run(15 * 60);
    assert!(is_there(&scene));
}

#[test]
fn full_pockets_pick_up_nothing() {
    let config = SublockusConfig::duel(1);
    let mut scene = Scene::new(&config, 2);
    scene.run(1);
    give(&mut scene, &[ItemKind::Potion; POCKETS]);
    let place = scene.game.items().as_slice()[0].place;
    scene.put(0, place);
    scene.run(3);
    assert_eq!(scene.character(0).kit.pockets.len(), POCKETS);
    let taken = |event: &SublockusEvent| {
        matches!(
            event,
            SublockusEvent::Taken {
                player: PlayerId(0),
                ..
            }
        )
    };
    assert_eq!(scene.count(taken), 0);
}

#[test]
fn a_round_ends_with_enough_frags_and_another_begins() {
    let config = SublockusConfig {
        frag_limit: Some(1),
        ..hall()
    };
    let mut scene = Scene::new(&config, 2);
    scene.run(10);
    scene.put(0, floor(3));
    scene.put(1, floor(4));
    kill(&mut scene, 1);
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    scene.run(1);
    let winner = Some(PlayerId(0));
    assert!(scene.events.contains(&SublockusEvent::RoundOver { winner }));
    // Nobody is hurt in the break.
    scene.run(150);
    scene.put(0, floor(3));
    scene.put(1, floor(4));
    scene.events.clear();
    scene.cast(0, Ability::Strike, Angle::RIGHT);
    assert_eq!(hits(&scene), []);
    scene.run(u64::from(BREAK));
    assert!(scene.events.contains(&SublockusEvent::RoundBegan));
    assert_eq!(scene.game.round().number, 1);
    let seats = scene.game.seats();
    assert_eq!((seats[0].frags, seats[0].wins, seats[1].deaths), (0, 1, 0));
}

#[test]
fn time_ends_a_round_too_and_equals_win_nothing() {
    let config = SublockusConfig {
        time_limit: Some(600),
        ..hall()
    };
    let mut scene = Scene::new(&config, 2);
    scene.run(300);
    assert_eq!(scene.game.time_left(), Some(300));
    scene.run(301);
    assert!(
        scene
            .events
            .contains(&SublockusEvent::RoundOver { winner: None })
    );
}

#[test]
fn impossible_inputs_are_refused() {
    let mut scene = two(8);
    scene.cast(0, Ability::Fireball, Angle::UP);
    let id = scene.game.projectiles().ids()[0];
    let allows = |player: u16, act: Act| {
        let controls = samestep_sublockus::Controls {
            act,
            ..Default::default()
        };
        scene.game.allows(PlayerId(player), &controls)
    };
    assert!(allows(0, Act::Detonate(id)) && !allows(1, Act::Detonate(id)));
    assert!(
        allows(1, Act::Detonate(EntityId::fixed(9999))),
        "it may have burst"
    );
    for pocket in 0..8 {
        let exists = usize::from(pocket) < POCKETS;
        assert_eq!(allows(0, Act::Use(pocket)), exists);
        assert_eq!(allows(0, Act::Drop(pocket)), exists);
    }
}

#[test]
fn configurations_are_checked() {
    let with = |change: fn(&mut SublockusConfig)| {
        let mut config = SublockusConfig::default();
        change(&mut config);
        Sublockus::new(&config).err()
    };
    assert_eq!(with(|_| {}), None);
    assert_eq!(
        with(|c| c.grace = u32::MAX),
        Some(SublockusConfigError::Times)
    );
    assert_eq!(
        with(|c| c.frag_limit = Some(0)),
        Some(SublockusConfigError::Limits)
    );
    assert_eq!(
        with(|c| c.time_limit = Some(10)),
        Some(SublockusConfigError::Limits)
    );
    let error = with(|c| c.arena = samestep_sublockus::ArenaChoice::Text("Hall".into()));
    assert!(error.unwrap().to_string().starts_with("line 1, column 1: "));
}
