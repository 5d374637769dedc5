//! The rules, one at a time.

use crate::scene::{Scene, fighting, quiet};
use samestep_rawrlocks::{
    Ability, Aim, Cursor, FIREBALL_RADIUS, FIREBALL_SPEED, HEALTH, Heading, LAVA_DAMAGE,
    LAVA_PERIOD, MAX_PLAYERS, ONE, POWER_UP_BACK, POWER_UP_TICKS, Phase, Place, PowerUpKind,
    RADIUS, Rawrlocks, RawrlocksConfig, RawrlocksConfigError, RawrlocksEvent, SPEED,
};
use samestep_sync::{PlayerId, Tick};

fn hits(scene: &Scene) -> Vec<(u16, u16, i16)> {
    let hit = |event: &RawrlocksEvent| match event {
        RawrlocksEvent::Hit {
            victim, by, damage, ..
        } => Some((victim.0, by.0, *damage)),
        _ => None,
    };
    scene.events.iter().filter_map(hit).collect()
}

fn deaths(scene: &Scene) -> Vec<(u16, Option<u16>)> {
    let death = |event: &RawrlocksEvent| match event {
        RawrlocksEvent::Died { victim, killer, .. } => Some((victim.0, killer.map(|by| by.0))),
        _ => None,
    };
    scene.events.iter().filter_map(death).collect()
}

fn stats(ability: Ability) -> samestep_rawrlocks::AbilityStats {
    ability.stats()
}

#[test]
fn an_avatar_walks_where_it_is_told() {
    let mut scene = fighting(&quiet(), 2);
    scene.walk(0, Some(Heading::UP));
    scene.run(60);
    assert_eq!(scene.avatar(0).place(), Place::yards(0, -90));
    scene.walk(0, None);
    scene.run(60);
    assert_eq!(scene.avatar(0).place(), Place::yards(0, -90));
    // It looks at the cursor meanwhile.
    scene.held[0].cursor = Cursor::at(Place::yards(-300, -90));
    scene.run(1);
    assert_eq!(scene.avatar(0).look, Heading::LEFT);
}

#[test]
fn a_fireball_takes_its_time_flies_its_range_and_hits_the_first() {
    let mut scene = fighting(&quiet(), 3);
    scene.put(2, Place::yards(300, 0));
    let fireball = stats(Ability::Fireball);
    assert_eq!(fireball.cast_ticks, 24, "400 ms");
    scene.cast(0, Ability::Fireball, Place::yards(50, 0));
    let casting = scene.avatar(0).casting.expect("everyone sees it");
    assert_eq!(casting.ability, Ability::Fireball);
    assert_eq!(casting.fires_at, scene.game.clock() + 24);
    scene.run(23);
    assert_eq!(scene.game.fireballs().len(), 0);
    scene.run(1);
    assert_eq!(scene.game.fireballs().len(), 1);
    assert!(scene.avatar(0).casting.is_none());
    // From middle to middle 200 yards, of which the two radii need not be flown.
    let flight = (200 * ONE - RADIUS - FIREBALL_RADIUS) / FIREBALL_SPEED;
    scene.run(flight as u64 - 1);
    assert_eq!(hits(&scene), []);
    scene.run(1);
    assert_eq!(
        hits(&scene),
        [(1, 0, fireball.damage)],
        "not the one behind"
    );
    assert_eq!(scene.game.fireballs().len(), 0);
    assert_eq!(scene.avatar(1).health, HEALTH - fireball.damage);
    assert_eq!(scene.avatar(2).health, HEALTH);
    let thrown = scene.avatar(1).body.knockback;
    assert!(thrown.x > 5 * ONE && thrown.y == 0, "{thrown:?}");
    scene.run(60);
    let moved = scene.avatar(1).place().x - 200 * ONE;
    assert!((70 * ONE..110 * ONE).contains(&moved), "{}", moved / ONE);
    assert_eq!(scene.avatar(1).body.knockback, Place::CENTRE);
}

#[test]
fn a_fireball_ends_with_its_range() {
    let mut scene = fighting(&quiet(), 2);
    scene.put(0, Place::yards(-300, 0));
    scene.put(1, Place::yards(215, 0));
    scene.fire(0, Ability::Fireball, Place::yards(0, 0));
    scene.run(120);
    assert_eq!(hits(&scene), []);
    let faded = scene.events.iter().find_map(|event| match event {
        RawrlocksEvent::Faded { place, .. } => Some(*place),
        _ => None,
    });
    let flown = faded.expect("it ended").x + 300 * ONE;
    let range = stats(Ability::Fireball).reach;
    assert!((flown - range).abs() <= FIREBALL_SPEED, "{}", flown / ONE);
    // Five yards nearer it is reached.
    let mut scene = fighting(&quiet(), 2);
    scene.put(0, Place::yards(-300, 0));
    scene.put(1, Place::yards(205, 0));
    scene.fire(0, Ability::Fireball, Place::yards(0, 0));
    scene.run(120);
    assert_eq!(hits(&scene).len(), 1);
}

#[test]
fn the_aim_is_that_of_the_moment_when_it_was_queued() {
    let mut scene = fighting(&quiet(), 2);
    scene.put(1, Place::yards(0, 300));
    scene.cast(0, Ability::Fireball, Place::yards(100, 0));
    // The cursor goes elsewhere and the caster walks away, while it is cast.
    scene.held[0].cursor = Cursor::at(Place::yards(0, 300));
    scene.walk(0, Some(Heading::UP));
    scene.run(24);
    let fireball = scene.game.fireballs().as_slice()[0];
    assert_eq!(fireball.velocity, Place::new(FIREBALL_SPEED, 0));
    assert!(
        fireball.place.y < -30 * ONE,
        "from where the caster is then"
    );
    // The same for a teleport: its target is a place.
    let mut scene = fighting(&quiet(), 2);
    scene.cast(0, Ability::Teleport, Place::yards(100, 50));
    assert_eq!(
        scene.avatar(0).casting.map(|casting| casting.aim),
        Some(Aim::At(Place::yards(100, 50)))
    );
    scene.held[0].cursor = Cursor::at(Place::yards(-300, 300));
    scene.run(6);
    assert_eq!(scene.avatar(0).place(), Place::yards(100, 50));
}

#[test]
fn a_fireball_at_ones_own_feet_goes_where_one_looks() {
    let mut scene = fighting(&quiet(), 2);
    scene.held[0].cursor = Cursor::at(Place::yards(-100, 0));
    scene.run(1);
    scene.fire(0, Ability::Fireball, Place::CENTRE);
    let fireball = scene.game.fireballs().as_slice()[0];
    assert_eq!(fireball.velocity, Place::new(-FIREBALL_SPEED, 0));
}

#[test]
fn knockback_is_walked_against() {
    let mut ends = Vec::new();
    for walk in [None, Some(Heading::LEFT)] {
        let mut scene = fighting(&quiet(), 2);
        scene.put(1, Place::yards(100, 0));
        scene.fire(0, Ability::Fireball, Place::yards(100, 0));
        while hits(&scene).is_empty() {
            scene.run(1);
        }
        scene.walk(1, walk);
        scene.run(42);
        ends.push(scene.avatar(1).place().x / ONE - 100);
    }
    assert!(ends[1] > 5 && ends[1] < ends[0] / 2, "{ends:?} yards");
}

#[test]
fn a_scourge_throws_everybody_near_away_from_the_caster() {
    let scourge = stats(Ability::Scourge);
    let mut scene = fighting(&quiet(), 4);
    let reach = (scourge.reach + RADIUS) / ONE;
    scene.put(1, Place::yards(60, 0));
    scene.put(2, Place::yards(0, -reach));
    scene.put(3, Place::yards(-reach - 1, 0));
    scene.fire(0, Ability::Scourge, Place::yards(300, 300));
    let mut hit = hits(&scene);
    hit.sort_unstable();
    assert_eq!(hit, [(1, 0, scourge.damage), (2, 0, scourge.damage)]);
    scene.run(60);
    assert!(scene.avatar(1).place().x > 150 * ONE);
    assert!(scene.avatar(2).place().y < -200 * ONE);
    assert_eq!(scene.avatar(3).place(), Place::yards(-reach - 1, 0));
    assert_eq!(scene.avatar(0).place(), Place::CENTRE);
    assert_eq!(scene.avatar(0).health, HEALTH);
    // Two at one place are parted all the same.
    let mut scene = fighting(&quiet(), 2);
    scene.put(1, Place::CENTRE);
    scene.fire(0, Ability::Scourge, Place::yards(0, 9));
    scene.run(30);
    assert!(scene.avatar(1).place().y > 50 * ONE);
}

#[test]
fn a_teleport_ends_inside_the_arena_and_within_its_range() {
    let range = stats(Ability::Teleport).reach;
    // To the cursor.
    let mut scene = fighting(&quiet(), 2);
    scene.fire(0, Ability::Teleport, Place::yards(-120, 50));
    assert_eq!(scene.avatar(0).place(), Place::yards(-120, 50));
    let event = RawrlocksEvent::Teleported {
        player: PlayerId(0),
        from: Place::CENTRE,
        to: Place::yards(-120, 50),
    };
    assert!(scene.events.contains(&event));
    // No farther than it reaches.
    let mut scene = fighting(&quiet(), 2);
    scene.fire(0, Ability::Teleport, Place::yards(0, 350));
    assert_eq!(scene.avatar(0).place(), Place::new(0, range));
    // A cursor in the lava is projected into the arena.
    let mut scene = fighting(&quiet(), 2);
    scene.put(0, Place::yards(300, 0));
    scene.fire(0, Ability::Teleport, Place::yards(900, 0));
    assert_eq!(scene.avatar(0).place(), Place::new(400 * ONE - RADIUS, 0));
    // From far out in the lava one does not come all the way.
    let mut scene = fighting(&quiet(), 2);
    scene.put(0, Place::yards(800, 0));
    scene.fire(0, Ability::Teleport, Place::CENTRE);
    assert_eq!(scene.avatar(0).place(), Place::new(800 * ONE - range, 0));
}

#[test]
fn a_thrust_is_the_same_however_far_the_cursor_is() {
    let mut ends = Vec::new();
    for yards in [1, 40, 900] {
        let mut scene = fighting(&quiet(), 2);
        scene.fire(0, Ability::Thrust, Place::yards(0, -yards));
        scene.run(60);
        ends.push(scene.avatar(0).place());
    }
    assert!(ends[0].y < -100 * ONE, "{ends:?}");
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
}

#[test]
fn abilities_cool_down_one_by_one() {
    for ability in Ability::ALL {
        let mut scene = fighting(&quiet(), 2);
        let begun =
            |scene: &Scene| scene.count(|event| matches!(event, RawrlocksEvent::CastBegan { .. }));
        scene.cast(0, ability, Place::yards(0, 100));
        // Nothing else while it is cast.
        scene.cast(0, Ability::Scourge, Place::yards(0, 100));
        assert_eq!(begun(&scene), 1);
        scene.run(u64::from(ability.stats().cast_ticks) - 1);
        let ready = scene.avatar(0).ready[ability as usize];
        assert_eq!(ready, scene.game.clock() + ability.stats().cooldown);
        scene.run(u64::from(ability.stats().cooldown) - 2);
        scene.cast(0, ability, Place::yards(0, 100));
        assert_eq!(begun(&scene), 1, "{ability:?}: a tick too early");
        scene.cast(0, ability, Place::yards(0, 100));
        assert_eq!(begun(&scene), 2, "{ability:?}");
    }
    // The others are ready meanwhile.
    let mut scene = fighting(&quiet(), 2);
    for ability in Ability::ALL {
        assert!(scene.avatar(0).can_cast(ability, scene.game.clock()));
        scene.fire(0, ability, Place::yards(0, 30));
    }
}

#[test]
fn lava_hurts_whoever_stands_in_it() {
    let mut scene = fighting(&quiet(), 2);
    scene.put(0, Place::yards(400, 0));
    scene.run(60);
    assert_eq!(scene.avatar(0).health, HEALTH, "at the very edge");
    scene.put(0, Place::yards(401, 0));
    scene.run(60);
    let burnt = 60 / LAVA_PERIOD as i16 * LAVA_DAMAGE;
    assert_eq!(scene.avatar(0).health, HEALTH - burnt);
    scene.put(0, Place::CENTRE);
    scene.run(60);
    assert_eq!(scene.avatar(0).health, HEALTH - burnt);
    scene.put(0, Place::yards(0, 500));
    scene.run(600);
    assert_eq!(deaths(&scene), [(0, None)]);
}

#[test]
fn the_arena_shrinks_in_steps_to_nothing() {
    let config = RawrlocksConfig {
        shrink_ticks: 100,
        shrink_by: 120,
        ..quiet()
    };
    let mut scene = fighting(&config, 2);
    let mut radii = vec![scene.game.arena().radius / ONE];
    for _ in 0..4 {
        // Health is given back, so that the round goes on.
        for player in 0..2 {
            scene.avatar_mut(player).health = HEALTH;
        }
        scene.run(99);
        assert_eq!(scene.game.arena().radius / ONE, *radii.last().unwrap());
        scene.run(1);
        radii.push(scene.game.arena().radius / ONE);
    }
    assert_eq!(radii, [400, 280, 160, 40, 0]);
    // In the end nobody is left: whoever died last has not won.
    scene.put(0, Place::CENTRE);
    scene.run(600);
    let over = |event: &RawrlocksEvent| matches!(event, RawrlocksEvent::RoundOver { .. });
    assert!(scene.count(over) >= 1);
}

#[test]
fn a_kill_is_credited_to_who_dealt_the_last_damage() {
    // By a hit.
    let mut scene = fighting(&quiet(), 3);
    scene.put(2, Place::yards(0, -300));
    scene.avatar_mut(1).health = 5;
    scene.fire(0, Ability::Fireball, Place::yards(200, 0));
    scene.run(60);
    assert_eq!(deaths(&scene), [(1, Some(0))]);
    let seat = |scene: &Scene, player| *scene.game.seat_of(PlayerId(player)).unwrap();
    assert_eq!((seat(&scene, 0).kills, seat(&scene, 1).deaths), (1, 1));
    // By lava, long after a hit: of two who hit, the later one.
    let mut scene = fighting(&quiet(), 3);
    scene.put(2, Place::yards(200, -200));
    scene.fire(0, Ability::Fireball, Place::yards(200, 0));
    scene.run(60);
    scene.put(1, Place::yards(200, 0));
    scene.fire(2, Ability::Fireball, Place::yards(200, 0));
    scene.run(300);
    assert_eq!(hits(&scene).len(), 2);
    scene.put(1, Place::yards(0, 600));
    scene.run(600);
    assert_eq!(deaths(&scene), [(1, Some(2))]);
    assert_eq!((seat(&scene, 0).kills, seat(&scene, 2).kills), (0, 1));
    // Without any damage by others it is nobody's.
    let mut scene = fighting(&quiet(), 3);
    scene.put(1, Place::yards(0, 600));
    scene.run(600);
    assert_eq!(deaths(&scene), [(1, None)]);
}

#[test]
fn the_dead_do_nothing_and_are_spared() {
    let mut scene = fighting(&quiet(), 3);
    scene.avatar_mut(1).health = 5;
    scene.cast(1, Ability::Fireball, Place::yards(0, 0));
    scene.fire(0, Ability::Scourge, Place::CENTRE);
    scene.put(1, Place::yards(60, 0));
    scene.avatar_mut(1).health = 0;
    scene.run(1);
    assert!(!scene.avatar(1).is_alive() && scene.avatar(1).casting.is_none());
    scene.events.clear();
    let place = scene.avatar(1).place();
    scene.walk(1, Some(Heading::UP));
    scene.cast(1, Ability::Thrust, Place::CENTRE);
    scene.run(200);
    scene.fire(0, Ability::Fireball, place);
    scene.run(60);
    assert_eq!(scene.avatar(1).place(), place);
    let own = |event: &RawrlocksEvent| matches!(event, RawrlocksEvent::CastBegan { player, .. } if player.0 == 1);
    assert_eq!(scene.count(own), 0);
    assert!(hits(&scene).iter().all(|(victim, ..)| *victim != 1));
}

/// A round with power-ups and four players who stand where none are.
fn with_power_ups() -> Scene {
    let config = RawrlocksConfig {
        power_ups: true,
        ..quiet()
    };
    let mut scene = fighting(&config, 4);
    for player in 0..4 {
        scene.put(player, Place::yards(-300 + 200 * i32::from(player), 0));
    }
    scene
}

#[test]
fn a_power_up_doubles_the_speed_for_a_while_and_is_back_later() {
    let mut scene = with_power_ups();
    let kind = PowerUpKind::Speed;
    scene.put(0, kind.place());
    scene.run(1);
    let power = scene.game.power_ups()[0];
    assert_eq!((power.kind, power.holder), (kind, Some(PlayerId(0))));
    assert!(!power.is_available(scene.game.clock()));
    assert_eq!(scene.game.speed_of(PlayerId(0)), 2 * SPEED);
    scene.put(0, Place::CENTRE);
    scene.walk(0, Some(Heading::LEFT));
    scene.run(60);
    assert_eq!(scene.avatar(0).place(), Place::yards(-180, 0));
    scene.walk(0, None);
    scene.run(u64::from(POWER_UP_TICKS) - 61);
    assert!(scene.game.has_power(PlayerId(0), kind));
    scene.run(1);
    assert!(!scene.game.has_power(PlayerId(0), kind));
    let ended = RawrlocksEvent::PowerEnded {
        player: PlayerId(0),
        kind,
    };
    assert_eq!(scene.count(|event| *event == ended), 1);
    // It is picked up again by whoever stands there when it is back, and not before.
    scene.put(1, kind.place());
    scene.run(u64::from(POWER_UP_BACK - POWER_UP_TICKS) - 1);
    assert!(!scene.game.has_power(PlayerId(1), kind));
    scene.run(1);
    assert!(scene.game.has_power(PlayerId(1), kind));
}

#[test]
fn a_power_up_doubles_the_damage() {
    for ability in [Ability::Fireball, Ability::Scourge] {
        let mut scene = with_power_ups();
        scene.put(0, PowerUpKind::Damage.place());
        scene.run(1);
        scene.put(0, Place::yards(30, 0));
        scene.fire(0, ability, Place::yards(100, 0));
        scene.run(20);
        let double = 2 * ability.stats().damage;
        assert!(hits(&scene).contains(&(2, 0, double)), "{ability:?}");
    }
}

#[test]
fn exactly_one_gets_a_power_up() {
    let kind = PowerUpKind::Damage;
    let mut winners = [0; 2];
    for seed in 0..64 {
        let config = RawrlocksConfig {
            power_ups: true,
            seed,
            ..quiet()
        };
        let mut scene = fighting(&config, 2);
        // They race for it from equal distances.
        let [left, right] = [-90, 90].map(|x| kind.place().offset(Place::yards(x, 0)));
        scene.put(0, left);
        scene.put(1, right);
        scene.walk(0, Some(Heading::RIGHT));
        scene.walk(1, Some(Heading::LEFT));
        scene.run(60);
        let has = [0, 1].map(|player| scene.game.has_power(PlayerId(player), kind));
        assert_ne!(has[0], has[1], "seed {seed}");
        winners[usize::from(has[1])] += 1;
    }
    assert!(winners[0] > 16 && winners[1] > 16, "{winners:?}");
    // The nearer one has it, whatever the coin says.
    let mut scene = with_power_ups();
    scene.put(0, kind.place().offset(Place::yards(20, 0)));
    scene.put(1, kind.place().offset(Place::yards(-19, 0)));
    scene.run(1);
    assert!(scene.game.has_power(PlayerId(1), kind));
}

#[test]
fn whoever_dies_or_leaves_loses_its_power() {
    let mut scene = with_power_ups();
    scene.put(0, PowerUpKind::Speed.place());
    scene.put(1, PowerUpKind::Damage.place());
    scene.run(1);
    scene.avatar_mut(0).health = 0;
    scene.players.remove(1);
    scene.run(1);
    assert!(
        scene
            .game
            .power_ups()
            .iter()
            .all(|power| power.holder.is_none())
    );
}

#[test]
fn a_round_is_over_when_fewer_than_two_live_and_another_begins() {
    let config = RawrlocksConfig {
        break_ticks: 90,
        power_ups: true,
        ..quiet()
    };
    let mut scene = fighting(&config, 3);
    assert_eq!(scene.game.round().number, 1);
    scene.put(0, PowerUpKind::Speed.place());
    scene.game.set_radius(300 * ONE);
    scene.avatar_mut(1).health = 0;
    scene.run(2);
    assert!(scene.game.is_fighting(), "two live");
    scene.avatar_mut(2).health = 0;
    scene.run(2);
    let Phase::Over {
        winner, is_last, ..
    } = scene.game.round().phase
    else {
        panic!("it is over");
    };
    assert_eq!((winner, is_last), (Some(PlayerId(0)), false));
    assert_eq!(scene.game.seat_of(PlayerId(0)).unwrap().wins, 1);
    // Nothing hurts between rounds.
    scene.put(0, Place::yards(0, 700));
    scene.run(80);
    assert_eq!(scene.avatar(0).health, HEALTH);
    scene.run(20);
    assert!(scene.game.is_fighting());
    assert_eq!(scene.game.round().number, 2);
    assert_eq!(scene.game.arena().radius, 400 * ONE);
    let power_ups = scene.game.power_ups();
    assert!(power_ups.iter().all(|power| power.holder.is_none()));
    for player in 0..3 {
        let avatar = scene.avatar(player);
        assert!(avatar.is_alive() && avatar.hurt_by.is_none());
        assert_eq!(avatar.place().length() / ONE, 239, "on a circle");
    }
    let apart = scene.avatar(0).place().distance(scene.avatar(1).place());
    assert!(apart > 400 * ONE, "a third of a turn apart");
}

#[test]
fn nobody_wins_if_the_last_two_die_together() {
    let mut scene = fighting(&quiet(), 2);
    scene.avatar_mut(0).health = 0;
    scene.avatar_mut(1).health = 0;
    scene.run(2);
    let over = RawrlocksEvent::RoundOver { winner: None };
    assert_eq!(scene.count(|event| *event == over), 1);
    assert!(scene.game.seats().iter().all(|seat| seat.wins == 0));
    scene.run(2);
    assert!(scene.game.is_fighting());
}

#[test]
fn enough_rounds_won_are_the_match() {
    use samestep_playable::Playable;
    let config = RawrlocksConfig {
        wins: Some(2),
        break_ticks: 10,
        ..quiet()
    };
    let mut scene = fighting(&config, 2);
    for round in 1..=2 {
        assert!(!scene.game.is_over());
        scene.avatar_mut(0).health = 0;
        scene.run(2);
        assert_eq!(scene.game.scores()[0].figures, [round, 0, 0]);
        if round == 1 {
            scene.run(12);
        }
    }
    assert!(scene.game.is_over());
    let winner = PlayerId(1);
    let over = RawrlocksEvent::MatchOver { winner };
    assert_eq!(scene.count(|event| *event == over), 1);
    // After a longer break another match begins.
    scene.run(20);
    assert!(scene.game.is_over());
    scene.run(20);
    assert!(!scene.game.is_over() && scene.game.is_fighting());
    assert!(
        scene
            .game
            .scores()
            .iter()
            .all(|score| score.figures == [0; 3])
    );
}

#[test]
fn players_come_and_go() {
    let config = RawrlocksConfig {
        break_ticks: 60,
        ..quiet()
    };
    let mut scene = Scene::new(&config, 4);
    scene.players.truncate(1);
    scene.run(100);
    assert_eq!(scene.game.round().phase, Phase::Waiting);
    // It may walk about meanwhile.
    scene.walk(0, Some(Heading::UP));
    let before = scene.avatar(0).place();
    scene.run(10);
    assert_ne!(scene.avatar(0).place(), before);
    // A second one comes, and goes before the round begins.
    scene.players.push(PlayerId(1));
    scene.run(30);
    assert!(matches!(scene.game.round().phase, Phase::Starting { .. }));
    scene.players.pop();
    scene.away = vec![(PlayerId(1), Tick(2))];
    scene.run(2);
    assert_eq!(scene.game.round().phase, Phase::Waiting);
    scene.away.clear();
    scene.players.push(PlayerId(1));
    scene.run(63);
    assert!(scene.game.is_fighting());
    // Who comes during a round waits for the next one.
    scene.players.push(PlayerId(2));
    scene.run(10);
    assert!(scene.game.avatar_of(PlayerId(2)).is_none());
    assert!(scene.game.seat_of(PlayerId(2)).unwrap().plays);
    // Who leaves has lost, and keeps its score.
    scene.players.remove(0);
    scene.away = vec![(PlayerId(0), Tick(3))];
    scene.run(2);
    assert!(scene.game.avatar_of(PlayerId(0)).is_none());
    let winner = Some(PlayerId(1));
    assert!(matches!(scene.game.round().phase, Phase::Over { winner: won, .. } if won == winner));
    scene.run(62);
    assert!(scene.game.is_fighting());
    assert!(scene.avatar(2).is_alive());
    assert!(!scene.game.seat_of(PlayerId(0)).unwrap().is_here);
    // Who is gone for good is forgotten.
    scene.away.clear();
    scene.run(1);
    assert_eq!(scene.game.seats().len(), 2);
}

#[test]
fn ten_play_and_others_watch() {
    let mut scene = fighting(&quiet(), MAX_PLAYERS + 2);
    assert_eq!(scene.game.avatars().len(), usize::from(MAX_PLAYERS));
    assert_eq!(scene.game.seats().len(), usize::from(MAX_PLAYERS) + 2);
    assert!(!scene.game.seats()[10].plays);
    // One of them goes: the first who watches plays in the next round.
    scene.players.remove(3);
    scene.away = vec![(PlayerId(3), scene.tick)];
    scene.run(1);
    assert!(scene.game.seats()[10].plays && !scene.game.seats()[11].plays);
}

#[test]
fn impossible_games_are_refused() {
    let refused = |change: fn(&mut RawrlocksConfig)| {
        let mut config = RawrlocksConfig::default();
        change(&mut config);
        Rawrlocks::new(&config).err()
    };
    assert_eq!(
        refused(|config| config.radius = 99),
        Some(RawrlocksConfigError::Radius)
    );
    assert_eq!(
        refused(|config| config.shrink_by = 0),
        Some(RawrlocksConfigError::Times)
    );
    assert_eq!(
        refused(|config| config.shrink_ticks = 0),
        Some(RawrlocksConfigError::Times)
    );
    assert_eq!(
        refused(|config| config.break_ticks = u32::MAX),
        Some(RawrlocksConfigError::Times)
    );
    assert_eq!(
        refused(|config| config.wins = Some(0)),
        Some(RawrlocksConfigError::Wins)
    );
    for players in 0..=u16::MAX {
        assert!(Rawrlocks::new(&RawrlocksConfig::for_players(1, players)).is_ok());
    }
}

#[test]
fn a_place_is_predicted_from_walking_and_knockback() {
    let mut scene = fighting(&quiet(), 2);
    scene.walk(0, Some(Heading::RIGHT));
    scene.run(1);
    let avatar = scene.avatar(0);
    assert_eq!(
        avatar.predicted_place(false, 3),
        avatar.place().offset(Place::new(3 * SPEED, 0))
    );
    scene.avatar_mut(0).body.knockback = Place::new(0, 2 * ONE);
    let avatar = scene.avatar(0);
    let ahead = avatar.predicted_place(true, 3);
    assert_eq!(ahead, avatar.place().offset(Place::new(6 * SPEED, 6 * ONE)));
    scene.run(3);
    // The knockback has decayed a little meanwhile.
    let gap = scene.avatar(0).place().y - ahead.y;
    assert!((-ONE..0).contains(&gap), "{gap}");
}
