//! `rusty_enet`: one host per server and per client, serviced when its socket is readable and on a tick.

use std::{
    error::Error,
    net::{SocketAddr, UdpSocket},
    os::fd::AsRawFd,
    sync::Arc,
    time::Instant,
};

use mio::{Events, unix::SourceFd};
use rusty_enet::{Event, Host, HostSettings, Packet, PacketKind, PeerID};

use crate::{
    control::Control,
    library::Mode,
    load::{Load, MAX_BYTES, Service},
    polled::{self, watch, watching},
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
    let mut poll = watching(&mut SourceFd(&socket.as_raw_fd()))?;
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
    load: Load,
) -> Result<(), Box<dyn Error>> {
    let tick = load.tick();
    polled::run(control, load, tick, |poll, number| {
        let socket = sockets::client_udp()?;
        watch(poll, &mut SourceFd(&socket.as_raw_fd()), number)?;
        let mut host = Host::new(
            socket,
            HostSettings {
                peer_limit: 1,
                channel_limit: 1,
                ..HostSettings::default()
            },
        )?;
        host.connect(server, 1, 0)?;
        Ok(Client {
            host,
            kind: kind(mode),
            control: Arc::clone(control),
        })
    })
}

struct Client {
    host: Host<UdpSocket>,
    kind: PacketKind,
    control: Arc<Control>,
}

impl Client {
    fn queue(&mut self, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; MAX_BYTES];
        let packet = Packet::new(load.write(index, &mut buffer), self.kind);
        Ok(self.host.peer_mut(PeerID(0)).send(0, &packet)?)
    }
}

impl polled::Client for Client {
    fn drive(&mut self, _: Instant, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        // `service` has sent everything when it says that nothing is left.
        while let Some(event) = self.host.service()? {
            match event {
                Event::Connect { peer, .. } => {
                    peer.set_throttle(THROTTLE.0, THROTTLE.1, THROTTLE.2);
                    self.control.on_connected();
                }
                Event::Disconnect { .. } => return Err("the server left".into()),
                Event::Receive { packet, .. } => {
                    if load.on_message(index, packet.data()) {
                        self.queue(index, load)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        self.queue(index, load)?;
        self.host.flush();
        Ok(())
    }

    fn tick(&mut self, now: Instant, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        self.drive(now, index, load)
    }
}

fn kind(mode: Mode) -> PacketKind {
    match mode {
        Mode::Unreliable => PacketKind::Unreliable { sequenced: false },
        Mode::Reliable => PacketKind::Reliable,
    }
}
