//! Whole files: what is written is read, whatever happens to the rest of the file.

use super::cursor::{Cursor, ReplayItem};
use super::*;
use crate::PlayerId;

/// A generator of our own, so that a failing seed stays the same whatever else changes.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

fn header() -> ReplayHeader {
    ReplayHeader {
        game: "dice".into(),
        version: 7,
        ticks_per_second: 30,
    }
}

/// What a random match consists of.
struct Match {
    first: Tick,
    ticks: Vec<TickInputs>,
    checksums: Vec<(Tick, u64)>,
    file: Vec<u8>,
}

/// A match in which players come, go and do things; its file was taken in parts.
fn random_match(seed: u64) -> Match {
    let mut random = Seeded(seed);
    let first = Tick(random.below(1 << 20));
    let checkpoint: Vec<u8> = (0..random.below(5000)).map(|byte| byte as u8).collect();
    let mut recorder = Recorder::new(&header(), first, &checkpoint);
    let mut inputs = TickInputs::new();
    let (mut ticks, mut checksums, mut file) = (Vec::new(), Vec::new(), Vec::new());
    let activity = random.below(100);
    for _ in 0..random.below(6000) {
        inputs.clear();
        if random.chance(1) {
            let players: Vec<_> = (0..random.below(12))
                .map(|_| PlayerId(random.below(20) as u16))
                .collect();
            inputs.set_players(&players);
        }
        for player in inputs.players().to_vec() {
            if random.chance(activity) {
                let input: Vec<u8> = (0..random.below(9)).map(|_| random.next() as u8).collect();
                inputs.push(player, &input);
            }
        }
        recorder.on_tick(first + ticks.len() as u64, &inputs);
        ticks.push(inputs.clone());
        if random.chance(2) {
            let back = random.below(30).min(ticks.len() as u64);
            let tick = Tick(first.0 + ticks.len() as u64 - back);
            let checksum = random.next();
            recorder.on_checksum(tick, checksum);
            checksums.push((tick, checksum));
        }
        if random.chance(1) {
            file.extend(recorder.take_new());
        }
    }
    recorder.finish();
    file.extend(recorder.take_new());
    checksums.sort_by_key(|(tick, _)| *tick);
    Match {
        first,
        ticks,
        checksums,
        file,
    }
}

/// All ticks of a replay.
fn ticks_of(replay: &Replay) -> Vec<TickInputs> {
    let mut cursor = Cursor::at_segment(replay, 0);
    let (mut inputs, mut ticks) = (TickInputs::new(), Vec::new());
    while let ReplayItem::Tick(_) = cursor.read(replay, &mut inputs) {
        ticks.push(inputs.clone());
    }
    ticks
}

#[test]
fn what_was_recorded_is_read() {
    for seed in 0..50 {
        let recorded = random_match(seed);
        let replay = Replay::parse(recorded.file).unwrap();
        assert_eq!(replay.header(), &header(), "seed {seed}");
        assert_eq!(replay.first(), recorded.first, "seed {seed}");
        assert!(ticks_of(&replay) == recorded.ticks, "seed {seed}");
        let checksums: Vec<_> = replay.checksums().collect();
        assert_eq!(checksums, recorded.checksums, "seed {seed}");
        assert_eq!(replay.ending(), Some(Ending::Finished), "seed {seed}");
        assert_eq!(replay.damage(), None, "seed {seed}");
    }
}

#[test]
fn a_file_that_is_cut_off_plays_to_there() {
    for seed in 0..10 {
        let recorded = random_match(seed);
        let mut longest = 0;
        let step = (recorded.file.len() / 100).max(1);
        for len in (0..recorded.file.len()).step_by(step) {
            let Ok(replay) = Replay::parse(recorded.file[..len].to_vec()) else {
                assert!(len < 6000, "seed {seed}: the first state is there");
                continue;
            };
            let ticks = ticks_of(&replay);
            assert!(
                recorded.ticks.starts_with(&ticks),
                "seed {seed}, {len} bytes"
            );
            assert!(ticks.len() >= longest, "seed {seed}, {len} bytes");
            assert!(replay.damage().is_none_or(|damage| damage.cut_off));
            longest = ticks.len();
        }
    }
}

#[test]
fn flipped_bits_are_noticed() {
    for seed in 0..200 {
        let recorded = random_match(seed % 10);
        let mut random = Seeded(seed);
        let mut file = recorded.file.clone();
        let byte = random.below(file.len() as u64) as usize;
        file[byte] ^= 1 << random.below(8);
        if let Ok(replay) = Replay::parse(file) {
            let damage = replay.damage().expect("it is noticed");
            assert!(damage.at <= byte, "seed {seed}");
            assert!(
                recorded.ticks.starts_with(&ticks_of(&replay)),
                "seed {seed}"
            );
        }
    }
}

/// Bodies with a right checksum but arbitrary content: only the parsers stand between them and us.
#[test]
fn hostile_chunks_never_panic() {
    let kinds = [Kind::Checkpoint, Kind::Ticks, Kind::Divergence, Kind::End];
    let (mut sound, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let mut random = Seeded(seed);
        let mut file = Recorder::new(&header(), Tick(0), b"state").bytes();
        let mut check = chunk::crc(0, &MAGIC);
        let mut chunks = Chunks::new(&file);
        while chunks.next().unwrap().is_some() {
            check = chunks.check();
        }
        for _ in 0..3 {
            let kind = kinds[random.below(4) as usize];
            let mut body: Vec<u8> = vec![0; random.below(12) as usize];
            // Small numbers are plausible, large ones are claims.
            for byte in &mut body {
                *byte = match random.chance(70) {
                    true => random.below(8) as u8,
                    false => random.next() as u8,
                };
            }
            check = chunk::append(&mut file, check, kind, &body);
        }
        let replay = Replay::parse(file).unwrap();
        match replay.damage() {
            Some(_) => refused += 1,
            None => sound += 1,
        }
        let mut cursor = Cursor::at_segment(&replay, 0);
        let mut inputs = TickInputs::new();
        let mut moments = 0;
        while cursor.read(&replay, &mut inputs) != ReplayItem::End {
            moments += 1;
            assert!(moments < 100_000, "seed {seed}");
        }
    }
    assert!(
        sound > 100 && refused > 100,
        "{sound} sound, {refused} refused"
    );
}

#[test]
fn what_is_no_replay_is_refused() {
    let error_of = |bytes: &[u8]| Replay::parse(bytes.to_vec()).unwrap_err();
    let file = Recorder::new(&header(), Tick(0), b"state").bytes();
    assert_eq!(error_of(b""), ReplayError::NoReplay);
    assert_eq!(
        error_of(b"SQLite format 3\0 and more"),
        ReplayError::NoReplay
    );
    assert_eq!(
        error_of(b"samestep replay\x02"),
        ReplayError::AnotherFormat(2)
    );
    assert_eq!(error_of(&file[..20]), ReplayError::NoBeginning);
    assert!(Replay::parse(file).is_ok());
}

#[test]
fn a_replay_that_is_full_ends_and_stays_whole() {
    let config = RecorderConfig { limit: 100_000 };
    let mut recorder = Recorder::with_config(config, &header(), Tick(0), b"state");
    let mut inputs = TickInputs::new();
    inputs.set_players(&[PlayerId(0)]);
    inputs.push(PlayerId(0), &[7; 50]);
    for tick in 0..10_000 {
        recorder.on_tick(Tick(tick), &inputs);
    }
    assert_eq!(recorder.ended(), Some(Ending::Full));
    let file = recorder.bytes();
    assert!(file.len() <= 100_100, "{} bytes", file.len());
    let replay = Replay::parse(file).unwrap();
    assert_eq!(replay.ending(), Some(Ending::Full));
    assert!(replay.end() > Tick(1000), "{}", replay.end());
}

#[test]
fn a_tick_that_nobody_recorded_ends_it_unless_a_state_bridges_the_gap() {
    let mut recorder = Recorder::new(&header(), Tick(0), b"a");
    let inputs = TickInputs::new();
    recorder.on_tick(Tick(0), &inputs);
    recorder.on_tick(Tick(0), &inputs);
    assert_eq!(recorder.tick(), Tick(1));
    recorder.on_checkpoint(Tick(50), b"b");
    recorder.on_tick(Tick(50), &inputs);
    assert_eq!(recorder.ended(), None);
    recorder.on_tick(Tick(60), &inputs);
    assert_eq!(recorder.ended(), Some(Ending::Gap));
    let replay = Replay::parse(recorder.bytes()).unwrap();
    assert_eq!((replay.first(), replay.end()), (Tick(0), Tick(51)));
    assert_eq!(replay.checkpoints().count(), 2);
}

#[test]
fn a_newcomer_records_from_where_it_came_in() {
    let mut recorder = Recorder::new(&header(), Tick(0), b"never mattered");
    recorder.on_checkpoint(Tick(5000), b"a");
    recorder.on_tick(Tick(5000), &TickInputs::new());
    let replay = Replay::parse(recorder.bytes()).unwrap();
    assert_eq!(replay.first(), Tick(5000));
    assert_eq!(replay.checkpoints().count(), 1);
}

#[test]
fn a_command_costs_two_bytes_more_than_itself() {
    // Eight commands of eight bytes each player and second, at 60 ticks per second.
    let mut recorder = Recorder::new(&header(), Tick(0), b"");
    let players: Vec<_> = (0..40).map(PlayerId).collect();
    let mut inputs = TickInputs::new();
    inputs.set_players(&players);
    let ticks = 60 * 60;
    for tick in 0..ticks {
        inputs.clear();
        for player in &players {
            if (tick + u64::from(player.0)) % 15 < 2 {
                inputs.push(*player, &tick.to_le_bytes());
            }
        }
        recorder.on_tick(Tick(tick), &inputs);
    }
    let bytes_per_command = recorder.bytes().len() as f64 / (8 * 40 * 60) as f64;
    assert!(bytes_per_command < 10.3, "{bytes_per_command}");
}
