//! `rusty_enet`: one host per server and per client, serviced when its socket is readable and on a tick.

use std::{
    error::Error,
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
    sync::Arc,
    time::Instant,
};

use mio::{Events, Interest, Poll, Token, unix::SourceFd};
use rusty_enet::{Event, Host, HostSettings, Packet, PacketKind, PeerID};

use crate::{
    control::Control,
    library::Mode,
    load::{Load, MAX_BYTES, Service},
    sockets,
};

/// ENet drops unreliable packets at random when the round-trip time varies, as its way of congestion control. A
/// deceleration of 0 turns that off: the work is the same for all only if every message is really sent.
const THROTTLE: (u32, u32, u32) = (5000, 2, 0);

/// Echoes or records the packets of up to `capacity` peers.
pub fn serve(
    control: &Arc<Control>,
    mode: Mode,
    capacity: usize,
    service: Service,
) -> Result<(), Box<dyn Error>> {
    let socket = sockets::server_udp()?;
    let mut poll = Poll::new()?;
    poll.registry().register(
        &mut SourceFd(&socket.as_raw_fd()),
        Token(0),
        Interest::READABLE,
    )?;
    control.announce(socket.local_addr()?);
    let mut host = Host::new(
        socket,
        HostSettings {
            peer_limit: capacity,
            channel_limit: 1,
            ..HostSettings::default()
        },
    )?;
    let mut events = Events::with_capacity(1);
    while !control.is_stopped() {
        poll.poll(&mut events, Some(service.tick()))?;
        while let Some(event) = host.service()? {
            match event {
                Event::Connect { peer, .. } => {
                    peer.set_throttle(THROTTLE.0, THROTTLE.1, THROTTLE.2)
                }
                Event::Disconnect { .. } => return Err("a client left".into()),
                Event::Receive { peer, packet, .. } => {
                    if service.handle(packet.data()) {
                        peer.send(0, &Packet::new(packet.data(), kind(mode)))?;
                    }
                }
            }
        }
        host.flush();
    }
    Ok(())
}

/// Runs the clients, each with its own host.
pub fn connect(
    control: &Arc<Control>,
    mode: Mode,
    server: SocketAddr,
    mut load: Load,
) -> Result<(), Box<dyn Error>> {
    let mut poll = Poll::new()?;
    let mut clients: Vec<Host<UdpSocket>> = Vec::new();
    for token in 0..load.clients() {
        let socket = sockets::client_udp()?;
        poll.registry().register(
            &mut SourceFd(&socket.as_raw_fd()),
            Token(token),
            Interest::READABLE,
        )?;
        let mut host = Host::new(
            socket,
            HostSettings {
                peer_limit: 1,
                channel_limit: 1,
                ..HostSettings::default()
            },
        )?;
        host.connect(server, 1, 0)?;
        clients.push(host);
    }
    let mut next_tick = Instant::now();
    let mut events = Events::with_capacity(1024);
    while !control.is_stopped() {
        let now = Instant::now();
        let timeout = load
            .timeout(now)
            .min(next_tick.saturating_duration_since(now));
        poll.poll(&mut events, Some(timeout))?;
        for event in &events {
            let Token(client) = event.token();
            drive(control, mode, &mut clients[client], client, &mut load)?;
        }
        let now = Instant::now();
        for client in load.due(now).to_vec() {
            send(mode, &mut clients[client], client, &mut load)?;
            clients[client].flush();
        }
        if now >= next_tick {
            next_tick = now + load.tick();
            for (client, host) in clients.iter_mut().enumerate() {
                drive(control, mode, host, client, &mut load)?;
            }
        }
    }
    Ok(())
}

fn drive(
    control: &Arc<Control>,
    mode: Mode,
    host: &mut Host<UdpSocket>,
    client: usize,
    load: &mut Load,
) -> Result<(), Box<dyn Error>> {
    while let Some(event) = host.service()? {
        match event {
            Event::Connect { peer, .. } => {
                peer.set_throttle(THROTTLE.0, THROTTLE.1, THROTTLE.2);
                control.on_connected();
            }
            Event::Disconnect { .. } => return Err("the server left".into()),
            Event::Receive { packet, .. } => {
                if load.on_message(client, packet.data()) {
                    send(mode, host, client, load)?;
                }
            }
        }
    }
    // `service` has sent everything when it says that nothing is left.
    Ok(())
}

fn send(
    mode: Mode,
    host: &mut Host<UdpSocket>,
    client: usize,
    load: &mut Load,
) -> Result<(), Box<dyn Error>> {
    let mut buffer = [0; MAX_BYTES];
    let message = load.write(client, &mut buffer);
    host.peer_mut(PeerID(0))
        .send(0, &Packet::new(message, kind(mode)))?;
    Ok(())
}

fn kind(mode: Mode) -> PacketKind {
    match mode {
        Mode::Unreliable => PacketKind::Unreliable { sequenced: false },
        Mode::Reliable => PacketKind::Reliable,
    }
}
