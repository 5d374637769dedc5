//! Connections: how many, from where, how long their headers may take, and how they end.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service as _;

use super::http::{Peer, State, router, stopped};
use crate::limits::Origin;

/// How long to wait when the system has no more sockets.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// How many connections there are from each address.
#[derive(Debug, Default)]
struct Places(Mutex<BTreeMap<Origin, usize>>);

/// A connection's place, which is free again when it ends.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    origin: Origin,
    state: State,
}

impl Places {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Origin, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from there, if there is one.
    fn take(self: &Arc<Self>, address: IpAddr, state: &State) -> Option<Place> {
        let origin = Origin::from(address);
        let config = &state.config;
        let mut places = self.lock();
        let full = state.counters.open.load(Ordering::Relaxed) >= config.max_connections as u64;
        // Behind a proxy all come from its address; it has to limit them.
        let limit = if config.trust_forwarded {
            usize::MAX
        } else {
            config.max_connections_per_address
        };
        let here = places.entry(origin).or_default();
        if full || *here >= limit {
            if *here == 0 {
                places.remove(&origin);
            }
            return None;
        }
        *here += 1;
        state.counters.open.fetch_add(1, Ordering::Relaxed);
        Some(Place {
            places: Arc::clone(self),
            origin,
            state: state.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.places.lock();
        if let Some(here) = places.get_mut(&self.origin) {
            *here -= 1;
            if *here == 0 {
                places.remove(&self.origin);
            }
        }
        self.state.counters.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts connections until `shutdown`, and says which are open then.
pub async fn accept(
    listener: &TcpListener,
    state: State,
    shutdown: impl Future<Output = ()>,
) -> JoinSet<()> {
    let places = Arc::new(Places::default());
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => match places.take(from.ip(), &state) {
                    Some(place) => {
                        state.counters.accepted.fetch_add(1, Ordering::Relaxed);
                        connections.spawn(serve(stream, from.ip(), state.clone(), place));
                    }
                    None => drop(state.counters.turned_away.fetch_add(1, Ordering::Relaxed)),
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(EXHAUSTED).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    connections
}

/// One connection, to its end. A socket that it becomes keeps the place.
async fn serve(stream: TcpStream, address: IpAddr, state: State, place: Place) {
    let _ = stream.set_nodelay(true);
    let mut stopping = state.stopping.clone();
    let patience = state.patience();
    let place = Arc::new(place);
    let kept = Arc::clone(&place);
    let router = router(state);
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut router = router.clone();
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(Peer {
            address,
            place: Arc::clone(&kept),
        });
        async move {
            Ok::<_, Infallible>(
                router
                    .call(request)
                    .await
                    .unwrap_or_else(|never| match never {}),
            )
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_headers(64)
        .max_buf_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        // What a client does wrong is its own affair.
        _ = connection.as_mut() => {}
        () = stopped(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
    drop(place);
}
