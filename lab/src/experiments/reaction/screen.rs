//! What a player's pictures show of what it does: boxes, projectiles, stars and items, and how long it waited for each.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_catalog::hat_hunters::{Cell, Ground, HatHunters, Place, Projectile, RADIUS, THING};
use samestep_sync::{EntityId, PlayerId};

use crate::experiments::update_window::theirs::{Kind, Reactions};

/// What is not to be seen so long after a key does not come any more.
const PATIENCE: Duration = Duration::from_secs(3);

/// Something that was seen to happen longer ago has nothing to do with what comes of it.
const RECENT: Duration = Duration::from_secs(1);

/// How far a character may be from where it is shown, in units: what it walks in two ticks.
const PICTURE_BEHIND: i32 = 160;

/// The pictures of one player, and what it waits for.
#[derive(Debug)]
pub(super) struct Screen {
    player: PlayerId,
    before: Option<Picture>,
    box_key: Option<BoxKey>,
    shot_key: Option<Duration>,
    /// When the own character was first seen to touch stars and containers that it may get something from.
    touched: BTreeMap<(Kind, EntityId), Duration>,
    /// When a projectile was seen to hit a box that is still there.
    hit: BTreeMap<Cell, Duration>,
    flights: BTreeMap<EntityId, Flight>,
    pub(super) reactions: Reactions,
}

/// A key that places a box, and the cell that the picture shows it to be for.
#[derive(Clone, Copy, Debug)]
struct BoxKey {
    at: Duration,
    cell: Option<Cell>,
}

/// A projectile of the own character, as the last picture showed it.
#[derive(Clone, Copy, Debug)]
struct Flight {
    shown: Projectile,
    /// The last picture in which it flew on.
    flew: Duration,
}

/// What one picture shows.
#[derive(Clone, Debug)]
struct Picture {
    at: Duration,
    round: u16,
    stars: Vec<(EntityId, Place)>,
    containers: Vec<(EntityId, Place)>,
    boxes: Vec<Cell>,
    own_stars: u8,
    has_item: bool,
}

impl Picture {
    fn of(at: Duration, game: &HatHunters, player: PlayerId) -> Option<Picture> {
        let purse = game.purse_of(player)?;
        let field = game.field();
        let cells = (0..field.height()).flat_map(|row| (0..field.width()).map(move |c| (c, row)));
        let boxes = cells.filter(|(column, row)| field.ground(*column, *row) == Ground::Box);
        let containers = game.containers().iter();
        let ripe = game.stars().iter();
        let ripe = ripe.filter(|(_, star)| star.from <= game.clock());
        Some(Picture {
            at,
            round: game.round().number,
            stars: ripe.map(|(id, star)| (id, star.place)).collect(),
            containers: containers.map(|(id, it)| (id, it.cell.middle())).collect(),
            boxes: boxes
                .map(|(column, row)| Cell::new(column as u8, row as u8))
                .collect(),
            own_stars: purse.stars,
            has_item: purse.item.is_some(),
        })
    }
}

impl Screen {
    pub(super) fn new(player: PlayerId) -> Screen {
        Screen {
            player,
            before: None,
            box_key: None,
            shot_key: None,
            touched: BTreeMap::new(),
            hit: BTreeMap::new(),
            flights: BTreeMap::new(),
            reactions: Reactions::default(),
        }
    }

    /// Whether it waits for what comes of a key.
    pub(super) fn waits(&self) -> bool {
        self.box_key.is_some() || self.shot_key.is_some()
    }

    /// The key that places a box is pressed.
    pub(super) fn press_box(&mut self, at: Duration) {
        self.reactions.keys += 1;
        self.box_key = Some(BoxKey { at, cell: None });
    }

    /// The key that shoots is pressed.
    pub(super) fn press_shot(&mut self, at: Duration) {
        self.reactions.keys += 1;
        self.shot_key = Some(at);
    }

    /// A picture is drawn.
    pub(super) fn see(&mut self, at: Duration, game: &HatHunters) {
        let own = game
            .hunter(self.player)
            .and_then(|hunter| Some((hunter.character, game.characters().get(hunter.character)?)));
        let picture = Picture::of(at, game, self.player).filter(|_| !game.round().is_over());
        let (Some((id, character)), Some(picture)) = (own, picture) else {
            return self.forget();
        };
        let goes_on = |before: &Picture| before.round == picture.round;
        let Some(before) = self.before.take().filter(goes_on) else {
            self.forget();
            self.before = Some(picture);
            return;
        };
        self.see_box(at, character.silhouette.map(|it| it.cell), &picture);
        let place = character.place();
        self.see_things(Kind::Star, place, &before, &picture);
        // Full hands take nothing.
        if !before.has_item {
            self.see_things(Kind::Item, place, &before, &picture);
        }
        self.touched.retain(|_, since| at - *since < RECENT);
        self.see_flights(at, id, game, &before, &picture);
        self.before = Some(picture);
    }

    /// Another round, or a break: what was awaited in the last one does not come.
    fn forget(&mut self) {
        let keys = u64::from(self.box_key.is_some()) + u64::from(self.shot_key.is_some());
        let reactions = std::mem::take(&mut self.reactions);
        *self = Screen {
            reactions: Reactions {
                keys: reactions.keys - keys,
                ..reactions
            },
            ..Screen::new(self.player)
        };
    }

    fn note(&mut self, kind: Kind, since: Duration, now: Duration) {
        let ms = (now - since).as_secs_f64() * 1e3;
        self.reactions.delays.entry(kind).or_default().push(ms);
    }

    fn see_box(&mut self, now: Duration, silhouette: Option<Cell>, picture: &Picture) {
        let Some(key) = &mut self.box_key else {
            return;
        };
        key.cell = key.cell.or(silhouette);
        let BoxKey { at, cell } = *key;
        if cell.is_some_and(|cell| picture.boxes.contains(&cell)) {
            self.box_key = None;
            self.note(Kind::Box, at, now);
        } else if silhouette.is_none() && now - at > PATIENCE {
            self.box_key = None;
            self.reactions.lost += 1;
        }
    }

    /// Stars or containers: the own character touches some, and has what it gains.
    fn see_things(&mut self, kind: Kind, place: Place, before: &Picture, picture: &Picture) {
        let (were, are, gains) = match kind {
            Kind::Star => {
                let gains = picture.own_stars > before.own_stars;
                (&before.stars, &picture.stars, gains)
            }
            _ => {
                let gains = picture.has_item && !before.has_item;
                (&before.containers, &picture.containers, gains)
            }
        };
        for (id, _) in are.iter().filter(|(_, thing)| touches(place, *thing)) {
            self.touched.entry((kind, *id)).or_insert(picture.at);
        }
        let is_there = |id: EntityId| are.iter().any(|(other, _)| *other == id);
        // What is gone at once was never shown being touched: pictures are up to a tick behind.
        let reach = RADIUS + THING + PICTURE_BEHIND;
        let near = were
            .iter()
            .filter(|(_, thing)| place.is_within(*thing, reach));
        for (id, _) in near.filter(|(id, _)| !is_there(*id)) {
            self.touched.entry((kind, *id)).or_insert(before.at);
        }
        if gains {
            // What it gains is gone; of several it is what was touched last.
            let gone = self.touched.iter();
            let gone = gone.filter(|((of, id), _)| *of == kind && !is_there(*id));
            let last = gone.max_by_key(|(_, since)| **since);
            let (key, since) = last.map_or((None, before.at), |(key, since)| (Some(*key), *since));
            key.and_then(|key| self.touched.remove(&key));
            self.note(kind, since, picture.at);
        }
    }

    fn see_flights(
        &mut self,
        now: Duration,
        own: EntityId,
        game: &HatHunters,
        before: &Picture,
        picture: &Picture,
    ) {
        if self.shot_key.is_some_and(|at| now - at > PATIENCE) {
            self.shot_key = None;
            self.reactions.lost += 1;
        }
        for (id, projectile) in game.projectiles().iter().filter(|(_, it)| it.by == own) {
            let shown = *projectile;
            let Some(flight) = self.flights.get_mut(&id) else {
                self.flights.insert(id, Flight { shown, flew: now });
                if let Some(at) = self.shot_key.take() {
                    self.note(Kind::Projectile, at, now);
                }
                continue;
            };
            let was = std::mem::replace(&mut flight.shown, shown);
            if shown.bounces > was.bounces {
                let since = std::mem::replace(&mut flight.flew, now);
                self.note(Kind::Bounce, since, now);
                if let Some(cell) = box_ahead(&was, &before.boxes) {
                    self.hit.insert(cell, now);
                }
            } else if shown.place != was.place {
                flight.flew = now;
            }
        }
        let gone = self
            .hit
            .iter()
            .filter(|(cell, _)| !picture.boxes.contains(cell));
        let gone: Vec<(Cell, Duration)> = gone.map(|(cell, hit)| (*cell, *hit)).collect();
        for (cell, hit) in gone {
            // One that is gone at once was there in the picture before.
            let since = if hit == now { before.at } else { hit };
            self.hit.remove(&cell);
            self.note(Kind::BoxRemoved, since, now);
        }
        self.hit.retain(|_, hit| now - *hit < RECENT);
    }
}

/// Whether a character at a place touches a star or a container at another.
fn touches(place: Place, thing: Place) -> bool {
    place.is_within(thing, RADIUS + THING)
}

/// The box that a projectile flies against next, if it is one.
fn box_ahead(projectile: &Projectile, boxes: &[Cell]) -> Option<Cell> {
    let Projectile {
        place, velocity, ..
    } = *projectile;
    (1..=3).find_map(|ticks| {
        let to = place.offset(Place::new(velocity.x * ticks, velocity.y * ticks));
        let ways = [Place::new(to.x, place.y), Place::new(place.x, to.y), to];
        let mut cells = ways.map(Place::cell).into_iter();
        cells.find(|cell| boxes.contains(cell))
    })
}
