//! A state as text that people and programs can read.

use std::fmt::Write as _;

use samestep_sync::{CellKind, Field, Holds, Kind, ReplayHeader, Row, Table, Tick};

/// Numbers beyond this are not exact in every program that reads JSON: they are written as text.
const EXACT: u64 = 1 << 53;

/// A state as JSON: every part, every row, every field that has a meaning.
pub(super) fn to_json(header: &ReplayHeader, tick: Tick, checksum: u64, table: &Table) -> String {
    let mut out = String::from("{\n");
    let _ = writeln!(out, "  \"game\": {},", quoted(&header.game));
    let _ = writeln!(out, "  \"version\": {},", header.version);
    let _ = writeln!(out, "  \"tick\": {},", tick.0);
    let _ = writeln!(out, "  \"checksum\": \"{checksum:016x}\",");
    out += "  \"state\": {";
    for (number, kind) in table.schema().kinds().iter().enumerate() {
        out += if number == 0 { "\n" } else { ",\n" };
        let _ = write!(out, "    {}: ", quoted(&kind.name));
        let mut rows = table.rows(number as u16);
        match (number, rows.next()) {
            (0, Some(row)) => write_row(&mut out, kind, row),
            (_, None) => out += "[]",
            (_, Some(first)) => {
                out += "[\n      ";
                write_row(&mut out, kind, first);
                for row in rows {
                    out += ",\n      ";
                    write_row(&mut out, kind, row);
                }
                out += "\n    ]";
            }
        }
    }
    out += "\n  }\n}\n";
    out
}

fn write_row(out: &mut String, kind: &Kind, row: Row<'_>) {
    let mut between = "{";
    if let Some(id) = row.id {
        let _ = write!(out, "{{\"id\": {}", quoted(&id.to_string()));
        between = ", ";
    }
    for (field, cell) in kind.fields.iter().zip(row.cells) {
        if !has_meaning(field, row.cells) {
            continue;
        }
        let name = match field.name.is_empty() {
            true => "value",
            false => &field.name,
        };
        let _ = write!(out, "{between}{}: {}", quoted(name), value(field, *cell));
        between = ", ";
    }
    *out += if between == "{" { "{}" } else { "}" };
}

/// Whether a field is there in this row: those of other variants are not.
fn has_meaning(field: &Field, cells: &[u64]) -> bool {
    field.when.is_none_or(|when| match when.holds {
        Holds::Exactly(value) => cells[when.field] == value,
        Holds::AtLeast(least) => cells[when.field] >= least,
    })
}

fn value(field: &Field, cell: u64) -> String {
    let text = field.kind.text(cell);
    let is_number = match field.kind {
        CellKind::Bool => cell <= 1,
        CellKind::Unsigned => cell <= EXACT,
        CellKind::Signed => (cell as i64).unsigned_abs() <= EXACT,
        CellKind::F32 => f32::from_bits(cell as u32).is_finite(),
        CellKind::F64 => f64::from_bits(cell).is_finite(),
        _ => false,
    };
    match is_number {
        true => text,
        false => quoted(&text),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            letter if (letter as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", letter as u32);
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use samestep_sync::{Entities, Record, Replicate};

    use super::*;

    #[derive(Clone, Record)]
    struct Ship {
        at: (f32, f32),
        tow: Option<i8>,
    }

    #[derive(Clone, Replicate)]
    struct Sea {
        ships: Entities<Ship>,
        wrecks: Vec<u64>,
        calm: bool,
    }

    #[test]
    fn a_state_is_written_with_what_has_a_meaning() {
        let mut sea = Sea {
            ships: Entities::new(),
            wrecks: vec![u64::MAX, 5],
            calm: true,
        };
        let alone = Ship {
            at: (1.5, f32::NAN),
            tow: None,
        };
        sea.ships.insert(alone.clone());
        sea.ships.insert(Ship {
            at: (-2.0, 0.0),
            tow: Some(-3),
        });
        let mut table = Table::new(Sea::schema());
        sea.extract(&mut table);
        let header = ReplayHeader {
            game: "sea \"two\"".into(),
            version: 3,
            ticks_per_second: 20,
        };
        let text = to_json(&header, Tick(7), 0xfe, &table);
        let expected = r#"{
  "game": "sea \"two\"",
  "version": 3,
  "tick": 7,
  "checksum": "00000000000000fe",
  "state": {
    "globals": {"calm": true},
    "ships": [
      {"id": "entity 1", "at.0": 1.5, "at.1": "NaN", "tow": "None"},
      {"id": "entity 2", "at.0": -2, "at.1": 0, "tow": "Some", "tow.0": -3}
    ],
    "wrecks": [
      {"value": "18446744073709551615"},
      {"value": 5}
    ]
  }
}
"#;
        assert_eq!(text, expected);
    }
}
