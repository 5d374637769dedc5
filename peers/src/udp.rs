//! Bare datagrams: no connection, no protocol. The floor below every UDP library, not a competitor.

use std::{error::Error, net::SocketAddr, sync::Arc, time::Instant};

use mio::{Events, net::UdpSocket};

use crate::{
    control::{Control, PATIENCE},
    load::{Load, MAX_BYTES, Service},
    polled::{self, watch, watching},
    sockets::{self, pending},
};

/// Answers datagrams one by one.
pub fn serve(control: &Arc<Control>, service: Service) -> Result<(), Box<dyn Error>> {
    let mut socket = UdpSocket::from_std(sockets::server_udp()?);
    let mut poll = watching(&mut socket)?;
    control.announce(socket.local_addr()?);
    let mut events = Events::with_capacity(1);
    let mut buffer = [0; MAX_BYTES];
    while !control.is_stopped() {
        poll.poll(&mut events, Some(PATIENCE))?;
        while let Some((bytes, from)) = pending(socket.recv_from(&mut buffer))? {
            if service.handle(&buffer[..bytes]) {
                pending(socket.send_to(&buffer[..bytes], from))?;
            }
        }
    }
    Ok(())
}

/// Runs the clients, each with its own connected socket.
pub fn connect(
    control: &Arc<Control>,
    server: SocketAddr,
    load: Load,
) -> Result<(), Box<dyn Error>> {
    polled::run(control, load, PATIENCE, |poll, number| {
        let mut socket = UdpSocket::from_std(sockets::client_udp()?);
        socket.connect(server)?;
        watch(poll, &mut socket, number)?;
        control.on_connected();
        Ok(socket)
    })
}

impl polled::Client for UdpSocket {
    fn drive(&mut self, _: Instant, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; MAX_BYTES];
        while let Some(bytes) = pending(self.recv(&mut buffer))? {
            if load.on_message(index, &buffer[..bytes]) {
                pending(UdpSocket::send(self, load.write(index, &mut buffer)))?;
            }
        }
        Ok(())
    }

    fn send(&mut self, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; MAX_BYTES];
        pending(UdpSocket::send(self, load.write(index, &mut buffer)))?;
        Ok(())
    }
}
