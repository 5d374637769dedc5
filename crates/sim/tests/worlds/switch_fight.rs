//! A fight whose model changes in the middle: nobody stands still, and everyone has the same after.

use std::collections::BTreeMap;
use std::time::Duration;

use samestep_netem::{LinkConfig, Loss};
use samestep_session::{JoinTo, Match, MatchEvent, Role, SessionConfig};
use samestep_sim::{NodeId, Testbed};
use samestep_sublockus::{Bot, Controls, Sublockus, SublockusConfig};
use samestep_sync::{
    Live, LockstepConfig, ModelConfig, ModelEvent, RewindConfig, SnapshotConfig, StateSyncConfig,
    Switch, Tick, World,
};

const HOST: NodeId = NodeId(0);
const LOCKSTEP: usize = 0;
const SNAPSHOT: usize = 1;
const STATE_SYNC: usize = 2;

type Game = Match<Live<Sublockus>, Switch>;

struct Fight {
    testbed: Testbed<Game>,
    bots: BTreeMap<NodeId, Bot>,
    seed: u64,
    /// The farthest tick each has shown, and when; the longest that it took to the next.
    shown: BTreeMap<NodeId, (Tick, Duration)>,
    longest: Duration,
    /// Check values of states by tick, while everyone simulates the same.
    sums: BTreeMap<Tick, u64>,
}

impl Fight {
    fn new(seed: u64, players: usize) -> Fight {
        let mut fight = Fight {
            testbed: Testbed::new(seed),
            bots: BTreeMap::new(),
            seed,
            shown: BTreeMap::new(),
            longest: Duration::ZERO,
            sums: BTreeMap::new(),
        };
        fight.testbed.set_links(LinkConfig {
            latency: Duration::from_millis(50),
            loss: Loss::Bernoulli(0.02),
            ..LinkConfig::default()
        });
        let host = fight.testbed.add_node();
        fight.open(host, Role::Host);
        for _ in 1..players {
            let node = fight.testbed.add_node();
            let to = JoinTo::new(fight.testbed.address(HOST));
            fight.open(node, Role::Client(to));
        }
        fight.play(3000, true);
        fight
            .testbed
            .with(HOST, |now, game| game.session_mut().start(now));
        fight.play(4000, true);
        fight
    }

    fn open(&mut self, node: NodeId, role: Role) {
        let config = SessionConfig::new("fight", 1).player("fighter");
        let model = Switch::new(vec![
            ModelConfig::Lockstep(LockstepConfig::default()),
            ModelConfig::Snapshot(SnapshotConfig::default()),
            ModelConfig::StateSync(StateSyncConfig::default()),
            ModelConfig::Rewind(RewindConfig::default()),
        ]);
        let game = Sublockus::new(&SublockusConfig::free_for_all(self.seed, 8)).unwrap();
        self.testbed.start(node, |now, seed| {
            Match::new(now, config, role, seed, model.unwrap(), Live::new(game)).unwrap()
        });
    }

    /// Everyone fights, or rests.
    fn play(&mut self, ms: u64, fights: bool) {
        let nodes: Vec<NodeId> = self.testbed.nodes().collect();
        for _ in 0..ms {
            let until = self.testbed.now() + Duration::from_millis(1);
            while let Some((_, node, event)) = self.testbed.next(until) {
                let lost = matches!(
                    event,
                    MatchEvent::Model(ModelEvent::Adopted { .. } | ModelEvent::Desync(_))
                );
                assert!(!lost, "{node:?}: {event:?} (seed {})", self.seed);
            }
            for node in &nodes {
                self.act(*node, until, fights);
            }
        }
    }

    /// Once in every tick that a program shows.
    fn act(&mut self, node: NodeId, now: Duration, fights: bool) {
        let tick = self.testbed.machine(node).map(|game| game.status().tick);
        let tick = tick.unwrap_or_default();
        let (farthest, since) = self.shown.entry(node).or_insert((tick, now));
        if tick <= *farthest {
            return;
        }
        self.longest = self.longest.max(now - *since);
        (*farthest, *since) = (tick, now);
        let (bots, seed) = (&mut self.bots, self.seed);
        self.testbed.with(node, |now, game| {
            let Some(player) = game.session().my_players().next() else {
                return;
            };
            let bot = bots.entry(node).or_insert_with(|| Bot::new(seed, player));
            let controls = match fights {
                true => bot.controls(tick, game.shown(now)),
                false => Controls::default(),
            };
            game.input(now, player, &controls);
        });
    }

    fn change_to(&mut self, choice: usize) {
        let changed = self.testbed.with(HOST, |now, game| {
            let time = game.session().time(now).unwrap();
            game.model_mut().to(time, choice)
        });
        assert_eq!(changed, Some(true));
    }

    /// Everyone has the same at the same tick.
    fn assert_same(&mut self) {
        let nodes: Vec<NodeId> = self.testbed.nodes().collect();
        let mut compared = 0;
        for _ in 0..600 {
            self.play(1, true);
            for node in &nodes {
                let look = |_, game: &mut Game| {
                    let world = game.world_mut();
                    (world.tick(), world.checksum())
                };
                let Some((tick, sum)) = self.testbed.with(*node, look) else {
                    continue;
                };
                compared += usize::from(self.sums.contains_key(&tick));
                let right = *self.sums.entry(tick).or_insert(sum);
                assert_eq!(sum, right, "{node:?} at tick {tick} (seed {})", self.seed);
            }
        }
        assert!(compared > 1000);
        self.sums.clear();
    }
}

#[test]
fn a_fight_of_eight_goes_on_while_its_model_changes() {
    for seed in 1..4 {
        let mut fight = Fight::new(seed, 8);
        fight.assert_same();
        for choice in [
            SNAPSHOT, LOCKSTEP, STATE_SYNC, SNAPSHOT, STATE_SYNC, LOCKSTEP,
        ] {
            fight.longest = Duration::ZERO;
            fight.change_to(choice);
            fight.play(3000, true);
            println!("seed {seed} to {choice}: {:?}", fight.longest);
            assert!(
                fight.longest <= Duration::from_millis(250),
                "{:?} to {choice} (seed {seed})",
                fight.longest
            );
            let current = |game: &Game| game.model().current();
            let all = fight.testbed.nodes().collect::<Vec<_>>();
            let there = |node: &NodeId| fight.testbed.machine(*node).map(current);
            assert!(all.iter().all(|node| there(node) == Some(choice)));
            if choice == LOCKSTEP {
                fight.assert_same();
            }
        }
        let frags: u32 = fight.testbed.machine(HOST).map_or(0, |game| {
            let seats = game.world().state().seats().iter();
            seats.map(|seat| u32::from(seat.frags)).sum()
        });
        assert!(frags > 0, "nobody fought");
    }
}
