//! Skirmish on the keys of a terminal: a cursor, and a squad that is commanded.

use samestep_playable::Key;
use samestep_sync::PlayerId;

use crate::{BuildingId, BuildingKind, Command, ONE, Order, Place, SQUADS, Skirmish, UnitKind};

/// What the keys do.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("w a s d, arrows", "move the cursor"),
    (
        "1 to 8",
        "choose a squad: 1 has the workers, 2 the soldiers",
    ),
    ("space", "the squad attacks at the cursor"),
    ("m", "the squad moves there without fighting"),
    ("g", "the squad digs for gold or stays there"),
    ("n", "the soldiers of squad 2 join the squad"),
    ("z x c v", "train workers, spears, archers, knights"),
    ("b h", "build barracks, a hall at the cursor"),
];

/// How far a key moves the cursor, in units.
const STEP: i32 = 4;
/// How many units a key trains.
const TRAINED: u8 = 3;

/// The cursor and the chosen squad.
#[derive(Clone, Copy, Debug)]
pub struct Hands {
    /// In units; at home before a key moves it.
    cursor: Option<(i32, i32)>,
    squad: u8,
}

impl Default for Hands {
    fn default() -> Self {
        Self {
            cursor: None,
            squad: 1,
        }
    }
}

impl Hands {
    /// The squad that is commanded, counted from 1.
    pub(crate) fn squad(&self) -> u8 {
        self.squad + 1
    }

    /// Where the cursor is.
    pub(crate) fn cursor(&self, game: &Skirmish, player: PlayerId) -> Option<Place> {
        let home = || {
            let side = game.side_of(player)?;
            let home = game.sides().get(side.index())?.home;
            Some((home.x / ONE, home.y / ONE))
        };
        let (x, y) = self.cursor.or_else(home)?;
        Some(Place {
            x: x * ONE,
            y: y * ONE,
        })
    }
}

/// The command of a player who has pressed these keys: that of the last one, since a tick has one command.
pub(crate) fn command(
    game: &Skirmish,
    player: PlayerId,
    hands: &mut Hands,
    keys: &[Key],
) -> Command {
    let mut command = Command::None;
    if game.side_of(player).is_none() {
        return command;
    }
    for key in keys {
        let Some(at) = hands.cursor(game, player) else {
            return Command::None;
        };
        let last = i32::from(game.size()) - 1;
        let (x, y) = (at.x / ONE, at.y / ONE);
        let mut go = |dx: i32, dy: i32| {
            hands.cursor = Some(((x + dx).clamp(0, last), (y + dy).clamp(0, last)));
        };
        let place = (x.clamp(0, last) as u16, y.clamp(0, last) as u16);
        let order = |order| Command::Order {
            squad: hands.squad,
            order,
            x: place.0,
            y: place.1,
        };
        match key {
            Key::Char('a') | Key::Left => go(-STEP, 0),
            Key::Char('d') | Key::Right => go(STEP, 0),
            Key::Char('w') | Key::Up => go(0, -STEP),
            Key::Char('s') | Key::Down => go(0, STEP),
            Key::Char(digit @ '1'..='8') => {
                hands.squad = (*digit as u8 - b'1').min(SQUADS as u8 - 1);
            }
            Key::Char(' ') => command = order(Order::Attack),
            Key::Char('m') => command = order(Order::Move),
            Key::Char('g') => command = order(Order::Gather),
            Key::Char('n') => {
                command = Command::Muster {
                    from: 1,
                    into: hands.squad,
                    count: 1023,
                };
            }
            Key::Char('z') => command = train(game, player, at, UnitKind::Worker),
            Key::Char('x') => command = train(game, player, at, UnitKind::Spear),
            Key::Char('c') => command = train(game, player, at, UnitKind::Archer),
            Key::Char('v') => command = train(game, player, at, UnitKind::Knight),
            Key::Char('b') => command = build(BuildingKind::Barracks, place),
            Key::Char('h') => command = build(BuildingKind::Hall, place),
            _ => {}
        }
    }
    command
}

fn build(kind: BuildingKind, (x, y): (u16, u16)) -> Command {
    Command::Build { kind, x, y }
}

/// Trains in the building of one's own that can and is nearest to the cursor.
fn train(game: &Skirmish, player: PlayerId, near: Place, kind: UnitKind) -> Command {
    let Some(side) = game.side_of(player) else {
        return Command::None;
    };
    let buildings = (0..).map(BuildingId).zip(game.buildings());
    let own = buildings
        .filter(|(_, building)| building.works_for(side) && building.kind.trains(kind))
        .min_by_key(|(_, building)| {
            let (dx, dy) = (building.place.x - near.x, building.place.y - near.y);
            dx.abs().max(dy.abs())
        });
    own.map_or(Command::None, |(building, _)| Command::Train {
        building,
        kind,
        count: TRAINED,
    })
}
