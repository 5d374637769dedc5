//! A match over real sockets of this machine: the host in this process, the clients in a few others.

mod clients;

use std::env;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use samestep::session::{Role, SessionConfig, SessionEvent};
use samestep::transport::{Transport, Udp};
use samestep::{Crowd, Driver};
use samestep_catalog::evaluation::{Evaluation, script};
use samestep_proto::AcceptConfig;
use samestep_session::{Match, MatchEvent};
use samestep_sync::{Length, Live, Lockstep, LockstepConfig, PlayerId, Tick};

use crate::real::LOCALHOST;
use crate::samples::{Counts, TimeSeries};
use crate::testmatch::{TICK, processor_time};
pub use clients::be_clients;

/// The longest time until all clients are in sync.
const PATIENCE: Duration = Duration::from_secs(90);
/// From this many players on, turns are as long as in the literature: shorter ones need more packets than the machine can handle.
const MANY: u16 = 200;
/// How often the host reads its socket while it is playing.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The evaluation game as everyone plays it.
type Game = Match<Live<Evaluation>, Lockstep>;

/// The settings of a match.
#[derive(Clone, Debug)]
pub struct RealRoom {
    /// Players, one of whom hosts.
    pub players: u16,
    /// Entities of the game.
    pub entities: usize,
    /// Seconds to measure, from the start of the game on.
    pub seconds: u32,
    /// The seed of all randomness but the network's.
    pub seed: u64,
    /// Processes for the clients.
    pub processes: usize,
    /// The settings of lockstep.
    pub lockstep: LockstepConfig,
}

/// The results of a match.
#[derive(Clone, Debug)]
pub struct RealOutcome {
    /// Every second of every client; number 0 hosts.
    pub course: TimeSeries,
    /// CPU seconds of the host per second of the game.
    pub host_cores: f64,
    /// CPU seconds of all clients together per second of the game.
    pub client_cores: f64,
}

impl RealRoom {
    /// Settings for that many players and entities.
    pub fn new(players: u16, entities: usize) -> RealRoom {
        let many = LockstepConfig {
            turn: Length::Fixed(15),
            input_delay: Length::Fixed(15),
            keep: 300,
            ..LockstepConfig::default()
        };
        RealRoom {
            players,
            entities,
            seconds: 12,
            seed: 1,
            processes: 2,
            lockstep: match players >= MANY {
                true => many,
                false => LockstepConfig::default(),
            },
        }
    }

    fn game(&self, now: Duration, number: u16, role: Role) -> Result<Game, String> {
        let mut config = SessionConfig::new("real room", 1).player(&format!("player {number}"));
        config.capacity = usize::from(self.players);
        config.load_grace = PATIENCE;
        config.protocol.connect_timeout = PATIENCE;
        // The delay lets acknowledgements arrive before inputs would be repeated.
        config.protocol.ack_delay = Duration::from_millis(10);
        // All clients join at once and from one address.
        config.protocol.accept = Some(AcceptConfig {
            handshakes_per_second: 2000,
            handshakes_per_second_per_address: 2000,
            ..AcceptConfig::default()
        });
        let mut seed = [number.to_le_bytes()[0]; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..10].copy_from_slice(&number.to_le_bytes());
        let model = Lockstep::new(self.lockstep.clone()).map_err(|error| error.to_string())?;
        let state = Evaluation::new(self.seed, self.players, self.entities);
        // The recordings of all clients would be the same.
        let world = Live::without_recording(state);
        Match::new(now, config, role, seed, model, world).map_err(|error| error.to_string())
    }
}

/// Plays a match in which everyone talks over UDP and simulates a copy of its own, and measures it.
pub fn play(room: &RealRoom) -> Result<RealOutcome, String> {
    let fail = |error: std::io::Error| format!("the host's transport failed: {error}");
    let socket = Udp::bind(LOCALHOST).map_err(fail)?;
    let address = socket.local_addr();
    let game = room.game(socket.now(), 0, Role::Host)?;
    let mut crowd: Crowd<Game> = Crowd::new().map_err(fail)?;
    crowd.add(Driver::over(socket, game)).map_err(fail)?;
    let mut clients = Clients::start(room, address)?;
    let began = crowd.now();
    while in_sync(crowd.member(0)) < usize::from(room.players) {
        clients.check()?;
        if crowd.now() > began + PATIENCE {
            let there = in_sync(crowd.member(0));
            return Err(format!("only {there} players came together"));
        }
        let until = crowd.now() + Duration::from_millis(100);
        while crowd.next(until).map_err(fail)?.is_some() {}
    }
    crowd.with(0, |now, game| game.session_mut().start(now));
    let mut player = Player::new(room.seed);
    let mut course = TimeSeries::default();
    let (mut second, mut cpu) = (0, Duration::ZERO);
    let mut next = crowd.now();
    while second <= room.seconds {
        next += TICK;
        while crowd.now() < next {
            // The host polls often, but a packet does not wake it.
            thread::sleep(LOOK_EVERY.min(next.saturating_sub(crowd.now())));
            while let Some((_, event)) = crowd.next(Duration::ZERO).map_err(fail)? {
                if let MatchEvent::Session(SessionEvent::PeerLeft { peer, reason }) = event {
                    return Err(format!("{peer} left: {reason}"));
                }
            }
        }
        player.act(&mut crowd, 0);
        if has_played(crowd.member(0), crowd.now(), second) {
            if second == 0 {
                cpu = processor_time();
            }
            course.take(0, second, counts(crowd.member(0)));
            second += 1;
            clients.check()?;
        }
    }
    let host_cores = (processor_time() - cpu).as_secs_f64() / f64::from(room.seconds);
    // Clients go on until the host leaves, because one must not end while another still measures.
    let enough = crowd.now() + Duration::from_millis(500);
    while crowd.next(enough).map_err(fail)?.is_some() {}
    crowd.with(0, |now, game| game.session_mut().leave(now, "enough"));
    while clients.are_running() {
        let until = crowd.now() + Duration::from_millis(20);
        while crowd.next(until).map_err(fail)?.is_some() {}
    }
    let client_cores = clients.read(&mut course)? / f64::from(room.seconds);
    Ok(RealOutcome {
        course,
        host_cores,
        client_cores,
    })
}

fn in_sync(game: &Game) -> usize {
    let peers = game.session().room().peers().iter();
    peers
        .filter(|peer| peer.presence == samestep_session::Presence::InSync)
        .count()
}

/// Whether the game has been running for that many seconds.
fn has_played(game: &Game, now: Duration, seconds: u32) -> bool {
    let start = game.session().room().phase().start();
    let time = game.session().time(now);
    start
        .zip(time)
        .is_some_and(|(start, time)| time >= start + Duration::from_secs(seconds.into()))
}

fn counts(game: &Game) -> Counts {
    let status = game.status();
    let mut counts = Counts {
        ticks_lagged: status.stalled_ticks,
        desyncs: status.desyncs,
        ..Counts::default()
    };
    let endpoint = game.session().endpoint();
    for connection in endpoint.connections() {
        if let Some(stats) = endpoint.stats(connection) {
            counts.add(&stats);
        }
    }
    counts
}

/// Presses the keys of one player.
#[derive(Clone, Debug)]
struct Player {
    seed: u64,
    id: Option<PlayerId>,
    next: Tick,
}

impl Player {
    fn new(seed: u64) -> Player {
        Player {
            seed,
            id: None,
            next: Tick(0),
        }
    }

    /// Does what the script says for the ticks that have been simulated since.
    fn act(&mut self, crowd: &mut Crowd<Game>, index: usize) {
        let game = crowd.member(index);
        let tick = game.world().tick();
        if tick == Tick(0) {
            return;
        }
        let Some(id) = self.id.or_else(|| game.session().my_players().next()) else {
            return;
        };
        self.id = Some(id);
        // A newcomer has no ticks to make up for.
        self.next = self.next.max(Tick(tick.0.saturating_sub(15)));
        while self.next < tick {
            let state = crowd.member(index).world().state();
            if let Some(command) = script(self.seed, id, self.next, state) {
                crowd.with(index, |now, game| game.input(now, id, &command));
            }
            self.next = self.next.next();
        }
    }
}

/// The processes of the clients.
struct Clients {
    running: Vec<(Child, Option<JoinHandle<Vec<String>>>)>,
}

impl Clients {
    fn start(room: &RealRoom, host: SocketAddr) -> Result<Clients, String> {
        let fail = |error: std::io::Error| format!("could not start a process: {error}");
        let program = env::current_exe().map_err(fail)?;
        let clients = usize::from(room.players) - 1;
        let processes = room.processes.clamp(1, clients.max(1));
        let mut running = Vec::new();
        for at in 0..processes {
            let first = 1 + clients * at / processes;
            let end = 1 + clients * (at + 1) / processes;
            let mut child = Command::new(&program)
                .args(["lab", "room-clients"])
                .args(clients::arguments(room, host, first..end))
                .stdout(Stdio::piped())
                .spawn()
                .map_err(fail)?;
            let output = child.stdout.take();
            let reader = output.map(|output| {
                thread::spawn(move || {
                    BufReader::new(output)
                        .lines()
                        .map_while(Result::ok)
                        .collect()
                })
            });
            running.push((child, reader));
        }
        Ok(Clients { running })
    }

    /// Fails if one has ended early.
    fn check(&mut self) -> Result<(), String> {
        for (child, _) in &mut self.running {
            if let Ok(Some(status)) = child.try_wait() {
                return Err(format!("a process of clients ended early: {status}"));
            }
        }
        Ok(())
    }

    fn are_running(&mut self) -> bool {
        self.running
            .iter_mut()
            .any(|(child, _)| matches!(child.try_wait(), Ok(None)))
    }

    /// Collects their results and their CPU seconds.
    fn read(&mut self, course: &mut TimeSeries) -> Result<f64, String> {
        let mut cpu = 0.0;
        for (_, reader) in &mut self.running {
            let lines = reader.take().and_then(|reader| reader.join().ok());
            let lines = lines.ok_or("a process of clients printed nothing")?;
            cpu += clients::read(&lines, course)?;
        }
        Ok(cpu)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for (child, _) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
