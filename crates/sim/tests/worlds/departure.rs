//! A member of a mesh vanishes, and its last inputs have reached only some of the others: the room decides where they end, everyone goes on with the same
//! inputs, nobody has to take over another's state, and the game stands still no longer than the room takes to exclude it.

use crate::entrance;
use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{Match, MatchEvent, SessionConfig, Silence, State};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    Events, Input, Inputs, Live, Model, ModelEvent, ModelKind, PlayerPresence, Replicate, Rng,
    RoomKind, Simulation, Tick,
};
use samestep_wire::Wire;

#[derive(Clone, Copy, Default, PartialEq, Debug, Wire)]
struct Act(u8);

impl Input for Act {
    fn predict(&self) -> Self {
        Act(0)
    }
}

/// What happened, folded into one number: any input that one copy has and another lacks, or has at another tick, shows.
#[derive(Clone, Default, PartialEq, Debug, Replicate)]
struct Story {
    told: u64,
    acts: u32,
    last_tick: u64,
}

impl Simulation for Story {
    type Input = Act;
    type Event = ();
    const NAME: &'static str = "story";

    fn step(&mut self, inputs: &Inputs<'_, Act>, _: &mut Events<()>) {
        for (player, act) in inputs.iter() {
            let is_present = inputs.presence(player) == PlayerPresence::Present;
            let word = u64::from(player.0) << 9 | u64::from(act.0) << 1 | u64::from(is_present);
            if act.0 > 0 {
                let told = self.told ^ word ^ inputs.tick().0 << 32;
                self.told = told.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
                self.acts += 1;
                self.last_tick = inputs.tick().0;
            }
        }
    }
}

type Game = Match<Live<Story>, Box<dyn Model + Send>>;

/// A silent member is excluded after this time.
const SILENCE: Duration = Duration::from_millis(1200);
/// What the exclusion itself may take, beyond the silence: leaders are elected, members asked, and what was lost is sent again.
const VIEW_CHANGE: Duration = Duration::from_millis(500);

/// A second misfortune while the room excludes the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Second {
    None,
    /// Another member is cut off, and is back before anybody excludes it.
    CutOff,
    /// Another member vanishes too.
    Vanishes,
}

struct Run {
    testbed: Testbed<Game>,
    rng: Rng,
    /// How far each copy has got, and when it got there.
    progress: BTreeMap<NodeId, (Tick, Duration)>,
    longest_stall: Duration,
    adopted: u32,
}

impl Run {
    fn new(kind: &'static ModelKind, members: usize, seed: u64) -> Run {
        let mut rng = Rng::new(seed);
        let mut testbed = Testbed::new(seed);
        let nodes: Vec<NodeId> = (0..members).map(|_| testbed.add_node()).collect();
        let loss = f64::from(rng.below(6)) / 100.0;
        for from in &nodes {
            for to in nodes.iter().filter(|to| *to != from) {
                let config = LinkConfig {
                    latency: Duration::from_millis(5 + u64::from(rng.below(60))),
                    loss: Loss::Bernoulli(loss),
                    ..LinkConfig::default()
                };
                testbed.set_link(*from, *to, config);
            }
        }
        for node in nodes {
            let mut config = SessionConfig::new("story", 1);
            config.silence = Silence::Drop { after: SILENCE };
            let world = Live::without_recording(Story::default());
            let model = kind.config().build().unwrap();
            let door = entrance::door(&testbed);
            entrance::enter(
                &mut testbed,
                (RoomKind::Mesh, door),
                node,
                config,
                (world, model),
            );
            testbed.run_for(Duration::from_millis(900));
        }
        entrance::start(&mut testbed);
        testbed.run_for(Duration::from_secs(3));
        Run {
            testbed,
            rng,
            progress: BTreeMap::new(),
            longest_stall: Duration::ZERO,
            adopted: 0,
        }
    }

    /// Lets time pass; whoever is there acts now and then if they `act`.
    fn run(&mut self, time: Duration, acts: bool) {
        let until = self.testbed.now() + time;
        while self.testbed.now() < until {
            let step = self.testbed.now() + Duration::from_millis(10);
            while let Some((_, _, event)) = self.testbed.next(step.min(until)) {
                let is_adopted = matches!(event, MatchEvent::Model(ModelEvent::Adopted { .. }));
                self.adopted += u32::from(is_adopted);
            }
            let now = self.testbed.now();
            let mut nodes: Vec<NodeId> = self.testbed.nodes().collect();
            nodes.retain(|node| self.testbed.is_running(*node));
            for node in nodes {
                let act = Act(1 + self.rng.below(200) as u8);
                let acts = acts && self.rng.below(3) == 0;
                let at = self.testbed.with(node, |local, game| {
                    if acts {
                        let player = game.session().my_players().next().expect("plays");
                        game.input(local, player, &act);
                    }
                    game.status().confirmed_tick
                });
                let at = at.expect("runs");
                let progress = self.progress.entry(node).or_insert((at, now));
                self.longest_stall = self.longest_stall.max(now - progress.1);
                if at > progress.0 {
                    *progress = (at, now);
                }
            }
        }
    }

    fn pause(&mut self, below_ms: u64) {
        let ms = self.rng.below(below_ms as u32 + 1);
        self.run(Duration::from_millis(ms.into()), true);
    }
}

/// Plays one world. Returns how long the game stood still for anybody who stayed.
fn play(kind: &'static ModelKind, members: usize, second: Second, seed: u64) -> Duration {
    let what = format!("{}, {members} members, {second:?}, seed {seed}", kind.name);
    let mut run = Run::new(kind, members, seed);
    run.run(Duration::from_secs(1), true);
    run.pause(1000);
    let nodes: Vec<NodeId> = run.testbed.nodes().collect();
    let victim = nodes[run.rng.below(members as u32) as usize];
    // Some hear nothing more of it, one after the other; then it is gone.
    for other in nodes.iter().filter(|node| **node != victim) {
        if run.rng.below(2) == 0 {
            run.testbed.cut_one_way(victim, *other);
            run.pause(60);
        }
    }
    run.longest_stall = Duration::ZERO;
    run.testbed.kill(victim);
    run.progress.remove(&victim);
    let others: Vec<NodeId> = nodes.iter().copied().filter(|n| *n != victim).collect();
    let unlucky = others[run.rng.below(others.len() as u32) as usize];
    match second {
        Second::None => {}
        Second::CutOff => {
            run.pause(2000);
            run.testbed.isolate(unlucky);
            run.pause(700);
            run.testbed.rejoin(unlucky);
        }
        Second::Vanishes => {
            run.pause(2000);
            run.testbed.kill(unlucky);
            run.progress.remove(&unlucky);
        }
    }
    run.run(Duration::from_secs(8), true);
    run.run(Duration::from_secs(3), false);
    let running = run.testbed.nodes();
    let games: Vec<(NodeId, &Game)> = running
        .filter_map(|node| Some((node, run.testbed.machine(node)?)))
        .collect();
    let told = games[0].1.world().state();
    for (node, game) in &games {
        let what = format!("{what}, {node}");
        let status = game.status();
        assert_eq!(*game.session().state(), State::InSync, "{what}");
        assert_eq!((status.desyncs, &status.trouble), (0, &None), "{what}");
        assert_eq!(game.world().state(), told, "{what}");
    }
    let is_long = told.acts > 100 && told.last_tick > 400;
    assert!(is_long, "{what}: {told:?}");
    if second != Second::CutOff {
        assert_eq!(run.adopted, 0, "{what}: nobody needs another's state");
    }
    let misfortunes = if second == Second::None { 1 } else { 2 };
    let allowed = (SILENCE + VIEW_CHANGE) * misfortunes;
    assert!(
        run.longest_stall < allowed,
        "{what}: the game stood still for {:?}",
        run.longest_stall
    );
    run.longest_stall
}

/// Plays many worlds, with lockstep and with rollback.
fn play_many(members: usize, second: Second, seeds: core::ops::Range<u64>) {
    for kind in ModelKind::ALL {
        if !["lockstep", "rollback"].contains(&kind.name) {
            continue;
        }
        let stalls = seeds.clone().map(|seed| play(kind, members, second, seed));
        let mut stalls: Vec<Duration> = stalls.collect();
        stalls.sort_unstable();
        let (median, longest) = (stalls[stalls.len() / 2], stalls[stalls.len() - 1]);
        println!(
            "{}, {members} members, {second:?}: stood still for {median:?} (median), {longest:?} at most",
            kind.name
        );
    }
}

#[test]
fn one_of_three_vanishes() {
    play_many(3, Second::None, 0..25);
}

#[test]
fn one_of_four_vanishes() {
    play_many(4, Second::None, 100..125);
}

#[test]
fn one_of_four_vanishes_and_another_is_cut_off_meanwhile() {
    play_many(4, Second::CutOff, 200..225);
}

#[test]
fn two_of_five_vanish() {
    play_many(5, Second::Vanishes, 300..320);
}

/// Somebody leaves while three others vanish one after the other, each before the room has given the one before it up. Returns after what time nobody
/// sees the one that left.
fn leave_while_others_vanish(kind: &'static ModelKind, seed: u64) -> Duration {
    let mut run = Run::new(kind, 9, seed);
    run.run(Duration::from_secs(1), true);
    let mut nodes: Vec<NodeId> = run.testbed.nodes().collect();
    for at in (1..nodes.len()).rev() {
        nodes.swap(at, run.rng.below(at as u32 + 1) as usize);
    }
    let (leaving, vanishing, staying) = (nodes[0], &nodes[1..4], &nodes[4..]);
    let game = run.testbed.machine(leaving).expect("runs");
    let peer = game.session().me().expect("a member");
    let mut vanish_after: Vec<Duration> = Vec::new();
    for at in 0..3 {
        let jitter = Duration::from_millis(u64::from(run.rng.below(200)));
        vanish_after.push(SILENCE * at * 3 / 4 + jitter);
    }
    let begun = run.testbed.now();
    let mut gone = 0;
    let mut left = false;
    loop {
        let now = run.testbed.now() - begun;
        while gone < 3 && now >= vanish_after[gone] {
            run.testbed.kill(vanishing[gone]);
            run.progress.remove(&vanishing[gone]);
            gone += 1;
        }
        if !left && gone == 1 {
            let leave = |now, game: &mut Game| game.session_mut().leave(now, "bye");
            run.testbed.with(leaving, leave);
            run.progress.remove(&leaving);
            left = true;
        }
        run.run(Duration::from_millis(20), true);
        let sees = |node: &NodeId| {
            let game = run.testbed.machine(*node).expect("runs");
            game.session().room().peer(peer).is_some()
        };
        if left && !staying.iter().any(sees) {
            return run.testbed.now() - begun - vanish_after[0];
        }
        assert!(now < SILENCE * 8, "{}, seed {seed}: still there", kind.name);
    }
}

#[test]
fn who_leaves_while_others_vanish_is_soon_gone() {
    for kind in ModelKind::ALL {
        if !["lockstep", "rollback"].contains(&kind.name) {
            continue;
        }
        let waits = (0..20).map(|seed| leave_while_others_vanish(kind, seed));
        let mut waits: Vec<Duration> = waits.collect();
        waits.sort_unstable();
        let (median, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
        println!(
            "{}: gone after {median:?} (median), {longest:?} at most",
            kind.name
        );
        // The leader may be among those who vanish, and so may its successor.
        assert!(
            median < SILENCE * 3 / 2 + VIEW_CHANGE,
            "{}: {median:?}",
            kind.name
        );
        assert!(
            longest < SILENCE * 2 + VIEW_CHANGE,
            "{}: {longest:?}",
            kind.name
        );
    }
}
