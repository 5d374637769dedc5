//! Bots play well enough to be played against.

use crate::scene::Scene;
use samestep_skirmish::{SideId, SkirmishConfig, SkirmishEvent};
use samestep_sync::PlayerId;

#[test]
fn a_bot_beats_somebody_who_does_nothing() {
    for seed in 1..=5 {
        let mut scene = Scene::with_bots(&SkirmishConfig {
            seed,
            ..SkirmishConfig::default()
        });
        scene.bots.truncate(1);
        for _ in 0..10 {
            scene.run(60 * 60);
            if scene.game.winner().is_some() {
                break;
            }
        }
        assert_eq!(scene.game.winner(), Some(PlayerId(0)), "seed {seed}");
    }
}

#[test]
fn bots_gather_build_train_capture_and_fight() {
    let mut scene = Scene::with_bots(&SkirmishConfig {
        players: 4,
        seed: 11,
        ..SkirmishConfig::default()
    });
    scene.run(60 * 60 * 5);
    for side in scene.game.sides() {
        assert!(side.gathered > 800, "{side:?}");
    }
    let has = |test: fn(&SkirmishEvent) -> bool| scene.events.iter().any(test);
    assert!(has(|event| matches!(event, SkirmishEvent::Built { .. })));
    assert!(has(|event| matches!(event, SkirmishEvent::Captured { .. })));
    assert!(has(|event| matches!(event, SkirmishEvent::Killed { .. })));
    let trained = |event: &&SkirmishEvent| matches!(event, SkirmishEvent::Trained { .. });
    assert!(scene.events.iter().filter(trained).count() > 60);
}

#[test]
fn a_game_between_bots_comes_to_an_end() {
    let mut scene = Scene::with_bots(&SkirmishConfig::default());
    for _ in 0..30 {
        scene.run(60 * 60);
        if scene.game.winner().is_some() {
            return;
        }
    }
    panic!("no winner after half an hour: {:?}", scene.game.sides());
}

#[test]
fn forty_bots_fight() {
    let mut scene = Scene::with_bots(&SkirmishConfig::battle(1, 40, 4000));
    scene.run(60 * 40);
    for (at, side) in scene.game.sides().iter().enumerate() {
        assert_eq!(scene.units_of(at as u8).len() as u32, side.units);
        let squads: u32 = scene
            .game
            .squads(SideId(at as u8))
            .iter()
            .map(|squad| squad.len())
            .sum();
        assert_eq!(squads, side.units, "everybody is in a squad");
        assert!(
            side.kills + side.losses > 0 || side.captures > 0,
            "{side:?}"
        );
    }
}
