//! The vectors of WIRE.md about states, so that the page and the code cannot drift apart.
#![allow(missing_docs)]

use std::collections::BTreeMap;

use samestep_sync::{
    Entities, EntityId, Events, Input, Inputs, List, Opaque, OpaqueState, PlayerId, Record,
    Replicate, Rng, RowChunk, Simulation, Table, Tick, Wire, load_game, save_game,
};

#[derive(Clone, Debug, Default, PartialEq, Wire)]
struct Nothing;

impl Input for Nothing {
    fn predict(&self) -> Self {
        Nothing
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
enum Order {
    Idle,
    Move { x: f32, y: f32 },
    Attack(EntityId),
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Unit {
    position: (f32, f32),
    height: i16,
    owner: PlayerId,
    order: Order,
    path: List<u8, 2>,
    target: Option<EntityId>,
}

#[derive(Clone, PartialEq, Debug, Replicate)]
struct Battle {
    units: Entities<Unit>,
    tiles: Vec<i8>,
    gold: [u32; 2],
    rng: Rng,
}

impl Simulation for Battle {
    type Input = Nothing;
    type Event = ();
    const NAME: &'static str = "battle";

    fn step(&mut self, _: &Inputs<'_, Nothing>, _: &mut Events<()>) {}
}

fn battle() -> Battle {
    let mut units = Entities::new();
    let fort = EntityId::fixed(7);
    let mut path = List::new();
    units.insert_fixed(
        fort,
        Unit {
            position: (12.5, -0.25),
            height: -3,
            owner: PlayerId(1),
            order: Order::Idle,
            path,
            target: None,
        },
    );
    path.push(200).unwrap();
    for n in 0..4u8 {
        units.insert(Unit {
            position: (f32::from(n) * 1.1, 100.0 / 3.0),
            height: 20,
            owner: PlayerId(2),
            order: match n {
                0 => Order::Attack(fort),
                1 => Order::Move { x: 0.1, y: 1e9 },
                _ => Order::Idle,
            },
            path,
            target: (n == 3).then_some(fort),
        });
    }
    Battle {
        units,
        tiles: vec![-1, 0, 0, 0, 0, 5],
        gold: [1000, 3],
        rng: Rng::new(42),
    }
}

fn vector(name: &str) -> Vec<u8> {
    let page = include_str!("../../../WIRE.md");
    let line = page
        .lines()
        .find(|line| line.split('=').next().is_some_and(|n| n.trim() == name))
        .unwrap_or_else(|| panic!("WIRE.md has no vector `{name}`"));
    let hex = line.split(['=', '#']).nth(1).unwrap_or_default().trim();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[test]
fn tables() {
    let battle = battle();
    let mut table = Table::new(Battle::schema());
    battle.extract(&mut table);
    assert_eq!(table.encode(), vector("state.table"));
    let decoded = Table::decode(Battle::schema(), &vector("state.table")).unwrap();
    let mut restored = Battle {
        units: Entities::new(),
        tiles: Vec::new(),
        gold: [0; 2],
        rng: Rng::new(0),
    };
    restored.restore(&decoded).unwrap();
    assert_eq!(restored, battle);
    let chunks = [RowChunk { kind: 2, index: 0 }];
    assert_eq!(table.encode_chunks(&chunks), vector("state.chunks"));
}

#[test]
fn check_values() {
    let mut battle = battle();
    assert_eq!(battle.tree().encode(), vector("state.tree"));
    let check = battle.checksum().to_le_bytes();
    assert_eq!(check.to_vec(), vector("state.check"));
    let schema = Battle::schema().fingerprint().to_le_bytes();
    assert_eq!(schema.to_vec(), vector("state.schema"));
}

#[test]
fn save_games() {
    assert_eq!(save_game(&battle(), Tick(600)), vector("state.save"));
    let (loaded, tick) = load_game::<Battle>(&vector("state.save")).unwrap();
    assert_eq!((loaded, tick), (battle(), Tick(600)));
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Hero {
    #[field(max_len = 10)]
    name: String,
    #[field(max_len = 2)]
    bag: BTreeMap<u8, u16>,
}

#[derive(Clone, PartialEq, Debug)]
struct Bytes(Vec<u8>);

impl OpaqueState for Bytes {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        Ok(Bytes(bytes.to_vec()))
    }
}

#[derive(Clone, PartialEq, Debug, Replicate)]
struct Shapes {
    heroes: Entities<Hero>,
    motto: String,
    scores: BTreeMap<PlayerId, u32>,
    memory: Opaque<Bytes>,
}

#[test]
fn shapes() {
    let mut heroes = Entities::new();
    heroes.insert(Hero {
        name: "Ottilié".into(),
        bag: [(3, 300)].into(),
    });
    let mut shapes = Shapes {
        heroes,
        motto: "same step".into(),
        scores: [(PlayerId(1), 7), (PlayerId(4), 9)].into(),
        memory: Opaque::new(Bytes((1..12).collect())),
    };
    let mut table = Table::new(Shapes::schema());
    shapes.extract(&mut table);
    let chunks = table.encode_chunks(&[RowChunk { kind: 4, index: 0 }]);
    assert_eq!(table.encode(), vector("shapes.table"));
    let decoded = Table::decode(Shapes::schema(), &vector("shapes.table")).unwrap();
    assert_eq!(Shapes::from_table(&decoded).unwrap(), shapes);
    assert_eq!(chunks, vector("shapes.chunks"));
    assert_eq!(shapes.tree().encode(), vector("shapes.tree"));
}

#[test]
fn random_numbers() {
    let mut rng = Rng::new(42);
    assert_eq!(format!("{:016x}", rng.next_u64()), "989b3f130a063869");
    assert_eq!(
        format!("{:016x}", samestep_sync::random::hash(1, 2, 3)),
        "ef38963ba9a04a77"
    );
    assert_eq!(
        format!("{:08x}", samestep_sync::random::hash32(1, 2, 3)),
        "4d7f835a"
    );
}
