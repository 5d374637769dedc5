//! The rules, one at a time.

use crate::scene::Scene;
use samestep_skirmish::{
    BuildingId, BuildingKind, Command, Order, Place, SideId, Skirmish, SkirmishConfig,
    SkirmishConfigError, SkirmishEvent, UnitKind,
};
use samestep_sync::{PlayerId, Tick, math};

fn quiet() -> SkirmishConfig {
    SkirmishConfig {
        soldiers: 0,
        workers: 0,
        ..SkirmishConfig::default()
    }
}

fn armies(soldiers: u16) -> SkirmishConfig {
    SkirmishConfig {
        soldiers,
        ..quiet()
    }
}

#[test]
fn workers_bring_gold() {
    let mut scene = Scene::new(&SkirmishConfig {
        workers: 6,
        ..quiet()
    });
    let in_the_ground =
        |scene: &Scene| scene.game.mines().iter().map(|mine| mine.gold).sum::<u32>();
    let before = in_the_ground(&scene);
    scene.run(60 * 60);
    for side in scene.game.sides() {
        assert_eq!(side.gold, 200 + side.gathered);
        assert!(side.gathered > 150, "{} in a minute", side.gathered);
    }
    let carried = before - in_the_ground(&scene);
    let brought: u32 = scene.game.sides().iter().map(|side| side.gathered).sum();
    assert!(brought <= carried && carried <= brought + 12 * 5);
}

#[test]
fn workers_look_for_another_mine_and_stop_when_all_are_empty() {
    let mut scene = Scene::new(&SkirmishConfig {
        workers: 8,
        mine: 60,
        ..quiet()
    });
    scene.run(60 * 60 * 4);
    let (first, second) = (&scene.game.sides()[0], &scene.game.sides()[1]);
    assert!(first.gathered >= 100 && second.gathered >= 100);
    let left: u32 = scene.game.mines().iter().map(|mine| mine.gold).sum();
    assert_eq!(left + first.gathered + second.gathered, 4 * 60 + 2 * 120);
}

#[test]
fn buildings_train_what_is_paid_for() {
    let mut scene = Scene::new(&quiet());
    let barracks = BuildingId(1);
    assert_eq!(scene.game.buildings()[1].kind, BuildingKind::Barracks);
    let (kind, count) = (UnitKind::Archer, 31);
    scene.say(
        0,
        Command::Train {
            building: barracks,
            kind,
            count,
        },
    );
    scene.run(60 * 60);
    // 200 gold are four archers.
    assert_eq!(scene.game.sides()[0].gold, 0);
    let units = scene.units_of(0);
    assert_eq!(units.len(), 4);
    assert!(
        units
            .iter()
            .all(|unit| unit.kind == kind && unit.squad == 1)
    );
    let trained = |event: &&SkirmishEvent| {
        matches!(
            event,
            SkirmishEvent::Trained {
                player: PlayerId(0),
                ..
            }
        )
    };
    assert_eq!(scene.events.iter().filter(trained).count(), 4);
    // Not one's own, not of the kind, not there.
    for (building, kind) in [
        (1, UnitKind::Spear),
        (2, UnitKind::Spear),
        (2, UnitKind::Worker),
        (999, UnitKind::Worker),
    ] {
        let player = u16::from(building != 2);
        scene.say(
            player,
            Command::Train {
                building: BuildingId(building),
                kind,
                count,
            },
        );
        scene.run(600);
        assert_eq!(scene.game.units().len(), 4);
    }
}

#[test]
fn training_stops_at_the_limit() {
    let mut scene = Scene::new(&SkirmishConfig {
        max_units: 3,
        gold: 10_000,
        ..quiet()
    });
    let (building, kind, count) = (BuildingId(1), UnitKind::Spear, 31);
    scene.say(
        0,
        Command::Train {
            building,
            kind,
            count,
        },
    );
    scene.run(60 * 60);
    assert_eq!(scene.units_of(0).len(), 3);
    assert_eq!(scene.game.sides()[0].gold, 10_000 - 3 * kind.stats().cost);
}

#[test]
fn those_trained_join_the_squad_the_building_was_told() {
    let mut scene = Scene::new(&quiet());
    let building = BuildingId(1);
    scene.say(0, Command::Rally { building, squad: 5 });
    scene.say(
        0,
        Command::Train {
            building,
            kind: UnitKind::Spear,
            count: 1,
        },
    );
    let goal = scene.between(40);
    scene.order(0, 5, Order::Attack, goal);
    scene.run(60 * 40);
    let units = scene.units_of(0);
    assert!(matches!(&units[..], [unit] if unit.squad == 5));
    assert_eq!(scene.game.squads(SideId(0))[5].len(), 1);
    let (dx, dy) = (units[0].place.x - goal.x, units[0].place.y - goal.y);
    assert!(dx.abs().max(dy.abs()) < 4 * 256, "{dx} {dy}");
}

#[test]
fn buildings_are_built_near_one_another_for_gold() {
    let mut scene = Scene::new(&quiet());
    let home = scene.home(0);
    let far = scene.home(1);
    let build = |place: Place| {
        let (x, y) = place.units();
        Command::Build {
            kind: BuildingKind::Barracks,
            x,
            y,
        }
    };
    let number = scene.game.buildings().len();
    for place in [home, far, Place::new(2047, 2047)] {
        scene.say(0, build(place));
        assert_eq!(scene.game.buildings().len(), number);
    }
    let beside = Place {
        x: home.x + 15 * 256,
        y: home.y,
    };
    scene.say(0, build(beside));
    assert_eq!(scene.game.buildings().len(), number + 1);
    assert_eq!(scene.game.sides()[0].gold, 50);
    assert_eq!(scene.game.sides()[0].buildings, 3);
    // The next one costs more than what is left.
    scene.say(
        0,
        build(Place {
            x: home.x,
            y: home.y + 15 * 256,
        }),
    );
    assert_eq!(scene.game.buildings().len(), number + 1);
    scene.run(u64::from(BuildingKind::Barracks.construction()));
    let built = SkirmishEvent::Built {
        building: BuildingId(number as u16),
        kind: BuildingKind::Barracks,
        player: PlayerId(0),
    };
    assert!(scene.events.contains(&built));
    assert_eq!(scene.game.buildings()[number].unfinished, 0);
}

#[test]
fn soldiers_who_meet_fight() {
    let mut scene = Scene::new(&armies(30));
    let middle = scene.between(50);
    scene.order(0, 1, Order::Attack, middle);
    scene.order(1, 1, Order::Attack, middle);
    scene.run(60 * 90);
    let (first, second) = (&scene.game.sides()[0], &scene.game.sides()[1]);
    assert_eq!((first.losses, second.losses), (second.kills, first.kills));
    assert!(
        first.losses + second.losses > 30,
        "{} and {}",
        first.losses,
        second.losses
    );
    for (at, side) in scene.game.sides().iter().enumerate() {
        assert_eq!(side.units, 30 - side.losses);
        assert_eq!(scene.units_of(at as u8).len() as u32, side.units);
        assert_eq!(scene.game.squads(SideId(at as u8))[1].len(), side.units);
    }
    let killed = |event: &&SkirmishEvent| matches!(event, SkirmishEvent::Killed { .. });
    let killed = scene.events.iter().filter(killed).count() as u32;
    assert_eq!(killed, first.losses + second.losses);
}

#[test]
fn spears_stop_knights() {
    let mut scene = Scene::new(&armies(60));
    let (all, spears, knights) = (63, 0b0010, 0b1000);
    for (player, kinds) in [(0, spears), (1, knights)] {
        let (x, y) = scene.home(usize::from(player)).units();
        scene.say(
            player,
            Command::Select {
                squad: 3,
                kinds,
                x,
                y,
                radius: all,
            },
        );
        assert_eq!(scene.game.squads(SideId(player as u8))[3].len(), 20);
    }
    let middle = scene.between(50);
    scene.order(0, 3, Order::Attack, middle);
    scene.order(1, 3, Order::Attack, middle);
    scene.run(60 * 120);
    let left = |side| scene.game.squads(SideId(side))[3].len();
    assert!(
        left(0) > left(1),
        "{} spears and {} knights left",
        left(0),
        left(1)
    );
}

#[test]
fn who_is_told_to_move_does_not_fight() {
    let mut scene = Scene::new(&armies(12));
    let (near, home) = (scene.home(1), scene.home(0));
    scene.order(0, 1, Order::Move, near);
    scene.run(60 * 25);
    assert_eq!(scene.game.sides()[1].losses, 0);
    scene.order(0, 1, Order::Move, home);
    scene.run(60 * 40);
    assert_eq!(scene.game.sides()[1].losses, 0);
}

#[test]
fn a_squad_moves_in_formation() {
    let mut scene = Scene::new(&armies(60));
    let goal = scene.between(45);
    let begin = scene.game.squads(SideId(0))[1].at;
    scene.order(0, 1, Order::Move, goal);
    scene.run(60 * 6);
    let squad = scene.game.squads(SideId(0))[1];
    assert!(squad.at != begin && squad.at != goal, "under way");
    // Under way already nobody is far from where the squad is.
    let farthest = |scene: &Scene, place: Place| {
        let distance = |place: Place, other: Place| {
            let (dx, dy) = (f64::from(place.x - other.x), f64::from(place.y - other.y));
            math::double::hypot(dx, dy) / 256.0
        };
        let units = scene.units_of(0).into_iter();
        units
            .map(|unit| distance(unit.place, place))
            .fold(0.0, math::double::max)
    };
    let spread = farthest(&scene, squad.at);
    assert!(spread < 12.0, "{spread}");
    scene.run(60 * 30);
    let spread = farthest(&scene, goal);
    assert!(spread < 9.0, "{spread}");
    assert!(scene.units_of(0).iter().all(|unit| unit.velocity == (0, 0)));
}

#[test]
fn an_outpost_is_captured_and_yields_gold() {
    let mut scene = Scene::new(&armies(12));
    let outpost = scene
        .game
        .buildings()
        .iter()
        .position(|building| building.kind == BuildingKind::Outpost);
    let outpost = outpost.expect("there are outposts");
    let place = scene.game.buildings()[outpost].place;
    scene.order(0, 1, Order::Attack, place);
    scene.run(60 * 60);
    let captured = SkirmishEvent::Captured {
        building: BuildingId(outpost as u16),
        kind: BuildingKind::Outpost,
        from: None,
        by: PlayerId(0),
    };
    assert!(scene.events.contains(&captured));
    let side = scene.game.sides()[0];
    assert_eq!((side.captures, side.buildings), (1, 3));
    assert!(side.gold > 200);
}

#[test]
fn the_last_building_decides() {
    let mut scene = Scene::new(&SkirmishConfig {
        barracks: 0,
        ..armies(12)
    });
    // The others go somewhere else, and their hall is taken behind their back.
    let away = scene.between(0);
    scene.order(1, 1, Order::Move, Place { x: away.x, y: 256 });
    scene.run(60 * 30);
    let hall = scene.home(1);
    scene.order(0, 1, Order::Move, hall);
    scene.run(60 * 60);
    let defeated = SkirmishEvent::Defeated {
        player: PlayerId(1),
        by: PlayerId(0),
    };
    assert!(scene.events.contains(&defeated));
    assert_eq!(
        scene.events.last(),
        Some(&SkirmishEvent::Won {
            player: PlayerId(0)
        })
    );
    assert_eq!(scene.game.winner(), Some(PlayerId(0)));
    // Whoever is left serves the victor.
    assert_eq!(scene.units_of(0).len(), 24);
    assert_eq!(scene.game.sides()[0].units, 24);
    assert_eq!(scene.game.squads(SideId(0))[1].len(), 24);
}

#[test]
fn one_sees_what_is_near_and_remembers_the_rest() {
    let mut scene = Scene::new(&armies(6));
    let (own, other) = (SideId(0), scene.between(50));
    let home = scene.home(0);
    assert!(scene.game.sees(own, home) && !scene.game.has_explored(own, other));
    scene.order(0, 1, Order::Move, other);
    scene.run(60 * 60);
    assert!(scene.game.sees(own, other));
    scene.order(0, 1, Order::Move, home);
    scene.run(60 * 60);
    assert!(!scene.game.sees(own, other) && scene.game.has_explored(own, other));
}

#[test]
fn a_newcomer_takes_over_the_side_of_one_who_is_gone_and_not_of_one_who_is_away() {
    let mut scene = Scene::new(&armies(6));
    scene.players = vec![PlayerId(0)];
    scene.run(10);
    assert_eq!(scene.game.side_of(PlayerId(1)), Some(SideId(1)));
    scene.players = vec![PlayerId(0), PlayerId(5), PlayerId(6)];
    scene.away = vec![(PlayerId(1), Tick(0))];
    scene.run(1);
    assert_eq!(scene.game.side_of(PlayerId(5)), None);
    scene.away.clear();
    scene.run(1);
    let taken = SkirmishEvent::TakenOver {
        from: PlayerId(1),
        to: PlayerId(5),
    };
    assert_eq!(scene.events, [taken]);
    assert_eq!(scene.game.side_of(PlayerId(5)), Some(SideId(1)));
    assert_eq!(scene.game.side_of(PlayerId(6)), None);
}

#[test]
fn configurations_are_checked() {
    let with = |change: fn(&mut SkirmishConfig)| {
        let mut config = SkirmishConfig::default();
        change(&mut config);
        Skirmish::new(&config).err()
    };
    assert_eq!(with(|_| {}), None);
    assert_eq!(with(|c| c.players = 64), None);
    assert_eq!(with(|c| c.players = 65), Some(SkirmishConfigError::Players));
    assert_eq!(with(|c| c.players = 1), Some(SkirmishConfigError::Players));
    assert_eq!(
        with(|c| c.size = Some(100)),
        Some(SkirmishConfigError::Size)
    );
    assert_eq!(with(|c| c.size = Some(64)), Some(SkirmishConfigError::Size));
    assert_eq!(
        with(|c| c.max_units = 40_000),
        Some(SkirmishConfigError::Units)
    );
}
