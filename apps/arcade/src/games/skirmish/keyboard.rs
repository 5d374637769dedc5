//! How Skirmish is played by hand.

use eframe::egui::Pos2;
use samestep_catalog::skirmish::{
    BuildingId, BuildingKind, Command, Order, SideId, Skirmish, UnitKind,
};
use samestep_sync::PlayerId;

use super::view_state::{Act, DOUBLE, Make, ViewState, unit_name};
use super::{map_of, spot};
use crate::drawn::{Button, HumanInput};

/// The keys of the game.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("Directions, wheel", "look elsewhere, nearer, farther"),
    (
        "Action 1",
        "drag a circle: these units are a squad; click on a unit: choose its squad",
    ),
    (
        "Action 2",
        "the squad goes there and fights; twice: without fighting; on a mine: workers dig; on your barracks or hall: those trained there join the squad",
    ),
    (
        "Action 3",
        "train and build: then 1 worker, 2 spear, 3 archer, 4 knight, 5 barracks, 6 hall",
    ),
    ("Action 4", "the same once more"),
    ("1 to 8", "choose a squad; twice: look at it"),
];

/// The largest radius that a command can hold.
const WIDEST: f32 = 63.0;
/// A shorter way is a click, in units.
const CLICK: f32 = 1.2;
/// How near to a unit, a mine or a building a click means it.
const NEAR: f32 = 3.0;
/// Buildings stand this far from each other, and at most this far from one of the same side.
const APART: f32 = 6.0;
const WITHIN: f32 = 24.0;

/// A circle around units as commands hold it: in whole units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Circle {
    pub(super) centre: Pos2,
    pub(super) radius: f32,
}

impl Circle {
    /// The circle on which two opposite places lie.
    pub(super) fn across(from: Pos2, to: Pos2) -> Circle {
        let centre = from + (to - from) / 2.0;
        Circle {
            centre: Pos2::new(centre.x.round().max(0.0), centre.y.round().max(0.0)),
            radius: ((to - from).length() / 2.0).ceil().min(WIDEST),
        }
    }

    pub(super) fn contains(&self, place: Pos2) -> bool {
        (place - self.centre).length_sq() <= self.radius * self.radius
    }
}

/// Translates the input of a person who sees this state into a command.
pub(super) fn act(
    game: &Skirmish,
    player: PlayerId,
    view_state: &mut ViewState,
    human: &HumanInput,
) -> Command {
    view_state.camera.follow(human, map_of(game));
    view_state.age();
    let Some(side) = game.side_of(player) else {
        return Command::None;
    };
    let is_over = game.winner().is_some() || game.sides()[side.index()].is_defeated;
    if let Some(place) = cursor(view_state, human).filter(|_| !is_over) {
        view_state.squad.get_or_insert(1);
        let mut player = Player {
            game,
            side,
            view_state,
        };
        player.select(place, human.button(0));
        player.order(place, human.button(1));
        player.make(place, human);
        player.choose(human);
    }
    view_state.queue.pop_front().unwrap_or_default()
}

/// The place that inputs refer to: the mouse, its last position, or without one the middle of the screen.
fn cursor(view_state: &mut ViewState, human: &HumanInput) -> Option<Pos2> {
    if let Some(pointer) = &human.pointer {
        view_state.pointed = Some(pointer.place);
    }
    let middle = human.seen.map(|seen| seen.center());
    view_state.crosshair = middle.filter(|_| view_state.pointed.is_none());
    view_state.pointed.or(middle)
}

/// A place as commands hold it.
fn whole(place: Pos2) -> (u16, u16) {
    let along = |at: f32| at.round().clamp(0.0, 2047.0) as u16;
    (along(place.x), along(place.y))
}

struct Player<'a> {
    game: &'a Skirmish,
    side: SideId,
    view_state: &'a mut ViewState,
}

impl Player<'_> {
    fn say(&mut self, command: Command) {
        self.view_state.queue.push_back(command);
    }

    /// A circle is drawn around units, or one is clicked on.
    fn select(&mut self, place: Pos2, button: Button) {
        if button.pressed {
            self.view_state.drag = Some((place, place));
        }
        let Some((from, to)) = &mut self.view_state.drag else {
            return;
        };
        *to = place;
        let (from, is_click) = (*from, (place - *from).length() < CLICK);
        if button.held && !button.released {
            return;
        }
        self.view_state.drag = None;
        match is_click {
            true => self.choose_at(place),
            false => self.gather_in(Circle::across(from, place)),
        }
    }

    /// Chooses the squad of the unit that is meant.
    fn choose_at(&mut self, place: Pos2) {
        let own = self.game.units().as_slice().iter();
        let own = own.filter(|unit| unit.side == self.side);
        let distance =
            |unit: &samestep_catalog::skirmish::Unit| (spot(unit.place) - place).length_sq();
        let nearest = own.min_by(|one, other| distance(one).total_cmp(&distance(other)));
        if let Some(unit) = nearest.filter(|unit| distance(unit) < NEAR * NEAR) {
            self.view_state.squad = Some(unit.squad);
        }
    }

    /// Soldiers in a circle, or workers if there are no soldiers, become a squad of their own.
    fn gather_in(&mut self, circle: Circle) {
        let (mut soldiers, mut workers) = (Group::default(), Group::default());
        for unit in self.game.units().as_slice() {
            if unit.side == self.side && circle.contains(spot(unit.place)) {
                match unit.kind.is_soldier() {
                    true => soldiers.add(unit.squad),
                    false => workers.add(unit.squad),
                }
            }
        }
        let (group, kinds) = match soldiers.count {
            0 => (workers, 0b0001),
            _ => (soldiers, 0b1110),
        };
        let Some(first) = group.squad else { return };
        let squads = self.game.squads(self.side);
        let is_whole = |squad: u8| {
            let squad = squads.get(usize::from(squad));
            squad.is_some_and(|squad| squad.len() == group.count)
        };
        if !group.is_mixed && is_whole(first) {
            self.view_state.squad = Some(first);
            return;
        }
        let squad = self.free_squad();
        let (x, y) = whole(circle.centre);
        self.view_state.take(squad);
        self.view_state.squad = Some(squad);
        self.view_state
            .mark(Act::Select(circle.radius), circle.centre);
        self.say(Command::Select {
            squad,
            kinds,
            x,
            y,
            radius: circle.radius as u8,
        });
    }

    /// The first squad without units, but not those that new ones join; or the one that is chosen.
    fn free_squad(&self) -> u8 {
        let squads = self
            .game
            .squads(self.side)
            .iter()
            .zip(&self.view_state.taken);
        let mut free = squads.enumerate().skip(2);
        let free = free.find(|(_, (squad, taken))| squad.is_empty() && **taken == 0);
        let chosen = self
            .view_state
            .squad
            .filter(|squad| *squad > 0)
            .unwrap_or(1);
        free.map_or(chosen, |(at, _)| at as u8)
    }

    /// The chosen squad is sent somewhere.
    fn order(&mut self, place: Pos2, button: Button) {
        let Some(squad) = self.view_state.squad.filter(|_| button.pressed) else {
            return;
        };
        if let Some(building) = self.own_building_at(place) {
            self.view_state.mark(Act::Make, place);
            self.view_state
                .say(format!("Those trained there join squad {}.", squad + 1));
            return self.say(Command::Rally { building, squad });
        }
        let mut mines = self.game.mines().iter();
        let is_mine =
            mines.any(|mine| mine.gold > 0 && (spot(mine.place) - place).length_sq() < NEAR * NEAR);
        let workers = self.game.squads(self.side).get(usize::from(squad));
        let has_workers = workers.is_some_and(|squad| squad.size[UnitKind::Worker as usize] > 0);
        let last = self.view_state.last_order.take();
        let is_double = last.is_some_and(|(last, _)| (place - last).length() < NEAR);
        let (order, act) = match (is_mine && has_workers, is_double) {
            (true, _) => (Order::Gather, Act::Gather),
            (false, true) => (Order::Move, Act::Move),
            (false, false) => (Order::Attack, Act::Attack),
        };
        self.view_state.last_order = (!is_double).then_some((place, DOUBLE));
        self.view_state.mark(act, place);
        let (x, y) = whole(place);
        self.say(Command::Order { squad, order, x, y });
    }

    fn own_building_at(&self, place: Pos2) -> Option<BuildingId> {
        let is_meant = |building: &samestep_catalog::skirmish::Building| {
            building.side == Some(self.side)
                && building.kind != BuildingKind::Outpost
                && (spot(building.place) - place).length_sq() < NEAR * NEAR
        };
        let at = self.game.buildings().iter().position(is_meant)?;
        Some(BuildingId(at as u16))
    }

    /// Something is trained or built.
    fn make(&mut self, place: Pos2, human: &HumanInput) {
        if human.actions[2].pressed {
            self.view_state.is_making = !self.view_state.is_making;
        }
        let chosen = human.digit.filter(|_| self.view_state.is_making);
        let chosen = chosen.and_then(|digit| Make::ALL.get(usize::from(digit).checked_sub(1)?));
        let again = self.view_state.made.filter(|_| human.actions[3].pressed);
        let Some(make) = chosen.copied().or(again) else {
            return;
        };
        self.view_state.made = Some(make);
        match make {
            Make::Unit(kind) => self.train(place, kind),
            Make::Building(kind) => self.build(place, kind),
        }
    }

    /// The building that is nearest and soonest ready trains one more.
    fn train(&mut self, place: Pos2, kind: UnitKind) {
        let mut best: Option<(f32, BuildingId, u8)> = None;
        for (at, building) in self.game.buildings().iter().enumerate() {
            let stands = building.side == Some(self.side) && building.unfinished == 0;
            if !stands || !building.kind.trains(kind) {
                continue;
            }
            let id = BuildingId(at as u16);
            let asked = self.view_state.asked.filter(|asked| asked.building == id);
            let (training, queue) = match asked {
                Some(asked) => (asked.kind, asked.count.max(1)),
                None => (building.training, building.queue),
            };
            // One that is at something else first finishes that.
            let busy = match (queue, training == kind) {
                (0, _) => 0.0,
                (_, true) => 8.0 * f32::from(queue),
                (_, false) => 1000.0,
            };
            let score = (spot(building.place) - place).length() + busy;
            let count = if training == kind { queue + 1 } else { 1 };
            if best.is_none_or(|(least, ..)| score < least) {
                best = Some((score, id, count.min(31)));
            }
        }
        let Some((_, building, count)) = best else {
            let place = if kind.is_soldier() {
                "barracks"
            } else {
                "hall"
            };
            return self
                .view_state
                .say(format!("A {} is trained in a {place}.", unit_name(kind)));
        };
        self.view_state.ask(building, kind, count);
        if let Some(at) = self.game.buildings().get(building.index()) {
            self.view_state.mark(Act::Make, spot(at.place));
        }
        if self.gold() < kind.stats().cost {
            self.view_state
                .say(format!("The {} waits for gold.", unit_name(kind)));
        }
        self.say(Command::Train {
            building,
            kind,
            count,
        });
    }

    /// A building is begun, if it can be.
    fn build(&mut self, place: Pos2, kind: BuildingKind) {
        let make = Make::Building(kind);
        let (x, y) = whole(place);
        let place = Pos2::new(f32::from(x), f32::from(y));
        let distance = |building: &samestep_catalog::skirmish::Building| {
            (spot(building.place) - place).length_sq()
        };
        let mut all = self.game.buildings().iter();
        let is_crowded = all.any(|building| distance(building) <= APART * APART);
        let mut own = self
            .game
            .buildings()
            .iter()
            .filter(|building| building.side == Some(self.side) && building.unfinished == 0);
        let is_near = own.any(|building| distance(building) <= WITHIN * WITHIN);
        let refusal = match (self.gold() >= make.cost(), is_near, is_crowded) {
            (false, ..) => format!("A {} costs {} gold.", make.name(), make.cost()),
            (_, false, _) => "Build within 24 units of a building of yours.".to_string(),
            (_, _, true) => "Too near to another building.".to_string(),
            (true, true, false) => {
                self.view_state.is_making = false;
                self.view_state.mark(Act::Make, place);
                return self.say(Command::Build { kind, x, y });
            }
        };
        self.view_state.say(refusal);
    }

    fn gold(&self) -> u32 {
        self.game.sides()[self.side.index()].gold
    }

    /// A digit chooses a squad.
    fn choose(&mut self, human: &HumanInput) {
        let digit = human.digit.filter(|_| !self.view_state.is_making);
        let Some(squad) = digit.filter(|digit| (1..=8).contains(digit)) else {
            return;
        };
        let squad = squad - 1;
        self.view_state.squad = Some(squad);
        let last = self.view_state.last_digit.replace((squad, DOUBLE));
        if last.is_some_and(|(last, _)| last == squad) {
            let units = self.game.units().as_slice().iter();
            let of = units.filter(|unit| unit.side == self.side && unit.squad == squad);
            let (count, sum) = of.fold((0.0, eframe::egui::Vec2::ZERO), |(count, sum), unit| {
                (count + 1.0, sum + spot(unit.place).to_vec2())
            });
            if count > 0.0 {
                self.view_state
                    .camera
                    .look_at((sum / count).to_pos2(), human);
            }
        }
    }
}

/// Units in a circle.
#[derive(Clone, Copy, Default)]
struct Group {
    count: u32,
    squad: Option<u8>,
    /// They are of several squads.
    is_mixed: bool,
}

impl Group {
    fn add(&mut self, squad: u8) {
        self.is_mixed |= self.squad.is_some_and(|first| first != squad);
        self.squad = Some(squad);
        self.count += 1;
    }
}
