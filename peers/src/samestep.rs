//! Samestep: an `Endpoint` over UDP for the server and for each client, called when a datagram or its timer says so.

use std::{
    error::Error,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use samestep_proto::{
    AcceptConfig, ChannelId, Config, ConnectOptions, ConnectionId, Delivery, Endpoint, Event,
};
use samestep_transport::{Poller, Transport, Udp, UdpConfig};

use crate::{
    control::{Control, PATIENCE},
    library::Mode,
    load::{Load, MAX_BYTES, Service},
    sockets,
};

/// Room for the largest packet of the default settings.
const PACKET_BYTES: usize = 1200;
/// Clients that connect at the same time.
const AT_ONCE: usize = 64;

/// Echoes or records the messages of up to `capacity` clients.
pub fn serve(
    control: &Arc<Control>,
    mode: Mode,
    capacity: usize,
    encrypted: bool,
    service: Service,
) -> Result<(), Box<dyn Error>> {
    let mut config = config(encrypted);
    // All clients come from one address, and all at once.
    config.accept = Some(AcceptConfig {
        capacity,
        per_address: capacity,
        handshakes_per_second: 100_000,
        handshakes_per_second_per_address: 100_000,
        ..AcceptConfig::default()
    });
    let mut endpoint = Endpoint::new(config, [1; 32])?;
    let mut transport = Udp::bind(sockets::ANY)?;
    control.announce(transport.local_addr());
    let channel = channel(mode);
    let mut packet = [0; PACKET_BYTES];
    while !control.is_stopped() {
        let now = transport.now();
        let until = endpoint
            .poll_timeout()
            .map_or(now + PATIENCE, |at| at.min(now + PATIENCE));
        transport.wait(Some(until))?;
        let mut now = transport.now();
        // Answered one by one: each connection is done with while it is in the processor's cache.
        while let Some(datagram) = transport.recv()? {
            now = now.max(datagram.at);
            endpoint.handle_datagram(datagram.at, datagram.from, datagram.bytes);
            let to = (&mut transport, &mut packet);
            respond(&mut endpoint, to, now, channel, &service)?;
        }
        if endpoint.poll_timeout().is_some_and(|at| at <= now) {
            endpoint.handle_timeout(now);
            let to = (&mut transport, &mut packet);
            respond(&mut endpoint, to, now, channel, &service)?;
        }
    }
    Ok(())
}

/// Answers what the server's endpoint has received, and sends what has to be sent.
fn respond(
    endpoint: &mut Endpoint,
    (transport, packet): (&mut Udp, &mut [u8; PACKET_BYTES]),
    now: Duration,
    channel: ChannelId,
    service: &Service,
) -> Result<(), Box<dyn Error>> {
    while let Some(event) = endpoint.poll_event() {
        match event {
            Event::Readable { id } => {
                while let Some(message) = endpoint.recv(id) {
                    if service.handle(message.payload) {
                        let mut echo = [0; MAX_BYTES];
                        let echo = &mut echo[..message.payload.len()];
                        echo.copy_from_slice(message.payload);
                        endpoint.send(now, id, channel, echo)?;
                    }
                }
            }
            Event::Closed { reason, .. } => {
                return Err(format!("a client left: {reason}").into());
            }
            Event::Connected { .. } | Event::Moved { .. } | Event::Refused { .. } => {}
        }
    }
    while let Some(transmit) = endpoint.poll_transmit(now, packet) {
        transport.send(transmit.to, &packet[..transmit.len])?;
    }
    Ok(())
}

/// Runs the clients, each with its own endpoint and socket.
pub fn connect(
    control: &Arc<Control>,
    mode: Mode,
    server: SocketAddr,
    encrypted: bool,
    mut load: Load,
) -> Result<(), Box<dyn Error>> {
    let mut poller = Poller::new()?;
    let mut clients = Vec::new();
    let channel = channel(mode);
    let mut ready = Vec::new();
    // No client wants to be called before this.
    let mut wake = Duration::ZERO;
    while !control.is_stopped() {
        // In waves: a server forgets the oldest of too many strangers that knock at once.
        while clients.len() < load.clients() && clients.len() < control.connected() + AT_ONCE {
            let client = Client::new(server, encrypted, clients.len())?;
            poller.add(&client.transport, clients.len() as u64)?;
            clients.push(client);
            wake = Duration::ZERO;
        }
        let now = samestep_transport::now();
        ready.clear();
        ready.extend(poller.wait(Some(wake.min(now + load.timeout(Instant::now()))))?);
        for &index in &ready {
            let index = index as usize;
            clients[index].drive(control, channel, index, &mut load)?;
            wake = wake.min(clients[index].wake);
        }
        let now = samestep_transport::now();
        for index in load.due(Instant::now()).to_vec() {
            let mut buffer = [0; MAX_BYTES];
            let Client { endpoint, id, .. } = &mut clients[index];
            endpoint.send(now, *id, channel, load.write(index, &mut buffer))?;
            clients[index].transmit(now)?;
            wake = wake.min(clients[index].wake);
        }
        if now >= wake {
            for (index, client) in clients.iter_mut().enumerate() {
                if now >= client.wake {
                    client.endpoint.handle_timeout(now);
                    client.respond(control, now, channel, index, &mut load)?;
                }
            }
            wake = clients
                .iter()
                .map(|client| client.wake)
                .min()
                .unwrap_or(Duration::MAX);
        }
    }
    Ok(())
}

struct Client {
    transport: Udp,
    endpoint: Endpoint,
    id: ConnectionId,
    /// When the endpoint wants to be called although nothing came.
    wake: Duration,
}

impl Client {
    fn new(server: SocketAddr, encrypted: bool, index: usize) -> Result<Client, Box<dyn Error>> {
        let mut transport = Udp::with_config(sockets::ANY, &UdpConfig::client())?;
        transport.connect(server)?;
        let mut seed = [2; 32];
        seed[..8].copy_from_slice(&index.to_le_bytes());
        let mut endpoint = Endpoint::new(config(encrypted), seed)?;
        let id = endpoint.connect(transport.now(), server, ConnectOptions::default())?;
        Ok(Client {
            transport,
            endpoint,
            id,
            wake: Duration::ZERO,
        })
    }

    /// Takes what came, and does what follows from it.
    fn drive(
        &mut self,
        control: &Control,
        channel: ChannelId,
        index: usize,
        load: &mut Load,
    ) -> Result<(), Box<dyn Error>> {
        while let Some(datagram) = self.transport.recv()? {
            self.endpoint
                .handle_datagram(datagram.at, datagram.from, datagram.bytes);
        }
        self.respond(control, self.transport.now(), channel, index, load)
    }

    /// Answers what the endpoint has received, and sends what has to be sent.
    fn respond(
        &mut self,
        control: &Control,
        now: Duration,
        channel: ChannelId,
        index: usize,
        load: &mut Load,
    ) -> Result<(), Box<dyn Error>> {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Readable { id } => {
                    while let Some(message) = self.endpoint.recv(id) {
                        if load.on_message(index, message.payload) {
                            let mut buffer = [0; MAX_BYTES];
                            self.endpoint
                                .send(now, id, channel, load.write(index, &mut buffer))?;
                        }
                    }
                }
                Event::Connected { .. } => control.on_connected(),
                Event::Closed { reason, .. } => {
                    return Err(format!("the server left: {reason}").into());
                }
                Event::Moved { .. } | Event::Refused { .. } => {}
            }
        }
        self.transmit(now)
    }

    fn transmit(&mut self, now: Duration) -> Result<(), Box<dyn Error>> {
        let mut packet = [0; PACKET_BYTES];
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut packet) {
            self.transport.send(transmit.to, &packet[..transmit.len])?;
        }
        self.transport.flush()?;
        self.wake = self.endpoint.poll_timeout().unwrap_or(Duration::MAX);
        Ok(())
    }
}

/// The default channels, one of each kind.
fn config(encrypted: bool) -> Config {
    let config = Config::new("peers", 1);
    if encrypted { config } else { config.plain() }
}

fn channel(mode: Mode) -> ChannelId {
    let delivery = match mode {
        Mode::Unreliable => Delivery::Unreliable,
        Mode::Reliable => Delivery::ReliableOrdered,
    };
    let channels = Config::new("peers", 1).channels;
    let index = channels
        .iter()
        .position(|channel| channel.delivery == delivery);
    ChannelId(index.expect("one channel of each kind") as u8)
}

/// Echoes datagrams over Samestep's transport without its protocol: what the protocol adds is the difference.
pub fn serve_bare(control: &Arc<Control>, service: Service) -> Result<(), Box<dyn Error>> {
    let mut transport = Udp::bind(sockets::ANY)?;
    control.announce(transport.local_addr());
    while !control.is_stopped() {
        transport.wait(Some(transport.now() + PATIENCE))?;
        while let Some(datagram) = transport.recv()? {
            let mut echo = [0; MAX_BYTES];
            let echo = &mut echo[..datagram.bytes.len()];
            echo.copy_from_slice(datagram.bytes);
            let from = datagram.from;
            if service.handle(echo) {
                transport.send(from, echo)?;
            }
        }
    }
    Ok(())
}

/// Runs the clients of [`serve_bare`].
pub fn connect_bare(
    control: &Arc<Control>,
    server: SocketAddr,
    mut load: Load,
) -> Result<(), Box<dyn Error>> {
    let mut poller = Poller::new()?;
    let mut clients = Vec::new();
    for index in 0..load.clients() {
        let mut transport = Udp::with_config(sockets::ANY, &UdpConfig::client())?;
        transport.connect(server)?;
        poller.add(&transport, index as u64)?;
        control.on_connected();
        clients.push(transport);
    }
    let mut ready = Vec::new();
    let mut buffer = [0; MAX_BYTES];
    while !control.is_stopped() {
        let until = samestep_transport::now() + load.timeout(Instant::now());
        ready.clear();
        ready.extend(poller.wait(Some(until))?);
        for &index in &ready {
            let index = index as usize;
            while let Some(datagram) = clients[index].recv()? {
                if load.on_message(index, datagram.bytes) {
                    clients[index].send(server, load.write(index, &mut buffer))?;
                }
            }
            clients[index].flush()?;
        }
        for index in load.due(Instant::now()).to_vec() {
            clients[index].send(server, load.write(index, &mut buffer))?;
            clients[index].flush()?;
        }
    }
    Ok(())
}
