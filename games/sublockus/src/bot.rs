//! A player that is a program.

use samestep_playable::Level;
use samestep_sync::{Input, PlayerId, Rng, Tick};

use crate::ability::Ability;
use crate::character::{Character, FIREBALL_SPEED, HEALTH};
use crate::controls::{Act, Controls};
use crate::item::ItemKind;
use crate::motion::{Gait, HALF, Steer};
use crate::place::{Angle, ONE, Place};
use crate::sublockus::Sublockus;

mod ways;

use ways::{Move, Stand, Ways};

/// Ticks after which it says again what it holds, should it have been lost.
const REPEAT: u64 = 20;

/// Ticks without getting anywhere after which it tries something else.
const PATIENCE: u64 = 120;

/// Plays one character: pursues, aims, fights, heals and collects items.
///
/// What it does follows from its seed and the states it is shown, and it acts through its controls, as anybody does. It finds its way by
/// trying out, by the rules of motion, where a step or a leap from a block leads.
#[derive(Clone, Debug)]
pub struct Bot {
    player: PlayerId,
    rng: Rng,
    ways: Ways,
    /// Its last input, and when it was given.
    held: Controls,
    held_at: u64,
    /// Where it goes, and what for.
    goal: Option<Goal>,
    path: Vec<(Stand, Move)>,
    /// A leap that has begun, and when.
    leap: Option<(u64, Move, bool)>,
    /// Where it was last that it had not been, and when.
    newest: (Place, u64),
    /// When it may look for another goal, attack, and dodge.
    think_at: u64,
    attack_at: u64,
    dodge: (u64, i32),
    /// How far it aims beside, in 65,536ths of a turn.
    clumsiness: i32,
    /// Ticks from one attack to the next, at least.
    reaction: u64,
}

#[derive(Clone, Copy, Debug)]
struct Goal {
    place: Place,
    until: u64,
}

impl Bot {
    /// A bot that plays for `player`; bots of the same seed but different players differ.
    pub fn new(seed: u64, player: PlayerId) -> Self {
        let mut rng = Rng::new(samestep_sync::random::hash(seed, u64::from(player.0), 1));
        let clumsiness = 300 + rng.below(900) as i32;
        Self {
            player,
            rng,
            ways: Ways::default(),
            held: Controls::default(),
            held_at: 0,
            goal: None,
            path: Vec::new(),
            leap: None,
            newest: (Place::default(), 0),
            think_at: 0,
            attack_at: 0,
            dodge: (0, 0),
            clumsiness,
            reaction: 6,
        }
    }

    /// The same, playing so well.
    #[must_use]
    pub fn at(mut self, level: Level) -> Self {
        (self.clumsiness, self.reaction) = match level {
            Level::Easy => (self.clumsiness * 4, 45),
            Level::Normal => (self.clumsiness, self.reaction),
            Level::Hard => (self.clumsiness / 4, 0),
        };
        self
    }

    /// Whom it plays for.
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// Its input in this tick; `None` if it is as before.
    pub fn decide(&mut self, tick: Tick, game: &Sublockus) -> Option<Controls> {
        let controls = self.controls(tick, game);
        let is_news = controls != self.held.predict();
        let is_due = tick.0 >= self.held_at + REPEAT;
        self.held = controls;
        (is_news || is_due).then(|| {
            self.held_at = tick.0;
            controls
        })
    }

    /// Decides its controls in this tick.
    pub fn controls(&mut self, tick: Tick, game: &Sublockus) -> Controls {
        let clock = game.clock();
        let own = game.character_of(self.player).copied();
        let Some(mut own) = own.filter(|own| own.is_in(clock) && own.health > 0) else {
            self.forget(tick.0);
            return Controls::default();
        };
        own.body.keep_inside(&game.terrain());
        self.ways.prepare(game, own.speed());
        let enemy = self.choose_enemy(&own, game);
        self.watch_progress(tick.0, &own);
        self.choose_goal(tick.0, &own, enemy.as_ref(), game);
        let steer = self.steer(tick.0, &own, enemy.as_ref(), game);
        let mut controls = Controls {
            left: steer.direction < 0,
            right: steer.direction > 0,
            jump: steer.jump,
            down: steer.down,
            aim: self.held.aim,
            cast: None,
            act: self.handle(tick.0, &own, game),
        };
        if let Some(enemy) = &enemy {
            self.fight(tick.0, &own, enemy, game, &mut controls);
        }
        if controls.cast.is_none()
            && own.health < HEALTH * 3 / 5
            && own.can_cast(Ability::Mend, clock)
        {
            controls.cast = Some(Ability::Mend);
        }
        controls
    }

    fn forget(&mut self, tick: u64) {
        self.goal = None;
        self.path.clear();
        self.leap = None;
        self.newest.1 = tick;
    }

    /// The nearest that can be hurt; those in sight count as nearer.
    fn choose_enemy(&self, own: &Character, game: &Sublockus) -> Option<Character> {
        let clock = game.clock();
        let others = game.characters().as_slice().iter();
        let others = others.filter(|other| other.player != self.player && other.is_target(clock));
        let nearest = others.min_by_key(|other| {
            let distance = own.place().distance(other.place());
            match game.terrain().sees(own.place(), other.place()) {
                true => distance / 2,
                false => distance,
            }
        });
        let mut nearest = *nearest?;
        nearest.body.keep_inside(&game.terrain());
        Some(nearest)
    }

    /// A bot that is stuck walks in a random direction for a while.
    fn watch_progress(&mut self, tick: u64, own: &Character) {
        if own.place().distance(self.newest.0) > 2 * ONE {
            self.newest = (own.place(), tick);
        }
        if tick < self.newest.1 + PATIENCE {
            return;
        }
        self.newest = (own.place(), tick);
        let mut away = || self.rng.range(-16..17) * ONE;
        let place = own.place().offset(Place::new(away(), away()));
        let until = tick + 90;
        self.goal = Some(Goal { place, until });
        self.path.clear();
        self.leap = None;
        self.think_at = until;
    }

    fn choose_goal(
        &mut self,
        tick: u64,
        own: &Character,
        enemy: Option<&Character>,
        game: &Sublockus,
    ) {
        let is_over = self.goal.is_none_or(|goal| tick >= goal.until);
        if tick < self.think_at && !is_over {
            return;
        }
        self.think_at = tick + 20 + u64::from(self.rng.below(20));
        let item = self.choose_item(own, enemy, game);
        let place = match (item, enemy) {
            (Some(place), _) => place,
            (None, Some(enemy)) => enemy.place(),
            (None, None) => {
                // Nobody to fight: somewhere else.
                let spawns = game.spawns();
                let at = self.rng.below(spawns.len() as u32) as usize;
                self.think_at = tick + 150;
                spawns.get(at).map_or(own.place(), |spawn| spawn.standing())
            }
        };
        let until = tick + 240;
        self.goal = Some(Goal { place, until });
        self.path.clear();
    }

    /// Something near that is worth the way: the worse off one is, the farther.
    fn choose_item(
        &self,
        own: &Character,
        enemy: Option<&Character>,
        game: &Sublockus,
    ) -> Option<Place> {
        if own.kit.pockets.is_full() {
            return None;
        }
        let worth = |kind: ItemKind| match kind {
            ItemKind::Potion if own.health < HEALTH / 2 => 24,
            ItemKind::Elixir if own.mana < 30 => 12,
            ItemKind::Potion | ItemKind::Elixir => 6,
            _ if own.kit.all().any(|has| has == kind) => 0,
            _ => 12,
        };
        let enemy_at = enemy.map_or(i32::MAX, |enemy| own.place().distance(enemy.place()));
        let items = game.items().as_slice().iter();
        let items = items.filter(|item| game.is_there(item) && game.clock() >= item.from);
        let near = items.filter_map(|item| {
            let distance = own.place().distance(item.place);
            let is_worth = distance < worth(item.kind) * ONE && distance / 2 < enemy_at;
            is_worth.then_some((distance, item.place))
        });
        near.min().map(|(_, place)| place)
    }

    /// Where to run and when to jump.
    fn steer(
        &mut self,
        tick: u64,
        own: &Character,
        enemy: Option<&Character>,
        game: &Sublockus,
    ) -> Steer {
        let terrain = game.terrain();
        if let Some((since, leap, has_left)) = self.leap {
            let passed = tick.saturating_sub(since) as u32;
            let is_over =
                passed > 110 || has_left && own.body.is_grounded || passed > 30 && !has_left;
            if !is_over {
                self.leap = Some((since, leap, has_left || !own.body.is_grounded));
                return leap.steer(passed);
            }
            self.leap = None;
            self.path.clear();
        }
        let Some(stand) = self.ways.stand_of(&own.body, &terrain) else {
            // Thrown, or falling.
            let goal = self.goal.map_or(own.place(), |goal| goal.place);
            return Steer {
                direction: (goal.x - own.place().x).signum() * i32::from(!own.body.is_grounded),
                ..Steer::default()
            };
        };
        if let Some(steer) = self.dodge(tick, own, enemy) {
            return steer;
        }
        let gait = Gait {
            speed: own.speed(),
            air_jumps: 0,
        };
        if self.path.is_empty()
            && let Some(goal) = self.goal
        {
            self.ways
                .find(stand, goal.place, gait, &terrain, &mut self.path);
        }
        while self.path.last().is_some_and(|(to, _)| *to == stand) {
            self.path.pop();
        }
        match self.path.last() {
            None => {
                // There, or as near as it gets.
                self.goal = None;
                Steer::default()
            }
            Some((to, walk @ Move::Walk { .. })) => {
                let way = self.ways.standing(*to).to(own.place());
                // A walk leads to the block beside; a bot that is elsewhere plans again.
                if way.x.abs() > 2 * ONE || way.y.abs() > ONE / 2 {
                    self.path.clear();
                    return Steer::default();
                }
                walk.steer(0)
            }
            Some((_, leap)) => {
                let leap = *leap;
                self.take_off(tick, own, stand, leap)
            }
        }
    }

    /// Gets to the middle of the block, stops there, and leaps.
    fn take_off(&mut self, tick: u64, own: &Character, stand: Stand, leap: Move) -> Steer {
        let speed = own.body.velocity.x;
        let stop = own.place().x + speed * speed.abs() / 36;
        let off = self.ways.standing(stand).x - stop;
        if off.abs() > 140 {
            return Steer {
                direction: off.signum(),
                ..Steer::default()
            };
        }
        // Whoever still holds on to the last jump lets go first.
        if speed.abs() > 40 || own.body.holds_jump {
            return Steer::default();
        }
        self.leap = Some((tick, leap, false));
        leap.steer(0)
    }

    /// Close to an enemy it does not stand still.
    fn dodge(&mut self, tick: u64, own: &Character, enemy: Option<&Character>) -> Option<Steer> {
        let way = own.place().to(enemy?.place());
        if way.length() > 2 * ONE || way.y.abs() > ONE {
            return None;
        }
        if tick >= self.dodge.0 {
            let direction = match self.rng.below(4) {
                0 => -way.x.signum(),
                1 => 0,
                _ => way.x.signum(),
            };
            self.dodge = (tick + 8 + u64::from(self.rng.below(12)), direction);
        }
        self.path.clear();
        Some(Steer {
            direction: self.dodge.1,
            jump: tick % 64 < 20 && self.dodge.1 != 0,
            down: false,
        })
    }

    fn fight(
        &mut self,
        tick: u64,
        own: &Character,
        enemy: &Character,
        game: &Sublockus,
        controls: &mut Controls,
    ) {
        let clock = game.clock();
        let (from, to) = (own.place(), enemy.place());
        let distance = from.distance(to);
        let sees = game.terrain().sees(from, to);
        if tick.is_multiple_of(6) || sees && tick >= self.attack_at {
            controls.aim = Angle::of(from.to(to));
        }
        if !sees || tick < self.attack_at || clock < own.safe_until {
            return;
        }
        let gap = from.to(to);
        let is_close = gap.x.abs() < HALF.x + ONE && gap.y.abs() < HALF.y + ONE;
        let ability = match () {
            () if is_close && own.can_cast(Ability::Strike, clock) => Ability::Strike,
            () if distance < 20 * ONE && own.can_cast(Ability::Bolt, clock) => Ability::Bolt,
            () if (2 * ONE..14 * ONE).contains(&distance)
                && own.can_cast(Ability::Fireball, clock) =>
            {
                Ability::Fireball
            }
            () => return,
        };
        let lead = match ability {
            Ability::Fireball => distance / FIREBALL_SPEED,
            _ => 0,
        };
        let velocity = enemy.body.velocity;
        let to = to.offset(Place::new(velocity.x * lead, velocity.y.min(0) * lead / 2));
        let beside = self.rng.range(-self.clumsiness..self.clumsiness + 1);
        controls.aim = Angle::of(from.to(to)).turned(beside);
        controls.cast = Some(ability);
        // Nobody reacts at once.
        self.attack_at = tick + self.reaction + u64::from(self.rng.below(14));
    }

    /// Drinks, puts on, and throws away.
    fn handle(&mut self, tick: u64, own: &Character, game: &Sublockus) -> Act {
        if let Some(id) = self.fireball_to_burst(own, game) {
            return id;
        }
        if !(tick + u64::from(self.player.0)).is_multiple_of(10) {
            return Act::None;
        }
        let pockets = || (0..).zip(own.kit.pockets.iter().copied());
        let use_first = |wanted: &dyn Fn(ItemKind) -> bool| {
            let found = pockets().find(|(_, kind)| wanted(*kind));
            found.map(|(pocket, _)| Act::Use(pocket))
        };
        let is_new = |kind: ItemKind| kind.part().is_some_and(|part| own.kit.worn(part).is_none());
        let drinks = |kind: ItemKind| match kind {
            ItemKind::Potion => own.health < HEALTH / 2,
            ItemKind::Elixir => own.mana < 20,
            _ => false,
        };
        let act = use_first(&drinks).or_else(|| use_first(&is_new));
        let is_full = own.kit.pockets.is_full();
        act.or_else(|| is_full.then_some(Act::Drop(0)))
            .unwrap_or_default()
    }

    /// A fireball of its own that would fly past an enemy.
    fn fireball_to_burst(&self, own: &Character, game: &Sublockus) -> Option<Act> {
        let clock = game.clock();
        let own_ones = game.projectiles().iter();
        let mut own_ones = own_ones.filter(|(_, ball)| ball.player == own.player);
        let reach = Ability::Fireball.stats().reach;
        let passes = own_ones.find(|(_, ball)| {
            let next = ball
                .place
                .offset(Place::new(ball.velocity.x, ball.velocity.y));
            game.characters().as_slice().iter().any(|other| {
                let (now, then) = (
                    ball.place.distance(other.place()),
                    next.distance(other.place()),
                );
                other.player != own.player && other.is_target(clock) && now < reach && then > now
            })
        });
        passes.map(|(id, _)| Act::Detonate(id))
    }
}
