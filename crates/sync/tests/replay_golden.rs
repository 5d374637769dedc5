//! The vector of WIRE.md about replays, so that the page and the code cannot drift apart.

use samestep_sync::{
    DivergedState, Divergence, Ending, PlayerId, Recorder, Replay, ReplayHeader, Tick, TickInputs,
};

fn vector(name: &str) -> Vec<u8> {
    let page = include_str!("../../../WIRE.md");
    let line = page
        .lines()
        .find(|line| line.split('=').next().is_some_and(|n| n.trim() == name))
        .unwrap_or_else(|| panic!("WIRE.md has no vector `{name}`"));
    let hex = line.split(['=', '#']).nth(1).unwrap_or_default().trim();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn recorded() -> Vec<u8> {
    let header = ReplayHeader {
        game: "gold".into(),
        version: 2,
        ticks_per_second: 60,
    };
    let mut recorder = Recorder::new(&header, Tick(100), b"state1");
    let mut inputs = TickInputs::new();
    for tick in 100..420 {
        inputs.clear();
        match tick {
            100 => inputs.set_players(&[PlayerId(0), PlayerId(1), PlayerId(7)]),
            110 => inputs.push(PlayerId(1), b"go"),
            400 => inputs.set_players(&[PlayerId(0)]),
            _ => {}
        }
        recorder.on_tick(Tick(tick), &inputs);
        if tick == 399 {
            recorder.on_checksum(Tick(390), 0x0102_0304_0506_0708);
        }
    }
    recorder.on_divergence(&Divergence {
        tick: Tick(400),
        description: "odd".into(),
        ours: DivergedState {
            checksum: 1,
            rows: vec![0xaa],
        },
        theirs: DivergedState {
            checksum: 2,
            rows: vec![],
        },
    });
    recorder.finish();
    recorder.bytes()
}

#[test]
fn a_replay_is_written_as_the_page_says() {
    assert_eq!(recorded(), vector("replay.file"));
}

#[test]
fn and_read() {
    let replay = Replay::parse(vector("replay.file")).unwrap();
    assert_eq!((replay.first(), replay.end()), (Tick(100), Tick(420)));
    let checksums: Vec<_> = replay.checksums().collect();
    assert_eq!(checksums, [(Tick(390), 0x0102_0304_0506_0708)]);
    assert_eq!(replay.divergences()[0].description, "odd");
    assert_eq!(replay.ending(), Some(Ending::Finished));
}
