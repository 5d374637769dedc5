//! The state and how it changes.

use core::ops::Range;

use samestep_sync::{
    Entities, EntityId, Events, Inputs, PlayerId, Record, Replicate, Simulation, Wire, random,
};

use crate::command::Command;
use crate::entity::{COLOURS, Entity, WORLD};

/// How far an entity gets in a tick at most unless set otherwise, in units.
pub const SPEED: f32 = 1.0 / 64.0;

/// In every tick one entity in this many looks whether it has arrived, and if so for somewhere else to go.
const LOOK: usize = 16;

/// How far away that is at most, along each axis.
const WALK: i32 = 64;

/// The state of the game.
#[derive(Clone, Replicate)]
pub struct Evaluation {
    entities: Entities<Entity>,
    /// In ascending order of the players.
    shares: Vec<Share>,
    seed: u64,
    speed: f32,
}

/// The entities that each player commands.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
struct Share {
    player: PlayerId,
    begin: u32,
    end: u32,
}

/// A player without a share has taken over that of a player who is away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Takeover {
    /// The player who is away.
    pub from: PlayerId,
    /// The player who commands its entities from now on.
    pub to: PlayerId,
}

impl Evaluation {
    /// `entities` split evenly over the players 0 to `players - 1`, somewhere and on their way elsewhere.
    ///
    /// # Panics
    /// If there are no players, or more than 65,536 entities.
    pub fn new(seed: u64, players: u16, entities: usize) -> Self {
        assert!(players > 0, "somebody must command the entities");
        assert!(entities <= 1 << 16, "commands count entities in 16 bits");
        let begin = |player: u16| usize::from(player) * entities / usize::from(players);
        let mut game = Self {
            entities: Entities::new(),
            shares: Vec::new(),
            seed,
            speed: SPEED,
        };
        for at in 0..players {
            let (player, numbers) = (PlayerId(at), begin(at)..begin(at + 1));
            game.shares.push(Share {
                player,
                begin: numbers.start as u32,
                end: numbers.end as u32,
            });
            for number in numbers {
                let id = EntityId::fixed(number as u32);
                game.entities.insert_fixed(id, create(seed, number, player));
            }
        }
        game
    }

    /// The same with another speed, in units per tick; up to a quarter of a unit at least 90 % still move at any time.
    #[must_use]
    pub fn with_speed(mut self, speed: f32) -> Self {
        self.speed = speed;
        self
    }

    /// All entities, in the order of their numbers; number 5 has the id `EntityId::fixed(5)`.
    pub fn entities(&self) -> &[Entity] {
        self.entities.as_slice()
    }

    /// An entity by its number.
    pub fn entity(&self, number: u16) -> Option<&Entity> {
        self.entities().get(usize::from(number))
    }

    /// An entity to change behind the rules' back, to provoke a desync.
    pub fn entity_mut(&mut self, number: u16) -> Option<&mut Entity> {
        self.entities.row_mut(usize::from(number))
    }

    /// Who has a share, in ascending order.
    pub fn players(&self) -> Vec<PlayerId> {
        self.shares.iter().map(|share| share.player).collect()
    }

    /// The numbers of a player's entities; `None` if it has no share.
    pub fn share_of(&self, player: PlayerId) -> Option<Range<usize>> {
        let share = self.shares[self.place_of(player).ok()?];
        Some(share.begin as usize..share.end as usize)
    }

    fn place_of(&self, player: PlayerId) -> Result<usize, usize> {
        self.shares
            .binary_search_by_key(&player, |share| share.player)
    }

    /// Players without a share take over those of players that are gone, the lowest ids first. The share of a player that is away waits for it.
    fn seat(&mut self, inputs: &Inputs<'_, Command>, events: &mut Events<Takeover>) {
        let present = inputs.players();
        if self.shares.iter().map(|share| &share.player).eq(present) {
            return;
        }
        for &to in present {
            if self.place_of(to).is_ok() {
                continue;
            }
            let is_free = |share: &Share| inputs.is_gone(share.player);
            let Some(at) = self.shares.iter().position(is_free) else {
                return;
            };
            let share = self.shares.remove(at);
            let from = share.player;
            let at = self.place_of(to).unwrap_or_else(|at| at);
            self.shares.insert(
                at,
                Share {
                    player: to,
                    ..share
                },
            );
            for entity in self.entities.as_mut_slice() {
                if entity.player == from {
                    entity.player = to;
                }
            }
            events.emit(Takeover { from, to });
        }
    }

    fn command(&mut self, player: PlayerId, command: Command) {
        let (Command::Move { first, count, .. } | Command::Paint { first, count, .. }) = command
        else {
            return;
        };
        for number in usize::from(first)..usize::from(first) + usize::from(count) {
            let entity = self.entities.row_mut(number);
            let Some(entity) = entity.filter(|entity| entity.player == player) else {
                continue;
            };
            match command {
                Command::None => {}
                Command::Move { x, y, .. } => entity.coordinates = (i32::from(x), i32::from(y)),
                Command::Paint { colour, .. } => entity.colour = colour,
            }
        }
    }
}

impl Simulation for Evaluation {
    type Input = Command;
    type Event = Takeover;

    const NAME: &'static str = "evaluation";

    fn step(&mut self, inputs: &Inputs<'_, Command>, events: &mut Events<Takeover>) {
        self.seat(inputs, events);
        for (player, command) in inputs.given() {
            self.command(player, *command);
        }
        let tick = inputs.tick().0;
        // Along both axes at once it is still no more than the speed.
        let reach = self.speed * core::f32::consts::FRAC_1_SQRT_2;
        let entities = self.entities.as_mut_slice();
        let looking = (tick % LOOK as u64) as usize;
        for (number, entity) in entities.iter_mut().enumerate().skip(looking).step_by(LOOK) {
            if entity.has_arrived() {
                let dice = random::hash(self.seed, tick, number as u64);
                entity.coordinates = somewhere_near(entity.coordinates, dice);
            }
        }
        for entity in entities {
            entity.advance(reach);
        }
    }
}

fn create(seed: u64, number: usize, player: PlayerId) -> Entity {
    let place = random::hash(seed, u64::MAX, number as u64);
    let walk = random::hash(seed, u64::MAX - 1, number as u64);
    // Any of 2^24 places along each axis: as uneven as floats come.
    let along = |bits: u64| (bits & 0xff_ffff) as f32 * (f32::from(WORLD) / 16_777_216.0);
    let position = (along(place), along(place >> 24));
    let near = (position.0 as i32, position.1 as i32);
    Entity {
        kind: (place >> 48) as u16 % 16,
        position,
        player,
        coordinates: somewhere_near(near, walk),
        colour: (walk >> 48) as u8 % COLOURS,
    }
}

fn somewhere_near((x, y): (i32, i32), dice: u64) -> (i32, i32) {
    let away = |bits: u64| (bits & 0xff_ffff) as i32 % (2 * WALK + 1) - WALK;
    let limit = i32::from(WORLD) - 1;
    (
        x.saturating_add(away(dice)).clamp(0, limit),
        y.saturating_add(away(dice >> 24)).clamp(0, limit),
    )
}

#[cfg(test)]
mod tests {
    use samestep_sync::{Table, Tick, math, sync_test};

    use super::*;
    use crate::script;

    fn step(game: &mut Evaluation, tick: u64, players: &[PlayerId]) -> Vec<Takeover> {
        let commands: Vec<_> = players
            .iter()
            .map(|player| script(9, *player, Tick(tick), game).unwrap_or_default())
            .collect();
        let given: Vec<_> = (0..players.len() as u16)
            .filter(|at| commands[usize::from(*at)] != Command::None)
            .collect();
        let mut events = Events::new();
        let inputs = Inputs::new(Tick(tick), players, &commands, &given);
        game.step(&inputs, &mut events);
        events.drain().collect()
    }

    #[test]
    fn nine_of_ten_move_and_never_faster_than_allowed() {
        let players: Vec<_> = (0..8).map(PlayerId).collect();
        for speed in [SPEED, 0.25] {
            let mut game = Evaluation::new(3, 8, 4096).with_speed(speed);
            for tick in 0..1200 {
                let before = game.clone();
                step(&mut game, tick, &players);
                let mut moving = 0;
                for (now, then) in game.entities().iter().zip(before.entities()) {
                    let (dx, dy) = (
                        now.position.0 - then.position.0,
                        now.position.1 - then.position.1,
                    );
                    moving += usize::from(now.position != then.position);
                    // Far from the origin a float has steps of 2^-14.
                    assert!(math::hypot(dx, dy) <= speed + 1e-4);
                    let world = 0.0..f32::from(WORLD);
                    assert!(world.contains(&now.position.0) && world.contains(&now.position.1));
                }
                assert!(
                    moving >= 4096 * 9 / 10,
                    "{moving} at tick {tick}, speed {speed}"
                );
            }
        }
    }

    #[test]
    fn shares_are_even_and_complete() {
        for (players, entities) in [(1, 10), (3, 10), (40, 16_000), (1000, 1024), (7, 3)] {
            let game = Evaluation::new(3, players, entities);
            let shares = (0..players).map(|player| game.share_of(PlayerId(player)).unwrap());
            let mut end = 0;
            for (player, share) in shares.enumerate() {
                assert_eq!(share.start, end);
                end = share.end;
                let even = entities / usize::from(players);
                assert!((even..=even + 1).contains(&share.len()));
                let own = |entity: &Entity| entity.player == PlayerId(player as u16);
                assert!(game.entities()[share].iter().all(own));
            }
            assert_eq!(end, entities);
        }
    }

    #[test]
    fn a_newcomer_takes_over_from_one_who_is_gone() {
        let mut game = Evaluation::new(3, 3, 90);
        let taken = step(
            &mut game,
            0,
            &[PlayerId(0), PlayerId(2), PlayerId(7), PlayerId(8)],
        );
        let (from, to) = (PlayerId(1), PlayerId(7));
        assert_eq!(taken, [Takeover { from, to }]);
        assert_eq!(game.share_of(to), Some(30..60));
        assert_eq!(game.share_of(PlayerId(8)), None);
        assert!(
            game.entities()[30..60]
                .iter()
                .all(|entity| entity.player == to)
        );
        // A player who comes back after it was gone finds its share taken; a share that nobody takes stays.
        assert_eq!(
            step(&mut game, 1, &[PlayerId(1), PlayerId(2), PlayerId(7)]),
            [Takeover {
                from: PlayerId(0),
                to: PlayerId(1)
            }]
        );
        let (players, commands) = ([PlayerId(7), PlayerId(9)], [Command::None; 2]);
        let away = [(PlayerId(1), Tick(2)), (PlayerId(2), Tick(2))];
        let inputs = Inputs::new(Tick(2), &players, &commands, &[]).with_away(&away);
        game.step(&inputs, &mut Events::new());
        assert_eq!(game.share_of(PlayerId(1)), Some(0..30), "it is away");
        assert_eq!(step(&mut game, 3, &[PlayerId(7)]), []);
        assert_eq!(game.share_of(PlayerId(2)), Some(60..90));
    }

    #[test]
    fn nobody_commands_what_is_not_its_own() {
        let mut game = Evaluation::new(3, 2, 20);
        let before = game.clone();
        let command = Command::Paint {
            first: 5,
            count: 10,
            colour: 7,
        };
        game.command(PlayerId(1), command);
        for (number, entity) in game.entities().iter().enumerate() {
            let is_painted = (10..15).contains(&number);
            let expected = if is_painted {
                7
            } else {
                before.entities()[number].colour
            };
            assert_eq!(entity.colour, expected);
        }
        game.command(
            PlayerId(1),
            Command::Move {
                first: 65_535,
                count: 32,
                x: 0,
                y: 0,
            },
        );
    }

    #[test]
    fn simulated_again_it_is_the_same() {
        let players: Vec<_> = (0..8).map(PlayerId).collect();
        let report = sync_test(Evaluation::new(3, 8, 1000), 300, 8, |tick, game, inputs| {
            // One of them comes and goes.
            let present = if tick.0 / 50 % 2 == 0 { 8 } else { 7 };
            inputs.set_players(&players[..present]);
            for player in &players[..present] {
                if let Some(command) = script(9, *player, tick, game) {
                    inputs.give(*player, &command);
                }
            }
        });
        assert!(report.is_ok(), "{}", report.unwrap_err());
    }

    #[test]
    fn a_restored_state_goes_on_the_same() {
        let players: Vec<_> = (0..8).map(PlayerId).collect();
        let mut game = Evaluation::new(3, 8, 1000);
        for tick in 0..100 {
            step(&mut game, tick, &players);
        }
        let mut table = Table::new(Evaluation::schema());
        game.extract(&mut table);
        let mut copy = Evaluation::from_table(&table).unwrap();
        for tick in 100..200 {
            step(&mut game, tick, &players);
            step(&mut copy, tick, &players);
            assert_eq!(game.checksum(), copy.checksum());
        }
    }
}
