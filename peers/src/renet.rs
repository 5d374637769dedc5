//! `renet`, over `renet_netcode` and over bare datagrams.
//!
//! Renet acknowledges every packet, acknowledgements too, each in a packet of its own whenever packets are asked for.
//! Asked at every readiness it would answer acknowledgements with acknowledgements without end; so packets are
//! asked for when a message was sent, and otherwise on a tick of 60 Hz at most, as a game would. The netcode transport
//! of the server can only be asked for the packets of all clients at once.

use std::{
    collections::HashMap,
    error::Error,
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use mio::{Events, unix::SourceFd};
use renet::{ConnectionConfig, DefaultChannel, RenetClient, RenetServer, ServerEvent};
use renet_netcode::{
    ClientAuthentication, ConnectToken, NetcodeClientTransport, NetcodeServerTransport,
    ServerAuthentication, ServerConfig,
};

use crate::{
    control::Control,
    library::Mode,
    load::{Load, MAX_BYTES, STREAM_INTERVAL, Service},
    polled::{self, watch, watching},
    sockets::{self, pending},
};

const PROTOCOL: u64 = 7;
/// Shared by both sides of a measurement, as a game's backend and its servers would share theirs.
const SECRET: [u8; 32] = [7; 32];
/// `RenetServer::update` walks through all connections; nothing in it needs to be more precise than this.
const UPDATE: Duration = Duration::from_millis(5);

/// Echoes or records over netcode. `secure` holds the address the clients' tokens name, if it is not the socket's own.
pub fn serve(
    control: &Arc<Control>,
    mode: Mode,
    capacity: usize,
    secure: Option<Option<SocketAddr>>,
    service: Service,
) -> Result<(), Box<dyn Error>> {
    let socket = sockets::server_udp()?;
    let mut poll = watching(&mut SourceFd(&socket.as_raw_fd()))?;
    let address = socket.local_addr()?;
    let mut transport = NetcodeServerTransport::new(
        ServerConfig {
            current_time: since_epoch()?,
            max_clients: capacity,
            protocol_id: PROTOCOL,
            public_addresses: vec![secure.flatten().unwrap_or(address)],
            authentication: match secure {
                Some(_) => ServerAuthentication::Secure {
                    private_key: SECRET,
                },
                None => ServerAuthentication::Unsecure,
            },
        },
        socket,
    )?;
    control.announce(address);
    let mut server = RenetServer::new(ConnectionConfig::default());
    let channel = channel(mode);
    let tick = service.tick().max(STREAM_INTERVAL);
    let mut clients = Vec::new();
    let mut events = Events::with_capacity(1);
    let mut before = Instant::now();
    let mut updated = before;
    let mut next_tick = before;
    while !control.is_stopped() {
        poll.poll(
            &mut events,
            Some(next_tick.saturating_duration_since(Instant::now())),
        )?;
        let now = Instant::now();
        if now >= updated + UPDATE {
            server.update(now - updated);
            updated = now;
        }
        transport.update(now - before, &mut server)?;
        before = now;
        while let Some(event) = server.get_event() {
            match event {
                ServerEvent::ClientConnected { client_id } => clients.push(client_id),
                ServerEvent::ClientDisconnected { .. } => return Err("a client left".into()),
            }
        }
        let mut sent = false;
        for &client in &clients {
            while let Some(message) = server.receive_message(client, channel) {
                if service.handle(&message) {
                    server.send_message(client, channel, message);
                    sent = true;
                }
            }
        }
        if sent || now >= next_tick {
            transport.send_packets(&mut server);
            next_tick = now + tick;
        }
    }
    Ok(())
}

/// Runs the clients over netcode, each with its own socket.
pub fn connect(
    control: &Arc<Control>,
    mode: Mode,
    server: SocketAddr,
    secure: bool,
    load: Load,
) -> Result<(), Box<dyn Error>> {
    let tick = load.tick().max(STREAM_INTERVAL);
    polled::run(control, load, tick, |poll, number| {
        let socket = sockets::client_udp()?;
        watch(poll, &mut SourceFd(&socket.as_raw_fd()), number)?;
        let (now, client_id) = (since_epoch()?, number as u64);
        let authentication = if secure {
            let connect_token = ConnectToken::generate(
                now,
                PROTOCOL,
                300,
                client_id,
                15,
                vec![server],
                None,
                &SECRET,
            )?;
            ClientAuthentication::Secure { connect_token }
        } else {
            ClientAuthentication::Unsecure {
                protocol_id: PROTOCOL,
                client_id,
                server_addr: server,
                user_data: None,
            }
        };
        Ok(Client {
            path: Netcode {
                transport: NetcodeClientTransport::new(now, authentication, socket)?,
                connected: false,
                control: Arc::clone(control),
            },
            renet: RenetClient::new(ConnectionConfig::default()),
            channel: channel(mode),
            updated: Instant::now(),
        })
    })
}

/// What carries the packets of a client.
trait Path {
    /// Hands the packets that came to renet.
    fn receive(&mut self, passed: Duration, renet: &mut RenetClient) -> Result<(), Box<dyn Error>>;

    /// Sends renet's packets.
    fn flush(&mut self, renet: &mut RenetClient) -> Result<(), Box<dyn Error>>;
}

struct Client<P> {
    path: P,
    renet: RenetClient,
    channel: u8,
    updated: Instant,
}

impl<P: Path> Client<P> {
    /// Takes what came; whether a message was sent in answer.
    fn answer(
        &mut self,
        now: Instant,
        index: usize,
        load: &mut Load,
    ) -> Result<bool, Box<dyn Error>> {
        let passed = now.saturating_duration_since(self.updated);
        self.updated = now;
        self.renet.update(passed);
        self.path.receive(passed, &mut self.renet)?;
        let mut sent = false;
        while let Some(message) = self.renet.receive_message(self.channel) {
            if load.on_message(index, &message) {
                self.queue(index, load);
                sent = true;
            }
        }
        Ok(sent)
    }

    fn queue(&mut self, index: usize, load: &mut Load) {
        let mut buffer = [0; MAX_BYTES];
        let message = Bytes::copy_from_slice(load.write(index, &mut buffer));
        self.renet.send_message(self.channel, message);
    }
}

impl<P: Path> polled::Client for Client<P> {
    fn drive(&mut self, now: Instant, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        match self.answer(now, index, load)? {
            true => self.path.flush(&mut self.renet),
            false => Ok(()),
        }
    }

    fn send(&mut self, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        self.queue(index, load);
        self.path.flush(&mut self.renet)
    }

    fn tick(&mut self, now: Instant, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        self.answer(now, index, load)?;
        self.path.flush(&mut self.renet)
    }
}

struct Netcode {
    transport: NetcodeClientTransport,
    connected: bool,
    control: Arc<Control>,
}

impl Path for Netcode {
    fn receive(&mut self, passed: Duration, renet: &mut RenetClient) -> Result<(), Box<dyn Error>> {
        self.transport.update(passed, renet)?;
        if !self.connected && renet.is_connected() {
            self.connected = true;
            self.control.on_connected();
        }
        Ok(())
    }

    fn flush(&mut self, renet: &mut RenetClient) -> Result<(), Box<dyn Error>> {
        Ok(self.transport.send_packets(renet)?)
    }
}

/// Echoes or records renet's packets in bare datagrams; an address is a client from its first datagram on.
pub fn serve_bare(
    control: &Arc<Control>,
    mode: Mode,
    service: Service,
) -> Result<(), Box<dyn Error>> {
    let socket = sockets::server_udp()?;
    let mut poll = watching(&mut SourceFd(&socket.as_raw_fd()))?;
    control.announce(socket.local_addr()?);
    let mut server = RenetServer::new(ConnectionConfig::default());
    let channel = channel(mode);
    let tick = service.tick().max(STREAM_INTERVAL);
    let mut addresses: Vec<SocketAddr> = Vec::new();
    let mut ids: HashMap<SocketAddr, u64> = HashMap::new();
    let mut touched = Vec::new();
    let mut events = Events::with_capacity(1);
    let mut buffer = [0; 1500];
    let mut updated = Instant::now();
    let mut next_tick = updated;
    while !control.is_stopped() {
        poll.poll(
            &mut events,
            Some(next_tick.saturating_duration_since(Instant::now())),
        )?;
        let now = Instant::now();
        if now >= updated + UPDATE {
            server.update(now - updated);
            updated = now;
        }
        while let Some((bytes, from)) = pending(socket.recv_from(&mut buffer))? {
            let id = *ids.entry(from).or_insert_with(|| {
                addresses.push(from);
                let id = addresses.len() as u64 - 1;
                server.add_connection(id);
                id
            });
            server.process_packet_from(&buffer[..bytes], id)?;
            touched.push(id);
        }
        for id in touched.drain(..) {
            let mut sent = false;
            while let Some(message) = server.receive_message(id, channel) {
                if service.handle(&message) {
                    server.send_message(id, channel, message);
                    sent = true;
                }
            }
            if sent {
                for packet in server.get_packets_to_send(id)? {
                    pending(socket.send_to(&packet, addresses[id as usize]))?;
                }
            }
        }
        if now >= next_tick {
            next_tick = now + tick;
            for (id, address) in addresses.iter().enumerate() {
                for packet in server.get_packets_to_send(id as u64)? {
                    pending(socket.send_to(&packet, *address))?;
                }
            }
        }
    }
    Ok(())
}

/// Runs the clients over bare datagrams, each with its own connected socket.
pub fn connect_bare(
    control: &Arc<Control>,
    mode: Mode,
    server: SocketAddr,
    load: Load,
) -> Result<(), Box<dyn Error>> {
    let tick = load.tick().max(STREAM_INTERVAL);
    polled::run(control, load, tick, |poll, number| {
        let socket = sockets::client_udp()?;
        socket.connect(server)?;
        watch(poll, &mut SourceFd(&socket.as_raw_fd()), number)?;
        let mut renet = RenetClient::new(ConnectionConfig::default());
        renet.set_connected();
        control.on_connected();
        Ok(Client {
            path: socket,
            renet,
            channel: channel(mode),
            updated: Instant::now(),
        })
    })
}

impl Path for UdpSocket {
    fn receive(&mut self, _: Duration, renet: &mut RenetClient) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; 1500];
        while let Some(bytes) = pending(self.recv(&mut buffer))? {
            renet.process_packet(&buffer[..bytes]);
        }
        Ok(())
    }

    fn flush(&mut self, renet: &mut RenetClient) -> Result<(), Box<dyn Error>> {
        for packet in renet.get_packets_to_send() {
            pending(UdpSocket::send(self, &packet))?;
        }
        Ok(())
    }
}

fn channel(mode: Mode) -> u8 {
    match mode {
        Mode::Unreliable => DefaultChannel::Unreliable.into(),
        Mode::Reliable => DefaultChannel::ReliableOrdered.into(),
    }
}

/// Tokens expire by the calendar.
fn since_epoch() -> Result<Duration, Box<dyn Error>> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}
