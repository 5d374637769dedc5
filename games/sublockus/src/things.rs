//! Items in the arena: picked up, used, dropped, and back again.

use samestep_sync::{EntityId, Events, random};

use crate::arena::Pad;
use crate::character::Character;
use crate::controls::Act;
use crate::event::SublockusEvent;
use crate::item::{BACK, Item, ItemKind, LITTER, SETTLING};
use crate::motion::HALF;
use crate::place::{ONE, Place};
use crate::seat::id_of;
use crate::sublockus::Sublockus;
use crate::terrain::{Block, Terrain};

/// How far an item reaches from its middle.
const SIZE: i32 = ONE / 4;

/// The most items that lie about dropped.
const MOST_LITTER: usize = 128;

/// The numbers of what belongs to its place begin here, beyond those of what players drop.
const FIRST_PAD: u32 = 0xff_ff00;

impl Sublockus {
    pub(crate) fn add_pad(&mut self, pad: Pad) {
        let id = EntityId::fixed(FIRST_PAD + self.items.len() as u32);
        let kind = pad.kind.unwrap_or_else(|| any_kind(id, self.clock));
        let item = Item {
            kind,
            place: pad.spot.middle(),
            fall: 0,
            from: 0,
            until: None,
            varies: pad.kind.is_none(),
            by: None,
        };
        self.items.insert_fixed(id, item);
    }

    /// Applies what a character does with its items.
    pub(crate) fn handle_item(&mut self, at: usize, act: Act, events: &mut Events<SublockusEvent>) {
        let Some(character) = self.characters.row_mut(at) else {
            return;
        };
        let (player, place) = (character.player, character.place());
        let in_pocket = |pocket: u8| character.kit.pockets.get(usize::from(pocket)).copied();
        match act {
            Act::None | Act::Detonate(_) => {}
            Act::TakeOff(part) => {
                character.kit.take_off(part);
            }
            Act::Use(pocket) => {
                let Some(item) = in_pocket(pocket) else {
                    return;
                };
                events.emit(SublockusEvent::Used {
                    player,
                    item,
                    place,
                });
                if character.kit.put_on(usize::from(pocket)) {
                    return;
                }
                character.kit.pockets.remove(usize::from(pocket));
                match item {
                    ItemKind::Elixir => character.mana = character.max_mana(),
                    _ => self.heal(at, crate::character::HEALTH / 2, events),
                }
            }
            Act::Drop(pocket) => {
                let Some(item) = character.kit.pockets.remove(usize::from(pocket)) else {
                    return;
                };
                let character = *character;
                self.drop_item(&character, item);
                events.emit(SublockusEvent::Dropped {
                    player,
                    item,
                    place,
                });
            }
        }
    }

    /// Drops everything that a character carries and wears.
    pub(crate) fn drop_all(&mut self, character: &Character) {
        for item in character.kit.all() {
            self.drop_item(character, item);
        }
    }

    fn drop_item(&mut self, character: &Character, kind: ItemKind) {
        let player = character.player;
        // The first free number: the same on a program that predicts the drops of its own player.
        let free = (0..64).find(|count| !self.items.contains(id_of(player, *count)));
        let litter = self.items.as_slice().iter();
        let litter = litter.filter(|item| item.is_dropped()).count();
        let Some(free) = free.filter(|_| litter < MOST_LITTER) else {
            return;
        };
        let item = Item {
            kind,
            place: character.place(),
            fall: -60,
            from: self.later(SETTLING),
            until: Some(self.later(LITTER)),
            varies: false,
            by: Some(player),
        };
        self.items.insert_fixed(id_of(player, free), item);
    }

    /// Items fall, are picked up, come back, and vanish.
    pub(crate) fn run_items(&mut self, events: &mut Events<SublockusEvent>) {
        let clock = self.clock;
        let terrain = Terrain::new(&self.rows, self.width);
        for at in (0..self.items.len()).rev() {
            let mut item = self.items.as_slice()[at];
            let id = self.items.ids()[at];
            if item.until.is_some_and(|until| clock >= until) {
                self.items.remove(id);
                continue;
            }
            if item.is_dropped()
                && fall(&mut item, &terrain)
                && let Some(row) = self.items.row_mut(at)
            {
                *row = item;
            }
            if clock < item.from {
                continue;
            }
            let taker = self.characters.as_slice().iter().position(|character| {
                let way = character.place().to(item.place.bounded());
                let is_near = way.x.abs() < HALF.x + SIZE && way.y.abs() < HALF.y + SIZE;
                let can = character.is_in(clock) && character.health > 0;
                can && is_near && !character.kit.pockets.is_full()
            });
            let Some(character) = taker.and_then(|taker| self.characters.row_mut(taker)) else {
                continue;
            };
            // There is room, that has been looked at.
            let _ = character.kit.pockets.push(item.kind);
            events.emit(SublockusEvent::Taken {
                player: character.player,
                item: item.kind,
                place: item.place,
            });
            if item.is_dropped() {
                self.items.remove(id);
            } else if let Some(row) = self.items.row_mut(at) {
                row.from = clock.saturating_add(BACK);
                if row.varies {
                    row.kind = any_kind(id, clock);
                }
            }
        }
    }
}

/// It follows from public state only, so that every program predicts it correctly.
fn any_kind(id: EntityId, clock: u32) -> ItemKind {
    let dice = random::hash(1, u64::from(id.number()), u64::from(clock));
    ItemKind::ALL[dice as usize % ItemKind::ALL.len()]
}

/// Falls until something carries it; returns whether it has moved.
fn fall(item: &mut Item, terrain: &Terrain<'_>) -> bool {
    let place = item.place.bounded();
    let (column, row) = Place::new(place.x, place.y + SIZE).block();
    let block = terrain.block(column, row);
    let depth = place.y + SIZE - row * ONE;
    let carries = matches!(block, Block::Rock | Block::Ledge) && depth <= item.fall.max(0);
    if carries && item.fall >= 0 {
        let moved = depth != 0 || item.fall != 0;
        (item.place, item.fall) = (Place::new(place.x, row * ONE - SIZE), 0);
        return moved;
    }
    item.fall = (item.fall.clamp(-200, 200) + 8).min(200);
    item.place = place.offset(Place::new(0, item.fall));
    if terrain.touches(item.place, Place::new(1, SIZE), Block::Rock) && item.fall < 0 {
        (item.place, item.fall) = (place, 0);
    }
    true
}
