//! The same game comes out the same.

use crate::scene::Scene;
use samestep_sublockus::{Builtin, SublockusConfig};
use samestep_sync::{PlayerId, Replicate, sync_test};

#[test]
fn simulated_again_it_is_the_same() {
    for (seed, count) in [(1, 2), (2, 2), (3, 5), (4, 8), (5, 16), (6, 32)] {
        let config = SublockusConfig {
            grace: 30,
            frag_limit: Some(6),
            fog: seed % 2 == 0,
            ..SublockusConfig::free_for_all(seed, count)
        };
        let Scene {
            game,
            players,
            mut bots,
            ..
        } = Scene::with_bots(&config, count);
        let report = sync_test(game, 900, 8, |tick, game, inputs| {
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
        assert_eq!(ticks.map_err(|mismatch| mismatch.to_string()), Ok(900));
    }
}

#[test]
fn bots_do_the_same_with_the_same_seed() {
    let config = SublockusConfig::duel(9);
    let checksum = |seed: u64| {
        let mut scene = Scene::with_bots(&config, 2);
        scene.bots = [0, 1]
            .map(|p| samestep_sublockus::Bot::new(seed, PlayerId(p)))
            .to_vec();
        scene.run(600);
        scene.game.checksum()
    };
    assert_eq!(checksum(1), checksum(1));
    assert_ne!(checksum(1), checksum(2));
    assert_eq!(Builtin::for_players(2), Builtin::Cellar);
}
