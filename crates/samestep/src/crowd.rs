//! [`Crowd`]: many machines on one thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use samestep_proto::Machine;
use samestep_transport::{Poller, Transport, Udp};

use crate::driver::Driver;

/// Members read from before timers are checked: a burst for many members must not delay the others.
const READ_LIMIT: usize = 8;

/// Runs many machines, each over a transport of its own, on one thread: the rooms of a server, the guests of a load test (the lab's
/// real rooms run on it).
///
/// It waits for all of them at once, so those that are idle cost nothing. Members are known by the index
/// [`add`](Crowd::add) gave them.
///
/// ```
/// use samestep::prelude::*;
/// use samestep::Driver;
/// use samestep::session::{JoinTo, Role};
/// use samestep::transport::Udp;
/// use samestep::Crowd;
/// use std::time::Duration;
///
/// let config = |name: &str| SessionConfig::new("example", 1).player(name);
/// let mut crowd = Crowd::new()?;
/// let host = Driver::session(Udp::bind("127.0.0.1:0".parse()?)?, config("Ann"), Role::Host)?;
/// let join = JoinTo::new(host.local_addr());
/// crowd.add(host)?;
/// for name in ["Bo", "Cy", "Di"] {
///     let socket = Udp::bind("127.0.0.1:0".parse()?)?;
///     crowd.add(Driver::session(socket, config(name), Role::Client(join.clone()))?)?;
/// }
/// let late = crowd.now() + Duration::from_secs(10);
/// let mut in_sync = 0;
/// while in_sync < 4 {
///     let (_, event) = crowd.next(late)?.expect("everyone joins");
///     in_sync += u32::from(event == SessionEvent::InSync);
/// }
/// assert_eq!(crowd.member(0).room().players().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Crowd<M: Machine, T = Udp> {
    members: Vec<Member<T, M>>,
    poller: Poller,
    /// When members want to be woken; only the entry a member calls its own counts.
    timers: BinaryHeap<Reverse<(Duration, usize)>>,
    /// Members that may have something to send, or events.
    touched: VecDeque<usize>,
    events: VecDeque<(usize, M::Event)>,
    /// Members for whom something has arrived.
    ready: Vec<usize>,
    /// Members that have more to send, once what has arrived meanwhile is read.
    unfinished: Vec<usize>,
}

struct Member<T, M> {
    driver: Driver<T, M>,
    timer: Option<Duration>,
    touched: bool,
    /// Something has arrived that is not yet read.
    readable: bool,
}

impl<M: Machine, T: Transport + AsFd> Crowd<M, T> {
    /// An empty crowd.
    pub fn new() -> io::Result<Crowd<M, T>> {
        Ok(Crowd {
            members: Vec::new(),
            poller: Poller::new()?,
            timers: BinaryHeap::new(),
            touched: VecDeque::new(),
            events: VecDeque::new(),
            ready: Vec::new(),
            unfinished: Vec::new(),
        })
    }

    /// Adds a member, and returns its index.
    pub fn add(&mut self, driver: Driver<T, M>) -> io::Result<usize> {
        let index = self.members.len();
        self.poller.add(driver.transport(), index as u64)?;
        self.members.push(Member {
            driver,
            timer: None,
            touched: false,
            readable: false,
        });
        self.touch(index);
        Ok(index)
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A member.
    pub fn member(&self, index: usize) -> &M {
        self.members[index].driver.machine()
    }

    /// A member's transport, to look at.
    pub fn transport(&self, index: usize) -> &T {
        self.members[index].driver.transport()
    }

    /// Does something with a member. What it says leaves with the next call of [`next`](Crowd::next).
    pub fn with<R>(&mut self, index: usize, act: impl FnOnce(Duration, &mut M) -> R) -> R {
        self.touch(index);
        let driver = &mut self.members[index].driver;
        act(driver.now(), driver.machine_mut())
    }

    /// The clock all times refer to.
    pub fn now(&self) -> Duration {
        samestep_transport::now()
    }

    /// Runs until a member has an event, and returns it, or until the [clock](Crowd::now) reaches `until`, with `None`.
    ///
    /// What is due is sent and what has arrived is read at least once, also if `until` has passed; of very much that is to be sent
    /// the rest then leaves with the next call. An error means that a transport is unusable.
    pub fn next(&mut self, until: Duration) -> io::Result<Option<(usize, M::Event)>> {
        let mut waited = false;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            while let Some(index) = self.touched.pop_front() {
                self.attend(index)?;
            }
            if !self.events.is_empty() {
                continue;
            }
            let now = self.now();
            if waited && self.ready.is_empty() && now >= until {
                return Ok(None);
            }
            if self.ready.is_empty() {
                let next = match self.timers.peek() {
                    _ if !self.unfinished.is_empty() => now,
                    Some(Reverse((at, _))) => until.min(*at),
                    None => until,
                };
                let ready = self.poller.wait(Some(next))?;
                for index in ready.map(|key| key as usize) {
                    self.members[index].readable = true;
                    self.ready.push(index);
                }
                waited = true;
            }
            // Whose time has come reads in the same breath.
            self.touch_due();
            for _ in 0..READ_LIMIT {
                let Some(index) = self.ready.pop() else {
                    break;
                };
                self.touch(index);
            }
            while let Some(index) = self.unfinished.pop() {
                self.touch(index);
            }
        }
    }

    fn touch(&mut self, index: usize) {
        if !std::mem::replace(&mut self.members[index].touched, true) {
            self.touched.push_back(index);
        }
    }

    fn touch_due(&mut self) {
        let now = self.now();
        while let Some(&Reverse((at, index))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let member = &mut self.members[index];
            // Others were overtaken by an earlier one, which has seen to what comes next.
            if member.timer == Some(at) {
                member.timer = None;
                self.touch(index);
            }
        }
    }

    fn attend(&mut self, index: usize) -> io::Result<()> {
        let member = &mut self.members[index];
        member.touched = false;
        if std::mem::take(&mut member.readable) {
            member.driver.receive()?;
        }
        let more = member.driver.settle(samestep_transport::now())?;
        let machine = member.driver.machine_mut();
        while let Some(event) = machine.poll_event() {
            self.events.push_back((index, event));
        }
        if let Some(at) = machine.poll_timeout()
            && member.timer.is_none_or(|timer| at < timer)
        {
            member.timer = Some(at);
            self.timers.push(Reverse((at, index)));
        }
        if more {
            self.unfinished.push(index);
        }
        Ok(())
    }
}
