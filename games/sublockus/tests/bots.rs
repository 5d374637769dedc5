//! Bots play well enough to be played against.

mod scene;

use samestep_sublockus::{
    Ability, ArenaChoice, Builtin, ONE, Place, SublockusConfig, SublockusEvent,
};
use scene::Scene;

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
        let frags: u32 = scene
            .game
            .seats()
            .iter()
            .map(|seat| u32::from(seat.frags))
            .sum();
        let deaths: u32 = scene
            .game
            .seats()
            .iter()
            .map(|seat| u32::from(seat.deaths))
            .sum();
        let hits = |ability| {
            scene.count(|event| {
                matches!(event, SublockusEvent::Hit { ability: Some(by), .. } if *by == ability)
            })
        };
        let casts = |ability| {
            scene.count(
                |event| matches!(event, SublockusEvent::Cast { ability: by, .. } if *by == ability),
            )
        };
        let said = Ability::ALL.map(|ability| (hits(ability), casts(ability)));
        let taken = scene.count(|event| matches!(event, SublockusEvent::Taken { .. }));
        let used = scene.count(|event| matches!(event, SublockusEvent::Used { .. }));
        let jumped = scene.count(|event| matches!(event, SublockusEvent::Jumped { .. }));
        println!(
            "{builtin:?}: {frags} frags {deaths} deaths {said:?} taken {taken} used {used} jumped {jumped}"
        );
    }
}

#[test]
fn nobody_is_stuck() {
    for builtin in Builtin::ALL {
        let players = 12;
        let mut scene = Scene::with_bots(&in_arena(builtin, 5), players);
        let mut since = vec![(Place::default(), 0); usize::from(players)];
        let mut longest = 0;
        for _ in 0..120 * 60 {
            scene.run(1);
            for player in 0..players {
                let at = usize::from(player);
                let place = scene.character(player).place();
                if place.distance(since[at].0) > 3 * ONE {
                    since[at] = (place, scene.tick.0);
                }
                if scene.tick.0 - since[at].1 > longest {
                    longest = scene.tick.0 - since[at].1;
                }
            }
        }
        println!("{builtin:?}: longest {longest}");
    }
}
