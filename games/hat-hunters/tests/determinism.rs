//! Copies of a match stay the same.

mod scene;

use samestep_hat_hunters::{Bot, HatHunters, HatHuntersConfig, Mode};
use samestep_sync::{PlayerId, Replicate, Table, sync_test};
use scene::Scene;

fn hunt() -> Scene {
    Scene::with_bots(&HatHuntersConfig::in_mode(5, Mode::Bushes), 4)
}

#[test]
fn two_copies_stay_the_same() {
    let (mut here, mut there) = (hunt(), hunt());
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
    let mut scene = hunt();
    for _ in 0..20 {
        scene.run(97);
        let mut table = Table::new(HatHunters::schema());
        scene.game.extract(&mut table);
        let bytes = table.encode();
        let table = Table::decode(HatHunters::schema(), &bytes).expect("what was encoded");
        scene.events.clear();
        let (mut copy, mut original) = (scene.clone(), scene.clone());
        copy.game = HatHunters::from_table(&table).expect("what was extracted");
        for _ in 0..40 {
            copy.run(1);
            original.run(1);
            assert_eq!(copy.game.checksum(), original.game.checksum());
        }
        assert_eq!(copy.events, original.events);
    }
}

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
