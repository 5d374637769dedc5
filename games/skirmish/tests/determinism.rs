//! Copies of a game stay the same.

mod scene;

use samestep_skirmish::{Skirmish, SkirmishConfig};
use samestep_sync::{Replicate, Table, sync_test};
use scene::Scene;

fn battle() -> Scene {
    Scene::with_bots(&SkirmishConfig::battle(5, 6, 600))
}

#[test]
fn two_copies_stay_the_same() {
    let (mut here, mut there) = (battle(), battle());
    for _ in 0..60 {
        here.run(30);
        there.run(30);
        assert_eq!(here.game.checksum(), there.game.checksum());
    }
    assert_eq!(here.events, there.events);
    assert!(here.events.len() > 100, "something happened");
}

#[test]
fn a_state_from_its_encoding_goes_on_the_same() {
    let mut scene = battle();
    for _ in 0..20 {
        scene.run(97);
        let mut table = Table::new(Skirmish::schema());
        scene.game.extract(&mut table);
        let bytes = table.encode();
        let table = Table::decode(Skirmish::schema(), &bytes).expect("what was encoded");
        scene.events.clear();
        let (mut copy, mut original) = (scene.clone(), scene.clone());
        copy.game = Skirmish::from_table(&table).expect("what was extracted");
        for _ in 0..40 {
            copy.run(1);
            original.run(1);
            assert_eq!(
                copy.game.checksum(),
                original.game.checksum(),
                "at tick {}",
                copy.tick
            );
        }
        assert_eq!(copy.events, original.events);
    }
}

#[test]
fn a_state_taken_over_goes_on_the_same() {
    let mut scene = battle();
    scene.run(600);
    let mut copy = scene.clone();
    copy.game = battle().game;
    copy.game.assign(&scene.game);
    for _ in 0..100 {
        scene.run(1);
        copy.run(1);
        assert_eq!(scene.game.checksum(), copy.game.checksum());
    }
}

#[test]
fn simulated_again_it_is_the_same() {
    let Scene {
        game,
        players,
        mut bots,
        ..
    } = battle();
    let report = sync_test(game, 900, 6, |tick, game, inputs| {
        inputs.set_players(&players);
        for bot in &mut bots {
            if let Some(command) = bot.decide(tick, game) {
                inputs.give(bot.player(), &command);
            }
        }
    });
    assert_eq!(
        report
            .map(|report| report.ticks)
            .map_err(|mismatch| mismatch.to_string()),
        Ok(900)
    );
}
