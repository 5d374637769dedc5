//! Units do not pile up, however many want to be in the same place.

use crate::scene::Scene;
use samestep_skirmish::{Command, Order, SideId, SkirmishConfig};

#[test]
fn those_who_begin_in_the_same_place_come_apart() {
    let mut scene = Scene::new(&SkirmishConfig {
        soldiers: 100,
        ..SkirmishConfig::default()
    });
    let ids = scene.game.units().ids().to_vec();
    let place = scene.between(50);
    for id in ids {
        scene.game.unit_mut(id).expect("a unit").place = place;
    }
    scene.run(1);
    assert!(scene.overlap() > 20.0);
    scene.run(60 * 10);
    assert!(scene.overlap() < 0.2, "{}", scene.overlap());
}

#[test]
fn a_squad_at_rest_stands_apart() {
    let mut scene = Scene::new(&SkirmishConfig {
        soldiers: 150,
        workers: 0,
        ..SkirmishConfig::default()
    });
    let goal = scene.between(45);
    scene.order(0, 1, Order::Move, goal);
    scene.run(60 * 60);
    assert!(scene.overlap() < 0.01, "{}", scene.overlap());
}

#[test]
fn in_a_battle_nobody_stands_in_another_for_long() {
    let mut scene = Scene::with_bots(&SkirmishConfig::battle(3, 8, 1600));
    let (mut sum, mut ticks) = (0.0, 0.0);
    for _ in 0..60 {
        scene.run(60);
        sum += scene.overlap();
        ticks += 1.0;
    }
    assert!(scene.events.len() > 100, "there was a battle");
    assert!(sum / ticks < 0.2, "{}", sum / ticks);
}

#[test]
fn two_squads_sent_to_one_place_share_it() {
    let mut scene = Scene::new(&SkirmishConfig {
        soldiers: 120,
        workers: 0,
        ..SkirmishConfig::default()
    });
    scene.say(
        0,
        Command::Muster {
            from: 1,
            into: 2,
            count: 60,
        },
    );
    assert_eq!(scene.game.squads(SideId(0))[2].len(), 60);
    let goal = scene.between(45);
    scene.order(0, 1, Order::Move, goal);
    scene.order(0, 2, Order::Move, goal);
    scene.run(60 * 60);
    assert!(scene.overlap() < 0.4, "{}", scene.overlap());
}
