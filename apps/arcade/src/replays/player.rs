//! Playing, going anywhere, verifying and cutting, a little in each frame so that nothing ever stands still.

use samestep_sync::{Deviation, PlayerId, Progress, Replay, Tick};

use super::played::RecordedMatch;

/// How long a frame may work on it, in seconds.
const BUDGET: f64 = 0.012;
/// Ticks between looks at the clock.
const SLICE: u64 = 8;
/// Speeds to choose from.
pub(super) const SPEEDS: [f64; 7] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// A recorded match and what is done with it.
pub struct Player {
    played: Box<dyn RecordedMatch>,
    task: Task,
    /// Times real time.
    pub speed: f64,
    /// Whose view is shown; everything if `None`.
    pub viewer: Option<PlayerId>,
    /// Ticks that are due, and not simulated yet.
    owed: f64,
    outcome: Option<Outcome>,
    clip: Option<Cut>,
    trouble: Option<String>,
}

/// What is being done.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Task {
    Still,
    Play,
    Go { to: Tick, then: Then },
    Verify { back: Tick, checksums: u64 },
    Cut { from: Tick, to: Tick, back: Tick },
}

/// What is done when a tick is reached.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Then {
    Stay,
    Play,
    Verify { back: Tick },
    Cut { to: Tick, back: Tick },
}

/// The result of comparing all checksums.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    /// All agree, so many.
    Agrees(u64),
    /// One does not.
    Deviates(Deviation),
}

impl Outcome {
    /// A sentence for the user.
    pub fn words(&self) -> String {
        match self {
            Outcome::Agrees(0) => {
                "Not verified: played to the end, but there are no checksums to compare with".into()
            }
            Outcome::Agrees(1) => "1 checksum agrees".into(),
            Outcome::Agrees(checksums) => format!("{checksums} checksums agree"),
            Outcome::Deviates(deviation) => {
                let words = deviation.to_string();
                format!("It deviates: {words}")
            }
        }
    }
}

/// A part of the recording that was cut out.
#[derive(Clone, PartialEq, Debug)]
pub struct Cut {
    /// The first tick.
    pub from: Tick,
    /// The tick it ends at.
    pub to: Tick,
    /// The file, or why there is none.
    pub file: Result<Vec<u8>, String>,
}

impl Player {
    /// Stands at the beginning.
    pub fn new(played: Box<dyn RecordedMatch>) -> Player {
        Player {
            played,
            task: Task::Still,
            speed: 1.0,
            viewer: None,
            owed: 0.0,
            outcome: None,
            clip: None,
            trouble: None,
        }
    }

    /// The match that is played.
    pub fn played(&self) -> &dyn RecordedMatch {
        &*self.played
    }

    /// What is played, to ask for what needs time.
    pub fn played_mut(&mut self) -> &mut dyn RecordedMatch {
        &mut *self.played
    }

    /// The recording.
    pub fn replay(&self) -> &Replay {
        self.played.replay()
    }

    /// The tick that is shown.
    pub fn tick(&self) -> Tick {
        self.played.tick()
    }

    /// The tick that is shown, or that is being gone to.
    pub fn target(&self) -> Tick {
        match self.task {
            Task::Go {
                to,
                then: Then::Stay | Then::Play,
            } => to,
            _ => self.tick(),
        }
    }

    /// Whether it plays, or will when it has arrived.
    pub fn is_playing(&self) -> bool {
        let then = Then::Play;
        self.task == Task::Play || matches!(self.task, Task::Go { then: next, .. } if next == then)
    }

    /// Whether nothing is going on.
    pub fn is_still(&self) -> bool {
        self.task == Task::Still
    }

    /// The long task that runs: its description, and its progress from 0 to 1.
    pub fn progress(&self) -> Option<(&'static str, f32)> {
        let part = |from: Tick, to: Tick| {
            let whole = to.since(from).max(1) as f32;
            (self.tick().since(from) as f32 / whole).clamp(0.0, 1.0)
        };
        let (first, end) = (self.replay().first(), self.replay().end());
        match self.task {
            Task::Still | Task::Play => None,
            Task::Go { to, .. } => Some(("Going there", part(first, to))),
            Task::Verify { .. } => Some(("Verifying", part(first, end))),
            Task::Cut { from, to, .. } => Some(("Cutting", part(from, to))),
        }
    }

    /// The result of verifying.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Why it does not go on.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// A part that was cut out, once.
    pub fn take_cut(&mut self) -> Option<Cut> {
        self.clip.take()
    }

    /// Plays, or stops.
    pub fn toggle(&mut self) {
        let playing = self.is_playing();
        self.stop();
        if !playing {
            self.task = match self.tick() >= self.replay().end() {
                true => Task::Go {
                    to: self.replay().first(),
                    then: Then::Play,
                },
                false => Task::Play,
            };
        }
    }

    /// Stops the running task.
    pub fn stop(&mut self) {
        if matches!(self.task, Task::Cut { .. }) {
            // The running task is obsolete.
            let _ = self.played.finish_clip();
        }
        self.owed = 0.0;
        self.task = Task::Still;
    }

    /// Goes to a tick; if it was playing, it plays on from there.
    pub fn go(&mut self, to: Tick) {
        let then = match self.is_playing() {
            true => Then::Play,
            false => Then::Stay,
        };
        self.stop();
        let to = to.clamp(self.replay().first(), self.replay().end());
        self.task = Task::Go { to, then };
    }

    /// Stops, and goes by one tick, forwards or back.
    pub fn nudge(&mut self, ticks: i64) {
        let to = Tick(self.target().0.saturating_add_signed(ticks));
        self.stop();
        self.go(to);
    }

    /// Goes by so many seconds.
    pub fn skip(&mut self, seconds: f64) {
        let ticks = seconds * f64::from(self.replay().header().ticks_per_second);
        self.go(Tick(self.target().0.saturating_add_signed(ticks as i64)));
    }

    /// Plays everything from the beginning and compares every checksum.
    pub fn verify(&mut self) {
        let back = self.target();
        self.stop();
        self.outcome = None;
        self.task = Task::Go {
            to: self.replay().first(),
            then: Then::Verify { back },
        };
    }

    /// Makes a recording of the ticks between two.
    pub fn cut(&mut self, from: Tick, to: Tick) {
        let (back, end) = (self.target(), self.replay().end());
        self.stop();
        let from = from.clamp(self.replay().first(), end);
        let to = to.clamp(from, end);
        self.task = Task::Go {
            to: from,
            then: Then::Cut { to, back },
        };
    }

    /// Works on what is being done, as much as fits into a frame. `passed` is the time since the last frame, in seconds.
    pub fn advance(&mut self, passed: f64, clock: &dyn Fn() -> f64) {
        let until = clock() + BUDGET;
        if self.task == Task::Play {
            let per_second = f64::from(self.replay().header().ticks_per_second);
            // After a long frame time is lost rather than made up for.
            self.owed += passed.min(0.1) * self.speed * per_second;
        }
        while self.task != Task::Still {
            match self.work() {
                Ok(true) => {}
                Ok(false) => break,
                Err(words) => {
                    self.trouble = Some(words);
                    self.stop();
                }
            }
            if clock() >= until {
                self.owed = self.owed.min(1.0);
                break;
            }
        }
    }

    /// Does a little; false if there is nothing to do before the next frame.
    fn work(&mut self) -> Result<bool, String> {
        match self.task {
            Task::Still => Ok(false),
            Task::Play => self.play(),
            Task::Go { to, then } => {
                if self.played.approach(to, SLICE)? {
                    self.arrive(then);
                }
                Ok(true)
            }
            Task::Verify { back, checksums } => self.compare(back, checksums),
            Task::Cut { from, to, back } => self.record(from, to, back),
        }
    }

    fn arrive(&mut self, then: Then) {
        self.task = match then {
            Then::Stay => Task::Still,
            Then::Play => Task::Play,
            Then::Verify { back } => Task::Verify { back, checksums: 0 },
            Then::Cut { to, back } => {
                self.played.begin_clip();
                let from = self.tick();
                Task::Cut { from, to, back }
            }
        };
    }

    fn play(&mut self) -> Result<bool, String> {
        if self.owed < 1.0 {
            return Ok(false);
        }
        match self.played.step()? {
            Progress::Stepped => self.owed -= 1.0,
            // The state at the same tick: no time passes.
            Progress::Replaced => {}
            Progress::Ended => self.stop(),
        }
        Ok(true)
    }

    fn compare(&mut self, back: Tick, mut checksums: u64) -> Result<bool, String> {
        for _ in 0..SLICE {
            let outcome = match self.played.check() {
                Some(Err(deviation)) => Some(Outcome::Deviates(deviation)),
                checked => {
                    checksums += u64::from(checked.is_some());
                    let is_over = self.played.step()? == Progress::Ended;
                    is_over.then_some(Outcome::Agrees(checksums))
                }
            };
            if outcome.is_some() {
                self.outcome = outcome;
                self.task = Task::Go {
                    to: back,
                    then: Then::Stay,
                };
                return Ok(true);
            }
        }
        self.task = Task::Verify { back, checksums };
        Ok(true)
    }

    fn record(&mut self, from: Tick, to: Tick, back: Tick) -> Result<bool, String> {
        for _ in 0..SLICE {
            if self.tick() >= to || self.played.step()? == Progress::Ended {
                let file = self.played.finish_clip();
                let to = self.tick();
                self.clip = Some(Cut { from, to, file });
                self.task = Task::Go {
                    to: back,
                    then: Then::Stay,
                };
                break;
            }
        }
        Ok(true)
    }
}
