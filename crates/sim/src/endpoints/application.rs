//! An endpoint and the application at it, which reads everything at once.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use samestep_proto::{
    ChannelId, Config, ConnectError, ConnectOptions, ConnectionId, DeliveryReport, Endpoint, Event,
    Machine, Transmit,
};

use crate::broken::Broken;

/// An endpoint, perhaps with a fault between it and its application.
pub struct Application {
    pub(crate) endpoint: Endpoint,
    pub(crate) config: Config,
    pub(crate) broken: Option<Broken>,
    /// Connections whose delivery reports are collected; empty unless some channel reports.
    reporting: Vec<ConnectionId>,
    reports: bool,
    events: VecDeque<AppEvent>,
}

/// What an application notices.
#[derive(Clone, Debug)]
pub enum AppEvent {
    /// A message.
    Message(Message),
    /// What the endpoint said; never `Readable`, which is answered by reading.
    Event(Event),
    /// The fate of a message on a channel with delivery reports.
    Delivery(ConnectionId, DeliveryReport),
}

/// A message as the application received it.
#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) from: ConnectionId,
    pub(crate) channel: ChannelId,
    pub(crate) payload: Vec<u8>,
}

impl Application {
    pub(crate) fn new(config: Config, seed: [u8; 32], broken: Option<Broken>) -> Application {
        let endpoint = Endpoint::new(config.clone(), seed);
        Application {
            endpoint: endpoint.expect("a valid endpoint configuration"),
            reports: config.channels.iter().any(|channel| channel.report),
            config,
            broken,
            reporting: Vec::new(),
            events: VecDeque::new(),
        }
    }

    pub(crate) fn connect(
        &mut self,
        now: Duration,
        to: SocketAddr,
        options: ConnectOptions,
    ) -> Result<ConnectionId, ConnectError> {
        let id = self.endpoint.connect(now, to, options)?;
        self.on_opened(id);
        Ok(id)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.endpoint.memory_bytes() + self.broken.as_ref().map_or(0, Broken::leaked_bytes)
    }

    fn on_opened(&mut self, id: ConnectionId) {
        if self.reports {
            self.reporting.push(id);
        }
    }

    /// Takes the endpoint's messages, events and delivery reports.
    fn collect(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Readable { id } => {
                    self.read(id);
                    continue;
                }
                Event::Closed { id, .. } => {
                    self.read(id);
                    self.report(id);
                    self.reporting.retain(|other| *other != id);
                }
                Event::Connected { id, incoming, .. } if incoming => self.on_opened(id),
                _ => {}
            }
            match &mut self.broken {
                None => self.events.push_back(AppEvent::Event(event)),
                Some(broken) => broken.on_event(event, &mut self.events),
            }
        }
        for index in 0..self.reporting.len() {
            self.report(self.reporting[index]);
        }
    }

    fn read(&mut self, from: ConnectionId) {
        while let Some(message) = self.endpoint.recv(from) {
            let message = Message {
                from,
                channel: message.channel,
                payload: message.payload.to_vec(),
            };
            match &mut self.broken {
                None => self.events.push_back(AppEvent::Message(message)),
                Some(broken) => broken.on_message(message, &mut self.events),
            }
        }
    }

    fn report(&mut self, id: ConnectionId) {
        while let Some(delivery) = self.endpoint.poll_delivery(id) {
            self.events.push_back(AppEvent::Delivery(id, delivery));
        }
    }
}

impl Machine for Application {
    type Event = AppEvent;

    fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        self.endpoint.handle_datagram(now, from, datagram);
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.endpoint.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Duration, buf: &mut [u8]) -> Option<Transmit> {
        loop {
            let transmit = self.endpoint.poll_transmit(now, buf)?;
            if !self.broken.as_mut().is_some_and(Broken::swallows_datagram) {
                return Some(transmit);
            }
        }
    }

    fn poll_timeout(&mut self) -> Option<Duration> {
        self.endpoint.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<AppEvent> {
        if self.events.is_empty() {
            self.collect();
        }
        self.events.pop_front()
    }

    fn max_packet(&self) -> usize {
        self.config.max_packet
    }
}
