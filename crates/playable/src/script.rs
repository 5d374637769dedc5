//! What the players of a measured match do.

use samestep_sync::{Events, Input, Inputs, PlayerId, Simulation, Tick};

use crate::{Playable, Setup};

/// Returns a player's new input in a tick, if there is one, given the state where that player is. Ticks are asked for in ascending order, each
/// possibly more than once.
pub type Script<G> = Box<dyn FnMut(&G, Tick, PlayerId) -> Option<<G as Simulation>::Input> + Send>;

/// Creates a script from bots that play the match alone: their inputs are repeated at the same ticks, whatever a model shows the players.
pub fn rehearse<G: Playable>(
    setup: &Setup,
    decide: fn(&G, &mut G::Bot, Tick) -> Option<G::Input>,
) -> Result<Script<G>, String> {
    let mut rehearsal = Rehearsal::new(setup, decide)?;
    Ok(Box::new(move |_, tick, player| {
        rehearsal.input(tick, player)
    }))
}

/// A match among bots that advances to whichever tick is asked for.
struct Rehearsal<G: Playable> {
    game: G,
    players: Vec<PlayerId>,
    bots: Vec<G::Bot>,
    decide: fn(&G, &mut G::Bot, Tick) -> Option<G::Input>,
    /// The tick of the state.
    tick: Tick,
    /// The input of every player in this tick.
    inputs: Vec<G::Input>,
    /// The indices of the players whose input is new in this tick.
    given: Vec<u16>,
}

impl<G: Playable> Rehearsal<G> {
    fn new(
        setup: &Setup,
        decide: fn(&G, &mut G::Bot, Tick) -> Option<G::Input>,
    ) -> Result<Rehearsal<G>, String> {
        let players: Vec<PlayerId> = (0..setup.players).map(PlayerId).collect();
        let bots = players.iter().map(|player| G::bot(setup, *player));
        let mut rehearsal = Rehearsal {
            game: G::begin_measured(setup)?,
            bots: bots.collect(),
            inputs: vec![G::Input::default(); players.len()],
            players,
            decide,
            tick: Tick(0),
            given: Vec::new(),
        };
        rehearsal.decide();
        Ok(rehearsal)
    }

    fn decide(&mut self) {
        self.given.clear();
        for ((index, bot), current) in (0..).zip(&mut self.bots).zip(&mut self.inputs) {
            *current = current.predict();
            if let Some(input) = (self.decide)(&self.game, bot, self.tick) {
                *current = input;
                self.given.push(index);
            }
        }
    }

    fn input(&mut self, tick: Tick, player: PlayerId) -> Option<G::Input> {
        while self.tick < tick {
            let inputs = Inputs::new(self.tick, &self.players, &self.inputs, &self.given);
            self.game.step(&inputs, &mut Events::new());
            self.tick = self.tick.next();
            self.decide();
        }
        let is_new = self.given.contains(&player.0);
        let input = self.inputs.get(usize::from(player.0));
        input.filter(|_| is_new).cloned()
    }
}
