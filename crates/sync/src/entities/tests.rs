use super::*;
use crate::Rng;

#[test]
fn numbers_are_not_used_again() {
    let mut entities = Entities::new();
    let first = entities.insert('a');
    entities.remove(first);
    let second = entities.insert('b');
    assert_ne!(first, second);
    assert_eq!(entities.get(first), None);
    assert_eq!(entities.remove(first), None);
    assert_eq!(entities[second], 'b');
}

#[test]
fn counting_begins_again_past_those_in_use() {
    let mut entities = Entities::new();
    let first = entities.insert('a');
    entities.next = FIRST_FIXED - 1;
    let last = entities.insert('b');
    assert_eq!(last.number(), FIRST_FIXED - 1);
    let next = entities.insert('c');
    assert!(next.number() == 2 && first.number() == 1);
}

#[test]
fn fixed_ids_are_the_games_own() {
    let mut entities = Entities::new();
    assert_eq!(entities.insert_fixed(EntityId::fixed(3), 'a'), None);
    assert_eq!(entities.insert_fixed(EntityId::fixed(3), 'b'), Some('a'));
    assert!(!entities.insert('c').is_fixed());
    assert_eq!(entities.as_slice(), ['b', 'c']);
    assert_eq!(format!("{}", EntityId::fixed(3)), "fixed entity 3");
}

#[test]
fn agrees_with_a_list_of_pairs() {
    let mut rng = Rng::new(6);
    let mut entities = Entities::new();
    let mut pairs: Vec<(EntityId, u32)> = Vec::new();
    for round in 0..20_000 {
        match rng.below(20) {
            0..12 => pairs.push((entities.insert(round), round)),
            12..19 if !pairs.is_empty() => {
                let at = rng.below(pairs.len() as u32) as usize;
                let (id, row) = pairs.swap_remove(at);
                assert_eq!(entities.remove(id), Some(row));
            }
            _ if round % 40 == 0 => {
                let parity = rng.below(2);
                entities.retain(|_, row| *row % 2 == parity);
                pairs.retain(|(_, row)| row % 2 == parity);
            }
            _ => {}
        }
        if let Some((id, row)) = pairs.last() {
            assert_eq!(entities.get(*id), Some(row));
            assert_eq!(entities.index_of(*id), Some(pairs.len() - 1));
        }
    }
    let listed: Vec<_> = entities.iter().map(|(id, row)| (id, *row)).collect();
    assert_eq!(listed, pairs);
    entities.clear();
    assert!(pairs.iter().all(|(id, _)| !entities.contains(*id)));
}

#[test]
fn kept_check_values_are_those_of_a_fresh_start() {
    let root = |entities: &mut Entities<u32>| {
        let mut summary = StateDigest::of_root();
        entities.summarise(&mut summary);
        summary.finish().0
    };
    let fresh = |entities: &Entities<u32>| {
        let mut copy = Entities::new();
        let (ids, rows) = (entities.ids(), entities.as_slice());
        let load = |place: usize| Ok::<_, EntityId>(rows[place]);
        copy.rebuild(entities.next, ids, load, |id| id).unwrap();
        copy
    };
    let mut rng = Rng::new(7);
    let mut entities = Entities::new();
    let mut other = Entities::new();
    for round in 0..3000 {
        let count = entities.len() as u32;
        let some = |rng: &mut Rng| rng.below(count.max(1)) as usize;
        match rng.below(9) {
            0..4 => {
                entities.insert(round);
            }
            4 if count > 0 => {
                let id = entities.ids()[some(&mut rng)];
                entities.remove(id);
            }
            5 if count > 0 => *entities.row_mut(some(&mut rng)).unwrap() += 1,
            6 if count > 0 => entities.as_mut_slice()[some(&mut rng)] ^= 5,
            7 => other.assign(&entities),
            _ if round % 50 == 0 => entities.assign(&other),
            _ if round % 101 == 0 => entities.retain(|_, row| *row % 3 > 0),
            _ => {}
        }
        if rng.chance(0.5) {
            assert_eq!(root(&mut entities), root(&mut fresh(&entities)));
        }
    }
    assert!(entities.len() > 200);
}

#[test]
fn ids_travel() {
    for id in [EntityId::fixed(0), EntityId::fixed(0xff_ffff)]
        .into_iter()
        .chain([1, 127, FIRST_FIXED - 1].map(|n| EntityId::from_number(n).unwrap()))
    {
        let bytes = samestep_wire::encode_to_vec(&id).unwrap();
        assert_eq!(samestep_wire::decode_exact(&bytes), Ok(id));
    }
    for bytes in [&[0, 0][..], &[1, 0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff; 6]] {
        assert!(samestep_wire::decode_exact::<EntityId>(bytes).is_err());
    }
}
