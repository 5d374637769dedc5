//! What the random applications and their users do.

use samestep_proto::{ChannelConfig, ChannelId, ConnectOptions};

use super::{MEND, Script, Separation};
use crate::NodeId;
use crate::stamp::STAMP_BYTES;

impl Script<'_> {
    /// One random thing that an application or its user does.
    pub(super) fn operate(&mut self) {
        match self.rng.range(0..1000) {
            0..900 => self.talk(),
            900..950 => {
                let route = self.pick_route();
                self.connect(route);
            }
            950..962 => self.hang_up(),
            962..970 => {
                let node = self.pick_node();
                let to = self.world.roam(node);
                self.trace(|| format!("{node} moves to {to}"));
            }
            970..978 => {
                let node = self.pick_node();
                let to = self.world.rebind(node);
                self.trace(|| format!("{node} is now seen as {to}"));
            }
            978..981 => {
                let node = self.pick_node();
                self.trace(|| format!("{node} restarts"));
                self.referee.restart(&mut self.world, node);
            }
            _ => self.separate(),
        }
    }

    fn talk(&mut self) {
        let ends = self.referee.open().count() as u64;
        if ends == 0 {
            let route = self.pick_route();
            return self.connect(route);
        }
        let pick = self.rng.range(0..ends) as usize;
        let Some((tag, side)) = self.referee.open().nth(pick) else {
            return;
        };
        let burst = match self.rng.range(0..20) {
            0 => self.rng.range(10..40),
            1..6 => self.rng.range(3..10),
            _ => self.rng.range(1..4),
        };
        let channel = self.rng.range(0..self.channels.len() as u64) as usize;
        for _ in 0..burst {
            let channel = match self.rng.chance(0.3) {
                true => self.rng.range(0..self.channels.len() as u64) as usize,
                false => channel,
            };
            let bytes = self.message_bytes(channel);
            if bytes > self.bytes_left {
                continue;
            }
            let sent =
                self.referee
                    .send(&mut self.world, tag, side, ChannelId(channel as u8), bytes);
            let sent = sent.map(|_| self.bytes_left -= bytes);
            self.trace(|| {
                format!(
                    "connection {} side {side} sends {bytes} bytes on channel {channel}: {sent:?}",
                    tag.0
                )
            });
        }
    }

    /// Mostly small, now and then a block; short ones without a stamp only where order identifies them.
    fn message_bytes(&mut self, channel: usize) -> usize {
        let ChannelConfig {
            delivery,
            max_message,
            ..
        } = self.channels[channel];
        let least = STAMP_BYTES as u64;
        let bytes = match self.rng.range(0..1000) {
            0..50 if delivery.is_ordered() => self.rng.range(0..least),
            0..450 => self.rng.range(least..64),
            450..750 => self.rng.range(64..400),
            750..920 => self.rng.range(400..3_000),
            // Around the size of a packet.
            920..940 => self.rng.range(1_050..1_250),
            940..992 => self.rng.range(3_000..20_000),
            _ => self.rng.range(20_000..300_000),
        };
        // Once the budget runs low only small ones are left, so that the number of messages is still reached.
        let bytes = if self.bytes_left < 300_000 {
            bytes.min(100)
        } else {
            bytes
        };
        (bytes as usize).min(max_message)
    }

    pub(super) fn connect(&mut self, (from, to): (NodeId, NodeId)) {
        if self.referee.is_connected(from, to) {
            return;
        }
        let wrong = self.password.is_some() && self.rng.chance(0.1);
        let password = if wrong {
            Some("guess".to_owned())
        } else {
            self.password.clone()
        };
        let security = |node: NodeId| self.nodes[usize::from(node.0)].security;
        let hopeless =
            wrong || security(from) != security(to) || !self.nodes[usize::from(to.0)].accepts;
        let options = ConnectOptions {
            password: password.map(Into::into),
            ..ConnectOptions::default()
        };
        if let Ok(tag) = self.referee.connect(&mut self.world, from, to, options) {
            self.trace(|| format!("{from} connects to {to}: connection {}", tag.0));
            if hopeless {
                self.referee.expect_refusal(tag);
            }
        }
    }

    fn hang_up(&mut self) {
        let ends = self.referee.open().count() as u64;
        if ends == 0 {
            return;
        }
        let pick = self.rng.range(0..ends) as usize;
        let Some((tag, side)) = self.referee.open().nth(pick) else {
            return;
        };
        let code = self.rng.next_u32();
        let reason = &"so long, and thanks for all the fish"[..self.rng.range(0..36) as usize];
        let graceful = self.rng.chance(0.5);
        self.trace(|| {
            format!(
                "connection {} is closed by side {side}, graceful {graceful}",
                tag.0
            )
        });
        match graceful {
            true => self.referee.close(&mut self.world, tag, side, code, reason),
            false => self.referee.abort(&mut self.world, tag, side, code, reason),
        }
    }

    /// Cuts off a pair, in one or both directions, or a node; now and then for longer than the time-out.
    fn separate(&mut self) {
        let (a, b) = self.pick_route();
        let kind = self.rng.range(0..4);
        self.trace(|| format!("{a} and {b} are separated, kind {kind}"));
        match kind {
            0 => self.world.isolate(a),
            1 => self.world.cut_one_way(a, b),
            2 => self.world.cut_one_way(b, a),
            _ => self.world.cut(a, b),
        }
        let separation = match kind {
            0 => Separation::Node(a),
            _ => Separation::Pair(a, b),
        };
        let key = MEND + self.separations.len() as u64;
        self.separations.push(separation);
        self.again(key, 1.5);
    }

    pub(super) fn change_links(&mut self) {
        let link = self.severity.random_link(&mut self.rng);
        let (a, b) = self.pick_route();
        let kind = self.rng.range(0..3);
        self.trace(|| format!("links {kind} of {a} and {b}: {link}"));
        match kind {
            0 => self.world.set_links(link),
            1 => self.world.set_link(a, b, link),
            _ => self.world.set_link(b, a, link),
        }
    }
}
