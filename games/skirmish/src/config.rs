//! How a game begins.

use samestep_sync::{Entities, PlayerId, Rng};

use crate::building::{Building, BuildingKind, Mine};
use crate::fog::FogBlock;
use crate::grid::BLOCK;
use crate::place::{ONE, Place};
use crate::side::{MAX_SIDES, SQUADS, Side, SideId, Squad};
use crate::skirmish::{Scratch, Skirmish};
use crate::unit::{Unit, UnitKind};

/// How a game begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkirmishConfig {
    /// Two games with the same seed have the same map. Default 1.
    pub seed: u64,
    /// How many play: 2 to 64. They are the players 0, 1, 2 and so on. Default 2.
    pub players: u16,
    /// Width and height of the map in units, a multiple of 8 up to 2048. By default 72 × 72 for each player.
    pub size: Option<u16>,
    /// Workers of each side. Default 6.
    pub workers: u16,
    /// Soldiers of each side. Default 6.
    pub soldiers: u16,
    /// Barracks of each side. Default 1.
    pub barracks: u16,
    /// Gold of each side. Default 200.
    pub gold: u32,
    /// Gold in each mine at home; those near outposts have twice that. Default 2,000.
    pub mine: u32,
    /// How many units a side may have before it has to stop training. Default 200.
    pub max_units: u32,
}

impl Default for SkirmishConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            players: 2,
            size: None,
            workers: 6,
            soldiers: 6,
            barracks: 1,
            gold: 200,
            mine: 2000,
            max_units: 200,
        }
    }
}

/// Mistakes in a [`SkirmishConfig`], with the way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SkirmishConfigError {
    /// Ask for 2 to 64 players.
    #[error("a skirmish is for 2 to 64 players")]
    Players,
    /// Make the map a multiple of 8 units wide, at most 2048, and at least 40 for each row of players.
    #[error(
        "the map must be a multiple of 8 units wide, at most 2048, with at least 40 for each row of players"
    )]
    Size,
    /// All sides together may have 65,535 units at most: lower `max_units`.
    #[error(
        "all sides together may have 65,535 units at most: lower `max_units`, or begin with fewer"
    )]
    Units,
}

impl SkirmishConfig {
    /// A battle that begins with `units` soldiers altogether, barracks and gold to replace them.
    pub fn battle(seed: u64, players: u16, units: u32) -> Self {
        let each = units.div_ceil(u32::from(players.max(1))).max(1);
        Self {
            seed,
            players,
            workers: 10,
            soldiers: each.min(60_000) as u16,
            barracks: 16,
            gold: each.saturating_mul(40),
            mine: 20_000,
            max_units: each.saturating_add(each / 4 + 20),
            ..Self::default()
        }
    }

    fn width(&self) -> u16 {
        let columns = u32::from(self.players).isqrt_up();
        let by_default = (72 * columns).next_multiple_of(u32::from(BLOCK)) as u16;
        self.size.unwrap_or(by_default)
    }

    fn check(&self) -> Result<(), SkirmishConfigError> {
        if !(2..=MAX_SIDES as u16).contains(&self.players) {
            return Err(SkirmishConfigError::Players);
        }
        let (size, columns) = (self.width(), u32::from(self.players).isqrt_up());
        if size % BLOCK != 0 || size > 2048 || u32::from(size) < 40 * columns {
            return Err(SkirmishConfigError::Size);
        }
        let begin = u32::from(self.workers) + u32::from(self.soldiers);
        let each = u64::from(self.max_units.max(begin));
        // Those who surrender serve the victor, so that a side may have more, but all together cannot.
        if each * u64::from(self.players) > u64::from(u16::MAX) {
            return Err(SkirmishConfigError::Units);
        }
        Ok(())
    }
}

trait SquareRoot {
    fn isqrt_up(self) -> Self;
}

impl SquareRoot for u32 {
    /// The side of the smallest square that holds so many.
    fn isqrt_up(self) -> u32 {
        let root = self.isqrt();
        root + u32::from(root * root < self)
    }
}

impl Skirmish {
    /// The beginning of a game.
    pub fn new(config: &SkirmishConfig) -> Result<Self, SkirmishConfigError> {
        config.check()?;
        let players = usize::from(config.players);
        let size = config.width();
        let blocks = usize::from(size / BLOCK);
        let mut game = Self {
            units: Entities::with_capacity(players * config.max_units as usize),
            buildings: Vec::new(),
            mines: Vec::new(),
            sides: Vec::with_capacity(players),
            squads: Vec::with_capacity(players * SQUADS),
            fog: vec![FogBlock::default(); blocks * blocks],
            size,
            max_units: config.max_units,
            winner: None,
            rng: Rng::new(config.seed),
            scratch: Scratch::default(),
        };
        let columns = u32::from(config.players).isqrt_up() as usize;
        let rows = players.div_ceil(columns);
        let tile = (
            i32::from(size) / columns as i32,
            i32::from(size) / rows as i32,
        );
        for side in 0..players {
            let corner = (
                tile.0 * (side % columns) as i32,
                tile.1 * (side / columns) as i32,
            );
            game.settle(SideId(side as u8), corner, tile, config);
        }
        for row in 0..rows {
            for column in 0..columns {
                let corner = (tile.0 * column as i32, tile.1 * row as i32);
                for quarter in [1, 3] {
                    if column + 1 < columns {
                        game.add_outpost(
                            (corner.0 + tile.0, corner.1 + tile.1 * quarter / 4),
                            config,
                        );
                    }
                    if row + 1 < rows {
                        game.add_outpost(
                            (corner.0 + tile.0 * quarter / 4, corner.1 + tile.1),
                            config,
                        );
                    }
                }
            }
        }
        game.prepare();
        game.lift_all_fog();
        Ok(game)
    }

    /// Puts a side in the middle of its tile, more or less.
    fn settle(
        &mut self,
        id: SideId,
        corner: (i32, i32),
        tile: (i32, i32),
        config: &SkirmishConfig,
    ) {
        let jitter =
            |width: i32, rng: &mut Rng| width / 2 + rng.below(width as u32 / 5) as i32 - width / 10;
        let (dx, dy) = (jitter(tile.0, &mut self.rng), jitter(tile.1, &mut self.rng));
        let home = Place::default().offset((corner.0 + dx) * ONE, (corner.1 + dy) * ONE);
        self.sides.push(Side {
            player: PlayerId(u16::from(id.0)),
            gold: config.gold,
            units: 0,
            buildings: 0,
            is_defeated: false,
            gathered: 0,
            kills: 0,
            losses: 0,
            captures: 0,
            home,
        });
        self.add_building(Building::new(BuildingKind::Hall, Some(id), home));
        let turn = self.rng.below(8) as usize;
        for at in 0..usize::from(config.barracks) {
            let ring = 9 + 5 * (at / 6) as i32;
            let place = around(home, ring, turn + 2 + at % 6);
            self.add_building(Building::new(
                BuildingKind::Barracks,
                Some(id),
                place.within(self.size),
            ));
        }
        for at in 0..2 {
            self.mines.push(Mine {
                place: around(home, 10, turn + at).within(self.size),
                gold: config.mine,
            });
        }
        let front = around(home, 6, turn + 5);
        self.squads.push(Squad::new(home));
        self.squads
            .extend(core::iter::repeat_n(Squad::new(front), SQUADS - 1));
        let soldiers = (0..usize::from(config.soldiers)).map(|at| (UnitKind::ALL[1 + at % 3], 1));
        let workers = (0..config.workers).map(|_| (UnitKind::Worker, 0));
        for (kind, squad) in soldiers.clone().chain(workers.clone()) {
            self.squads[id.index() * SQUADS + squad].size[kind as usize] += 1;
        }
        for (kind, squad) in soldiers.chain(workers) {
            let members = &mut self.squads[id.index() * SQUADS + squad];
            let post = members.enlist(kind);
            let place = members.post(kind, post).within(self.size);
            let mut unit = Unit::new(kind, id, place, squad as u8, members.stamp);
            if kind.is_soldier() {
                unit.post = post;
            }
            self.units.insert(unit);
            self.sides[id.index()].units += 1;
        }
    }

    fn add_outpost(&mut self, (x, y): (i32, i32), config: &SkirmishConfig) {
        let place = Place::default().offset(x * ONE, y * ONE);
        self.add_building(Building::new(
            BuildingKind::Outpost,
            None,
            place.within(self.size),
        ));
        let at = self.rng.below(8) as usize;
        self.mines.push(Mine {
            place: around(place, 7, at).within(self.size),
            gold: 2 * config.mine,
        });
    }
}

/// A place `distance` units away in one of eight directions.
pub(crate) fn around(place: Place, distance: i32, direction: usize) -> Place {
    const DIRECTIONS: [(i32, i32); 8] = [
        (256, 0),
        (181, 181),
        (0, 256),
        (-181, 181),
        (-256, 0),
        (-181, -181),
        (0, -256),
        (181, -181),
    ];
    let (x, y) = DIRECTIONS[direction % 8];
    place.offset(x * distance, y * distance)
}
