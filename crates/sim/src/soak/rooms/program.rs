//! The programs of a room, and the terms they play on.

use std::time::Duration;

use samestep_netem::Rng;
use samestep_session::{
    JoinTo, Password, PeerId, PlayerId, RejoinSecret, Role, RoomId, SessionConfig, Silence,
    StartRule,
};

use crate::NodeId;
use crate::check::Life;

/// What all programs of a world have in common.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) mesh: bool,
    pub(super) dedicated: bool,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
    pub(super) silence: Silence,
    pub(super) capacity: usize,
    /// Zero for none.
    pub(super) state_bytes: usize,
    pub(super) password: Option<Password>,
    pub(super) start: StartRule,
}

impl Terms {
    pub(super) fn random(rng: &mut Rng) -> Terms {
        let mesh = rng.chance(0.5);
        let timeout = Duration::from_millis(rng.range(2_000..5_000));
        Terms {
            mesh,
            dedicated: rng.chance(0.5),
            timeout,
            grace: Duration::from_millis(rng.range(8_000..20_000)),
            silence: match rng.chance(0.8) {
                true => Silence::Drop {
                    after: Duration::from_millis(rng.range(1_500..4_000)),
                },
                false => Silence::Wait,
            },
            capacity: if rng.chance(0.2) { 4 } else { 64 },
            state_bytes: if rng.chance(0.3) {
                rng.range(8..50_000) as usize
            } else {
                0
            },
            password: rng.chance(0.2).then(|| "open sesame".into()),
            start: match rng.chance(0.5) {
                true => StartRule::AllReady { players: 2 },
                false => StartRule::ByAuthority,
            },
        }
    }

    /// Whether a mesh waits for members that fall silent instead of dropping them.
    pub(super) fn waits(&self) -> bool {
        self.mesh && self.silence == Silence::Wait
    }

    /// How long after the last trouble everyone must agree: silence must be noticed, and ways back be found.
    pub(super) fn settling(&self) -> Duration {
        self.timeout + self.silence_of_mesh() + Duration::from_secs(8)
    }

    /// Silence after which a mesh drops a member.
    pub(super) fn silence_of_mesh(&self) -> Duration {
        match self.silence {
            Silence::Drop { after } if self.mesh => after,
            _ => Duration::ZERO,
        }
    }

    pub(super) fn config(&self, name: &str, players: usize) -> SessionConfig {
        let mut config = SessionConfig::new("soak", 1);
        config.room_name = "storm".into();
        config.protocol.timeout = self.timeout;
        config.protocol.keep_alive = self.timeout / 5;
        config.capacity = self.capacity;
        config.password = self.password.clone();
        config.initial_state = self.state_bytes > 0;
        config.rejoin_grace = self.grace;
        config.silence = self.silence;
        config.start = self.start;
        for index in 0..players {
            config = config.player(&format!("{name}{index}"));
        }
        config
    }
}

/// What a program is in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The host, or who opened the mesh.
    Opener,
    /// With this many local players.
    Player(usize),
    Spectator,
}

impl Kind {
    pub(super) fn players(self, terms: &Terms) -> usize {
        match self {
            Kind::Opener => usize::from(terms.mesh || !terms.dedicated),
            Kind::Player(count) => count,
            Kind::Spectator => 0,
        }
    }

    pub(super) fn role(self, terms: &Terms, join: JoinTo) -> Role {
        match (self, terms.mesh) {
            (Kind::Opener, true) => Role::Introducer,
            (Kind::Opener, false) => Role::Host,
            (Kind::Player(_), true) => Role::Peer(join),
            (Kind::Player(_), false) => Role::Client(join),
            (Kind::Spectator, _) => Role::Spectator(join),
        }
    }
}

/// One run of one program: after a restart at the same node it is another one.
pub(super) struct Program {
    pub(super) node: NodeId,
    pub(super) kind: Kind,
    pub(super) runs: bool,
    pub(super) stopped_at: Option<Duration>,
    pub(super) life: Life,
    pub(super) secret: Option<RejoinSecret>,
    /// Whether it came with a secret.
    pub(super) returning: bool,
    /// Its name in the room and the places it played in, as last seen in sync.
    pub(super) place: Option<(PeerId, Vec<PlayerId>)>,
    /// What it must find again, if it is back in time.
    pub(super) owed: Option<(PeerId, Vec<PlayerId>)>,
    pub(super) owed_until: Option<Duration>,
    /// The room, and its name there.
    pub(super) joined_as: Option<(RoomId, PeerId)>,
    /// How far the log was when it joined, or in the state it was given: it must apply every command since.
    pub(super) since: Option<u64>,
    /// Whether it has been there without interruption.
    pub(super) whole: bool,
    /// Whether it was told that it is stranded.
    pub(super) stranded: bool,
    /// Why it may have left: somebody said so.
    pub(super) dismissed: bool,
    /// How far the log was when its room was last looked at.
    pub(super) seen_index: Option<u64>,
    pub(super) numbered: u32,
}

impl Program {
    pub(super) fn new(node: NodeId, kind: Kind) -> Program {
        Program {
            node,
            kind,
            runs: true,
            stopped_at: None,
            life: Life::default(),
            secret: None,
            returning: false,
            place: None,
            owed: None,
            owed_until: None,
            joined_as: None,
            since: None,
            whole: true,
            stranded: false,
            dismissed: false,
            seen_index: None,
            numbered: 0,
        }
    }
}

/// Whether an action is to take place: the judgement every authority comes to.
pub(super) fn sound(payload: &[u8]) -> bool {
    payload.iter().map(|byte| u32::from(*byte)).sum::<u32>() % 4 != 0
}
