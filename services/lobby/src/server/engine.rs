//! `Engine`: the task that owns the core. It feeds it what connections ask and what the store answers, and carries out what the core wants.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use super::metrics::Counters;
use super::{all_rooms, now};
use crate::directory::{
    BEAT, Caller, CheckId, CommitId, ConnectionId, Directory, DirectoryStats, Filter, ListMessage,
    LoadId, Output, Population, SILENCE,
};
use crate::events::RoomSummary;
use crate::ids::{LobbyId, RoomId};
use crate::limits::Origin;
use crate::protocol::{EndReason, Message, Request};
use crate::refusal::Refusal;
use crate::secret::PasswordHash;
use crate::store::{Change, CommitError, Content, Expect, Record, Store, StoreError, Table, Write};

/// Requests that wait for the engine; who asks more waits too.
const QUEUE: usize = 1024;
/// Passwords that are hashed at once.
const HASHING: usize = 2;
/// What time it is, for the core.
const TICK: Duration = Duration::from_millis(50);

/// What a connection is sent.
#[derive(Clone, Debug)]
pub enum Outgoing {
    /// This JSON.
    Frame(Arc<str>),
    /// This, and nothing after.
    End(EndReason),
}

/// What the engine is asked.
pub enum Input {
    /// A connection that stays.
    Opened(ConnectionId, mpsc::Sender<Outgoing>),
    /// It has ended.
    Closed(ConnectionId),
    /// A request of one.
    Request(Caller, Option<u64>, Box<Request>),
    /// A request over HTTP.
    Once(
        Caller,
        Box<Request>,
        oneshot::Sender<Result<Message, Refusal>>,
    ),
    /// A connection that watches the list.
    Watch(ConnectionId, Origin, Filter),
    /// A page of the list.
    Rooms(
        Origin,
        Filter,
        Option<RoomId>,
        usize,
        oneshot::Sender<Result<Vec<RoomSummary>, Refusal>>,
    ),
    /// A request that came no further.
    Refused(Refusal),
    /// What is counted.
    Stats(oneshot::Sender<(DirectoryStats, Population)>),
}

/// What was started and has ended.
enum Done {
    Committed(CommitId, Result<(), CommitError>),
    Loaded(LoadId, Result<Option<Record>, StoreError>),
    Checked(CheckId, Result<PasswordHash, Refusal>),
    Lobbies(BTreeSet<LobbyId>),
    Rooms(Vec<Record>),
}

/// See the [module](self).
pub struct Engine {
    directory: Directory,
    store: Arc<dyn Store>,
    counters: Arc<Counters>,
    inputs: mpsc::Receiver<Input>,
    /// Bounded by what the core has under way.
    done: mpsc::UnboundedReceiver<Done>,
    report: mpsc::UnboundedSender<Done>,
    connections: BTreeMap<ConnectionId, mpsc::Sender<Outgoing>>,
    waiting: BTreeMap<ConnectionId, oneshot::Sender<Result<Message, Refusal>>>,
    asked: BTreeMap<(ConnectionId, Option<u64>), Instant>,
    hashing: Arc<Semaphore>,
}

impl Engine {
    pub fn new(
        directory: Directory,
        store: Arc<dyn Store>,
        counters: Arc<Counters>,
    ) -> (Self, mpsc::Sender<Input>) {
        let (to_engine, inputs) = mpsc::channel(QUEUE);
        let (report, done) = mpsc::unbounded_channel();
        counters.healthy.store(true, Ordering::Relaxed);
        let engine = Self {
            directory,
            store,
            counters,
            inputs,
            done,
            report,
            connections: BTreeMap::new(),
            waiting: BTreeMap::new(),
            asked: BTreeMap::new(),
            hashing: Arc::new(Semaphore::new(HASHING)),
        };
        (engine, to_engine)
    }

    /// Until nobody can ask any more and all that was asked is committed.
    pub async fn run(mut self) {
        let lobby = self.directory.lobby().clone();
        let beating = tokio::spawn(beat(
            Arc::clone(&self.store),
            lobby.clone(),
            Arc::clone(&self.counters),
            self.report.clone(),
        ));
        let mut changes = self.store.is_shared().then(|| self.store.watch());
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut open = true;
        while open || !self.directory.is_idle() {
            tokio::select! {
                input = self.inputs.recv(), if open => match input {
                    Some(input) => self.on_input(input),
                    None => open = false,
                },
                Some(done) = self.done.recv() => self.on_done(done),
                Some(change) = hear(&mut changes) => self.on_change(&change),
                _ = ticks.tick() => self.directory.handle_time(now()),
            }
            self.carry_out();
        }
        beating.abort();
        let gone = write_lobby(&lobby, None);
        let _ = self.store.commit(vec![gone]).await;
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Opened(connection, to) => {
                self.connections.insert(connection, to);
                self.directory.handle_opened(connection);
            }
            Input::Closed(connection) => {
                self.connections.remove(&connection);
                let of_it = self
                    .asked
                    .range((connection, None)..=(connection, Some(u64::MAX)));
                let of_it: Vec<_> = of_it.map(|(asked, _)| *asked).collect();
                for asked in of_it {
                    self.asked.remove(&asked);
                }
                self.directory.handle_closed(now(), connection);
            }
            Input::Request(caller, id, request) => {
                // Those whose answer is known by its number, or always comes.
                let enters = matches!(
                    *request,
                    Request::Create(_) | Request::Join(_) | Request::Attach(_)
                );
                if enters || id.is_some() && *request != Request::Token {
                    self.asked.insert((caller.connection, id), Instant::now());
                }
                self.directory.handle(now(), caller, id, *request);
            }
            Input::Once(caller, request, to) => {
                self.asked.insert((caller.connection, None), Instant::now());
                self.waiting.insert(caller.connection, to);
                self.directory.handle(now(), caller, None, *request);
            }
            Input::Watch(connection, from, filter) => {
                let allowed = self.directory.may_browse(now(), from);
                let watching =
                    allowed.and_then(|()| self.directory.handle_watch(connection, filter));
                if let Err(refusal) = watching {
                    self.directory.on_refused(refusal);
                    self.say(connection, &ListMessage::refused(refusal));
                    // That was the last word.
                    self.connections.remove(&connection);
                }
            }
            // Who asked may have gone.
            Input::Rooms(from, filter, after, limit, to) => {
                let allowed = self.directory.may_browse(now(), from);
                drop(to.send(
                    allowed.and_then(|()| self.directory.rooms(&filter, after.as_ref(), limit)),
                ));
            }
            Input::Refused(refusal) => self.directory.on_refused(refusal),
            Input::Stats(to) => {
                drop(to.send((self.directory.stats().clone(), self.directory.population())))
            }
        }
    }

    fn on_done(&mut self, done: Done) {
        match done {
            Done::Committed(id, outcome) => self.directory.handle_committed(now(), id, outcome),
            Done::Loaded(id, loaded) => self.directory.handle_loaded(now(), id, loaded),
            Done::Checked(id, outcome) => self.directory.handle_checked(now(), id, outcome),
            Done::Lobbies(alive) => self.directory.handle_lobbies(now(), alive),
            Done::Rooms(rooms) => self.directory.handle_all_rooms(now(), &rooms),
        }
    }

    fn on_change(&mut self, change: &Change) {
        if *change != Change::Missed {
            return self.directory.handle_change(change);
        }
        let (store, report) = (Arc::clone(&self.store), self.report.clone());
        tokio::spawn(async move {
            let rooms = loop {
                match all_rooms(&*store).await {
                    Ok(rooms) => break rooms,
                    Err(error) => tracing::warn!(%error, "rooms cannot be read again"),
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            };
            let _ = report.send(Done::Rooms(rooms));
        });
    }

    /// Does what the core wants.
    fn carry_out(&mut self) {
        while let Some((id, writes)) = self.directory.poll_commit() {
            let (store, report) = (Arc::clone(&self.store), self.report.clone());
            tokio::spawn(async move {
                let outcome = store.commit(writes).await;
                let _ = report.send(Done::Committed(id, outcome));
            });
        }
        while let Some((id, table, key)) = self.directory.poll_load() {
            let (store, report) = (Arc::clone(&self.store), self.report.clone());
            tokio::spawn(async move {
                let loaded = store.load(table, key).await;
                let _ = report.send(Done::Loaded(id, loaded));
            });
        }
        while let Some(check) = self.directory.poll_check() {
            let (turns, report) = (Arc::clone(&self.hashing), self.report.clone());
            tokio::spawn(async move {
                let turn = turns.acquire_owned().await;
                let id = check.id;
                let outcome = tokio::task::spawn_blocking(move || check.run()).await;
                drop(turn);
                let _ = report.send(Done::Checked(id, outcome.unwrap_or(Err(Refusal::Busy))));
            });
        }
        while let Some(output) = self.directory.poll_output() {
            match output {
                Output::Answer { to, id, result } => self.answer(to, id, result),
                Output::Tell { to, frame } => {
                    for to in to {
                        self.send(to, Outgoing::Frame(Arc::clone(&frame)));
                    }
                }
                Output::End { to, reason } => self.send(to, Outgoing::End(reason)),
            }
        }
    }

    fn answer(&mut self, to: ConnectionId, id: Option<u64>, result: Result<Message, Refusal>) {
        if let Some(asked) = self.asked.remove(&(to, id)) {
            self.counters.on_answered(asked.elapsed());
        }
        if let Some(waiting) = self.waiting.remove(&to) {
            let _ = waiting.send(result);
            return;
        }
        let message = result.unwrap_or_else(|refusal| Message::refused(id, refusal));
        self.say(to, &message);
    }

    fn say(&mut self, to: ConnectionId, message: &impl serde::Serialize) {
        match serde_json::to_string(message) {
            Ok(frame) => self.send(to, Outgoing::Frame(frame.into())),
            Err(error) => tracing::error!(%error, "a message cannot be written"),
        }
    }

    /// Without waiting: who does not read is cut off, and finds its place again when it attaches.
    fn send(&mut self, to: ConnectionId, outgoing: Outgoing) {
        let Some(connection) = self.connections.get(&to) else {
            return;
        };
        if let Err(mpsc::error::TrySendError::Full(_)) = connection.try_send(outgoing) {
            self.counters.too_slow.fetch_add(1, Ordering::Relaxed);
            self.connections.remove(&to);
        }
    }
}

/// The next change, if changes are heard of.
async fn hear(changes: &mut Option<mpsc::Receiver<Change>>) -> Option<Change> {
    match changes {
        Some(changes) => changes.recv().await,
        None => std::future::pending().await,
    }
}

fn write_lobby(lobby: &LobbyId, expires: Option<Duration>) -> Write {
    Write {
        table: Table::Lobbies,
        key: lobby.as_str().into(),
        expect: Expect::Any,
        content: expires.map(|expires| Content {
            expires_ms: Some(expires.as_millis() as u64),
            ..Content::default()
        }),
    }
}

/// Says in the store that this lobby is alive, and learns which others are.
async fn beat(
    store: Arc<dyn Store>,
    lobby: LobbyId,
    counters: Arc<Counters>,
    report: mpsc::UnboundedSender<Done>,
) {
    let mut beats = tokio::time::interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        let alive = async {
            let written = store
                .commit(vec![write_lobby(&lobby, Some(now() + SILENCE))])
                .await;
            match written {
                Ok(()) | Err(CommitError::Conflict { .. }) => {}
                Err(CommitError::Store(error)) => return Err(error),
            }
            store
                .expire(Table::Lobbies, now().as_millis() as u64, 1000)
                .await?;
            let lobbies = store.list(Table::Lobbies, String::new(), 1000).await?;
            Ok(lobbies
                .into_iter()
                .map(|record| LobbyId::from_text(record.key))
                .collect())
        };
        let alive = alive.await;
        counters.healthy.store(alive.is_ok(), Ordering::Relaxed);
        match alive {
            Ok(alive) => drop(report.send(Done::Lobbies(alive))),
            Err(error) => tracing::warn!(%error, "the store does not answer"),
        }
    }
}
