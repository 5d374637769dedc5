//! The loop between an endpoint and a transport.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{
    ChannelId, Config, ConfigError, ConnectError, ConnectOptions, ConnectionId, Endpoint, Event,
    Message, MessageId, SendError, Stats,
};
use samestep_transport::Transport;

/// Runs an endpoint over a transport: sends what is due, reads on arrival, keeps the endpoint's timers.
///
/// Whatever [`send`](Driver::send) was given between two calls of [`drive`](Driver::drive) leaves together at the
/// beginning of the next one. A game calls `drive` until its next tick is due, a server until it has something to do.
pub struct Driver<T> {
    endpoint: Endpoint,
    transport: T,
    packet: Vec<u8>,
}

/// Datagrams read before what they caused is sent: a flood must not keep the endpoint from answering.
const READ_LIMIT: u32 = 256;

impl<T: Transport> Driver<T> {
    /// A driver whose endpoint is seeded by the operating system.
    pub fn new(transport: T, config: Config) -> Result<Driver<T>, DriverError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| DriverError::Io(io::Error::other(error.to_string())))?;
        Driver::with_seed(transport, config, seed)
    }

    /// A driver with a seed of your own. Whoever knows the seed knows the keys: for tests and measurements only.
    pub fn with_seed(
        transport: T,
        config: Config,
        seed: [u8; 32],
    ) -> Result<Driver<T>, DriverError> {
        let packet = vec![0; config.max_packet];
        let endpoint = Endpoint::new(config, seed).map_err(DriverError::Config)?;
        Ok(Driver {
            endpoint,
            transport,
            packet,
        })
    }

    /// Runs until an event has come, and returns it, or until the [clock](Driver::now) reaches `until`, with `None`.
    ///
    /// What has arrived is read and what is due is sent at least once, also if `until` has passed. An error means that the
    /// transport is unusable; trouble on the network is none.
    pub fn drive(&mut self, until: Duration) -> io::Result<Option<Event>> {
        loop {
            let heard = self.receive()?;
            let now = self.transport.now();
            if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                self.endpoint.handle_timeout(now);
            }
            self.transmit(now)?;
            if let Some(event) = self.endpoint.poll_event() {
                return Ok(Some(event));
            }
            if now >= until {
                return Ok(None);
            }
            if !heard {
                let next = self
                    .endpoint
                    .poll_timeout()
                    .map_or(until, |at| at.min(until));
                self.transport.wait(Some(next))?;
            }
        }
    }

    /// Like [`drive`](Driver::drive) for this long from now.
    pub fn drive_for(&mut self, time: Duration) -> io::Result<Option<Event>> {
        self.drive(self.now() + time)
    }

    /// Drives until nothing is left to be said, at most until `until`, and forgets the events of that time.
    ///
    /// Call it after the last [`close`](Driver::close): a farewell can get lost like any packet and is repeated until
    /// the other end has answered. An endpoint with open connections is never finished and takes all the time.
    pub fn finish(&mut self, until: Duration) -> io::Result<()> {
        while self.endpoint.poll_timeout().is_some() && self.now() < until {
            let next = self
                .endpoint
                .poll_timeout()
                .map_or(until, |at| at.min(until));
            self.drive(next)?;
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<bool> {
        for count in 0..READ_LIMIT {
            match self.transport.recv()? {
                Some(datagram) => {
                    self.endpoint
                        .handle_datagram(datagram.at, datagram.from, datagram.bytes)
                }
                None => return Ok(count > 0),
            }
        }
        Ok(true)
    }

    fn transmit(&mut self, now: Duration) -> io::Result<()> {
        while let Some(transmit) = self.endpoint.poll_transmit(now, &mut self.packet) {
            self.transport
                .send(transmit.to, &self.packet[..transmit.len])?;
        }
        self.transport.flush()
    }

    /// Begins to connect; an event tells how it ends.
    pub fn connect(
        &mut self,
        to: SocketAddr,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        self.endpoint.connect(self.transport.now(), to, options)
    }

    /// Queues a message; it leaves with the next [`drive`](Driver::drive).
    pub fn send(
        &mut self,
        to: ConnectionId,
        channel: ChannelId,
        message: &[u8],
    ) -> Result<MessageId, SendError> {
        self.endpoint
            .send(self.transport.now(), to, channel, message)
    }

    /// The next message of a connection, in the order in which messages became deliverable.
    pub fn recv(&mut self, from: ConnectionId) -> Option<Message<'_>> {
        self.endpoint.recv(from)
    }

    /// Closes a connection once its reliable messages have arrived. Its `Closed` event says when that is so; call
    /// [`finish`](Driver::finish) before dropping the driver, or the other end may have to wait for its time-out.
    pub fn close(&mut self, id: ConnectionId, code: u32, reason: &str) {
        self.endpoint.close(self.transport.now(), id, code, reason);
    }

    /// Counters and estimates of a connection.
    pub fn stats(&self, id: ConnectionId) -> Option<Stats> {
        self.endpoint.stats(id)
    }

    /// The clock all times refer to: the transport's.
    pub fn now(&self) -> Duration {
        self.transport.now()
    }

    /// The address others connect to.
    pub fn local_addr(&self) -> SocketAddr {
        self.transport.local_addr()
    }

    /// The endpoint, for what the driver has no call for.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The endpoint, for what the driver has no call for. Give it [`now`](Driver::now) as time.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport, to change its settings. Do not read from it.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }
}

/// Why a driver could not be made.
#[derive(Debug)]
pub enum DriverError {
    /// The endpoint refuses its configuration.
    Config(ConfigError),
    /// The operating system failed us.
    Io(io::Error),
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverError::Config(error) => error.fmt(f),
            DriverError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DriverError {}

#[cfg(test)]
mod tests {
    use samestep_proto::CloseReason;
    use samestep_transport::Memory;

    use super::*;

    const ORDERED: ChannelId = ChannelId(3);
    const MOMENT: Duration = Duration::from_millis(1);

    fn pair() -> (Driver<Memory>, Driver<Memory>, ConnectionId) {
        let (a, b) = Memory::pair();
        let server = Driver::with_seed(a, Config::new("test", 1).accepting(2), [1; 32]).unwrap();
        let mut client = Driver::with_seed(b, Config::new("test", 1), [2; 32]).unwrap();
        let id = client
            .connect(server.local_addr(), ConnectOptions::default())
            .unwrap();
        (server, client, id)
    }

    #[test]
    fn messages_arrive_in_order_and_closing_says_why() {
        let (mut server, mut client, id) = pair();
        let mut received = Vec::new();
        let reason = 'closed: loop {
            while let Some(event) = client.drive_for(MOMENT).unwrap() {
                if let Event::Connected { .. } = event {
                    for number in 0..100u8 {
                        client.send(id, ORDERED, &[number]).unwrap();
                    }
                    client.close(id, 7, "done");
                }
            }
            while let Some(event) = server.drive_for(MOMENT).unwrap() {
                match event {
                    Event::Readable { id } => {
                        while let Some(message) = server.recv(id) {
                            received.push(message.payload[0]);
                        }
                    }
                    Event::Closed { reason, .. } => break 'closed reason,
                    _ => {}
                }
            }
        };
        assert_eq!(received, (0..100).collect::<Vec<_>>());
        assert_eq!(
            reason,
            CloseReason::Remote {
                code: 7,
                reason: "done".into()
            }
        );
    }

    #[test]
    fn finish_stays_until_the_other_end_knows() {
        let (mut server, mut client, id) = pair();
        let (tell, told) = std::sync::mpsc::channel();
        let client = std::thread::spawn(move || {
            while !matches!(
                client.drive_for(MOMENT).unwrap(),
                Some(Event::Connected { .. })
            ) {}
            client.close(id, 0, "bye");
            let late = client.now() + Duration::from_secs(60);
            client.finish(late).unwrap();
            tell.send(client.now() < late).unwrap();
        });
        while !matches!(
            server.drive_for(MOMENT).unwrap(),
            Some(Event::Closed { .. })
        ) {}
        let in_time = loop {
            server.drive_for(MOMENT).unwrap();
            if let Ok(in_time) = told.try_recv() {
                break in_time;
            }
        };
        assert!(in_time);
        client.join().unwrap();
    }

    #[test]
    fn drive_returns_when_its_time_is_up() {
        let (mut server, _client, _) = pair();
        let until = server.now() + Duration::from_millis(5);
        while server.drive(until).unwrap().is_some() {}
        assert!(server.now() >= until);
        assert_eq!(server.drive(Duration::ZERO).unwrap(), None);
    }

    #[test]
    fn a_configuration_nobody_can_use_is_refused() {
        let (a, _) = Memory::pair();
        let error = Driver::with_seed(
            a,
            Config {
                channels: Vec::new(),
                ..Config::new("test", 1)
            },
            [0; 32],
        )
        .err()
        .unwrap();
        assert!(error.to_string().contains("channels"), "{error}");
    }
}
