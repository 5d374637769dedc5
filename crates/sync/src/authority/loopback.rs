//! The loopback client: who plays at the authority itself sees the game as a client in its place would.
//!
//! An authority with an update window knows more than it may show. Its present has what its own characters (the AI) do now, and what remote players
//! do only once that has arrived, so whoever watches the present can tell the two apart. Where the rules hide something from the players here, the
//! authority therefore has a client of its own, as a listen server has: connected without a network, it is told the same ticks as every
//! other client, with what those players may know, and simulates from there in a [copy of the world](World::with_loopback).

use core::time::Duration;

use super::context::Context;
use super::guest::Guest;
use super::host::Host;
use super::kinds::Kinds;
use super::message::Message;
use crate::{InputKind, Outgoing, PeerId, PlayerId, World};

#[derive(Debug)]
pub(super) struct Loopback {
    pub guest: Guest,
    pub context: Context,
}

impl Loopback {
    /// Sees to it that there is a loopback client if the players here are to have one.
    pub(super) fn prepare(
        loopback: &mut Option<Box<Loopback>>,
        now: Duration,
        host: &mut Host,
        context: &Context,
        world: &mut dyn World,
    ) {
        let Some(me) = context.roster.as_ref().map(|roster| roster.me) else {
            return;
        };
        let has_client = loopback.is_some() && host.clients.contains_key(&me);
        if has_client || !host.hides_from(context, world) {
            return;
        }
        if !world.begin_loopback(host.begin_tick(context)) {
            return;
        }
        let kinds = Kinds::new(&world.scene().schema(), true);
        let loopback = loopback.get_or_insert_with(|| {
            let mut own = Context::new(context.settings.clone());
            own.tick_time = context.tick_time;
            let guest = Guest::new(kinds, &own);
            Box::new(Loopback {
                guest,
                context: own,
            })
        });
        loopback.begin(now, me, host, context, world);
    }

    /// Begins, or begins anew, with the state that any newcomer would be given.
    fn begin(
        &mut self,
        now: Duration,
        me: PeerId,
        host: &mut Host,
        context: &Context,
        world: &mut dyn World,
    ) {
        self.follow(context);
        let state = host.state_for(context, me, world);
        host.trust(me);
        world.with_loopback(&mut |world| {
            self.guest
                .handle_state(now, &mut self.context, &state, world);
        });
        for (player, input, kind) in host.take_local_inputs() {
            self.guest.input(player, &input, kind);
        }
    }

    /// Takes over what both have in common.
    fn follow(&mut self, context: &Context) {
        if self.context.roster != context.roster {
            self.context.roster.clone_from(&context.roster);
            self.guest.on_roster(&self.context);
        }
        self.context.start = context.start;
        self.context.schedule_offset = context.schedule_offset;
        self.context.tick_time = context.tick_time;
        self.context.hold = context.hold;
    }

    /// Lets the client simulate, and hands what its players do to the authority.
    pub(super) fn advance(
        &mut self,
        now: Duration,
        host: &mut Host,
        context: &mut Context,
        world: &mut dyn World,
    ) {
        self.follow(context);
        let Some(me) = context.roster.as_ref().map(|roster| roster.me) else {
            return;
        };
        self.context.wake = None;
        world.with_loopback(&mut |world| self.guest.advance(now, &mut self.context, world));
        self.context.events.clear();
        while let Some(sent) = self.context.outbox.pop() {
            if let Some(Message::Inputs(message)) = Message::read(&sent.bytes) {
                host.handle_inputs(now, context, me, &message);
            }
            self.context.outbox.reclaim(sent);
        }
    }

    /// Hands what the authority tells to the client.
    pub(super) fn receive(&mut self, now: Duration, host: &mut Host, context: &mut Context) {
        self.follow(context);
        while let Some(told) = host.to_loopback.pop_front() {
            self.handle(now, &told);
            context.outbox.reclaim(told);
        }
        if let Some(wake) = self.context.wake {
            context.wake_at(wake);
        }
    }

    fn handle(&mut self, now: Duration, told: &Outgoing) {
        match Message::read(&told.bytes) {
            Some(Message::Update(update)) => {
                self.guest.handle_update(now, &mut self.context, &update);
            }
            Some(Message::Part(epoch, part)) => {
                self.guest.handle_part(now, &mut self.context, epoch, part);
            }
            _ => {}
        }
    }

    /// The last thing that the client is told, when another model takes over.
    pub(super) fn finish(&mut self, farewell: &[u8], world: &mut dyn World) {
        if let Some(Message::Update(update)) = Message::read(farewell) {
            self.guest
                .handle_update(Duration::ZERO, &mut self.context, &update);
        }
        world.with_loopback(&mut |world| self.guest.deliver_all_events(world));
        world.end_loopback();
    }

    /// What a player here does next.
    pub(super) fn input(&mut self, player: PlayerId, input: &[u8], kind: InputKind) -> bool {
        self.guest.input(player, input, kind)
    }

    /// Draws what the players here see.
    pub(super) fn view(&mut self, now: Duration, world: &mut dyn World) -> bool {
        let mut has_drawn = false;
        world.with_loopback(&mut |world| {
            has_drawn = self.guest.view(now, &self.context, world);
        });
        has_drawn
    }

    /// When the players here act next.
    pub(super) fn acts_at(&self) -> Option<Duration> {
        self.guest.acts_at(&self.context)
    }
}
