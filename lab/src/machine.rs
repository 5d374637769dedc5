//! The machine and the time of a measurement.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine, the program and the time of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The time, in UTC.
    pub date: String,
    /// Processor, its cores, memory.
    pub hardware: String,
    /// The system and its version.
    pub system: String,
    /// The version of Samestep and of the compiler that made it.
    pub program: String,
    /// The commit of the folder the program runs in, and whether sources differ from it; `None` outside a repository.
    pub commit: Option<String>,
    /// How busy the machine is, if the system tells.
    pub load: Option<String>,
}

impl Machine {
    /// This machine, now.
    pub fn here() -> Machine {
        Machine {
            date: date(SystemTime::now()),
            hardware: hardware(),
            system: system(),
            program: format!(
                "Samestep {}, {}",
                env!("CARGO_PKG_VERSION"),
                env!("SAMESTEP_RUSTC")
            ),
            commit: commit(),
            load: load(),
        }
    }

    /// All that is known about it, as names and values.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("Date", self.date.clone()),
            ("Machine", self.hardware.clone()),
            ("System", self.system.clone()),
            ("Program", self.program.clone()),
        ];
        facts.extend(self.commit.clone().map(|commit| ("Commit", commit)));
        facts.extend(self.load.clone().map(|load| ("Load at the end", load)));
        facts
    }
}

fn hardware() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").ok();
    let cpu = cpu.and_then(|text| field(&text, "model name"));
    let cpu = cpu.unwrap_or_else(|| format!("unknown processor ({})", std::env::consts::ARCH));
    let cores = match cores {
        1 => "1 core".to_string(),
        cores => format!("{cores} cores"),
    };
    let memory = fs::read_to_string("/proc/meminfo").ok();
    let memory = memory.and_then(|text| field(&text, "MemTotal"));
    let memory = memory.and_then(|text| text.trim_end_matches(" kB").parse::<f64>().ok());
    let memory = memory.map(|kb| format!(", {:.0} GiB", kb / 1024.0 / 1024.0));
    format!("{cpu}, {cores}{}", memory.unwrap_or_default())
}

fn system() -> String {
    let name = fs::read_to_string("/etc/os-release").ok();
    let name = name.and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="));
        line.map(|line| line.trim_matches('"').to_string())
    });
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    let kernel = kernel.map(|text| format!(", {} {}", std::env::consts::OS, text.trim()));
    format!(
        "{}{}",
        name.unwrap_or_else(|| std::env::consts::OS.into()),
        kernel.unwrap_or_default()
    )
}

/// The value in a line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_string())
    });
    value.filter(|value| !value.is_empty())
}

fn load() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let mut minutes = text.split(' ');
    Some(format!(
        "{}, {}, {} (1, 5 and 15 minutes)",
        minutes.next()?,
        minutes.next()?,
        minutes.next()?
    ))
}

fn commit() -> Option<String> {
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // What a report writes itself is no difference.
    let sources = [
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ":!*.md",
    ];
    match git(&sources).as_deref() {
        Some("") => Some(commit),
        _ => Some(format!("{commit}, with changes")),
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

/// As `2026-01-31 23:59 UTC`.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (mut day, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!(
        "{year}-{month:02}-{:02} {:02}:{:02} UTC",
        day + 1,
        minutes / 60,
        minutes % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(at(1_772_323_200), "2026-03-01 00:00 UTC");
    }

    #[test]
    fn a_machine_has_a_processor_and_a_compiler() {
        let here = Machine::here();
        assert!(here.hardware.contains("core"), "{}", here.hardware);
        assert!(here.program.contains("rustc"), "{}", here.program);
        assert!(here.facts().len() >= 4);
    }

    #[test]
    fn fields_are_found_by_their_name() {
        let text = "processor\t: 0\nmodel name\t: Fast: 9000\nempty\t:\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Fast: 9000"));
        assert_eq!(field(text, "empty"), None);
    }
}
