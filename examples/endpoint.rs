//! Below rooms and games: connections and channels. A client says words, the server says them loudly.
//!
//! `serve [PORT]` and `connect ADDRESS`, or over TCP `serve-tcp [PORT]` and `connect-tcp ADDRESS`.
use samestep::proto::{ChannelId, CloseReason, Config, ConnectOptions, Event};
use samestep::transport::{Tcp, Transport, Udp};
use samestep::{Arguments, DEFAULT_PORT, Driver, resolve};
use std::{error::Error, io, net::SocketAddr, sync::mpsc, thread, time::Duration};

/// `Config::new` declares a channel of each kind; this one is reliable and ordered.
const WORDS: ChannelId = ChannelId(3);
const MOMENT: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::from_env()?;
    let usage =
        "use it as `serve [PORT]`, `connect ADDRESS`, `serve-tcp [PORT]` or `connect-tcp ADDRESS`";
    let (command, place) = match arguments.words()[..] {
        [command] if command.starts_with("serve") => (command, DEFAULT_PORT.to_string()),
        [command, place] => (command, place.to_string()),
        _ => return Err(usage.into()),
    };
    let here = |port: &str| {
        port.parse()
            .map(|port: u16| SocketAddr::from(([0, 0, 0, 0], port)))
    };
    match command {
        "serve" => serve(Udp::bind(here(&place).map_err(|_| usage)?)?),
        "serve-tcp" => serve(Tcp::bind(here(&place).map_err(|_| usage)?)?),
        "connect" => connect(Udp::bind(([0, 0, 0, 0], 0).into())?, resolve(&place)?),
        "connect-tcp" => connect(Tcp::outgoing()?, resolve(&place)?),
        _ => Err(usage.into()),
    }
}

fn serve(transport: impl Transport) -> Result<(), Box<dyn Error>> {
    let mut server = Driver::new(transport, Config::new("loud", 1).accepting(8))?;
    println!("This is port {}.", server.local_addr().port());
    loop {
        match server.drive_for(MOMENT)? {
            Some(Event::Readable { id }) => {
                while let Some(message) = server.recv(id) {
                    let answer = message.payload.to_ascii_uppercase();
                    server.send(id, WORDS, &answer)?;
                }
            }
            Some(Event::Connected { peer, .. }) => println!("{peer} is here."),
            Some(Event::Closed { reason, .. }) => println!("Somebody is gone: {reason}."),
            _ => {}
        }
    }
}

fn connect(transport: impl Transport, to: SocketAddr) -> Result<(), Box<dyn Error>> {
    let mut client = Driver::new(transport, Config::new("loud", 1))?;
    let server = client.connect(to, ConnectOptions::default())?;

    let (send, typed) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| send.send(line))
    });
    loop {
        match client.drive_for(MOMENT)? {
            Some(Event::Connected { .. }) => println!("Connected. Type something."),
            Some(Event::Closed {
                reason: CloseReason::Local,
                ..
            }) => break,
            Some(Event::Closed { reason, .. }) => return Err(reason.to_string().into()),
            Some(Event::Readable { .. }) => {
                while let Some(message) = client.recv(server) {
                    println!("{}", String::from_utf8_lossy(message.payload));
                }
            }
            _ => {}
        }
        match typed.try_recv() {
            Ok(line) => drop(client.send(server, WORDS, line.as_bytes())?),
            Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => client.close(server, 0, "bye"),
        }
    }
    Ok(client.finish(client.now() + Duration::from_secs(2))?)
}
