//! What is asked once: JSON over HTTP, version 1; health, metrics and the description of all of it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Query, Request, State as Shared};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use utoipa::{IntoParams, ToSchema};

use super::accept::Place;
use super::config::LobbyConfig;
use super::engine::Input;
use super::metrics::Counters;
use super::{openapi, socket};
use crate::directory::{Caller, ConnectionId, Filter, MAX_LISTED};
use crate::events::RoomSummary;
use crate::ids::RoomId;
use crate::limits::Origin;
use crate::protocol::{Create, Join, Joined, Message};
use crate::refusal::Refusal;

/// Largest body of a request, and largest message of a socket.
pub const MAX_BODY_BYTES: usize = 16 * 1024;
/// Rooms of a page, if nothing else is asked for.
const PAGE: usize = 100;

/// What every request needs.
#[derive(Clone, Debug)]
pub struct State {
    pub engine: mpsc::Sender<Input>,
    pub counters: Arc<Counters>,
    pub config: Arc<LobbyConfig>,
    pub stopping: watch::Receiver<bool>,
    pub next: Arc<AtomicU64>,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input")
    }
}

impl State {
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.config.patience_s.into())
    }

    pub fn connection(&self) -> ConnectionId {
        ConnectionId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks the engine; an answer that does not come means that the lobby shuts down.
    async fn ask<T>(&self, input: impl FnOnce(oneshot::Sender<T>) -> Input) -> Result<T, Refusal> {
        let (to, answer) = oneshot::channel();
        self.engine
            .send(input(to))
            .await
            .or(Err(Refusal::Unavailable))?;
        answer.await.or(Err(Refusal::Unavailable))
    }

    async fn refuse(&self, refusal: Refusal) -> Refused {
        let _ = self.engine.send(Input::Refused(refusal)).await;
        Refused(refusal)
    }
}

/// Until the lobby shuts down.
pub async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Who is at the other end, and the place that its connection has.
#[derive(Clone, Debug)]
pub struct Peer {
    pub address: IpAddr,
    pub place: Arc<Place>,
}

/// The address that limits go by.
#[derive(Clone, Debug)]
pub struct From {
    pub origin: Origin,
    /// Kept as long as the connection, also when it has become a socket.
    _place: Arc<Place>,
}

impl FromRequestParts<State> for From {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Refused> {
        let peer = parts
            .extensions
            .get::<Peer>()
            .cloned()
            .ok_or(Refused(Refusal::Malformed))?;
        let forwarded = state
            .config
            .trust_forwarded
            .then(|| forwarded(&parts.headers))
            .flatten();
        Ok(Self {
            origin: Origin::from(forwarded.unwrap_or(peer.address)),
            _place: peer.place,
        })
    }
}

/// The client's address as the proxy in front of the lobby wrote it: the last one; those before anybody can write.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers
        .get_all("x-forwarded-for")
        .iter()
        .next_back()?
        .to_str()
        .ok()?;
    last.rsplit(',').next()?.trim().parse().ok()
}

/// A refusal over HTTP.
#[derive(Debug)]
pub struct Refused(pub Refusal);

/// The body of a refusal.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RefusedBody {
    /// For programs.
    #[schema(example = "name_taken")]
    pub code: String,
    /// For people.
    pub words: String,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::BAD_REQUEST);
        let body = RefusedBody {
            code: self.0.code().into(),
            words: self.0.to_string(),
        };
        json(status, &body)
    }
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let body = serde_json::to_string(body).unwrap_or_default();
    (status, headers, body).into_response()
}

/// All ways.
pub fn router(state: State) -> Router {
    Router::new()
        .route("/v1/rooms", get(list_rooms).post(create_room))
        .route("/v1/members", post(join_room))
        .route("/v1/live/rooms", get(socket::watch_rooms))
        .route("/v1/live/member", get(socket::be_member))
        .route("/v1/openapi.json", get(describe))
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .fallback(async || StatusCode::NOT_FOUND)
        .with_state(state)
}

/// Reads a body that is not too large and does not take too long.
async fn body<T: DeserializeOwned>(state: &State, body: Body) -> Result<T, Refusal> {
    let bytes = tokio::time::timeout(state.patience(), to_bytes(body, MAX_BODY_BYTES));
    let bytes = bytes.await.or(Err(Refusal::TooSlow))?;
    serde_json::from_slice(&bytes.or(Err(Refusal::Malformed))?).or(Err(Refusal::Malformed))
}

async fn enter(
    state: State,
    from: From,
    request: Result<crate::protocol::Request, Refusal>,
    success: StatusCode,
) -> Response {
    state.counters.requests.fetch_add(1, Ordering::Relaxed);
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return state.refuse(refusal).await.into_response(),
    };
    let caller = Caller {
        connection: state.connection(),
        origin: from.origin,
        live: false,
    };
    let answered = state
        .ask(|to| Input::Once(caller, Box::new(request), to))
        .await;
    match answered.and_then(|answer| answer) {
        Ok(Message::Joined(joined)) => json(success, &joined),
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => Refused(refusal).into_response(),
    }
}

/// Make a room, whose owner then attaches on `/v1/live/member`.
#[utoipa::path(post, path = "/v1/rooms", request_body = Create, responses(
    (status = 201, body = Joined, description = "The room is there, its owner in it"),
    (status = "4XX", body = RefusedBody), (status = "5XX", body = RefusedBody)))]
pub async fn create_room(Shared(state): Shared<State>, from: From, request: Request) -> Response {
    let create = body::<Create>(&state, request.into_body()).await;
    enter(
        state,
        from,
        create.map(crate::protocol::Request::Create),
        StatusCode::CREATED,
    )
    .await
}

/// Join a room by its id or its code, and then attach on `/v1/live/member`.
#[utoipa::path(post, path = "/v1/members", request_body = Join, responses(
    (status = 200, body = Joined, description = "The member is in the room"),
    (status = "4XX", body = RefusedBody), (status = "5XX", body = RefusedBody)))]
pub async fn join_room(Shared(state): Shared<State>, from: From, request: Request) -> Response {
    let join = body::<Join>(&state, request.into_body()).await;
    enter(
        state,
        from,
        join.map(crate::protocol::Request::Join),
        StatusCode::OK,
    )
    .await
}

/// Which page of the list is asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// How many rooms, at most 1,000.
    limit: Option<usize>,
    /// The rooms after this one.
    after: Option<RoomId>,
    /// Rooms of this game.
    game: Option<String>,
    /// Of this version of it.
    version: Option<String>,
    /// With this text in their titles, whatever its case.
    text: Option<String>,
    /// Which somebody can join now (true), or not (false).
    open: Option<bool>,
}

/// A page of the list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RoomList {
    /// The rooms, in the order of their ids.
    pub rooms: Vec<RoomSummary>,
    /// What to ask for as `after`, if there may be more.
    pub next: Option<RoomId>,
}

/// The public rooms.
#[utoipa::path(get, path = "/v1/rooms", params(Page), responses(
    (status = 200, body = RoomList), (status = "4XX", body = RefusedBody)))]
pub async fn list_rooms(
    Shared(state): Shared<State>,
    from: From,
    page: Result<Query<Page>, axum::extract::rejection::QueryRejection>,
) -> Response {
    state.counters.requests.fetch_add(1, Ordering::Relaxed);
    let Ok(Query(page)) = page else {
        return state.refuse(Refusal::Malformed).await.into_response();
    };
    let limit = page.limit.unwrap_or(PAGE).min(MAX_LISTED);
    let filter = Filter {
        game: page.game,
        version: page.version,
        text: page.text,
        open: page.open,
    };
    let rooms = state
        .ask(|to| Input::Rooms(from.origin, filter, page.after, limit, to))
        .await;
    match rooms.and_then(|rooms| rooms) {
        Ok(rooms) => {
            let next = rooms
                .last()
                .filter(|_| rooms.len() == limit)
                .map(|room| room.id.clone());
            json(StatusCode::OK, &RoomList { rooms, next })
        }
        Err(refusal) => state.refuse(refusal).await.into_response(),
    }
}

/// This description.
#[utoipa::path(get, path = "/v1/openapi.json", responses((status = 200, description = "OpenAPI 3.1")))]
pub async fn describe() -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        openapi::text(),
    )
        .into_response()
}

/// Whether the lobby and its store are there.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "ok"), (status = 503, description = "the store does not answer")))]
pub async fn health(Shared(state): Shared<State>) -> Response {
    match state.counters.healthy.load(Ordering::Relaxed) {
        true => "ok\n".into_response(),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the store does not answer\n",
        )
            .into_response(),
    }
}

/// What is counted, for Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "Prometheus' text form")))]
pub async fn metrics(Shared(state): Shared<State>) -> Response {
    match state.ask(Input::Stats).await {
        Ok((stats, population)) => {
            let text = state.counters.text(&stats, population);
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
        }
        Err(refusal) => Refused(refusal).into_response(),
    }
}
