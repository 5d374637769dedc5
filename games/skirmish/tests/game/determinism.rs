//! Copies of a game stay the same.

use crate::scene::Scene;
use samestep_skirmish::SkirmishConfig;
use samestep_sync::{Replicate, sync_test};

fn battle() -> Scene {
    Scene::with_bots(&SkirmishConfig::battle(5, 6, 600))
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
