//! The rules of a fight without its movement: who is hit, who falls and comes back, and who leads. One host decides them.

use samestep_catalog::sublockus::{Angle, Block, HALF, ONE, Place, Row, Sublockus};
use samestep_sync::{
    Entities, EntityId, Events, Input, Inputs, PlayerId, Record, Replicate, Simulation,
};
use samestep_wire::Wire;

/// The player who says where everyone is: that of the one who opened the room.
pub const REFEREE: PlayerId = PlayerId(0);
/// Full health, and what a hit takes.
const HEALTH: (i16, i16) = (100, 34);
/// Ticks until the next shot, and from falling to coming back.
const RELOAD: u32 = 24;
const ABSENCE: u32 = 120;
/// How far a shot goes, and in which steps it is followed.
const REACH: i32 = 24 * ONE;
const STEP: i32 = ONE / 8;

/// What a player gives to the rules.
#[derive(Clone, Default, PartialEq, Debug, Wire)]
pub struct Order {
    /// The player shoots, in this direction.
    pub shot: Option<Angle>,
    /// Where everyone is; only the [`REFEREE`] may say so.
    #[wire(max_len = 32)]
    pub places: Vec<Standing>,
}

/// Where somebody is, in units.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub struct Standing {
    /// Whose character it is.
    pub player: PlayerId,
    /// To the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

impl Input for Order {
    fn predict(&self) -> Self {
        Order::default()
    }

    /// The later places count. Each shot counts, so two are not one.
    fn merge(&mut self, late: &Self) -> bool {
        if self.shot.is_some() && late.shot.is_some() {
            return false;
        }
        self.shot = self.shot.or(late.shot);
        if self.places.is_empty() {
            self.places.clone_from(&late.places);
        }
        true
    }
}

/// How a player stands.
#[derive(Clone, Copy, PartialEq, Debug, Record)]
pub struct Fighter {
    /// Who it is.
    #[field(owner)]
    pub player: PlayerId,
    /// The health that is left.
    pub health: i16,
    /// Those who fell to this player.
    pub score: u16,
    /// The shots of this player that have been decided.
    pub decided: u16,
    /// A shot that has not been.
    waiting: Option<u16>,
    /// When it can shoot again.
    ready: u32,
    /// When it comes back, or has.
    enters: u32,
}

/// What the host has decided.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub enum Ruling {
    /// Somebody was hit.
    Hit {
        /// By whom.
        by: PlayerId,
        /// Who it was.
        victim: PlayerId,
    },
    /// Somebody was hit, and falls.
    Fell {
        /// By whom.
        by: PlayerId,
        /// Who it was.
        victim: PlayerId,
    },
}

/// The rules, which know the arena and are told where everyone is.
///
/// A shot is decided in the first tick in which the referee says where everyone is. Only the host ever has such a tick, so nobody predicts what a shot does.
#[derive(Clone, Replicate)]
pub struct Rules {
    fighters: Entities<Fighter>,
    rows: Vec<Row>,
    clock: u32,
}

impl Rules {
    /// The rules in the arena of a game.
    pub fn new(game: &Sublockus) -> Rules {
        Rules {
            fighters: Entities::with_capacity(32),
            rows: game.terrain().rows().to_vec(),
            clock: 0,
        }
    }

    /// A player, once it has come.
    pub fn fighter(&self, player: PlayerId) -> Option<&Fighter> {
        let mut fighters = self.fighters.as_slice().iter();
        fighters.find(|fighter| fighter.player == player)
    }

    fn place(&self, player: PlayerId) -> Option<usize> {
        let mut fighters = self.fighters.as_slice().iter();
        fighters.position(|fighter| fighter.player == player)
    }

    fn handle_shot(&mut self, player: PlayerId, aim: Angle) {
        let Some(fighter) = self.place(player).and_then(|at| self.fighters.row_mut(at)) else {
            return;
        };
        if fighter.waiting.replace(aim.0).is_some() {
            // One that had to wait so long has come too late.
            fighter.decided = fighter.decided.wrapping_add(1);
        }
    }

    /// Decides the shots that wait.
    fn decide(&mut self, places: &[Standing], events: &mut Events<Ruling>) {
        for at in 0..self.fighters.len() {
            let clock = self.clock;
            let Some(shooter) = self.fighters.row_mut(at) else {
                continue;
            };
            let Some(aim) = shooter.waiting.take() else {
                continue;
            };
            shooter.decided = shooter.decided.wrapping_add(1);
            if clock < shooter.ready.max(shooter.enters) {
                continue;
            }
            shooter.ready = clock.saturating_add(RELOAD);
            let by = shooter.player;
            let victim = self.first_in_line(by, Angle(aim), places);
            let Some(hit) = victim.and_then(|at| self.fighters.row_mut(at)) else {
                continue;
            };
            let victim = hit.player;
            hit.health -= HEALTH.1;
            if hit.health > 0 {
                events.emit(Ruling::Hit { by, victim });
                continue;
            }
            (hit.health, hit.enters) = (HEALTH.0, clock.saturating_add(ABSENCE));
            if let Some(shooter) = self.fighters.row_mut(at) {
                shooter.score = shooter.score.saturating_add(1);
            }
            events.emit(Ruling::Fell { by, victim });
        }
    }

    /// Whom a shot hits; rock stops it.
    fn first_in_line(&self, by: PlayerId, aim: Angle, places: &[Standing]) -> Option<usize> {
        let from = places.iter().find(|standing| standing.player == by)?;
        let way = aim.way(REACH);
        let is_target = |standing: &&Standing| {
            let fighter = self.fighter(standing.player);
            standing.player != by && fighter.is_some_and(|other| self.clock >= other.enters)
        };
        let targets: Vec<&Standing> = places.iter().filter(is_target).collect();
        let steps = REACH / STEP;
        for step in 0..=steps {
            let (x, y) = (from.x + way.x / steps * step, from.y + way.y / steps * step);
            if self.is_rock(Place::new(x, y)) {
                return None;
            }
            let is_hit =
                |other: &&&Standing| (other.x - x).abs() <= HALF.x && (other.y - y).abs() <= HALF.y;
            if let Some(hit) = targets.iter().find(is_hit) {
                return self.place(hit.player);
            }
        }
        None
    }

    fn is_rock(&self, place: Place) -> bool {
        let (column, row) = place.block();
        let row = usize::try_from(row).ok().and_then(|row| self.rows.get(row));
        let block = row.zip(usize::try_from(column).ok());
        block.is_none_or(|(row, column)| row.block(column) == Block::Rock)
    }
}

impl Simulation for Rules {
    type Input = Order;
    type Event = Ruling;

    const NAME: &'static str = "fight-rules";

    fn step(&mut self, inputs: &Inputs<'_, Order>, events: &mut Events<Ruling>) {
        self.clock = self.clock.saturating_add(1);
        for (player, _) in inputs.iter() {
            if self.fighter(player).is_none() {
                let fighter = Fighter {
                    player,
                    health: HEALTH.0,
                    score: 0,
                    decided: 0,
                    waiting: None,
                    ready: 0,
                    enters: 0,
                };
                let id = EntityId::fixed(u32::from(player.0) + 1);
                self.fighters.insert_fixed(id, fighter);
            }
        }
        for (player, order) in inputs.given() {
            if let Some(aim) = order.shot {
                self.handle_shot(player, aim);
            }
        }
        let mut told = inputs.given().map(|(_, order)| &order.places);
        if let Some(places) = told.find(|places| !places.is_empty()) {
            self.decide(places, events);
        }
    }

    fn allows(&self, player: PlayerId, order: &Order) -> bool {
        order.places.is_empty() || player == REFEREE
    }
}

#[cfg(test)]
mod tests {
    use samestep_catalog::sublockus::SublockusConfig;
    use samestep_sync::Tick;

    use super::*;

    const SHOOTER: PlayerId = PlayerId(1);
    const TARGET: PlayerId = PlayerId(2);
    const PLAYERS: [PlayerId; 3] = [REFEREE, SHOOTER, TARGET];

    struct Match {
        rules: Rules,
        tick: u64,
    }

    impl Match {
        /// In an arena of air.
        fn new() -> Match {
            let game = Sublockus::new(&SublockusConfig::free_for_all(1, 3)).unwrap();
            let mut rules = Rules::new(&game);
            rules.rows = vec![Row::default(); 8];
            let mut game = Match { rules, tick: 0 };
            game.step([Order::default(), Order::default(), Order::default()]);
            game
        }

        fn step(&mut self, orders: [Order; 3]) -> Vec<Ruling> {
            let inputs = Inputs::new(Tick(self.tick), &PLAYERS, &orders, &[0, 1, 2]);
            self.tick += 1;
            let mut events = Events::new();
            self.rules.step(&inputs, &mut events);
            events.drain().collect()
        }

        /// The shooter shoots to the right; the target is so many blocks away.
        fn shoot(&mut self, blocks: i32) -> Vec<Ruling> {
            self.step([told(blocks), shot(), Order::default()])
        }

        fn decided(&self) -> u16 {
            self.rules.fighter(SHOOTER).unwrap().decided
        }
    }

    fn shot() -> Order {
        Order {
            shot: Some(Angle::RIGHT),
            ..Order::default()
        }
    }

    fn told(blocks: i32) -> Order {
        let standing = |player, blocks: i32| Standing {
            player,
            x: (2 + blocks) * ONE,
            y: 4 * ONE,
        };
        Order {
            shot: None,
            places: vec![standing(SHOOTER, 0), standing(TARGET, blocks)],
        }
    }

    #[test]
    fn three_hits_and_one_falls_comes_back_and_counts() {
        let mut game = Match::new();
        let (by, victim) = (SHOOTER, TARGET);
        for wanted in [
            Ruling::Hit { by, victim },
            Ruling::Hit { by, victim },
            Ruling::Fell { by, victim },
        ] {
            assert_eq!(game.shoot(10), [wanted]);
            assert_eq!(game.shoot(10), [], "it is not loaded yet");
            for _ in 0..RELOAD {
                game.step([told(10), Order::default(), Order::default()]);
            }
        }
        assert_eq!(game.shoot(10), [], "who has fallen is not there");
        for _ in 0..ABSENCE {
            game.step([told(10), Order::default(), Order::default()]);
        }
        assert_eq!(game.shoot(10), [Ruling::Hit { by, victim }]);
        assert_eq!(game.decided(), 8);
        let score = |player| game.rules.fighter(player).unwrap().score;
        assert_eq!(PLAYERS.map(score), [0, 1, 0]);
    }

    #[test]
    fn a_shot_goes_so_far_and_not_through_rock() {
        let mut game = Match::new();
        assert_eq!(game.shoot(25), []);
        // Rows of rock are what lies outside.
        game.rules.rows.truncate(3);
        for _ in 0..RELOAD {
            game.step([told(10), Order::default(), Order::default()]);
        }
        assert_eq!(game.shoot(10), []);
        assert_eq!(game.decided(), 2);
    }

    #[test]
    fn who_is_not_told_where_everyone_is_decides_nothing() {
        let mut game = Match::new();
        let nothing = Order::default;
        assert_eq!(game.step([nothing(), shot(), nothing()]), []);
        assert_eq!(game.decided(), 0);
        let hit = game.step([told(5), nothing(), nothing()]);
        assert_eq!((hit.len(), game.decided()), (1, 1));
        assert!(!game.rules.allows(SHOOTER, &told(5)));
        assert!(game.rules.allows(REFEREE, &told(5)) && game.rules.allows(SHOOTER, &shot()));
    }

    #[test]
    fn what_is_given_twice_in_a_tick_counts() {
        let mut order = told(5);
        assert!(order.merge(&shot()) && order.shot.is_some() && order.places.len() == 2);
        assert!(!order.merge(&shot()), "each shot counts");
        let mut late = shot();
        assert!(late.merge(&told(7)) && late.places == told(7).places);
    }
}
