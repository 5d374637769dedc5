//! Games and recordings as the users of the program meet them.

use std::path::{Path, PathBuf};
use std::process::Command;

use samestep::sync::{
    DivergedState, Divergence, Live, PlayerId, Recorder, ReplayHeader, Simulation, Tick,
    TickInputs, World,
};
use samestep_catalog::NAMES;
use samestep_catalog::evaluation::Evaluation;

/// Exit code, and everything printed.
fn samestep(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_samestep"))
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// A file of this test alone.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a readable path")
}

fn watch(game: &str, name: &str) -> PathBuf {
    let file = file(name);
    let (code, said) = samestep(&["bots", game, "--ticks", "250", "--record", text(&file)]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("recorded "), "{said}");
    file
}

#[test]
fn what_was_watched_is_verified_and_seeked() {
    for game in NAMES {
        let file = watch(game, &format!("{game}.replay"));
        let (code, said) = samestep(&["replay", text(&file), "--verify"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("ticks 0 to 250"), "{said}");
        assert!(said.contains("all 4 checksums as recorded"), "{said}");

        let (code, listed) = samestep(&["replay", text(&file), "--checksums"]);
        assert_eq!((code, listed.lines().count()), (Some(0), 6), "{listed}");
        let (_, said) = samestep(&["replay", text(&file), "--seek", "120"]);
        let checksum = listed.lines().find_map(|line| line.strip_prefix("120 "));
        let checksum = checksum.and_then(|rest| rest.split(' ').next());
        let there = format!("at tick 120: checksum {}", checksum.unwrap_or("?"));
        assert!(said.contains(&there), "{said}");
    }
}

#[test]
fn files_that_are_damaged_play_as_far_as_they_go() {
    let file = watch("evaluation", "whole.replay");
    let bytes = std::fs::read(&file).expect("it was recorded");
    let cut = self::file("cut.replay");
    std::fs::write(&cut, &bytes[..bytes.len() - 30]).expect("a writable directory");
    let (code, said) = samestep(&["replay", text(&cut), "--verify"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("cut off") && said.contains("verified: "),
        "{said}"
    );

    let flipped = self::file("flipped.replay");
    let mut bytes = bytes;
    let at = bytes.len() - 30;
    bytes[at] ^= 4;
    std::fs::write(&flipped, &bytes).expect("a writable directory");
    let (code, said) = samestep(&["replay", text(&flipped), "--verify"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("damaged"), "{said}");
}

#[test]
fn mistakes_are_told_with_a_way_out() {
    let (code, said) = samestep(&["replay", "no/such.replay"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no such file"), "{said}");
    let (code, said) = samestep(&["replay", "Cargo.toml"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("this is not a replay"), "{said}");
    let (code, said) = samestep(&["bots", "chess"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("evaluation") && said.contains("skirmish"),
        "{said}"
    );
    let (code, said) = samestep(&["bots", "skirmish", "--players", "1", "--ticks", "1"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("2 to 64 players"), "{said}");
    let (code, said) = samestep(&["bots", "skirmish"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--ticks"), "{said}");

    let file = file("other.replay");
    let other = |game: &str, version| {
        let header = ReplayHeader {
            game: game.into(),
            version,
            ticks_per_second: 60,
        };
        let bytes = Recorder::new(&header, Tick(0), b"").bytes();
        std::fs::write(&file, bytes).expect("a writable directory");
        samestep(&["replay", text(&file), "--verify"])
    };
    let (code, said) = other("chess", 1);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("no game \"chess\" here"), "{said}");
    let (code, said) = other("evaluation", 999);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("version 999 of the rules"), "{said}");
    let (code, said) = other("evaluation", Evaluation::VERSION);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("not a state of this game"), "{said}");
}

#[test]
fn a_recording_without_checksums_is_not_verified() {
    let mut game = Live::without_recording(Evaluation::new(1, 2, 50));
    let header = ReplayHeader::of::<Evaluation>();
    let recorder = Recorder::new(&header, Tick(0), &game.checkpoint());
    let file = file("empty.replay");
    std::fs::write(&file, recorder.bytes()).expect("a writable directory");
    let (code, said) = samestep(&["replay", text(&file), "--verify"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("not verified: nothing was compared"),
        "{said}"
    );
    assert!(said.contains("the host or server has"), "{said}");
}

#[test]
fn a_bundle_tells_who_was_right() {
    let mut game = Live::without_recording(Evaluation::new(1, 2, 50));
    let mut recorder = Recorder::new(
        &ReplayHeader::of::<Evaluation>(),
        Tick(0),
        &game.checkpoint(),
    );
    recorder.on_checksum(Tick(0), game.checksum());
    let mut inputs = TickInputs::new();
    inputs.set_players(&[PlayerId(0), PlayerId(1)]);
    for tick in (0..40).map(Tick) {
        game.step(tick, &inputs);
        recorder.on_tick(tick, &inputs);
    }
    let side = |checksum| DivergedState {
        checksum,
        rows: Vec::new(),
    };
    recorder.on_divergence(&Divergence {
        tick: Tick(40),
        description: "entities, entity 3: colour is 5 here and 4 there".into(),
        ours: side(1),
        theirs: side(game.checksum()),
    });
    recorder.finish();
    let file = file("bundle.replay");
    std::fs::write(&file, recorder.bytes()).expect("a writable directory");
    let (code, said) = samestep(&["replay", text(&file), "--verify"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("a divergence was found at tick 40"), "{said}");
    assert!(said.contains("colour is 5 here and 4 there"), "{said}");
    assert!(said.contains("played here, tick 40 is theirs"), "{said}");
}

#[test]
fn games_agree_with_themselves() {
    for game in NAMES {
        let (code, said) = samestep(&["sync-test", game, "--ticks", "60", "--depth", "5"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("60 ticks agree"), "{said}");
    }
}
