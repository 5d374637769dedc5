//! Bots play well enough to be played against.

use crate::scene::Scene;
use samestep_playable::Level;
use samestep_sublockus::{
    Ability, ArenaChoice, Builtin, ONE, Place, SublockusConfig, SublockusEvent,
};
use samestep_sync::PlayerId;

fn in_arena(builtin: Builtin, seed: u64) -> SublockusConfig {
    SublockusConfig {
        seed,
        arena: ArenaChoice::Builtin(builtin),
        ..SublockusConfig::default()
    }
}

#[test]
fn eight_bots_fight_for_two_minutes() {
    for builtin in Builtin::ALL {
        let mut scene = Scene::with_bots(&in_arena(builtin, 3), 8);
        scene.run(120 * 60);
        let seats = scene.game.seats();
        let frags: u32 = seats.iter().map(|seat| u32::from(seat.frags)).sum();
        assert!((20..400).contains(&frags), "{builtin:?}: {frags} frags");
        let fought = seats.iter().filter(|seat| seat.frags > 0).count();
        assert!(fought >= 6, "{builtin:?}: {fought} of 8");
        for ability in Ability::ALL {
            let is_cast = |event: &SublockusEvent| matches!(event, SublockusEvent::Cast { ability: cast, .. } if *cast == ability);
            assert!(scene.count(is_cast) > 20, "{builtin:?}: {ability:?}");
        }
        let taken = |event: &SublockusEvent| matches!(event, SublockusEvent::Taken { .. });
        let used = |event: &SublockusEvent| matches!(event, SublockusEvent::Used { .. });
        assert!(scene.count(taken) > 50 && scene.count(used) > 50);
    }
}

#[test]
fn nobody_is_stuck_for_long_anywhere() {
    for builtin in Builtin::ALL {
        let players = 12;
        let mut scene = Scene::with_bots(&in_arena(builtin, 5), players);
        let mut last = vec![(Place::default(), 0); usize::from(players)];
        for _ in 0..120 * 60 {
            scene.run(1);
            for (player, last) in (0..players).zip(&mut last) {
                let place = scene.character(player).place();
                if place.distance(last.0) > 3 * ONE {
                    *last = (place, scene.tick.0);
                }
                let stuck = scene.tick.0 - last.1;
                assert!(stuck < 15 * 60, "{builtin:?}: player {player} at {place:?}");
            }
        }
    }
}

#[test]
fn a_bot_finds_somebody_who_hides_at_any_spawn_point() {
    for builtin in Builtin::ALL {
        let spawns = builtin.arena().spawns().to_vec();
        for (at, spawn) in spawns.iter().enumerate().step_by(3) {
            let mut scene = Scene::with_bots(&in_arena(builtin, at as u64), 2);
            scene.bots.truncate(1);
            scene.run(1);
            scene.put(1, spawn.standing());
            for _ in 0..60 * 60 {
                scene.run(1);
                if scene.game.seats()[0].frags > 0 {
                    break;
                }
            }
            assert!(scene.game.seats()[0].frags > 0, "{builtin:?}: {spawn:?}");
        }
    }
}

#[test]
fn an_arena_can_change_under_a_bot() {
    let mut scene = Scene::with_bots(&in_arena(Builtin::Cellar, 1), 2);
    scene.run(300);
    let bots = scene.bots.clone();
    let mut scene = Scene::with_bots(&in_arena(Builtin::Mines, 1), 2);
    scene.bots = bots;
    scene.tick = samestep_sync::Tick(300);
    scene.run(3600);
    let moved = |player: u16| scene.game.seat_of(PlayerId(player)).is_some();
    assert!(moved(0) && moved(1));
    let jumped = |event: &SublockusEvent| matches!(event, SublockusEvent::Jumped { .. });
    assert!(scene.count(jumped) > 5);
}

#[test]
fn a_better_level_wins_against_a_worse_one() {
    let mut frags = [0; 2];
    for seed in 0..6 {
        let mut scene = Scene::with_bots(&in_arena(Builtin::Cellar, seed), 2);
        let levels = [Level::Hard, Level::Easy];
        let bots = scene.bots.drain(..).zip(levels);
        scene.bots = bots.map(|(bot, level)| bot.at(level)).collect();
        scene.run(60 * 60);
        for (sum, seat) in frags.iter_mut().zip(scene.game.seats()) {
            *sum += seat.frags;
        }
    }
    assert!(frags[0] > 2 * frags[1], "{frags:?}");
}
