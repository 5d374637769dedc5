//! Bare datagrams: no connection, no protocol. The floor below every UDP library, not a competitor.

use std::{error::Error, io, net::SocketAddr, sync::Arc, time::Instant};

use mio::{Events, Interest, Poll, Token, net::UdpSocket};

use crate::{
    control::{Control, PATIENCE},
    load::{Load, MAX_BYTES, Service},
    sockets,
};

/// Answers datagrams one by one.
pub fn serve(control: &Arc<Control>, service: Service) -> Result<(), Box<dyn Error>> {
    let mut socket = UdpSocket::from_std(sockets::server_udp()?);
    let mut poll = Poll::new()?;
    poll.registry()
        .register(&mut socket, Token(0), Interest::READABLE)?;
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
    mut load: Load,
) -> Result<(), Box<dyn Error>> {
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    for token in 0..load.clients() {
        let mut socket = UdpSocket::from_std(sockets::client_udp()?);
        socket.connect(server)?;
        poll.registry()
            .register(&mut socket, Token(token), Interest::READABLE)?;
        control.on_connected();
        clients.push(socket);
    }
    let mut events = Events::with_capacity(1024);
    let mut buffer = [0; MAX_BYTES];
    while !control.is_stopped() {
        poll.poll(&mut events, Some(load.timeout(Instant::now())))?;
        for event in &events {
            let Token(client) = event.token();
            while let Some(bytes) = pending(clients[client].recv(&mut buffer))? {
                if load.on_message(client, &buffer[..bytes]) {
                    pending(clients[client].send(load.write(client, &mut buffer)))?;
                }
            }
        }
        for client in load.due(Instant::now()).to_vec() {
            pending(clients[client].send(load.write(client, &mut buffer)))?;
        }
    }
    Ok(())
}

/// `None` where the call would block.
fn pending<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
