//! Thousands of members in one thread: they connect, join, chat, leave and join again, and the time of every answer is kept.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use samestep_lobby::protocol::{Create, Join, Message, NewMember, NewRoom, Numbered, Request};
use samestep_lobby::{Name, RejoinSecret, RoomId};
use samestep_proto::Identity;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::{Message as Frame, protocol::WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// How long an answer may take before the measurement is void.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often one member of each room says something.
const CHAT: Duration = Duration::from_secs(5);

/// What is done.
pub struct Plan {
    pub rooms: u32,
    /// Members of each room.
    pub members: u32,
    /// Rooms made or joined in a second.
    pub rate: u32,
    /// How long members chat, leave and join when all are there.
    pub seconds: u32,
    /// Programs that watch the list.
    pub watchers: u32,
}

/// Answer times.
#[derive(Default)]
pub struct Times(Vec<Duration>);

/// What was measured.
pub struct Figures<M> {
    pub connected: u32,
    pub first_joins: Times,
    pub later_joins: Times,
    pub lines: Times,
    pub heard: u64,
    /// What the caller wanted to know when all were connected.
    pub mark: M,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut times = self.0.clone();
        times.sort();
        let at = |share: f64| {
            times
                .get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)))
                .copied()
                .unwrap_or_default()
        };
        write!(
            f,
            "{} times: median {:.1?}, 99th of a hundred {:.1?}, longest {:.1?}",
            self.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        )
    }
}

impl Times {
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<M> fmt::Display for Figures<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} members connected", self.connected)?;
        writeln!(f, "joining until then, {}", self.first_joins)?;
        writeln!(f, "joining with all connected, {}", self.later_joins)?;
        writeln!(f, "a line of chat acknowledged, {}", self.lines)?;
        write!(f, "{} messages heard by members and watchers", self.heard)
    }
}

#[derive(Default)]
struct Shared {
    first_joins: Times,
    later_joins: Times,
    lines: Times,
    heard: u64,
    connected: u32,
}

type Socket = WebSocketStream<TcpStream>;
type Counted = Arc<Mutex<Shared>>;

async fn open(lobby: SocketAddr, path: &str) -> Socket {
    let stream = TcpStream::connect(lobby).await.expect("the lobby listens");
    stream.set_nodelay(true).expect("a socket's option");
    let mut config = WebSocketConfig::default();
    config.read_buffer_size = 4096;
    let opened =
        client_async_with_config(format!("ws://{lobby}{path}"), stream, Some(config)).await;
    opened.expect("a WebSocket").0
}

fn member(name: &str, seed: u64) -> NewMember {
    let mut secret = [3; 32];
    secret[..8].copy_from_slice(&seed.to_le_bytes());
    NewMember {
        name: Name::try_from(name.to_owned()).expect("a name"),
        key: Identity::from_secret(secret).public_key(),
        secret: RejoinSecret::from_bytes(secret),
        candidates: Vec::new(),
        shard: 0,
    }
}

async fn say(socket: &mut Socket, id: u64, request: Request) {
    let text = serde_json::to_string(&Numbered {
        id: Some(id),
        request,
    })
    .expect("a request");
    socket
        .send(Frame::text(text))
        .await
        .expect("the lobby reads");
}

/// Reads to the answer of a request.
async fn answer(socket: &mut Socket, counted: &Counted) -> Message {
    loop {
        let frame = tokio::time::timeout(PATIENCE, socket.next())
            .await
            .expect("an answer in time");
        let Some(Ok(Frame::Text(text))) = frame else {
            continue;
        };
        counted.lock().unwrap().heard += 1;
        match serde_json::from_str(&text).expect("a message") {
            Message::Events { .. } => {}
            other => return other,
        }
    }
}

/// Comes in, and says how long that took.
async fn enter(socket: &mut Socket, request: Request, counted: &Counted) -> (RoomId, Duration) {
    let asked = Instant::now();
    say(socket, 1, request).await;
    match answer(socket, counted).await {
        Message::Joined(joined) => (joined.room.id, asked.elapsed()),
        other => panic!("not let in: {other:?}"),
    }
}

/// One member that stays: now and then it says something.
async fn stay(mut socket: Socket, counted: Counted, speaks: bool, offset: Duration) {
    let mut turns = tokio::time::interval_at(tokio::time::Instant::now() + offset, CHAT);
    let mut said = None;
    loop {
        tokio::select! {
            _ = turns.tick(), if speaks => {
                said = Some(Instant::now());
                say(&mut socket, 7, Request::Chat { text: "is anybody ready?".into() }).await;
            }
            frame = socket.next() => match frame {
                Some(Ok(Frame::Text(text))) => {
                    let mut counted = counted.lock().unwrap();
                    counted.heard += 1;
                    if text.contains("\"done\"") && let Some(said) = said.take() {
                        counted.lines.0.push(said.elapsed());
                    }
                }
                Some(Ok(_)) => {}
                other => panic!("a member lost its connection: {other:?}"),
            },
        }
    }
}

fn room(number: u32, limit: u32) -> NewRoom {
    let wish = serde_json::json!({ "title": format!("Room {number}"), "game": "sublockus", "limit": limit });
    serde_json::from_value(wish).expect("a room")
}

fn join(name: &str, seed: u64, room: &RoomId) -> Request {
    Request::Join(Join {
        room: Some(room.clone()),
        code: None,
        password: None,
        member: member(name, seed),
    })
}

/// Runs the plan against a lobby. `mark` is called when all are connected.
pub fn run<M>(lobby: SocketAddr, plan: &Plan, mark: impl FnOnce() -> M) -> Figures<M> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let counted = Counted::default();
    let mark = runtime.block_on(measure(lobby, plan, &counted, mark));
    let shared = std::mem::take(&mut *counted.lock().unwrap());
    Figures {
        connected: shared.connected,
        first_joins: shared.first_joins,
        later_joins: shared.later_joins,
        lines: shared.lines,
        heard: shared.heard,
        mark,
    }
}

async fn measure<M>(
    lobby: SocketAddr,
    plan: &Plan,
    counted: &Counted,
    mark: impl FnOnce() -> M,
) -> M {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..plan.watchers {
        let counted = Arc::clone(counted);
        tasks.spawn(async move {
            let mut socket = open(lobby, "/v1/live/rooms").await;
            while let Some(Ok(_)) = socket.next().await {
                counted.lock().unwrap().heard += 1;
            }
        });
    }
    // Each starts at its time, whether or not those before it are in: what is slow shows.
    let mut pace = tokio::time::interval(Duration::from_secs(1) / plan.rate);
    let mut rooms = Vec::new();
    for number in 0..plan.rooms {
        pace.tick().await;
        let (known, found) = oneshot::channel();
        rooms.push(found);
        let (counted, limit) = (Arc::clone(counted), plan.members + 4);
        tasks.spawn(async move {
            let mut socket = open(lobby, "/v1/live/member").await;
            let owner = member(&format!("Owner {number}"), u64::from(number));
            let create = Request::Create(Create {
                room: room(number, limit),
                member: owner,
            });
            let (id, took) = enter(&mut socket, create, &counted).await;
            known.send(id).expect("the measurement waits");
            note(&counted, took);
            stay(
                socket,
                counted,
                true,
                CHAT.mul_f64(f64::from(number % 97) / 97.0),
            )
            .await;
        });
    }
    let mut ids = Vec::new();
    for found in rooms {
        ids.push(found.await.expect("a room"));
    }
    for index in 1..plan.members {
        for (number, id) in ids.iter().enumerate() {
            pace.tick().await;
            let (counted, id) = (Arc::clone(counted), id.clone());
            tasks.spawn(async move {
                let mut socket = open(lobby, "/v1/live/member").await;
                let request = join(
                    &format!("Guest {index}.{number}"),
                    u64::from(index) << 32 | number as u64,
                    &id,
                );
                let (_, took) = enter(&mut socket, request, &counted).await;
                note(&counted, took);
                stay(socket, counted, false, CHAT).await;
            });
        }
    }
    let until = Instant::now() + PATIENCE;
    while counted.lock().unwrap().connected < plan.rooms * plan.members {
        assert!(Instant::now() < until, "not all get in");
        pace.tick().await;
    }
    let marked = mark();
    for number in 0..plan.seconds * plan.rate {
        pace.tick().await;
        let (counted, id) = (
            Arc::clone(counted),
            ids[number as usize % ids.len()].clone(),
        );
        tasks.spawn(async move {
            let mut socket = open(lobby, "/v1/live/member").await;
            let request = join(
                &format!("Visitor {number}"),
                1 << 60 | u64::from(number),
                &id,
            );
            let (_, took) = enter(&mut socket, request, &counted).await;
            counted.lock().unwrap().later_joins.0.push(took);
            say(&mut socket, 2, Request::Leave).await;
            answer(&mut socket, &counted).await;
        });
        while let Some(ended) = tasks.try_join_next() {
            ended.expect("no member is disturbed");
        }
    }
    marked
}

fn note(counted: &Counted, took: Duration) {
    let mut counted = counted.lock().unwrap();
    counted.connected += 1;
    counted.first_joins.0.push(took);
}
