//! What travels with a state that is not in it: who is present, what they hold, and how entities are numbered.

use crate::interest::INPUTS_PART;
use crate::table::{Schema, Table};
use crate::{PlayerId, Tick, TickInputs};

/// The longest held input that is sent to others.
const WORD: usize = 8;

/// Which extras the authority has sent beside a state.
#[derive(Clone, Debug, Default)]
pub(super) struct SentExtras {
    /// Of which players what they hold.
    inputs: Vec<u64>,
    counters: bool,
}

/// The kinds of rows that the model adds to the table of a state.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    schema: Schema,
    own: usize,
}

impl Kinds {
    /// Behind those of a state. `exactly`: fields travel as they are, and not as precisely as views need them.
    pub(super) fn new(state: &Schema, exactly: bool) -> Kinds {
        let state = match exactly {
            true => state.exactly(),
            false => state.clone(),
        };
        Kinds {
            schema: state.with_added(&[
                ("present", &["player"]),
                (INPUTS_PART, &["player", "length", "word"]),
                ("counters", &["next"]),
            ]),
            own: state.kinds().len(),
        }
    }

    /// Of the tables.
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The number of the kind that says what players hold.
    pub(super) fn inputs(&self) -> usize {
        self.own + 1
    }

    /// The number of the kind that says how entities are numbered.
    pub(super) fn counters(&self) -> usize {
        self.own + 2
    }

    /// Adds what is not in a state to a table that holds one.
    pub(super) fn fill(&self, table: &mut Table, held: &TickInputs) {
        let (players, away) = (held.players(), held.away());
        let rows = self.rows(table, self.own, players.len() + away.len());
        rows.extend(players.iter().map(|player| u64::from(player.0)));
        rows.extend(away.iter().map(|(player, since)| absence(*player, *since)));
        let rows = self.rows(table, self.inputs(), players.len());
        let nothing = players.iter().flat_map(|player| [player.0.into(), 0, 0]);
        rows.extend(nothing);
        for (player, input) in held.entries() {
            let (Ok(at), Some(word)) = (players.binary_search(&player), word(input)) else {
                continue;
            };
            rows[at * 3 + 1] = input.len() as u64;
            rows[at * 3 + 2] = word;
        }
        let counters = (0..self.own).map(|kind| table.kind(kind).map_or(0, |rows| rows.counter));
        let counters: Vec<u64> = counters.map(u64::from).collect();
        let rows = self.rows(table, self.counters(), self.own);
        rows.extend(counters);
    }

    fn rows<'a>(&self, table: &'a mut Table, kind: usize, count: usize) -> &'a mut Vec<u64> {
        let rows = table.kind_mut(kind).expect("a table of this schema");
        rows.count = count;
        rows.cells.clear();
        &mut rows.cells
    }

    /// Who is present according to a table, and what they hold.
    pub(super) fn held_inputs(&self, table: &Table, held: &mut TickInputs) {
        held.clear();
        let (Some(present), Some(inputs)) = (table.kind(self.own), table.kind(self.inputs()))
        else {
            return;
        };
        let player = |cell: &u64| PlayerId(*cell as u16);
        let (here, away): (Vec<u64>, Vec<u64>) = present
            .cells
            .iter()
            .partition(|cell| absent_since(**cell).is_none());
        let players: Vec<PlayerId> = here.iter().map(player).collect();
        held.set_players(&players);
        let away = away
            .iter()
            .filter_map(|cell| Some((player(cell), absent_since(*cell)?)));
        held.set_away(&away.collect::<Vec<_>>());
        for row in inputs.cells.chunks_exact(3) {
            let (len, word) = (row[1] as usize, row[2].to_le_bytes());
            if (1..=WORD).contains(&len) && here.contains(&row[0]) {
                held.insert(player(&row[0]), &word[..len]);
            }
        }
    }

    /// What a table says beside a state.
    pub(super) fn extras(&self, table: &Table) -> SentExtras {
        let inputs = table.kind(self.inputs());
        let inputs = inputs.map_or(&[][..], |rows| &rows.cells);
        SentExtras {
            inputs: inputs.iter().copied().step_by(3).collect(),
            counters: table
                .kind(self.counters())
                .is_some_and(|rows| rows.count > 0),
        }
    }

    /// Leaves out of a table what is not told, beside a state.
    pub(super) fn leave_out(&self, table: &mut Table, extras: &SentExtras) {
        if let Some(rows) = table.kind_mut(self.inputs()) {
            let cells = rows.cells.chunks_exact(3);
            let cells = cells.filter(|cells| extras.inputs.contains(&cells[0]));
            rows.cells = cells.flatten().copied().collect();
            rows.count = rows.cells.len() / 3;
        }
        if !extras.counters {
            self.rows(table, self.counters(), 0);
        }
    }

    /// Numbers new entities as a table says. Where it does not, behind those that are there.
    pub(super) fn set_counters(&self, table: &mut Table) {
        let kinds = self.schema.kinds().iter().take(self.own).enumerate();
        for (kind, _) in kinds.filter(|(_, kind)| kind.has_ids) {
            let counters = table.kind(self.counters());
            let sent = counters.and_then(|rows| rows.cells.get(kind)).copied();
            let Some(rows) = table.kind_mut(kind) else {
                continue;
            };
            let numbers = rows.ids.iter().filter(|id| !id.is_fixed());
            let last = numbers.map(|id| id.number()).max().unwrap_or(0);
            let sent = sent.and_then(|sent| u32::try_from(sent).ok()).unwrap_or(0);
            rows.counter = match sent > last {
                true => sent,
                false => rows.counter.max(last.saturating_add(1)),
            };
        }
    }
}

/// Ticks in a cell begin above the number of its player.
const TICK_SHIFT: u32 = 16;

/// A player that is away, and since when, as a cell; that of a player who is present is its number alone.
fn absence(player: PlayerId, since: Tick) -> u64 {
    (since.0 + 1) << TICK_SHIFT | u64::from(player.0)
}

/// Since when the player of a cell is away; `None` if it is present.
fn absent_since(cell: u64) -> Option<Tick> {
    (cell >> TICK_SHIFT).checked_sub(1).map(Tick)
}

/// An input as a cell.
fn word(input: &[u8]) -> Option<u64> {
    let mut word = [0; WORD];
    word.get_mut(..input.len())?.copy_from_slice(input);
    Some(u64::from_le_bytes(word))
}
