//! Players who decide by what they see.

use std::collections::BTreeMap;

use samestep_playable::{Playable, Setup};
use samestep_session::PlayerId;
use samestep_sync::Tick;

use super::InputScript;

/// Bots play, each by the state at its own program. The player `besides` is somebody else.
pub fn seeing_bots<G: Playable>(setup: Setup, besides: Option<PlayerId>) -> InputScript<G> {
    let mut bots: BTreeMap<PlayerId, G::Bot> = BTreeMap::new();
    // A tick may be asked for more than once.
    let mut answered: BTreeMap<PlayerId, (Tick, Option<G::Input>)> = BTreeMap::new();
    Box::new(move |game, tick, player| {
        if besides == Some(player) {
            return None;
        }
        if let Some((of, answer)) = answered.get(&player)
            && *of == tick
        {
            return answer.clone();
        }
        let bot = bots.entry(player);
        let bot = bot.or_insert_with(|| G::bot(&setup, player));
        let answer = game.decide(bot, tick);
        answered.insert(player, (tick, answer.clone()));
        answer
    })
}
