//! States from arbitrary bytes, whole, in chunks and as save games: what is accepted is a state like any other, which comes
//! back from its own encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use samestep_sync::{
    Entities, EntityId, Events, Input, Inputs, List, PlayerId, Record, Replicate, Rng, Simulation,
    Table, Tick, ChecksumTree, Wire, load_game, save_game,
};

#[derive(Clone, Copy, PartialEq, Debug, Record)]
enum Order {
    Idle,
    Move { x: f32, y: f64 },
    Attack(EntityId),
    Wait(Option<Tick>, i16),
}

#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Unit {
    position: (f32, f32),
    health: u8,
    owner: PlayerId,
    order: Order,
    path: List<(u16, bool), 3>,
    target: Option<EntityId>,
}

#[derive(Clone, Debug, Replicate)]
struct Battle {
    units: Entities<Unit>,
    marks: Entities<()>,
    tiles: Vec<i8>,
    gold: [u32; 4],
    rng: Rng,
    #[replicate(skip)]
    scratch: Vec<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Wire)]
struct Nothing;

impl Input for Nothing {
    fn predict(&self) -> Self {
        Nothing
    }
}

impl Simulation for Battle {
    type Input = Nothing;
    type Event = ();
    const NAME: &'static str = "battle";

    fn step(&mut self, _: &Inputs<'_, Nothing>, _: &mut Events<()>) {}
}

fn battle(units: u8) -> Battle {
    let mut rng = Rng::new(u64::from(units));
    let mut battle = Battle {
        units: Entities::new(),
        marks: Entities::new(),
        tiles: vec![1; 70],
        gold: [3; 4],
        rng,
        scratch: Vec::new(),
    };
    for _ in 0..units {
        let id = battle.marks.insert(());
        battle.units.insert(Unit {
            position: (rng.unit(), 1.0),
            health: rng.below(100) as u8,
            owner: PlayerId(1),
            order: [Order::Idle, Order::Attack(id)][rng.below(2) as usize],
            path: List::new(),
            target: rng.chance(0.5).then_some(id),
        });
    }
    battle
}

fn table_of(state: &Battle) -> Table {
    let mut table = Table::new(Battle::schema());
    state.extract(&mut table);
    table
}

/// What a table holds is either refused or a state that lives on.
fn check(table: &Table) {
    let again = Table::decode(Battle::schema(), &table.encode()).expect("an encoding decodes");
    assert_eq!(&again, table);
    let Ok(mut state) = Battle::from_table(table) else {
        return;
    };
    assert_eq!(&table_of(&state), table);
    let tree = state.tree();
    assert_eq!(tree.root(), state.checksum());
    assert!(tree.differing(&state.tree()).is_empty());
    let id = state.marks.insert(());
    assert!(state.marks.contains(id));
    state.units.remove(id);
    let (mut loaded, tick) = load_game::<Battle>(&save_game(&state, Tick(5))).expect("just saved");
    assert_eq!((loaded.checksum(), tick), (state.checksum(), Tick(5)));
}

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (what, units, bytes) = input;
    match what % 4 {
        0 => {
            if let Ok(table) = Table::decode(Battle::schema(), bytes) {
                check(&table);
            }
        }
        1 => {
            let mut state = battle(units);
            let before = table_of(&state);
            let mut table = before.clone();
            match table.apply_chunks(bytes) {
                Ok(chunks) => {
                    check(&table);
                    // The same chunks of the one make the other the same.
                    let mut other = before.clone();
                    other
                        .apply_chunks(&table.encode_chunks(&chunks))
                        .expect("just applied");
                    assert_eq!(other, table);
                    let _ = before.differences(&table, 3);
                    let _ = state.restore(&table);
                }
                Err(_) => assert_eq!(table, before),
            }
        }
        2 => {
            if let Ok(tree) = ChecksumTree::decode(bytes) {
                assert_eq!(ChecksumTree::decode(&tree.encode()), Ok(tree.clone()));
                let mut state = battle(units);
                let _ = tree.differing(&state.tree());
                let chunks = state.tree().differing(&tree);
                let mut table = table_of(&state);
                let bytes = table.encode_chunks(&chunks);
                table.apply_chunks(&bytes).expect("its own chunks");
                assert_eq!(table, table_of(&state));
            }
        }
        _ => {
            let _ = load_game::<Battle>(bytes);
        }
    }
});
