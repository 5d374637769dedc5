//! Under fog a player gets what it sees or hears, and nothing else.

use crate::scene::{Scene, floor, hall};
use samestep_sublockus::{
    Ability, Act, Angle, HEARING, ItemKind, ONE, Place, Sublockus, SublockusConfig, SublockusEvent,
};
use samestep_sync::{Entities, Interest, PlayerId, Relevance, Replicate, Schema, Simulation};

/// The names of what is told, as a model that tells it has them.
#[derive(Clone, Replicate)]
struct Told {
    characters: Entities<u8>,
    projectiles: Entities<u8>,
    items: Entities<u8>,
    inputs: Vec<u8>,
}

const CHARACTERS: usize = 1;
const PROJECTILES: usize = 2;
const ITEMS: usize = 3;
const INPUTS: usize = 4;

/// One left of the wall, high up; one right of it, high up as well; one on the floor below the wall.
fn three(fog: bool) -> Scene {
    let mut scene = Scene::new(&SublockusConfig { fog, ..hall() }, 3);
    scene.run(5);
    scene.put(0, Place::new(10 * ONE, 2 * ONE));
    scene.put(1, Place::new(30 * ONE, 2 * ONE));
    scene.put(2, floor(20));
    scene
}

fn interest(scene: &Scene, viewers: &[u16]) -> Interest {
    let viewers: Vec<_> = viewers.iter().copied().map(PlayerId).collect();
    let schema: Schema = Told::schema();
    let mut interest = Interest::new(&schema);
    scene.game.interest(&viewers, &mut interest);
    interest
}

#[test]
fn walls_hide_characters_and_what_they_hold() {
    let scene = three(true);
    for kind in [CHARACTERS, INPUTS] {
        let sees = |viewers: &[u16]| {
            let interest = interest(&scene, viewers);
            [0, 1, 2].map(|row| interest.relevance(kind, row) != Relevance::HIDDEN)
        };
        assert_eq!(sees(&[0]), [true, false, true]);
        assert_eq!(sees(&[1]), [false, true, true]);
        assert_eq!(sees(&[2]), [true, true, true]);
        assert_eq!(sees(&[0, 1]), [true, true, true]);
        assert_eq!(sees(&[9]), [false, false, false]);
        assert_eq!(sees(&[]), [true, true, true], "who only watches");
    }
}

#[test]
fn one_hears_through_walls() {
    let mut scene = three(true);
    scene.put(0, Place::new(19 * ONE, 2 * ONE));
    scene.put(1, Place::new(22 * ONE, 2 * ONE));
    assert!(
        scene
            .game
            .notices(PlayerId(0), scene.character(1).place(), Place::default())
    );
    scene.put(1, Place::new(19 * ONE + HEARING + 9, 2 * ONE));
    assert!(
        !scene
            .game
            .notices(PlayerId(0), scene.character(1).place(), Place::default())
    );
}

#[test]
fn without_fog_distance_alone_counts() {
    let mut scene = three(false);
    scene.put(0, floor(2));
    scene.put(1, floor(38));
    let interest = interest(&scene, &[0]);
    assert_eq!(interest.relevance(CHARACTERS, 0), Relevance::FULL);
    let far = interest.relevance(CHARACTERS, 1);
    assert!(far < Relevance::FULL && far > Relevance::weight(0.4));
    assert_eq!(interest.relevance(CHARACTERS, 2), Relevance::FULL);
}

#[test]
fn fireballs_and_items_are_hidden_too() {
    let mut scene = three(true);
    let pockets = |scene: &mut Scene| {
        let character = scene.game.character_mut(PlayerId(1)).unwrap();
        character.kit.pockets.push(ItemKind::Staff).unwrap();
    };
    pockets(&mut scene);
    scene.act(1, Act::Drop(0));
    scene.cast(1, Ability::Fireball, Angle::UP);
    let is_hidden = |viewer: u16, kind: usize| {
        interest(&scene, &[viewer]).relevance(kind, 0) == Relevance::HIDDEN
    };
    for kind in [PROJECTILES, ITEMS] {
        assert!(is_hidden(0, kind) && !is_hidden(1, kind) && !is_hidden(2, kind));
    }
}

#[test]
fn where_somebody_will_enter_is_its_own_business() {
    let mut scene = three(true);
    scene.put(0, floor(4));
    scene.game.character_mut(PlayerId(1)).unwrap().health = 0;
    scene.run(1);
    let row = scene
        .game
        .characters()
        .as_slice()
        .iter()
        .position(|c| c.player == PlayerId(1));
    let row = row.unwrap();
    for viewer in [0, 2] {
        assert_eq!(
            interest(&scene, &[viewer]).relevance(CHARACTERS, row),
            Relevance::HIDDEN
        );
    }
    assert_eq!(
        interest(&scene, &[1]).relevance(CHARACTERS, row),
        Relevance::FULL
    );
}

#[test]
fn one_is_told_of_what_one_notices_and_of_the_score() {
    let scene = three(true);
    let tells =
        |viewer: u16, event: &SublockusEvent| scene.game.perceives(&[PlayerId(viewer)], event);
    let (player, place) = (PlayerId(1), scene.character(1).place());
    let jumped = SublockusEvent::Jumped { player, place };
    assert!(!tells(0, &jumped) && tells(1, &jumped) && tells(2, &jumped));
    let fell = SublockusEvent::Fell {
        victim: player,
        place,
    };
    assert!(!tells(0, &fell) && tells(2, &fell));
    let died = SublockusEvent::Died {
        victim: player,
        killer: None,
    };
    assert!(tells(0, &died) && tells(2, &died));
    assert!(scene.game.perceives(&[], &jumped));
    assert!(three(false).game.perceives(&[PlayerId(0)], &jumped));
}

#[test]
fn a_game_of_which_part_is_hidden_goes_on_without_making_it_up() {
    // What somebody sees of a game in which the second is hidden: it must not get another character.
    let scene = three(true);
    let mut table = samestep_sync::Table::new(Sublockus::schema());
    scene.game.extract(&mut table);
    let mut seen = scene.clone();
    seen.game = Sublockus::from_table(&table).unwrap();
    assert!(seen.game.forget(PlayerId(1)));
    seen.run(200);
    assert_eq!(seen.game.characters().len(), 2);
    assert!(seen.game.character_of(PlayerId(1)).is_none());
}
