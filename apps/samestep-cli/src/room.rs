//! `samestep console host`, `join` and `peer`: a room shared by several terminals.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use samestep::DEFAULT_PORT;
use samestep::netem::Path;
use samestep::session::discovery::{Found, Topology};
use samestep::session::{JoinTo, Role, SessionConfig};
use samestep::transport::{Impaired, Tcp, Transport, Udp};

use crate::console::{self, Console};
use samestep_play::address::{any_port, resolve_join};
use samestep_play::announce::Announcer;
use samestep_play::failure::{Failure, Kind, codes};
use samestep_play::identity::{host_identity, not_kept};
use samestep_play::known_hosts::KnownHosts;
use samestep_play::link::LinkArguments;
use samestep_play::lobby::{LobbyArguments, TokenArguments};
use samestep_play::password::PasswordArguments;
use samestep_play::search::{PortArgument, nobody, search, table};
use samestep_play::user_name;

use crate::{GAME, VERSION};

#[derive(Subcommand)]
pub enum Command {
    /// Open a room for several terminals, and take part in it
    Host(HostArguments),
    /// Join a room
    Join(JoinArguments),
    /// Open or join a mesh: a room in which everyone talks to everyone
    Peer(PeerArguments),
}

pub fn run(command: &Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Host(arguments) => host(arguments),
        Command::Join(arguments) => join(arguments),
        Command::Peer(arguments) => peer(arguments),
    }
}

#[derive(Args)]
#[command(after_help = codes())]
pub struct HostArguments {
    /// Do not play: keep the room for others
    #[arg(long)]
    dedicated: bool,
    /// Use TCP, where networks block UDP; programs that join must use it too
    #[arg(long)]
    tcp: bool,
    #[command(flatten)]
    open: OpenArguments,
    #[command(flatten)]
    shared: SharedArguments,
}

#[derive(Args)]
#[command(after_help = codes())]
pub struct JoinArguments {
    /// The room: host, or host:port, with #KEY behind it if its key is known; without it the local network is searched
    address: Option<String>,
    /// Watch without playing
    #[arg(long)]
    spectate: bool,
    /// Use TCP, as the host does
    #[arg(long)]
    tcp: bool,
    #[command(flatten)]
    lan: LanArguments,
    #[command(flatten)]
    password: PasswordArguments,
    #[command(flatten)]
    token: TokenArguments,
    #[command(flatten)]
    shared: SharedArguments,
}

#[derive(Args)]
#[command(after_help = codes())]
pub struct PeerArguments {
    /// Any member of the mesh: host, or host:port, with #KEY behind it if its key is known; without it a new mesh is opened
    address: Option<String>,
    #[command(flatten)]
    lan: LanArguments,
    #[command(flatten)]
    token: TokenArguments,
    #[command(flatten)]
    open: OpenArguments,
    #[command(flatten)]
    shared: SharedArguments,
}

/// Arguments of commands that open a room.
#[derive(Args)]
#[command(next_help_heading = "Room")]
struct OpenArguments {
    /// The room's name
    #[arg(long, value_name = "NAME")]
    room: Option<String>,
    /// The port to be reached at, 0 for any free one [default: 14242, or any when joining]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Be reachable at this address of the machine only
    #[arg(long, value_name = "IP")]
    bind: Option<IpAddr>,
    #[command(flatten)]
    password: PasswordArguments,
    #[command(flatten)]
    lobby: LobbyArguments,
    /// Players the room holds
    #[arg(long, value_name = "N", default_value_t = 16)]
    capacity: usize,
    /// Do not let the room be found in the local network
    #[arg(long)]
    hidden: bool,
}

/// Arguments of commands that look for a room.
#[derive(Args)]
struct LanArguments {
    /// Search the local network for a room
    #[arg(long, conflicts_with = "address")]
    lan: bool,
    /// How long to search
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    seconds: f64,
}

/// Arguments of every room command.
#[derive(Args)]
#[command(next_help_heading = "Console")]
struct SharedArguments {
    /// Your name [default: your user name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Write the spacing of every message received to a CSV file
    #[arg(long, value_name = "FILE")]
    spacing_log: Option<String>,
    /// Print JSON, a line for each event, and read plain lines
    #[arg(long)]
    json: bool,
    /// Stay in the room when the input ends
    #[arg(long)]
    stay: bool,
    #[command(flatten)]
    discovery: PortArgument,
    #[arg(long, hide = true, default_value_t = VERSION)]
    game_version: u32,
    #[command(flatten)]
    link: LinkArguments,
}

fn host(arguments: &HostArguments) -> Result<ExitCode, Box<dyn Error>> {
    let HostArguments { open, shared, .. } = arguments;
    let name = (!arguments.dedicated).then(|| shared.name());
    let mut config = open.config(shared, name.as_deref())?;
    let mut own = Own::default();
    own.keep_identity(&mut config);
    let transport = shared.transport(open.address(DEFAULT_PORT), arguments.tcp)?;
    // Discovery does not say which protocol a room uses: programs that find it use UDP.
    own.announcer = (!arguments.tcp).then(|| open.announcer(shared)).flatten();
    own.stay = arguments.dedicated;
    open_console(shared, transport, config, Role::Host, own)
}

fn join(arguments: &JoinArguments) -> Result<ExitCode, Box<dyn Error>> {
    let JoinArguments { shared, lan, .. } = arguments;
    let mut join = match &arguments.address {
        Some(text) => resolve_join(text)?,
        None => find(shared, lan, Topology::Hosted)?,
    };
    insist_on_remembered(&mut join, arguments.address.is_none());
    let address = join.address;
    let mut config = SessionConfig::new(GAME, shared.game_version);
    arguments.token.apply(&mut config)?;
    join.password = arguments.password.read()?;
    let role = if arguments.spectate {
        Role::Spectator(join)
    } else {
        config = config.player(&shared.name());
        Role::Client(join)
    };
    let transport = shared.transport(vec![any_port(address)], arguments.tcp)?;
    open_console(shared, transport, config, role, Own::default())
}

fn peer(arguments: &PeerArguments) -> Result<ExitCode, Box<dyn Error>> {
    let PeerArguments {
        open, shared, lan, ..
    } = arguments;
    let mut config = open.config(shared, Some(&shared.name()))?;
    let join = match &arguments.address {
        Some(text) => Some(resolve_join(text)?),
        None if lan.lan => Some(find(shared, lan, Topology::Mesh)?),
        None => None,
    };
    let mut own = Own {
        announcer: open.announcer(shared),
        ..Own::default()
    };
    match join {
        Some(_) => arguments.token.apply(&mut config)?,
        None => own.keep_identity(&mut config),
    }
    let port = if join.is_some() { 0 } else { DEFAULT_PORT };
    let role = join.map_or(Role::Introducer, Role::Peer);
    let transport = shared.transport(open.address(port), false)?;
    open_console(shared, transport, config, role, own)
}

/// A key that is remembered counts more than one that was found: anybody in the local network can answer a search.
fn insist_on_remembered(join: &mut JoinTo, is_found: bool) {
    let remembered = KnownHosts::open(join.address).and_then(|known| known.key());
    if is_found || join.server_key.is_none() {
        join.server_key = remembered.or(join.server_key);
    }
}

impl OpenArguments {
    fn config(
        &self,
        shared: &SharedArguments,
        name: Option<&str>,
    ) -> Result<SessionConfig, Failure> {
        let host = name.map_or_else(|| "server".to_string(), str::to_string);
        let room = self
            .room
            .clone()
            .unwrap_or_else(|| format!("{host}'s room"));
        let config = SessionConfig {
            capacity: self.capacity,
            password: self.password.read()?,
            // Newcomers get the shared values.
            initial_state: true,
            ..SessionConfig::new(GAME, shared.game_version).named(&room)
        };
        let config = self.lobby.apply(config);
        Ok(match name {
            Some(name) => config.player(name),
            None => config,
        })
    }

    /// The addresses to listen at, in the order in which they are tried.
    fn address(&self, default_port: u16) -> Vec<SocketAddr> {
        let port = self.port.unwrap_or(default_port);
        match self.bind {
            Some(ip) => vec![SocketAddr::new(ip, port)],
            // The first serves IPv4 too. The second is for machines without IPv6.
            None => vec![
                SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port),
                SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port),
            ],
        }
    }

    fn announcer(&self, shared: &SharedArguments) -> Option<Announcer> {
        if self.hidden {
            return None;
        }
        let local = self.bind.is_some_and(|ip| ip.is_loopback());
        let announcer = Announcer::start(shared.discovery.discovery_port, local);
        announcer
            .map_err(|error| eprintln!("samestep: the room cannot be found with discover: {error}"))
            .ok()
    }
}

impl SharedArguments {
    fn name(&self) -> String {
        user_name(self.name.as_deref())
    }

    fn transport(
        &self,
        at: Vec<SocketAddr>,
        tcp: bool,
    ) -> Result<Box<dyn Transport>, Box<dyn Error>> {
        let open = |at: SocketAddr| -> std::io::Result<Box<dyn Transport>> {
            Ok(match tcp {
                true => Box::new(Tcp::bind(at)?),
                false => Box::new(Udp::bind(at)?),
            })
        };
        let mut opened = open(at[0]);
        for at in &at[1..] {
            opened = opened.or_else(|error| match error.kind() {
                std::io::ErrorKind::AddrInUse => Err(error),
                _ => open(*at),
            });
        }
        let transport = opened.map_err(Failure::of_bind)?;
        let path = self.link.path()?;
        if path == Path::default() {
            return Ok(transport);
        }
        Ok(Box::new(Impaired::new(transport, &path, self.link.seed)?))
    }
}

/// The only room of this kind in the local network.
fn find(
    shared: &SharedArguments,
    lan: &LanArguments,
    kind: Topology,
) -> Result<JoinTo, Box<dyn Error>> {
    let port = shared.discovery.discovery_port;
    let time = Duration::from_secs_f64(lan.seconds.clamp(0.05, 1e6));
    let found = search(port, GAME, time, |_| false)?;
    let fits = |room: &&Found| room.announcement.topology == kind;
    let fitting: Vec<Found> = found.iter().filter(fits).cloned().collect();
    match fitting.as_slice() {
        [room] => {
            let name = &room.announcement.room;
            eprintln!("found \"{name}\" at {}", room.whole_address());
            Ok(room.join())
        }
        [] if found.is_empty() => Err(nobody(port).into()),
        [] => {
            let command = if kind == Topology::Mesh {
                "join"
            } else {
                "peer"
            };
            let words = format!(
                "only rooms of the other kind were found; enter them with samestep console {command} ADDRESS:\n{}",
                table(&found)
            );
            Err(Failure::new(Kind::NobodyThere, words.trim_end()).into())
        }
        several => {
            let words = format!(
                "several rooms were found; name one by its address:\n{}",
                table(several)
            );
            Err(Failure::new(Kind::Other, words.trim_end()).into())
        }
    }
}

/// What differs between the ways into a room.
#[derive(Default)]
struct Own {
    announcer: Option<Announcer>,
    /// Stay when the input ends.
    stay: bool,
    /// Why this program's key is not kept, if it was to be.
    not_kept: Option<String>,
}

impl Own {
    /// Whoever opens a room is known by the same key each time.
    fn keep_identity(&mut self, config: &mut SessionConfig) {
        match host_identity() {
            Ok(identity) => config.protocol.identity = Some(identity),
            Err(why) => self.not_kept = Some(not_kept(&why)),
        }
    }
}

fn open_console(
    shared: &SharedArguments,
    transport: Box<dyn Transport>,
    config: SessionConfig,
    role: Role,
    own: Own,
) -> Result<ExitCode, Box<dyn Error>> {
    // The members of a mesh that others joined have keys that are gone with them: there is nothing to remember.
    let join = role.join().filter(|_| !role.is_mesh());
    let known_hosts = join.and_then(|join| KnownHosts::open(join.address));
    let console = Console::new(console::Options {
        transport,
        config,
        role,
        announcer: own.announcer,
        json: shared.json,
        stay: own.stay || shared.stay,
        spacing_log: shared.spacing_log.clone(),
        known_hosts,
        not_kept: own.not_kept,
    })?;
    console.run()
}
