//! Through ends, rematches and loaded states everyone is told of the same events, under every model.

use crate::entrance;
use std::time::Duration;

use samestep_netem::{Jitter, LinkConfig, Loss};
use samestep_session::{Match, MatchEvent, SessionConfig, SessionEvent};
use samestep_sim::{NodeId, Testbed};
use samestep_sync::{
    EventStage, Events, Input, Inputs, Live, Model, ModelKind, Playback, PlayerId, Replay,
    Replicate, Rng, RoomKind, Simulation, Tick,
};
use samestep_wire::Wire;

#[derive(Clone, Default, PartialEq, Debug, Wire)]
struct Press(bool);

impl Input for Press {
    fn predict(&self) -> Self {
        Press(false)
    }
}

/// Who presses five times first wins the race.
#[derive(Clone, Default, Replicate)]
struct Race {
    number: u32,
    pressed: [u32; 4],
}

#[derive(Clone, Copy, PartialEq, Debug, Wire)]
enum News {
    Pressed(PlayerId, u32),
    Won(PlayerId, u32),
}

const GOAL: u32 = 5;

impl Simulation for Race {
    type Input = Press;
    type Event = News;
    const NAME: &'static str = "race";

    fn step(&mut self, inputs: &Inputs<'_, Press>, events: &mut Events<News>) {
        for (player, _) in inputs.iter().filter(|(_, press)| press.0) {
            let won = self.pressed.iter().any(|pressed| *pressed >= GOAL);
            let pressed = &mut self.pressed[usize::from(player.0) % 4];
            *pressed += 1;
            events.emit(News::Pressed(player, *pressed));
            if *pressed >= GOAL && !won {
                events.emit(News::Won(player, self.number));
            }
        }
    }
}

type Game = Match<Live<Race>, Box<dyn Model + Send>>;
type Told = Vec<(Tick, News)>;

/// What three programs are told of in some races, each of which is ended, followed by a rematch, and begins with another state.
fn races(
    kind: ModelKind,
    room: RoomKind,
    round_trip: Duration,
    seed: u64,
    races: u32,
) -> [Told; 3] {
    let mut testbed: Testbed<Game> = Testbed::new(seed);
    testbed.set_links(LinkConfig {
        latency: round_trip / 2,
        jitter: Jitter {
            amount: Duration::from_millis(3),
            ..Jitter::default()
        },
        loss: Loss::Bernoulli(0.05),
        ..LinkConfig::default()
    });
    let nodes = [(); 3].map(|()| testbed.add_node());
    for node in nodes {
        let to = (room, entrance::door(&testbed));
        let config = SessionConfig::new("race", 1);
        let game = (Live::new(Race::default()), kind.config().build().unwrap());
        entrance::enter(&mut testbed, to, node, config, game);
        testbed.run_for(Duration::from_secs(2));
    }
    entrance::start(&mut testbed);
    testbed.run_for(Duration::from_secs(2));
    let mut rng = Rng::new(seed);
    let mut told = [(); 3].map(|()| Told::new());
    let (mut ended, mut left) = (0, 400);
    let mut steps = 0;
    while left > 0 {
        let until = testbed.now() + Duration::from_millis(8);
        while let Some((_, node, event)) = testbed.next(until) {
            let loaded = testbed.with(node, |now, game: &mut Game| on_event(now, game, &event));
            ended += u32::from(loaded == Some(true));
        }
        steps += 1;
        assert!(
            steps < 60_000,
            "{} {room:?} seed {seed}: race {ended}",
            kind.name
        );
        left -= u32::from(ended == races);
        for (node, told) in nodes.into_iter().zip(&mut told) {
            let presses = ended < races && rng.chance(0.04);
            testbed.with(node, |now, game: &mut Game| {
                let me = game.session().my_players().next();
                if let Some(me) = me.filter(|_| presses) {
                    game.command(now, me, &Press(true));
                }
                take_news(now, game, told);
            });
        }
    }
    let recording = |node: NodeId| testbed.machine(node)?.world().recorder().map(|r| r.bytes());
    for node in nodes {
        let replay = Replay::parse(recording(node).unwrap()).unwrap();
        let world = Live::without_recording(Race::default());
        let verified = Playback::new(replay, world).unwrap().verify();
        let case = format!("{} {room:?} seed {seed} {node:?}", kind.name);
        assert!(verified.is_ok(), "{case}: {verified:?}");
    }
    told
}

/// Takes what a program is told of by the rules. Who learns for certain that somebody has won proposes the end.
fn take_news(now: Duration, game: &mut Game, told: &mut Told) {
    while let Some(event) = game.world_mut().poll_event() {
        if event.stage == EventStage::Confirmed {
            told.push((event.tick, event.event));
            // A host decides alone; in a mesh most have to propose the same.
            let decides = game.session().is_authority() || game.session().room().is_mesh();
            if matches!(event.event, News::Won(..)) && decides {
                game.session_mut().propose_end(now, b"won");
            }
        }
    }
}

/// Follows an end with a rematch. Returns whether the state of the next race is loaded.
fn on_event(now: Duration, game: &mut Game, event: &MatchEvent) -> bool {
    match event {
        MatchEvent::Session(SessionEvent::Ended { .. }) if game.session().is_authority() => {
            game.session_mut().rematch(now);
            false
        }
        MatchEvent::Session(SessionEvent::Rematch) if game.session().is_authority() => {
            let number = game.world().state().number + 1;
            let pressed = [0; 4];
            let next = Live::checkpoint_of(Race { number, pressed });
            assert!(game.load(now, &next));
            game.session_mut().start(now);
            true
        }
        _ => false,
    }
}

fn check(seed: u64) {
    for kind in ModelKind::ALL {
        for room in kind.rooms {
            for round_trip in [50, 200] {
                let round_trip = Duration::from_millis(round_trip);
                let told = races(*kind, *room, round_trip, seed, 10);
                let case = format!("{} {room:?} {round_trip:?} seed {seed}", kind.name);
                let won = told[0]
                    .iter()
                    .filter(|(_, news)| matches!(news, News::Won(..)));
                let numbers: Vec<u32> = won.map(|(_, news)| number_of(news)).collect();
                assert!(
                    numbers.starts_with(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
                    "{case}: {numbers:?}"
                );
                for (program, theirs) in told.iter().enumerate().skip(1) {
                    let differs = told[0].iter().zip(theirs).find(|(a, b)| a != b);
                    assert!(
                        told[0] == *theirs,
                        "{case}: program {program} was told {} of {}, {differs:?}",
                        theirs.len(),
                        told[0].len(),
                    );
                }
            }
        }
    }
}

fn number_of(news: &News) -> u32 {
    match news {
        News::Won(_, number) | News::Pressed(_, number) => *number,
    }
}

#[test]
fn everyone_is_told_the_same_through_ten_rematches() {
    check(1);
}

#[test]
#[ignore = "twenty times as long: for changes of what is tested here"]
fn everyone_is_told_the_same_with_twenty_seeds() {
    (2..22).for_each(check);
}
