//! States as people have them: every shape of field goes there and back, is compared, and damaged bytes are refused.
#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use samestep_sync::{
    Bounded, ChecksumTree, Entities, EntityId, Events, FieldWith, Input, Inputs, Opaque,
    OpaqueState, PeerId, PlayerId, Publisher, PublisherConfig, Record, Replicate, RestoreError,
    Rng, RowChunk, Simulation, Store, Table, Text, Tick, Wire, load_game, save_game,
};

#[derive(Clone, PartialEq, Debug, Record)]
enum Gear {
    None,
    Sword(Box<Sharpness>),
    Bag {
        #[field(max_len = 4)]
        coins: Vec<u16>,
        #[field(max_len = 12)]
        label: String,
    },
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Sharpness {
    edge: i32,
    made_by: Option<PlayerId>,
}

/// Whole milliseconds.
struct Millis;

impl FieldWith<Duration> for Millis {
    type Record = u32;

    fn to_record(value: &Duration) -> u32 {
        value.as_millis() as u32
    }

    fn from_record(record: u32) -> Option<Duration> {
        (record < 1_000_000).then(|| Duration::from_millis(record.into()))
    }
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Hero {
    #[field(max_len = 20)]
    name: String,
    #[field(max_len = 9)]
    title: Option<String>,
    gear: Gear,
    #[field(max_len = 3)]
    items: BTreeMap<Text<8>, Item>,
    #[field(max_len = 5)]
    seen: BTreeSet<u8>,
    #[field(max_len = 2)]
    orders: VecDeque<(i8, i8)>,
    #[field(with = Bounded<2, Bounded<4>>)]
    tags: Vec<String>,
    #[field(max_len = 6)]
    pair: [String; 2],
    #[field(with = Millis)]
    rest: Duration,
    grid: [[u8; 2]; 2],
}

#[derive(Clone, PartialEq, Debug, Record)]
struct Item {
    count: u16,
    #[field(range(0.0, 9.0), precision = 0.5)]
    weight: f32,
}

/// A library's memory.
#[derive(Clone, PartialEq, Debug, Default)]
struct Memory(Vec<u8>);

impl OpaqueState for Memory {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        match bytes.first() {
            Some(255) => Err("it begins with 255".into()),
            _ => Ok(Memory(bytes.to_vec())),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default, Replicate)]
struct Realm {
    heroes: Entities<Hero>,
    motto: String,
    scores: BTreeMap<PlayerId, Item>,
    names: BTreeMap<(u8, Text<10>), Text<16>>,
    banned: BTreeSet<u32>,
    news: VecDeque<Text<24>>,
    #[field(max_len = 30)]
    note: Option<String>,
    #[field(with = Millis)]
    time: Duration,
    memory: Opaque<Memory>,
    ruler: Option<Box<PlayerId>>,
    rows: Vec<[i16; 2]>,
}

fn text(rng: &mut Rng, most: u32) -> String {
    let mut text = String::new();
    while text.len() < rng.below(most + 1) as usize {
        let c = ['a', 'ß', '€', '🦊', ' ', '\0'][rng.below(6) as usize];
        if text.len() + c.len_utf8() <= most as usize {
            text.push(c);
        }
    }
    text
}

fn item(rng: &mut Rng) -> Item {
    Item {
        count: rng.next_u32() as u16,
        weight: rng.below(19) as f32 * 0.5,
    }
}

fn hero(rng: &mut Rng) -> Hero {
    Hero {
        name: text(rng, 20),
        title: rng.chance(0.5).then(|| text(rng, 9)),
        gear: match rng.below(3) {
            0 => Gear::None,
            1 => Gear::Sword(Box::new(Sharpness {
                edge: rng.range(-9..9),
                made_by: rng.chance(0.5).then_some(PlayerId(4)),
            })),
            _ => Gear::Bag {
                coins: (0..rng.below(5)).map(|_| rng.next_u32() as u16).collect(),
                label: text(rng, 12),
            },
        },
        items: (0..rng.below(4))
            .map(|_| (Text::new(&text(rng, 8)), item(rng)))
            .collect(),
        seen: (0..rng.below(6)).map(|_| rng.below(9) as u8).collect(),
        orders: (0..rng.below(3))
            .map(|_| (rng.range(-9..9) as i8, 1))
            .collect(),
        tags: (0..rng.below(3)).map(|_| text(rng, 4)).collect(),
        pair: [text(rng, 6), text(rng, 6)],
        rest: Duration::from_millis(rng.below(1000).into()),
        grid: [[rng.below(3) as u8; 2]; 2],
    }
}

fn realm(seed: u64) -> Realm {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let mut realm = Realm::default();
    for _ in 0..rng.below(130) {
        let hero = hero(rng);
        realm.heroes.insert(hero);
    }
    realm.motto = text(rng, 2000);
    realm.scores = (0..rng.below(200))
        .map(|_| (PlayerId(rng.below(300) as u16), item(rng)))
        .collect();
    realm.names = (0..rng.below(9))
        .map(|_| {
            let key = (rng.below(3) as u8, Text::new(&text(rng, 10)));
            (key, Text::new(&text(rng, 16)))
        })
        .collect();
    realm.banned = (0..rng.below(99)).map(|_| rng.next_u32()).collect();
    realm.news = (0..rng.below(9))
        .map(|_| Text::new(&text(rng, 24)))
        .collect();
    realm.note = rng.chance(0.5).then(|| text(rng, 30));
    realm.time = Duration::from_millis(rng.below(999).into());
    realm.memory.0 = (0..rng.below(9000)).map(|_| rng.below(200) as u8).collect();
    realm.ruler = rng
        .chance(0.5)
        .then(|| Box::new(PlayerId(rng.below(9) as u16)));
    realm.rows = (0..rng.below(9)).map(|n| [n as i16, -1]).collect();
    realm
}

/// Changes one thing, and says what a difference should begin with.
fn change(realm: &mut Realm, rng: &mut Rng) -> String {
    let first = realm.heroes.ids().first().copied();
    let player = realm.scores.keys().next().copied();
    loop {
        match (rng.below(9), first, player) {
            (0, Some(id), _) => {
                let hero = realm.heroes.get_mut(id).unwrap();
                let is_full = hero.name.len() == 20;
                if is_full {
                    hero.name.clear();
                } else {
                    hero.name.push('x');
                }
                return format!("heroes, {id}, name: \"");
            }
            (1, Some(id), _) => {
                let hero = realm.heroes.get_mut(id).unwrap();
                let Some((key, item)) = hero.items.iter_mut().next() else {
                    continue;
                };
                item.count ^= 1;
                return format!("heroes, {id}, items[{key:?}].count: ");
            }
            (2, _, Some(player)) => {
                realm.scores.get_mut(&player).unwrap().count ^= 4;
                return format!("scores, [{player}].count: ");
            }
            (3, _, Some(player)) => {
                realm.scores.remove(&player);
                return format!("scores, [{player}]: is not there here, is there there");
            }
            (4, ..) => {
                realm.motto.push('!');
                return "motto, text: \"".into();
            }
            (5, ..) if !realm.memory.0.is_empty() => {
                let at = rng.below(realm.memory.0.len() as u32) as usize;
                realm.memory.0[at] ^= 1;
                return format!("memory, bytes from {}: [", at / 8 * 8);
            }
            (6, ..) => {
                realm.time += Duration::from_millis(1);
                return "globals, time: ".into();
            }
            (7, ..) => {
                realm.note = match realm.note {
                    Some(_) => None,
                    None => Some("boo".into()),
                };
                return "globals, note: ".into();
            }
            (8, ..) => {
                let new = rng.next_u32();
                if realm.banned.insert(new) {
                    return format!("banned, [{new}]: is there here, is not there there");
                }
            }
            _ => {}
        }
    }
}

fn table(realm: &Realm) -> Table {
    let mut table = Table::new(Realm::schema());
    realm.extract(&mut table);
    table
}

#[test]
fn every_shape_goes_there_and_back() {
    for seed in 0..40 {
        let mut realm = realm(seed);
        let bytes = table(&realm).encode();
        let decoded = Table::decode(Realm::schema(), &bytes).unwrap();
        let mut copy = Realm::from_table(&decoded).unwrap();
        assert_eq!(copy, realm, "seed {seed}");
        assert_eq!(copy.checksum(), realm.checksum());
        assert_eq!(copy.tree().root(), realm.checksum());
        let mut other = self::realm(seed + 100);
        other.restore(&decoded).unwrap();
        assert_eq!(other, realm);
        let mut assigned = self::realm(seed + 200);
        assigned.assign(&realm);
        assert_eq!(assigned, realm);
        assert_eq!(assigned.checksum(), realm.checksum());
    }
}

#[test]
fn a_change_is_found_named_and_repaired() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut right = realm(seed % 20);
        let mut wrong = right.clone();
        let name = change(&mut wrong, &mut rng);
        assert_ne!(right.checksum(), wrong.checksum(), "seed {seed}: {name}");
        let differences = table(&wrong).differences(&table(&right), 9);
        let words = differences[0].to_string();
        assert!(words.starts_with(&name), "seed {seed}: {words}, not {name}");

        let told = ChecksumTree::decode(&right.tree().encode()).unwrap();
        let chunks = told.differing(&wrong.tree());
        let repair = table(&right).encode_chunks(&chunks);
        assert!(repair.len() < 300 + table(&right).encode().len());
        let mut repaired = table(&wrong);
        repaired.apply_chunks(&repair).unwrap();
        wrong.restore(&repaired).unwrap();
        assert_eq!(wrong, right, "seed {seed}: {name}");
    }
}

#[test]
fn a_stream_of_changes_ends_in_the_same_state() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut truth = realm(seed);
        let mut publisher = Publisher::new(&Realm::schema(), PublisherConfig::default());
        publisher.join(PeerId(1));
        let mut store = Store::new(Realm::schema());
        let mut shown = Table::new(Realm::schema());
        let mut client = Realm::default();
        let mut parts = Vec::new();
        let mut whole = 0;
        for tick in 0..60 {
            change(&mut truth, &mut rng);
            publisher.publish(Tick(tick), &table(&truth));
            parts.clear();
            publisher.write(PeerId(1), None, None, &mut parts);
            let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
            whole = whole.max(bytes);
            for part in &parts {
                // The last ticks arrive.
                if tick >= 57 || rng.chance(0.7) {
                    let part = store.handle(&part.bytes).unwrap();
                    publisher.acknowledge(PeerId(1), part.number, 0);
                }
            }
            store.sample(tick as f64, Default::default(), 0.0, &mut shown);
            // What is older in places is a state all the same.
            client.restore_streamed(&shown).unwrap();
        }
        assert_eq!(client, truth, "seed {seed}");
        let last: usize = parts.iter().map(|part| part.bytes.len()).sum();
        assert!(last * 4 < whole.max(8000), "seed {seed}: {last} of {whole}");
    }
}

#[test]
fn an_opaque_part_that_is_not_all_there_stays_as_it_is() {
    let mut realm = realm(3);
    realm.memory = Opaque::new(Memory(vec![7; 500]));
    let mut client = realm.clone();
    realm.memory.0 = vec![8; 500];
    let (before, mut torn) = (table(&client), table(&realm));
    let memory = Realm::schema()
        .kinds()
        .iter()
        .position(|kind| kind.name == "memory")
        .unwrap() as u16;
    // The last row is still the old one.
    let rows = before.len(memory);
    let bytes = before.encode_chunks(&[RowChunk {
        kind: memory,
        index: 0,
    }]);
    assert_eq!(rows, 9);
    torn.apply_chunks(&bytes).unwrap();
    assert_eq!(Realm::from_table(&torn).unwrap().memory, client.memory);

    let short = Table::new(Realm::schema());
    assert!(matches!(
        client.clone().restore(&short),
        Err(RestoreError::Unreadable { .. })
    ));
    let was = client.memory.clone();
    client.restore_streamed(&short).unwrap();
    assert_eq!(client.memory, was);
}

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Nothing;

impl Input for Nothing {
    fn predict(&self) -> Self {
        Nothing
    }
}

impl Simulation for Realm {
    type Input = Nothing;
    type Event = ();
    const NAME: &'static str = "realm";

    fn step(&mut self, _: &Inputs<'_, Nothing>, _: &mut Events<()>) {}
}

#[test]
fn save_games_have_every_shape() {
    for seed in 0..20 {
        let realm = realm(seed);
        let bytes = save_game(&realm, Tick(7));
        let (loaded, tick) = load_game::<Realm>(&bytes).unwrap();
        assert_eq!((loaded, tick), (realm, Tick(7)));
    }
}

#[test]
fn damaged_bytes_are_refused_or_another_state() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let mut bytes = table(&realm(seed % 10)).encode();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len() as u32) as usize;
            bytes[at] = rng.next_u32() as u8;
        }
        let Ok(table) = Table::decode(Realm::schema(), &bytes) else {
            continue;
        };
        if let Ok(mut state) = Realm::from_table(&table) {
            state.checksum();
            let mut again = Table::new(Realm::schema());
            state.extract(&mut again);
            assert_eq!(Realm::from_table(&again).unwrap(), state);
        }
        let _ = Realm::default().restore_streamed(&table);
    }
}

#[test]
fn a_hostile_length_does_not_allocate() {
    #[derive(Clone, Default, Replicate)]
    #[allow(dead_code)]
    struct Motto {
        motto: String,
        memory: Opaque<Memory>,
        scores: BTreeMap<u16, u16>,
    }
    // So many rows of text as there may be cells, and no bytes for them.
    let bytes = [0xff, 0xff, 0xff, 0x07, 0];
    let info = allocation_counter::measure(|| {
        assert!(Table::decode(Motto::schema(), &bytes).is_err());
    });
    assert!(info.bytes_max < 100_000, "{}", info.bytes_max);
}

#[test]
#[should_panic(expected = "`max_len = 20` holds 21")]
fn a_text_that_is_too_long_is_a_mistake_of_the_rules() {
    let mut realm = realm(1);
    let id = realm.heroes.ids()[0];
    realm.heroes.get_mut(id).unwrap().name = "x".repeat(21);
    realm.checksum();
}

#[test]
#[should_panic(expected = "`max_len = 3` holds 4")]
fn a_map_that_is_too_long_is_a_mistake_of_the_rules() {
    let mut realm = realm(1);
    let id = realm.heroes.ids()[0];
    let items = &mut realm.heroes.get_mut(id).unwrap().items;
    for key in ["a", "b", "c", "d"] {
        items.insert(
            Text::new(key),
            Item {
                count: 1,
                weight: 0.0,
            },
        );
    }
    items.retain(|key, _| ["a", "b", "c", "d"].contains(&key.as_str()));
    realm.checksum();
}

#[test]
fn widths_keys_and_versions_are_part_of_the_layout() {
    macro_rules! hash_of {
        ($($type:ty)*) => {[$({
            #[derive(Clone, Replicate)]
            struct State {
                #[allow(dead_code)]
                value: $type,
            }
            State::schema().layout_hash()
        }),*]};
    }
    #[derive(Clone)]
    struct V2;
    impl OpaqueState for V2 {
        const VERSION: u32 = 2;
        fn encode(&self, _: &mut Vec<u8>) {}
        fn decode(_: &[u8]) -> Result<Self, String> {
            Ok(V2)
        }
    }
    let mut hashes =
        hash_of!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 char bool Text<7> Text<8> Text<9> String
        Vec<u8> Vec<u16> BTreeSet<u8> BTreeMap<u8, u8> Vec<(u8, u8)> Option<u8> Option<u16>
        [u8; 2] [u8; 3] Opaque<Memory> Opaque<V2> EntityId PlayerId PeerId Tick)
        .to_vec();
    let all = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), all);
    // A box is what is in it, and a queue a list.
    let [boxed, plain, queue, list] = hash_of!(Box<u8> u8 VecDeque<u8> Vec<u8>);
    assert_eq!((boxed, queue), (plain, list));
}

#[test]
fn an_opaque_part_is_copied_when_it_is_changed() {
    let mut memory: Opaque<Memory> = Opaque::new(Memory(vec![1; 100_000]));
    let mut saved = memory.clone();
    let info = allocation_counter::measure(|| saved = memory.clone());
    assert_eq!(info.bytes_total, 0);
    memory.0[5] = 2;
    assert_eq!((saved.0[5], memory.0[5]), (1, 2));
}

#[test]
fn the_vectors_of_glam_are_records() {
    use glam::{DVec3, IVec2, Quat, UVec4, Vec2, Vec3};

    #[derive(Clone, PartialEq, Debug, Record)]
    struct Body {
        #[field(range(-100.0, 100.0), precision = 0.01, blend = "linear")]
        at: Vec2,
        turn: Quat,
        cell: IVec2,
        far: DVec3,
        mask: UVec4,
    }

    #[derive(Clone, PartialEq, Debug, Default, Replicate)]
    struct Sky {
        bodies: Entities<Body>,
        path: Vec<Vec3>,
        marks: BTreeMap<u8, Vec2>,
    }

    let mut sky = Sky::default();
    let id = sky.bodies.insert(Body {
        at: Vec2::new(1.5, -0.0),
        turn: Quat::from_rotation_z(1.0),
        cell: IVec2::new(-3, 4),
        far: DVec3::new(1e300, f64::MIN_POSITIVE, -1.0),
        mask: UVec4::new(0, 1, 2, u32::MAX),
    });
    sky.path.push(Vec3::new(1.0, 2.0, 3.0));
    sky.marks.insert(3, Vec2::ONE);
    let mut table = Table::new(Sky::schema());
    sky.extract(&mut table);
    assert_eq!(Sky::from_table(&table).unwrap(), sky);
    let names: Vec<_> = table.schema().kinds()[1]
        .fields
        .iter()
        .map(|field| &*field.name)
        .collect();
    assert_eq!(
        names[..6],
        ["at.x", "at.y", "turn.x", "turn.y", "turn.z", "turn.w"]
    );

    let mut other = sky.clone();
    other.bodies.get_mut(id).unwrap().at.y = 0.25;
    assert_ne!(other.checksum(), sky.checksum());
    let mut theirs = Table::new(Sky::schema());
    other.extract(&mut theirs);
    let difference = table.first_difference(&theirs).unwrap();
    assert_eq!(
        difference.to_string(),
        "bodies, entity 1, at.y: -0 here, 0.25 there"
    );
}

#[test]
fn serde_makes_the_bytes_of_an_opaque_part() {
    use samestep_sync::Serde;

    #[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
    struct Script {
        stack: Vec<Option<String>>,
        globals: BTreeMap<String, f64>,
    }

    #[derive(Clone, PartialEq, Debug, Default, Replicate)]
    struct Machine {
        script: Opaque<Script, Serde>,
    }

    let mut machine = Machine::default();
    machine.script.stack.push(Some("go".into()));
    machine.script.globals.insert("x".into(), -1.5);
    let mut table = Table::new(Machine::schema());
    machine.extract(&mut table);
    let bytes = table.encode();
    let table = Table::decode(Machine::schema(), &bytes).unwrap();
    let mut copy = Machine::from_table(&table).unwrap();
    assert_eq!(copy, machine);
    assert_eq!(copy.checksum(), machine.checksum());
    copy.script.stack.push(None);
    assert_ne!(copy.checksum(), machine.checksum());
    assert!(
        <Serde as samestep_sync::OpaqueCodec<Script>>::decode(&[255, 255, 255, 255, 15, 1])
            .is_err()
    );
}
