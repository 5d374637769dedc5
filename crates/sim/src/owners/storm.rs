//! The suite `peers`: rooms in which members join, leave, crash, are cut off and lose packets, while all change variables.

use std::time::Duration;

use samestep_netem::Rng;

use super::Vanishing;
use super::board::TARGETS;
use super::fault::OwnersFault;
use super::world::World;
use crate::check::{Breach, Promise};
use crate::soak::conditions::{Severity, good_link};
use crate::soak::{Outcome, Trace};

/// Members at most.
const MOST: usize = 8;

/// Runs the room of a seed: how many changes there were, and what went wrong.
pub(crate) fn run(seed: u64, trace: Trace<'_>) -> Outcome {
    run_with(seed, None, trace)
}

pub(super) fn run_with(seed: u64, fault: Option<OwnersFault>, trace: Trace<'_>) -> Outcome {
    let mut rng = Rng::stream(seed, 10);
    let is_mesh = rng.chance(0.75);
    let silence = Duration::from_millis(rng.range(2_000..4_000));
    let severity = match rng.chance(0.5) {
        true => Severity::Mild,
        false => Severity::Rough,
    };
    let mut storm = Storm {
        world: World::new(seed, is_mesh, silence, trace),
        rng,
        is_mesh,
        silence,
        severity,
        cut_off: None,
    };
    storm.world.break_one(fault);
    let result = storm.run();
    (storm.world.made(), result)
}

struct Storm<'t> {
    world: World<'t>,
    rng: Rng,
    is_mesh: bool,
    silence: Duration,
    severity: Severity,
    /// Who is cut off, and until when.
    cut_off: Option<(usize, Duration)>,
}

impl Storm<'_> {
    fn run(&mut self) -> Result<(), Breach> {
        self.world.testbed.set_links(good_link());
        self.world.open();
        for _ in 0..self.rng.range(1..5) {
            self.world.join(0);
            self.world.run_for(Duration::from_millis(100))?;
        }
        self.world.run_for(Duration::from_secs(2))?;
        for _ in 0..self.rng.range(1..3) {
            let link = self.severity.random_link(&mut self.rng);
            self.world.tell(|| format!("storm: {link}"));
            self.world.testbed.set_links(link);
            let end = self.world.now() + Duration::from_secs(self.rng.range(5..15));
            while self.world.now() < end {
                let wait = Duration::from_secs_f64(0.04 * self.rng.exponential());
                self.world.run_for(wait)?;
                self.operate();
            }
            self.calm()?;
        }
        Ok(())
    }

    fn pick(&mut self, from: &[usize]) -> Option<usize> {
        let at = self.rng.range(0..from.len().max(1) as u64) as usize;
        from.get(at).copied()
    }

    fn operate(&mut self) {
        if let Some((at, until)) = self.cut_off
            && self.world.now() >= until
        {
            let node = self.world.node(at);
            self.world.testbed.rejoin(node);
            self.cut_off = None;
        }
        self.world.end_the_stranded();
        let in_sync = self.world.in_sync();
        let Some(at) = self.pick(&in_sync) else {
            return;
        };
        match self.rng.range(0..200) {
            0..3 if self.world.running().len() < MOST => self.world.join(at),
            3..5 if self.can_spare(at) => self.world.vanish(at, Vanishing::Leaves),
            5..8 if self.can_spare(at) => self.world.vanish(at, Vanishing::Crashes),
            8..11 if self.cut_off.is_none() && self.can_spare(at) => {
                self.world.vanish(at, Vanishing::CutOff);
                let time = Duration::from_millis(self.rng.range(100..8_000));
                self.cut_off = Some((at, self.world.now() + time));
            }
            _ => {
                let target = self.rng.range(0..TARGETS as u64) as usize;
                self.world.ask(at, target);
            }
        }
    }

    /// Whether those who are left without it are a quorum by anybody's count. A host stays: its room would end with it.
    fn can_spare(&self, at: usize) -> bool {
        if !self.is_mesh {
            return !self.world.hosts(at);
        }
        let cut_off = self.cut_off.map(|(cut, _)| cut);
        let mut rest = self.world.in_sync();
        rest.retain(|other| *other != at && Some(*other) != cut_off);
        // Who was cut off may have been given up, and does not know it yet.
        let all = rest.clone();
        rest.retain(|other| self.world.is_listed(*other, &all));
        // Who comes counts with the next view, which may be decided any moment.
        let coming = self.world.running().len() - self.world.in_sync().len();
        let seen = rest.iter().map(|other| self.world.sees(*other)).max();
        rest.len() >= 2 && seen.is_some_and(|seen| rest.len() * 2 > seen + coming)
    }

    /// Whether it is settled, also half a second later: somebody may just have begun to lead, or a slot been freed.
    fn stays_settled(&mut self) -> Result<bool, Breach> {
        if self.world.is_settled() {
            self.world.run_for(Duration::from_millis(500))?;
        }
        Ok(self.world.is_settled())
    }

    /// The network recovers: soon everyone is told what became of its changes, and all have the same.
    fn calm(&mut self) -> Result<(), Breach> {
        self.world.tell(|| "calm".into());
        self.cut_off = None;
        self.world.testbed.mend_all();
        self.world.testbed.set_links(good_link());
        let patience = 4 * self.silence + Duration::from_secs(15);
        let end = self.world.now() + patience;
        while self.world.now() < end && !self.stays_settled()? {
            self.world.run_for(Duration::from_millis(200))?;
            self.world.end_the_stranded();
        }
        let now = self.world.now();
        let breach = |what: String| Err(Promise::Variables.breach(now, what));
        let verdict = self.world.judge();
        if verdict.lost > 0 {
            return breach(format!("{} changes that were made are lost", verdict.lost));
        }
        if let Some(what) = verdict.differs {
            return breach(what);
        }
        if verdict.owners != (1, 1) {
            let (most, least) = verdict.owners;
            return breach(format!("variables have {least} to {most} owners"));
        }
        if !self.world.is_settled() {
            let unanswered = self.world.unanswered();
            let running = self.world.running();
            let states: Vec<_> = running.iter().map(|at| self.world.state(*at)).collect();
            return breach(format!("not settled: {unanswered} unanswered, {states:?}"));
        }
        Ok(())
    }
}
