//! The loop between a machine without IO and a transport.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use samestep_proto::{
    ChannelId, Clock, Config, ConfigError, ConnectError, ConnectOptions, ConnectionId, Endpoint,
    Machine, Message, MessageId, SendError, Stats,
};
use samestep_session::{Match, Role, Session, SessionConfig, SetupError};
use samestep_sync::{Model, World};
use samestep_transport::Transport;

/// Runs a machine over a transport: sends what is due, reads on arrival, keeps its timers.
///
/// The machine is an [`Endpoint`], or any other protocol without IO, such as a session. Messages queued between two calls of
/// [`drive`](Driver::drive) leave together at the beginning of the next one. A game calls `drive`
/// until its next tick is due, a server until it has something to do.
pub struct Driver<T, M = Endpoint> {
    machine: M,
    transport: T,
    packet: Vec<u8>,
}

/// Datagrams read before the answers to them are sent: a flood must not keep the machine from answering.
const READ_LIMIT: u32 = 256;
/// Datagrams sent before reading again: the answers to the first must not overflow the socket while the last are sent.
const SEND_LIMIT: u32 = 256;

impl<T: Transport, M: Machine> Driver<T, M> {
    /// Drives `machine` over `transport`, whose [clock](Driver::now) is the machine's from now on.
    pub fn over(transport: T, machine: M) -> Driver<T, M> {
        tracing::debug!(address = %transport.local_addr(), "driver starts");
        Driver {
            packet: vec![0; machine.max_packet()],
            machine,
            transport,
        }
    }

    /// Runs until an event has come, and returns it, or until the [clock](Driver::now) reaches `until`, with `None`.
    ///
    /// What has arrived is read and what is due is sent at least once, also if `until` has passed. An error means that the
    /// transport is unusable; trouble on the network is none.
    pub fn drive(&mut self, until: Duration) -> io::Result<Option<M::Event>> {
        self.drive_noting(until, &mut |_, _| {})
    }

    /// Like [`drive`](Driver::drive), and calls `note` each time before it sends: what the machine has done by then can be written down before
    /// anybody is told of it.
    pub(crate) fn drive_noting(
        &mut self,
        until: Duration,
        note: &mut dyn FnMut(Duration, &mut M),
    ) -> io::Result<Option<M::Event>> {
        loop {
            let (event, over) = self.round(until, note)?;
            if event.is_some() || over {
                return Ok(event);
            }
        }
    }

    /// Reads what has arrived, sends what is due, and returns the next event. If nothing was there, waits until something
    /// arrives, a timer is due or the [clock](Driver::now) reaches `until`, and returns `None`.
    pub fn drive_once(&mut self, until: Duration) -> io::Result<Option<M::Event>> {
        Ok(self.round(until, &mut |_, _| {})?.0)
    }

    /// One round, and whether time is up.
    fn round(
        &mut self,
        until: Duration,
        note: &mut dyn FnMut(Duration, &mut M),
    ) -> io::Result<(Option<M::Event>, bool)> {
        let heard = self.receive()?;
        let now = self.transport.now();
        self.handle_timers(now);
        note(now, &mut self.machine);
        let more = self.transmit(now)?;
        let event = self.machine.poll_event();
        if event.is_none() && !heard && !more && now < until {
            let next = self.machine.poll_timeout();
            let next = next.map_or(until, |at| at.min(until));
            self.transport.wait(Some(next))?;
        }
        Ok((event, now >= until && !more))
    }

    /// Like [`drive`](Driver::drive) for this long from now.
    pub fn drive_for(&mut self, time: Duration) -> io::Result<Option<M::Event>> {
        self.drive(self.now() + time)
    }

    /// Drives until nothing is left to be sent, at most until `until`, and drops the events of that time.
    ///
    /// Call it after the last farewell (`close` of an endpoint, `leave` of a session): it can get lost like any packet and
    /// is repeated until the other end has answered. A machine with open connections is never finished and takes all the
    /// time.
    pub fn finish(&mut self, until: Duration) -> io::Result<()> {
        self.drive(Duration::ZERO)?;
        while let Some(next) = self.machine.poll_timeout()
            && self.now() < until
        {
            self.drive(next.min(until))?;
        }
        Ok(())
    }

    /// Handles due timers and sends, without waiting; returns whether there is more to send.
    pub(crate) fn settle(&mut self, now: Duration) -> io::Result<bool> {
        self.handle_timers(now);
        self.transmit(now)
    }

    fn handle_timers(&mut self, now: Duration) {
        if self.machine.poll_timeout().is_some_and(|at| at <= now) {
            self.machine.handle_timeout(now);
        }
    }

    /// Reads what has arrived; returns whether anything had.
    pub(crate) fn receive(&mut self) -> io::Result<bool> {
        for count in 0..READ_LIMIT {
            match self.transport.recv()? {
                Some(datagram) => {
                    self.machine
                        .handle_datagram(datagram.at, datagram.from, datagram.bytes)
                }
                None => return Ok(count > 0),
            }
        }
        Ok(true)
    }

    fn transmit(&mut self, mut now: Duration) -> io::Result<bool> {
        let mut left = SEND_LIMIT;
        while left > 0
            && let Some(transmit) = self.machine.poll_transmit(now, &mut self.packet)
        {
            left -= 1;
            self.transport
                .send(transmit.to, &self.packet[..transmit.len])?;
            // The last datagram must not carry the send time of the first.
            now = self.transport.now();
        }
        self.transport.flush()?;
        Ok(left == 0)
    }

    /// The clock all times refer to: the transport's.
    pub fn now(&self) -> Duration {
        self.transport.now()
    }

    /// The address others connect to.
    pub fn local_addr(&self) -> SocketAddr {
        self.transport.local_addr()
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine. Give it [`now`](Driver::now) as time.
    pub fn machine_mut(&mut self) -> &mut M {
        &mut self.machine
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport, to change its settings, or to tell a stage of it what the application knows.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }
}

impl<T: Transport> Driver<T> {
    /// A driver whose endpoint is seeded by the operating system.
    pub fn new(transport: T, config: Config) -> Result<Driver<T>, DriverError> {
        Driver::with_seed(transport, config, seed()?)
    }

    /// A driver with a seed of your own. Whoever knows the seed knows the keys: for tests and measurements only.
    pub fn with_seed(
        transport: T,
        config: Config,
        seed: [u8; 32],
    ) -> Result<Driver<T>, DriverError> {
        let config = with_clock(transport.now(), config);
        let endpoint = Endpoint::new(config, seed).map_err(DriverError::Config)?;
        Ok(Driver::over(transport, endpoint))
    }

    /// Begins to connect; an event reports the outcome.
    pub fn connect(
        &mut self,
        to: SocketAddr,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        self.machine.connect(self.transport.now(), to, options)
    }

    /// Queues a message; it leaves with the next [`drive`](Driver::drive).
    pub fn send(
        &mut self,
        to: ConnectionId,
        channel: ChannelId,
        message: &[u8],
    ) -> Result<MessageId, SendError> {
        self.machine
            .send(self.transport.now(), to, channel, message)
    }

    /// The next message of a connection, in the order in which messages became deliverable.
    pub fn recv(&mut self, from: ConnectionId) -> Option<Message<'_>> {
        self.machine.recv(from)
    }

    /// Closes a connection once its reliable messages have arrived. Its `Closed` event says when that is so; call
    /// [`finish`](Driver::finish) before dropping the driver, or the other end may have to wait for its time-out.
    pub fn close(&mut self, id: ConnectionId, code: u32, reason: &str) {
        self.machine.close(self.transport.now(), id, code, reason);
    }

    /// Counters and estimates of a connection.
    pub fn stats(&self, id: ConnectionId) -> Option<Stats> {
        self.machine.stats(id)
    }
}

impl<T: Transport> Driver<T, Session> {
    /// A driver for a session whose keys come from the operating system.
    pub fn session(
        transport: T,
        config: SessionConfig,
        role: Role,
    ) -> Result<Driver<T, Session>, DriverError> {
        let config = session_with_clock(transport.now(), config);
        let session = Session::new(transport.now(), config, role, seed()?);
        Ok(Driver::over(
            transport,
            session.map_err(DriverError::Setup)?,
        ))
    }

    /// Leaves the room with this message, and drives until everyone has acknowledged it, at most until `until`. Events of that time
    /// are dropped.
    pub fn leave(&mut self, words: &str, until: Duration) -> io::Result<()> {
        self.machine.leave(self.transport.now(), words);
        self.drain(until, |session| session)
    }
}

impl<T: Transport, W: World, M: Model> Driver<T, Match<W, M>> {
    /// A driver for a game whose keys come from the operating system.
    pub fn game(
        transport: T,
        config: SessionConfig,
        role: Role,
        model: M,
        world: W,
    ) -> Result<Self, DriverError> {
        let config = session_with_clock(transport.now(), config);
        let game = Match::new(transport.now(), config, role, seed()?, model, world);
        Ok(Driver::over(transport, game.map_err(DriverError::Setup)?))
    }

    /// Leaves the game with this message, as [`leave`](Driver::leave) does for a session.
    pub fn leave_game(&mut self, words: &str, until: Duration) -> io::Result<()> {
        let now = self.transport.now();
        self.machine.session_mut().leave(now, words);
        self.drain(until, |game| game.session())
    }
}

impl<T: Transport, M: Machine> Driver<T, M> {
    /// Drives until everything sent is acknowledged.
    fn drain(&mut self, until: Duration, session: impl Fn(&M) -> &Session) -> io::Result<()> {
        while !session(&self.machine).is_quiet() && self.now() < until {
            self.drive_once(until)?;
        }
        // Others that leave at the same time wait for an acknowledgement, which may be delayed for that long.
        let last = self.now() + session(&self.machine).endpoint().config().ack_delay * 2;
        while self.now() < last.min(until) {
            self.drive(last.min(until))?;
        }
        Ok(())
    }
}

/// The one place where keys come from the system.
pub(crate) fn seed() -> io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(seed)
}

/// The settings with the time of day, unless they have one: the one place where it comes from the system.
fn with_clock(now: Duration, mut config: Config) -> Config {
    config.clock.get_or_insert_with(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Clock::starting(now, since.map_or(0, |since| since.as_secs()))
    });
    config
}

/// The same for the endpoint of a session.
pub(crate) fn session_with_clock(now: Duration, mut config: SessionConfig) -> SessionConfig {
    config.protocol = with_clock(now, config.protocol);
    config
}

/// Why a driver could not be made. `Debug` shows the message too, so that `main` may return it.
#[derive(thiserror::Error)]
pub enum DriverError {
    /// The endpoint refuses its configuration.
    #[error(transparent)]
    Config(ConfigError),
    /// The session refuses its settings.
    #[error(transparent)]
    Setup(SetupError),
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use samestep_proto::{AcceptConfig, CloseReason, Event, TokenIssuer};
    use samestep_session::{JoinTo, SessionEvent};
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
    fn a_lobby_key_finds_the_time_of_day_by_itself() {
        let accept = AcceptConfig {
            lobby_key: Some(TokenIssuer::new([3; 32]).public_key()),
            ..AcceptConfig::default()
        };
        let config = Config {
            accept: Some(accept),
            ..Config::new("test", 1)
        };
        let driver = Driver::new(Memory::pair().0, config).unwrap();
        assert!(driver.machine.config().clock.is_some());
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
    fn a_session_is_driven_like_an_endpoint_and_leaves_politely() {
        let (a, b) = Memory::pair();
        let config = |name: &str| SessionConfig::new("test", 1).player(name);
        let mut host = Driver::session(a, config("Ada"), Role::Host).unwrap();
        let join = Role::Client(JoinTo::new(host.local_addr()));
        let mut guest = Driver::session(b, config("Ben"), join).unwrap();
        while guest.drive_for(MOMENT).unwrap() != Some(SessionEvent::InSync) {
            host.drive_for(MOMENT).unwrap();
        }
        let (tell, told) = std::sync::mpsc::channel();
        let guest = std::thread::spawn(move || {
            let late = guest.now() + Duration::from_secs(60);
            guest.leave("bye", late).unwrap();
            tell.send(guest.now() < late).unwrap();
        });
        let mut left = None;
        let in_time = loop {
            match host.drive_for(MOMENT).unwrap() {
                Some(SessionEvent::PeerLeft { reason, .. }) => left = Some(reason.to_string()),
                _ => {
                    if let Ok(in_time) = told.try_recv() {
                        break in_time;
                    }
                }
            }
        };
        assert!(in_time);
        guest.join().unwrap();
        while left.is_none() {
            if let Some(SessionEvent::PeerLeft { reason, .. }) = host.drive_for(MOMENT).unwrap() {
                left = Some(reason.to_string());
            }
        }
        assert_eq!(left.as_deref(), Some("left: bye"));
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
