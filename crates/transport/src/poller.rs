#[cfg(any(target_os = "linux", target_os = "android"))]
pub use self::epoll::Poller;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub use self::list::Poller;

use crate::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use std::io;
use std::time::Duration;

/// Blocks until `socket` is readable, has an error to report, or the clock reaches `until`.
pub(crate) fn wait_readable(socket: impl AsFd, until: Option<Duration>) -> io::Result<()> {
    poll_until(&mut [PollFd::new(&socket, PollFlags::IN)], until)
}

fn poll_until(sockets: &mut [PollFd<'_>], until: Option<Duration>) -> io::Result<()> {
    loop {
        let timeout = clock::left(until).map(timespec);
        match poll(sockets, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result.map(|_| ())?),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod epoll {
    use super::{clock, poll_until, timespec};
    use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
    use rustix::event::{PollFd, PollFlags, Timespec};
    use rustix::fd::{AsFd, OwnedFd};
    use std::io;
    use std::mem::MaybeUninit;
    use std::time::Duration;

    /// Waits for many sockets at once: a server's connections, or the clients of a benchmark.
    ///
    /// A socket is reported as long as it is readable (level-triggered). Closing a socket removes it.
    #[derive(Debug)]
    pub struct Poller {
        epoll: OwnedFd,
        /// The keys of the sockets that are ready.
        ready: Vec<u64>,
    }

    impl Poller {
        /// Most sockets reported by one wait; the rest are reported by the next.
        const BATCH: usize = 256;

        /// A poller with no sockets.
        pub fn new() -> io::Result<Poller> {
            Ok(Poller {
                epoll: epoll::create(CreateFlags::CLOEXEC)?,
                ready: Vec::with_capacity(Poller::BATCH),
            })
        }

        /// Watches `socket` for something to read; it is reported as `key`.
        pub fn add(&mut self, socket: impl AsFd, key: u64) -> io::Result<()> {
            Ok(epoll::add(
                &self.epoll,
                socket,
                EventData::new_u64(key),
                EventFlags::IN,
            )?)
        }

        /// Watches an added socket for room to write too, or no longer.
        pub fn set_writable(
            &mut self,
            socket: impl AsFd,
            key: u64,
            writable: bool,
        ) -> io::Result<()> {
            let mut flags = EventFlags::IN;
            flags.set(EventFlags::OUT, writable);
            Ok(epoll::modify(
                &self.epoll,
                socket,
                EventData::new_u64(key),
                flags,
            )?)
        }

        /// Watches `socket` no longer.
        pub fn remove(&mut self, socket: impl AsFd, _key: u64) -> io::Result<()> {
            Ok(epoll::delete(&self.epoll, socket)?)
        }

        /// Blocks until a socket is ready or the clock reaches `until`; returns the keys of those that are.
        pub fn wait(
            &mut self,
            until: Option<Duration>,
        ) -> io::Result<impl Iterator<Item = u64> + '_> {
            self.ready.clear();
            if until.is_none() {
                self.look(None)?;
            } else {
                // First without waiting; then wait for the epoll itself to become readable, because poll takes
                // nanoseconds on every kernel and epoll_wait milliseconds.
                let at_once = timespec(Duration::ZERO);
                self.look(Some(&at_once))?;
                if self.ready.is_empty() && clock::left(until) != Some(Duration::ZERO) {
                    poll_until(&mut [PollFd::new(&self.epoll, PollFlags::IN)], until)?;
                    self.look(Some(&at_once))?;
                }
            }
            Ok(self.ready.iter().copied())
        }

        fn look(&mut self, timeout: Option<&Timespec>) -> io::Result<()> {
            let mut events = [MaybeUninit::<Event>::uninit(); Poller::BATCH];
            match epoll::wait(&self.epoll, &mut events, timeout) {
                Ok((events, _)) => {
                    self.ready
                        .extend(events.iter().map(|event| event.data.u64()));
                    Ok(())
                }
                Err(rustix::io::Errno::INTR) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

#[cfg(any(test, not(any(target_os = "linux", target_os = "android"))))]
mod list {
    use super::poll_until;
    use rustix::event::{PollFd, PollFlags};
    use rustix::fd::{AsFd, OwnedFd};
    use std::io;
    use std::time::Duration;

    /// Waits for many sockets at once, where the system has no better way than a list of them.
    ///
    /// A socket is reported as long as it is readable (level-triggered).
    #[derive(Debug)]
    pub struct Poller {
        sockets: Vec<(u64, OwnedFd, PollFlags)>,
        ready: Vec<u64>,
    }

    impl Poller {
        /// A poller with no sockets.
        pub fn new() -> io::Result<Poller> {
            Ok(Poller {
                sockets: Vec::new(),
                ready: Vec::new(),
            })
        }

        /// Watches `socket` for something to read; it is reported as `key`.
        pub fn add(&mut self, socket: impl AsFd, key: u64) -> io::Result<()> {
            let socket = socket.as_fd().try_clone_to_owned()?;
            self.sockets.push((key, socket, PollFlags::IN));
            Ok(())
        }

        /// Watches an added socket for room to write too, or no longer.
        pub fn set_writable(
            &mut self,
            _socket: impl AsFd,
            key: u64,
            writable: bool,
        ) -> io::Result<()> {
            for (other, _, flags) in &mut self.sockets {
                if *other == key {
                    flags.set(PollFlags::OUT, writable);
                }
            }
            Ok(())
        }

        /// Watches `socket` no longer.
        pub fn remove(&mut self, _socket: impl AsFd, key: u64) -> io::Result<()> {
            self.sockets.retain(|(other, ..)| *other != key);
            Ok(())
        }

        /// Blocks until a socket is ready or the clock reaches `until`; returns the keys of those that are.
        pub fn wait(
            &mut self,
            until: Option<Duration>,
        ) -> io::Result<impl Iterator<Item = u64> + '_> {
            let mut list: Vec<_> = self
                .sockets
                .iter()
                .map(|(_, fd, flags)| PollFd::new(fd, *flags))
                .collect();
            poll_until(&mut list, until)?;
            let ready = list
                .iter()
                .zip(&self.sockets)
                .filter(|(fd, _)| !fd.revents().is_empty());
            self.ready = ready.map(|(_, (key, ..))| *key).collect();
            Ok(self.ready.iter().copied())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::clock;
    use std::net::UdpSocket;
    use std::time::Duration;

    macro_rules! reports_the_ready_sockets_only {
        ($name:ident, $poller:ty) => {
            #[test]
            fn $name() {
                let sockets: Vec<_> = (0..5)
                    .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
                    .collect();
                let mut poller = <$poller>::new().unwrap();
                for (key, socket) in sockets.iter().enumerate() {
                    poller.add(socket, key as u64).unwrap();
                }
                let before = clock::now();
                let until = Some(before + Duration::from_micros(300));
                assert_eq!(poller.wait(until).unwrap().count(), 0);
                assert!(clock::now() >= before + Duration::from_micros(300));

                sockets[0]
                    .send_to(b"x", sockets[3].local_addr().unwrap())
                    .unwrap();
                for _ in 0..2 {
                    assert_eq!(
                        poller.wait(None).unwrap().collect::<Vec<_>>(),
                        [3],
                        "until it is read"
                    );
                }
                sockets[3].recv(&mut [0; 8]).unwrap();
                assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap().count(), 0);
                poller.set_writable(&sockets[1], 1, true).unwrap();
                assert_eq!(poller.wait(None).unwrap().collect::<Vec<_>>(), [1]);
                poller.remove(&sockets[1], 1).unwrap();
                assert_eq!(poller.wait(Some(Duration::ZERO)).unwrap().count(), 0);
            }
        };
    }

    reports_the_ready_sockets_only!(
        the_best_poller_reports_the_ready_sockets_only,
        super::Poller
    );
    reports_the_ready_sockets_only!(the_list_reports_the_ready_sockets_only, super::list::Poller);
}
