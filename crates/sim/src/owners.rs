//! Rooms whose members change exact variables while the owners of these vanish.

mod board;
mod fault;
mod storm;
mod world;

use std::time::Duration;

use samestep_netem::{LinkConfig, Rng};

use crate::check::Breach;
pub use fault::OwnersFault;
pub(crate) use storm::run as run_storm;
use world::World;

/// Runs the room of `seed` with a fault in one of its members, which a checker must find.
pub fn run_broken_peers(seed: u64, fault: OwnersFault) -> Result<(), Breach> {
    storm::run_with(seed, Some(fault), None).1
}

/// How the owner of a variable vanishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vanishing {
    /// It falls silent from one moment to the next, as a program does that is killed.
    Crashes,
    /// It says that it leaves.
    Leaves,
    /// Nothing of it arrives any more and nothing reaches it, and it goes on asking.
    CutOff,
}

impl Vanishing {
    /// All of them.
    pub const ALL: [Vanishing; 3] = [Vanishing::Crashes, Vanishing::Leaves, Vanishing::CutOff];

    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Vanishing::Crashes => "crashes",
            Vanishing::Leaves => "leaves",
            Vanishing::CutOff => "cut-off",
        }
    }
}

/// A mesh in which all change a variable of one, who vanishes.
#[derive(Clone, Debug)]
pub struct Owners {
    /// How many members there are.
    pub peers: usize,
    /// The link between any two.
    pub link: LinkConfig,
    /// How the owner vanishes.
    pub vanishing: Vanishing,
    /// How often each member asks for a change.
    pub pause: Duration,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnersOutcome {
    /// Changes that their requesters were told to be made.
    pub made: u64,
    /// Those of them that are not in the end.
    pub lost: u64,
    /// Changes that are there twice in the end.
    pub twice: u64,
    /// Changes of those who stayed that nobody answered.
    pub unanswered: u64,
    /// The most owners, and the fewest, that a variable has in the end.
    pub owners: (usize, usize),
    /// From the end of the owner to the first change of its variable that was asked for afterwards and told to be made.
    pub heir: Option<Duration>,
    /// How long changes took while the owner was there, from asking to being told.
    pub took: Vec<Duration>,
    /// What else went wrong.
    pub broken: Vec<String>,
}

impl Owners {
    /// Runs the room of a seed.
    pub fn run(&self, seed: u64) -> OwnersOutcome {
        let mut world = World::new(seed, true, Duration::from_secs(3), None);
        let mut outcome = OwnersOutcome::default();
        if let Err(what) = self.play(seed, &mut world, &mut outcome) {
            outcome.broken.push(what);
        }
        outcome
    }

    fn play(
        &self,
        seed: u64,
        world: &mut World<'_>,
        outcome: &mut OwnersOutcome,
    ) -> Result<(), String> {
        let mut rng = Rng::stream(seed, 11);
        world.testbed.set_links(self.link.clone());
        world.open();
        for _ in 1..self.peers {
            world.join(0);
            world.run_for(Duration::from_millis(50)).map_err(words)?;
        }
        world.until("the room does not fill", |world| {
            let all = world.in_sync();
            let is_full = |at: &usize| world.sees(*at) == self.peers;
            all.len() == self.peers && all.iter().all(is_full) && world.is_settled()
        })?;
        let owner = world.owner_of(board::FIRST + 1).ok_or("nobody owns it")?;
        let moment = Duration::from_micros(rng.range(1_500_000..2_500_000));
        self.ask(world, &mut rng, moment)?;
        outcome.took = core::mem::take(&mut world.took);
        world.vanish(owner, self.vanishing);
        let vanished = world.now();
        self.ask(world, &mut rng, Duration::from_secs(8))?;
        outcome.heir = world
            .first_made(board::FIRST + 1, vanished)
            .map(|at| at - vanished);
        if self.vanishing == Vanishing::CutOff {
            // What it was told counts all the same.
            world.stop(owner);
        }
        let settled = world.until("the rest is not answered", |world| world.is_settled());
        let verdict = world.judge();
        outcome.made = world.made();
        (outcome.lost, outcome.twice) = (verdict.lost, verdict.twice);
        outcome.unanswered = world.unanswered();
        outcome.owners = verdict.owners;
        settled?;
        verdict.differs.map_or(Ok(()), Err)
    }

    /// Everyone asks, at moments of its own.
    fn ask(&self, world: &mut World<'_>, rng: &mut Rng, time: Duration) -> Result<(), String> {
        let end = world.now() + time;
        while world.now() < end {
            let share = self.pause.as_secs_f64() / self.peers as f64;
            let wait = Duration::from_secs_f64(share * rng.exponential());
            world.run_for(wait.min(end - world.now())).map_err(words)?;
            let running = world.running();
            let at = running[rng.range(0..running.len() as u64) as usize];
            // Most ask for what belongs to the one who vanishes.
            let target = match rng.chance(0.6) {
                true => board::FIRST + 1,
                false => rng.range(0..board::TARGETS as u64) as usize,
            };
            world.ask(at, target);
        }
        Ok(())
    }
}

fn words(breach: Breach) -> String {
    breach.to_string()
}
