//! What the program that opened a game does for all: settings, start, end, rematch.

use std::time::Duration;

use samestep::session::{Phase, Presence, Role, Settings};
use samestep_playable::{Choices, Level, Playable, Setup};

use super::{Playing, Stage, named};
use crate::arguments::{RoomArguments, value_of};
use crate::bots::Team;
use crate::journal::Kept;

/// How long a decided match is still shown before it ends; by then everyone knows its last ticks.
const SHOWN: Duration = Duration::from_secs(3);
/// An end that is proposed and not agreed on is proposed again.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long the table of a match stands before the next one is prepared without somebody who asks for it.
const PAUSE: Duration = Duration::from_secs(8);
/// A newcomer takes about a second to know the common time, and can be given another state only then.
const SETTLED: Duration = Duration::from_millis(1500);

/// What the program that opened a game keeps.
pub(super) struct Hosting {
    choices: Choices,
    pub(super) team: Team,
    wait_for: usize,
    at_once: bool,
    /// The choices have changed, or a match has ended: everyone gets a new state before the next one begins.
    is_stale: bool,
    /// Somebody wants the match to begin though not all are ready.
    wants_start: bool,
    /// When a peer last came or went.
    pub(super) changed_at: Duration,
    pub(super) ended_at: Option<Duration>,
}

/// Refuses more players on this program than there are places, and more bots than are left.
pub(super) fn check_places(local: usize, bots: u16, places: u16) -> Result<(), String> {
    let Some(most) = usize::from(places).checked_sub(local) else {
        return Err(format!(
            "{local} players do not fit: the game is for {places} at most, unless --players allows more"
        ));
    };
    match usize::from(bots) <= most {
        true => Ok(()),
        false => Err(format!(
            "{bots} bots do not fit: {most} at most, unless --players allows more"
        )),
    }
}

impl Hosting {
    pub(super) fn new(choices: Choices, team: Team, room: &RoomArguments) -> Hosting {
        Hosting {
            choices,
            team,
            wait_for: room.wait_for,
            at_once: room.at_once,
            is_stale: false,
            wants_start: false,
            changed_at: Duration::ZERO,
            ended_at: None,
        }
    }

    /// That of a program that takes the place of the one that opened the game.
    pub(super) fn of_successor(choices: Choices, team: Team) -> Hosting {
        Hosting {
            choices,
            team,
            wait_for: 2,
            at_once: false,
            is_stale: false,
            wants_start: false,
            changed_at: Duration::ZERO,
            ended_at: None,
        }
    }

    /// A match has ended.
    pub(super) fn on_end(&mut self, now: Duration) {
        self.ended_at = Some(now);
        (self.is_stale, self.wants_start) = (true, false);
    }
}

impl<G: Playable> Playing<G> {
    /// A match of an earlier program goes on here.
    pub(super) fn go_on(&mut self) {
        let (now, stage) = (self.now(), self.stage_of_room());
        let tick = self.game.status().tick;
        self.say_here(match stage {
            Stage::Playing => format!("the match goes on from tick {tick}"),
            _ => "the room is open again".to_string(),
        });
        if let Some(hosting) = &mut self.hosting {
            hosting.is_stale = stage != Stage::Playing && self.game.status().running;
            hosting.ended_at = (stage == Stage::Over).then_some(now);
        }
    }

    /// What is to be found again after a restart.
    fn keep_in_journal(&mut self) {
        let Some(hosting) = &self.hosting else {
            return;
        };
        let kept = Kept {
            seed: self.setup.seed,
            matches: self.matches,
            bots: hosting.team.secrets(),
        };
        self.game.keep_in_journal(&kept.encode());
        if !self.has_told_journal_error
            && let Some(error) = self.game.journal_error()
        {
            let words = format!(
                "the journal is not written any more ({error}): the match goes on without it"
            );
            self.has_told_journal_error = true;
            self.say_here(words);
        }
    }

    /// Follows who hosts: this program may have taken the host's place, or lost it.
    fn follow_host(&mut self) {
        let session = self.game.driver().machine().session();
        let is_mesh = session.role().is_mesh();
        let hosts = match is_mesh {
            true => session.is_authority(),
            false => matches!(session.role(), Role::Host),
        };
        match (&mut self.hosting, hosts) {
            (None, true) => {
                self.say_here(match is_mesh {
                    true => "this program sees to the matches now",
                    false => "the host is gone: this program hosts the game now",
                });
                if let Err(failure) = self.succeed() {
                    self.say_here(failure.to_string());
                }
            }
            (Some(hosting), false) => {
                hosting.team.stop();
                self.hosting = None;
                self.say_here(match is_mesh {
                    true => "another program sees to the matches now",
                    false => "another program hosts the game now",
                });
            }
            _ => {}
        }
    }

    /// Tells who would take this program's place.
    fn tell_standbys(&mut self) {
        let standbys = self.game.driver().machine().session().standbys();
        if self.standbys != standbys {
            self.standbys = standbys.to_vec();
            let standbys = self.standbys.iter();
            let names: Vec<String> = standbys.map(|peer| self.name_of(*peer)).collect();
            if !names.is_empty() {
                let names = names.join(" or ");
                self.say_here(format!("{names} would take over if this program were lost"));
            }
        }
    }

    /// Does what is due for all.
    pub(super) fn host(&mut self) {
        self.follow_host();
        let stage = self.stage();
        match stage {
            // In a room without a host most of its members end a match.
            Stage::Playing if self.is_host() || self.is_mesh() => self.end_if_decided(),
            _ => self.decided = None,
        }
        if self.hosting.is_none() {
            return;
        }
        self.keep_in_journal();
        self.tell_standbys();
        match stage {
            Stage::Joining | Stage::Playing => {}
            Stage::Waiting => {
                self.give_new_state();
                self.start_if_ready();
            }
            Stage::Over => self.prepare_next(),
        }
    }

    fn now(&self) -> Duration {
        self.game.driver().now()
    }

    /// The state of the next match; each has another seed.
    fn next_state(&self, choices: &Choices) -> Result<G, String> {
        let setup = Setup {
            seed: self.setup.seed.wrapping_add(self.matches.into()),
            ..self.setup
        };
        G::begin_with(&setup, choices)
    }

    /// Gives everyone the state of the first match as soon as it is chosen. After a match its ticks go on, so that the state of the next one waits
    /// until that begins.
    fn give_new_state(&mut self) {
        let now = self.now();
        let Some(hosting) = &self.hosting else {
            return;
        };
        let peers = self.game.room().peers();
        let is_loading = peers.iter().any(|peer| peer.presence == Presence::Loading);
        let is_settled = !is_loading && now >= hosting.changed_at + SETTLED;
        if hosting.is_stale && is_settled && !self.game.status().running {
            self.replace_state();
        }
    }

    fn replace_state(&mut self) {
        let state = self
            .hosting
            .as_ref()
            .map(|hosting| self.next_state(&hosting.choices));
        let Some(Ok(state)) = state else {
            return;
        };
        let is_replaced = self.game.replace_state(state);
        if let Some(hosting) = &mut self.hosting {
            hosting.is_stale = !is_replaced;
        }
    }

    fn start_if_ready(&mut self) {
        let Some(hosting) = &self.hosting else {
            return;
        };
        let room = self.game.room();
        let is_here = |peer| room.is_present(peer);
        let mut present = room.players().iter().filter(|player| is_here(player.peer));
        let count = present.clone().count();
        let are_ready = count >= hosting.wait_for.max(1) && present.all(|player| player.ready);
        if !(are_ready || hosting.at_once || hosting.wants_start) {
            return;
        }
        if hosting.is_stale && self.game.status().running {
            self.replace_state();
        }
        if self
            .hosting
            .as_ref()
            .is_some_and(|hosting| !hosting.is_stale)
        {
            self.game.start();
        }
    }

    fn end_if_decided(&mut self) {
        let (now, status) = (self.now(), self.game.status());
        if !self.game.state().is_over() {
            self.decided = None;
            return;
        }
        let (since, tick) = *self.decided.get_or_insert((now, status.tick));
        if now >= since + SHOWN && status.confirmed_tick > tick {
            // Others may know of somebody's absence later: what they propose is compared again.
            self.decided = Some((now + ASK_AGAIN - SHOWN, tick));
            self.end_match();
        }
    }

    fn end_match(&mut self) {
        let csv = self.own_table().to_csv();
        self.game.end(csv.as_bytes());
    }

    /// Prepares the next match by itself, if nobody is there to do it.
    fn prepare_next(&mut self) {
        let now = self.now();
        let is_alone = self.command.player().is_none_or(|player| player.ready);
        let Some(hosting) = &self.hosting else {
            return;
        };
        let is_due = hosting.ended_at.is_some_and(|at| now >= at + PAUSE);
        if is_due && (is_alone || hosting.at_once) && !self.is_finished() {
            self.game.rematch();
        }
    }

    /// The players of this program are ready, or not any more.
    pub fn set_ready(&mut self, ready: bool) {
        self.game.set_ready(ready);
    }

    /// Begins the match, though not all may be ready. Only who opened the game can.
    pub fn start(&mut self) {
        match &mut self.hosting {
            Some(hosting) => hosting.wants_start = true,
            None => {
                self.say_here("only who opened the game can start it; /ready says you are ready")
            }
        }
    }

    /// Ends the match, or prepares the next one after it. Only who opened the game can.
    pub fn end_or_rematch(&mut self) {
        if self.hosting.is_none() {
            return self.say_here("only who opened the game can do that");
        }
        match self.game.room().phase() {
            Phase::Playing { .. } => self.end_match(),
            Phase::Ended { .. } => self.game.rematch(),
            Phase::SetUp => self.say_here("no match is played"),
        }
    }

    /// Changes a setting of the next match. Only who opened the game can.
    pub fn set(&mut self, name: &str, value: &str) {
        if let Err(words) = self.try_set(name, value) {
            self.say_here(words);
        }
    }

    fn try_set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let hosting = self.hosting.as_mut();
        let hosting = hosting.ok_or("only who opened the game can change its settings")?;
        match name {
            "bots" => {
                let count: u16 = value.parse().map_err(|_| "bots is a number")?;
                check_places(self.command.local_players(), count, self.setup.players)?;
                for key in hosting.team.resize::<G>(count.into()) {
                    self.game.invite(key);
                }
                return Ok(());
            }
            "level" => {
                hosting.team.set_level(Level::named(value)?);
                return Ok(());
            }
            _ => {}
        }
        let mut choices = hosting.choices.clone();
        choices.set(name, &value_of(G::SETTINGS, name, value)?);
        let state = self.next_state(&choices)?;
        if let Some(hosting) = &mut self.hosting {
            (hosting.choices, hosting.is_stale, hosting.wants_start) = (choices, true, false);
        }
        if self.stage() == Stage::Playing {
            self.say_here("the next match will be played that way");
            return Ok(());
        }
        let values = named(state.settings());
        // Everybody has to get ready again for something else.
        self.game.propose_settings(Settings {
            values,
            ..Settings::default()
        });
        Ok(())
    }

    /// Changes a setting to the next of the values that are offered; bots and their level are the last two.
    pub fn next_value(&mut self, index: usize) {
        let Some(hosting) = &self.hosting else {
            return self.say_here("only who opened the game can change its settings");
        };
        let offered = G::SETTINGS.get(index);
        let (name, value) = match (offered, index.checked_sub(G::SETTINGS.len())) {
            (Some(setting), _) => {
                let values = setting.values;
                let chosen = hosting.choices.get(setting.name);
                let at = values.iter().position(|value| Some(*value) == chosen);
                let next = at.unwrap_or(0) + 1;
                (setting.name, values[next % values.len()].to_string())
            }
            (None, Some(0)) => {
                let local = self.command.local_players();
                let most = usize::from(self.setup.players).saturating_sub(local);
                ("bots", ((hosting.team.len() + 1) % (most + 1)).to_string())
            }
            (None, Some(1)) => {
                let at = Level::ALL
                    .iter()
                    .position(|level| *level == hosting.team.level());
                let next = Level::ALL[(at.unwrap_or(0) + 1) % Level::ALL.len()];
                ("level", next.name().into())
            }
            _ => return,
        };
        self.set(name, &value);
    }

    /// The settings that [`next_value`](Self::next_value) changes, with the value that is chosen, in its order.
    pub fn choices(&self) -> Vec<(&'static str, String)> {
        let Some(hosting) = &self.hosting else {
            return Vec::new();
        };
        let chosen = G::SETTINGS.iter().map(|setting| {
            let value = hosting
                .choices
                .get(setting.name)
                .unwrap_or(setting.values[0]);
            // The text of a file is not for a line; its name is in the state.
            let value = match value.contains('\n') {
                true => "your own",
                false => value,
            };
            (setting.name, value.to_string())
        });
        let bots = ("bots", hosting.team.len().to_string());
        let level = ("level", hosting.team.level().name().to_string());
        chosen.chain([bots, level]).collect()
    }
}
