//! Recordings of whole matches: played, cut, damaged, compared.

use samestep_catalog::evaluation::Evaluation;
use samestep_sandbox::{Conditions, ModelKind, Scenario};
use samestep_sync::{
    DivergedState, Divergence, Live, PlayerId, Progress, Replay, Replicate, Rng, Table, Tick,
    TickInputs, World,
};

use super::compare::{Compared, Led};
use super::opened::{LiveMatch, Opened};
use super::player::{Outcome, Player};
use crate::any_match::AnyMatch;
use crate::registry;

/// A match as a link says, so many steps long.
fn played(link: &str, steps: u64) -> Box<dyn AnyMatch> {
    let mut scenario = Scenario::from_link(link).unwrap();
    if !link.contains("net=") {
        scenario.set_conditions(Conditions::preset("lte").unwrap());
    }
    let mut live = (registry::game(&scenario.game).unwrap().open)(&scenario).unwrap();
    (0..steps).for_each(|_| live.step());
    live
}

fn open(bytes: Vec<u8>) -> Opened {
    Opened::new("match.replay", bytes).unwrap()
}

fn player(bytes: Vec<u8>) -> Player {
    open(bytes)
        .player
        .map_err(|words| panic!("{words}"))
        .unwrap()
}

/// Lets it finish whatever it does.
fn finish(player: &mut Player) {
    while !player.is_still() {
        player.advance(0.1, &|| 0.0);
    }
}

fn go(player: &mut Player, tick: u64) -> u64 {
    player.go(Tick(tick));
    finish(player);
    assert_eq!(player.tick(), Tick(tick));
    player.played_mut().checksum()
}

/// The checksums of all states, from the first.
fn every_checksum(player: &mut Player) -> Vec<u64> {
    player.go(player.replay().first());
    finish(player);
    let mut all = vec![player.played_mut().checksum()];
    while player.tick() < player.replay().end() {
        if player.played_mut().step() == Ok(Progress::Replaced) {
            all.pop();
        }
        all.push(player.played_mut().checksum());
    }
    all
}

#[test]
fn recordings_of_every_game_and_model_are_gone_through_exactly() {
    for game in registry::GAMES {
        for kind in ModelKind::ALL.iter().filter(|kind| (game.supports)(**kind)) {
            let link = format!("game={}&model={}&players=3", game.name, kind.name);
            let mut player = player(played(&link, 500).recording());
            let all = every_checksum(&mut player);
            assert!(all.len() > 400, "{link}: {} ticks", all.len());
            let first = player.replay().first().0;
            let mut random = Rng::new(5);
            for _ in 0..12 {
                let at = random.below(all.len() as u32);
                let found = go(&mut player, first + u64::from(at));
                assert_eq!(found, all[at as usize], "{link}, tick {at}");
            }
            player.verify();
            finish(&mut player);
            let outcome = player.outcome().unwrap();
            assert!(
                matches!(outcome, Outcome::Agrees(1..)),
                "{link}: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_clip_plays_by_itself_as_the_whole_does() {
    for link in [
        "game=sublockus&model=state-sync&players=4",
        "game=sublockus&model=snapshot&players=4&seed=2",
        "game=skirmish&model=lockstep&players=2",
        "game=evaluation&model=rollback&players=3",
    ] {
        let mut whole = player(played(link, 700).recording());
        let all = every_checksum(&mut whole);
        for from in [0, 137, 311, 420] {
            go(&mut whole, 77);
            whole.cut(Tick(from), Tick(from + 200));
            finish(&mut whole);
            assert_eq!(whole.tick(), Tick(77), "it goes back to where it was");
            let cut = whole.take_cut().unwrap();
            assert_eq!((cut.from, cut.to), (Tick(from), Tick(from + 200)));
            let mut clip = player(cut.file.unwrap());
            let (first, end) = (clip.replay().first(), clip.replay().end());
            assert_eq!((first, end), (Tick(from), Tick(from + 200)));
            let clipped = every_checksum(&mut clip);
            let from = from as usize;
            assert_eq!(clipped.len(), 201);
            assert!(clipped == all[from..from + 201], "{link} from {from}");
            clip.verify();
            finish(&mut clip);
            let outcome = clip.outcome().unwrap();
            assert!(matches!(outcome, Outcome::Agrees(4..)), "{outcome:?}");
        }
    }
}

#[test]
fn what_is_cut_off_plays_to_there_and_what_is_damaged_never_breaks() {
    let live = played("game=evaluation&model=lockstep&size=4&net=lan", 200);
    let bytes = live.recording();
    let end = Replay::parse(bytes.clone()).unwrap().end();
    let mut shorter = 0;
    for len in 0..bytes.len() {
        match Opened::new("cut", bytes[..len].to_vec()) {
            Err(words) => assert!(words.starts_with("cut: "), "{words}"),
            Ok(opened) => {
                let mut player = opened.player.map_err(|words| panic!("{words}")).unwrap();
                shorter += u64::from(player.replay().end() < end);
                go_to_the_end(&mut player);
            }
        }
    }
    assert!(shorter > 0);
    let mut random = Rng::new(9);
    for _ in 0..2000 {
        let mut damaged = bytes.clone();
        for _ in 0..=random.below(2) {
            let at = random.below(damaged.len() as u32) as usize;
            damaged[at] ^= 1 << random.below(8);
        }
        if let Ok(mut opened) = Opened::new("damaged", damaged)
            && let Ok(player) = &mut opened.player
        {
            go_to_the_end(player);
        }
    }
}

fn go_to_the_end(player: &mut Player) {
    let end = player.replay().end();
    player.go(end);
    finish(player);
    assert!(player.tick() == end || player.trouble().is_some());
}

#[test]
fn a_game_that_is_not_here_is_described_and_not_played() {
    let header = samestep_sync::ReplayHeader {
        game: "chess".into(),
        version: 1,
        ticks_per_second: 60,
    };
    let other = samestep_sync::Recorder::new(&header, Tick(0), b"a board").bytes();
    let opened = open(other);
    assert_eq!(opened.facts[0], ("Game", "chess".into()));
    let words = opened.player.err().unwrap();
    assert!(
        words.contains("chess") && words.contains("Sublockus"),
        "{words}"
    );

    let header = samestep_sync::ReplayHeader {
        game: "skirmish".into(),
        version: 99,
        ..header
    };
    let later = samestep_sync::Recorder::new(&header, Tick(0), b"an army").bytes();
    let words = open(later).player.err().unwrap();
    assert!(words.contains("version 99"), "{words}");
}

/// The bundle of a desync that tampering with the second player's state leads to.
fn bundle(link: &str) -> Vec<u8> {
    let mut live = played(link, 200);
    live.tamper(1);
    for _ in 0..600 {
        live.step();
        let bundle = live
            .desyncs()
            .iter()
            .find_map(|desync| desync.report.bundle.clone());
        if let Some(bundle) = bundle {
            return bundle;
        }
    }
    panic!("nobody noticed");
}

#[test]
fn a_desync_shows_exactly_the_field_that_was_changed() {
    let bundle = bundle("game=evaluation&model=lockstep&players=3");
    assert_eq!(open(bundle.clone()).shown, LiveMatch::Desync(0));
    let compared = compare(bundle);
    assert_eq!(compared.led, Led::ToTheirs);
    assert_eq!(compared.is_whole, [true, true]);
    let [difference] = &compared.differences[..] else {
        panic!("{:?}", compared.differences);
    };
    assert_eq!(
        (&*difference.kind, &*difference.field),
        ("entities", "colour")
    );
    assert!(difference.entity.is_some());
    let value = |text: &str| text.parse::<u8>().unwrap();
    let right = value(&difference.theirs);
    assert_eq!(
        value(&difference.ours),
        (right + 1) % samestep_catalog::evaluation::COLOURS
    );
}

/// A recording of ten ticks with a divergence at its end. Theirs is what the rules lead to a tick later; ours is what they lead to, or what
/// they lead to two ticks later if it was tampered with.
fn diverged(tampered: bool) -> Vec<u8> {
    let game = Evaluation::new(1, 2, 500);
    let mut world = Live::new(game.clone());
    let mut inputs = TickInputs::new();
    inputs.set_players(&[PlayerId(0), PlayerId(1)]);
    let mut states = Vec::new();
    for tick in 0..12 {
        if tick >= 10 {
            states.push(world.state().clone());
        }
        world.step(Tick(tick), &inputs);
        if tick < 10 {
            world.confirm(Tick(tick), &inputs);
        }
    }
    states.push(world.state().clone());
    let [at, later, latest] = &mut states[..] else {
        unreachable!();
    };
    let ours = if tampered { latest } else { at };
    let parts = ours.tree().differing(&later.tree());
    let side = |state: &mut Evaluation| {
        let mut table = Table::new(Evaluation::schema());
        state.extract(&mut table);
        DivergedState {
            checksum: state.checksum(),
            rows: table.encode_chunks(&parts),
        }
    };
    let divergence = Divergence {
        tick: Tick(10),
        description: "everything".into(),
        ours: side(ours),
        theirs: side(later),
    };
    let mut recorder = world.recorder().unwrap().clone();
    recorder.on_divergence(&divergence);
    recorder.bytes()
}

fn compare(bytes: Vec<u8>) -> Compared {
    let mut opened = open(bytes);
    while opened.compared.is_none() {
        opened.advance(0.1, &|| 0.0);
    }
    let (_, compared) = opened.compared.take().unwrap();
    compared.map_err(|words| panic!("{words}")).unwrap()
}

#[test]
fn it_is_told_where_the_rules_lead() {
    let ours = compare(diverged(false));
    assert_eq!((ours.led, ours.is_whole), (Led::ToOurs, [true, true]));
    assert!(ours.differences.len() > 500, "{}", ours.differences.len());
    assert!(
        ours.led
            .sentence(Tick(0), Tick(10))
            .contains("lead to ours")
    );

    let neither = compare(diverged(true));
    assert_eq!(neither.led, Led::ToNeither);
    let sentence = neither.led.sentence(Tick(0), Tick(10));
    assert!(sentence.contains("lead to neither"), "{sentence}");
}

#[test]
fn both_worlds_of_every_game_are_rebuilt() {
    for game in registry::GAMES {
        let link = format!("game={}&model=lockstep&players=2", game.name);
        let compared = compare(bundle(&link));
        assert_eq!(compared.led, Led::ToTheirs, "{link}");
        assert_eq!(compared.is_whole, [true, true], "{link}");
        assert!(!compared.differences.is_empty(), "{link}");
        assert!(compared.has_places(), "{link}: {:?}", compared.differences);
        let sentence = compared.led.sentence(Tick(1), compared.tick);
        assert!(sentence.contains("not a rule"), "{sentence}");
    }
}
