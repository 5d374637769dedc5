//! The tank duel, an evening long: four programs behind a bad link, under every model.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use samestep::sync::ModelKind;

use crate::terminal::Terminal;

const TANKS: &str = env!("CARGO_BIN_EXE_tanks");
/// The bad link of every guest.
const LINK: &str = "--link latency=50ms --link loss=5%";
/// Duels of the evening: the first and ten rematches.
const DUELS: usize = 11;
/// A tick in µs.
const TICK: u64 = 16_667;

struct Evening {
    model: &'static str,
    address: String,
    host: Terminal,
}

impl Evening {
    fn new(model: &'static str) -> Evening {
        let words = "--bot 1 --rounds 1 --armour 2 --players 3 --name Ann";
        let file = password_file("sesame");
        let words = format!("host 0 --model {model} {words} --password-file {file}");
        let mut host = Terminal::start(TANKS, &words);
        let address = host.address();
        Evening {
            model,
            address,
            host,
        }
    }

    fn words(&self, password: &str, more: &str) -> String {
        let (address, model, file) = (&self.address, self.model, password_file(password));
        format!("join {address} --model {model} --password-file {file} {LINK} {more}")
    }

    fn join(&self, more: &str) -> Terminal {
        Terminal::start(TANKS, &self.words("sesame", more))
    }

    /// Waits until some duels have been played.
    fn wait_for_duels(&mut self, duels: usize) {
        while self.host.lines_with("scores").len() < duels {
            self.host.wait_for("scores");
        }
    }
}

/// A file with this password. Each call has a file of its own: another program may be reading one that is written.
fn password_file(password: &str) -> String {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("password-{}-{number}", std::process::id());
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, password).unwrap();
    file.to_str().unwrap().into()
}

/// The events of which a program has told.
fn events(terminal: &mut Terminal) -> Vec<String> {
    terminal.lines_with("event ")
}

/// What a line of scores says of each player: duels won, and shots.
fn scores(line: &str) -> Vec<(u32, u32)> {
    let numbers = |entry: &str| {
        let (duels, shots) = entry.split_once(':').unwrap();
        (duels.parse().unwrap(), shots.parse().unwrap())
    };
    line.split(' ').skip(1).map(numbers).collect()
}

/// How long the own shots of a program took from the key to the picture at a frame rate, in µs.
fn felt(rate: u32, terminal: &mut Terminal) -> Vec<u64> {
    let words = format!("felt at {rate}: ");
    let lines = terminal.lines_with(&words).into_iter();
    let delays = lines.map(|line| line[words.len()..].parse().unwrap());
    delays.collect()
}

/// The delay that this many of a hundred shots stay below.
fn percentile(percent: usize, delays: &[u64]) -> u64 {
    let mut delays = delays.to_vec();
    delays.sort_unstable();
    delays[delays.len() * percent / 100]
}

fn play(model: &'static str) {
    let mut evening = Evening::new(model);
    let mut stranger = Terminal::start(TANKS, &evening.words("guess", "--bot 9"));
    let refused = stranger.wait_for("over: ");
    assert!(refused.contains("password"), "{refused}");

    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tanks-{model}.secret"));
    let _ = std::fs::remove_file(&file);
    let as_cid = format!("--bot 3 --name Cid --rejoin {}", file.display());
    let mut ben = evening.join("--bot 2 --name Ben --fps 60");
    let mut cid = evening.join(&as_cid);
    let place = cid.wait_for("joined as");
    evening.wait_for_duels(3);
    let mut dee = evening.join("--bot 4 --name Dee");
    dee.wait_for("joined as");
    evening.wait_for_duels(5);
    cid.wait_for("scores");
    cid.kill();
    evening.wait_for_duels(6);
    let mut again = evening.join(&as_cid);
    assert_eq!(again.wait_for("joined as"), place, "the same player");
    evening.wait_for_duels(DUELS);
    let won = evening.host.lines_with("DuelWon");
    for guest in [&mut ben, &mut again, &mut dee] {
        guest.hears(&won[won.len() - 1]);
    }

    // Everyone has told of the same events, each since it was there.
    let told = events(&mut evening.host);
    let last = told.iter().rposition(|line| *line == won[won.len() - 1]);
    let told = &told[..=last.unwrap()];
    for (name, guest) in [
        ("Ben", &mut ben),
        ("Cid", &mut cid),
        ("Cid again", &mut again),
        ("Dee", &mut dee),
    ] {
        let theirs = events(guest);
        let first = told.iter().position(|line| *line == theirs[0]);
        let first = first.unwrap_or_else(|| panic!("{model}: {name} alone told of {}", theirs[0]));
        // A program that was killed need not have told of the last ones, and others may have told of more.
        let common = theirs.len().min(told.len() - first);
        assert_eq!(
            theirs[..common],
            told[first..first + common],
            "{model}: {name}"
        );
        let until = if name == "Cid" {
            20
        } else {
            told.len() - first
        };
        assert!(
            common >= until,
            "{model}: {name} told of {common} of {until}"
        );
    }

    // Nobody lost anything through an absence.
    let lines = evening.host.lines_with("scores");
    let mut before = vec![(0, 0); 3];
    for line in &lines {
        let now = scores(line);
        assert!(now.len() >= before.len(), "{model}: {lines:#?}");
        let lost = before.iter().zip(&now).any(|(before, now)| before > now);
        assert!(!lost, "{model}: {lines:#?}");
        before = now;
    }
    assert!(before[2].1 > 0, "{model}: Cid has shot: {lines:#?}");

    // Programs that draw 144 frames a second throughout have no input wait behind others, which would show after the median shot.
    let often = [&mut cid, &mut again, &mut dee].map(|guest| felt(144, guest));
    let (once, often) = (felt(60, &mut ben), often.concat());
    let least = once.len().min(often.len());
    assert!(least >= 40, "{model}: {least} shots are too few");
    let medians = [&once, &often].map(|delays| percentile(50, delays));
    println!("{model}: medians {medians:?} µs in programs at 60 and at 144 frames a second");
    assert!(medians[1] <= medians[0] + TICK, "{model}: {medians:?} µs");

    evening.host.kill();
    ben.wait_for("news HostSilent");
}

#[test]
fn an_evening_of_tanks_under_every_model() {
    std::thread::scope(|scope| {
        for kind in ModelKind::ALL {
            scope.spawn(|| play(kind.name));
        }
    });
}

/// The shots of a salvo, and those at each frame rate in a window: about ten seconds of a program.
const SALVO: usize = 12;
const WINDOW: usize = 4 * SALVO;
const WINDOWS: usize = 5;

/// Own shots seen after a time in µs that 50 and 95 of 100 stay below, at 60 and at 144 frames a second.
///
/// Losses and a busy machine change the delay for seconds, for all that a program does. So each program changes between the two rates
/// every second, and percentiles are those of windows in which this delay is much the same for both; the figure is their mean over all windows
/// of all guests.
fn delays(model: &str) -> [[u64; 2]; 2] {
    let room = format!("--model {model} --salvo {SALVO} --bot");
    let host = format!("host 0 --armour 255 --reload 3 --players 4 {room} 1");
    let mut host = Terminal::start(TANKS, &host);
    let join = format!("join {} {LINK} --fps 60,144 {room}", host.address());
    let mut guests = [2, 3, 4].map(|seed| Terminal::start(TANKS, &format!("{join} {seed}")));
    let mut windows = Vec::new();
    for guest in &mut guests {
        let rates = [60, 144];
        while rates.map(|rate| felt(rate, guest).len()).iter().min() < Some(&(WINDOWS * WINDOW)) {
            guest.wait_for("felt at ");
        }
        windows.push(rates.map(|rate| felt(rate, guest)));
    }
    [50, 95].map(|percent| {
        [0, 1].map(|rate| {
            let windows = windows
                .iter()
                .flat_map(|of| of[rate].chunks_exact(WINDOW).take(WINDOWS));
            let each: Vec<u64> = windows.map(|delays| percentile(percent, delays)).collect();
            each.iter().sum::<u64>() / each.len() as u64
        })
    })
}

#[test]
fn own_shots_are_seen_as_soon_at_144_frames_a_second_as_at_one_a_tick() {
    let measure = |kind: &'static ModelKind| (kind.name, delays(kind.name));
    let figures: Vec<_> = std::thread::scope(|scope| {
        let models = ModelKind::ALL.iter();
        let models: Vec<_> = models
            .map(|kind| scope.spawn(move || measure(kind)))
            .collect();
        models
            .into_iter()
            .map(|model| model.join().unwrap())
            .collect()
    });
    for (model, [medians, p95]) in &figures {
        println!("{model}: at 60 and 144 frames a second, median {medians:?} µs, p95 {p95:?} µs");
    }
    for (model, figures) in figures {
        for [once, often] in figures {
            assert!(
                often <= once + TICK,
                "{model}: {once} µs at 60 Hz, {often} at 144 Hz"
            );
        }
    }
}
