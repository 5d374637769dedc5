//! Asking a STUN server for the address it sees, again and again, which also keeps the router's mapping open.

use std::net::SocketAddr;
use std::time::Duration;

use turn_client_proto::types::stun::attribute::XorMappedAddress;
use turn_client_proto::types::stun::message::{
    BINDING, Message, MessageClass, MessageType, MessageWrite, MessageWriteVec, TransactionId,
};

use crate::outbox::Outbox;
use crate::secret::Secrets;

/// How long the first request waits for its answer; each repetition waits twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Requests without an answer after which a server is given up for the moment: 3.1 s.
const ATTEMPTS: u32 = 5;

/// How often an answered server is asked again: routers forget a mapping after 30 s and more.
const AGAIN: Duration = Duration::from_secs(5);

/// What a server says of us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// It sees us at this address for the first time.
    Found(SocketAddr),
    /// It sees us at another address than before: the router has forgotten us, or the network is another.
    Moved(SocketAddr),
    /// It answers, as before.
    Same,
    /// It no longer answers.
    Gone,
}

/// The questions to one STUN server.
#[derive(Debug)]
pub(crate) struct Reflexive {
    pub(crate) server: SocketAddr,
    pub(crate) address: Option<SocketAddr>,
    /// The outstanding request.
    transaction: Option<TransactionId>,
    sent: u32,
    next: Duration,
    /// Whether it has answered or been given up at least once.
    settled: bool,
}

impl Reflexive {
    pub(crate) fn new(now: Duration, server: SocketAddr) -> Self {
        Self {
            server,
            address: None,
            transaction: None,
            sent: 0,
            next: now,
            settled: false,
        }
    }

    /// Whether there is nothing to wait for.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Asks at once whether the server is still there.
    pub(crate) fn ask(&mut self, now: Duration) {
        if self.transaction.is_none() {
            self.next = now;
        }
    }

    pub(crate) fn poll_timeout(&self) -> Duration {
        self.next
    }

    pub(crate) fn handle_timeout(
        &mut self,
        now: Duration,
        secrets: &mut Secrets,
        outbox: &mut Outbox,
    ) -> Option<Seen> {
        if now < self.next {
            return None;
        }
        if self.sent == ATTEMPTS {
            self.transaction = None;
            self.sent = 0;
            self.next = now + AGAIN;
            let known = self.address.take().is_some();
            let first = !std::mem::replace(&mut self.settled, true);
            return (known || first).then_some(Seen::Gone);
        }
        let transaction = *self
            .transaction
            .get_or_insert_with(|| secrets.transaction().into());
        let kind = MessageType::from_class_method(MessageClass::Request, BINDING);
        let message = Message::builder(kind, transaction, MessageWriteVec::new()).finish();
        outbox.push(self.server, &message);
        self.next = now + FIRST_WAIT * (1 << self.sent);
        self.sent += 1;
        None
    }

    /// Takes an answer; `None` if it is not for us.
    pub(crate) fn handle_message(
        &mut self,
        now: Duration,
        from: SocketAddr,
        message: &Message<'_>,
    ) -> Option<Seen> {
        let expected = from == self.server
            && message.has_method(BINDING)
            && message.has_class(MessageClass::Success)
            && self.transaction == Some(message.transaction_id());
        if !expected {
            return None;
        }
        let mapped = message.attribute::<XorMappedAddress>().ok()?;
        let address = mapped.addr(message.transaction_id());
        self.transaction = None;
        self.sent = 0;
        self.next = now + AGAIN;
        self.settled = true;
        Some(match self.address.replace(address) {
            Some(before) if before == address => Seen::Same,
            Some(_) => Seen::Moved(address),
            None => Seen::Found(address),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turn_client_proto::types::stun::message::MessageWriteExt;

    fn answer(request: &[u8], seen: SocketAddr) -> Vec<u8> {
        let request = Message::from_bytes(request).unwrap();
        let mut answer = Message::builder_success(&request, MessageWriteVec::new());
        let mapped = XorMappedAddress::new(seen, request.transaction_id());
        answer.add_attribute(&mapped).unwrap();
        answer.finish()
    }

    #[test]
    fn a_server_is_asked_until_it_answers_and_again_later() {
        let server = "192.0.2.1:3478".parse().unwrap();
        let seen = "198.51.100.1:7".parse().unwrap();
        let (mut secrets, mut outbox) = (Secrets::new([1; 32]), Outbox::default());
        let mut reflexive = Reflexive::new(Duration::ZERO, server);
        let mut out = [0; 100];
        let mut request = vec![];
        for _ in 0..3 {
            let now = reflexive.poll_timeout();
            assert_eq!(
                reflexive.handle_timeout(now, &mut secrets, &mut outbox),
                None
            );
            let (to, len) = outbox.pop(&mut out).unwrap();
            assert_eq!(to, server);
            assert!(
                request.is_empty() || request == out[..len],
                "one transaction"
            );
            request = out[..len].to_vec();
        }
        let now = Duration::from_millis(400);
        let reply = answer(&request, seen);
        let reply = Message::from_bytes(&reply).unwrap();
        let elsewhere = "192.0.2.2:3478".parse().unwrap();
        assert_eq!(reflexive.handle_message(now, elsewhere, &reply), None);
        let changed = Some(Seen::Found(seen));
        assert_eq!(reflexive.handle_message(now, server, &reply), changed);
        assert_eq!(
            reflexive.handle_message(now, server, &reply),
            None,
            "a replay"
        );
        assert_eq!(reflexive.poll_timeout(), now + AGAIN);
        // Nobody answers any more.
        let mut told = None;
        while told.is_none() {
            let now = reflexive.poll_timeout();
            told = reflexive.handle_timeout(now, &mut secrets, &mut outbox);
        }
        assert_eq!((told, reflexive.address), (Some(Seen::Gone), None));
    }
}
