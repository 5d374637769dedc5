//! What happens in the room, as lines for people.

use samestep::prelude::{Chat, MatchEvent, SessionEvent};
use samestep::session::{LeaveReason, PeerId, PeerKind, PublicKey};
use samestep::sync::ModelEvent;
use samestep_playable::Playable;

use super::{Playing, write};
use crate::text::printable;

impl<G: Playable> Playing<G> {
    pub(super) fn on_news(&mut self, news: MatchEvent) {
        self.learn_names();
        match news {
            MatchEvent::Session(event) => self.on_session_event(event),
            MatchEvent::Model(ModelEvent::Desync(report)) => {
                self.say_here(printable(&format!("desync: {report}")));
            }
            MatchEvent::Model(ModelEvent::TooSlow { peer, ticks_behind }) => {
                let name = self.name_of(peer);
                self.say_here(format!("{name} is too slow: {ticks_behind} ticks behind"));
            }
            MatchEvent::Model(_) | MatchEvent::NotLoaded(_) => {}
        }
    }

    fn on_session_event(&mut self, event: SessionEvent) {
        if let Some((from, Chat { text })) = event.message() {
            let name = self.name_of(from);
            return self.say_here(format!("{name}: {}", printable(&text)));
        }
        if let Some(hosting) = &mut self.hosting
            && matches!(
                event,
                SessionEvent::PeerJoined { .. } | SessionEvent::PeerInSync { .. }
            )
        {
            hosting.changed_at = self.game.driver().now();
        }
        match event {
            SessionEvent::Connected { key, .. } => self.on_host_key(key),
            SessionEvent::InSync => self.on_in_sync(),
            SessionEvent::PeerInSync { peer } => {
                let is_back = self.away.remove(&peer);
                let is_own = self.game.driver().machine().session().me() == Some(peer);
                if !is_own && self.entered {
                    let words = if is_back { "is back" } else { "is here" };
                    self.about(peer, words);
                }
            }
            SessionEvent::PeerAway { peer } => {
                self.away.insert(peer);
                self.about(peer, "is away; place and score are kept for a while");
            }
            SessionEvent::PeerLeft { peer, reason } => {
                self.away.remove(&peer);
                let why = match reason {
                    LeaveReason::Left(words) => printable(&words),
                    other => printable(&other.to_string()),
                };
                let why = if why.is_empty() {
                    why
                } else {
                    format!(": {why}")
                };
                self.about(peer, &format!("left{why}"));
                self.names.remove(&peer);
            }
            SessionEvent::Reported { by, peer, words } => {
                let name = self.name_of(peer);
                self.about(by, &format!("reports {name}: {}", printable(&words)));
            }
            SessionEvent::Refused { address, reason } => {
                let why = printable(&reason.to_string());
                self.say_here(format!("refused somebody at {address}: {why}"));
            }
            SessionEvent::HostSilent { last_heard } => {
                let seconds = last_heard.as_secs_f64();
                self.say_here(format!("nothing heard from the host for {seconds:.1} s"));
            }
            SessionEvent::HostHeard => self.say_here("the host is heard again"),
            SessionEvent::Reconnecting { why } => {
                let why = printable(&why);
                self.say_here(format!(
                    "the connection is lost ({why}); trying to come back"
                ));
            }
            SessionEvent::AuthorityChanged { authority } => {
                let is_own = self.game.driver().machine().session().me() == Some(authority);
                if !is_own {
                    let words = match self.is_mesh() {
                        true => "sees to the matches now",
                        false => "hosts the game now",
                    };
                    self.about(authority, words);
                }
            }
            SessionEvent::PasswordChanged => self.on_password_changed(),
            SessionEvent::Started => self.say_here("the match begins"),
            SessionEvent::Ended { result } => self.on_end(&result),
            SessionEvent::Rematch => self.say_here("another match is prepared"),
            _ => {}
        }
    }

    /// The host's key is remembered, so that nobody takes the host's place from now on.
    fn on_host_key(&mut self, key: PublicKey) {
        let remembered = self.known_hosts.as_ref().map(|known| known.remember(key));
        match remembered {
            Some(Ok(true)) => self.say_here(format!(
                "this host is new here: its key {key} is remembered"
            )),
            Some(Err(error)) => {
                self.say_here(format!("the host's key is not remembered: {error}"));
            }
            Some(Ok(false)) | None => {}
        }
    }

    fn on_in_sync(&mut self) {
        let secret = self.game.rejoin_secret();
        if let Some(file) = &mut self.rejoin
            && let Err(error) = file.write(secret)
        {
            self.say_here(format!("the secret to come back with is not kept: {error}"));
        }
        if self.is_host() {
            return;
        }
        let room = self.room_name();
        let is_back = std::mem::replace(&mut self.entered, true);
        let players = self.game.my_players();
        let names = players.filter_map(|player| self.game.room().player(player));
        let names: Vec<String> = names
            .map(|player| printable(&player.profile.name))
            .collect();
        self.say_here(match (is_back, names.is_empty()) {
            (true, _) => "back in the room".to_string(),
            (false, false) => format!("in the room \"{room}\" as {}", names.join(" and ")),
            (false, true) => format!("watching the room \"{room}\""),
        });
    }

    fn on_end(&mut self, result: &[u8]) {
        let table = self.own_table();
        let own = table.to_csv();
        let host = String::from_utf8_lossy(result);
        let differs = |line: &str| {
            let player = line.split(',').next().unwrap_or_default();
            let of_host = host
                .lines()
                .find(|row| row.split(',').next() == Some(player));
            of_host.is_some_and(|row| row != line)
        };
        if own.lines().any(differs) {
            self.has_disagreed = true;
            self.say_here("the host has another score table than this program");
        }
        self.matches += 1;
        self.say_here(format!("the match is over: {}", table.to_line()));
        let shared = self.command.shared();
        let written = shared
            .scores
            .as_ref()
            .map(|path| write(path, own.as_bytes()));
        let recorded = self.write_recording();
        for failure in [written.unwrap_or(Ok(())), recorded]
            .into_iter()
            .filter_map(Result::err)
        {
            self.say_here(failure.to_string());
        }
        self.last_table = Some(table);
        let now = self.game.driver().now();
        if let Some(hosting) = &mut self.hosting {
            hosting.on_end(now);
        }
    }

    /// Says something about a peer, of which several may play on one program: "Ann is here", "Ann and Bob are here".
    fn about(&mut self, peer: PeerId, words: &str) {
        let name = self.name_of(peer);
        let are_several = self.game.room().players_of(peer).count() > 1;
        let words = match words.strip_prefix("is ").filter(|_| are_several) {
            Some(words) => format!("are {words}"),
            None => words.to_string(),
        };
        self.say_here(format!("{name} {words}"));
    }

    pub(super) fn name_of(&self, peer: PeerId) -> String {
        let known = self.names.get(&peer).cloned();
        known.unwrap_or_else(|| peer.to_string())
    }

    /// Peers are called as their players; names are kept for when they have left.
    fn learn_names(&mut self) {
        let room = self.game.room();
        for peer in room.peers() {
            let players = room.players_of(peer.id);
            let names: Vec<_> = players
                .map(|player| printable(&player.profile.name))
                .collect();
            let name = match (names.is_empty(), peer.kind) {
                (false, _) => names.join(" and "),
                (true, PeerKind::Host) => "the server".into(),
                (true, _) => "a spectator".into(),
            };
            self.names.insert(peer.id, name);
        }
    }
}
