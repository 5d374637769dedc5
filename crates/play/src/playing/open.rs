//! Opening or joining a game as the command line says.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use samestep::netem::Path as LinkPath;
use samestep::session::discovery::{Announcement, Found, Topology};
use samestep::session::{Role, SessionConfig, Silence, StartRule};
use samestep::sync::{Live, ModelConfig, ModelKind, RoomKind};
use samestep::transport::{Impaired, Transport, Udp};
use samestep::{Game, StartError};
use samestep_playable::{Choices, Level, Playable, Setup};

use super::Playing;
use super::host::{Hosting, check_places};
use crate::address::{any_port, resolve_join};
use crate::announce::{Announcer, random};
use crate::arguments::{Command, RoomArguments, SharedArguments};
use crate::bots::{BotJoins, Team};
use crate::failure::{Failure, Kind};
use crate::identity::{host_identity, not_kept};
use crate::journal::Kept;
use crate::known_hosts::KnownHosts;
use crate::rejoin::{self, RejoinFile};
use crate::search;

/// The version of the games, which those in a room have in common.
pub const VERSION: u32 = 1;
/// How long the local network is searched for a game.
const SEARCH: Duration = Duration::from_secs(2);

/// In a room without a host, who is silent for so long is given up, and the others go on; its place is kept.
const GIVEN_UP: Duration = Duration::from_secs(2);

impl<G: Playable> Playing<G> {
    /// Opens or joins a game as the command line says.
    pub fn open(command: &Command) -> Result<Playing<G>, Failure> {
        check_screen::<G>(command.local_players()).map_err(nonsense)?;
        match command.opens() {
            Some(_) => Playing::host_game(command),
            None => Playing::join_game(command),
        }
    }

    fn host_game(command: &Command) -> Result<Playing<G>, Failure> {
        let Some((port, open, room)) = command.opens() else {
            return Err(nonsense("a game is joined, not opened"));
        };
        let choices = open.choices(G::SETTINGS).map_err(nonsense)?;
        let journal = room.journal.open()?;
        let kept = Kept::of(journal.as_ref());
        let seed = match (&kept, open.match_seed) {
            (Some(kept), _) => kept.seed,
            (None, Some(seed)) => seed,
            (None, None) => random().map_err(nonsense)?,
        };
        let players = room.players.unwrap_or(G::PLAYERS);
        let setup = Setup {
            players,
            size: None,
            seed,
        };
        check_places(command.local_players(), room.bots, players).map_err(nonsense)?;
        let state = G::begin_with(&setup, &choices);
        let state = state.map_err(|error| nonsense(in_file(&error, open.arena.as_deref())))?;
        let name = command.player().map(|player| player.name());
        let host = name.clone().unwrap_or_else(|| "server".into());
        let named = room.room.clone();
        let mut config = config::<G>(command)?;
        config.room_name = named.unwrap_or_else(|| format!("{host}'s {}", G::TITLE));
        config.capacity = players.into();
        config.start = match room.at_once {
            true => StartRule::AtOnce,
            false => StartRule::ByAuthority,
        };
        config.standbys = Some(room.standbys.into());
        let bot_config = bot_config(&config);
        let identity = host_identity();
        config.protocol.identity = identity.as_ref().ok().cloned();
        config = room.lobby.apply(config);
        for name in command.player().iter().flat_map(|player| player.names()) {
            config = config.player(&name);
        }
        let shared = command.shared();
        let has_password = config.password.is_some();
        let model = model::<G>(command)?;
        let transport = transport(&open_at(room.bind, port), shared)?;
        let built = model.build().map_err(nonsense)?;
        let (world, goes_on) = (Live::new(state), kept.is_some());
        let role = match command.is_mesh() {
            true => Role::Introducer,
            false => Role::Host,
        };
        let game = match journal {
            Some(journal) => Game::over_with_journal(transport, config, built, world, journal),
            None => Game::over(transport, config, role, built, world),
        };
        let mut playing = Playing::with(game.map_err(not_started)?, command, setup)?;
        let joins = BotJoins {
            port: playing.game.local_addr().port(),
            ip: room.bind,
            config: bot_config,
            model,
            setup,
        };
        let Kept { matches, bots, .. } = kept.unwrap_or_default();
        let mut team = Team::new(joins, room.level, bots);
        for key in team.resize::<G>(room.bots.into()) {
            playing.game.invite(key);
        }
        playing.hosting = Some(Hosting::new(choices, team, room));
        playing.matches = matches;
        if goes_on {
            playing.go_on();
        }
        playing.announcer = announcer(room, shared);
        playing.has_password = has_password;
        playing.entered = true;
        playing.greet();
        if let Err(why) = identity {
            playing.say_here(not_kept(&why));
        }
        Ok(playing)
    }

    fn join_game(command: &Command) -> Result<Playing<G>, Failure> {
        let shared = command.shared();
        let (address, token, watches) = match command {
            Command::Watch(arguments) => (&arguments.address, &arguments.token, true),
            Command::Join(arguments) => (&arguments.address, &arguments.token, false),
            Command::Host(_) | Command::Serve(_) => {
                return Err(nonsense("a game is opened, not joined"));
            }
        };
        let mut is_mesh = command.is_mesh();
        let mut join = match address {
            Some(address) => resolve_join(address)?,
            None => {
                let found = find::<G>(shared)?;
                is_mesh |= found.announcement.topology == Topology::Mesh;
                found.join()
            }
        };
        let is_found = address.is_none();
        let address = join.address;
        let known_hosts = KnownHosts::open(address);
        let remembered = known_hosts.as_ref().and_then(KnownHosts::key);
        let insists_on_remembered = remembered.is_some() && (is_found || join.server_key.is_none());
        if insists_on_remembered {
            // Anybody in the local network can answer a search.
            join.server_key = remembered;
        }
        let mut config = config::<G>(command)?;
        config.may_host = Some(true);
        token.apply(&mut config)?;
        let mut file = None;
        if let Some(player) = command.player() {
            let name = player.name();
            for name in player.names() {
                config = config.player(&name);
            }
            let kept = match command {
                Command::Join(arguments) => arguments.rejoin.clone(),
                _ => None,
            };
            let kept = kept.or_else(|| rejoin::default_path(G::NAME, address, &name));
            // Without the file one plays as well; only a crash then costs the score.
            let opened = kept.and_then(|path| RejoinFile::open(&path).ok().flatten());
            if let Some((opened, secret)) = opened {
                join.rejoin = secret;
                file = Some(opened);
            }
        }
        let role = match (watches, is_mesh) {
            (true, _) => Role::Spectator(join),
            (false, true) => Role::Peer(join),
            (false, false) => Role::Client(join),
        };
        let transport = transport(&[any_port(address)], shared)?;
        let model = model::<G>(command)?.build().map_err(nonsense)?;
        let world = Live::new(G::placeholder());
        let game = Game::over(transport, config, role, model, world).map_err(not_started)?;
        let seed = random().map_err(nonsense)?;
        let mut playing = Playing::with(game, command, Setup::default_of::<G>(seed))?;
        playing.rejoin = file;
        playing.known_hosts = known_hosts;
        playing.insists_on_remembered = insists_on_remembered;
        playing.say_here(format!("joining {} at {address}", G::TITLE));
        Ok(playing)
    }

    /// The host of a game that was joined here is gone, and this program has taken its place.
    pub(super) fn succeed(&mut self) -> Result<(), Failure> {
        let room = self.game.room();
        self.setup.players = room.capacity().try_into().unwrap_or(u16::MAX);
        let mut choices = Choices::default();
        for (name, value) in &room.settings().values {
            choices.set(name, value);
        }
        let joins = BotJoins {
            port: self.game.local_addr().port(),
            ip: None,
            config: bot_config(&config::<G>(&self.command)?),
            model: model::<G>(&self.command)?,
            setup: self.setup,
        };
        let team = Team::new(joins, Level::Normal, Vec::new());
        self.hosting = Some(Hosting::of_successor(choices, team));
        self.go_on();
        Ok(())
    }

    fn with(
        mut game: super::AnyGame<G>,
        command: &Command,
        setup: Setup,
    ) -> Result<Playing<G>, Failure> {
        if let Some(file) = &command.shared().stats {
            game.write_stats(file).map_err(nonsense)?;
        }
        Ok(Playing {
            game,
            command: command.clone(),
            setup,
            hosting: None,
            announcer: None,
            announced: None,
            has_password: false,
            next_password: None,
            keys: Vec::new(),
            rejoin: None,
            known_hosts: None,
            insists_on_remembered: false,
            lines: Vec::new(),
            names: BTreeMap::new(),
            away: BTreeSet::new(),
            entered: false,
            last_table: None,
            has_disagreed: false,
            matches: 0,
            decided: None,
            leaving: false,
            standbys: Vec::new(),
            has_told_journal_error: false,
        })
    }

    fn greet(&mut self) {
        let port = self.game.local_addr().port();
        self.say_here(format!("{} is open at port {port} (UDP)", G::TITLE));
        for line in self.invitations() {
            self.say_here(line);
        }
    }

    /// How others join the game that was opened here, a line for each way; none where it was joined.
    pub fn invitations(&self) -> Vec<String> {
        let (name, port) = (G::NAME, self.game.local_addr().port());
        let key = self.game.public_key();
        let mut lines = Vec::new();
        if !self.is_host() {
            return lines;
        }
        let mesh = match self.is_mesh() {
            true => " --mesh",
            false => "",
        };
        if let Some(announcer) = &self.announcer {
            let port = announcer.port();
            let found = match port == samestep::transport::DISCOVERY_PORT {
                true => format!("samestep join {name}"),
                false => format!("samestep join {name} --discovery-port {port}"),
            };
            lines.push(format!("in the local network others join with: {found}"));
        }
        lines.push(format!(
            "from elsewhere: samestep join {name} ADDRESS:{port}#{key}{mesh}, with the address of this machine"
        ));
        lines
    }

    pub(super) fn announcement(&self) -> Announcement {
        let room = self.game.room();
        Announcement {
            room: crate::text::printable(room.name()),
            game: G::NAME.into(),
            version: VERSION,
            players: room.players().len().try_into().unwrap_or(u16::MAX),
            capacity: room.capacity().try_into().unwrap_or(u16::MAX),
            password: self.has_password,
            topology: match self.is_mesh() {
                true => Topology::Mesh,
                false => Topology::Hosted,
            },
            port: self.game.local_addr().port(),
            key: self.game.public_key(),
        }
    }
}

fn config<G: Playable>(command: &Command) -> Result<SessionConfig, Failure> {
    let mut config = SessionConfig::new(G::NAME, VERSION);
    config.password = command.shared().password.read()?;
    if command.is_mesh() {
        config.silence = Silence::Drop { after: GIVEN_UP };
    }
    Ok(config)
}

/// The settings of bots: they are let in by their keys, and end with the program that they are part of.
fn bot_config(config: &SessionConfig) -> SessionConfig {
    SessionConfig {
        start: StartRule::ByAuthority,
        password: None,
        may_host: Some(false),
        ..config.clone()
    }
}

fn model<G: Playable>(command: &Command) -> Result<ModelConfig, Failure> {
    let chosen = command.shared().model.as_deref();
    let works = |kind: &ModelKind| {
        let in_room = !command.is_mesh() || kind.rooms.contains(&RoomKind::Mesh);
        in_room && G::supports(*kind)
    };
    let suits = ModelKind::named(G::MODEL).filter(works);
    let kind = match chosen {
        Some(name) => ModelKind::named(name).filter(works),
        // What suits the game with a host may need one.
        None => suits.or_else(|| ModelKind::ALL.iter().copied().find(works)),
    };
    let kind = kind.ok_or_else(|| {
        let without = if command.is_mesh() {
            " without a host"
        } else {
            ""
        };
        let by = chosen.map_or(String::new(), |name| format!(" by {name}"));
        nonsense(format!("{} cannot be played{by}{without}", G::TITLE))
    })?;
    Ok(kind.config())
}

/// The addresses to listen at, in the order in which they are tried.
fn open_at(ip: Option<IpAddr>, port: u16) -> Vec<SocketAddr> {
    match ip {
        Some(ip) => vec![SocketAddr::new(ip, port)],
        // The first serves IPv4 too. The second is for machines without IPv6.
        None => vec![
            SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port),
            SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port),
        ],
    }
}

fn transport(
    at: &[SocketAddr],
    shared: &SharedArguments,
) -> Result<Box<dyn Transport + Send>, Failure> {
    let mut opened = Udp::bind(at[0]);
    for at in &at[1..] {
        opened = opened.or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse => Err(error),
            _ => Udp::bind(*at),
        });
    }
    let udp = opened.map_err(Failure::of_bind)?;
    let path = shared.link.path().map_err(nonsense)?;
    if path == LinkPath::default() {
        return Ok(Box::new(udp));
    }
    let impaired = Impaired::new(udp, &path, shared.link.seed);
    Ok(Box::new(impaired.map_err(nonsense)?))
}

fn announcer(room: &RoomArguments, shared: &SharedArguments) -> Option<Announcer> {
    if room.hidden {
        return None;
    }
    let local = room.bind.is_some_and(|ip| ip.is_loopback());
    Announcer::start(shared.discovery.discovery_port, local).ok()
}

/// The only room of this game in the local network.
fn find<G: Playable>(shared: &SharedArguments) -> Result<Found, Failure> {
    let port = shared.discovery.discovery_port;
    let found = search::search(port, G::NAME, SEARCH, |_| false).map_err(nonsense)?;
    match found.as_slice() {
        [] => Err(search::nobody(port)),
        [room] => Ok(room.clone()),
        several => {
            let words = format!(
                "several games were found; name one by its address, as in samestep join {} {}:\n{}",
                G::NAME,
                several[0].whole_address(),
                search::table(several).trim_end()
            );
            Err(Failure::new(Kind::Other, words))
        }
    }
}

/// Refuses more players at one screen than a game can show there.
fn check_screen<G: Playable>(count: usize) -> Result<(), String> {
    let most = usize::from(G::SHARED_SCREEN);
    match (count <= most.max(1), most) {
        (true, _) => Ok(()),
        (false, ..=1) => Err(format!(
            "{} shows every player a screen of its own: leave out --with, and start a program for each",
            G::TITLE
        )),
        (false, most) => Err(format!(
            "{count} players do not fit at one screen: {} takes {most} at most",
            G::TITLE
        )),
    }
}

/// The error of a setting, with the name of its file if there is one.
fn in_file(error: &str, file: Option<&str>) -> String {
    match file.filter(|_| error.starts_with("line ")) {
        Some(file) => format!("{file}: {error}"),
        None => error.into(),
    }
}

fn nonsense(error: impl ToString) -> Failure {
    Failure::new(Kind::Other, error.to_string())
}

fn not_started(error: StartError) -> Failure {
    nonsense(error)
}
