//! The description of a match, which can be written as a link.

use samestep_sync::RoomKind;

use crate::{Conditions, ModelKind, Setup};

/// The description of a match. The same scenario gives the same match, to the last bit, as long as no person intervenes.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The game's [name](samestep_sync::Simulation::NAME).
    pub game: String,
    /// The model it begins under.
    pub model: ModelKind,
    /// Which program has authority, if any.
    pub server: Server,
    /// The size of the game; `None` for the default.
    pub size: Option<u32>,
    /// The seed of all randomness.
    pub seed: u64,
    /// The network conditions of each player.
    lines: Vec<Conditions>,
}

/// Which program has authority, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Server {
    /// A program without a player.
    #[default]
    Dedicated,
    /// The first player's own program.
    Player,
    /// None: everyone talks to everyone. Between two players the slower connection counts.
    Mesh,
}

impl Server {
    /// All there are.
    pub const ALL: [Server; 3] = [Server::Dedicated, Server::Player, Server::Mesh];

    /// The name in links.
    pub fn name(self) -> &'static str {
        match self {
            Server::Dedicated => "dedicated",
            Server::Player => "player",
            Server::Mesh => "mesh",
        }
    }

    /// The name on the screen.
    pub fn title(self) -> &'static str {
        match self {
            Server::Dedicated => "Dedicated server",
            Server::Player => "Player 1 hosts",
            Server::Mesh => "Full mesh",
        }
    }

    /// Whether a model works with it. A match here can change its model, and in a mesh a [`Switch`](samestep_sync::Switch) plays only what needs no authority.
    pub fn supports(self, kind: ModelKind) -> bool {
        let decides = || {
            kind.config()
                .build()
                .is_ok_and(|model| model.has_authority())
        };
        match self {
            Server::Dedicated => kind.works_in(RoomKind::Dedicated),
            Server::Player => kind.works_in(RoomKind::Hosted),
            Server::Mesh => kind.works_in(RoomKind::Mesh) && !decides(),
        }
    }
}

/// Why a link is not a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct LinkError(String);

/// The minimum and maximum number of players.
const PLAYERS: std::ops::RangeInclusive<usize> = 2..=4;

impl Scenario {
    /// Two players, a dedicated server, state sync, and LTE, which is bad enough to show what netcode does.
    pub fn new(game: &str) -> Scenario {
        let line = Conditions::preset("lte").expect("it is always there");
        Scenario {
            game: game.into(),
            model: ModelKind::named("state-sync").expect("it is always there"),
            server: Server::Dedicated,
            size: None,
            seed: 1,
            lines: vec![line; *PLAYERS.start()],
        }
    }

    /// The number of players: two to four.
    pub fn players(&self) -> usize {
        self.lines.len()
    }

    /// Sets the number of players, clamped to what is possible. New players get the conditions of the last one.
    pub fn set_players(&mut self, players: usize) {
        let last = self.lines.last().cloned().unwrap_or_default();
        let players = players.clamp(*PLAYERS.start(), *PLAYERS.end());
        self.lines.resize(players, last);
    }

    /// A player's network conditions.
    pub fn conditions(&self, player: usize) -> &Conditions {
        &self.lines[player]
    }

    /// A player's network conditions, to change them.
    pub fn conditions_mut(&mut self, player: usize) -> &mut Conditions {
        &mut self.lines[player]
    }

    /// Sets the same network conditions for all players.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.lines.fill(conditions);
    }

    /// The set-up of its game.
    pub fn setup(&self) -> Setup {
        Setup {
            players: self.players() as u16,
            size: self.size,
            seed: self.seed,
        }
    }

    /// As the part of an address after the `#`.
    pub fn to_link(&self) -> String {
        let mut link = format!(
            "game={}&model={}&players={}&seed={}",
            self.game,
            self.model.name,
            self.players(),
            self.seed
        );
        if self.server != Server::default() {
            link += &format!("&server={}", self.server.name());
        }
        if let Some(size) = self.size {
            link += &format!("&size={size}");
        }
        let first = &self.lines[0];
        if self.lines.iter().all(|line| line == first) {
            write_line(&mut link, "", first);
        } else {
            for (line, number) in self.lines.iter().zip(1..) {
                write_line(&mut link, &format!(".{number}"), line);
            }
        }
        link
    }

    /// Reads a link; what it does not say is as usual. A leading `#` or `?` does not matter.
    pub fn from_link(link: &str) -> Result<Scenario, LinkError> {
        let mut scenario = Scenario::new("sublockus");
        let pairs = link.trim_start_matches(['#', '?']).split('&');
        let pairs = pairs.filter(|pair| !pair.is_empty());
        let pairs: Vec<(&str, &str)> = pairs
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect();
        let players = pairs.iter().find(|(key, _)| *key == "players");
        if let Some((key, value)) = players {
            let count = number(key, value)? as usize;
            if !PLAYERS.contains(&count) {
                return Err(LinkError(format!("players={count}: 2 to 4 play here")));
            }
            scenario.set_players(count);
        }
        // A profile comes first, whatever the order: it sets all the rest.
        let rank = |key: &str| usize::from(key.split('.').next() != Some("net"));
        let mut ordered = pairs.clone();
        ordered.sort_by_key(|(key, _)| rank(key));
        for (key, value) in ordered {
            scenario.read(key, value)?;
        }
        if !scenario.server.supports(scenario.model) {
            return Err(LinkError(format!(
                "model={} needs a server: in a mesh there are lockstep and rollback",
                scenario.model.name
            )));
        }
        Ok(scenario)
    }

    fn read(&mut self, key: &str, value: &str) -> Result<(), LinkError> {
        match key {
            "players" => {}
            "game" => self.game = value.into(),
            "model" => {
                self.model = ModelKind::named(value).ok_or_else(|| {
                    let names: Vec<_> = ModelKind::ALL.iter().map(|kind| kind.name).collect();
                    LinkError(format!(
                        "there is no model {value:?}; there are {}",
                        names.join(", ")
                    ))
                })?;
            }
            "server" => {
                let found = Server::ALL
                    .into_iter()
                    .find(|server| server.name() == value);
                self.server = found.ok_or_else(|| {
                    let names = Server::ALL.map(Server::name).join(", ");
                    LinkError(format!("server={value}: it is one of {names}"))
                })?;
            }
            "seed" => self.seed = whole(key, value)?,
            "size" => {
                let size = u32::try_from(whole(key, value)?);
                self.size =
                    Some(size.map_err(|_| LinkError(format!("size={value} is too large")))?);
            }
            _ => {
                let (key, player) = match key.split_once('.') {
                    None => (key, None),
                    Some((key, player)) => (key, Some(player)),
                };
                let lines = match player {
                    None => &mut self.lines[..],
                    Some(text) => {
                        let at = text
                            .parse::<usize>()
                            .ok()
                            .and_then(|number| number.checked_sub(1));
                        let line = at.and_then(|at| self.lines.get_mut(at));
                        std::slice::from_mut(line.ok_or_else(|| {
                            LinkError(format!("{key}.{text}: there is no player {text}"))
                        })?)
                    }
                };
                for line in lines {
                    read_line(line, key, value)?;
                }
            }
        }
        Ok(())
    }
}

/// The keys of network conditions in links, their maximum, and their fields.
type Place = fn(&mut Conditions) -> &mut f64;
const VALUES: [(&str, f64, Place); 5] = [
    ("latency", 60_000.0, |line| &mut line.latency_ms),
    ("jitter", 60_000.0, |line| &mut line.jitter_ms),
    ("loss", 0.95, |line| &mut line.loss),
    ("burst", 60_000.0, |line| &mut line.burst_ms),
    ("duplicate", 1.0, |line| &mut line.duplicate),
];

fn write_line(link: &mut String, player: &str, line: &Conditions) {
    *link += &format!("&net{player}={}", line.profile());
    let mut usual = Conditions::preset(line.profile()).unwrap_or_default();
    let mut line = line.clone();
    for (key, _, place) in VALUES {
        let (value, usual) = (*place(&mut line), *place(&mut usual));
        if value != usual {
            *link += &format!("&{key}{player}={value}");
        }
    }
    if line.rate_kbps != usual.rate_kbps {
        *link += &format!("&rate{player}={}", line.rate_kbps.unwrap_or(0.0));
    }
}

fn read_line(line: &mut Conditions, key: &str, value: &str) -> Result<(), LinkError> {
    if key == "net" {
        *line = Conditions::preset(value).map_err(|error| LinkError(error.to_string()))?;
        return Ok(());
    }
    if key == "rate" {
        let rate = number(key, value)?;
        line.rate_kbps = (rate > 0.0).then_some(rate);
        return Ok(());
    }
    let Some((_, most, place)) = VALUES.iter().find(|(name, ..)| *name == key) else {
        return Err(LinkError(format!(
            "{key}: a link says game, model, players, server, seed, size, net, latency, jitter, loss, burst, duplicate or rate"
        )));
    };
    let amount = number(key, value)?;
    if amount > *most {
        return Err(LinkError(format!("{key}={value}: at most {most}")));
    }
    *place(line) = amount;
    Ok(())
}

fn number(key: &str, value: &str) -> Result<f64, LinkError> {
    let number = value
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| LinkError(format!("{key}={value}: a number from 0 on is expected")))
}

fn whole(key: &str, value: &str) -> Result<u64, LinkError> {
    value.parse().map_err(|_| {
        LinkError(format!(
            "{key}={value}: a whole number from 0 on is expected"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_restores_everything() {
        let mut scenario = Scenario::new("skirmish");
        scenario.model = ModelKind::named("rollback").unwrap();
        scenario.server = Server::Mesh;
        scenario.set_players(3);
        scenario.size = Some(400);
        scenario.seed = u64::MAX;
        assert_eq!(
            Scenario::from_link(&scenario.to_link()),
            Ok(scenario.clone())
        );
        scenario.set_conditions(Conditions::preset("bad-wifi").unwrap());
        scenario.conditions_mut(1).loss = 0.123;
        scenario.conditions_mut(2).rate_kbps = None;
        scenario.conditions_mut(2).latency_ms = 33.25;
        let link = format!("#{}", scenario.to_link());
        assert_eq!(Scenario::from_link(&link), Ok(scenario));
        assert_eq!(Scenario::from_link(""), Ok(Scenario::new("sublockus")));
    }

    #[test]
    fn profiles_come_first_in_any_order() {
        let scenario = Scenario::from_link("latency=99&net=lan&players=2").unwrap();
        assert_eq!(scenario.conditions(1).latency_ms, 99.0);
        assert_eq!(scenario.conditions(1).profile(), "lan");
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        for (link, words) in [
            ("model=telepathy", "there are lockstep"),
            ("players=9", "2 to 4"),
            ("players=NaN", "a number"),
            ("loss=2", "at most"),
            ("latency=-3", "from 0 on"),
            ("latency.7=3", "no player 7"),
            ("net=pigeons", "bad-wifi"),
            ("colour=red", "a link says"),
            ("seed=-1", "whole number"),
            ("server=cloud", "dedicated"),
            ("server=mesh&model=snapshot", "needs a server"),
        ] {
            let error = Scenario::from_link(link).unwrap_err().to_string();
            assert!(error.contains(words), "{link}: {error}");
        }
    }
}
