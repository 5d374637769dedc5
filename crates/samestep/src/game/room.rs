//! What a game does with its room: getting ready, starting and ending, sending peers away, messages and actions.

use std::time::Duration;

use samestep_session::{
    Action, Chat, Handlers, MatchEvent, Message, PeerId, Phase, PlayerId, PublicKey, RejoinSecret,
    RequestId, Room, SendError, Session, SessionEvent, SetPasswordError, Settings, Ticket, To,
};
use samestep_sync::{Model, ModelEvent, Simulation};
use samestep_transport::Transport;

use super::Game;

impl<S: Simulation, M: Model, T: Transport> Game<S, M, T> {
    /// The room as agreed: its peers, players, settings, phase and last result.
    pub fn room(&self) -> &Room {
        self.session().room()
    }

    /// Whether a game begins or runs; else the room is in set-up, or its game has ended: see [`Room::phase`].
    pub fn is_playing(&self) -> bool {
        matches!(self.room().phase(), Phase::Playing { .. })
    }

    /// Whether this program is the authority: the host, or the leader of a mesh.
    pub fn is_authority(&self) -> bool {
        self.session().is_authority()
    }

    /// Sets whether the players on this program are ready, in set-up. With [`StartRule::AllReady`] the game begins once everyone is. It may be called
    /// in every frame: nothing is sent unless something changes, or while a game is played.
    ///
    /// [`StartRule::AllReady`]: samestep_session::StartRule::AllReady
    pub fn set_ready(&mut self, ready: bool) {
        if *self.room().phase() != Phase::SetUp {
            return;
        }
        let mine: Vec<PlayerId> = self.session().my_players().collect();
        let players = self.room().players().iter();
        let changed = players.filter(|info| info.ready != ready && mine.contains(&info.id));
        let changed: Vec<PlayerId> = changed.map(|info| info.id).collect();
        for player in changed {
            self.with_session(|now, session| session.set_ready(now, player, ready));
        }
    }

    /// Proposes other settings for the next game. Everybody has to get ready again.
    pub fn propose_settings(&mut self, settings: Settings) {
        self.with_session(|now, session| session.propose_settings(now, settings));
    }

    /// Begins the game, at the same time everywhere. Returns false if this program is not the authority, which alone can.
    pub fn start(&mut self) -> bool {
        self.as_authority(|now, session| session.start(now))
    }

    /// Ends the game with a result, at most 4095 bytes, that everyone learns from [`SessionEvent::Ended`]. A host decides alone; in a
    /// mesh more than half of the peers have to propose the same.
    pub fn end(&mut self, result: &[u8]) {
        self.with_session(|now, session| session.propose_end(now, result));
    }

    /// Goes back to the set-up phase after a game: the players get ready again, or the authority calls [`start`](Game::start).
    pub fn rematch(&mut self) {
        self.with_session(|now, session| session.rematch(now));
    }

    /// Sends a peer away with these words. Returns false if this program is not the authority, which alone can.
    pub fn kick(&mut self, peer: PeerId, words: &str) -> bool {
        self.as_authority(|now, session| session.kick(now, peer, words))
    }

    /// Sends a peer away and does not admit it again for a while. Returns false if this program is not the authority, which alone can.
    pub fn ban(&mut self, peer: PeerId, lasting: Duration, words: &str) -> bool {
        self.as_authority(|now, session| session.ban(now, peer, lasting, words))
    }

    /// Reports that a peer breaks the rules. The members of a mesh drop whom more than half of them report; elsewhere the host decides: see
    /// [`Session::report`].
    pub fn report(&mut self, peer: PeerId, words: &str) {
        self.with_session(|now, session| session.report(now, peer, words));
    }

    /// Closes the room for everybody, instead of handing it over: see [`Session::close_room`].
    pub fn close_room(&mut self, words: &str) {
        self.with_session(|now, session| session.close_room(now, words));
    }

    /// Demands another password of whoever joins from now on. Members stay, and return by their keys. Who was sent away knows the old one: see
    /// [`Session::set_password`].
    pub fn set_password(&mut self, password: &str) -> Result<(), SetPasswordError> {
        self.with_session(|now, session| session.set_password(now, password.into()))
    }

    /// Lets a program in by its key, without password or token: see [`Session::invite`].
    pub fn invite(&mut self, key: PublicKey) {
        self.with_session(|_, session| session.invite(key));
    }

    /// Sends a line of chat to everyone, this program included: [`next_news`](Game::next_news) has it as a message [`Chat`].
    pub fn chat(&mut self, text: &str) -> Result<(), SendError> {
        let text = text.into();
        self.send(To::All, &Chat { text })
    }

    /// Sends a message of the game's own.
    pub fn send<P: Message>(&mut self, to: To, message: &P) -> Result<(), SendError> {
        self.with_session(|now, session| session.send(now, to, message))
    }

    /// Requests a confirmed action: the authority decides, and it takes place everywhere, here too, or is denied.
    pub fn request<A: Action>(&mut self, action: &A) -> Result<RequestId, SendError> {
        self.with_session(|now, session| session.request(now, action))
    }

    /// As the authority, answers a [requested](SessionEvent::request) action. [Handlers](Game::handle) do so themselves.
    pub fn resolve<A: Action>(
        &mut self,
        ticket: Ticket,
        verdict: Result<A::Command, A::Denial>,
    ) -> Result<(), SendError> {
        self.with_session(|now, session| session.resolve_as::<A>(now, ticket, verdict))
            .map_err(SendError::Encode)
    }

    /// Does an unconfirmed action: it takes place here at once, elsewhere after the authority's check.
    pub fn act<A: Action>(&mut self, action: &A) -> Result<RequestId, SendError> {
        self.with_session(|now, session| session.act(now, action))
    }

    /// Calls the handler of some news. Returns whether there is one; if not, the program handles the news itself.
    pub fn handle<C>(
        &mut self,
        handlers: &mut Handlers<C>,
        context: &mut C,
        news: &MatchEvent,
    ) -> bool {
        let MatchEvent::Session(event) = news else {
            return false;
        };
        self.with_session(|now, session| handlers.handle(now, session, context, event))
    }

    /// The static key by which others know this program. Behind an address and a `#` it names a host: who joins by it is not misled. It is new
    /// with every start unless `SessionConfig::protocol` has an `identity`.
    pub fn public_key(&self) -> PublicKey {
        self.session().public_key()
    }

    /// The secret to give to [`rejoin`](Game::rejoin) after a restart, to get the same player back.
    pub fn rejoin_secret(&self) -> RejoinSecret {
        self.session().rejoin_secret()
    }

    fn session(&self) -> &Session {
        self.driver.machine().session()
    }

    fn with_session<R>(&mut self, act: impl FnOnce(Duration, &mut Session) -> R) -> R {
        let now = self.driver.now();
        act(now, self.driver.machine_mut().session_mut())
    }

    fn as_authority(&mut self, act: impl FnOnce(Duration, &mut Session)) -> bool {
        let may = self.is_authority();
        if may {
            self.with_session(act);
        }
        may
    }
}

/// What went wrong according to some news, in words; `None` if nothing did.
pub(super) fn trouble(news: &MatchEvent) -> Option<String> {
    match news {
        MatchEvent::Session(SessionEvent::Reconnecting { why }) => {
            Some(format!("the connection is lost: {why}"))
        }
        MatchEvent::Session(SessionEvent::HostSilent { last_heard }) => {
            let seconds = last_heard.as_secs_f64();
            Some(format!("nothing heard from the host for {seconds:.1} s"))
        }
        MatchEvent::Session(SessionEvent::Frozen) => {
            Some("too few of the others are reached to go on".into())
        }
        MatchEvent::Session(SessionEvent::Left { reason }) => Some(super::why_left(reason)),
        MatchEvent::Model(ModelEvent::Desync(report)) => Some(report.to_string()),
        MatchEvent::Model(ModelEvent::TooSlow { peer, ticks_behind }) => {
            Some(format!("{peer} is too slow: {ticks_behind} ticks behind"))
        }
        MatchEvent::NotLoaded(error) => Some(error.to_string()),
        MatchEvent::Session(_) | MatchEvent::Model(_) => None,
    }
}
