//! The same game comes out the same.

use crate::scene::Scene;
use samestep_playable::Level;
use samestep_rawrlocks::{Bot, RawrlocksConfig};
use samestep_sync::{PlayerId, Replicate, sync_test};

#[test]
fn simulated_again_it_is_the_same() {
    for (seed, count) in [(1, 2), (2, 2), (3, 5), (4, 8), (5, 10), (6, 12)] {
        let config = RawrlocksConfig {
            break_ticks: 30,
            shrink_ticks: 90,
            wins: Some(2),
            ..RawrlocksConfig::for_players(seed, count)
        };
        let levels: Vec<_> = Level::ALL.into_iter().cycle().take(count.into()).collect();
        let Scene {
            game,
            players,
            mut bots,
            ..
        } = Scene::with_bots(&config, &levels);
        let mut rounds = 0;
        let report = sync_test(game, 1800, 8, |tick, game, inputs| {
            // One of them comes and goes.
            let present = players.len() - usize::from(tick.0 / 400 % 3 == 1);
            inputs.set_players(&players[..present]);
            for bot in &mut bots[..present] {
                if let Some(controls) = bot.decide(tick, game) {
                    inputs.give(bot.player(), &controls);
                }
            }
            rounds = game.round().number;
        });
        let ticks = report.map(|report| report.ticks);
        assert_eq!(ticks.map_err(|mismatch| mismatch.to_string()), Ok(1800));
        assert!(rounds >= 2, "seed {seed}: {rounds} rounds");
    }
}

#[test]
fn bots_do_the_same_with_the_same_seed() {
    let config = RawrlocksConfig::for_players(9, 2);
    for level in Level::ALL {
        let checksum = |seed: u64| {
            let mut scene = Scene::new(&config, 2);
            let bot = |player| Bot::new(seed, PlayerId(player)).at(level);
            scene.bots = vec![bot(0), bot(1)];
            scene.run(900);
            scene.game.checksum()
        };
        assert_eq!(checksum(1), checksum(1));
        assert_ne!(checksum(1), checksum(2), "{level:?}");
    }
}
