//! Two endpoints in virtual time, connected through a path.

use std::time::Duration;

use samestep_netem::Path;
use samestep_proto::{ChannelConfig, Config, ConnectOptions, ConnectionId, Delivery, Event};
use samestep_sim::{EndpointTestbed, NodeId, Pace, Wake};

/// A client connected to a server; the client is the one that sends.
pub struct Pair {
    /// The world both live in.
    pub world: EndpointTestbed,
    /// The sender.
    pub client: NodeId,
    /// The receiver.
    pub server: NodeId,
    /// The client's connection.
    pub id: ConnectionId,
}

/// The frame of games that look at their network once a frame. Not a divisor of the usual sending intervals: every phase
/// between sending and polling occurs.
pub const FRAME: Duration = Duration::from_micros(16_700);

impl Pair {
    /// Connects a pair. With `poll` both ends look at their network only that often.
    pub fn connect(
        path: &Path,
        channels: &[ChannelConfig],
        poll: Option<Duration>,
        seed: u64,
    ) -> Result<Pair, String> {
        let config = config(channels);
        let mut world = EndpointTestbed::new(seed);
        let server = world.add_node(config.clone().accepting(1));
        let client = world.add_node(config);
        world.set_link(client, server, path.up.clone());
        world.set_link(server, client, path.down.clone());
        if let Some(period) = poll {
            world.set_pace(server, Pace::Frames { period });
            world.set_pace(client, Pace::Frames { period });
        }
        let id = world
            .connect(client, server, ConnectOptions::default())
            .map_err(|error| format!("could not connect: {error}"))?;
        let mut open = 0;
        while open < 2 {
            match world.next(Duration::from_secs(120)) {
                Some(Wake::Event {
                    event: Event::Connected { .. },
                    ..
                }) => open += 1,
                Some(Wake::Event {
                    event: Event::Closed { reason, .. },
                    ..
                }) => {
                    return Err(format!("could not connect: {reason}"));
                }
                Some(_) => {}
                None => return Err("could not connect within two minutes".into()),
            }
        }
        Ok(Pair {
            world,
            client,
            server,
            id,
        })
    }

    /// Bytes both ends have put on the wire so far, IP and UDP headers included.
    pub fn wire_bytes(&self) -> u64 {
        [self.client, self.server]
            .map(|node| self.world.traffic(node).wire_bytes_sent())
            .iter()
            .sum()
    }
}

/// Settings both ends of a measurement share. It has to come up on any link a plan can describe, hence the patience.
pub fn config(channels: &[ChannelConfig]) -> Config {
    Config {
        channels: channels.to_vec(),
        connect_timeout: Duration::from_secs(100),
        timeout: Duration::from_secs(60),
        ..Config::new("samestep-lab", 1)
    }
}

/// The delivery that a case names.
///
/// # Panics
/// If there is none: keys admit only the known names.
pub fn delivery(name: &str) -> Delivery {
    Delivery::from_name(name).expect("the key admits only known deliveries")
}
