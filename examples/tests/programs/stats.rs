//! The figures that two programs write about one game.

use std::collections::BTreeMap;
use std::env::temp_dir;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use crate::terminal::Terminal;

const ROLLBACK: &str = env!("CARGO_BIN_EXE_rollback");

/// The rows of a CSV file by the names of their columns.
fn rows(file: &PathBuf) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |line: &str| {
        let values: Vec<String> = line.split(',').map(str::to_string).collect();
        assert_eq!(values.len(), names.len(), "{line}");
        names
            .iter()
            .map(|name| name.to_string())
            .zip(values)
            .collect()
    };
    lines.map(row).collect()
}

#[test]
fn figures_are_written_once_a_second() {
    let file = |name: &str| temp_dir().join(format!("samestep-stats-{}-{name}.csv", process::id()));
    let (host_file, guest_file) = (file("host"), file("guest"));
    let stats = |file: &PathBuf| format!("--stats {}", file.display());
    let mut host = Terminal::start(ROLLBACK, &format!("host 0 {}", stats(&host_file)));
    let address = host.address();
    let join = format!("join {address} {}", stats(&guest_file));
    let mut guest = Terminal::start(ROLLBACK, &join);
    guest.act("", "Certain: player");

    let deadline = Instant::now() + Duration::from_secs(60);
    let played = |file: &PathBuf| {
        let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse().unwrap_or(0.0);
        let rows = rows(file).into_iter();
        let with_peer: Vec<_> = rows.filter(|row| !row["peer"].is_empty()).collect();
        let last = with_peer.last()?.clone();
        let value: f64 = number(&last, "received_bytes_per_s");
        (with_peer.len() >= 2 && value > 0.0).then_some((with_peer, last))
    };
    for (file, peer) in [(&host_file, "1"), (&guest_file, "0")] {
        let (rows, last) = loop {
            if let Some(played) = played(file) {
                break played;
            }
            assert!(Instant::now() < deadline, "{:?}", fs::read_to_string(file));
            thread::sleep(Duration::from_millis(100));
        };
        let number =
            |row: &BTreeMap<String, String>, name: &str| -> f64 { row[name].parse().unwrap() };
        assert_eq!(last["peer"], peer);
        assert!(number(&last, "round_trip_ms") > 0.0);
        assert!(number(&last, "sent_bytes_per_s") > 0.0);
        assert!((0.0..=1.0).contains(&number(&last, "loss")));
        assert_eq!(number(&last, "desyncs"), 0.0);
        assert!(number(&last, "confirmed_tick") <= number(&last, "tick"));
        let (first, second) = (&rows[0], &rows[1]);
        assert!(number(second, "tick") > number(first, "tick"));
        let apart = number(second, "time_s") - number(first, "time_s");
        assert!(apart >= 1.0, "{apart}");
    }
    guest.end();
    host.end();
    fs::remove_file(host_file).unwrap();
    fs::remove_file(guest_file).unwrap();
}
