//! The end of the handshake in plain mode: the client says that it holds the keys until the server answers with a packet.

use core::time::Duration;
use std::net::SocketAddr;

use crate::connection::Connection;
use crate::handshake::FINISH_BYTES;

/// First wait before it is repeated; grows by half each time.
const REPEAT_AFTER: Duration = Duration::from_millis(100);
const REPEAT_AT_MOST: Duration = Duration::from_secs(1);

/// A Finish that has not been answered.
#[derive(Debug)]
pub(super) struct Finishing {
    datagram: [u8; FINISH_BYTES],
    pub(super) next_at: Duration,
    wait: Duration,
}

impl Connection {
    /// Sends a Finish ahead of everything else.
    pub(crate) fn send_finish(&mut self, now: Duration, datagram: [u8; FINISH_BYTES]) {
        self.finishing = Some(Finishing {
            datagram,
            next_at: now,
            wait: REPEAT_AFTER,
        });
    }

    /// The Finish, if it is due.
    pub(super) fn transmit_finish(
        &mut self,
        now: Duration,
        buf: &mut [u8],
    ) -> Option<(SocketAddr, usize)> {
        let finishing = self.finishing.as_mut().filter(|f| f.next_at <= now)?;
        finishing.next_at = now + finishing.wait;
        finishing.wait = (finishing.wait * 3 / 2).min(REPEAT_AT_MOST);
        buf[..FINISH_BYTES].copy_from_slice(&finishing.datagram);
        Some((self.peer, FINISH_BYTES))
    }
}
