//! Chat, commands that are typed, and the figures of the network.

use std::time::Duration;

use samestep::GameStats;
use samestep_playable::Playable;

use super::Playing;
use crate::bots::BOT;
use crate::password::{changed, next_password};

/// How long somebody who is banned stays out.
const BAN: Duration = Duration::from_secs(3600);

/// What can be typed.
pub(super) const HELP: &[&str] = &[
    "what you type is chat; what begins with / is a command:",
    "/ready, /wait        you are ready for the match, or not any more",
    "/start               begin though not all are ready, at who opened the game",
    "/set NAME VALUE      change a setting of the next match, there too",
    "/bots N, /level L    bots that play along: easy, normal or hard",
    "/end, /rematch       end the match; prepare another",
    "/kick NAME WORDS     send somebody away; /ban NAME WORDS: for an hour at least",
    "/password [FILE]     another password from now on: that in the file, or a new one",
    "/settings, /quit     what is played; leave",
];

impl<G: Playable> Playing<G> {
    /// Takes a line that was typed: chat, or a command that begins with `/`.
    pub fn say(&mut self, line: &str) {
        let line = line.trim();
        let Some(command) = line.strip_prefix('/') else {
            if !line.is_empty()
                && let Err(error) = self.game.chat(line)
            {
                self.say_here(error.to_string());
            }
            return;
        };
        let (word, rest) = command.split_once(' ').unwrap_or((command, ""));
        let rest = rest.trim();
        match word {
            "ready" => self.set_ready(true),
            "wait" => self.set_ready(false),
            "start" => self.start(),
            "end" | "rematch" => self.end_or_rematch(),
            "bots" | "level" => self.set(word, rest),
            "set" => match rest.split_once([' ', '=']) {
                Some((name, value)) => self.set(name.trim(), value.trim()),
                None => self.say_here("write /set NAME VALUE"),
            },
            "settings" => {
                let settings = self.settings().into_iter();
                let settings: Vec<_> = settings
                    .map(|(name, value)| format!("{name} {value}"))
                    .collect();
                self.say_here(settings.join(", "));
            }
            "kick" => self.send_away(rest, None),
            "ban" => self.send_away(rest, Some(BAN)),
            "password" => self.change_password(rest),
            "quit" => self.leaving = true,
            _ => self.lines.extend(HELP.iter().map(|line| line.to_string())),
        }
    }

    /// Leaves as soon as the screen looks.
    pub fn quit(&mut self) {
        self.leaving = true;
    }

    /// Sends somebody away, for a while if one is named. It knows the password: that is changed with it.
    fn send_away(&mut self, rest: &str, lasting: Option<Duration>) {
        let players = self.game.players().iter();
        let mut named = players.filter(|player| {
            let after = rest.strip_prefix(player.profile.name.as_str());
            after.is_some_and(|after| after.is_empty() || after.starts_with(' '))
        });
        let found = named
            .next()
            .map(|player| (player.peer, player.profile.name.len()));
        let Some((peer, len)) = found else {
            return self.say_here("nobody here is called that");
        };
        let words = rest[len..].trim();
        let done = match lasting {
            Some(lasting) => self.game.ban(peer, lasting, words),
            None => self.game.kick(peer, words),
        };
        if !done {
            self.say_here("only who opened the game can send somebody away");
        } else if self.has_password {
            self.change_password("");
        }
    }

    /// Changes the password to the one in a file, or to a new one, which is shown once the room demands it.
    fn change_password(&mut self, file: &str) {
        let password = match next_password(file) {
            Ok(password) => password,
            Err(failure) => return self.say_here(failure.to_string()),
        };
        match self.game.set_password(&password) {
            Ok(()) => self.next_password = Some(password),
            Err(error) => self.say_here(error.to_string()),
        }
    }

    pub(super) fn on_password_changed(&mut self) {
        self.has_password = true;
        if let Some(password) = self.next_password.take() {
            self.say_here(changed(&password));
        }
    }

    /// The figures of the network in a line.
    pub fn figures(&self) -> String {
        let stats = self.game.stats();
        let mut parts = Vec::new();
        let tick_ms = 1e3 / f64::from(G::TICKS_PER_SECOND);
        let (delay, s) = (
            stats.input_delay,
            if stats.input_delay == 1 { "" } else { "s" },
        );
        let ms = delay as f64 * tick_ms;
        parts.push(format!("input delay {delay} tick{s} ({ms:.0} ms)"));
        let late = stats.playout_delay.max(stats.interpolation_delay);
        if !late.is_zero() {
            parts.push(format!("others {:.0} ms late", late.as_secs_f64() * 1e3));
        }
        if stats.rollbacks > 0 {
            let (count, depth) = (stats.rollbacks, stats.max_rollback_depth);
            parts.push(format!("{count} rollbacks (at most {depth} ticks)"));
        }
        if stats.corrections > 0 {
            parts.push(format!("{} corrections", stats.corrections));
        }
        if stats.desyncs > 0 {
            parts.push(format!("{} desyncs", stats.desyncs));
        }
        parts.extend(self.connections(&stats));
        parts.join(" · ")
    }

    /// The connections that are measured: for a guest the one to the host, there those to guests on other machines.
    fn connections(&self, stats: &GameStats) -> Vec<String> {
        let measured = stats.peers.iter().filter(|peer| peer.round_trip.is_some());
        let named = measured.map(|peer| {
            let name = self.names.get(&peer.peer).map_or("?", String::as_str);
            (peer, name)
        });
        let parts = named
            .filter(|(_, name)| !name.starts_with(BOT))
            .map(|(peer, name)| {
                let ms = peer.round_trip.unwrap_or_default().as_secs_f64() * 1e3;
                let loss = match peer.loss {
                    Some(loss) => format!("{:.1} %", f64::from(loss) * 100.0),
                    None => "unknown".into(),
                };
                format!("{name}: round trip {ms:.0} ms, loss {loss}")
            });
        parts.take(4).collect()
    }
}
