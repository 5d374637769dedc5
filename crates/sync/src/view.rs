//! Visual smoothing: a state to draw that interpolates between ticks and glides over corrections.

use core::time::Duration;

use crate::Tick;
use crate::math::double as math;
use crate::replicate::Replicate;
use crate::table::Table;

mod column;
mod frame;
mod motion;
mod offset;

use motion::Motion;

/// How a [`SmoothView`] moves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SmoothConfig {
    /// The time constant of gliding: after this time 37 % of a correction's error are left, after three times this 5 %.
    /// Default 100 ms.
    pub glide: Duration,
    /// The distance beyond which an entity is shown in its right place at once, whether a correction or a step of the game moved it.
    /// In the units of the game's fields; coordinates of a field are one distance. Default: infinite.
    /// [`SmoothView::set_snap`] sets it for a single field.
    pub snap: f64,
}

impl Default for SmoothConfig {
    fn default() -> Self {
        Self {
            glide: Duration::from_millis(100),
            snap: f64::INFINITY,
        }
    }
}

/// Counts what corrections have moved.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SmoothStats {
    /// Corrections that moved something.
    pub corrections: u64,
    /// Entities moved by corrections, each counted every time.
    pub moved: u64,
    /// Fields that were too far off to glide.
    pub snapped: u64,
    /// The longest distance that an entity was moved at once, of all fields that blend linearly.
    pub largest: f64,
    /// The largest angle that an entity was turned at once, in radians.
    pub largest_angle: f64,
}

/// A state to draw, in which fields declared as `blend = "linear"` or `blend = "angle"` move smoothly.
///
/// Between two ticks these fields are interpolated. When a state is corrected, by a rollback or by an authority, they glide from where they were
/// shown to where they are right. All other fields are those of the last state; entities appear and vanish at once. Angles take the
/// shorter way; whole numbers are rounded and stay within the range that the game has used in their field. Fields that are
/// `#[replicate(skip)]` stay as they were in the first state.
///
/// The caller hands over each state, wherever it comes from. A [`Live`](crate::Live) does so once
/// [`smooth`](crate::Live::smooth) was called.
///
/// ```
/// use core::time::Duration;
/// use samestep_sync::{Entities, Record, Replicate, SmoothConfig, SmoothView, Tick};
///
/// #[derive(Clone, Record)]
/// struct Car {
///     #[field(blend = "linear")]
///     position: (f32, f32),
///     laps: u8,
/// }
///
/// #[derive(Clone, Replicate)]
/// struct Race {
///     cars: Entities<Car>,
/// }
///
/// let ms = Duration::from_millis;
/// let mut race = Race { cars: Entities::new() };
/// let car = race.cars.insert(Car { position: (0.0, 0.0), laps: 0 });
/// let mut view = SmoothView::new(SmoothConfig::default(), 50, Tick(0), &race);
/// view.draw(ms(0));
///
/// // A tick later, the car is shown on its way.
/// race.cars.get_mut(car).unwrap().position.0 = 10.0;
/// view.handle_state(Tick(1), &race);
/// assert_eq!(view.draw(ms(10)).cars.get(car).unwrap().position.0, 5.0);
/// assert_eq!(view.draw(ms(20)).cars.get(car).unwrap().position.0, 10.0);
///
/// // It had driven elsewhere: at first nothing is to be seen of it, after a while everything.
/// race.cars.get_mut(car).unwrap().position = (12.0, 4.0);
/// view.handle_state(Tick(1), &race);
/// assert_eq!(view.draw(ms(20)).cars.get(car).unwrap().position, (10.0, 0.0));
/// let (x, y) = view.draw(ms(120)).cars.get(car).unwrap().position;
/// assert!(x > 11.0 && x < 12.0 && y > 2.0 && y < 4.0);
/// assert_eq!(view.draw(ms(1200)).cars.get(car).unwrap().position, (12.0, 4.0));
/// assert_eq!(view.stats().corrections, 1);
/// ```
#[derive(Clone, Debug)]
pub struct SmoothView<S> {
    config: SmoothConfig,
    tick_seconds: f64,
    motion: Motion,
    drawn_at: Option<Duration>,
    table: Table,
    shown: S,
}

impl<S: Replicate> SmoothView<S> {
    /// Begins with the state at `tick`.
    pub fn new(config: SmoothConfig, ticks_per_second: u32, tick: Tick, state: &S) -> Self {
        let schema = S::schema();
        let table = Table::new(schema.clone());
        let motion = Motion::new(schema, config.snap, tick, |table| state.extract(table));
        Self {
            config,
            tick_seconds: 1.0 / f64::from(ticks_per_second.max(1)),
            motion,
            drawn_at: None,
            table,
            shown: state.clone(),
        }
    }

    /// How it moves.
    pub fn config(&self) -> SmoothConfig {
        self.config
    }

    /// Whether any field of the state blends: else what is drawn is the last state.
    pub(crate) fn blends(&self) -> bool {
        self.motion.kinds.iter().any(|kind| !kind.is_empty())
    }

    /// Sets the distance beyond which a single field does not [glide](SmoothConfig::snap): `"units.position"` for `position` in the
    /// collection `units`, `"globals.ball"` for what is in no collection. False if there is no such field that blends.
    pub fn set_snap(&mut self, field: &str, distance: f64) -> bool {
        let groups = self
            .motion
            .kinds
            .iter_mut()
            .flat_map(|kind| &mut kind.groups);
        let mut is_there = false;
        for group in groups.filter(|group| group.name == field) {
            group.snap = distance;
            is_there = true;
        }
        is_there
    }

    /// Takes the state at `tick`, as far as known.
    ///
    /// A later state than the last moves what is shown on. The last state again, or the one before and then the last again, is a correction.
    /// Earlier states are ignored, and cost nothing.
    pub fn handle_state(&mut self, tick: Tick, state: &S) {
        if let Some(table) = self.motion.wanted(tick) {
            state.extract(table);
            self.motion.handle(tick);
        }
    }

    /// Goes on from this state, whatever the last one was: it was loaded, or repaired. Entities that are near glide.
    pub fn replace(&mut self, tick: Tick, state: &S) {
        state.extract(self.motion.replacement());
        self.motion.replace(tick);
    }

    /// The state to draw at `now`.
    ///
    /// It is up to one tick behind the last state, so that there always is a state to interpolate to; the time since the last call
    /// decides how far it has come.
    pub fn draw(&mut self, now: Duration) -> &S {
        let seconds = self.pass(now);
        self.motion.pass(seconds / self.tick_seconds);
        self.show()
    }

    /// The state to draw at `now`, at a given part of the way from the last state but one (0) to the last (1).
    pub fn draw_part(&mut self, now: Duration, part: f32) -> &S {
        self.pass(now);
        self.motion.set_part(f64::from(part));
        self.show()
    }

    /// The state that was drawn last.
    pub fn drawn(&self) -> &S {
        &self.shown
    }

    /// The counts so far.
    pub fn stats(&self) -> SmoothStats {
        self.motion.stats
    }

    /// Sets the counts to zero.
    pub fn reset_stats(&mut self) {
        self.motion.stats = SmoothStats::default();
    }

    /// Lets time pass; returns the seconds.
    fn pass(&mut self, now: Duration) -> f64 {
        let Some(before) = self.drawn_at.replace(now) else {
            // Nothing was drawn before, so corrections so far were not seen.
            self.motion.decay(0.0);
            return 0.0;
        };
        let seconds = now.saturating_sub(before).as_secs_f64();
        let glide = self.config.glide.as_secs_f64();
        let factor = match glide > 0.0 {
            true => math::exp(-seconds / glide),
            false => 0.0,
        };
        self.motion.decay(factor);
        seconds
    }

    fn show(&mut self) -> &S {
        self.motion.show(&mut self.table);
        // A type of the game may refuse a value between two of its own.
        if self.shown.restore(&self.table).is_err() {
            let restored = self.shown.restore(self.motion.right());
            restored.expect("a state becomes what it was extracted from");
        }
        &self.shown
    }
}
