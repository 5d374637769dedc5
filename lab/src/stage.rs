//! A room in virtual time in which what is shown is compared with what is true: any game, kept together by any model.

mod audience;
mod ledger;
mod member;
mod truth;
mod work;

use std::time::Duration;

use samestep_netem::Path;
use samestep_session::{JoinTo, Match, PlayerId, Role};
use samestep_sim::{NodeId, Testbed, Traffic};
use samestep_sync::{Live, Model, Status};

use crate::arena::{Cues, Notice, OPENER, PATIENCE, Placed, Script, TICK, session_of};
pub use audience::{Audience, Seen, Waits};
pub use ledger::Ledger;
pub use member::Member;
pub use truth::{Places, Truth};

/// What a room is made of.
#[derive(Clone, Debug)]
pub struct StageConfig {
    /// Players the script is for, one to a program, the opener's among them.
    pub players: u16,
    /// Whether everyone talks to everyone.
    pub mesh: bool,
    /// From each member to the opener and back; in a mesh, both ways between any two are those to the opener.
    pub path: Path,
    /// What everything the opener sends shares.
    pub uplink_bps: u64,
    /// How many of those who joined draw a picture in every tick; whoever does not draw costs less.
    pub drawing: usize,
}

/// A room of programs, the opener first; each has one player, who does what the script says.
///
/// Once a tick of true time each of those who draw is [looked](Look) at.
pub struct Stage<G: Placed, M: Model> {
    testbed: Testbed<Member<G, M>>,
    config: StageConfig,
    game: G,
    model: Box<dyn Fn() -> M>,
    cues: Cues<G>,
    /// World time at which the game began, and how many ticks of it have been looked at since.
    start: Duration,
    looked: u64,
    truth: Truth,
    shown: Places,
    known: Places,
}

/// What one program shows at a moment.
pub struct Look<'a> {
    /// Which program.
    pub node: NodeId,
    /// What others do is shown as it was at this tick and what had passed of the next, as the program says itself.
    pub displayed: f64,
    /// How the model gets on.
    pub status: &'a Status,
    /// Where things are in what is drawn.
    pub shown: &'a Places,
    /// Where they are in the newest state that is known here.
    pub known: &'a Places,
    /// Where they were on the opener.
    pub truth: &'a Truth,
}

impl<G: Placed, M: Model> Stage<G, M> {
    /// The first member opens the room. All begin with the same game; `model` makes everyone's model.
    pub fn open(
        config: StageConfig,
        seed: u64,
        game: G,
        script: Script<G>,
        model: impl Fn() -> M + 'static,
    ) -> Stage<G, M> {
        let mut stage = Stage {
            testbed: Testbed::new(seed),
            cues: Cues::new(config.players, script),
            config,
            game,
            model: Box::new(model),
            start: Duration::ZERO,
            looked: 0,
            truth: Truth::default(),
            shown: Places::new(),
            known: Places::new(),
        };
        let Path { up, down } = stage.config.path.clone();
        stage.testbed.set_links(up);
        stage.testbed.add_node();
        let rate = stage.config.uplink_bps;
        stage.testbed.set_uplink(OPENER, rate, down.queue);
        let role = match stage.config.mesh {
            true => Role::Introducer,
            false => Role::Host,
        };
        stage.sit(OPENER, role);
        stage
    }

    /// Another program asks to be let in.
    pub fn join(&mut self) -> NodeId {
        let node = self.testbed.add_node();
        self.set_path(node, self.config.path.clone());
        let join = JoinTo::new(self.testbed.address(OPENER));
        let role = match self.config.mesh {
            true => Role::Peer(join),
            false => Role::Client(join),
        };
        self.sit(node, role);
        node
    }

    fn sit(&mut self, node: NodeId, role: Role) {
        let session = session_of(node, self.config.players);
        let (game, model) = (self.game.clone(), (self.model)());
        self.testbed.start(node, |now, seed| {
            // Everyone would record the same.
            let world = Live::without_recording(game);
            let game = Match::new(now, session, role, seed, model, world);
            Member::new(game.expect("settings that make sense"), node == OPENER)
        });
    }

    /// Lets as many join and waits until everyone knows everyone and the clocks agree, then begins the game and waits until it runs
    /// everywhere.
    pub fn begin(&mut self, members: usize) -> Result<(), String> {
        // A room answers 200 key exchanges a second.
        let spacing = Duration::from_millis(10);
        while self.testbed.nodes().count() < members {
            self.join();
            self.idle_until(self.testbed.now() + spacing)?;
        }
        let words = format!("the {members} members did not come together");
        self.wait(&words, |member| member.is_in_sync(members))?;
        self.idle_until(self.testbed.now() + Duration::from_secs(1))?;
        self.with(OPENER, |now, member| member.start(now));
        self.wait("the game did not begin everywhere", Member::is_playing)?;
        self.start = self.testbed.now();
        Ok(())
    }

    /// Sets the link from a member to the opener and back.
    pub fn set_path(&mut self, node: NodeId, path: Path) {
        self.testbed.set_link(node, OPENER, path.up);
        self.testbed.set_link(OPENER, node, path.down);
    }

    /// World time since the game began.
    pub fn elapsed(&self) -> Duration {
        self.testbed.now() - self.start
    }

    /// Everyone, in the order in which they came.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<G, M> {
        self.testbed.nodes().collect::<Vec<_>>().into_iter()
    }

    /// Everyone but the opener.
    pub fn guests(&self) -> impl Iterator<Item = NodeId> + use<G, M> {
        self.nodes().skip(1)
    }

    /// A member's part.
    pub fn member(&self, node: NodeId) -> &Member<G, M> {
        self.testbed.machine(node).expect("nobody ever stops")
    }

    /// Does something with a member's part.
    pub fn with<T>(
        &mut self,
        node: NodeId,
        act: impl FnOnce(Duration, &mut Member<G, M>) -> T,
    ) -> T {
        self.testbed.with(node, act).expect("nobody ever stops")
    }

    /// What has been sent and received on the way from one member to another.
    pub fn traffic(&self, from: NodeId, to: NodeId) -> Traffic {
        self.testbed.traffic_between(from, to)
    }

    /// Datagrams the opener's line has taken and lost because it was full.
    pub fn uplink(&self) -> (u64, u64) {
        let stats = self.testbed.uplink_stats(OPENER);
        (stats.sent, stats.sent.saturating_sub(stats.delivered))
    }

    /// What the opener has sent to a member, packet by packet, since it was last forgotten.
    pub fn ledger(&self, to: NodeId) -> Ledger {
        let address = self.testbed.address(to);
        self.member(OPENER).sent().of(address)
    }

    /// Plays on until this long after the beginning: everyone gives its commands, and after each tick of true time `look` is told what
    /// those who draw show.
    pub fn play_until(
        &mut self,
        elapsed: Duration,
        mut look: impl FnMut(&Look<'_>),
    ) -> Result<(), String> {
        let end = self.start + elapsed;
        loop {
            let tick = self.start + TICK * (self.looked + 1) as u32;
            let command = self.next_command(tick.min(end));
            let next = command.unwrap_or(end).min(tick).min(end);
            self.idle_until(next)?;
            if Some(next) == command {
                self.command();
            } else if next == tick {
                self.looked += 1;
                self.look(&mut look);
            } else {
                return Ok(());
            }
        }
    }

    /// Everyone who draws does, and is looked at.
    fn look(&mut self, look: &mut impl FnMut(&Look<'_>)) {
        let fresh = self.with(OPENER, |_, member| member.take_states());
        for (tick, places) in fresh {
            let forgotten = self.truth.push(tick, places);
            if let Some(places) = forgotten {
                self.with(OPENER, |_, member| member.reuse(places));
            }
        }
        for node in self.guests().take(self.config.drawing) {
            let Stage {
                testbed,
                truth,
                shown,
                known,
                ..
            } = self;
            let drawn = testbed.with(node, |now, member| {
                known.clear();
                member.game().world().state().places(known);
                shown.clear();
                let (displayed, status) = member.draw(now, shown);
                look(&Look {
                    node,
                    displayed,
                    status: &status,
                    shown,
                    known,
                    truth,
                });
            });
            drawn.expect("nobody ever stops");
        }
    }

    /// Lets time pass in which nobody does anything.
    pub fn idle_until(&mut self, until: Duration) -> Result<(), String> {
        while let Some((_, node, notice)) = self.testbed.next(until) {
            if let Notice::Left(why) = &notice {
                return Err(format!("{node} is out of the room: {why}"));
            }
        }
        Ok(())
    }

    fn wait(&mut self, words: &str, done: impl Fn(&Member<G, M>) -> bool) -> Result<(), String> {
        let end = self.testbed.now() + PATIENCE;
        while self.testbed.now() < end {
            if self.nodes().all(|node| done(self.member(node))) {
                return Ok(());
            }
            self.idle_until(self.testbed.now() + Duration::from_millis(50))?;
        }
        let missing = self.nodes().filter(|node| !done(self.member(*node)));
        Err(format!(
            "{words} within {} s: {} are missing",
            PATIENCE.as_secs(),
            missing.count()
        ))
    }

    fn next_command(&mut self, until: Duration) -> Option<Duration> {
        let testbed = &self.testbed;
        let until = until.saturating_sub(self.start);
        let at = self.cues.next_at(until, |node| player_of(testbed, node))?;
        Some(self.start + at)
    }

    fn command(&mut self) {
        let testbed = &self.testbed;
        if let Some((node, player, command)) = self.cues.take(|node| player_of(testbed, node)) {
            self.with(node, |now, member| member.give(now, player, &command));
        }
    }
}

/// Who plays at a node, and the game as it is there; nobody if whoever might has not come.
fn player_of<G: Placed, M: Model>(
    testbed: &Testbed<Member<G, M>>,
    node: NodeId,
) -> Option<(PlayerId, &G)> {
    if testbed.nodes().count() <= node.0.into() {
        return None;
    }
    let member = testbed.machine(node)?;
    Some((member.player()?, member.game().world().state()))
}

#[cfg(test)]
mod tests;
