//! A player that is a program.

use samestep_playable::Level;
use samestep_sync::{PlayerId, Rng, Tick};

use crate::building::{Building, BuildingId, BuildingKind};
use crate::command::Command;
use crate::place::{ONE, Place};
use crate::side::{Order, SQUADS, SideId};
use crate::skirmish::Skirmish;
use crate::unit::UnitKind;

/// Ticks between decisions.
const PERIOD: u64 = 15;

/// The squad of those who wait and defend, and those that go out.
const RESERVE: usize = 1;
const CAMPAIGNS: core::ops::Range<usize> = 2..SQUADS;

/// Ticks after which a campaign that has not succeeded looks for another goal.
const PATIENCE: u64 = 60 * 60;

/// How near an enemy must come to a building of its side to be driven away.
const ALARM: i32 = 18 * ONE;

/// Plays one side: gathers, builds, attacks in groups, defends, captures.
///
/// What it does follows from its seed and the states it is shown. It looks only at what its side sees or has seen, and acts
/// through commands, as anybody does.
#[derive(Clone, Debug)]
pub struct Bot {
    player: PlayerId,
    rng: Rng,
    campaigns: [Campaign; SQUADS],
    /// Soldiers it wants to have before it goes out.
    courage: u32,
    /// Ticks between decisions.
    period: u64,
}

/// The goal of a squad.
#[derive(Clone, Copy, Debug, Default)]
struct Campaign {
    goal: Option<Goal>,
    /// How many set out.
    strength: u32,
    since: u64,
    is_retreating: bool,
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    Building(BuildingId),
    /// Somewhere, to see what is there.
    Anywhere(Place),
}

/// Its units and the enemies it sees, counted once for a decision.
struct Survey {
    side: SideId,
    base: Place,
    gold: u32,
    squads: [Group; SQUADS],
    workers: u32,
    barracks: u32,
    outposts: u32,
    /// Enemies seen, by kind.
    seen: [u32; 4],
    /// An enemy near one of its buildings.
    intruder: Option<Place>,
}

#[derive(Clone, Copy, Default)]
struct Group {
    count: u32,
    sum: (i64, i64),
}

impl Group {
    fn centre(&self) -> Option<Place> {
        let count = i64::from(self.count);
        (count > 0).then(|| Place {
            x: (self.sum.0 / count) as i32,
            y: (self.sum.1 / count) as i32,
        })
    }
}

impl Bot {
    /// A bot that plays for `player`; bots of the same seed but different players differ.
    pub fn new(seed: u64, player: PlayerId) -> Self {
        let mut rng = Rng::new(samestep_sync::random::hash(seed, u64::from(player.0), 0));
        let courage = 12 + rng.below(16);
        Self {
            player,
            rng,
            campaigns: Default::default(),
            courage,
            period: PERIOD,
        }
    }

    /// The same, playing so well: how often it decides.
    #[must_use]
    pub fn at(mut self, level: Level) -> Self {
        self.period = match level {
            Level::Easy => 6 * PERIOD,
            Level::Normal => PERIOD,
            Level::Hard => PERIOD / 3,
        };
        self
    }

    /// Whom it plays for.
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// Its command in this tick: mostly none.
    pub fn decide(&mut self, tick: Tick, game: &Skirmish) -> Option<Command> {
        if !(tick.0 + 3 * u64::from(self.player.0)).is_multiple_of(self.period) {
            return None;
        }
        let side = game.side_of(self.player)?;
        if game.sides()[side.index()].is_defeated || game.winner().is_some() {
            return None;
        }
        let survey = Survey::new(game, side)?;
        self.defend(game, &survey)
            .or_else(|| self.train_workers(game, &survey))
            .or_else(|| self.train_soldiers(game, &survey))
            .or_else(|| self.build(game, &survey))
            .or_else(|| self.campaign(tick.0, game, &survey))
    }

    /// The reserve goes where an enemy comes near.
    fn defend(&mut self, game: &Skirmish, survey: &Survey) -> Option<Command> {
        let reserve = game.squads(survey.side).get(RESERVE)?;
        if reserve.is_empty() {
            return None;
        }
        let place = survey.intruder.unwrap_or(survey.base);
        let is_there = reserve.place.is_near(place, 8 * ONE);
        let is_told = reserve.order != Order::Move && is_there;
        (!is_told).then(|| order(RESERVE, Order::Attack, place))
    }

    fn train_workers(&mut self, game: &Skirmish, survey: &Survey) -> Option<Command> {
        let wanted = (10 + 4 * survey.outposts).min(30).min(game.max_units() / 4);
        if survey.workers >= wanted || survey.gold < UnitKind::Worker.stats().cost {
            return None;
        }
        self.train(game, survey, BuildingKind::Hall, UnitKind::Worker, 2)
    }

    fn train_soldiers(&mut self, game: &Skirmish, survey: &Survey) -> Option<Command> {
        let most_seen = (1..4).max_by_key(|kind| survey.seen[*kind])?;
        let kind = match (self.rng.below(2), most_seen) {
            // The kind that is strong against them.
            (0, 1) if survey.seen[1] > 0 => UnitKind::Archer,
            (0, 2) if survey.seen[2] > 0 => UnitKind::Knight,
            (0, 3) if survey.seen[3] > 0 => UnitKind::Spear,
            _ => UnitKind::ALL[1 + self.rng.below(3) as usize],
        };
        if survey.gold < kind.stats().cost {
            return None;
        }
        let count = 2 + self.rng.below(4) as u8;
        self.train(game, survey, BuildingKind::Barracks, kind, count)
    }

    fn train(
        &mut self,
        game: &Skirmish,
        survey: &Survey,
        at: BuildingKind,
        kind: UnitKind,
        count: u8,
    ) -> Option<Command> {
        if game.sides()[survey.side.index()].units >= game.max_units() {
            return None;
        }
        let is_idle = |building: &Building| {
            building.kind == at && building.queue == 0 && building.works_for(survey.side)
        };
        let building = game.buildings().iter().position(is_idle)?;
        Some(Command::Train {
            building: BuildingId(building as u16),
            kind,
            count,
        })
    }

    /// More barracks as more gold comes in.
    fn build(&mut self, game: &Skirmish, survey: &Survey) -> Option<Command> {
        let gathered = game.sides()[survey.side.index()].gathered;
        let wanted = (1 + gathered / 1200).min(6);
        let kind = BuildingKind::Barracks;
        if survey.barracks >= wanted || survey.gold < kind.cost()? + 40 {
            return None;
        }
        let mut away = || self.rng.range(-18..19) * ONE;
        let place = survey.base.offset(away(), away()).within(game.size());
        let is_free = |building: &Building| !building.place.is_near(place, 7 * ONE);
        let is_free = game.buildings().iter().all(is_free);
        let (x, y) = place.units();
        is_free.then_some(Command::Build { kind, x, y })
    }

    /// Squads set out, go from goal to goal, and come home when they have lost too many.
    fn campaign(&mut self, tick: u64, game: &Skirmish, survey: &Survey) -> Option<Command> {
        CAMPAIGNS
            .into_iter()
            .find_map(|squad| match survey.squads[squad].centre() {
                None => self.set_out(squad, survey),
                Some(centre) => self.go_on(squad, centre, tick, game, survey),
            })
    }

    fn set_out(&mut self, squad: usize, survey: &Survey) -> Option<Command> {
        self.campaigns[squad] = Campaign::default();
        let reserve = survey.squads[RESERVE].count;
        // The first is small and goes for outposts, the others are armies.
        let (wanted, kept) = match squad == CAMPAIGNS.start {
            true => (8, 4),
            false => (self.courage.max(reserve / 3), self.courage / 3),
        };
        if reserve < wanted + kept || survey.intruder.is_some() {
            return None;
        }
        self.courage = (self.courage + 4).min(80);
        self.campaigns[squad].strength = wanted;
        Some(Command::Muster {
            from: RESERVE as u8,
            into: squad as u8,
            count: wanted as u16,
        })
    }

    fn go_on(
        &mut self,
        squad: usize,
        centre: Place,
        tick: u64,
        game: &Skirmish,
        survey: &Survey,
    ) -> Option<Command> {
        let campaign = self.campaigns[squad];
        let count = survey.squads[squad].count;
        if campaign.is_retreating {
            let is_home = centre.is_near(survey.base, 12 * ONE) || tick > campaign.since + PATIENCE;
            return is_home.then_some(Command::Muster {
                from: squad as u8,
                into: RESERVE as u8,
                count: 1023,
            });
        }
        if count * 3 < campaign.strength {
            self.campaigns[squad].is_retreating = true;
            self.campaigns[squad].since = tick;
            return Some(order(squad, Order::Move, survey.base));
        }
        let is_open = campaign.goal.is_some_and(|goal| match goal {
            Goal::Building(id) => game
                .buildings()
                .get(id.index())
                .is_some_and(|b| b.side != Some(survey.side)),
            Goal::Anywhere(place) => !centre.is_near(place, 10 * ONE),
        });
        if is_open && tick < campaign.since + PATIENCE {
            return None;
        }
        let (goal, place) = self.choose(squad, centre, game, survey);
        self.campaigns[squad] = Campaign {
            goal: Some(goal),
            strength: campaign.strength.max(count),
            since: tick,
            is_retreating: false,
        };
        Some(order(squad, Order::Attack, place))
    }

    /// The nearest building to be had, with some caprice, or a place to be explored.
    fn choose(
        &mut self,
        squad: usize,
        centre: Place,
        game: &Skirmish,
        survey: &Survey,
    ) -> (Goal, Place) {
        let is_small = squad == CAMPAIGNS.start;
        let mut best: Option<(u64, BuildingId, Place)> = None;
        for (at, building) in game.buildings().iter().enumerate() {
            let is_known = game.has_explored(survey.side, building.place);
            let is_meant = building.side != Some(survey.side)
                && (!is_small || building.kind == BuildingKind::Outpost);
            if !is_known || !is_meant {
                continue;
            }
            let distance = centre.distance_squared(building.place).isqrt() / ONE as u64;
            // Armies would rather have a hall than an outpost.
            let worth = match building.kind {
                BuildingKind::Hall => 0,
                BuildingKind::Barracks => 10,
                BuildingKind::Outpost => 20,
            };
            let score = distance + worth + u64::from(self.rng.below(24));
            let choice = (score, BuildingId(at as u16), building.place);
            if best.is_none_or(|(least, ..)| score < least) {
                best = Some(choice);
            }
        }
        if let Some((_, id, place)) = best {
            return (Goal::Building(id), place);
        }
        let mut anywhere = || self.rng.below(u32::from(game.size())) as u16;
        let place = Place::new(anywhere(), anywhere()).within(game.size());
        (Goal::Anywhere(place), place)
    }
}

impl Survey {
    fn new(game: &Skirmish, side: SideId) -> Option<Self> {
        let own = || {
            game.buildings()
                .iter()
                .filter(|building| building.side == Some(side))
        };
        let count = |kind| own().filter(|building| building.kind == kind).count() as u32;
        let hall = own().find(|building| building.kind == BuildingKind::Hall);
        let places: Vec<Place> = own().map(|building| building.place).collect();
        let mut survey = Self {
            side,
            base: hall.or_else(|| own().next())?.place,
            gold: game.sides()[side.index()].gold,
            squads: Default::default(),
            workers: 0,
            barracks: count(BuildingKind::Barracks),
            outposts: count(BuildingKind::Outpost),
            seen: [0; 4],
            intruder: None,
        };
        for unit in game.units().as_slice() {
            if unit.side == side {
                survey.workers += u32::from(unit.kind == UnitKind::Worker);
                if let Some(group) = survey.squads.get_mut(usize::from(unit.squad)) {
                    group.count += 1;
                    group.sum.0 += i64::from(unit.place.x);
                    group.sum.1 += i64::from(unit.place.y);
                }
            } else if unit.kind.is_soldier() && game.sees(side, unit.place) {
                survey.seen[unit.kind as usize] += 1;
                if survey.intruder.is_none()
                    && places.iter().any(|place| place.is_near(unit.place, ALARM))
                {
                    survey.intruder = Some(unit.place);
                }
            }
        }
        Some(survey)
    }
}

fn order(squad: usize, order: Order, place: Place) -> Command {
    let (x, y) = place.units();
    Command::Order {
        squad: squad as u8,
        order,
        x,
        y,
    }
}
