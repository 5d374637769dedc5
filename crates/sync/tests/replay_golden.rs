//! The vector of WIRE.md about replays, so that the page and the code cannot drift apart.

use samestep_sync::{
    Divergence, Ending, PlayerId, Recorder, Replay, ReplayHeader, Side, Tick, TickInputs,
};

const GOLDEN: &str = concat!(
    "73616d6573746570207265706c617901",
    "000704676f6c64023cead4a47e",
    "0107647374617465310f7f1f33",
    "021e640002020001050028050102676f84092b0807060504030201020100005051f1188b",
    "03199003036f6464010000000000000001aa0200000000000000002137b417",
    "040100eebbd784",
);

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
        words: "odd".into(),
        ours: Side {
            checksum: 1,
            rows: vec![0xaa],
        },
        theirs: Side {
            checksum: 2,
            rows: vec![],
        },
    });
    recorder.finish();
    recorder.bytes()
}

#[test]
fn a_replay_is_written_as_the_page_says() {
    let hex: String = recorded()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(hex, GOLDEN);
}

#[test]
fn and_read() {
    let replay = Replay::parse(recorded()).unwrap();
    assert_eq!((replay.first(), replay.end()), (Tick(100), Tick(420)));
    let checksums: Vec<_> = replay.checksums().collect();
    assert_eq!(checksums, [(Tick(390), 0x0102_0304_0506_0708)]);
    assert_eq!(replay.divergences()[0].words, "odd");
    assert_eq!(replay.ending(), Some(Ending::Finished));
}
