//! States described once: encoded, compared, repaired, and attacked.
#![allow(missing_docs)]

use samestep_sync::{
    ChecksumTree, DecodeError, Entities, EntityId, List, PlayerId, Record, Replicate, RestoreError,
    Rng, RowChunk, Table, Tick,
};

#[derive(Clone, Copy, PartialEq, Debug, Record)]
enum Order {
    Idle,
    Move { x: f32, y: f32 },
    Attack(EntityId),
    Wait(Option<Tick>, i16),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
enum Colour {
    Red,
    Green,
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Unit {
    #[field(range(0.0, 1024.0), precision = 0.01, blend = "linear")]
    position: (f32, f32),
    #[field(range(0, 100))]
    health: u8,
    owner: PlayerId,
    order: Order,
    colour: Colour,
    path: List<(u16, u16), 3>,
    target: Option<EntityId>,
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Tile(i8);

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Battle {
    units: Entities<Unit>,
    gold: [u32; 4],
    map: Map,
    rng: Rng,
    #[replicate(skip)]
    scratch: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Map {
    width: u16,
    tiles: Vec<Tile>,
}

fn unit(rng: &mut Rng, ids: &[EntityId]) -> Unit {
    let some_id = |rng: &mut Rng| match ids {
        [] => EntityId::fixed(rng.below(100)),
        _ => ids[rng.below(ids.len() as u32) as usize],
    };
    let mut path = List::new();
    for _ in 0..rng.below(4) {
        path.push((rng.next_u32() as u16, rng.below(9) as u16))
            .unwrap();
    }
    Unit {
        position: (rng.unit() * 1024.0, rng.unit() - 0.5),
        health: rng.below(101) as u8,
        owner: PlayerId(rng.below(8) as u16),
        order: match rng.below(5) {
            0 => Order::Idle,
            1 => Order::Move {
                x: rng.unit(),
                y: f32::from_bits(rng.next_u32()),
            },
            2 => Order::Attack(some_id(rng)),
            3 => Order::Wait(None, rng.range(-9..9) as i16),
            _ => Order::Wait(Some(Tick(rng.next_u64())), -1),
        },
        colour: [Colour::Red, Colour::Green][rng.below(2) as usize],
        path,
        target: rng.chance(0.5).then(|| some_id(rng)),
    }
}

fn battle(seed: u64, units: usize) -> Battle {
    let mut rng = Rng::new(seed);
    let mut battle = Battle {
        units: Entities::new(),
        gold: [1, 2, 3, u32::MAX],
        map: Map {
            width: 10,
            tiles: (0..100).map(|_| Tile(rng.range(-3..4) as i8)).collect(),
        },
        rng,
        scratch: vec!["not part of it".into()],
    };
    for n in 0..units {
        let unit = unit(&mut rng, battle.units.ids());
        match rng.below(10) {
            0 => {
                battle.units.insert_fixed(EntityId::fixed(n as u32), unit);
            }
            _ => {
                battle.units.insert(unit);
            }
        }
        if rng.chance(0.1) {
            let ids = battle.units.ids();
            battle
                .units
                .remove(ids[rng.below(ids.len() as u32) as usize]);
        }
    }
    battle
}

fn table(battle: &Battle) -> Table {
    let mut table = Table::new(Battle::schema());
    battle.extract(&mut table);
    table
}

#[test]
fn a_state_comes_back_from_its_bytes() {
    for units in [0, 1, 2, 63, 64, 65, 300, 1000] {
        let mut original = battle(units as u64, units);
        let table = table(&original);
        let bytes = table.encode();
        let decoded = Table::decode(Battle::schema(), &bytes).unwrap();
        assert_eq!(decoded, table);
        let mut copy = Battle::from_table(&decoded).unwrap();
        assert_eq!(copy.checksum(), original.checksum());
        assert_eq!(copy.tree(), original.tree());
        assert!(copy.scratch.is_empty());
        copy.scratch.clone_from(&original.scratch);
        assert_eq!(copy.units.ids(), original.units.ids());
        // Both go on alike.
        let fresh = unit(&mut Rng::new(1), &[]);
        assert_eq!(copy.units.insert(fresh), original.units.insert(fresh));
        assert_eq!(copy.checksum(), original.checksum());
    }
}

#[test]
fn restoring_into_another_state_keeps_what_is_skipped() {
    let mut original = battle(1, 300);
    let mut other = battle(2, 500);
    other.checksum();
    other.restore(&table(&original)).unwrap();
    assert_eq!(other.checksum(), original.checksum());
    assert_eq!(other.scratch, ["not part of it"]);
    let mut third = battle(3, 100);
    third.checksum();
    third.assign(&original);
    assert_eq!(third.checksum(), original.checksum());
}

#[test]
fn names_say_the_way_to_a_cell() {
    let schema = Battle::schema();
    let kinds: Vec<_> = schema.kinds().iter().map(|k| k.name.as_str()).collect();
    assert_eq!(kinds, ["globals", "units", "map.tiles"]);
    let names = |kind: usize| -> Vec<String> {
        let fields = schema.kinds()[kind].fields.iter();
        fields.map(|field| field.name.clone()).collect()
    };
    assert_eq!(
        names(0),
        [
            "gold.0",
            "gold.1",
            "gold.2",
            "gold.3",
            "map.width",
            "rng.state"
        ]
    );
    assert_eq!(names(2), [""]);
    assert_eq!(
        names(1)[..12],
        [
            "position.0",
            "position.1",
            "health",
            "owner",
            "order",
            "order.Move.x",
            "order.Move.y",
            "order.Attack",
            "order.Wait.0",
            "order.Wait.0.0",
            "order.Wait.1",
            "colour"
        ]
    );
    let position = &schema.kinds()[1].fields[0].shown;
    assert_eq!(position.range, Some((0.0, 1024.0)));
    assert_eq!(position.precision, Some(0.01));
}

#[test]
fn every_cell_bears_on_the_check_value() {
    let original = battle(4, 130);
    let table = table(&original);
    let expected = original.clone().checksum();
    let mut seen = std::collections::BTreeSet::new();
    // Changed here and there through the typed state, because a table has no checksum of its own.
    for n in (0..original.units.len()).step_by(3) {
        let id = original.units.ids()[n];
        for change in 0..8 {
            let mut copy = original.clone();
            assert_eq!(copy.checksum(), expected);
            let unit = copy.units.get_mut(id).unwrap();
            match change {
                0 => unit.position.0 += 1.0,
                1 => unit.position.1 = -unit.position.1,
                2 => unit.health ^= 1,
                3 => unit.owner.0 += 1,
                4 => unit.order = Order::Attack(EntityId::fixed(9999)),
                5 => unit.colour = [Colour::Green, Colour::Red][unit.colour as usize],
                6 if unit.path.pop().is_none() => continue,
                6 => {}
                _ => unit.target = Some(EntityId::fixed(7777)),
            }
            let checksum = copy.checksum();
            assert_ne!(checksum, expected, "change {change} of row {n}");
            assert!(seen.insert(checksum), "change {change} of row {n}");
            let chunks = original.clone().tree().differing(&copy.tree());
            let index = (n / 64) as u32;
            assert_eq!(chunks, [RowChunk { kind: 1, index }]);
            let mut other = Table::new(Battle::schema());
            copy.extract(&mut other);
            let difference = table.first_difference(&other).unwrap();
            assert_eq!(difference.entity, Some(id));
            assert_eq!(table.differences(&other, 99).len(), {
                let cells = table.row(1, n).unwrap().cells.iter();
                let others = other.row(1, n).unwrap().cells;
                cells.zip(others).filter(|(a, b)| a != b).count()
            });
        }
    }
}

#[test]
fn order_counters_lists_and_globals_bear_on_it_too() {
    let original = battle(5, 200);
    let expected = original.clone().checksum();
    type Change = fn(&mut Battle);
    let changes: [(u16, Change); 5] = [
        (1, |b| {
            let id = b.units.insert(unit(&mut Rng::new(1), &[]));
            b.units.remove(id);
        }),
        (1, |b| {
            let id = b.units.ids()[3];
            let moved = b.units.remove(id).unwrap();
            b.units.insert_fixed(id, moved);
        }),
        (2, |b| b.map.tiles.swap(1, 0)),
        (2, |b| b.map.tiles.truncate(99)),
        (0, |b| b.rng = Rng::new(9)),
    ];
    for (kind, change) in changes {
        let mut copy = original.clone();
        if kind == 2 {
            copy.map.tiles[1] = Tile(100);
        }
        change(&mut copy);
        assert_ne!(copy.checksum(), expected);
        let chunks = original.clone().tree().differing(&copy.tree());
        assert!(!chunks.is_empty() && chunks.iter().all(|chunk| chunk.kind == kind));
        assert!(table(&original).first_difference(&table(&copy)).is_some());
        // What differs is enough to repair it.
        let mut repaired = table(&copy);
        let bytes = table(&original).encode_chunks(&chunks);
        assert_eq!(repaired.apply_chunks(&bytes), Ok(chunks));
        assert_eq!(repaired, table(&original));
        copy.restore(&repaired).unwrap();
        assert_eq!(copy.checksum(), expected);
    }
}

#[test]
fn chunks_repair_states_of_other_sizes() {
    let sizes = [0, 1, 64, 100, 128, 129, 500];
    for ours in sizes {
        for theirs in sizes {
            let (mut ours, mut theirs) = (battle(6, ours), battle(7, theirs));
            let chunks = ours.tree().differing(&theirs.tree());
            let bytes = table(&ours).encode_chunks(&chunks);
            let mut repaired = table(&theirs);
            repaired.apply_chunks(&bytes).unwrap();
            assert_eq!(repaired, table(&ours));
        }
    }
    let (mut same, table) = (battle(6, 10), table(&battle(6, 10)));
    assert!(same.tree().differing(&battle(6, 10).tree()).is_empty());
    assert!(table.encode_chunks(&[]).is_empty());
    let nowhere = RowChunk {
        kind: 99,
        index: u32::MAX,
    };
    assert!(table.encode_chunks(&[nowhere]).is_empty());
}

#[test]
fn a_difference_reads_like_a_sentence() {
    let original = battle(8, 50);
    let id = original.units.ids()[20];
    let said = |change: fn(&mut Battle)| {
        let mut copy = original.clone();
        change(&mut copy);
        let difference = table(&original).first_difference(&table(&copy)).unwrap();
        difference.to_string()
    };
    let health = original.units[id].health;
    assert_eq!(
        said(|b| b.units.row_mut(20).unwrap().health = 255),
        format!("units, {id}, health: {health} here, 255 there")
    );
    assert_eq!(said(|b| b.gold[2] = 0), "globals, gold.2: 3 here, 0 there");
    assert_eq!(
        said(|b| b.map.tiles[7] = Tile(-128)),
        format!("map.tiles, 7: {} here, -128 there", original.map.tiles[7].0)
    );
    let last = *original.units.ids().last().unwrap();
    assert_eq!(
        said(|b| {
            b.units.remove(*b.units.ids().last().unwrap());
        }),
        format!("units, {last}: is there here, is not there there")
    );
}

#[test]
fn trees_travel() {
    let mut state = battle(9, 300);
    let tree = state.tree();
    assert_eq!(tree.root(), state.checksum());
    let bytes = tree.encode();
    assert_eq!(ChecksumTree::decode(&bytes), Ok(tree));
    for len in 0..bytes.len() {
        assert!(ChecksumTree::decode(&bytes[..len]).is_err());
    }
    let mut rng = Rng::new(1);
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(damaged.len() as u32) as usize;
            damaged[at] ^= 1 << rng.below(8);
        }
        if let Ok(tree) = ChecksumTree::decode(&damaged) {
            tree.differing(&state.tree());
            state.tree().differing(&tree);
            tree.root();
        }
    }
}

#[test]
fn hostile_bytes_are_refused_or_are_another_state() {
    let original = battle(10, 200);
    let whole = table(&original).encode();
    let all: Vec<_> = (0..4)
        .flat_map(|kind| (0..5).map(move |index| RowChunk { kind, index }))
        .collect();
    let chunks = table(&original).encode_chunks(&all);
    let mut rng = Rng::new(2);
    let mut state = battle(11, 80);
    let mut attack = |bytes: &[u8], is_whole: bool| {
        let mut attacked = table(&state);
        let result = match is_whole {
            true => Table::decode(Battle::schema(), bytes).map(|table| attacked = table),
            false => attacked.apply_chunks(bytes).map(drop),
        };
        if result.is_ok() && state.restore(&attacked).is_ok() {
            // What is accepted is a state like any other.
            state.checksum();
            assert_eq!(table(&state).encode(), attacked.encode());
            state.units.insert(unit(&mut Rng::new(3), &[]));
        }
        result
    };
    for (bytes, is_whole) in [(&whole, true), (&chunks, false)] {
        for len in 0..bytes.len() {
            let result = attack(&bytes[..len], is_whole);
            assert!(result.is_err() || !is_whole);
        }
        for _ in 0..5_000 {
            let mut damaged = bytes.clone();
            for _ in 0..=rng.below(4) {
                let at = rng.below(damaged.len() as u32) as usize;
                damaged[at] = match rng.below(3) {
                    0 => rng.next_u32() as u8,
                    1 => 0xff,
                    _ => damaged[at] ^ 1 << rng.below(8),
                };
            }
            let _ = attack(&damaged, is_whole);
        }
        for _ in 0..5_000 {
            let len = rng.below(60) as usize;
            let noise: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
            let _ = attack(&noise, is_whole);
        }
    }
}

#[test]
fn huge_counts_are_refused_before_anything_is_allocated() {
    let mut bytes = table(&battle(12, 0)).encode();
    // The last kind's rows: none of the tiles the count claims are there.
    let schema = Battle::schema();
    for count in [200u64, 1 << 20, 1 << 24, 1 << 40, u64::MAX] {
        bytes.truncate(20);
        let mut claimed = count;
        while claimed >= 0x80 {
            bytes.push(claimed as u8 | 0x80);
            claimed >>= 7;
        }
        bytes.push(claimed as u8);
        assert!(Table::decode(schema.clone(), &bytes).is_err());
        let mut chunks = vec![1];
        chunks.extend_from_slice(&bytes[20..]);
        chunks.extend([1, 0, 0, 0]);
        let mut table = table(&battle(12, 0));
        assert!(table.apply_chunks(&chunks).is_err());
    }
}

#[test]
fn tables_of_other_games_are_refused() {
    #[derive(Clone, Debug, Replicate)]
    struct Other {
        gold: [u32; 4],
    }
    let mut other = Table::new(Other::schema());
    Other { gold: [0; 4] }.extract(&mut other);
    let mut state = battle(13, 10);
    assert_eq!(state.restore(&other), Err(RestoreError::OtherSchema));
    let error = Other::from_table(&table(&state)).unwrap_err();
    assert_eq!(error, RestoreError::OtherSchema);
    assert_eq!(
        Table::decode(Other::schema(), &table(&state).encode()),
        Err(DecodeError::Trailing)
    );
}

#[test]
fn an_entity_of_a_wide_unit_takes_few_bytes() {
    let original = battle(14, 2000);
    let bytes = table(&original).encode().len();
    // 32 + 27 bits of position, 7 + 3 + 3 + 1, and what orders and paths hold.
    let each = bytes as f64 / original.units.len() as f64;
    assert!(each < 30.0, "{each} bytes per unit");
}
