//! The world: what a model is lent to simulate with.

use core::time::Duration;

use thiserror::Error;

use crate::{
    ChecksumTree, Difference, Divergence, Interest, PlayerId, RowChunk, Schema, SeenBreach, Table,
    Tick, TickInputs,
};

/// A running game, as a model sees it: it can be stepped, saved, compared and replaced, but its type is not known.
///
/// [`Live`](crate::Live) makes one of any [`Simulation`](crate::Simulation); an engine that owns its state implements it itself.
pub trait World {
    /// Ticks per second.
    fn ticks_per_second(&self) -> u32;

    /// Hashes of the types it consists of, to compare with those of other programs. By default nothing is known of them, and any are taken for
    /// the same.
    fn layout(&self) -> WorldLayout {
        WorldLayout::default()
    }

    /// Simulates one tick.
    fn step(&mut self, tick: Tick, inputs: &TickInputs);

    /// A tick that was simulated is final: its events are confirmed, and it is recorded.
    fn confirm(&mut self, tick: Tick, inputs: &TickInputs);

    /// Keeps the present state, which is that at `tick`, until it is released. What was kept for that tick before is replaced.
    fn save(&mut self, tick: Tick);

    /// A state that was kept is not needed any more; its memory serves the next one.
    fn release(&mut self, tick: Tick);

    /// Goes back to a state that was kept. False, and nothing happens, if there is none.
    fn load(&mut self, tick: Tick) -> bool;

    /// Goes back to a state that was kept, which is not kept any more then.
    fn take(&mut self, tick: Tick) -> bool {
        let loaded = self.load(tick);
        self.release(tick);
        loaded
    }

    /// Checksum of the present state: equal states have equal ones, different states hardly ever.
    fn checksum(&mut self) -> u64;

    /// Checksum of a state that was kept.
    fn checksum_at(&mut self, saved: Tick) -> Option<u64>;

    /// The state at `tick` is known to have this checksum everywhere: replays are verified by it.
    fn record_checksum(&mut self, tick: Tick, checksum: u64);

    /// Checksums of the parts of a state that was kept.
    fn checksum_tree_at(&mut self, saved: Tick) -> Option<ChecksumTree>;

    /// Parts of a state that was kept, exactly; with no parts named, all of it.
    fn rows_at(&mut self, saved: Tick, parts: Option<&[RowChunk]>) -> Option<Vec<u8>>;

    /// Goes back to a state that was kept, with some of its parts replaced. Says where the first of them differed, and gives the
    /// parts as they were.
    fn patch(&mut self, saved: Tick, rows: &[u8]) -> Result<Patched, AdoptError>;

    /// The present state, exactly, for somebody who has none.
    fn checkpoint(&mut self) -> Vec<u8>;

    /// Takes over a state in the place of the present one.
    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError>;

    /// Whether its rules look back at states before the present one, which a [checkpoint](Self::checkpoint) does not contain.
    fn looks_back(&self) -> bool {
        false
    }

    /// The present state with all that its rules look back at, to [come back](Self::come_back) to in this very world. Like a checkpoint, unless it
    /// [looks back](Self::looks_back).
    fn keep(&mut self) -> Vec<u8> {
        self.checkpoint()
    }

    /// Goes back, or on, to a state at `tick` of which this was [kept](Self::keep).
    fn come_back(&mut self, tick: Tick, kept: &[u8]) -> Result<(), AdoptError> {
        self.adopt(tick, kept)
    }

    /// The present state, at `tick`, is not what the recording led to: it goes on from here.
    fn replaced(&mut self, tick: Tick);

    /// A recording from a state that was kept through the ticks given to where it differs from another; `None` if this world
    /// records nothing.
    fn desync_bundle(
        &mut self,
        saved: Tick,
        ticks: &[TickInputs],
        divergence: &Divergence,
    ) -> Option<Vec<u8>>;

    /// The two worlds it consists of, if it is [one of two](crate::Both), for models that run side by side.
    fn parts(&mut self) -> Option<(&mut dyn World, &mut dyn World)> {
        None
    }

    /// The state as it is shown to those who do not simulate it all themselves.
    fn scene(&mut self) -> &mut dyn Scene;

    /// Makes a copy of this world for the loopback client, which plays at the authority itself: from a tick on, what that client draws and the events that
    /// it is told are those that the players here get. False if there can be none: then they see the authority's own state.
    fn begin_loopback(&mut self, since: Tick) -> bool {
        let _ = since;
        false
    }

    /// Lends the loopback client's copy, if there is one.
    fn with_loopback(&mut self, run: &mut dyn FnMut(&mut dyn World)) {
        let _ = run;
    }

    /// The players here see the authority's own state again; events that the loopback client was told and nobody has taken stay.
    fn end_loopback(&mut self) {}

    /// Ticks before this one would survive the loss of the host: events of later ones are not told to be confirmed yet. `None` if nothing is more certain
    /// than what is confirmed.
    fn set_certain(&mut self, before: Option<Tick>) {
        let _ = before;
    }

    /// Another program is the authority: what is not certain is in doubt, until the state that it goes on from is known here.
    fn doubt(&mut self) {}

    /// Makes a second world of the same game, in place of any there is, with which this program [follows](crate::Standby) the authority beside playing.
    /// False if there can be none.
    fn begin_twin(&mut self) -> bool {
        false
    }

    /// Lends the second world, if there is one.
    fn with_twin(&mut self, run: &mut dyn FnMut(&mut dyn World)) {
        let _ = run;
    }

    /// The second world is not needed any more.
    fn end_twin(&mut self) {}

    /// Logs from `next` on the inputs of every tick that is confirmed, for who [follows](crate::Standby) this program. False if it cannot.
    fn begin_log(&mut self, next: Tick) -> bool {
        let _ = next;
        false
    }

    /// The log since this was called last; `None` if there is none, or something is missing because too much has waited: then it has to begin anew.
    fn take_log(&mut self) -> Option<Vec<u8>> {
        None
    }

    /// The next input that breaks the rules, in a tick that is final here: see [`Simulation::judge`](crate::Simulation::judge).
    fn poll_breach(&mut self) -> Option<SeenBreach> {
        None
    }

    /// [Merges](Scene::merge) two inputs of a player into one.
    fn merge(&mut self, late: &[u8], due: &[u8]) -> Option<Vec<u8>> {
        self.scene().merge(late, due)
    }
}

/// A [`World`] as an authority shows it to others, and as those take it over who follow.
pub trait Scene {
    /// What its state consists of.
    fn schema(&self) -> Schema;

    /// Writes all cells of the present state into a table, which may have further kinds.
    fn extract(&mut self, table: &mut Table);

    /// The same of a state that was kept; false if there is none.
    fn extract_at(&mut self, saved: Tick, table: &mut Table) -> bool;

    /// The players present, and the inputs they hold.
    fn held_inputs(&self, held: &mut TickInputs);

    /// The state at `tick` is another: that of a table, with these players present who hold this. Events of the ticks from there on that have
    /// been predicted will come out again, or are taken back.
    fn replace(&mut self, tick: Tick, table: &Table, held: &TickInputs) -> Result<(), AdoptError>;

    /// The state at `tick`, the present one or one that was kept, is as the authority has sent it, as far as it is known here: it is recorded.
    fn record(&mut self, tick: Tick);

    /// The input that stands for two of a player: one that came too late for its own tick, and one that is due. `None` if both do not fit one tick.
    fn merge(&self, late: &[u8], due: &[u8]) -> Option<Vec<u8>>;

    /// The input to assume after this one if none is given; `None` if it is damaged.
    fn predict(&self, input: &[u8]) -> Option<Vec<u8>>;

    /// Takes away from `interest` what a program with these players must not see.
    fn interest(&self, viewers: &[PlayerId], interest: &mut Interest);

    /// The same of a state that was kept; false if there is none.
    fn interest_at(&self, saved: Tick, viewers: &[PlayerId], interest: &mut Interest) -> bool;

    /// Adds the events of the last step that these players may be told of, encoded, and says how many there are. To be called before the step is
    /// confirmed.
    fn write_events(&self, viewers: &[PlayerId], out: &mut Vec<u8>) -> usize;

    /// Adds the events of the last step that were confirmed at once, before their tick is final, encoded one by one, as far as these players may
    /// be told of them.
    fn write_early_events(&self, viewers: &[PlayerId], out: &mut Vec<Vec<u8>>);

    /// The authority has confirmed an event for good, before it decides about the other events of its tick. A damaged one counts as none; then it is
    /// false.
    fn handle_early_event(&mut self, tick: Tick, event: &[u8]) -> bool;

    /// The events of a tick are these, says the authority: what was predicted and is not among them is taken back. Nothing is ever told of this
    /// tick again. Damaged ones count as none; then it is false.
    fn handle_events(&mut self, tick: Tick, count: usize, events: &[u8]) -> bool;

    /// Draws a table, in place of the state. If players are given, only rows of others are drawn from it: their own, and those that are
    /// nobody's, come from the present state, smoothly. Without a table everything does.
    fn draw(&mut self, now: Duration, table: Option<&Table>, own: Option<&[PlayerId]>);
}

/// Hashes of the types that all programs of a game have in common: programs with equal hashes understand each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorldLayout {
    /// Of the state.
    pub state: u64,
    /// Of the inputs.
    pub input: u64,
    /// Of the events.
    pub event: u64,
}

/// What a [patch](World::patch) has changed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Patched {
    /// The first value that was another.
    pub difference: Option<Difference>,
    /// The parts as they were, encoded like those that replaced them.
    pub replaced: Vec<u8>,
}

/// Why a state could not be taken over.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AdoptError {
    /// The bytes are not a state of this game.
    #[error("not a state of this game ({0}): are both ends of the same version?")]
    Malformed(String),
    /// The state that was to be changed is not kept any more.
    #[error("the state at tick {0} is not kept any more: ask for a later one")]
    NotKept(Tick),
}
