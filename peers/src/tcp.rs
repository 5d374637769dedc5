//! Kernel TCP: `TCP_NODELAY`, each message after its length in two bytes, readiness by epoll.

use std::{
    error::Error,
    io::{self, Read, Write},
    net::SocketAddr,
    sync::Arc,
    time::Instant,
};

use mio::{
    Events, Interest, Poll, Token,
    net::{TcpListener, TcpStream},
};

use crate::{
    control::{Control, PATIENCE},
    load::{Load, MAX_BYTES, Service},
    polled::{self, watch},
    sockets,
};

const HEADER_BYTES: usize = 2;
const LISTENER: Token = Token(usize::MAX);

/// Echoes or records framed messages from any number of connections.
pub fn serve(control: &Arc<Control>, service: Service) -> Result<(), Box<dyn Error>> {
    let mut listener = TcpListener::bind(sockets::ANY)?;
    let mut poll = Poll::new()?;
    poll.registry()
        .register(&mut listener, LISTENER, Interest::READABLE)?;
    control.announce(listener.local_addr()?);
    let mut connections: Vec<Framed> = Vec::new();
    let mut events = Events::with_capacity(1024);
    while !control.is_stopped() {
        poll.poll(&mut events, Some(PATIENCE))?;
        for event in &events {
            if event.token() == LISTENER {
                while let Ok((mut stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    let token = Token(connections.len());
                    poll.registry()
                        .register(&mut stream, token, Interest::READABLE)?;
                    connections.push(Framed::new(stream));
                }
                continue;
            }
            let connection = &mut connections[event.token().0];
            // A client that has gone away says nothing more; whether it left too early is for it to say.
            if connection.fill().is_err() {
                continue;
            }
            while let Some(message) = connection.next() {
                if service.handle(&message) {
                    connection.send(&message)?;
                }
            }
        }
    }
    Ok(())
}

/// Runs the clients, each over its own connection.
pub fn connect(
    control: &Arc<Control>,
    server: SocketAddr,
    load: Load,
) -> Result<(), Box<dyn Error>> {
    polled::run(control, load, PATIENCE, |poll, number| {
        let stream = std::net::TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        watch(poll, &mut stream, number)?;
        control.on_connected();
        Ok(Framed::new(stream))
    })
}

impl polled::Client for Framed {
    fn drive(&mut self, _: Instant, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        self.fill()?;
        while let Some(message) = self.next() {
            if load.on_message(index, &message) {
                polled::Client::send(self, index, load)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; MAX_BYTES];
        Ok(self.send(load.write(index, &mut buffer))?)
    }
}

/// A stream cut into messages. Messages here are short and answered at once, so one buffer of fixed size is enough.
struct Framed {
    stream: TcpStream,
    buffer: [u8; 1024],
    start: usize,
    end: usize,
}

impl Framed {
    fn new(stream: TcpStream) -> Framed {
        Framed {
            stream,
            buffer: [0; 1024],
            start: 0,
            end: 0,
        }
    }

    /// Reads what there is. A read that does not fill the buffer has emptied the socket: no second call.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        match self.stream.read(&mut self.buffer[self.end..]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                self.end += bytes;
                assert!(
                    self.end < self.buffer.len(),
                    "one message in flight never fills the buffer"
                );
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The next whole message.
    fn next(&mut self) -> Option<Message> {
        let unread = &self.buffer[self.start..self.end];
        let (header, rest) = unread.split_first_chunk::<HEADER_BYTES>()?;
        let bytes = usize::from(u16::from_le_bytes(*header));
        let payload = rest.get(..bytes)?;
        let mut message = Message {
            buffer: [0; MAX_BYTES],
            bytes,
        };
        message.buffer[..bytes].copy_from_slice(payload);
        self.start += HEADER_BYTES + bytes;
        Some(message)
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let mut framed = [0; HEADER_BYTES + MAX_BYTES];
        framed[..HEADER_BYTES].copy_from_slice(&(message.len() as u16).to_le_bytes());
        framed[HEADER_BYTES..][..message.len()].copy_from_slice(message);
        // One message in flight always fits into the kernel's send buffer.
        self.stream
            .write_all(&framed[..HEADER_BYTES + message.len()])
    }
}

/// A message copied out of the stream, so that the answer can be written to it.
struct Message {
    buffer: [u8; MAX_BYTES],
    bytes: usize,
}

impl std::ops::Deref for Message {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.bytes]
    }
}
