//! The same match comes out the same.

use crate::scene::Scene;
use samestep_hat_hunters::{Bot, HatHuntersConfig, Mode};
use samestep_sync::{PlayerId, Replicate, sync_test};

#[test]
fn simulated_again_it_is_the_same() {
    for (seed, mode) in (0..8).zip(Mode::ALL.into_iter().cycle()) {
        let mut config = HatHuntersConfig::in_mode(seed, mode);
        config.rules.stars = 2;
        let Scene {
            game,
            players,
            mut bots,
            ..
        } = Scene::with_bots(&config, 4);
        let report = sync_test(game, 1200, 8, |tick, game, inputs| {
            // One of them comes and goes.
            let present = players.len() - usize::from(tick.0 / 100 % 3 == 1);
            inputs.set_players(&players[..present]);
            for bot in &mut bots[..present] {
                if let Some(controls) = bot.decide(tick, game) {
                    inputs.give(bot.player(), &controls);
                }
            }
        });
        let ticks = report.map(|report| report.ticks);
        assert_eq!(ticks.map_err(|mismatch| mismatch.to_string()), Ok(1200));
    }
}

#[test]
fn bots_do_the_same_with_the_same_seed() {
    let checksum = |seed: u64| {
        let mut scene = Scene::with_bots(&HatHuntersConfig::default(), 2);
        scene.bots = [0, 1].map(|p| Bot::new(seed, PlayerId(p))).to_vec();
        scene.run(600);
        scene.game.checksum()
    };
    assert_eq!(checksum(1), checksum(1));
    assert_ne!(checksum(1), checksum(2));
}
