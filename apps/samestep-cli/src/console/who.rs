//! The table of `/who`.

use std::time::Duration;

use serde_json::{Value, json};

/// One program in the room.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub id: u16,
    /// Players, or what it is instead.
    pub name: String,
    pub colour: Option<[u8; 3]>,
    pub me: bool,
    pub state: &'static str,
    /// The route to it.
    pub route: String,
    /// `None` of oneself, and before the first measurement.
    pub rtt: Option<Duration>,
    pub jitter: Option<Duration>,
    pub offset_ms: Option<f64>,
    pub loss: Option<f32>,
    pub sent_bytes: Option<u64>,
    pub received_bytes: Option<u64>,
}

/// The table. `paint` puts a name into its colour; it may add what takes no room on a terminal.
pub fn table(rows: &[Row], paint: impl Fn(&str, [u8; 3]) -> String) -> String {
    let names = rows.iter().map(|row| row.shown_name().chars().count());
    let width = names.max().unwrap_or(0).max("name".len());
    let mut text = format!(
        "{:>3}  {:<width$}  {:<7}  {:<7}  {:<8}  {:>7}  {:>6}  {:>7}  {:>6}  {:>7}  {:>8}\n",
        "id",
        "name",
        "colour",
        "state",
        "route",
        "rtt ms",
        "jitter",
        "offset",
        "loss",
        "sent",
        "received"
    );
    for row in rows {
        let name = format!("{:<width$}", row.shown_name());
        let name = row
            .colour
            .map_or(name.clone(), |colour| paint(&name, colour));
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let line = format!(
            "{:>3}  {name}  {:<7}  {:<7}  {:<8}  {:>7}  {:>6}  {:>7}  {:>6}  {:>7}  {:>8}",
            row.id,
            or_dash(row.colour.map(hex)),
            row.state,
            row.route,
            or_dash(row.rtt.map(in_ms)),
            or_dash(row.jitter.map(in_ms)),
            or_dash(row.offset_ms.map(|ms| format!("{ms:+.2}"))),
            or_dash(row.loss.map(|loss| format!("{:.1} %", loss * 100.0))),
            or_dash(row.sent_bytes.map(bytes)),
            or_dash(row.received_bytes.map(bytes)),
        );
        text += line.trim_end();
        text += "\n";
    }
    text
}

/// The same for scripts.
pub fn as_json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        json!({
            "id": row.id,
            "name": row.name,
            "colour": row.colour.map(hex),
            "me": row.me,
            "state": row.state,
            "route": row.route,
            "rtt_ms": row.rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            "jitter_ms": row.jitter.map(|jitter| jitter.as_secs_f64() * 1e3),
            "offset_ms": row.offset_ms,
            "loss": row.loss,
            "sent_bytes": row.sent_bytes,
            "received_bytes": row.received_bytes,
        })
    };
    json!({"event": "who", "peers": rows.iter().map(row).collect::<Vec<_>>()})
}

impl Row {
    fn shown_name(&self) -> String {
        format!("{}{}", self.name, if self.me { " (you)" } else { "" })
    }
}

fn in_ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A number of bytes in at most seven characters.
fn bytes(count: u64) -> String {
    let count = count as f64;
    match count {
        ..1e4 => format!("{count} B"),
        ..1e7 => format!("{:.0} kB", count / 1e3),
        ..1e10 => format!("{:.0} MB", count / 1e6),
        _ => format!("{:.0} GB", count / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_in_line() {
        let rows = [
            Row {
                id: 1,
                name: "Zoë".into(),
                me: true,
                state: "in sync",
                ..Row::default()
            },
            Row {
                id: 1234,
                name: "somebody else".into(),
                colour: Some([255, 0, 127]),
                state: "loading",
                route: "direct".into(),
                rtt: Some(Duration::from_micros(12_345_678)),
                offset_ms: Some(-0.1234),
                loss: Some(0.05),
                sent_bytes: Some(9_999),
                received_bytes: Some(123_456_789),
                ..Row::default()
            },
        ];
        let text = table(&rows, |name, _| name.to_uppercase());
        for (line, expected) in text.lines().zip(["received", "-", "123 MB"]) {
            assert!(line.ends_with(expected), "{text}");
            assert!(line.chars().count() <= 100, "{text}");
        }
        assert!(
            text.contains("Zoë (you)") && text.contains("SOMEBODY ELSE"),
            "{text}"
        );
        assert!(text.contains("#ff007f") && text.contains("-0.12"), "{text}");
        assert_eq!(as_json(&rows)["peers"][1]["id"], 1234);
    }

    #[test]
    fn byte_counts_are_short() {
        assert_eq!(
            [0, 9_999, 10_000, 12_345_678].map(bytes),
            ["0 B", "9999 B", "10 kB", "12 MB"]
        );
    }
}
