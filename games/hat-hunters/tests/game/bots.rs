//! Bots play matches to their end.

use crate::scene::Scene;
use samestep_hat_hunters::{
    Builtin, HatHuntersConfig, HatHuntersEvent, MapChoice, Mode, ONE, Place,
};
use samestep_playable::{Level, Playable};
use samestep_sync::EntityId;

#[test]
fn twenty_matches_of_every_mode_come_to_an_end() {
    for mode in Mode::ALL {
        let (mut ticks, mut boxes, mut shots, mut hits) = (0, 0, 0, 0);
        for seed in 0..20 {
            let mut config = HatHuntersConfig::in_mode(seed, mode);
            config.rules.rounds = 2;
            let mut scene = Scene::with_bots(&config, 2 + (seed % 3) as u16);
            while !scene.game.is_over() {
                scene.run(60);
                assert!(scene.tick.0 < 60 * 60 * 30, "{mode:?}, seed {seed}");
            }
            ticks += scene.tick.0;
            boxes += scene.count(|it| matches!(it, HatHuntersEvent::BoxPlaced { .. }));
            shots += scene.count(|it| matches!(it, HatHuntersEvent::ItemUsed { .. }));
            hits += scene.count(|it| matches!(it, HatHuntersEvent::Hit { .. }));
        }
        println!(
            "{mode:?}: {} s a match, {boxes} boxes, {shots} uses, {hits} hits",
            ticks / 20 / 60
        );
        assert!(boxes > 100 && shots > 100 && hits > 20);
    }
}

#[test]
fn nobody_is_stuck_for_long() {
    for builtin in Builtin::ALL {
        let config = HatHuntersConfig {
            map: MapChoice::Builtin(builtin),
            seed: 4,
            ..HatHuntersConfig::default()
        };
        let mut scene = Scene::with_bots(&config, 4);
        scene.run(1);
        let mut last: Vec<(EntityId, Place, u64)> = Vec::new();
        for _ in 0..60 * 90 {
            scene.run(1);
            for (id, character) in scene.game.characters().iter() {
                let place = character.place();
                let Some(seen) = last.iter_mut().find(|seen| seen.0 == id) else {
                    last.push((id, place, scene.tick.0));
                    continue;
                };
                if place.distance(seen.1) > 3 * ONE / 2 {
                    (seen.1, seen.2) = (place, scene.tick.0);
                }
                // Boxes fall apart after 40 seconds.
                let stuck = scene.tick.0 - seen.2;
                assert!(stuck < 60 * 60, "{builtin:?}: {id} at {place:?}");
            }
            last.retain(|seen| scene.game.characters().contains(seen.0));
        }
    }
}

#[test]
fn a_better_level_wins_against_a_worse_one() {
    let mut wins = [0; 2];
    for seed in 0..12 {
        let config = HatHuntersConfig::in_mode(seed, Mode::Stars);
        let mut scene = Scene::with_bots(&config, 2);
        let levels = [Level::Hard, Level::Easy];
        let bots = scene.bots.drain(..).zip(levels);
        scene.bots = bots.map(|(bot, level)| bot.at(level)).collect();
        while !scene.game.is_over() {
            scene.run(60);
        }
        for (wins, seat) in wins.iter_mut().zip(scene.game.seats()) {
            *wins += seat.wins;
        }
    }
    println!("{wins:?}");
    assert!(wins[0] > 2 * wins[1], "{wins:?}");
}

#[test]
fn those_that_nobody_plays_walk_as_bots_do() {
    let mut scene = Scene::with_bots(&HatHuntersConfig::default(), 4);
    scene.run(1);
    // How often characters turn, stand and place boxes.
    let mut turns = [0u32; 2];
    let mut stands = [0u32; 2];
    let mut before: Vec<_> = Vec::new();
    let mut counted = [0u32; 2];
    for _ in 0..60 * 60 {
        scene.run(1);
        let mut now = Vec::new();
        for (id, character) in scene.game.characters().iter() {
            let is_played = usize::from(scene.game.player_of(id).is_some());
            counted[is_played] += 1;
            stands[is_played] += u32::from(character.steering.is_none());
            let turned = before.contains(&(id, character.steering));
            turns[is_played] += u32::from(!turned);
            now.push((id, character.steering));
        }
        before = now;
    }
    let rate = |sum: [u32; 2]| [0, 1].map(|who| 3600.0 * sum[who] as f32 / counted[who] as f32);
    println!(
        "turns a minute {:?}, ticks of standing {:?}",
        rate(turns),
        rate(stands)
    );
    let [others, players] = rate(turns);
    assert!(players / others > 0.6 && players / others < 1.7);
}
