//! Types that between them use every kind of encoding, and random values of them.

use samestep_wire::Wire;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Of any magnitude.
    pub fn wide(&mut self) -> u64 {
        let shift = self.below(64);
        self.next() >> shift
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn list<T>(&mut self, max_len: u64, mut element: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let len = self.below(max_len + 1);
        (0..len).map(|_| element(self)).collect()
    }

    pub fn text(&mut self, max_len: usize) -> String {
        let mut text = String::new();
        for _ in 0..self.below(max_len as u64 + 1) {
            let next = ['a', 'Z', ' ', 'ß', '龍', '🎲'][self.below(6) as usize];
            if text.len() + next.len_utf8() <= max_len {
                text.push(next);
            }
        }
        text
    }
}

/// A random value, and a random change of one, as a tick would make it.
pub trait Sample: Wire + std::fmt::Debug {
    fn sample(random: &mut Random) -> Self;
    fn change(&mut self, random: &mut Random);
}

#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Scalars {
    pub flag: bool,
    pub letter: char,
    pub a: u8,
    pub b: i16,
    pub c: u32,
    pub d: i64,
    pub size: usize,
    #[wire(varint)]
    pub count: u64,
    #[wire(varint)]
    pub sum: i32,
    #[wire(range = 0..=100)]
    pub health: u8,
    #[wire(min = -1000, max = 1000)]
    pub score: i32,
    #[wire(range = i64::MIN..=i64::MAX)]
    pub any: i64,
    #[wire(range = 7..=7)]
    pub fixed: u16,
    #[wire(range = 1..=3)]
    pub tiny: u8,
}

#[derive(Clone, Debug, Wire)]
pub struct Floats {
    pub raw: f32,
    pub fine: f64,
    #[wire(min = -100.0, max = 100.0, precision = 0.01)]
    pub x: f32,
    #[wire(range = 0.0..=1e6, precision = 1e-6)]
    pub far: f64,
    #[wire(min = -100, max = 100, precision = 0.5)]
    pub position: [f32; 3],
    #[wire(range = 0.0..=1.0, precision = 0.1)]
    pub maybe: Option<f32>,
    #[wire(max_len = 5, range = -1.0..=1.0, precision = 0.001)]
    pub path: Vec<[f64; 2]>,
}

#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Lists {
    pub name: String,
    #[wire(max_len = 8)]
    pub short: String,
    pub bytes: Vec<u8>,
    #[wire(max_len = 10, range = -5..=5)]
    pub small: Vec<i8>,
    #[wire(max_len = 3, each(max_len = 12))]
    pub words: Vec<String>,
    #[wire(each(max_len = 2, each(range = 0..=9)))]
    pub digits: Vec<Vec<u8>>,
    #[wire(varint)]
    pub counts: Vec<u32>,
    #[wire(max_len = 4)]
    #[allow(clippy::box_collection)]
    pub maybe: Option<Box<Vec<Option<u16>>>>,
    pub units: Vec<()>,
    #[wire(skip)]
    pub cache: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Wire)]
pub enum Action {
    Idle,
    Move {
        #[wire(range = -1..=1)]
        x: i8,
        #[wire(range = -1..=1)]
        y: i8,
    },
    Fire(#[wire(range = 0..=359)] u16),
    Say(#[wire(max_len = 20)] String),
    Both(Box<Action>, Box<Action>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Wire)]
pub enum Team {
    Red,
    Green,
    Blue,
}

#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Empty;

#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Id(pub u32);

#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Pair<A, B: Clone>(pub A, pub Option<B>)
where
    A: Clone;

#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Tree {
    pub value: u8,
    pub children: Vec<Tree>,
    pub next: Option<Box<Tree>>,
}

pub type Mixed = (
    Pair<Id, [Team; 3]>,
    (Empty, bool),
    [u16; 1],
    [i8; 0],
    [Option<Action>; 2],
    Team,
);

impl Sample for Scalars {
    fn sample(r: &mut Random) -> Scalars {
        Scalars {
            flag: r.chance(50),
            letter: ['x', '\0', '\u{10ffff}', 'é'][r.below(4) as usize],
            a: r.wide() as u8,
            b: r.wide() as i16,
            c: r.wide() as u32,
            d: r.wide() as i64,
            size: r.wide() as u32 as usize,
            count: r.wide(),
            sum: r.wide() as i32,
            health: r.below(101) as u8,
            score: r.below(2001) as i32 - 1000,
            any: r.next() as i64,
            fixed: 7,
            tiny: r.below(3) as u8 + 1,
        }
    }

    fn change(&mut self, r: &mut Random) {
        let other = Scalars::sample(r);
        let near = r.wide() as i64;
        match r.below(10) {
            0 => self.flag = other.flag,
            1 => self.b = self.b.wrapping_add(near as i16),
            2 => self.c = self.c.wrapping_add(near as u32),
            3 => self.d = self.d.wrapping_sub(near),
            4 => self.count = self.count.wrapping_sub(near as u64),
            5 => self.score = (self.score + near as i16 as i32).clamp(-1000, 1000),
            6 => self.any = self.any.wrapping_add(near),
            7 => self.health = other.health,
            8 => self.tiny = other.tiny,
            _ => *self = other,
        }
    }
}

fn float(r: &mut Random) -> f64 {
    match r.below(12) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => 0.0,
        _ => (r.unit() - 0.5) * [1.0, 3.0, 250.0, 1e7][r.below(4) as usize],
    }
}

impl Sample for Floats {
    fn sample(r: &mut Random) -> Floats {
        Floats {
            raw: float(r) as f32,
            fine: float(r),
            x: float(r) as f32,
            far: float(r),
            position: std::array::from_fn(|_| float(r) as f32),
            maybe: r.chance(50).then(|| float(r) as f32),
            path: r.list(5, |r| [float(r), float(r)]),
        }
    }

    fn change(&mut self, r: &mut Random) {
        match r.below(5) {
            0 => self.x += r.unit() as f32,
            1 => self.position[r.below(3) as usize] += float(r) as f32,
            2 => self.maybe = r.chance(50).then(|| float(r) as f32),
            3 => self.path = r.list(5, |r| [float(r), float(r)]),
            _ => *self = Floats::sample(r),
        }
    }
}

impl Sample for Lists {
    fn sample(r: &mut Random) -> Lists {
        Lists {
            name: r.text(40),
            short: r.text(8),
            bytes: r.list(70, |r| r.next() as u8),
            small: r.list(10, |r| r.below(11) as i8 - 5),
            words: r.list(3, |r| r.text(12)),
            digits: r.list(6, |r| r.list(2, |r| r.below(10) as u8)),
            counts: r.list(5, |r| r.wide() as u32),
            maybe: r
                .chance(50)
                .then(|| Box::new(r.list(4, |r| r.chance(50).then(|| r.next() as u16)))),
            units: r.list(9, |_| ()),
            cache: None,
        }
    }

    fn change(&mut self, r: &mut Random) {
        let other = Lists::sample(r);
        match r.below(6) {
            0 => self.bytes.truncate(r.below(70) as usize),
            1 => self.bytes.extend(other.bytes),
            2 => self.words = other.words,
            3 => self.maybe = other.maybe,
            4 => self.small.iter_mut().for_each(|x| *x = -*x),
            _ => *self = other,
        }
    }
}

impl Sample for Action {
    fn sample(r: &mut Random) -> Action {
        match r.below(9) {
            0..2 => Action::Idle,
            2..4 => Action::Move {
                x: r.below(3) as i8 - 1,
                y: r.below(3) as i8 - 1,
            },
            4..6 => Action::Fire(r.below(360) as u16),
            6..8 => Action::Say(r.text(20)),
            _ => Action::Both(Box::new(Action::sample(r)), Box::new(Action::sample(r))),
        }
    }

    fn change(&mut self, r: &mut Random) {
        match self {
            Action::Both(a, _) if r.chance(50) => a.change(r),
            Action::Move { x, .. } if r.chance(50) => *x = -*x,
            Action::Fire(angle) if r.chance(50) => *angle = (*angle + 1) % 360,
            _ => *self = Action::sample(r),
        }
    }
}

fn tree(r: &mut Random, depth: u64) -> Tree {
    Tree {
        value: r.next() as u8,
        children: r.list(3.min(depth), |r| tree(r, depth - 1)),
        next: (depth > 0 && r.chance(40)).then(|| Box::new(tree(r, depth - 1))),
    }
}

impl Sample for Tree {
    fn sample(r: &mut Random) -> Tree {
        tree(r, 4)
    }

    fn change(&mut self, r: &mut Random) {
        match self.children.first_mut() {
            Some(child) if r.chance(70) => child.change(r),
            _ => *self = Tree::sample(r),
        }
    }
}

fn team(r: &mut Random) -> Team {
    [Team::Red, Team::Green, Team::Blue][r.below(3) as usize]
}

impl Sample for Mixed {
    fn sample(r: &mut Random) -> Mixed {
        (
            Pair(
                Id(r.wide() as u32),
                r.chance(50).then(|| [team(r), team(r), team(r)]),
            ),
            (Empty, r.chance(50)),
            [r.next() as u16],
            [],
            std::array::from_fn(|_| r.chance(50).then(|| Action::sample(r))),
            team(r),
        )
    }

    fn change(&mut self, r: &mut Random) {
        match r.below(4) {
            0 => self.0.0.0 = self.0.0.0.wrapping_add(1),
            1 => self.5 = team(r),
            2 => self.4[0] = Some(Action::sample(r)),
            _ => *self = Mixed::sample(r),
        }
    }
}
