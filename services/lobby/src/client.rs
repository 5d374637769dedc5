//! `Client`: a program's connection to a lobby. Blocking, without threads of its own: a game asks it once a frame, with no time to wait.

use std::collections::VecDeque;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message as Frame, WebSocket};

use crate::directory::{Filter, ListMessage};
use crate::protocol::{Joined, Message, Numbered, Request};

/// How long a lobby may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest message of a lobby.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// What went wrong with a lobby.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody answers there.
    #[error("no lobby answers at {0} ({1}): check its address, and that it runs")]
    Unreachable(String, String),
    /// What answers is no lobby.
    #[error("what answers at {0} is no lobby ({1})")]
    NoLobby(String, String),
    /// The connection has ended.
    #[error("the connection to the lobby is lost ({0}): connect and attach again")]
    Lost(String),
    /// The lobby refused a request.
    #[error("the lobby refuses: {words}")]
    Refused {
        /// Its code, such as `name_taken`.
        code: String,
        /// Its words.
        words: String,
    },
}

/// A connection as a member, or as one to be.
#[derive(Debug)]
pub struct Client {
    socket: WebSocket<TcpStream>,
    next: u64,
    /// What came while something else was waited for.
    early: VecDeque<Message>,
}

/// A connection that watches the list of rooms.
#[derive(Debug)]
pub struct ListClient {
    socket: WebSocket<TcpStream>,
}

fn open(lobby: &str, path: &str) -> Result<WebSocket<TcpStream>, ClientError> {
    let host = lobby
        .trim_start_matches("http://")
        .trim_start_matches("ws://")
        .trim_end_matches('/');
    let unreachable = |error: io::Error| ClientError::Unreachable(host.into(), error.to_string());
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let mut stream = None;
    for address in host.to_socket_addrs().map_err(unreachable)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(connected) => {
                stream = Some(connected);
                break;
            }
            Err(error) => last = error,
        }
    }
    let stream = stream.ok_or_else(|| unreachable(last))?;
    stream
        .set_nodelay(true)
        .and_then(|()| stream.set_read_timeout(Some(PATIENCE)))
        .map_err(unreachable)?;
    stream
        .set_write_timeout(Some(PATIENCE))
        .map_err(unreachable)?;
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MAX_MESSAGE_BYTES);
    config.max_frame_size = Some(MAX_MESSAGE_BYTES);
    config.read_buffer_size = 8 * 1024;
    let url = format!("ws://{host}{path}");
    match tungstenite::client::client_with_config(url, stream, Some(config)) {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(ClientError::NoLobby(host.into(), error.to_string())),
    }
}

/// The next text, if one comes in time.
fn read(socket: &mut WebSocket<TcpStream>, wait: Duration) -> Result<Option<String>, ClientError> {
    let lost = |error: &dyn std::fmt::Display| ClientError::Lost(error.to_string());
    let until = Instant::now() + wait;
    loop {
        // A time-out of zero would wait for ever.
        let left = until
            .saturating_duration_since(Instant::now())
            .max(Duration::from_micros(100));
        socket
            .get_ref()
            .set_read_timeout(Some(left))
            .map_err(|error| lost(&error))?;
        match socket.read() {
            Ok(Frame::Text(text)) => return Ok(Some(text.to_string())),
            Ok(Frame::Close(_)) => return Err(lost(&"it was closed")),
            Ok(_) => {}
            Err(tungstenite::Error::Io(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                if Instant::now() >= until {
                    return Ok(None);
                }
            }
            Err(error) => return Err(lost(&error)),
        }
    }
}

fn understood<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, ClientError> {
    serde_json::from_str(text).map_err(|error| {
        ClientError::Lost(format!("it says what this version does not know: {error}"))
    })
}

impl Client {
    /// Connects to the lobby at `host:port`.
    ///
    /// # Errors
    /// [`ClientError`] says what to do.
    pub fn connect(lobby: &str) -> Result<Self, ClientError> {
        Ok(Self {
            socket: open(lobby, "/v1/live/member")?,
            next: 0,
            early: VecDeque::new(),
        })
    }

    /// Sends a request, and says by which number its answer is known.
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn send(&mut self, request: Request) -> Result<u64, ClientError> {
        self.next += 1;
        let numbered = Numbered {
            id: Some(self.next),
            request,
        };
        let lost = |error: &dyn std::fmt::Display| ClientError::Lost(error.to_string());
        let text = serde_json::to_string(&numbered).map_err(|error| lost(&error))?;
        self.socket
            .send(Frame::text(text))
            .map_err(|error| lost(&error))?;
        Ok(self.next)
    }

    /// What the lobby says next, if it says something within `wait`.
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn poll(&mut self, wait: Duration) -> Result<Option<Message>, ClientError> {
        if let Some(message) = self.early.pop_front() {
            return Ok(Some(message));
        }
        self.read(wait)
    }

    fn read(&mut self, wait: Duration) -> Result<Option<Message>, ClientError> {
        read(&mut self.socket, wait)?
            .map(|text| understood(&text))
            .transpose()
    }

    /// Sends a request and waits for its end. What else comes meanwhile is kept for [`poll`](Self::poll).
    ///
    /// # Errors
    /// [`ClientError::Refused`], [`ClientError::Lost`].
    pub fn ask(&mut self, request: Request) -> Result<Message, ClientError> {
        let number = self.send(request)?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Some(message) = self.read(left)? else {
                return Err(ClientError::Lost("it does not answer".into()));
            };
            match message {
                Message::Refused { id, code, words } if id == Some(number) => {
                    return Err(ClientError::Refused { code, words });
                }
                Message::Done { id } if id == number => return Ok(message),
                Message::Joined(_) => return Ok(message),
                Message::Started(ref started) if started.id == Some(number) => return Ok(message),
                other => self.early.push_back(other),
            }
        }
    }

    /// Creates, joins or attaches.
    ///
    /// # Errors
    /// [`ClientError::Refused`], [`ClientError::Lost`].
    pub fn enter(&mut self, request: Request) -> Result<Joined, ClientError> {
        match self.ask(request)? {
            Message::Joined(joined) => Ok(joined),
            _ => Err(ClientError::Lost("it answers something else".into())),
        }
    }
}

impl ListClient {
    /// Watches the public rooms of the lobby at `host:port`, or those of one game.
    ///
    /// # Errors
    /// [`ClientError`] says what to do.
    pub fn connect(lobby: &str, filter: &Filter) -> Result<Self, ClientError> {
        let mut query = String::new();
        let open_now = filter.open.map(|open| open.to_string());
        let fields = [
            ("game", &filter.game),
            ("version", &filter.version),
            ("text", &filter.text),
            ("open", &open_now),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                let escaped: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
                query.push_str(&format!(
                    "{}{name}={escaped}",
                    if query.is_empty() { '?' } else { '&' }
                ));
            }
        }
        let socket = open(lobby, &format!("/v1/live/rooms{query}"))?;
        Ok(Self { socket })
    }

    /// What is new, if something is within `wait`.
    ///
    /// # Errors
    /// [`ClientError::Lost`].
    pub fn poll(&mut self, wait: Duration) -> Result<Option<ListMessage>, ClientError> {
        read(&mut self.socket, wait)?
            .map(|text| understood(&text))
            .transpose()
    }
}
