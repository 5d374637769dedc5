//! Sublockus in the sandbox.

use samestep_sublockus::{Bot, Controls, MAX_PLAYERS, Sublockus, SublockusConfig};
use samestep_sync::{PlayerId, Tick};

use crate::{Playable, Setup};

impl Playable for Sublockus {
    const TITLE: &'static str = "Sublockus";
    const ABOUT: &'static str = "an arena platformer: jumps, fireballs, frags";

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

    fn meddle(&mut self) {
        let players: Vec<PlayerId> = self.seats().iter().map(|seat| seat.player).collect();
        let hit = players
            .into_iter()
            .find(|player| self.character_of(*player).is_some());
        if let Some(character) = hit.and_then(|player| self.character_mut(player)) {
            character.health = (character.health - 7).max(1);
        }
    }
}
