//! The evaluation game in the sandbox.

use samestep_evaluation::{Command, Evaluation, script};
use samestep_sync::{PlayerId, Tick};

use crate::{Playable, Setup, Sizes};

/// Entities, unless told otherwise.
const USUAL: u32 = 1024;

impl Playable for Evaluation {
    const TITLE: &'static str = "Evaluation";
    const ABOUT: &'static str =
        "entities that walk about and are sent here and there: a load to measure with";
    const SIZES: Option<Sizes> = Some(Sizes {
        of: "entities",
        least: 2,
        most: 16_000,
        usual: USUAL,
    });

    /// What is done follows from the seed, the tick and the player.
    type Bot = (u64, PlayerId);

    fn begin(setup: &Setup) -> Result<Self, String> {
        let entities = setup.size.unwrap_or(USUAL);
        if setup.players == 0 || entities > 1 << 16 {
            return Err(
                "the evaluation game is for one player or more, and 65,536 entities at most".into(),
            );
        }
        let game = Evaluation::new(setup.seed, setup.players, entities as usize);
        // As fast as it can be with most of them still on their way: something is to be seen.
        Ok(game.with_speed(0.25))
    }

    fn bot(setup: &Setup, player: PlayerId) -> Self::Bot {
        (setup.seed, player)
    }

    fn decide(&self, (seed, player): &mut Self::Bot, tick: Tick) -> Option<Command> {
        script(*seed, *player, tick, self)
    }

    fn meddle(&mut self) {
        if let Some(entity) = self.entity_mut(0) {
            entity.colour = (entity.colour + 1) % samestep_evaluation::COLOURS;
        }
    }
}
