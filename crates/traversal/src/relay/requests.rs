//! Requests of clients: who may make them, and what they change.

use std::net::SocketAddr;
use std::time::Duration;

use turn_client_proto::types::AddressFamily;
use turn_client_proto::types::attribute::{
    ChannelNumber, Data, DontFragment, Lifetime, RequestedAddressFamily, RequestedTransport,
    XorPeerAddress, XorRelayedAddress,
};
use turn_client_proto::types::message::{ALLOCATE, CHANNEL_BIND, CREATE_PERMISSION, REFRESH, SEND};
use turn_client_proto::types::stun::attribute::{
    AttributeStaticType, ErrorCode, MessageIntegrity, MessageIntegritySha256, Nonce, Realm,
    Username, XorMappedAddress,
};
use turn_client_proto::types::stun::message::{
    BINDING, IntegrityAlgorithm, LongTermKeyCredentials, Message, MessageClass,
    MessageIntegrityCredentials, MessageWrite, MessageWriteVec,
};

use super::allocation::Allocation;
use super::credentials::RelaySecret;
use super::message::{self, Signature};
use super::{AllocationId, Relay, RelayCommand, RelaySocket};

/// The shortest and usual life of what is lent: RFC 8656, 3.2.
const LIFETIME: Duration = Duration::from_secs(600);

/// Attributes of requests that this relay understands; others that have to be understood are refused.
const KNOWN: [turn_client_proto::types::stun::attribute::AttributeType; 12] = [
    Username::TYPE,
    Realm::TYPE,
    Nonce::TYPE,
    MessageIntegrity::TYPE,
    MessageIntegritySha256::TYPE,
    Lifetime::TYPE,
    RequestedTransport::TYPE,
    RequestedAddressFamily::TYPE,
    DontFragment::TYPE,
    ChannelNumber::TYPE,
    XorPeerAddress::TYPE,
    Data::TYPE,
];

/// Whose request it is.
struct Authentic {
    user: String,
    username: String,
    signature: Signature,
}

impl Relay {
    pub(super) fn on_message(
        &mut self,
        now: Duration,
        unix_s: u64,
        from: SocketAddr,
        request: &Message<'_>,
    ) {
        if request.has_class(MessageClass::Indication) && request.has_method(SEND) {
            self.on_send(now, from, request);
            return;
        }
        if !request.has_class(MessageClass::Request) {
            return;
        }
        if !self.requests.take(now, from.ip()) {
            self.stats.dropped_requests += 1;
            return;
        }
        let answer = match request.method() {
            BINDING => Some(bound(request, from)),
            ALLOCATE | REFRESH | CREATE_PERMISSION | CHANNEL_BIND => {
                match self.authenticate(unix_s, from, request) {
                    Ok(authentic) => self.on_authentic(now, from, request, &authentic),
                    Err(refusal) => Some(refusal),
                }
            }
            _ => None,
        };
        if let Some(answer) = answer {
            self.answer(from, &answer);
        }
    }

    fn answer(&mut self, to: SocketAddr, answer: &[u8]) {
        self.outbox.push((RelaySocket::Clients, to), answer);
    }

    fn authenticate(
        &mut self,
        unix_s: u64,
        from: SocketAddr,
        request: &Message<'_>,
    ) -> Result<Authentic, Vec<u8>> {
        let challenge = |code| {
            let nonce = self.nonces.issue(unix_s, from);
            message::challenge(request, code, &self.config.realm, &nonce)
        };
        let signed = request.has_attribute(MessageIntegrity::TYPE)
            || request.has_attribute(MessageIntegritySha256::TYPE);
        if !signed {
            return Err(challenge(ErrorCode::UNAUTHORIZED));
        }
        let named = request
            .attribute::<Username>()
            .ok()
            .zip(request.attribute::<Nonce>().ok());
        let Some((name, nonce)) = named else {
            let (method, transaction) = (request.method(), request.transaction_id());
            return Err(message::error(
                method,
                transaction,
                ErrorCode::BAD_REQUEST,
                None,
            ));
        };
        if !self.nonces.is_good(nonce.nonce(), unix_s, from) {
            return Err(challenge(ErrorCode::STALE_NONCE));
        }
        let username = name.username();
        let user = RelaySecret::user_of(username, unix_s);
        let credentials = self.credentials_of(username);
        match (user, request.validate_integrity(&credentials)) {
            (Some(user), Ok(algorithm)) => Ok(Authentic {
                user: user.to_owned(),
                username: username.to_owned(),
                signature: Signature {
                    credentials,
                    algorithm,
                },
            }),
            _ => {
                self.stats.unauthorised += 1;
                let nonce = self.nonces.issue(unix_s, from);
                let (code, realm) = (ErrorCode::UNAUTHORIZED, &self.config.realm);
                Err(message::challenge(request, code, realm, &nonce))
            }
        }
    }

    fn credentials_of(&self, username: &str) -> MessageIntegrityCredentials {
        let (password, realm) = (self.secret.password(username), self.config.realm.clone());
        LongTermKeyCredentials::new(username.to_owned(), password, realm).into()
    }

    fn on_authentic(
        &mut self,
        now: Duration,
        from: SocketAddr,
        request: &Message<'_>,
        authentic: &Authentic,
    ) -> Option<Vec<u8>> {
        let required: Vec<_> = KNOWN.to_vec();
        if let Some(refusal) =
            Message::check_attribute_types(request, &required, &[], MessageWriteVec::new())
        {
            return Some(refusal.finish());
        }
        let id = self.by_client.get(&from).copied();
        // What a user has made, no other changes.
        let own = id.filter(|id| {
            self.allocations
                .get(id)
                .is_some_and(|lent| lent.user == authentic.user)
        });
        let result = match (request.method(), id, own) {
            (ALLOCATE, Some(_), None) => Err(ErrorCode::ALLOCATION_MISMATCH),
            (ALLOCATE, _, _) => return self.on_allocate(now, from, request, authentic),
            (_, None, _) => Err(ErrorCode::ALLOCATION_MISMATCH),
            (_, Some(_), None) => Err(ErrorCode::WRONG_CREDENTIALS),
            (REFRESH, _, Some(id)) => return Some(self.on_refresh(now, id, request, authentic)),
            (CREATE_PERMISSION, _, Some(id)) => self.on_create_permission(now, id, request),
            (_, _, Some(id)) => self.on_channel_bind(now, id, request),
        };
        let (method, transaction) = (request.method(), request.transaction_id());
        let signature = Some(&authentic.signature);
        Some(match result {
            Ok(()) => message::success(method, transaction, &[], signature),
            Err(code) => message::error(method, transaction, code, signature),
        })
    }

    fn on_allocate(
        &mut self,
        now: Duration,
        from: SocketAddr,
        request: &Message<'_>,
        authentic: &Authentic,
    ) -> Option<Vec<u8>> {
        let transaction = request.transaction_id();
        let refuse = |code| {
            Some(message::error(
                ALLOCATE,
                transaction,
                code,
                Some(&authentic.signature),
            ))
        };
        if let Some(id) = self.by_client.get(&from).copied() {
            let lent = self.allocations.get(&id)?;
            if lent.transaction != transaction {
                return refuse(ErrorCode::ALLOCATION_MISMATCH);
            }
            // The same again: its answer was lost, or waits for the socket.
            self.confirm(now, id);
            return None;
        }
        let transport = request.attribute::<RequestedTransport>();
        match transport.map(|transport| transport.protocol()) {
            Ok(RequestedTransport::UDP) => {}
            Ok(_) => return refuse(ErrorCode::UNSUPPORTED_TRANSPORT_PROTOCOL),
            Err(_) => return refuse(ErrorCode::BAD_REQUEST),
        }
        let asked = request.attribute::<RequestedAddressFamily>();
        let family = asked.map_or(AddressFamily::IPV4, |asked| asked.family());
        if (family == AddressFamily::IPV4) != self.config.address.is_ipv4() {
            return refuse(ErrorCode::ADDRESS_FAMILY_NOT_SUPPORTED);
        }
        self.make_room_for(&authentic.user);
        if self.allocations.len() >= self.config.max_allocations {
            self.stats.refused_full += 1;
            return refuse(ErrorCode::INSUFFICIENT_CAPACITY);
        }
        self.last_id += 1;
        let id = AllocationId(self.last_id);
        let expires = now + self.lifetime_of(request);
        let lent = Allocation::new(
            now,
            from,
            &authentic.user,
            &authentic.username,
            transaction,
            expires,
            self.config.bytes_per_second,
        );
        self.allocations.insert(id, lent);
        self.by_client.insert(from, id);
        self.commands.push_back(RelayCommand::Open(id));
        None
    }

    /// The oldest of a user's allocations gives way: usually it is one that its program has forgotten.
    fn make_room_for(&mut self, user: &str) {
        let own = self
            .allocations
            .iter()
            .filter(|(_, lent)| lent.user == user);
        let own: Vec<AllocationId> = own.map(|(id, _)| *id).collect();
        let over = (own.len() + 1).saturating_sub(self.config.max_allocations_per_user.max(1));
        for id in &own[..over] {
            self.remove(*id);
        }
    }

    fn lifetime_of(&self, request: &Message<'_>) -> Duration {
        let asked = request
            .attribute::<Lifetime>()
            .map_or(0, |asked| asked.seconds());
        let longest = self.config.max_lifetime.max(LIFETIME);
        Duration::from_secs(asked.into()).clamp(LIFETIME, longest)
    }

    /// Tells a client which address it was lent, once there is one.
    pub(super) fn confirm(&mut self, now: Duration, id: AllocationId) {
        let Some(lent) = self.allocations.get(&id) else {
            return;
        };
        let Some(relayed) = lent.relayed else {
            return;
        };
        let (client, transaction) = (lent.client, lent.transaction);
        let left = lent.expires.saturating_sub(now).as_secs();
        let signature = self.signature_for(&lent.username);
        let answer = message::success(
            ALLOCATE,
            transaction,
            &[
                &XorRelayedAddress::new(relayed, transaction),
                &Lifetime::new(u32::try_from(left).unwrap_or(u32::MAX)),
                &XorMappedAddress::new(client, transaction),
            ],
            Some(&signature),
        );
        self.answer(client, &answer);
    }

    /// Tells a client that there is no socket left.
    pub(super) fn refuse_full(&mut self, lent: &Allocation) {
        self.stats.refused_full += 1;
        let signature = self.signature_for(&lent.username);
        let code = ErrorCode::INSUFFICIENT_CAPACITY;
        let answer = message::error(ALLOCATE, lent.transaction, code, Some(&signature));
        self.answer(lent.client, &answer);
    }

    fn signature_for(&self, username: &str) -> Signature {
        Signature {
            credentials: self.credentials_of(username),
            algorithm: IntegrityAlgorithm::Sha1,
        }
    }

    fn on_refresh(
        &mut self,
        now: Duration,
        id: AllocationId,
        request: &Message<'_>,
        authentic: &Authentic,
    ) -> Vec<u8> {
        let asked = request.attribute::<Lifetime>().map(|asked| asked.seconds());
        let lifetime = match asked {
            Ok(0) => {
                self.remove(id);
                Duration::ZERO
            }
            _ => self.lifetime_of(request),
        };
        if let Some(lent) = self.allocations.get_mut(&id) {
            lent.expires = now + lifetime;
        }
        let seconds = Lifetime::new(u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX));
        let transaction = request.transaction_id();
        message::success(
            REFRESH,
            transaction,
            &[&seconds],
            Some(&authentic.signature),
        )
    }

    fn on_create_permission(
        &mut self,
        now: Duration,
        id: AllocationId,
        request: &Message<'_>,
    ) -> Result<(), u16> {
        let transaction = request.transaction_id();
        let mut peers = Vec::new();
        while let Ok(peer) = request.nth_attribute::<XorPeerAddress>(peers.len()) {
            peers.push(peer.addr(transaction).ip());
        }
        if peers.is_empty() {
            return Err(ErrorCode::BAD_REQUEST);
        }
        if !peers.iter().all(|peer| self.allows_peer(*peer)) {
            return Err(ErrorCode::FORBIDDEN);
        }
        let lent = self
            .allocations
            .get_mut(&id)
            .ok_or(ErrorCode::ALLOCATION_MISMATCH)?;
        for peer in peers {
            if !lent.permit(now, peer) {
                return Err(ErrorCode::INSUFFICIENT_CAPACITY);
            }
        }
        Ok(())
    }

    fn on_channel_bind(
        &mut self,
        now: Duration,
        id: AllocationId,
        request: &Message<'_>,
    ) -> Result<(), u16> {
        let channel = request.attribute::<ChannelNumber>().ok();
        let peer = request.attribute::<XorPeerAddress>().ok();
        let (Some(channel), Some(peer)) = (channel, peer) else {
            return Err(ErrorCode::BAD_REQUEST);
        };
        let peer = peer.addr(request.transaction_id());
        if !self.allows_peer(peer.ip()) {
            return Err(ErrorCode::FORBIDDEN);
        }
        let lent = self
            .allocations
            .get_mut(&id)
            .ok_or(ErrorCode::ALLOCATION_MISMATCH)?;
        match lent.bind(now, channel.channel(), peer) {
            true => Ok(()),
            false => Err(ErrorCode::BAD_REQUEST),
        }
    }

    fn on_send(&mut self, now: Duration, from: SocketAddr, indication: &Message<'_>) {
        let id = self.by_client.get(&from).copied();
        let peer = indication.attribute::<XorPeerAddress>().ok();
        let data = indication.attribute::<Data<'_>>().ok();
        let (Some(id), Some(peer), Some(data)) = (id, peer, data) else {
            self.stats.dropped_unwanted += 1;
            return;
        };
        self.forward(now, id, peer.addr(indication.transaction_id()), data.data());
    }
}

/// The answer to who asks for its address.
fn bound(request: &Message<'_>, from: SocketAddr) -> Vec<u8> {
    let transaction = request.transaction_id();
    let mapped = XorMappedAddress::new(from, transaction);
    message::success(BINDING, transaction, &[&mapped], None)
}
