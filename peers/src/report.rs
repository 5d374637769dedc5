//! The tables, for the terminal and for RESULTS.md: the same text, aligned Markdown.

use std::{fmt, fs, time::SystemTime};

use crate::library::Library;

/// All that was measured in one run.
pub struct Report {
    preamble: Vec<String>,
    encryption: Table,
    sections: Vec<Section>,
}

/// One measurement.
pub struct Section {
    /// The heading.
    pub title: String,
    /// How it was measured.
    pub notes: Vec<String>,
    /// The figures.
    pub tables: Vec<Table>,
    /// What follows from them.
    pub conclusions: Vec<String>,
}

/// Columns of text; all but the leading `text_columns` are figures and stand at the right.
pub struct Table {
    text_columns: usize,
    rows: Vec<Vec<String>>,
}

impl Report {
    /// An empty report about this machine, now.
    pub fn new(libraries: &[Library]) -> Report {
        let mut encryption = Table::new(2, &["name", "encryption"]);
        for library in libraries {
            encryption.row([library.name().to_owned(), library.encryption().to_owned()]);
        }
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name| {
            let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        // Other programs make figures worse and ratios uncertain: the reader should know.
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let preamble = vec![
            format!("Date: {}", date(SystemTime::now())),
            format!(
                "Machine: {}, {} cores, {} MHz, Linux {}",
                field("model name").unwrap_or("unknown processor".into()),
                cores,
                field("cpu MHz").unwrap_or("?".into()),
                kernel.trim()
            ),
            format!(
                "Load average when it began: {}",
                load.split(' ').next().unwrap_or("?")
            ),
            format!("Versions: {}", versions()),
        ];
        Report {
            preamble,
            encryption,
            sections: Vec::new(),
        }
    }

    /// One more measurement.
    pub fn add(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// An older report with what was measured now in the place of what was measured then, or behind it.
    pub fn merged_into(&self, older: &str) -> String {
        let mut parts: Vec<String> = Vec::new();
        for line in older.lines() {
            match parts.last_mut() {
                Some(part) if !line.starts_with("## ") => *part += &format!("\n{line}"),
                _ => parts.push(line.to_owned()),
            }
        }
        for section in &self.sections {
            let mut text = section.to_string();
            let stamp = format!("\n\n- Measured by itself. {}.\n", self.preamble.join(". "));
            text = text.replacen("\n\n", &stamp, 1);
            let heading = format!("## {}", section.title);
            let same = |part: &&mut String| part.lines().next() == Some(&*heading);
            match parts.iter_mut().find(same) {
                Some(part) => *part = text,
                None => parts.push(text),
            }
        }
        let parts = parts.iter().map(|part| part.trim_end().to_owned());
        parts.collect::<Vec<String>>().join("\n\n") + "\n"
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# The same work by other libraries and by Samestep\n")?;
        for line in &self.preamble {
            writeln!(f, "- {line}")?;
        }
        writeln!(f, "\n{}", self.encryption)?;
        for section in &self.sections {
            write!(f, "{section}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}\n", self.title)?;
        for note in &self.notes {
            writeln!(f, "- {note}")?;
        }
        writeln!(f)?;
        for table in &self.tables {
            writeln!(f, "{table}")?;
        }
        for conclusion in &self.conclusions {
            writeln!(f, "{conclusion}  ")?;
        }
        writeln!(f)
    }
}

impl Table {
    /// A table with a heading.
    pub fn new(text_columns: usize, heading: &[&str]) -> Table {
        Table {
            text_columns,
            rows: vec![heading.iter().map(|&cell| cell.to_owned()).collect()],
        }
    }

    /// One more row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, &width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                if column < self.text_columns {
                    write!(f, "| {cell:<width$} ")?;
                } else {
                    write!(f, "| {cell:>width$} ")?;
                }
            }
            writeln!(f, "|")?;
            if index == 0 {
                for (column, &width) in widths.iter().enumerate() {
                    let colon = if column < self.text_columns { '-' } else { ':' };
                    write!(f, "|{}{colon}", "-".repeat(width + 1))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// The versions this program was built with.
fn versions() -> String {
    let lock = include_str!("../Cargo.lock");
    let wanted = [
        "rusty_enet",
        "renet",
        "renet_netcode",
        "quinn",
        "rustls",
        "ggrs",
        "samestep-proto",
    ];
    let mut found = Vec::new();
    let mut name = "";
    for line in lock.lines() {
        let value = |prefix| {
            line.strip_prefix(prefix)
                .map(|rest: &str| rest.trim_matches('"'))
        };
        if let Some(value) = value("name = ") {
            name = value;
        } else if let Some(version) = value("version = ")
            && wanted.contains(&name)
        {
            found.push(format!("{name} {version}"));
        }
    }
    found.join(", ")
}

/// Year, month and day of a time, by the calendar of UTC.
fn date(time: SystemTime) -> String {
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    // Days since 1 March of year 0: leap days then come last in their year.
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02} UTC",
        seconds / 3600 % 24,
        seconds / 60 % 60
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let at = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_798_761_599), "2026-12-31 23:59 UTC");
    }

    #[test]
    fn what_is_measured_again_takes_the_place_of_what_was() {
        let section = |title: &str, note: &str| Section {
            title: title.into(),
            notes: vec![note.into()],
            tables: Vec::new(),
            conclusions: Vec::new(),
        };
        let mut older = Report::new(&[]);
        for title in ["First", "Second"] {
            older.add(section(title, "older"));
        }
        let mut newer = Report::new(&[]);
        for title in ["First", "Third"] {
            newer.add(section(title, "newer"));
        }
        let merged = newer.merged_into(&older.to_string());
        let titles: Vec<_> = merged
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        assert_eq!(titles, ["## First", "## Second", "## Third"]);
        assert_eq!(merged.matches("- newer").count(), 2);
        assert_eq!(merged.matches("- older").count(), 1);
        assert_eq!(merged.matches("- Measured by itself. Date: ").count(), 2);
        assert_eq!(newer.merged_into(&merged).matches("- newer").count(), 2);
    }

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::new(1, &["name", "µs"]);
        table.row(["a".to_owned(), "1.5".to_owned()]);
        assert_eq!(
            table.to_string(),
            "| name |  µs |\n|------|----:|\n| a    | 1.5 |\n"
        );
    }
}
