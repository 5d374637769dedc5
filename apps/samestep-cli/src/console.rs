//! The console: a session in a room, with a terminal or a pipe.

mod command;
mod events;
mod input;
mod screen;
mod show;
mod spacing;
mod stats;
mod values;
mod who;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use samestep::Driver;
use samestep::prelude::*;
use samestep::session::discovery::{Announcement, Topology};
use samestep::session::{LeaveReason, Profile, Role, Session, State, To};
use samestep::sync::PeerId;
use samestep::transport::Transport;
use serde_json::json;

use self::command::{HELP, Line};
use self::input::{Input, Terminal};
use self::screen::Screen;
use self::spacing::Spacing;
use self::stats::Rates;
use self::values::{Set, Values};
use crate::GAME;
use samestep_play::announce::Announcer;
use samestep_play::failure::{Failure, Kind};
use samestep_play::known_hosts::KnownHosts;
use samestep_play::password::{changed, next_password};
use samestep_play::{ending, printable};

/// A line of chat, sent to everyone.
#[derive(Clone, Debug, PartialEq, Wire, Message)]
#[message(kind = 1)]
struct Chat {
    #[wire(max_len = 1000)]
    text: String,
}

/// The settings of a console.
pub struct Options {
    pub transport: Box<dyn Transport>,
    pub config: SessionConfig,
    pub role: Role,
    pub announcer: Option<Announcer>,
    pub json: bool,
    /// Stay when the input ends.
    pub stay: bool,
    pub spacing_log: Option<String>,
    /// Where the key of the host is remembered.
    pub known_hosts: Option<KnownHosts>,
    /// Why this program's key is not kept, if it was to be.
    pub not_kept: Option<String>,
}

pub struct Console {
    driver: Driver<Box<dyn Transport>, Session>,
    terminal: Terminal,
    screen: Screen,
    announcer: Option<Announcer>,
    known_hosts: Option<KnownHosts>,
    /// Whether the key is insisted on that was remembered of the host.
    insists_on_remembered: bool,
    announced: Option<Announcement>,
    version: u32,
    password: bool,
    /// The password that the room has been asked to demand from now on.
    next_password: Option<String>,
    mesh: bool,
    /// The address of the room, unless it was opened here.
    joining: Option<SocketAddr>,
    stay: bool,
    values: Values,
    spacing: Spacing,
    rates: Rates,
    /// The names of all peers, also of those that have just left.
    names: BTreeMap<PeerId, show::Known>,
    /// Input is not read before this time.
    paused_until: Option<Duration>,
    /// The user wants to leave.
    leaving: bool,
    /// Whether this program has been in the room.
    entered: bool,
}

/// The interval at which input is read while nothing arrives from the network.
const LOOK: Duration = Duration::from_millis(10);

/// How long somebody who is banned stays out.
const BAN: Duration = Duration::from_secs(3600);

/// The maximum time that leaving takes.
const FAREWELL: Duration = Duration::from_secs(3);

impl Console {
    pub fn new(options: Options) -> Result<Console, Box<dyn Error>> {
        let mut spacing = Spacing::default();
        if let Some(path) = &options.spacing_log {
            spacing.log_to(path)?;
        }
        let version = options.config.protocol.version;
        let password = options.config.password.is_some();
        let joining = options.role.join().map(|join| join.address);
        let insisted_on = options.role.join().and_then(|join| join.server_key);
        let remembered = options.known_hosts.as_ref().and_then(KnownHosts::key);
        let insists_on_remembered = remembered.is_some() && remembered == insisted_on;
        let mesh = options.role.is_mesh();
        let driver = Driver::session(options.transport, options.config, options.role)?;
        let mut terminal = Terminal::open(options.json);
        let out = std::mem::replace(&mut terminal.out, Box::new(screen::Plain));
        let screen = Screen::new(out, options.json, terminal.interactive);
        let mut console = Console {
            driver,
            terminal,
            screen,
            announcer: options.announcer,
            known_hosts: options.known_hosts,
            insists_on_remembered,
            announced: None,
            version,
            password,
            next_password: None,
            mesh,
            joining,
            stay: options.stay,
            values: Values::default(),
            spacing,
            rates: Rates::default(),
            names: BTreeMap::new(),
            paused_until: None,
            leaving: false,
            entered: false,
        };
        console.greet();
        if let Some(why) = options.not_kept {
            let told = json!({"event": "key-not-kept", "why": why});
            console.notice(&why, told);
        }
        Ok(console)
    }

    /// Runs until the user leaves or the session ends.
    pub fn run(mut self) -> Result<ExitCode, Box<dyn Error>> {
        loop {
            let now = self.driver.now();
            self.read_input(now);
            self.send_beats(now);
            self.announce();
            self.rates.on_time(now, self.driver.machine());
            let until = self.spacing.next_beat().unwrap_or(Duration::MAX);
            match self.driver.drive_once(until.min(now + LOOK))? {
                Some(SessionEvent::Left { reason }) => return self.end(&reason),
                Some(event) => self.on_event(event),
                None => {}
            }
        }
    }

    /// The session has ended: reports why, unless the user has left, and waits for the acknowledgement of the others.
    fn end(mut self, reason: &LeaveReason) -> Result<ExitCode, Box<dyn Error>> {
        if let Some(announcer) = &self.announcer {
            announcer.say(None);
        }
        let failure = (!self.leaving).then(|| match (reason, &self.known_hosts) {
            (LeaveReason::WrongKey(_), Some(known)) if self.insists_on_remembered => {
                Failure::new(Kind::Other, known.advice())
            }
            _ => ending(reason, self.entered),
        });
        let code = failure.as_ref().map_or(0, |failure| failure.kind.code());
        let why = reason.to_string();
        self.screen
            .say_json(json!({"event": "end", "why": why, "code": code}));
        self.terminal.restore();
        if let Some(failure) = failure {
            eprintln!("samestep: {}", printable(&failure.to_string()));
        }
        self.say_goodbye()?;
        Ok(ExitCode::from(code))
    }

    /// Drives the session until the others have acknowledged the end, at most for [`FAREWELL`].
    fn say_goodbye(&mut self) -> std::io::Result<()> {
        let end = self.driver.now() + FAREWELL;
        while !self.session().is_quiet() && self.driver.now() < end {
            self.driver.drive_once(end.min(self.driver.now() + LOOK))?;
        }
        Ok(())
    }

    /// Keeps the discovery announcement up to date, on the authority.
    fn announce(&mut self) {
        let Some(announcer) = &self.announcer else {
            return;
        };
        let session = self.driver.machine();
        let room = session.room();
        let announcement = session.is_authority().then(|| Announcement {
            room: printable(room.name()),
            game: GAME.into(),
            version: self.version,
            players: room.players().len().try_into().unwrap_or(u16::MAX),
            capacity: room.capacity().try_into().unwrap_or(u16::MAX),
            password: self.password,
            topology: if room.is_mesh() {
                Topology::Mesh
            } else {
                Topology::Hosted
            },
            port: self.driver.local_addr().port(),
            key: session.public_key(),
        });
        if announcement != self.announced {
            announcer.say(announcement.clone());
            self.announced = announcement;
        }
    }

    fn session(&self) -> &Session {
        self.driver.machine()
    }

    /// The session, and the time to give it.
    fn now_and_session(&mut self) -> (Duration, &mut Session) {
        (self.driver.now(), self.driver.machine_mut())
    }

    fn read_input(&mut self, now: Duration) {
        if self.terminal.is_interrupted() {
            self.leave("");
        }
        // Lines of a script wait until the room is joined; a person gets an error instead. Lines after /wait wait in any case.
        let in_room = *self.session().state() == State::InSync;
        let paused = self.paused_until.is_some_and(|until| now < until);
        if self.leaving || paused || !(in_room || self.terminal.interactive) {
            return;
        }
        self.paused_until = None;
        while !self.leaving && self.paused_until.is_none() {
            match self.terminal.input.try_recv() {
                Ok(Input::Line(line)) => match command::parse(&line) {
                    Ok(Some(line)) if in_room || line.is_for_outside() => self.on_line(line),
                    Ok(Some(_)) => self.complain("not in the room at the moment: wait, or /quit"),
                    Ok(None) => {}
                    Err(words) => self.complain(&words),
                },
                Ok(Input::End) if !self.stay => self.leave(""),
                Ok(Input::End) => {}
                Err(_) => return,
            }
        }
    }

    fn on_line(&mut self, line: Line) {
        match line {
            Line::Chat(text) => self.send(&Chat { text }),
            Line::Set(key, value) => {
                let (now, session) = self.now_and_session();
                if let Err(error) = session.request(now, &Set { key, value }) {
                    self.complain(&error.to_string());
                }
            }
            Line::Get(Some(key)) => match self.values.value(&key) {
                Some((value, by)) => {
                    let value = value.to_string();
                    self.show_value(&key, &value, by);
                }
                None => self.complain(&format!("there is no value \"{}\"", printable(&key))),
            },
            Line::Get(None) => self.show_values("no values yet: /set KEY VALUE shares one"),
            Line::Who => self.show_who(),
            Line::Stats => self.show_stats(),
            Line::Ready(ready) => self.set_ready(ready),
            Line::Start => self.start(),
            Line::Name(name) => self.rename(&name),
            Line::Kick(name, words) => self.send_away(&name, None, &words),
            Line::Ban(name, words) => self.send_away(&name, Some(BAN), &words),
            Line::Password(file) => self.change_password(&file),
            Line::Beat(interval) => {
                let now = self.driver.now();
                self.spacing.beat(now, interval);
            }
            Line::Spacing => self.show_spacing(),
            Line::Wait(time) => self.paused_until = Some(self.driver.now() + time),
            Line::Help => self
                .screen
                .say(HELP, json!({"event": "help", "text": HELP})),
            Line::Quit(words) => self.leave(&words),
        }
    }

    /// Leaves the room, or closes it on its host; the end of the session follows.
    fn leave(&mut self, words: &str) {
        if std::mem::replace(&mut self.leaving, true) {
            return;
        }
        let closes = !self.mesh && self.joining.is_none();
        let (now, session) = self.now_and_session();
        match closes {
            true => session.close_room(now, words),
            false => session.leave(now, words),
        }
    }

    fn send<M: Message>(&mut self, message: &M) {
        let (now, session) = self.now_and_session();
        if let Err(error) = session.send(now, To::Others, message) {
            self.complain(&error.to_string());
        }
    }

    fn send_beats(&mut self, now: Duration) {
        while let Some(beat) = self.spacing.poll_beat(now) {
            // A beat that cannot be sent is measured as missing at the other end.
            let _ = self.driver.machine_mut().send(now, To::Others, &beat);
        }
    }

    fn set_ready(&mut self, ready: bool) {
        let mine: Vec<PlayerId> = self.session().my_players().collect();
        if mine.is_empty() {
            return self.complain("you do not play here");
        }
        let (now, session) = self.now_and_session();
        for player in mine {
            session.set_ready(now, player, ready);
        }
    }

    fn start(&mut self) {
        if !self.session().is_authority() {
            return self.complain("only the one who opened the room can start the game");
        }
        let (now, session) = self.now_and_session();
        session.start(now);
    }

    fn rename(&mut self, name: &str) {
        let name = printable(name);
        if name.len() > 64 {
            return self.complain("a name has at most 64 bytes");
        }
        let Some(player) = self.session().my_players().next() else {
            return self.complain("you do not play here");
        };
        let known = self.session().room().player(player);
        let colour = known.map_or([0; 3], |player| player.profile.colour);
        let (now, session) = self.now_and_session();
        session.set_profile(now, player, Profile { name, colour });
    }

    /// Sends somebody away, for a while if one is named. It knows the password: that is changed with it.
    fn send_away(&mut self, name: &str, lasting: Option<Duration>, words: &str) {
        if !self.session().is_authority() {
            return self.complain("only the one who opened the room can send somebody away");
        }
        let room = self.session().room();
        let by_id = name
            .parse()
            .map(PeerId)
            .ok()
            .filter(|id| room.peer(*id).is_some());
        let by_name = room
            .players()
            .iter()
            .find(|player| player.profile.name == name);
        let by_name = by_name.map(|player| player.peer);
        let Some(peer) = by_name.or(by_id) else {
            return self.complain(&format!(
                "nobody here is called \"{name}\"; /who lists everybody"
            ));
        };
        if Some(peer) == self.session().me() {
            return self.complain("that is you; /quit leaves");
        }
        let (now, session) = self.now_and_session();
        match lasting {
            Some(lasting) => session.ban(now, peer, lasting, words),
            None => session.kick(now, peer, words),
        }
        if self.password {
            self.change_password("");
        }
    }

    /// Changes the password to the one in a file, or to a new one, which is shown once the room demands it.
    fn change_password(&mut self, file: &str) {
        let password = match next_password(file) {
            Ok(password) => password,
            Err(failure) => return self.complain(&failure.to_string()),
        };
        let (now, session) = self.now_and_session();
        match session.set_password(now, password.as_str().into()) {
            Ok(()) => self.next_password = Some(password),
            Err(error) => self.complain(&error.to_string()),
        }
    }

    fn on_password_changed(&mut self) {
        self.password = true;
        if let Some(password) = self.next_password.take() {
            let told = json!({"event": "password", "password": password});
            self.screen.say(changed(&password), told);
        }
    }
}
