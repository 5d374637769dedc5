//! One UDP proxy in the way of everyone: it delays and loses datagrams as a link would, and counts them.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    error::Error,
    io,
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, AsRawFd},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token, unix::SourceFd};
use nix::sys::{
    time::TimeSpec,
    timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};
use samestep_netem::{IP_UDP_OVERHEAD_BYTES, Link, LinkConfig};

use crate::{
    control::{Control, PATIENCE},
    sockets,
};

/// Where datagrams come in and where they go.
pub struct Route {
    /// Clients send here instead of to the server.
    pub listen: UdpSocket,
    /// The server.
    pub upstream: SocketAddr,
    /// What happens on the way, independently in each direction.
    pub link: LinkConfig,
    /// Which losses happen; the same seed for all, so that all meet the same link.
    pub seed: u64,
}

/// What came to the proxy from both sides, before anything was lost. Bytes include the IP and UDP headers.
#[derive(Clone, Copy, Default)]
pub struct Traffic {
    /// Datagrams.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// Runs in a thread of its own until dropped.
pub struct Proxy {
    control: Arc<Control>,
    counters: Arc<[Counter]>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Begins to forward.
    pub fn start(routes: Vec<Route>) -> Result<Proxy, Box<dyn Error>> {
        let control = Arc::new(Control::default());
        let counters: Arc<[Counter]> = routes.iter().map(|_| Counter::default()).collect();
        let mut forwarder = Forwarder::new(routes, Arc::clone(&counters))?;
        let stop = Arc::clone(&control);
        let thread = thread::spawn(move || {
            forwarder
                .run(&stop)
                .expect("sockets on this machine do not fail")
        });
        Ok(Proxy {
            control,
            counters,
            thread: Some(thread),
        })
    }

    /// What a route has carried so far.
    pub fn traffic(&self, route: usize) -> Traffic {
        let Counter { packets, bytes } = &self.counters[route];
        Traffic {
            packets: packets.load(Relaxed),
            bytes: bytes.load(Relaxed),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            // A panic there was already printed.
            let _ = thread.join();
        }
    }
}

impl std::ops::Sub for Traffic {
    type Output = Traffic;

    fn sub(self, before: Traffic) -> Traffic {
        Traffic {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
        }
    }
}

#[derive(Default)]
struct Counter {
    packets: AtomicU64,
    bytes: AtomicU64,
}

/// One client of one route: it has its own socket towards the server, which so can tell clients apart.
struct Flow {
    route: usize,
    client: SocketAddr,
    socket: UdpSocket,
    links: [Link; 2],
}

/// Ordered by arrival time; the number keeps those of one instant in the order they were sent.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    at: Duration,
    number: u64,
    flow: usize,
    direction: usize,
    datagram: Vec<u8>,
}

const UP: usize = 0;
const DOWN: usize = 1;
const TIMER: Token = Token(usize::MAX);

struct Forwarder {
    poll: Poll,
    epoch: Instant,
    routes: Vec<Route>,
    flows: Vec<Flow>,
    known: HashMap<(usize, SocketAddr), usize>,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    sent: u64,
    /// epoll counts milliseconds, the timer nanoseconds.
    timer: TimerFd,
    alarm: Option<Duration>,
    counters: Arc<[Counter]>,
}

impl Forwarder {
    fn new(routes: Vec<Route>, counters: Arc<[Counter]>) -> Result<Forwarder, Box<dyn Error>> {
        let poll = Poll::new()?;
        for (index, route) in routes.iter().enumerate() {
            let fd = route.listen.as_raw_fd();
            poll.registry()
                .register(&mut SourceFd(&fd), Token(index), Interest::READABLE)?;
        }
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)?;
        poll.registry().register(
            &mut SourceFd(&timer.as_fd().as_raw_fd()),
            TIMER,
            Interest::READABLE,
        )?;
        Ok(Forwarder {
            poll,
            epoch: Instant::now(),
            routes,
            flows: Vec::new(),
            known: HashMap::new(),
            under_way: BinaryHeap::new(),
            sent: 0,
            timer,
            alarm: None,
            counters,
        })
    }

    fn run(&mut self, control: &Control) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(1024);
        while !control.is_stopped() {
            self.poll.poll(&mut events, Some(PATIENCE))?;
            for event in &events {
                match event.token() {
                    TIMER => {}
                    Token(route) if route < self.routes.len() => self.read_clients(route)?,
                    Token(flow) => self.read_server(flow - self.routes.len())?,
                }
            }
            self.deliver()?;
        }
        Ok(())
    }

    fn read_clients(&mut self, route: usize) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; 65536];
        while let Some((bytes, client)) = pending(self.routes[route].listen.recv_from(&mut buffer))?
        {
            let flow = match self.known.get(&(route, client)) {
                Some(&flow) => flow,
                None => self.open(route, client)?,
            };
            self.forward(flow, UP, &buffer[..bytes]);
        }
        Ok(())
    }

    fn read_server(&mut self, flow: usize) -> Result<(), Box<dyn Error>> {
        let mut buffer = [0; 65536];
        while let Some(bytes) = pending(self.flows[flow].socket.recv(&mut buffer))? {
            self.forward(flow, DOWN, &buffer[..bytes]);
        }
        Ok(())
    }

    fn open(&mut self, route: usize, client: SocketAddr) -> Result<usize, Box<dyn Error>> {
        let Route {
            upstream,
            link,
            seed,
            ..
        } = &self.routes[route];
        let socket = sockets::client_udp()?;
        socket.connect(upstream)?;
        let index = self.flows.len();
        let token = Token(self.routes.len() + index);
        self.poll.registry().register(
            &mut SourceFd(&socket.as_raw_fd()),
            token,
            Interest::READABLE,
        )?;
        let links = [
            Link::new(link.clone(), *seed)?,
            Link::new(link.clone(), !*seed)?,
        ];
        self.flows.push(Flow {
            route,
            client,
            socket,
            links,
        });
        self.known.insert((route, client), index);
        Ok(index)
    }

    fn forward(&mut self, flow: usize, direction: usize, datagram: &[u8]) {
        let Flow { route, links, .. } = &mut self.flows[flow];
        let counter = &self.counters[*route];
        counter.packets.fetch_add(1, Relaxed);
        counter
            .bytes
            .fetch_add((datagram.len() + IP_UDP_OVERHEAD_BYTES) as u64, Relaxed);
        let fate = links[direction].send(self.epoch.elapsed(), datagram.len());
        for at in fate.arrivals {
            self.sent += 1;
            self.under_way.push(Reverse(UnderWay {
                at,
                number: self.sent,
                flow,
                direction,
                datagram: datagram.to_vec(),
            }));
        }
    }

    /// Sends on what has arrived and sets the timer to the next arrival.
    fn deliver(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(Reverse(next)) = self.under_way.peek()
            && next.at <= self.epoch.elapsed()
        {
            let Some(Reverse(UnderWay {
                flow,
                direction,
                datagram,
                ..
            })) = self.under_way.pop()
            else {
                break;
            };
            let Flow {
                route,
                client,
                socket,
                ..
            } = &self.flows[flow];
            let sent = match direction {
                UP => socket.send(&datagram),
                _ => self.routes[*route].listen.send_to(&datagram, *client),
            };
            // A side that has gone away refuses its datagrams; the network would not notice either.
            if !matches!(&sent, Err(error) if error.kind() == io::ErrorKind::ConnectionRefused) {
                pending(sent)?;
            }
        }
        let next = self.under_way.peek().map(|Reverse(next)| next.at);
        if next != self.alarm {
            if let Some(at) = next {
                let wait = at
                    .saturating_sub(self.epoch.elapsed())
                    .max(Duration::from_nanos(1));
                self.timer.set(
                    Expiration::OneShot(TimeSpec::from_duration(wait)),
                    TimerSetTimeFlags::empty(),
                )?;
            }
            self.alarm = next;
        }
        Ok(())
    }
}

/// `None` where the call would block, or where the other side has gone away.
fn pending<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
