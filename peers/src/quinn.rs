//! `quinn`: datagrams as the unreliable mode, one bidirectional stream per connection as the reliable one.
//!
//! One thread runs everything, as for the others: a current-thread runtime with a task per connection.

use std::{
    cell::RefCell,
    env,
    error::Error,
    net::SocketAddr,
    rc::Rc,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use bytes::Bytes;
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, Incoming, SendStream, ServerConfig,
    TokioRuntime, TransportConfig,
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};
use tokio::{
    runtime,
    sync::Mutex,
    task::{LocalSet, spawn_local},
    time::{sleep, timeout},
};

use crate::{
    control::{Control, PATIENCE},
    library::Mode,
    load::{Load, MAX_BYTES, Service},
    sockets,
};

/// Where a child finds the certificate and key its parent has made.
pub const IDENTITY_VARIABLE: &str = "SAMESTEP_PEERS_IDENTITY";
const NAME: &str = "localhost";
/// QUIC sends nothing on an idle connection and gives it up after 30 s, unless told to keep it alive.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Echoes or records on any number of connections.
pub fn serve(control: &Arc<Control>, mode: Mode, service: Service) -> Result<(), Box<dyn Error>> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let identity = identity();
        let key = PrivatePkcs8KeyDer::from(identity.key.clone());
        let config =
            ServerConfig::with_single_cert(vec![identity.certificate.clone()], key.into())?;
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            Some(config),
            sockets::server_udp()?,
            Arc::new(TokioRuntime),
        )?;
        control.announce(endpoint.local_addr()?);
        while !control.is_stopped() {
            if let Ok(incoming) = timeout(PATIENCE, endpoint.accept()).await {
                spawn_local(attend(
                    incoming.ok_or("the endpoint was closed")?,
                    mode,
                    service.clone(),
                ));
            }
        }
        Ok(())
    })
}

/// Serves one connection until it ends.
async fn attend(incoming: Incoming, mode: Mode, service: Service) {
    let served = async {
        let connection = incoming.await?;
        match mode {
            Mode::Unreliable => loop {
                let message = connection.read_datagram().await?;
                if service.handle(&message) {
                    connection.send_datagram(message)?;
                }
            },
            Mode::Reliable => {
                let (mut send, mut receive) = connection.accept_bi().await?;
                let mut buffer = [0; MAX_BYTES];
                let message = &mut buffer[..service.message_bytes()];
                loop {
                    receive.read_exact(message).await?;
                    if service.handle(message) {
                        send.write_all(message).await?;
                    }
                }
            }
        }
    };
    // It ends when the client goes away; whether it did so too early is for the client to say.
    let _: Result<(), Box<dyn Error>> = served.await;
}

/// Runs the clients, each with its own endpoint and socket.
pub fn connect(
    control: &Arc<Control>,
    mode: Mode,
    server: SocketAddr,
    load: Load,
) -> Result<(), Box<dyn Error>> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut roots = RootCertStore::empty();
        roots.add(identity().certificate.clone())?;
        let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
        let mut transport = TransportConfig::default();
        transport.keep_alive_interval(Some(KEEP_ALIVE));
        config.transport_config(Arc::new(transport));
        let load = Rc::new(RefCell::new(load));
        let clients = load.borrow().clients();
        let mut sinks = Vec::new();
        let mut tasks = Vec::new();
        for client in 0..clients {
            let endpoint = Endpoint::new(
                EndpointConfig::default(),
                None,
                sockets::client_udp()?,
                Arc::new(TokioRuntime),
            )?;
            let connection = endpoint.connect_with(config.clone(), server, NAME)?.await?;
            let sink = match mode {
                Mode::Unreliable => {
                    let sink = Rc::new(Sink::Datagrams(connection.clone()));
                    tasks.push(spawn_local(listen(
                        connection,
                        None,
                        client,
                        Rc::clone(&sink),
                        Rc::clone(&load),
                    )));
                    sink
                }
                Mode::Reliable => {
                    let (send, receive) = connection.open_bi().await?;
                    let sink = Rc::new(Sink::Stream(Mutex::new(send)));
                    tasks.push(spawn_local(listen(
                        connection,
                        Some(receive),
                        client,
                        Rc::clone(&sink),
                        Rc::clone(&load),
                    )));
                    sink
                }
            };
            control.on_connected();
            sinks.push(sink);
        }
        while !control.is_stopped() {
            let due = load.borrow_mut().due(Instant::now()).to_vec();
            for client in due {
                sinks[client].send(client, &load).await?;
            }
            if let Some(ended) = tasks.iter_mut().find(|task| task.is_finished()) {
                return Err(ended.await?);
            }
            let wait = load.borrow().timeout(Instant::now());
            sleep(wait).await;
        }
        Ok(())
    })
}

/// Answers what comes for one client; returns why it ended.
async fn listen(
    connection: Connection,
    stream: Option<quinn::RecvStream>,
    client: usize,
    sink: Rc<Sink>,
    load: Rc<RefCell<Load>>,
) -> Box<dyn Error> {
    let listened = async {
        match stream {
            None => loop {
                let message = connection.read_datagram().await?;
                let answer = load.borrow_mut().on_message(client, &message);
                if answer {
                    sink.send(client, &load).await?;
                }
            },
            Some(mut receive) => {
                let mut message = [0; crate::load::PING_BYTES];
                loop {
                    receive.read_exact(&mut message).await?;
                    let answer = load.borrow_mut().on_message(client, &message);
                    if answer {
                        sink.send(client, &load).await?;
                    }
                }
            }
        }
    };
    let ended: Result<(), Box<dyn Error>> = listened.await;
    ended.expect_err("only an error ends the loops")
}

/// How a client's messages leave.
enum Sink {
    Datagrams(Connection),
    Stream(Mutex<SendStream>),
}

impl Sink {
    async fn send(&self, client: usize, load: &RefCell<Load>) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; MAX_BYTES];
        let message = load.borrow_mut().write(client, &mut buffer);
        match self {
            Sink::Datagrams(connection) => {
                connection.send_datagram(Bytes::copy_from_slice(message))?
            }
            Sink::Stream(stream) => stream.lock().await.write_all(message).await?,
        }
        Ok(())
    }
}

struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

/// The certificate of this run: made by the first process, handed on to its children.
fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| match env::var(IDENTITY_VARIABLE) {
        Ok(text) => {
            let (certificate, key) = text.split_once(' ').expect("two values");
            Identity {
                certificate: from_hex(certificate).into(),
                key: from_hex(key),
            }
        }
        Err(_) => {
            let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a valid name");
            Identity {
                certificate: made.cert.into(),
                key: made.signing_key.serialize_der(),
            }
        }
    })
}

/// The value of [`IDENTITY_VARIABLE`] for children.
pub fn identity_text() -> String {
    let Identity { certificate, key } = identity();
    format!("{} {}", to_hex(certificate), to_hex(key))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("hexadecimal") as u8;
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}
