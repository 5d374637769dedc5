//! Bots play as somebody would.

use crate::scene::Scene;
use samestep_playable::Level;
use samestep_rawrlocks::{Ability, ONE, Place, RawrlocksConfig, RawrlocksEvent};
use samestep_sync::PlayerId;

/// Runs until so many rounds are over.
fn play(scene: &mut Scene, rounds: u16) {
    while scene.game.round().number <= rounds {
        scene.run(60);
        assert!(scene.tick.0 < u64::from(rounds) * 60 * 130, "a round ends");
    }
}

#[test]
fn a_fight_of_bots_has_everything() {
    for level in Level::ALL {
        let config = RawrlocksConfig::for_players(3, 6);
        let mut scene = Scene::with_bots(&config, &[level; 6]);
        play(&mut scene, 6);
        for ability in Ability::ALL {
            let is_fired = |event: &RawrlocksEvent| matches!(event, RawrlocksEvent::Fired { ability: fired, .. } if *fired == ability);
            let least = match (level, ability) {
                // The simple one does not know the thrust.
                (Level::Easy, Ability::Thrust) => 0,
                _ => 5,
            };
            assert!(scene.count(is_fired) >= least, "{level:?}: {ability:?}");
        }
        let taken = |event: &RawrlocksEvent| matches!(event, RawrlocksEvent::PowerTaken { .. });
        assert!(scene.count(taken) >= 6, "{level:?}");
        let kills: u32 = scene
            .game
            .seats()
            .iter()
            .map(|seat| u32::from(seat.kills))
            .sum();
        assert!(kills >= 15, "{level:?}: {kills} kills in six rounds");
    }
}

/// Rounds won by the first and by the second level over so many seeds, two rounds for each.
fn duel(levels: [Level; 2], seeds: u64) -> [u16; 2] {
    let mut wins = [0; 2];
    for seed in 0..seeds {
        // They change sides, so that neither has the better id.
        let is_swapped = seed % 2 == 1;
        let order = if is_swapped { [1, 0] } else { [0, 1] };
        let config = RawrlocksConfig::for_players(seed, 2);
        let mut scene = Scene::with_bots(&config, &order.map(|at| levels[at]));
        play(&mut scene, 2);
        for (at, seat) in order.into_iter().zip(scene.game.seats()) {
            wins[at] += seat.wins;
        }
    }
    wins
}

#[test]
fn a_better_bot_beats_a_worse_one() {
    let against_simple = duel([Level::Normal, Level::Easy], 12);
    assert!(
        against_simple[0] > 3 * against_simple[1],
        "{against_simple:?}"
    );
    let against_normal = duel([Level::Hard, Level::Normal], 12);
    assert!(against_normal[0] > against_normal[1], "{against_normal:?}");
}

#[test]
fn among_many_the_better_ones_win() {
    let mut wins = [0; 2];
    for seed in 0..5 {
        let levels = [
            Level::Hard,
            Level::Easy,
            Level::Easy,
            Level::Hard,
            Level::Easy,
            Level::Easy,
        ];
        let mut scene = Scene::with_bots(&RawrlocksConfig::for_players(seed, 6), &levels);
        play(&mut scene, 3);
        for (level, seat) in levels.iter().zip(scene.game.seats()) {
            wins[usize::from(*level == Level::Easy)] += seat.wins;
        }
    }
    assert!(
        wins[0] > 2 * wins[1],
        "two better and four simple: {wins:?}"
    );
}

#[test]
fn nobody_walks_into_the_lava_without_need() {
    for level in Level::ALL {
        for seed in 0..3 {
            let config = RawrlocksConfig::for_players(seed, 4);
            let mut scene = Scene::with_bots(&config, &[level; 4]);
            let mut was_inside = [false; 4];
            let mut radius = 0;
            for _ in 0..2 * 60 * 100 {
                scene.run(1);
                let arena = *scene.game.arena();
                for player in 0..4_u16 {
                    let avatar = scene.game.avatar_of(PlayerId(player));
                    let Some(avatar) = avatar.filter(|avatar| avatar.is_alive()) else {
                        was_inside[usize::from(player)] = false;
                        continue;
                    };
                    let is_lava = arena.is_lava(avatar.place());
                    let is_free = avatar.body.knockback == Place::CENTRE;
                    // What throws it or shrinks under it is no fault of its own, and in the end there is nowhere to go.
                    let is_large = arena.radius == radius && arena.radius > config.radius * ONE / 5;
                    let walked = is_lava && is_free && was_inside[usize::from(player)];
                    assert!(
                        !(walked && is_large && scene.game.is_fighting()),
                        "{level:?}, seed {seed}: {player} at {:?} in {arena:?}",
                        avatar.place()
                    );
                    was_inside[usize::from(player)] = !is_lava;
                }
                radius = arena.radius;
            }
        }
    }
}
