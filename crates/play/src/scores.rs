//! The score table with names.

use samestep::session::PlayerInfo;
use samestep::sync::PlayerId;
use samestep_playable::Playable;

use crate::text::printable;

/// The score table of a match, the best first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The names of the figures.
    pub columns: &'static [&'static str],
    /// The players.
    pub rows: Vec<Row>,
}

/// A player in the score table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Who.
    pub player: PlayerId,
    /// Its name.
    pub name: String,
    /// A figure for each column; none if the player has no part in the match yet.
    pub figures: Vec<i64>,
    /// Whether its program is away.
    pub is_away: bool,
    /// Whether it is ready for the next match.
    pub is_ready: bool,
}

impl Table {
    /// The players of a room, in the order of a match's scores.
    pub(crate) fn of<G: Playable>(
        game: &G,
        players: &[PlayerInfo],
        is_away: impl Fn(&PlayerInfo) -> bool,
    ) -> Table {
        let mut scores = game.scores();
        let row = |player: &PlayerInfo, figures: Vec<i64>| Row {
            player: player.id,
            name: printable(&player.profile.name),
            figures,
            is_away: is_away(player),
            is_ready: player.ready,
        };
        scores.retain(|score| players.iter().any(|player| player.id == score.player));
        let scored = scores.iter().filter_map(|score| {
            let player = players.iter().find(|player| player.id == score.player)?;
            Some(row(player, score.figures.clone()))
        });
        let without = players
            .iter()
            .filter(|player| scores.iter().all(|score| score.player != player.id))
            .map(|player| row(player, Vec::new()));
        Table {
            columns: G::SCORES,
            rows: scored.chain(without).collect(),
        }
    }

    /// The table as a CSV file.
    pub fn to_csv(&self) -> String {
        let mut text = format!("player,name,{}\n", self.columns.join(","));
        for row in &self.rows {
            let name = row.name.replace('"', "\"\"");
            let figures = self.columns.iter().enumerate();
            let figures = figures.map(|(at, _)| row.figures.get(at).copied().unwrap_or(0));
            let figures: Vec<String> = figures.map(|figure| figure.to_string()).collect();
            text += &format!("{},\"{name}\",{}\n", row.player.0, figures.join(","));
        }
        text
    }

    /// The table in a line: every player with its figures.
    pub fn to_line(&self) -> String {
        let row = |row: &Row| {
            let figures: Vec<String> = row.figures.iter().map(i64::to_string).collect();
            format!("{} {}", row.name, figures.join("/"))
                .trim_end()
                .to_string()
        };
        let rows: Vec<String> = self.rows.iter().map(row).collect();
        format!("{}: {}", self.columns.join("/"), rows.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_file_and_a_line() {
        let row = |player, name: &str, figures: &[i64]| Row {
            player: PlayerId(player),
            name: name.into(),
            figures: figures.to_vec(),
            is_away: false,
            is_ready: false,
        };
        let table = Table {
            columns: &["frags", "deaths"],
            rows: vec![row(3, "Ann \"A\"", &[5, 1]), row(0, "Ben", &[])],
        };
        let csv = "player,name,frags,deaths\n3,\"Ann \"\"A\"\"\",5,1\n0,\"Ben\",0,0\n";
        assert_eq!(table.to_csv(), csv);
        assert_eq!(table.to_line(), "frags/deaths: Ann \"A\" 5/1, Ben");
    }
}
