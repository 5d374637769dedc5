//! The messages of the console about its room.

use samestep::session::{PeerId, PeerInfo, PeerKind, PeerRoute, Presence};
use serde_json::{Value, json};

use super::Console;
use super::stats;
use super::values::Set;
use super::who::{Row, as_json, table};
use samestep_play::announce::Announcer;
use samestep_play::printable;

/// The name and colour of a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub name: String,
    pub colour: Option<[u8; 3]>,
    /// Whether all players of that program are ready.
    pub ready: bool,
}

impl Console {
    /// The first lines.
    pub(super) fn greet(&mut self) {
        let port = self.driver.local_addr().port();
        match self.joining {
            Some(address) => {
                let own = if self.mesh {
                    format!(" (own port {port})")
                } else {
                    String::new()
                };
                self.screen.say(
                    format!("joining {address}{own}"),
                    json!({"event": "joining", "address": address.to_string(), "port": port}),
                );
            }
            None => {
                let room = printable(self.session().room().name());
                let command = if self.mesh {
                    "console peer"
                } else {
                    "console join"
                };
                let key = self.session().public_key();
                let discovery = self.announcer.as_ref().map(Announcer::port);
                let found = match discovery {
                    Some(samestep::transport::DISCOVERY_PORT) => {
                        format!(", or samestep {command} --lan")
                    }
                    Some(port) => format!(", or samestep {command} --lan --discovery-port {port}"),
                    None => String::new(),
                };
                self.screen.say(
                    format!("room \"{room}\" is open at port {port}\nothers enter with: samestep {command} ADDRESS:{port}#{key}{found}"),
                    json!({"event": "open", "room": room, "port": port, "key": key.to_string(), "discovery_port": discovery}),
                );
            }
        }
    }

    /// Looks who is in the room; returns what is new about whom, and what was known before.
    pub(super) fn learn_names(&mut self) -> Vec<(PeerId, Known, Option<Known>)> {
        let room = self.driver.machine().room();
        let mut news = Vec::new();
        for peer in room.peers() {
            let players: Vec<_> = room.players_of(peer.id).collect();
            let names: Vec<_> = players.iter().map(|p| printable(&p.profile.name)).collect();
            let known = Known {
                name: match peer.kind {
                    _ if !names.is_empty() => names.join(" and "),
                    PeerKind::Host => "server".into(),
                    PeerKind::Spectator => format!("spectator {}", peer.id.0),
                    PeerKind::Client | PeerKind::Member => format!("peer {}", peer.id.0),
                },
                colour: players.first().map(|p| p.profile.colour),
                ready: !players.is_empty() && players.iter().all(|p| p.ready),
            };
            let before = self.names.get(&peer.id);
            if before != Some(&known) {
                news.push((peer.id, known, before.cloned()));
            }
        }
        for (peer, known, _) in &news {
            self.names.insert(*peer, known.clone());
        }
        news
    }

    pub(super) fn name(&self, peer: PeerId) -> String {
        let known = self.names.get(&peer);
        known.map_or_else(|| format!("peer {}", peer.0), |known| known.name.clone())
    }

    /// The name in its colour.
    pub(super) fn painted(&self, peer: PeerId) -> String {
        let name = self.name(peer);
        match self.names.get(&peer).and_then(|known| known.colour) {
            Some(colour) => self.screen.coloured(&name, colour),
            None => name,
        }
    }

    /// Everybody, with figures.
    pub(super) fn rows(&self) -> Vec<Row> {
        let (now, session) = (self.driver.now(), self.session());
        let row = |peer: &PeerInfo| {
            let me = Some(peer.id) == session.me();
            let stats = session.peer_stats(now, peer.id).filter(|_| !me);
            let offset_us = stats.as_ref().and_then(|stats| stats.clock_offset_us);
            Row {
                id: peer.id.0,
                name: self.name(peer.id),
                colour: self.names.get(&peer.id).and_then(|known| known.colour),
                me,
                state: match peer.presence {
                    Presence::Loading => "loading",
                    Presence::InSync => "in sync",
                    Presence::Away => "away",
                },
                route: match stats.as_ref().map(|stats| stats.route) {
                    None | Some(PeerRoute::Myself) => "-".into(),
                    Some(PeerRoute::Direct) => "direct".into(),
                    Some(PeerRoute::Via(by)) => format!("via {}", by.0),
                    Some(PeerRoute::None) => "none".into(),
                },
                rtt: stats.as_ref().and_then(|stats| stats.rtt),
                jitter: stats.as_ref().and_then(|stats| stats.jitter),
                offset_ms: offset_us.map(|us| us as f64 / 1e3),
                loss: stats.as_ref().and_then(|stats| stats.loss),
                sent_bytes: stats.as_ref().and_then(|stats| stats.bytes_sent),
                received_bytes: stats.as_ref().and_then(|stats| stats.bytes_received),
            }
        };
        session.room().peers().iter().map(row).collect()
    }

    /// Prints a notice.
    pub(super) fn notice(&mut self, words: &str, json: Value) {
        self.screen.say(format!("* {words}"), json);
    }

    /// Prints why a command cannot be carried out.
    pub(super) fn complain(&mut self, words: &str) {
        self.screen.say(
            format!("! {words}"),
            json!({"event": "error", "text": words}),
        );
    }

    /// Prints a notice about a peer.
    pub(super) fn about(&mut self, peer: PeerId, words: &str, event: &str) {
        if Some(peer) == self.session().me() {
            return;
        }
        let (name, painted) = (self.name(peer), self.painted(peer));
        self.notice(
            &format!("{painted} {words}"),
            json!({"event": event, "peer": peer.0, "name": name}),
        );
    }

    pub(super) fn show_value(&mut self, key: &str, value: &str, by: PeerId) {
        let (key, value, name) = (printable(key), printable(value), self.painted(by));
        self.screen.say(
            format!("{key} = {value} ({name})"),
            json!({"event": "value", "key": key, "value": value, "by": by.0}),
        );
    }

    /// Prints all values, or these words if there are none.
    pub(super) fn show_values(&mut self, none: &str) {
        let all: Vec<(String, String, PeerId)> = self
            .values
            .iter()
            .map(|(key, value, by)| (key.to_string(), value.to_string(), by))
            .collect();
        if all.is_empty() && !none.is_empty() {
            self.screen.say(none, json!({"event": "no-values"}));
        }
        for (key, value, by) in all {
            self.show_value(&key, &value, by);
        }
    }

    /// A value was set or removed.
    pub(super) fn show_change(&mut self, by: PeerId, set: &Set) {
        match &set.value {
            Some(value) => self.show_value(&set.key, value, by),
            None => {
                let (key, name) = (printable(&set.key), self.painted(by));
                self.screen.say(
                    format!("{key} is no more ({name})"),
                    json!({"event": "value", "key": key, "value": null, "by": by.0}),
                );
            }
        }
    }

    pub(super) fn show_who(&mut self) {
        let rows = self.rows();
        let now = self.driver.now();
        let session = self.session();
        let mut text = table(&rows, |name, colour| self.screen.coloured(name, colour));
        let mesh = session.mesh_clock().map(|clock| clock.error(now));
        let error = session.clock().map(|clock| clock.error(now)).or(mesh);
        if let Some(time) = session.time(now) {
            text += &format!("common time {:.3} s", time.as_secs_f64());
            if let Some(error) = error {
                text += &format!(", known here to about {:.2} ms", error.as_secs_f64() * 1e3);
            }
        }
        self.screen.say(text, as_json(&rows));
    }

    pub(super) fn show_stats(&mut self) {
        let all = self.rates.stats(self.driver.now(), self.session());
        let text = stats::table(&all, |peer| self.name(peer));
        self.screen.say(text, stats::as_json(&all));
    }

    pub(super) fn show_spacing(&mut self) {
        let report = self.spacing.report();
        let mut text = String::from("spacing of messages received");
        if report.is_empty() {
            text += ": none yet; somebody has to say /spacing on\n";
        } else {
            text += ", ms\n";
        }
        let mut rows = Vec::new();
        for (peer, measured) in &report {
            let name = self.name(*peer);
            text += &format!(
                "{name}: sent every {:.1}, {} arrived, {} missing, mean {:.2}, std-dev {:.2}, p99 {:.2}, most {:.2}\n",
                measured.interval_ms,
                measured.count + 1,
                measured.missing,
                measured.mean_ms,
                measured.std_dev_ms,
                measured.p99_ms,
                measured.max_ms,
            );
            rows.push(json!({
                "peer": peer.0, "name": name, "interval_ms": measured.interval_ms, "arrived": measured.count + 1,
                "missing": measured.missing, "mean_ms": measured.mean_ms, "std_dev_ms": measured.std_dev_ms,
                "p99_ms": measured.p99_ms, "max_ms": measured.max_ms,
            }));
        }
        self.screen
            .say(text, json!({"event": "spacing", "peers": rows}));
    }
}
