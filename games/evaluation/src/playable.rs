//! The evaluation game as a [`Playable`].

use samestep_playable::{Playable, Script, Setup, Sizes};
use samestep_sync::{EntityId, PlayerId, Tick};

use crate::terminal;
use crate::{COLOURS, Command, Evaluation, script};

const SIZES: Sizes = Sizes {
    unit: "entities",
    min: 2,
    max: 16_000,
    default: 1024,
    load: 1024,
};

impl Playable for Evaluation {
    const TITLE: &'static str = "Evaluation";
    const ABOUT: &'static str =
        "entities that walk about and are sent here and there: a load to measure with";
    const PLAYERS: u16 = 8;
    const SIZES: Option<Sizes> = Some(SIZES);

    /// The seed and the player: with the tick they determine what a bot does.
    type Bot = (u64, PlayerId);

    fn begin(setup: &Setup) -> Result<Self, String> {
        // Entities move as fast as possible while most are still on their way, so that there is something to see.
        Ok(Self::begin_measured(setup)?.with_speed(0.25))
    }

    fn bot(setup: &Setup, player: PlayerId) -> Self::Bot {
        (setup.seed, player)
    }

    fn decide(&self, (seed, player): &mut Self::Bot, tick: Tick) -> Option<Command> {
        script(*seed, *player, tick, self)
    }

    fn tamper(&mut self) {
        if let Some(entity) = self.entity_mut(0) {
            entity.colour = (entity.colour + 1) % COLOURS;
        }
    }

    fn picture(&self, _: Option<PlayerId>, columns: usize, lines: usize) -> Vec<String> {
        terminal::picture(self, columns, lines)
    }

    fn positions(&self, positions: &mut Vec<(EntityId, (f32, f32))>) {
        let entities = (0..).zip(self.entities());
        positions
            .extend(entities.map(|(number, entity)| (EntityId::fixed(number), entity.position)));
    }

    fn begin_measured(setup: &Setup) -> Result<Self, String> {
        let entities = setup.size.unwrap_or(SIZES.default);
        if setup.players == 0 || entities > 1 << 16 {
            return Err(
                "the evaluation game is for one player or more, and 65,536 entities at most".into(),
            );
        }
        Ok(Evaluation::new(
            setup.seed,
            setup.players,
            entities as usize,
        ))
    }

    /// The script needs no rehearsal: what a player does depends on no other player.
    fn script(setup: &Setup) -> Result<Script<Self>, String> {
        let seed = setup.seed;
        Ok(Box::new(move |game, tick, player| {
            script(seed, player, tick, game)
        }))
    }
}
