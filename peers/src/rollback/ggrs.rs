//! How ggrs is driven: two sessions whose packets arrive so many frames late, and requests carried out as its examples do.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    error::Error,
    net::{SocketAddr, UdpSocket},
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use ggrs::{
    Config, DesyncDetection, GgrsError, GgrsRequest, InputStatus, Message, NonBlockingSocket,
    P2PSession, PlayerType, PredictRepeatLast, SessionBuilder, SessionState,
};
use samestep::sync::{Events, Inputs, Replicate, Simulation, Tick};
use samestep_counting::{Asked, asked};

use crate::control::Control;

use super::{
    Contender, FRAME,
    game::{Controls, Habit, PLAYERS, Swarm},
};

/// The types of this game, as ggrs wants them. Peers are known by their numbers.
struct Types;

impl Config for Types {
    type Input = Controls;
    type InputPredictor = PredictRepeatLast;
    type State = Swarm;
    type Address = usize;
}

/// ggrs waits for the other at this many frames; its own default.
const WINDOW: usize = 8;

/// What is done besides rolling back, or instead of a part of it.
#[derive(Clone, Copy, Default)]
pub struct Mode {
    /// States are saved only where everything is known.
    pub sparse: bool,
    /// Frames between two comparisons of the players' states; 0 for none.
    pub check_every: u32,
}

/// A session of player `me` with the other one.
fn session(
    me: usize,
    window: usize,
    mode: Mode,
    socket: impl NonBlockingSocket<usize> + 'static,
) -> Result<P2PSession<Types>, GgrsError> {
    let mut builder = SessionBuilder::<Types>::new()
        .with_max_prediction_window(window)
        .with_sparse_saving_mode(mode.sparse)
        // The contenders take turns: one that waits for its turn has not vanished.
        .with_disconnect_timeout(Duration::from_secs(600))
        .with_disconnect_notify_delay(Duration::from_secs(600));
    if mode.check_every > 0 {
        let interval = mode.check_every;
        builder = builder.with_desync_detection_mode(DesyncDetection::On { interval });
    }
    for player in 0..PLAYERS.len() {
        let kind = match player == me {
            true => PlayerType::Local,
            false => PlayerType::Remote(player),
        };
        builder = builder.add_player(kind, player)?;
    }
    builder.start_p2p_session(socket)
}

/// One player's game.
struct Game {
    state: Swarm,
    events: Events<()>,
    check_every: u32,
    /// Ticks simulated so far.
    steps: u64,
}

impl Game {
    fn new(state: Swarm, check_every: u32) -> Game {
        Game {
            state,
            events: Events::new(),
            check_every,
            steps: 0,
        }
    }

    /// Carries out what the session asks for.
    fn handle_requests(&mut self, requests: Vec<GgrsRequest<Types>>) {
        for request in requests {
            match request {
                GgrsRequest::SaveGameState { cell, frame } => {
                    // Only states of such frames are ever compared.
                    let compared = (frame as u32).checked_rem(self.check_every) == Some(0);
                    let checksum = compared.then(|| self.state.checksum().into());
                    cell.save(frame, Some(self.state.clone()), checksum);
                }
                GgrsRequest::LoadGameState { cell, .. } => {
                    self.state = cell.load().expect("what is to be loaded was saved");
                }
                GgrsRequest::AdvanceFrame { inputs } => self.step(&inputs),
            }
        }
    }

    fn step(&mut self, inputs: &[(Controls, InputStatus)]) {
        let controls = [inputs[0].0, inputs[1].0];
        let inputs = Inputs::new(Tick(self.steps), &PLAYERS, &controls, &[]);
        self.state.step(&inputs, &mut self.events);
        self.steps += 1;
    }
}

/// Messages under way, with the frame in which they arrive.
type Way = Rc<RefCell<VecDeque<(u64, Message)>>>;

/// Carries messages in memory, as they are: neither encoded nor copied into the kernel, which is not what is measured.
struct Late {
    other: usize,
    frames: u64,
    now: Rc<RefCell<u64>>,
    out: Way,
    back: Way,
    asked: Rc<Cell<Asked>>,
}

impl NonBlockingSocket<usize> for Late {
    fn send_to(&mut self, message: &Message, _: &usize) {
        let before = asked();
        let at = *self.now.borrow() + self.frames;
        self.out.borrow_mut().push_back((at, message.clone()));
        let mut sum = self.asked.get();
        sum += asked() - before;
        self.asked.set(sum);
    }

    fn receive_all_messages(&mut self) -> Vec<(usize, Message)> {
        let now = *self.now.borrow();
        let mut back = self.back.borrow_mut();
        let due = back.iter().take_while(|(at, _)| *at <= now).count();
        let due = back.drain(..due);
        due.map(|(_, message)| (self.other, message)).collect()
    }
}

/// Two players whose packets are `depth` frames under way.
pub struct Pair {
    name: &'static str,
    habit: Habit,
    now: Rc<RefCell<u64>>,
    players: Vec<(P2PSession<Types>, Game)>,
    frames: u64,
    socket_asked: Rc<Cell<Asked>>,
}

impl Pair {
    /// Connects them.
    pub fn new(
        name: &'static str,
        mode: Mode,
        depth: u64,
        state: &Swarm,
        habit: Habit,
    ) -> Result<Pair, GgrsError> {
        let now = Rc::new(RefCell::new(0));
        let ways: [Way; 2] = Default::default();
        let socket_asked: Rc<Cell<Asked>> = Default::default();
        // It stops one frame before its window is full.
        let window = WINDOW.max(depth as usize + 1);
        let mut players = Vec::new();
        for me in 0..PLAYERS.len() {
            let socket = Late {
                other: 1 - me,
                frames: depth,
                now: Rc::clone(&now),
                out: Rc::clone(&ways[me]),
                back: Rc::clone(&ways[1 - me]),
                asked: Rc::clone(&socket_asked),
            };
            let session = session(me, window, mode, socket)?;
            players.push((session, Game::new(state.clone(), mode.check_every)));
        }
        let mut pair = Pair {
            name,
            habit,
            now,
            players,
            frames: 0,
            socket_asked,
        };
        while (pair.players.iter())
            .any(|(session, _)| session.current_state() != SessionState::Running)
        {
            *pair.now.borrow_mut() += 1;
            for (session, _) in &mut pair.players {
                session.poll_remote_clients();
            }
        }
        Ok(pair)
    }
}

impl Contender for Pair {
    fn name(&self) -> &'static str {
        self.name
    }

    fn frame(&mut self) {
        *self.now.borrow_mut() += 1;
        for (me, (session, game)) in self.players.iter_mut().enumerate() {
            session.events().for_each(drop);
            let controls = self.habit.controls(PLAYERS[me], self.frames);
            let added = session.add_local_input(me, controls);
            let advanced = added.and_then(|()| session.advance_frame());
            game.handle_requests(
                advanced.expect("both are connected and neither is too far ahead"),
            );
        }
        self.frames += 1;
    }

    fn steps(&self) -> u64 {
        self.players.iter().map(|(_, game)| game.steps).sum()
    }

    fn asked_by_network(&self) -> Asked {
        self.socket_asked.get()
    }
}

/// What ggrs's own `UdpNonBlockingSocket` sends, on a port of the system's choosing, to whoever was heard of last.
struct Datagrams {
    socket: UdpSocket,
    other: usize,
    address: Option<SocketAddr>,
}

impl NonBlockingSocket<usize> for Datagrams {
    fn send_to(&mut self, message: &Message, _: &usize) {
        let bytes = bincode::serialize(message).expect("messages can be written");
        if let Some(address) = self.address {
            // What cannot be sent now is lost, as on the way.
            let _ = self.socket.send_to(&bytes, address);
        }
    }

    fn receive_all_messages(&mut self) -> Vec<(usize, Message)> {
        let mut messages = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok((len, from)) = self.socket.recv_from(&mut buffer) {
            self.address = Some(from);
            if let Ok(message) = bincode::deserialize(&buffer[..len]) {
                messages.push((self.other, message));
            }
        }
        messages
    }
}

/// Plays in real time until told to stop, as ggrs's examples do. Gives the ticks that were simulated again per second.
pub fn play(
    control: &Control,
    me: usize,
    socket: UdpSocket,
    address: Option<SocketAddr>,
    habit: Habit,
    state: Swarm,
) -> Result<f64, Box<dyn Error>> {
    let other = 1 - me;
    let datagrams = Datagrams {
        socket,
        other,
        address,
    };
    let mut session = session(me, WINDOW, Mode::default(), datagrams)?;
    let mut game = Game::new(state, 0);
    let mut next = Instant::now();
    while !control.is_stopped() {
        session.poll_remote_clients();
        session.events().for_each(drop);
        if session.current_state() == SessionState::Running {
            if control.connected() == 0 {
                control.on_connected();
            }
            let frame = session.current_frame() as u64;
            session.add_local_input(me, habit.controls(PLAYERS[me], frame))?;
            game.handle_requests(session.advance_frame()?);
        }
        // Who is ahead goes a little slower.
        next += match session.frames_ahead() > 0 {
            true => FRAME.mul_f64(1.1),
            false => FRAME,
        };
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let frames = session.current_frame() as f64;
    Ok((game.steps as f64 / frames - 1.0) / FRAME.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_rolls_back_and_both_end_with_the_true_state() {
        for (sparse, resimulated) in [(false, 5), (true, 6)] {
            let mut truth = Swarm::new(10_240);
            let mode = Mode {
                sparse,
                check_every: 60,
            };
            let mut pair = Pair::new("ggrs", mode, 5, &truth, Habit::Restless).unwrap();
            (0..100).for_each(|_| pair.frame());
            let before = pair.steps();
            (0..100).for_each(|_| pair.frame());
            assert_eq!(pair.steps() - before, 2 * 100 * (resimulated + 1));
            pair.habit = Habit::Still;
            (0..20).for_each(|_| pair.frame());
            for tick in 0..200 {
                truth.simulate(PLAYERS.map(|player| Habit::Restless.controls(player, tick)));
            }
            (0..20).for_each(|_| truth.simulate([Controls::default(); 2]));
            for (_, game) in &pair.players {
                assert_eq!(game.state, truth);
            }
        }
    }
}
