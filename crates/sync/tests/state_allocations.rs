//! Once memory is there, states are checked, saved and extracted without asking for more.
#![allow(missing_docs)]

use samestep_sync::{Entities, EntityId, List, Record, Replicate, Rng, Table};

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Unit {
    position: (f32, f32),
    target: Option<EntityId>,
    path: List<u16, 3>,
}

#[derive(Clone, Replicate)]
struct Battle {
    units: Entities<Unit>,
    tiles: Vec<u8>,
    gold: [u32; 4],
    rng: Rng,
}

fn unit(rng: &mut Rng) -> Unit {
    Unit {
        position: (rng.unit(), rng.unit()),
        target: EntityId::from_number(rng.below(9)),
        path: List::new(),
    }
}

#[test]
fn nothing_is_allocated_after_the_first_time() {
    let mut rng = Rng::new(1);
    let mut battle = Battle {
        units: Entities::new(),
        tiles: vec![0; 5000],
        gold: [0; 4],
        rng,
    };
    for _ in 0..5000 {
        battle.units.insert(unit(&mut rng));
    }
    let mut saved = battle.clone();
    let mut copy = battle.clone();
    let mut table = Table::new(Battle::schema());
    let mut use_it = || {
        for unit in battle.units.as_mut_slice() {
            unit.position.0 += 1.0;
        }
        battle.tiles[7] ^= 1;
        let checksum = battle.checksum();
        saved.assign(&battle);
        battle.extract(&mut table);
        copy.restore(&table).unwrap();
        assert_eq!(copy.checksum(), checksum);
        assert_eq!(saved.checksum(), checksum);
    };
    use_it();
    let allocations = allocation_counter::measure(|| {
        for _ in 0..10 {
            use_it();
        }
    });
    assert_eq!(allocations.count_total, 0);
}

#[test]
fn entities_come_and_go_within_their_capacity() {
    let mut rng = Rng::new(2);
    let mut units = Entities::with_capacity(2000);
    let allocations = allocation_counter::measure(|| {
        for _ in 0..200_000 {
            if units.len() < 1000 || units.len() < 2000 && rng.chance(0.5) {
                units.insert(unit(&mut rng));
            } else {
                let at = rng.below(units.len() as u32) as usize;
                let id = units.ids()[at];
                units.remove(id);
            }
        }
    });
    assert_eq!(allocations.count_total, 0);
}
