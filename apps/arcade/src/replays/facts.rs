//! The facts about a recording that are known without playing it.

use samestep_sync::{Replay, Tick};

use crate::registry;

/// The facts about a recording that are known without playing it: names and values.
pub(super) fn facts(replay: &Replay) -> Vec<(&'static str, String)> {
    let header = replay.header();
    let states = replay.checkpoints().count();
    let mut facts = vec![
        ("Game", title(&header.game)),
        (
            "Rules",
            format!(
                "version {}, {} ticks a second",
                header.version, header.ticks_per_second
            ),
        ),
        ("Length", length(replay)),
        ("Ticks", format!("{} to {}", replay.first(), replay.end())),
        ("Size", size(replay.size())),
        ("Checksums", replay.checksums().count().to_string()),
    ];
    if states > 1 {
        let words = match states {
            2 => "once".to_string(),
            states => format!("{} times", states - 1),
        };
        facts.push(("State replaced", words));
    }
    match replay.divergences().len() {
        0 => {}
        1 => facts.push(("Desyncs", "one".into())),
        several => facts.push(("Desyncs", several.to_string())),
    }
    let ending = match (replay.damage(), replay.ending()) {
        (Some(damage), _) => format!("{damage}; what comes before plays"),
        (None, Some(ending)) => ending.to_string(),
        (None, None) => "it was still being recorded".into(),
    };
    facts.push(("Ending", ending));
    facts
}

/// What a game is called.
fn title(game: &str) -> String {
    match registry::game(game) {
        Some(entry) => entry.title.into(),
        None => printable(game),
    }
}

/// How long it is, in minutes.
fn length(replay: &Replay) -> String {
    time(replay, replay.end())
}

/// The time at a tick since the recording began, in minutes.
pub(super) fn time(replay: &Replay, tick: Tick) -> String {
    let per_second = f64::from(replay.header().ticks_per_second.max(1));
    let tenths = (tick.since(replay.first()) as f64 / per_second * 10.0) as u64;
    format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

/// An amount of bytes.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Foreign text, without what is not to be shown, and not too long.
pub(super) fn printable(text: &str) -> String {
    let shown = text.chars().filter(|letter| !letter.is_control());
    let mut short: String = shown.take(60).collect();
    if short.len() < text.len() && text.chars().count() > 60 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use samestep_sync::{Recorder, ReplayHeader, TickInputs};

    #[test]
    fn a_recording_is_described_without_its_game() {
        let header = ReplayHeader {
            game: "chess\n".into(),
            version: 4,
            ticks_per_second: 20,
        };
        let mut recorder = Recorder::new(&header, Tick(100), b"a state");
        for tick in 100..1400 {
            recorder.on_tick(Tick(tick), &TickInputs::new());
        }
        recorder.on_checksum(Tick(1400), 7);
        recorder.on_checkpoint(Tick(1400), b"another");
        let bytes = recorder.bytes();
        let replay = Replay::parse(bytes.clone()).unwrap();
        let facts = facts(&replay);
        let value_of = |name: &str| {
            let found = facts.iter().find(|(fact, _)| *fact == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value_of("Game"), Some("chess"));
        assert_eq!(value_of("Rules"), Some("version 4, 20 ticks a second"));
        assert_eq!(value_of("Length"), Some("1:05.0"));
        assert_eq!(value_of("Ticks"), Some("100 to 1400"));
        assert_eq!(value_of("State replaced"), Some("once"));
        assert_eq!(value_of("Ending"), Some("it was still being recorded"));
        let cut = Replay::parse(bytes[..bytes.len() - 1].to_vec()).unwrap();
        let (_, ending) = super::facts(&cut).pop().unwrap();
        assert!(ending.contains("cut off"), "{ending}");
        assert!(ending.ends_with("what comes before plays"), "{ending}");
    }

    #[test]
    fn sizes_and_foreign_names_are_readable() {
        assert_eq!(size(999), "999 bytes");
        assert_eq!(size(1_500), "1.5 kB");
        assert_eq!(size(2_340_000), "2.3 MB");
        assert_eq!(printable("a\u{7}b"), "ab");
        assert_eq!(printable(&"x".repeat(70)).chars().count(), 61);
    }
}
