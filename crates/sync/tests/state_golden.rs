//! The bytes of states, pinned: what WIRE.md says about them.
#![allow(missing_docs)]

use samestep_sync::{
    Chunk, Entities, EntityId, Events, Input, Inputs, List, PlayerId, Record, Replicate, Rng,
    Simulation, Table, Tick, Wire, save_game,
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn tables() {
    let battle = battle();
    let mut table = Table::new(Battle::schema());
    battle.extract(&mut table);
    assert_eq!(
        hex(&table.encode()),
        "403fc00044d99347fb89f5594f03000505a3434040fc87008101024463003e0000005210000000d0ccccf86b666600d2cc4c0159ad5a09491000080848bf409480020a04040440006080e6cc59f701a05ae7ce13e0101010ff81010100400e200044000e0101f11f00060a0018044001"
    );
    let chunks = [Chunk { kind: 2, index: 0 }];
    assert_eq!(hex(&table.encode_chunks(&chunks)), "020601000a0018044001");
}

#[test]
fn check_values() {
    let mut battle = battle();
    assert_eq!(
        hex(&battle.tree().encode()),
        "030100dc0bcdd89afb64ff05052b6106c19bee4a3d06003506ce5ff356435c"
    );
    assert_eq!(format!("{:016x}", battle.checksum()), "8cd5ecda306fa92b");
    assert_eq!(
        format!("{:016x}", Battle::schema().fingerprint()),
        "4ce29f13033e4d27"
    );
}

#[test]
fn save_games() {
    assert_eq!(
        hex(&save_game(&battle(), Tick(600))),
        "5353473106626174746c6501d804274d3e03139fe24c403fc00044d99347fb89f5594f03000505a3434040fc87008101024463003e0000005210000000d0ccccf86b666600d2cc4c0159ad5a09491000080848bf409480020a04040440006080e6cc59f701a05ae7ce13e0101010ff81010100400e200044000e0101f11f00060a001804400198890fe4a2698ae7"
    );
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
