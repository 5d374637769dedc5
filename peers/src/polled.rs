//! Clients that are called when their sockets are readable, when they have to send, and on a tick.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token, event::Source};

use crate::{control::Control, load::Load};

/// A client of one library with a socket of its own.
pub trait Client {
    /// Takes what came, and answers it.
    fn drive(&mut self, now: Instant, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>>;

    /// Sends the next message of the load.
    fn send(&mut self, index: usize, load: &mut Load) -> Result<(), Box<dyn Error>>;

    /// Does what is due on a tick; a bare socket needs none.
    fn tick(&mut self, _: Instant, _: usize, _: &mut Load) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

/// A poll that reports a readable server socket.
pub fn watching(socket: &mut impl Source) -> Result<Poll, Box<dyn Error>> {
    let poll = Poll::new()?;
    watch(&poll, socket, 0)?;
    Ok(poll)
}

/// Has a poll report a readable socket under a number.
pub fn watch(poll: &Poll, socket: &mut impl Source, number: usize) -> Result<(), Box<dyn Error>> {
    let registered = poll
        .registry()
        .register(socket, Token(number), Interest::READABLE);
    Ok(registered?)
}

/// Runs the clients until `control` stops them; `start` makes one and has the poll watch its socket.
pub fn run<C: Client>(
    control: &Control,
    mut load: Load,
    tick: Duration,
    mut start: impl FnMut(&Poll, usize) -> Result<C, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    for number in 0..load.clients() {
        clients.push(start(&poll, number)?);
    }
    let mut next_tick = Instant::now();
    let mut events = Events::with_capacity(1024);
    while !control.is_stopped() {
        let now = Instant::now();
        let until_tick = next_tick.saturating_duration_since(now);
        poll.poll(&mut events, Some(load.timeout(now).min(until_tick)))?;
        let now = Instant::now();
        for event in &events {
            let Token(index) = event.token();
            clients[index].drive(now, index, &mut load)?;
        }
        let now = Instant::now();
        for index in load.due(now).to_vec() {
            clients[index].send(index, &mut load)?;
        }
        if now >= next_tick {
            next_tick = now + tick;
            for (index, client) in clients.iter_mut().enumerate() {
                client.tick(now, index, &mut load)?;
            }
        }
    }
    Ok(())
}
