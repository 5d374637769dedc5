//! WebSockets: a member's life in a room, and the list as it changes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message as Frame, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State as Shared};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::engine::{Input, Outgoing};
use super::http::{From, MAX_BODY_BYTES, Refused, State, stopped};
use crate::directory::{Caller, ConnectionId, Filter};
use crate::protocol::{EndReason, Message, Numbered};
use crate::refusal::Refusal;

/// Messages that wait for a client that does not read.
const QUEUE: usize = 256;
/// Messages that are none, before the socket is closed.
const NONSENSE: u32 = 10;

/// A socket with small buffers, since there are thousands.
fn upgrade(socket: WebSocketUpgrade) -> WebSocketUpgrade {
    socket
        .max_message_size(MAX_BODY_BYTES)
        .max_frame_size(MAX_BODY_BYTES)
        .read_buffer_size(2 * 1024)
        .write_buffer_size(0)
        .max_write_buffer_size(512 * 1024)
}

/// A member's connection. The first message is `create`, `join` or `attach`; messages are `Numbered` requests one way and `Message` the other.
#[utoipa::path(get, path = "/v1/live/member", responses((status = 101, description = "A WebSocket: `Numbered` in, `Message` out")))]
pub async fn be_member(
    Shared(state): Shared<State>,
    from: From,
    socket: WebSocketUpgrade,
) -> Response {
    upgrade(socket).on_upgrade(move |socket| run(socket, state, from, None))
}

/// The list of rooms: all that match, then what changes.
#[utoipa::path(get, path = "/v1/live/rooms", params(Filter), responses((status = 101, description = "A WebSocket: `ListMessage` out")))]
pub async fn watch_rooms(
    Shared(state): Shared<State>,
    from: From,
    filter: Result<Query<Filter>, axum::extract::rejection::QueryRejection>,
    socket: WebSocketUpgrade,
) -> Response {
    match filter {
        Ok(Query(filter)) => {
            upgrade(socket).on_upgrade(move |socket| run(socket, state, from, Some(filter)))
        }
        Err(_) => Refused(Refusal::Malformed).into_response(),
    }
}

/// Why a socket ends.
enum End {
    /// The client has closed it, or its connection is lost.
    Closed,
    /// The lobby ends it.
    Said,
    /// The client says nothing, or does not read.
    Slow,
    /// It says nothing that makes sense.
    Nonsense,
}

async fn run(mut socket: WebSocket, state: State, from: From, filter: Option<Filter>) {
    let connection = state.connection();
    let (to, mut outgoing) = mpsc::channel(QUEUE);
    if state
        .engine
        .send(Input::Opened(connection, to))
        .await
        .is_err()
    {
        return;
    }
    let end = converse(
        &mut socket,
        &state,
        &from,
        connection,
        &mut outgoing,
        filter,
    )
    .await;
    let _ = state.engine.send(Input::Closed(connection)).await;
    let (code, reason) = match end {
        End::Closed => (close_code::NORMAL, ""),
        End::Said => (close_code::NORMAL, "ended"),
        End::Nonsense => (close_code::POLICY, "malformed"),
        End::Slow => {
            state.counters.too_slow.fetch_add(1, Ordering::Relaxed);
            (close_code::POLICY, "too_slow")
        }
    };
    let close = Frame::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }));
    let _ = timeout(Duration::from_secs(1), socket.send(close)).await;
}

async fn converse(
    socket: &mut WebSocket,
    state: &State,
    from: &From,
    connection: ConnectionId,
    outgoing: &mut mpsc::Receiver<Outgoing>,
    filter: Option<Filter>,
) -> End {
    let watches = filter.is_some();
    if let Some(filter) = filter {
        let _ = state
            .engine
            .send(Input::Watch(connection, from.origin, filter))
            .await;
    }
    let silence = Duration::from_secs(state.config.silence_s.into());
    let mut stopping = state.stopping.clone();
    let mut nonsense = 0;
    let mut greeted = watches;
    let mut heard = Instant::now();
    let mut pinged = false;
    loop {
        let quiet = match (greeted, pinged) {
            (false, _) => state.patience(),
            (true, false) => silence / 2,
            (true, true) => silence,
        };
        tokio::select! {
            biased;
            said = outgoing.recv() => {
                // Gone without a word: the engine has cut this connection off.
                let Some(said) = said else { return End::Slow };
                if let Some(end) = say(socket, state, said).await {
                    return end;
                }
            }
            () = stopped(&mut stopping) => {
                let said = Outgoing::End(EndReason::ShuttingDown);
                return say(socket, state, said).await.unwrap_or(End::Closed);
            }
            frame = socket.recv() => {
                heard = Instant::now();
                pinged = false;
                let text = match frame {
                    Some(Ok(Frame::Text(text))) if !watches => text,
                    Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => continue,
                    Some(Ok(Frame::Close(_)) | Err(_)) | None => return End::Closed,
                    Some(Ok(_)) => return End::Nonsense,
                };
                match serde_json::from_str::<Numbered>(&text) {
                    Ok(Numbered { id, request }) => {
                        greeted = true;
                        let caller = Caller { connection, origin: from.origin, live: true };
                        if state.engine.send(Input::Request(caller, id, Box::new(request))).await.is_err() {
                            return End::Closed;
                        }
                    }
                    Err(_) => {
                        nonsense += 1;
                        let _ = state.engine.send(Input::Refused(Refusal::Malformed)).await;
                        let id = id_of(&text);
                        let refused = serde_json::to_string(&Message::refused(id, Refusal::Malformed));
                        let said = Outgoing::Frame(refused.unwrap_or_default().into());
                        if let Some(end) = say(socket, state, said).await {
                            return end;
                        }
                        if nonsense >= NONSENSE {
                            return End::Nonsense;
                        }
                    }
                }
            }
            () = tokio::time::sleep_until(heard + quiet) => {
                if !greeted || pinged {
                    return End::Slow;
                }
                pinged = true;
                if !matches!(timeout(state.patience(), socket.send(Frame::Ping(Default::default()))).await, Ok(Ok(()))) {
                    return End::Slow;
                }
            }
        }
    }
}

/// The number of a request that makes no sense otherwise, so that its sender knows which.
fn id_of(text: &str) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Id {
        id: Option<u64>,
    }
    serde_json::from_str::<Id>(text).ok()?.id
}

/// Sends one message; who does not take it in time is cut off.
async fn say(socket: &mut WebSocket, state: &State, said: Outgoing) -> Option<End> {
    let (text, end) = match said {
        Outgoing::Frame(text) => (text.to_string(), None),
        Outgoing::End(reason) => {
            let ended = serde_json::to_string(&Message::Ended { reason });
            (ended.unwrap_or_default(), Some(End::Said))
        }
    };
    match timeout(state.patience(), socket.send(Frame::Text(text.into()))).await {
        Ok(Ok(())) => end,
        Ok(Err(_)) => Some(End::Closed),
        Err(_) => Some(End::Slow),
    }
}
