//! The events of the session.

use std::time::Duration;

use samestep::session::{LeaveReason, PeerId, PublicKey, SessionEvent};
use serde_json::json;

use super::spacing::Beat;
use super::values::{Set, Values};
use super::{Chat, Console};
use samestep_play::printable;

impl Console {
    pub(super) fn on_event(&mut self, event: SessionEvent) {
        let now = self.driver.now();
        if let Some((from, Chat { text })) = event.message() {
            self.log_message(now, from, "chat", None);
            let (name, text) = (self.name(from), printable(&text));
            let shown = self.painted(from);
            self.screen.say(
                format!("{shown}: {text}"),
                json!({"event": "chat", "from": from.0, "name": name, "text": text}),
            );
        } else if let Some((from, beat)) = event.message::<Beat>() {
            self.log_message(now, from, "beat", Some(&beat));
        } else if let Some((ticket, set)) = event.request::<Set>() {
            let verdict = self.values.check(&set).map(|()| set);
            let session = self.driver.machine_mut();
            // This cannot fail: the command is as long as the request was, and reasons for a refusal are short.
            let _ = session.resolve_as::<Set>(now, ticket, verdict);
        } else if let Some((from, set)) = event.command::<Set>() {
            self.log_message(now, from, "set", None);
            self.values.apply(from, &set);
            self.show_change(from, &set);
        } else if let Some((_, why)) = event.denied::<Set>() {
            let why = why.unwrap_or_else(|| "the room could not decide about it".into());
            self.complain(&printable(&why));
        } else {
            self.on_room_event(event);
        }
    }

    /// The host's key is remembered, so that nobody takes the host's place from now on.
    fn on_host_key(&mut self, key: PublicKey) {
        let remembered = self.known_hosts.as_ref().map(|known| known.remember(key));
        let told = json!({"event": "host-key", "key": key.to_string()});
        match remembered {
            Some(Ok(true)) => {
                let words = format!("this host is new here: its key {key} is remembered");
                self.notice(&words, told);
            }
            Some(Err(error)) => {
                self.notice(&format!("the host's key is not remembered: {error}"), told);
            }
            Some(Ok(false)) | None => {}
        }
    }

    fn on_room_event(&mut self, event: SessionEvent) {
        let now = self.driver.now();
        match event {
            SessionEvent::StateWanted { peer } => {
                let state = self.values.to_bytes();
                self.driver.machine_mut().provide_state(now, peer, &state);
            }
            SessionEvent::InitialState { state } => {
                // Changes committed from now on apply to this state, even if it could not be read.
                self.values = Values::from_bytes(&state).unwrap_or_default();
                self.driver.machine_mut().loaded(now);
            }
            SessionEvent::Connected { key, .. } => self.on_host_key(key),
            SessionEvent::InSync => self.on_in_sync(),
            SessionEvent::Reconnecting { why } => {
                let why = printable(&why);
                self.notice(
                    &format!("the connection is lost ({why}); trying to come back"),
                    json!({"event": "reconnecting", "why": why}),
                );
            }
            SessionEvent::HostSilent { last_heard } => self.notice(
                &format!(
                    "nothing heard from the host for {:.1} s",
                    last_heard.as_secs_f64()
                ),
                json!({"event": "host silent", "last_heard_ms": last_heard.as_millis()}),
            ),
            SessionEvent::HostHeard => {
                self.notice("the host is heard again", json!({"event": "host heard"}));
            }
            SessionEvent::Frozen => self.notice(
                "too few of the others are heard; waiting until they are back",
                json!({"event": "frozen"}),
            ),
            SessionEvent::Refused { address, reason } => {
                let why = printable(&reason.to_string());
                self.notice(
                    &format!("refused somebody at {address}: {why}"),
                    json!({"event": "refused", "address": address.to_string(), "why": why}),
                );
            }
            SessionEvent::PeerJoined { .. } => self.on_room_changed(),
            SessionEvent::PeerInSync { peer } => {
                self.on_room_changed();
                // Peers that are here already are listed on joining.
                if self.entered {
                    self.about(peer, "is here", "here");
                }
            }
            SessionEvent::PeerAway { peer } => {
                self.about(peer, "has vanished; the place is kept for a while", "away");
            }
            SessionEvent::PeerLeft { peer, reason } => {
                let (name, why) = (self.name(peer), farewell(&reason));
                let painted = self.painted(peer);
                self.names.remove(&peer);
                self.notice(
                    &format!("{painted} left{}", with_colon(&why)),
                    json!({"event": "left", "peer": peer.0, "name": name, "why": why}),
                );
            }
            SessionEvent::Reported { by, peer, words } => {
                let words = printable(&words);
                let (reporter, name) = (self.painted(by), self.painted(peer));
                self.notice(
                    &format!("{reporter} reports {name}: {words}"),
                    json!({"event": "reported", "by": by.0, "peer": peer.0, "words": words}),
                );
            }
            SessionEvent::AuthorityChanged { authority } => {
                self.about(authority, "now decides what comes first", "authority");
            }
            SessionEvent::RoomChanged => self.on_room_changed(),
            SessionEvent::PasswordChanged => self.on_password_changed(),
            SessionEvent::Starting { at } => {
                let time = self.session().time(now).unwrap_or(at);
                let left = at.saturating_sub(time).as_secs_f64();
                self.notice(
                    &format!("the game starts in {left:.1} s"),
                    json!({"event": "starting", "in_s": left}),
                );
            }
            SessionEvent::Started => {
                self.notice("the game has started", json!({"event": "started"}));
            }
            _ => {}
        }
    }

    /// This program has joined the room, for the first time or again.
    fn on_in_sync(&mut self) {
        self.on_room_changed();
        if std::mem::replace(&mut self.entered, true) {
            return self.notice("back in the room", json!({"event": "back"}));
        }
        let Some(me) = self.session().me() else {
            return;
        };
        if self.joining.is_none() {
            return;
        }
        let room = printable(self.session().room().name());
        let name = self.name(me);
        let others: Vec<String> = self
            .rows()
            .iter()
            .filter(|row| !row.me)
            .map(|row| row.name.clone())
            .collect();
        self.screen.say(
            format!(
                "in the room \"{room}\" as {name}, with {}; /help lists what can be done",
                others.join(", ")
            ),
            json!({"event": "in-room", "room": room, "peer": me.0, "name": name, "others": others}),
        );
        self.show_values("");
    }

    /// A player is new, has a new name, or is ready.
    fn on_room_changed(&mut self) {
        for (peer, now, before) in self.learn_names() {
            let Some(before) = before else { continue };
            if before.name != now.name {
                let painted = self.painted(peer);
                self.notice(
                    &format!("{} is called {painted} now", before.name),
                    json!({"event": "name", "peer": peer.0, "before": before.name, "name": now.name}),
                );
            }
            if before.ready != now.ready {
                let words = if now.ready {
                    "is ready"
                } else {
                    "is not ready"
                };
                let painted = self.painted(peer);
                self.notice(
                    &format!("{painted} {words}"),
                    json!({"event": "ready", "peer": peer.0, "name": now.name, "ready": now.ready}),
                );
            }
        }
    }

    fn log_message(&mut self, at: Duration, from: PeerId, what: &'static str, beat: Option<&Beat>) {
        let name = self.name(from);
        self.spacing.on_message(at, from, &name, what, beat);
    }
}

/// The message a peer left with, or else the reason.
fn farewell(reason: &LeaveReason) -> String {
    match reason {
        LeaveReason::Left(words) => printable(words),
        other => printable(&other.to_string()),
    }
}

fn with_colon(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(": {words}")
    }
}
