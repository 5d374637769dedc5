//! Bytes on the wire of one game for two, played in real time over real sockets through one link.

use std::{
    error::Error,
    net::SocketAddr,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use samestep_netem::LinkConfig;

use super::{
    game::{Habit, PLAYERS, Swarm},
    ggrs, samestep,
};
use crate::{
    control::Control,
    proxy::{Proxy, Route, Traffic},
    report::Table,
    sockets,
};

/// One way.
const LATENCY: Duration = Duration::from_millis(50);
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// After the beginning everyone finds out about the other; that is not counted.
const SETTLE: Duration = Duration::from_secs(3);

/// The libraries, and what is encrypted.
const LIBRARIES: [(&str, &str); 2] = [("ggrs", "no"), ("samestep", "yes")];
const HABITS: [(Habit, &str); 2] = [
    (Habit::Restless, "every tick"),
    (Habit::Calm, "6 per second"),
];

/// What was counted.
pub struct Outcome {
    /// The figures.
    pub table: Table,
    /// For each habit, Samestep's bytes as a share of ggrs's.
    pub shares: Vec<(&'static str, f64)>,
}

/// Plays all games at the same time.
pub fn measure(state: &Swarm, seconds: u64) -> Result<Outcome, Box<dyn Error>> {
    let mut routes = Vec::new();
    let mut players = Vec::new();
    let cases: Vec<_> = HABITS
        .into_iter()
        .flat_map(|habit| LIBRARIES.map(|library| (habit, library)))
        .collect();
    for &((habit, _), (library, _)) in &cases {
        let listen = sockets::server_udp()?;
        let public = listen.local_addr()?;
        let (host, upstream) = start(library, 0, None, habit, state)?;
        routes.push(Route {
            listen,
            upstream,
            link: LinkConfig {
                latency: LATENCY,
                ..LinkConfig::default()
            },
            seed: 1,
        });
        let (guest, _) = start(library, 1, Some(public), habit, state)?;
        players.extend([host, guest]);
    }
    let proxy = Proxy::start(routes)?;
    let start = Instant::now();
    let ready = |player: &Player| player.control.connected() > 0 || player.thread.is_finished();
    while !players.iter().all(ready) && start.elapsed() < CONNECT_LIMIT {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(SETTLE);
    let count = |route| proxy.traffic(route);
    let before: Vec<Traffic> = (0..cases.len()).map(count).collect();
    let begin = Instant::now();
    thread::sleep(Duration::from_secs(seconds));
    let time = begin.elapsed().as_secs_f64();
    let counted: Vec<Traffic> = (0..cases.len()).map(count).collect();
    for player in &players {
        player.control.stop();
    }
    let mut ticks = Vec::new();
    for player in players {
        let ended = player.thread.join().map_err(|_| "a player panicked")?;
        ticks.push(ended?);
    }
    let mut table = Table::new(
        3,
        &[
            "inputs change",
            "library",
            "encrypted",
            "bytes/s",
            "packets/s",
            "bytes/packet",
            "again/s",
        ],
    );
    let mut bytes = Vec::new();
    for (case, ((_, changes), (library, encrypted))) in cases.iter().enumerate() {
        let traffic = counted[case] - before[case];
        let per_second = |sum: u64| sum as f64 / time / PLAYERS.len() as f64;
        bytes.push(traffic.bytes as f64);
        let again = &ticks[2 * case..][..2];
        table.row([
            (*changes).to_owned(),
            (*library).to_owned(),
            (*encrypted).to_owned(),
            format!("{:.0}", per_second(traffic.bytes)),
            format!("{:.1}", per_second(traffic.packets)),
            format!("{:.1}", traffic.bytes as f64 / traffic.packets as f64),
            format!("{:.0}", again.iter().sum::<f64>() / again.len() as f64),
        ]);
    }
    let shares = HABITS.iter().zip(bytes.chunks(2));
    Ok(Outcome {
        table,
        shares: shares
            .map(|((_, changes), bytes)| (*changes, bytes[1] / bytes[0]))
            .collect(),
    })
}

struct Player {
    control: Arc<Control>,
    /// Ends with how many ticks were simulated again per second.
    thread: JoinHandle<Result<f64, String>>,
}

/// Lets somebody play, with the one at `other` or with whoever comes, and says where.
fn start(
    library: &'static str,
    me: usize,
    other: Option<SocketAddr>,
    habit: Habit,
    state: &Swarm,
) -> Result<(Player, SocketAddr), Box<dyn Error>> {
    let control = Arc::new(Control::default());
    let own = Arc::clone(&control);
    let state = state.clone();
    let (thread, address) = match library {
        "ggrs" => {
            let socket = sockets::client_udp()?;
            let address = socket.local_addr()?;
            let play = move || ggrs::play(&own, me, socket, other, habit, state);
            (thread::spawn(move || play().map_err(in_words)), address)
        }
        _ => {
            let game = samestep::game(other, state)?;
            let address = game.local_addr();
            let play = move || samestep::play(&own, me, game, habit);
            (thread::spawn(move || play().map_err(in_words)), address)
        }
    };
    Ok((Player { control, thread }, address))
}

fn in_words(error: Box<dyn Error>) -> String {
    error.to_string()
}
