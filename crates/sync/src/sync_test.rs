//! A game against itself: what is not deterministic shows.

use core::fmt;
use std::collections::VecDeque;

use crate::{
    CellKind, Difference, EntityId, EventStage, Live, Simulation, Table, Tick, TickInputs, World,
};

/// Every so many ticks the state also goes through bytes.
const BYTES_EVERY: u64 = 8;
/// An event that does not come out again may come out so many ticks later, and is the same then.
const EVENTS_SHIFT: u64 = 8;

/// Plays a game and simulates every tick again, from the state `depth` ticks ago. Says where the two differ, if they do.
///
/// What `inputs` adds to a tick is played; it sees the state before it, as a bot would. Most ticks are simulated again from a
/// saved copy of the state, every eighth also from one that went through its exact encoding: so it finds what a step
/// takes from outside the state (a clock, the order of a hash map, a static variable) and what is missing from the state's
/// description (a skipped field that bears on the outcome).
///
/// ```
/// # use samestep_sync::{Events, Input, Inputs, Replicate, Rng, Simulation, Wire};
/// # #[derive(Clone, Debug, Default, PartialEq, Wire)]
/// # struct Push(i8);
/// # impl Input for Push { fn predict(&self) -> Self { Push(0) } }
/// use samestep_sync::{PlayerId, sync_test};
///
/// #[derive(Clone, Replicate)]
/// struct Cart {
///     position: i64,
///     rng: Rng,
///     #[replicate(skip)]
///     speed: i64,
/// }
///
/// impl Simulation for Cart {
///     type Input = Push;
///     type Event = ();
///     const NAME: &'static str = "cart";
///
///     fn step(&mut self, inputs: &Inputs<'_, Push>, _: &mut Events<()>) {
///         for (_, push) in inputs.iter() {
///             self.speed += i64::from(push.0); // skipped, and yet it counts: a mistake
///         }
///         self.position += self.speed;
///     }
/// }
///
/// let cart = Cart { position: 0, rng: Rng::new(1), speed: 0 };
/// let mismatch = sync_test(cart, 100, 4, |tick, _, inputs| {
///     inputs.set_players(&[PlayerId(0)]);
///     if tick.0 % 10 == 5 {
///         inputs.give(PlayerId(0), &Push(1));
///     }
/// });
/// assert!(mismatch.unwrap_err().to_string().contains("globals, position: "));
/// ```
pub fn sync_test<S: Simulation>(
    state: S,
    ticks: u64,
    depth: u64,
    mut inputs: impl FnMut(Tick, &S, &mut TickInputs),
) -> Result<SyncTestReport, Mismatch> {
    let depth = depth.max(1);
    let mut copy = Live::without_recording(state.clone());
    let mut live = Live::without_recording(state);
    let mut played: VecDeque<Played> = VecDeque::new();
    let mut report = SyncTestReport {
        ticks,
        again: 0,
        through_bytes: 0,
        checksum: live.checksum(),
        not_a_number: None,
    };
    live.save(Tick(0));
    for tick in (0..ticks).map(Tick) {
        let mut next = match played.len() as u64 == depth {
            true => played.pop_front().unwrap_or_default(),
            false => Played::default(),
        };
        next.inputs.clear();
        inputs(tick, live.state(), &mut next.inputs);
        live.step(tick, &next.inputs);
        while live.poll_event().is_some() {}
        next.checksum = live.checksum();
        report.checksum = next.checksum;
        played.push_back(next);
        live.save(tick.next());

        let from = Tick(tick.next().0 - played.len() as u64);
        live.load(from);
        let checkpoint = (tick.0 % BYTES_EVERY == 0).then(|| live.checkpoint());
        for (at, play) in (from.0..).map(Tick).zip(&played) {
            live.step(at, &play.inputs);
            report.again += 1;
            let place = Place {
                tick: at.next(),
                from,
                through_bytes: false,
            };
            if live.checksum() != play.checksum {
                return Err(place.compare(&mut live, None));
            }
            while let Some(timed) = live.poll_event() {
                if timed.stage == EventStage::Predicted {
                    let event = format!("{:?}", timed.event);
                    return Err(place.mismatch(MismatchKind::Event(event)));
                }
            }
        }
        live.load(tick.next());
        if let Some(play) = played.front() {
            live.confirm(from, &play.inputs);
        }
        if played.len() as u64 == depth {
            live.release(from);
        }
        compare_events(&mut live, depth)?;

        let Some(checkpoint) = checkpoint else {
            continue;
        };
        report.through_bytes += 1;
        let place = |tick| Place {
            tick,
            from,
            through_bytes: true,
        };
        if let Err(error) = copy.adopt(from, &checkpoint) {
            let unreadable = MismatchKind::Unreadable(error.to_string());
            return Err(place(from).mismatch(unreadable));
        }
        for (at, play) in (from.0..).map(Tick).zip(&played) {
            copy.step(at, &play.inputs);
            copy.confirm(at, &play.inputs);
            while copy.poll_event().is_some() {}
            if copy.checksum() != play.checksum {
                return Err(place(at.next()).compare(&mut live, Some(&copy)));
            }
        }
        if report.not_a_number.is_none() {
            let mut table = Table::new(S::schema());
            live.state().extract(&mut table);
            report.not_a_number = not_a_number(&table, tick.next());
        }
    }
    // What did not come out again in the last ticks shows once all of them, and some more, are final.
    for (at, play) in (ticks - played.len() as u64..).map(Tick).zip(&played) {
        live.confirm(at, &play.inputs);
    }
    live.confirm(Tick(ticks + EVENTS_SHIFT), &TickInputs::new());
    compare_events(&mut live, depth)?;
    Ok(report)
}

/// Every event comes out again, in the same tick.
fn compare_events<S: Simulation>(live: &mut Live<S>, depth: u64) -> Result<(), Mismatch> {
    while let Some(timed) = live.poll_event() {
        let shifted = timed.predicted.is_some_and(|tick| tick != timed.tick);
        if timed.stage == EventStage::Cancelled || (timed.stage == EventStage::Confirmed && shifted)
        {
            let place = Place {
                tick: timed.tick.next(),
                from: Tick((timed.tick.0 + 1).saturating_sub(depth)),
                through_bytes: false,
            };
            let event = format!("{:?}", timed.event);
            return Err(place.mismatch(MismatchKind::Event(event)));
        }
    }
    Ok(())
}

/// A tick that was played, to be compared with.
#[derive(Default)]
struct Played {
    inputs: TickInputs,
    /// Of the state after it.
    checksum: u64,
}

/// Where the two differ.
struct Place {
    tick: Tick,
    from: Tick,
    through_bytes: bool,
}

impl Place {
    fn mismatch(self, kind: MismatchKind) -> Mismatch {
        Mismatch {
            tick: self.tick,
            from: self.from,
            through_bytes: self.through_bytes,
            kind,
        }
    }

    /// Compares the state that `live` keeps with its present one, or with the copy's.
    fn compare<S: Simulation>(self, live: &mut Live<S>, copy: Option<&Live<S>>) -> Mismatch {
        let mut theirs = Table::new(S::schema());
        copy.unwrap_or(live).state().extract(&mut theirs);
        let ours = live.rows_at(self.tick, None).unwrap_or_default();
        let ours = Table::decode(S::schema(), &ours);
        let difference = ours.ok().and_then(|ours| ours.first_difference(&theirs));
        self.mismatch(match difference {
            Some(difference) => MismatchKind::Field(Box::new(difference)),
            None => MismatchKind::Unreadable("the checksums differ, the fields do not".into()),
        })
    }
}

fn not_a_number(table: &Table, tick: Tick) -> Option<NotANumber> {
    for (number, kind) in table.schema().kinds().iter().enumerate() {
        for row in table.rows(number as u16) {
            for (field, cell) in kind.fields.iter().zip(row.cells) {
                let is_number = match field.kind {
                    CellKind::F32 => !f32::from_bits(*cell as u32).is_nan(),
                    CellKind::F64 => !f64::from_bits(*cell).is_nan(),
                    _ => true,
                };
                if !is_number {
                    return Some(NotANumber {
                        tick,
                        kind: kind.name.clone(),
                        entity: row.id,
                        field: field.name.clone(),
                    });
                }
            }
        }
    }
    None
}

/// A game that agreed with itself.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SyncTestReport {
    /// Ticks that were played.
    pub ticks: u64,
    /// How often a tick was simulated again.
    pub again: u64,
    /// How often the state went through bytes.
    pub through_bytes: u64,
    /// Checksum of the last state: to be compared between machines.
    pub checksum: u64,
    /// A field that was no number, if there was one.
    pub not_a_number: Option<NotANumber>,
}

/// A float that is no number: its bits may differ between processors, so that copies on other machines drift apart.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NotANumber {
    /// When it was seen.
    pub tick: Tick,
    /// The collection.
    pub kind: String,
    /// The entity, if it is one.
    pub entity: Option<EntityId>,
    /// The field.
    pub field: String,
}

impl fmt::Display for SyncTestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ticks agree, {} simulated again, {} times through bytes, checksum {:016x}",
            self.ticks, self.again, self.through_bytes, self.checksum
        )?;
        match &self.not_a_number {
            Some(found) => write!(f, "; but {found}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ", self.kind)?;
        if let Some(id) = self.entity {
            write!(f, "{id}, ")?;
        }
        write!(
            f,
            "{} is no number at tick {}, which other processors may write with other bits",
            self.field, self.tick.0
        )
    }
}

/// Where a game differs from itself.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Mismatch {
    /// The state before this tick is another one when it is simulated again, for the first time.
    pub tick: Tick,
    /// From where it was simulated again.
    pub from: Tick,
    /// Whether the state at `from` had gone through bytes.
    pub through_bytes: bool,
    /// What differs.
    pub kind: MismatchKind,
}

/// What differs between a game and itself.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MismatchKind {
    /// A field; `here` is the first time, `there` the second.
    Field(Box<Difference>),
    /// An event that was emitted one time only.
    Event(String),
    /// The state does not come back from its own encoding.
    Unreadable(String),
}

impl Mismatch {
    /// The field that differs, with its entity and both values.
    pub fn difference(&self) -> Option<&Difference> {
        match &self.kind {
            MismatchKind::Field(difference) => Some(difference),
            _ => None,
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copy = match self.through_bytes {
            true => "its bytes",
            false => "a saved copy",
        };
        let (tick, from) = (self.tick.0, self.from.0);
        match &self.kind {
            MismatchKind::Field(difference) => write!(
                f,
                "simulated again from {copy} of tick {from}, tick {tick} is another: {difference}. \
                 The step takes something from outside of the described state: a skipped field, a clock, an order of hashes, a static variable"
            ),
            MismatchKind::Event(event) => write!(
                f,
                "simulated again from {copy} of tick {from}, the step before tick {tick} does not emit the same: {event}. \
                 Events must follow from the described state and the inputs alone"
            ),
            MismatchKind::Unreadable(why) => write!(
                f,
                "the state of tick {from} does not come back from its bytes: {why}"
            ),
        }
    }
}

impl core::error::Error for Mismatch {}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::{Entities, Events, Input, Inputs, PlayerId, Replicate, Rng, Wire};

    #[derive(Clone, Debug, Default, PartialEq, Wire)]
    struct Held(i8);

    impl Input for Held {
        fn predict(&self) -> Self {
            self.clone()
        }
    }

    extern crate std;
    std::thread_local! {
        static OUTSIDE: Cell<u32> = const { Cell::new(0) };
        static FIRST: Cell<bool> = const { Cell::new(true) };
    }

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Fault {
        None,
        Static,
        Scratch,
        Event,
        /// Emitted only the first time the last tick is simulated.
        LastEvent,
        NotANumber,
    }

    #[derive(Clone, Replicate)]
    struct Game {
        marbles: Entities<f32>,
        rng: Rng,
        fault: u8,
        #[replicate(skip)]
        seen: u32,
    }

    impl Simulation for Game {
        type Input = Held;
        type Event = u32;
        const NAME: &'static str = "marbles";

        fn step(&mut self, inputs: &Inputs<'_, Held>, events: &mut Events<u32>) {
            let is = |fault: Fault| self.fault == fault as u8;
            let outside = OUTSIDE.get();
            OUTSIDE.set(outside + 1);
            if self.rng.chance(0.3) {
                let id = self.marbles.insert(self.rng.unit());
                events.emit(id.number());
            }
            if self.rng.chance(0.2) && !self.marbles.is_empty() {
                let at = self.rng.below(self.marbles.len() as u32) as usize;
                let id = self.marbles.ids()[at];
                self.marbles.remove(id);
            }
            for (_, held) in inputs.iter() {
                for (_, marble) in self.marbles.iter_mut() {
                    *marble += f32::from(held.0);
                }
            }
            self.seen += 1;
            if is(Fault::Static)
                && outside == 57
                && let Some(marble) = self.marbles.row_mut(0)
            {
                *marble += 1.0;
            }
            if is(Fault::Scratch)
                && let Some(marble) = self.marbles.row_mut(1)
            {
                *marble = self.seen as f32;
            }
            if is(Fault::Event) {
                events.emit(self.seen);
            }
            if is(Fault::LastEvent) && inputs.tick() == Tick(199) && FIRST.replace(false) {
                events.emit(u32::MAX);
            }
            if is(Fault::NotANumber)
                && let Some(marble) = self.marbles.row_mut(2)
            {
                *marble = f32::NAN;
            }
        }
    }

    fn test(fault: Fault, depth: u64) -> Result<SyncTestReport, Mismatch> {
        OUTSIDE.set(0);
        let game = Game {
            marbles: Entities::new(),
            rng: Rng::new(4),
            fault: fault as u8,
            seen: 0,
        };
        sync_test(game, 200, depth, |tick, game, inputs| {
            assert!(game.seen > 0 || tick == Tick(0));
            // Somebody comes later and leaves again.
            match tick.0 {
                0..100 => inputs.set_players(&[PlayerId(1)]),
                100..150 => inputs.set_players(&[PlayerId(0), PlayerId(1)]),
                _ => inputs.set_players(&[PlayerId(0)]),
            }
            if tick.0 % 7 == 3 {
                let player = inputs.players()[0];
                inputs.give(player, &Held((tick.0 % 5) as i8 - 2));
            }
        })
    }

    #[test]
    fn a_deterministic_game_agrees() {
        let reports = [1, 2, 7, 8, 9, 40].map(|depth| test(Fault::None, depth).unwrap());
        for report in &reports {
            assert_eq!((report.ticks, report.through_bytes), (200, 25));
            assert_eq!(report.checksum, reports[0].checksum);
            assert_eq!(report.not_a_number, None);
        }
        assert!(reports[0].to_string().starts_with("200 ticks agree, "));
    }

    #[test]
    fn each_fault_is_found_and_named() {
        let mismatch = test(Fault::Static, 6).unwrap_err();
        let difference = mismatch.difference().unwrap();
        assert_eq!(difference.kind, "marbles");
        assert!(difference.entity.is_some(), "{mismatch}");
        assert!(mismatch.to_string().contains("static variable"));

        let mismatch = test(Fault::Scratch, 6).unwrap_err();
        let difference = mismatch.difference().unwrap();
        assert_eq!(
            (&*difference.kind, &*difference.field),
            ("marbles", "value")
        );

        let mismatch = test(Fault::Event, 6).unwrap_err();
        assert!(
            matches!(mismatch.kind, MismatchKind::Event(_)),
            "{mismatch}"
        );

        let mismatch = test(Fault::LastEvent, 6).unwrap_err();
        assert!(
            matches!(mismatch.kind, MismatchKind::Event(_)),
            "{mismatch}"
        );

        let report = test(Fault::NotANumber, 6).unwrap();
        let found = report.not_a_number.as_ref().unwrap();
        assert_eq!(found.kind, "marbles");
        assert!(report.to_string().contains("no number"));
    }
}
