//! Cases by players, entities and network, drawn as overviews.

use crate::parameters::Case;
use crate::plot::{Cell, Data, Overview, Panel, Plot};
use crate::testmatch::network_name;

/// The cases of a plan that has a matrix of players, entities and networks, as the source drew them.
pub struct Matrix<'a> {
    cases: &'a [Case],
    players: Vec<f64>,
    entities: Vec<f64>,
    networks: Vec<&'a str>,
}

impl<'a> Matrix<'a> {
    /// The matrix of these cases.
    pub fn new(cases: &'a [Case]) -> Matrix<'a> {
        let distinct = |key: &str| {
            let mut values: Vec<f64> = cases.iter().map(|case| case.number(key)).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let mut networks: Vec<&str> = Vec::new();
        for case in cases {
            let network = network_name(case);
            if !networks.contains(&network) {
                networks.push(network);
            }
        }
        Matrix {
            players: distinct("players"),
            entities: distinct("entities"),
            cases,
            networks,
        }
    }

    /// The networks in the order in which they appear.
    pub fn networks(&self) -> &[&'a str] {
        &self.networks
    }

    /// The cases of a network, with what `value` says of each.
    pub fn panel(&self, title: &str, network: &str, value: impl Fn(&Case) -> Cell) -> Panel {
        let cell = |entities: f64, players: f64| {
            let found = self.cases.iter().find(|case| {
                network_name(case) == network
                    && case.number("players") == players
                    && case.number("entities") == entities
            });
            found.map_or(Cell::Nothing, &value)
        };
        let row = |entities: &f64| {
            let players = self.players.iter();
            players.map(|players| cell(*entities, *players)).collect()
        };
        Panel {
            title: title.into(),
            cells: self.entities.iter().map(row).collect(),
        }
    }

    /// Panels side by side; without a scale it reaches from 0 to the largest value.
    pub fn plot(
        &self,
        name: &str,
        title: &str,
        unit: &str,
        scale: Option<(f64, f64)>,
        panels: Vec<Panel>,
    ) -> Plot {
        let cells = panels.iter().flat_map(|panel| panel.cells.iter().flatten());
        let high = cells.fold(0.0_f64, |high, cell| match cell {
            Cell::Value(value) => value.max(high),
            _ => high,
        });
        let overview = Overview {
            columns: self.players.iter().map(f64::to_string).collect(),
            rows: self.entities.iter().map(f64::to_string).collect(),
            scale: scale.unwrap_or((0.0, if high > 0.0 { high } else { 1.0 })),
            panels,
        };
        Plot {
            name: name.into(),
            title: title.into(),
            x: "players".into(),
            y: "entities".into(),
            log_y: false,
            data: Data::Overview(unit.into(), overview),
        }
    }
}
