//! Bots that play along with whoever opens a game: programs of their own, as threads.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use samestep::Game;
use samestep::session::{Identity, JoinTo, Phase, PublicKey, Role, SessionConfig};
use samestep::sync::{Live, Model, ModelConfig, PlayerId, Tick};
use samestep::transport::{Transport, Udp};
use samestep_playable::{Level, Playable, Setup};

use crate::address::any_port;
use crate::announce::random_bytes;

/// How the names of bots begin.
pub(crate) const BOT: &str = "Bot ";
/// How long a bot waits for the network at once.
const MOMENT: Duration = Duration::from_millis(4);

/// What a bot needs to join.
#[derive(Clone)]
pub(crate) struct BotJoins {
    /// The port of the game, and its address if it is reachable at one only.
    pub port: u16,
    pub ip: Option<IpAddr>,
    pub config: SessionConfig,
    pub model: ModelConfig,
    pub setup: Setup,
}

/// The bots of a game.
pub(crate) struct Team {
    joins: BotJoins,
    /// The place of their level among all.
    level: Arc<AtomicU8>,
    bots: Vec<Member>,
    /// How many there were so far, for their names.
    named: u32,
    /// Secrets of bots that played before this program was restarted: the next ones return with them.
    returning: Vec<[u8; 32]>,
}

struct Member {
    secret: [u8; 32],
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Team {
    /// Nobody plays yet; the first ones to do so have these secrets.
    pub(crate) fn new(joins: BotJoins, level: Level, returning: Vec<[u8; 32]>) -> Team {
        Team {
            joins,
            level: Arc::new(AtomicU8::new(level as u8)),
            bots: Vec::new(),
            named: 0,
            returning,
        }
    }

    /// How many play; one that was sent away does not any more.
    pub(crate) fn len(&self) -> usize {
        self.bots.iter().filter(|bot| bot.plays()).count()
    }

    pub(crate) fn level(&self) -> Level {
        level_of(&self.level)
    }

    /// The secrets of those who play.
    pub(crate) fn secrets(&self) -> Vec<[u8; 32]> {
        let playing = self.bots.iter().filter(|bot| bot.plays());
        playing.map(|bot| bot.secret).collect()
    }

    /// So many play from now on: others join, or the last ones leave.
    /// Returns the keys of those who are about to join: the game is to let them in by these.
    pub(crate) fn resize<G: Playable>(&mut self, count: usize) -> Vec<PublicKey> {
        let mut keys = Vec::new();
        self.bots.retain(Member::plays);
        self.bots.truncate(count);
        while self.bots.len() < count {
            self.named += 1;
            let name = format!("{BOT}{}", self.named);
            let (mut joins, level) = (self.joins.clone(), Arc::clone(&self.level));
            // Without randomness there is no bot, and nothing else works either.
            let secret = match self.returning.is_empty() {
                true => random_bytes(),
                false => Ok(self.returning.remove(0)),
            };
            let Ok(secret) = secret else {
                return keys;
            };
            let identity = Identity::from_secret(secret);
            keys.push(identity.public_key());
            joins.config.protocol.identity = Some(identity);
            let stop = Arc::new(AtomicBool::new(false));
            let stopped = Arc::clone(&stop);
            // A bot that is not admitted, or loses its game, ends.
            let play = move || drop(play::<G>(joins, &name, &level, &stopped));
            let thread = thread::Builder::new().name("bot".into()).spawn(play);
            self.bots.push(Member {
                secret,
                stop,
                thread: thread.ok(),
            });
        }
        keys
    }

    /// All play so well from now on.
    pub(crate) fn set_level(&mut self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// Ends them without waiting.
    pub(crate) fn stop(&mut self) {
        for bot in &mut self.bots {
            bot.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn level_of(level: &AtomicU8) -> Level {
    let at = usize::from(level.load(Ordering::Relaxed));
    Level::ALL.get(at).copied().unwrap_or_default()
}

impl Member {
    fn plays(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Member {
    /// Does not wait for the bot: it says farewell to the game, which may be about to end in the thread that drops this.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.thread.take());
    }
}

fn play<G: Playable>(
    joins: BotJoins,
    name: &str,
    level: &AtomicU8,
    stop: &AtomicBool,
) -> Result<(), Box<dyn std::error::Error>> {
    let ip = joins.ip.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let address = SocketAddr::new(ip, joins.port);
    let transport = Udp::bind(any_port(address))?;
    let role = Role::Client(JoinTo::new(address));
    let world = Live::without_recording(G::placeholder());
    let model = joins.model.build()?;
    let mut game = Game::over(transport, joins.config.player(name), role, model, world)?;
    let mut keys: Option<AtKeys<G>> = None;
    while !stop.load(Ordering::Relaxed) {
        game.run_for(MOMENT)?;
        while game.next_news().is_some() {}
        while game.next_event().is_some() {}
        let Some(me) = game.me() else {
            continue;
        };
        let is_ready = game.room().player(me).is_some_and(|player| player.ready);
        if *game.room().phase() == Phase::SetUp && !is_ready {
            game.set_ready(true);
        }
        let level = level_of(level);
        keys.take_if(|keys| keys.level != level);
        let keys = keys.get_or_insert_with(|| AtKeys::new(&joins.setup, me, level));
        keys.play(&mut game);
    }
    Ok(game.leave("")?)
}

/// A bot at the keys of a program's own player.
pub(crate) struct AtKeys<G: Playable> {
    bot: G::Bot,
    player: PlayerId,
    level: Level,
    /// The tick it has decided for.
    decided: Option<Tick>,
}

impl<G: Playable> AtKeys<G> {
    pub(crate) fn new(setup: &Setup, player: PlayerId, level: Level) -> Self {
        AtKeys {
            bot: G::bot_at(setup, player, level),
            player,
            level,
            decided: None,
        }
    }

    /// Whose keys it is at.
    pub(crate) fn player(&self) -> PlayerId {
        self.player
    }

    /// Decides once a tick.
    pub(crate) fn play<M: Model, T: Transport>(&mut self, game: &mut Game<G, M, T>) {
        let tick = game.tick();
        if !game.is_playing() || self.decided == Some(tick) {
            return;
        }
        self.decided = Some(tick);
        if let Some(input) = game.state().decide(&mut self.bot, tick) {
            game.set_controls_of(self.player, &input);
        }
    }
}
