//! What every game of the catalog promises.

use samestep_catalog::evaluation::Evaluation;
use samestep_catalog::hat_hunters::HatHunters;
use samestep_catalog::rawrlocks::Rawrlocks;
use samestep_catalog::skirmish::Skirmish;
use samestep_catalog::sublockus::Sublockus;
use samestep_catalog::{GAMES, NAMES, Visitor, visit};
use samestep_playable::{Bots, Playable, Setup};
use samestep_sync::{Live, PlayerId, Simulation, Tick, TickInputs, World, sync_test};

#[test]
fn every_crate_of_a_game_is_listed() {
    let entries = std::fs::read_dir("../../games").unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    let crates = folders.filter(|folder| folder.join("Cargo.toml").is_file());
    let mut crates: Vec<String> = crates
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().into())
        .collect();
    crates.sort_unstable();
    let mut listed = NAMES.to_vec();
    listed.sort_unstable();
    assert_eq!(listed, crates);
}

struct NameOf;

impl Visitor for NameOf {
    type Output = (&'static str, &'static str);

    fn visit<G: Playable>(self) -> Self::Output {
        (G::NAME, G::TITLE)
    }
}

#[test]
fn every_game_is_found_by_its_name() {
    for game in GAMES {
        assert_eq!(visit(game.name, NameOf), Some((game.name, game.title)));
    }
    assert_eq!(visit("chess", NameOf), None);
}

fn keeps_its_promises<G: Playable>() {
    let setup = Setup::default_of::<G>(3);
    let mut bots = Bots::<G>::new(&setup);
    let players = bots.players();
    assert_eq!(players.len(), usize::from(G::PLAYERS));
    let mut last = G::placeholder();
    let tested = sync_test(G::begin(&setup).unwrap(), 120, 4, |tick, game, inputs| {
        inputs.set_players(&players);
        bots.act(game, tick, inputs);
        last = game.clone();
    });
    tested.unwrap();

    let mut tampered = last.clone();
    tampered.tamper();
    assert_ne!(
        tampered.checksum(),
        last.checksum(),
        "tampering changes the state"
    );

    let mut positions = Vec::new();
    last.positions(&mut positions);
    assert!(!positions.is_empty());
    assert!(positions.is_sorted_by_key(|(id, _)| *id));

    for (columns, lines) in [(80, 23), (40, 60), (200, 50), (1, 1), (0, 0)] {
        let picture = last.picture(Some(PlayerId(0)), columns, lines);
        assert!(picture.len() <= lines.max(2), "{columns} × {lines}");
        for row in picture.iter().skip(1) {
            assert!(
                row.matches('▀').count() <= columns.max(1),
                "{columns} × {lines}"
            );
        }
    }

    let measured = G::SIZES.map(|sizes| sizes.load);
    let setup = Setup {
        size: measured,
        ..setup
    };
    let game = G::begin_measured(&setup).unwrap();
    let mut script = G::script(&setup).unwrap();
    let mut inputs = (0..120).flat_map(|tick| players.iter().map(move |player| (tick, *player)));
    assert!(inputs.any(|(tick, player)| script(&game, Tick(tick), player).is_some()));
}

/// A copy, and one that was made anew from the encoding of the state now and then, stay the same as the original.
fn copies_stay_the_same<G: Playable>() {
    let setup = Setup::default_of::<G>(5);
    let mut bots = Bots::<G>::new(&setup);
    let players = bots.players();
    let begin = || Live::without_recording(G::begin(&setup).unwrap());
    let (mut original, mut copy, mut encoded) = (begin(), begin(), begin());
    let mut inputs = TickInputs::new();
    let mut happened = 0;
    for tick in (0..1200).map(Tick) {
        if tick.0 % 97 == 96 {
            let checkpoint = original.checkpoint();
            encoded = begin();
            encoded.adopt(tick, &checkpoint).unwrap();
        }
        inputs.clear();
        inputs.set_players(&players);
        bots.act(original.state(), tick, &mut inputs);
        let mut events = Vec::new();
        for world in [&mut original, &mut copy, &mut encoded] {
            world.step(tick, &inputs);
            world.confirm(tick, &inputs);
            let told = core::iter::from_fn(|| world.poll_event());
            events.push(told.map(|told| told.event).collect::<Vec<_>>());
        }
        happened += events[0].len();
        assert!(events[0] == events[1] && events[0] == events[2], "{tick:?}");
        if tick.0 % 30 == 0 {
            let checksum = original.checksum();
            let others = [copy.checksum(), encoded.checksum()];
            assert_eq!(others, [checksum; 2], "{tick:?}");
        }
    }
    assert!(happened > 20 || G::NAME == Evaluation::NAME, "{happened}");
}

macro_rules! promises {
    ($($name:ident => $game:ty,)*) => {
        mod keeps_its_promises {
            $(
                #[test]
                fn $name() {
                    let name = stringify!($name).replace('_', "-");
                    assert_eq!(name, <$game as samestep_sync::Simulation>::NAME);
                    super::keeps_its_promises::<$game>();
                    super::copies_stay_the_same::<$game>();
                }
            )*
        }
    };
}
samestep_catalog::for_each_game!(promises);

fn is_refused<G: Playable>(players: u16, size: Option<u32>) -> bool {
    let seed = 1;
    G::begin(&Setup {
        players,
        size,
        seed,
    })
    .is_err()
}

#[test]
fn impossible_games_are_refused() {
    assert!(is_refused::<Sublockus>(1, None) && is_refused::<Sublockus>(33, None));
    assert!(is_refused::<Sublockus>(4, Some(9)));
    assert!(is_refused::<HatHunters>(0, None) && is_refused::<HatHunters>(33, None));
    assert!(is_refused::<HatHunters>(4, Some(9)));
    assert!(is_refused::<Rawrlocks>(1, None) && is_refused::<Rawrlocks>(11, None));
    assert!(is_refused::<Rawrlocks>(4, Some(9)));
    assert!(is_refused::<Skirmish>(1, None) && is_refused::<Skirmish>(2, Some(u32::MAX)));
    assert!(is_refused::<Evaluation>(0, None) && is_refused::<Evaluation>(2, Some(70_000)));
}
