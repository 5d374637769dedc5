//! The checks of ICE with one peer: an agent, tuned to find the best way within a few round trips and to cost little afterwards.

use std::net::SocketAddr;
use std::time::Duration;

use is::stun::{StunMessage, StunPacket};
use is::{Candidate, IceAgent, IceAgentEvent, IceConnectionState, IceCreds, Protocol};

use crate::clock::{from_ice_time, ice_time};
use crate::description::{CandidateKind, Description, WayIn};
use crate::secret::CheckHmac;

/// The time between two checks.
const PACE: Duration = Duration::from_millis(5);

/// The first wait for an answer to a check.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// How a search goes on: until when, the longest wait for an answer, which is also the time between two checks of a way that works, and after how many
/// checks without an answer a pair is given up.
const PHASES: [(Duration, Duration, usize); 2] = [
    (Duration::from_millis(600), Duration::from_millis(100), 14),
    (Duration::from_secs(3), Duration::from_millis(500), 14),
];

/// The longest wait, and the number of checks, once a search is over.
const STEADY: (Duration, usize) = (Duration::from_millis(2500), 9);

/// The most pairs of addresses that are tried.
const MAX_PAIRS: usize = 64;

/// What the checks have found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Checked {
    /// This is the best way that works, from one of our addresses to one of the peer's.
    Nominated {
        source: SocketAddr,
        destination: SocketAddr,
    },
    /// No way works any more.
    Disconnected,
}

/// The checks with one peer.
#[derive(Debug)]
pub(crate) struct Checks {
    agent: IceAgent,
    /// When the search began, unless it is over, and its phase.
    search: Option<(Duration, usize)>,
}

impl Checks {
    pub(crate) fn new(credentials: IceCreds, tie_breaker: u64) -> Self {
        let mut agent = IceAgent::with_hmac(credentials, &CheckHmac);
        agent.set_control_tie_breaker(tie_breaker);
        agent.set_timing_advance(PACE);
        agent.set_initial_stun_rto(FIRST_WAIT);
        agent.set_max_candidate_pairs(MAX_PAIRS);
        Self {
            agent,
            search: None,
        }
    }

    pub(crate) fn credentials(&self) -> &IceCreds {
        self.agent.local_credentials()
    }

    pub(crate) fn remote_credentials(&self) -> Option<&IceCreds> {
        self.agent.remote_credentials()
    }

    /// One of our addresses; `base` is the one that the socket sends from.
    pub(crate) fn add_local(&mut self, way: WayIn, base: SocketAddr) {
        let candidate = match way.kind {
            CandidateKind::Host => Candidate::host(way.address, "udp"),
            CandidateKind::Reflexive => Candidate::server_reflexive(way.address, base, "udp"),
            CandidateKind::Relayed => Candidate::relayed(way.address, base, "udp"),
        };
        if let Ok(candidate) = candidate {
            self.agent.add_local_candidate(candidate);
        }
    }

    /// One of our addresses is no longer ours.
    pub(crate) fn remove_relayed(&mut self, address: SocketAddr) {
        if let Ok(candidate) = Candidate::relayed(address, address, "udp") {
            self.agent.invalidate_candidate(&candidate);
        }
    }

    /// Who the peer is, and where it may be. Of the two the one with the greater name nominates.
    pub(crate) fn set_remote(&mut self, now: Duration, remote: &Description) {
        if self.agent.remote_credentials().is_none() {
            let nominates = self.credentials().ufrag > remote.credentials.ufrag;
            self.agent.set_controlling(nominates);
            self.agent
                .set_remote_credentials(remote.credentials.clone());
        }
        for candidate in remote.ways.iter().filter_map(WayIn::candidate) {
            self.agent.add_remote_candidate(candidate);
        }
        self.search(now);
    }

    fn search(&mut self, now: Duration) {
        self.enter(now, 0);
        self.agent.handle_timeout(ice_time(now));
    }

    /// Enters a phase of the search, or the time after it.
    fn enter(&mut self, began: Duration, phase: usize) {
        let known = PHASES.get(phase).map(|(_, wait, checks)| (*wait, *checks));
        let (wait, checks) = known.unwrap_or(STEADY);
        self.search = known.map(|_| (began, phase));
        self.agent.set_max_stun_retransmits(checks);
        self.agent.set_max_stun_rto(wait);
    }

    fn phase_ends(&self) -> Option<Duration> {
        let (began, phase) = self.search?;
        Some(began + PHASES.get(phase)?.0)
    }

    /// Tries every pair of addresses again.
    pub(crate) fn probe(&mut self, now: Duration) {
        if self.agent.remote_credentials().is_some() {
            self.agent.recreate_candidate_pairs();
            self.search(now);
        }
    }

    /// Whether a check or an answer is authentic and for this agent.
    pub(crate) fn accepts(&self, message: &StunMessage<'_>) -> bool {
        self.agent.accepts_message(message)
    }

    /// Takes a check or an answer that was [accepted](Self::accepts).
    pub(crate) fn handle(
        &mut self,
        now: Duration,
        source: SocketAddr,
        destination: SocketAddr,
        message: StunMessage<'_>,
    ) {
        let packet = StunPacket {
            proto: Protocol::Udp,
            source,
            destination,
            message,
        };
        self.agent.handle_packet(ice_time(now), packet);
        self.agent.handle_timeout(ice_time(now));
    }

    pub(crate) fn handle_timeout(&mut self, now: Duration) {
        if let Some((began, phase)) = self.search
            && self.phase_ends().is_some_and(|end| now >= end)
        {
            self.enter(began, phase + 1);
        }
        self.agent.handle_timeout(ice_time(now));
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Duration> {
        self.agent.remote_credentials()?;
        let agent = self.agent.poll_timeout().map(from_ice_time);
        [agent, self.phase_ends()].into_iter().flatten().min()
    }

    /// The next message: from which of our addresses, to where, and its bytes.
    pub(crate) fn poll_transmit(&mut self) -> Option<(SocketAddr, SocketAddr, Vec<u8>)> {
        let transmit = self.agent.poll_transmit()?;
        Some((
            transmit.source,
            transmit.destination,
            transmit.contents.into(),
        ))
    }

    pub(crate) fn poll_event(&mut self) -> Option<Checked> {
        loop {
            match self.agent.poll_event()? {
                IceAgentEvent::NominatedSend {
                    source,
                    destination,
                    ..
                } => {
                    return Some(Checked::Nominated {
                        source,
                        destination,
                    });
                }
                IceAgentEvent::IceConnectionStateChange(IceConnectionState::Disconnected) => {
                    return Some(Checked::Disconnected);
                }
                _ => {}
            }
        }
    }
}
