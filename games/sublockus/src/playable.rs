//! Sublockus as a [`Playable`].

use samestep_playable::{Playable, Setup};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::terminal;
use crate::{Bot, Controls, MAX_PLAYERS, Place, Sublockus, SublockusConfig};

impl Playable for Sublockus {
    const TITLE: &'static str = "Sublockus";
    const ABOUT: &'static str = "an arena platformer: jumps, fireballs, frags";
    const PLAYERS: u16 = 8;

    type Bot = Bot;

    fn begin(setup: &Setup) -> Result<Self, String> {
        if !(2..=MAX_PLAYERS).contains(&setup.players) {
            return Err(format!("Sublockus is for 2 to {MAX_PLAYERS} players"));
        }
        if setup.size.is_some() {
            return Err("Sublockus is as large as its arena: leave out the size".into());
        }
        let config = SublockusConfig::free_for_all(setup.seed, setup.players);
        Sublockus::new(&config).map_err(|error| error.to_string())
    }

    fn bot(setup: &Setup, player: PlayerId) -> Bot {
        Bot::new(setup.seed, player)
    }

    fn decide(&self, bot: &mut Bot, tick: Tick) -> Option<Controls> {
        bot.decide(tick, self)
    }

    fn tamper(&mut self) {
        let players: Vec<PlayerId> = self.seats().iter().map(|seat| seat.player).collect();
        let hit = players
            .into_iter()
            .find(|player| self.character_of(*player).is_some());
        if let Some(character) = hit.and_then(|player| self.character_mut(player)) {
            character.health = (character.health - 7).max(1);
        }
    }

    fn picture(&self, viewer: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        terminal::picture(self, viewer, columns, lines)
    }

    /// Characters in the arena and fireballs, in blocks.
    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>) {
        let clock = self.clock();
        let characters = self.characters().iter();
        let characters = characters.filter(|(_, character)| character.is_in(clock));
        let characters = characters.map(|(id, character)| (id, character.place()));
        let fireballs = self.projectiles().iter();
        let fireballs = fireballs.filter_map(|(id, ball)| Some((fireball_id(id)?, ball.place)));
        let at = |(id, place): (EntityId, Place)| (id, place.blocks());
        positions.extend(characters.chain(fireballs).map(at));
        positions.sort_unstable_by_key(|(id, _)| *id);
    }
}

/// Fireballs are numbered as characters are; without the highest bit their ids differ from those of characters.
fn fireball_id(id: EntityId) -> Option<EntityId> {
    EntityId::from_number(id.number() & 0x7fff_ffff)
}
