//! The authority: simulates, and tells everyone what they may know.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::begin::FIRST;
use super::client::{Budget, Client, Due, Queue};
use super::context::Context;
use super::kinds::Kinds;
use super::mesh::{ASKING, Askers, OwnLog};
use super::message::{InputEntry, InputMessage, Message, Update};
use super::settings::Settings;
use super::window::{Placed, RewindStats, Window};
use crate::bytes::put;
use crate::input::Attendance;
use crate::released::ReleasedPlayers;
use crate::standby::InputLedger;
use crate::stream::{PacketPart, Publisher, PublisherConfig};
use crate::switch::Beginning;
use crate::{
    AcceptedInputs, Delivery, InputKind, Interest, Member, Outgoing, PeerId, PlayerId, Relevance,
    Table, Tick, TickInputs, ViewTime, World,
};

/// Ticks simulated in one call; the rest follows at once in the next, so that the network is not kept waiting.
const AT_ONCE: u32 = 32;
/// A schedule is given up for a later one by an authority that is this many ticks behind it.
const MAX_BEHIND_TICKS: u64 = 30;
/// What a message of the stream may take.
const PART_BYTES: usize = 1000;
/// What of an update goes into one message with a part.
const BESIDE_PART: usize = 120;
/// Layout of the state to begin with.
pub(super) const LAYOUT: u64 = 2;

#[derive(Debug)]
pub(super) struct Host {
    kinds: Kinds,
    publisher: Publisher,
    table: Table,
    published: Option<Tick>,
    published_at: Duration,
    /// The tick that is simulated next.
    pub next_tick: Tick,
    pub clients: BTreeMap<PeerId, Client>,
    /// What the players here do.
    pub(super) local: BTreeMap<PlayerId, Queue>,
    /// What they did lately, in a mesh.
    pub(super) own_log: OwnLog,
    /// Members of a mesh that want the state.
    pub(super) askers: Askers,
    /// Who plays, and who has a place in the room, by the roster.
    present: Vec<PlayerId>,
    placed: Vec<PlayerId>,
    /// Who has lost its place since attendance was taken last.
    pub(super) released: ReleasedPlayers,
    roster_changed: bool,
    inputs: TickInputs,
    held: TickInputs,
    /// The checkpoint whose state takes the place of the present one at the next tick.
    pub(super) replacement: Option<Arc<[u8]>>,
    interest: Interest,
    parts: Vec<PacketPart>,
    /// For the loopback client.
    pub to_loopback: VecDeque<Outgoing>,
    /// When it was last looked whether the rules hide anything from the players here.
    looked_at: Option<Tick>,
    /// For spectators, who see it later.
    waiting: VecDeque<(Duration, Outgoing)>,
    epochs: u8,
    /// Which inputs are in which tick of clients that had another incarnation, or another authority, and have not begun anew yet.
    pub(super) former: BTreeMap<PeerId, InputLedger>,
    /// Who takes part by the word of the authority before.
    inherited: Option<Attendance>,
    /// The ticks that may still change, if this authority can recompute them.
    window: Option<Window>,
}

impl Host {
    pub(super) fn new(kinds: Kinds, settings: &Settings, next: Tick) -> Host {
        let window = settings.rewind.clone();
        Host {
            window: window.map(|window| Window::new(window, next)),
            publisher: publisher(&kinds, settings.snapshot.keep),
            table: Table::new(kinds.schema().clone()),
            interest: Interest::new(kinds.schema()),
            kinds,
            published: None,
            published_at: Duration::ZERO,
            next_tick: next,
            clients: BTreeMap::new(),
            local: BTreeMap::new(),
            own_log: OwnLog::new(FIRST),
            askers: Askers::default(),
            present: Vec::new(),
            placed: Vec::new(),
            released: ReleasedPlayers::default(),
            roster_changed: true,
            inputs: TickInputs::new(),
            held: TickInputs::new(),
            replacement: None,
            parts: Vec::new(),
            to_loopback: VecDeque::new(),
            looked_at: None,
            waiting: VecDeque::new(),
            epochs: 0,
            former: BTreeMap::new(),
            inherited: None,
        }
    }

    /// Begins in the middle of a game.
    pub(super) fn begin_at(
        &mut self,
        at: &Beginning<'_>,
        context: &Context,
        world: &mut dyn World,
    ) {
        self.next_tick = at.tick;
        let window = context.settings.rewind.clone();
        self.window = window.map(|window| Window::new(window, at.tick));
        let Some(roster) = context.roster.as_ref().filter(|_| at.is_known) else {
            return;
        };
        let others = roster.members.iter().filter(|m| m.peer != roster.me);
        self.begin_known(at.tick, FIRST, others, world);
    }

    /// Begins with clients that have the state already.
    pub(super) fn begin_known<'a>(
        &mut self,
        tick: Tick,
        epoch: u8,
        clients: impl Iterator<Item = &'a Member>,
        world: &mut dyn World,
    ) {
        self.publish(tick, world);
        (self.epochs, self.own_log) = (epoch, OwnLog::new(epoch));
        for member in clients {
            self.publisher.join_knowing(member.peer, tick);
            let client = Client::new(member, epoch, tick);
            self.clients.insert(member.peer, client);
        }
    }

    /// A client has, or will have before anything else arrives, the whole state that it was sent to begin with: all its parts count as acknowledged.
    pub(super) fn trust(&mut self, peer: PeerId) {
        let client = self.clients.get_mut(&peer);
        if let Some((first, last)) = client.and_then(|client| client.given.take()) {
            for latest in (first..=last).rev().step_by(129) {
                self.publisher.acknowledge(peer, latest, u128::MAX);
            }
        }
    }

    pub(super) fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// The state was replaced: no client has a baseline of it.
    pub(super) fn forget(&mut self, keep: u64) {
        self.publisher = publisher(&self.kinds, keep);
        self.published = None;
        for (peer, client) in core::mem::take(&mut self.clients) {
            self.former.insert(peer, client.ledger);
        }
    }

    /// Takes over a changed roster.
    pub(super) fn on_roster(&mut self, context: &Context) {
        let Some(roster) = &context.roster else {
            return;
        };
        let plays = |member: &&Member| member.peer == roster.me || member.in_sync && !member.away;
        let present = roster.members.iter().filter(plays);
        self.present = present.flat_map(|member| member.players.clone()).collect();
        self.present.sort_unstable();
        let placed = roster.members.iter();
        self.placed = placed.flat_map(|member| member.players.clone()).collect();
        self.roster_changed = true;
        let (publisher, former) = (&mut self.publisher, &mut self.former);
        former.retain(|peer, _| roster.member(*peer).is_some());
        self.clients.retain(|peer, client| {
            let member = roster.member(*peer);
            let stays = member.is_some_and(|member| member.incarnation == client.incarnation);
            if let Some(member) = member {
                client.players.clone_from(&member.players);
                client.round_trip = member.latency * 2;
                client.loss = member.loss;
            }
            if !stays {
                publisher.leave(*peer);
                if member.is_some() {
                    former.insert(*peer, core::mem::take(&mut client.ledger));
                }
            }
            stays
        });
    }

    /// Queues an input of a local player.
    pub(super) fn input(&mut self, player: PlayerId, input: &[u8], kind: InputKind) -> bool {
        let due = Due {
            tick: self.next_tick,
            number: 0,
            input: input.to_vec(),
            view_time: None,
            kind,
        };
        self.local.entry(player).or_default().push(due)
    }

    /// The inputs that wait for their ticks, which the loopback client gives from here on.
    pub(super) fn take_local_inputs(&mut self) -> Vec<(PlayerId, Vec<u8>, InputKind)> {
        let local = core::mem::take(&mut self.local).into_iter();
        let of = |(player, queue): (PlayerId, Queue)| {
            let inputs = queue.into_inputs();
            inputs.map(move |due| (player, due.input, due.kind))
        };
        local.flat_map(of).collect()
    }

    /// Whether this authority rewinds, and the rules hide anything from the players here. It looks as often as it tells clients.
    pub(super) fn hides_from(&mut self, context: &Context, world: &mut dyn World) -> bool {
        let players = context.own_players();
        if self.window.is_none() || players.is_empty() {
            return false;
        }
        let is_soon = |last: Tick| self.next_tick < last + context.settings.snapshot.every;
        if self.looked_at.is_some_and(is_soon) {
            return false;
        }
        self.looked_at = Some(self.next_tick);
        self.interest.reset();
        world.scene().interest(players, &mut self.interest);
        self.interest.hides()
    }

    pub(super) fn handle_inputs(
        &mut self,
        now: Duration,
        context: &mut Context,
        from: PeerId,
        message: &InputMessage<'_>,
    ) {
        let next = self.next_tick;
        let client = self.clients.get(&from);
        let Some(client) = client.filter(|_| message.epoch != ASKING) else {
            return self.on_asked(now, context, from);
        };
        if message.epoch != client.epoch {
            return;
        }
        self.on_first_word(from);
        let Some(client) = self.clients.get_mut(&from) else {
            return;
        };
        if let Some((latest, before)) = message.parts {
            if client.given.is_some_and(|given| latest >= given.0) {
                self.trust(from);
            }
            self.publisher.acknowledge(from, latest, before);
        }
        let Some(client) = self.clients.get_mut(&from) else {
            return;
        };
        client.on_events_acknowledged(message.events, next);
        client.on_early_acknowledged(message.early);
        client.reached = client.reached.max(message.reaches());
        let published = self.published;
        let mut window = self.window.as_mut();
        if let Some(due) = context.time_of(message.tick) {
            let open = window.as_ref().map_or(0, |window| window.length());
            let due = due + context.tick_time * open as u32;
            let slack = due.as_micros() as i64 - now.as_micros() as i64;
            client.on_slack(message.tick, slack);
        }
        if let Some(window) = &mut window
            && !client.players.is_empty()
        {
            window.on_late(now, next.since(message.tick));
        }
        let place = |entry: &InputEntry<'_>| match &mut window {
            None => Placed::Next,
            Some(window) => {
                window.on_late(now, next.since(entry.tick));
                window.place(
                    entry.player,
                    entry.tick,
                    entry.input,
                    entry.kind == InputKind::Command,
                    published,
                )
            }
        };
        let (first, entries) = (message.first, &message.entries);
        context.inputs_refused += client.handle_inputs(now, next, first, entries, place);
    }

    pub(super) fn advance(&mut self, now: Duration, context: &mut Context, world: &mut dyn World) {
        self.move_schedule(now, context);
        self.recompute(world);
        let mut steps = 0;
        while context.is_due(now, self.next_tick) {
            if steps == AT_ONCE {
                context.wake_at(now);
                break;
            }
            steps += 1;
            self.step(now, context, world);
            let every = context.settings.snapshot.every;
            let is_last = !context.is_due(now, self.next_tick + (every - 1));
            if self.next_tick.0.is_multiple_of(every) && is_last {
                self.send_updates(now, context, world);
            }
        }
        // Another model takes over here: nothing may change any more.
        if context.hold == Some(self.next_tick) {
            self.confirm(true, world);
        }
        while self.waiting.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, message)) = self.waiting.pop_front() {
                context.outbox.push(message);
            }
        }
        if let Some((at, _)) = self.waiting.front() {
            context.wake_at(*at);
        }
        if let Some(at) = context.time_of(self.next_tick)
            && context.hold.is_none_or(|hold| self.next_tick < hold)
        {
            context.wake_at(at);
        }
    }

    /// Moves the schedule if the program was suspended for long: the ticks in between are not caught up with.
    fn move_schedule(&mut self, now: Duration, context: &mut Context) {
        let Some(due) = context.ticks_at(now) else {
            return;
        };
        let behind = (due as u64).saturating_sub(self.next_tick.0);
        if behind > MAX_BEHIND_TICKS && context.hold.is_none_or(|hold| self.next_tick < hold) {
            context.schedule_offset += context.tick_time * (behind as u32);
            context.lagged += behind;
        }
    }

    /// The tick whose state clients are told next, if there is a new one.
    fn told(&self, every: u64) -> Option<Tick> {
        let told = match &self.window {
            None => Some(self.next_tick),
            Some(window) => {
                let plays = |client: &&Client| !client.players.is_empty() && client.given.is_none();
                let clients = self.clients.values().filter(plays);
                let reached = clients.map(|client| client.reached).min();
                window.told(reached.unwrap_or(self.next_tick), every)
            }
        };
        told.filter(|told| self.published.is_none_or(|last| last < *told))
    }

    pub(super) fn rewound(&self) -> RewindStats {
        self.window
            .as_ref()
            .map_or_else(RewindStats::default, |window| window.stats)
    }

    /// The state at the confirmed tick, [kept](World::keep) exactly. Ticks that may still change are simulated again.
    pub(super) fn final_state(&mut self, world: &mut dyn World) -> Vec<u8> {
        let first = self.confirmed_tick();
        if first == self.next_tick || !world.load(first) {
            return world.keep();
        }
        let kept = world.keep();
        self.simulate_from(first, world);
        kept
    }

    /// Who takes part before a tick, the confirmed one.
    pub(super) fn attendance_at(&self, tick: Tick, world: &mut dyn World) -> Attendance {
        if let Some(inherited) = &self.inherited {
            return inherited.clone();
        }
        let window = self.window.as_ref();
        if let Some(held) = window.and_then(|window| window.held_before(tick)) {
            return Attendance::clone(held.attendance());
        }
        let mut held = TickInputs::new();
        world.scene().held_inputs(&mut held);
        Attendance::clone(held.attendance())
    }

    /// Which inputs of whom are in the ticks before one; in a mesh, the players here are among them. Of who was given a state and has not begun with it, those that it
    /// gave before count.
    pub(super) fn accepted(&self, context: &Context, before: Tick) -> Vec<AcceptedInputs> {
        let present = self
            .clients
            .iter()
            .map(|(peer, client)| (peer, &client.ledger));
        let present = present.filter(|(peer, _)| !self.former.contains_key(peer));
        let roster = context.roster.as_ref().filter(|roster| roster.is_mesh);
        let own = roster.map(|roster| (&roster.me, &self.own_log.ledger));
        let all = present
            .chain(&self.former)
            .chain(own)
            .filter(|(_, ledger)| ledger.epoch() != 0);
        all.map(|(peer, ledger)| ledger.accepted(*peer, before))
            .collect()
    }

    /// Takes over what another authority has left beside the world.
    pub(super) fn inherit(
        &mut self,
        epochs: u8,
        former: BTreeMap<PeerId, InputLedger>,
        attendance: Attendance,
    ) {
        (self.epochs, self.former, self.inherited) = (epochs, former, Some(attendance));
        self.roster_changed = true;
    }

    /// The tick before which everything is final.
    pub(super) fn confirmed_tick(&self) -> Tick {
        self.window
            .as_ref()
            .map_or(self.next_tick, |window| window.first())
    }

    /// Simulates again what late inputs have changed.
    fn recompute(&mut self, world: &mut dyn World) {
        let Some(window) = &mut self.window else {
            return;
        };
        let Some(changed) = window.take_changed() else {
            return;
        };
        tracing::trace!(
            from = changed.0,
            ticks = self.next_tick.since(changed),
            "late inputs: ticks are simulated again"
        );
        world.load(changed);
        self.simulate_from(changed, world);
    }

    /// Simulates the open ticks from one on, whose state the world has.
    fn simulate_from(&mut self, changed: Tick, world: &mut dyn World) {
        let Some(window) = &mut self.window else {
            return;
        };
        let mut tick = changed;
        while tick < self.next_tick {
            let clients = &mut self.clients;
            window.step(tick, world, |world, events| {
                write_events(tick, clients, world, events);
            });
            tick = tick.next();
        }
    }

    /// Confirms the ticks that have left the window, or all.
    fn confirm(&mut self, all: bool, world: &mut dyn World) {
        let Some(window) = &mut self.window else {
            return;
        };
        let clients = &mut self.clients;
        while window.confirm_first(all, world, |peer, tick, count, bytes| {
            if let Some(client) = clients.get_mut(&peer) {
                client.on_events(tick, count, bytes);
            }
        }) {}
        self.settle();
    }

    /// Forgets which inputs are in ticks that are final.
    fn settle(&mut self) {
        let before = self.confirmed_tick();
        let clients = self.clients.values_mut().map(|client| &mut client.ledger);
        let own = core::iter::once(&mut self.own_log.ledger);
        for ledger in clients.chain(self.former.values_mut()).chain(own) {
            ledger.settle(before);
        }
    }

    /// Simulates the next tick, which stays open for as long as the window is.
    fn step_in_window(&mut self, now: Duration, context: &Context, world: &mut dyn World) {
        let tick = self.next_tick;
        self.confirm(false, world);
        self.collect(context, world);
        let Some(window) = &mut self.window else {
            return;
        };
        self.inputs.set_window(window.set_length(now, context));
        window.open(&self.inputs);
        let clients = &mut self.clients;
        window.step(tick, world, |world, events| {
            write_events(tick, clients, world, events);
        });
        self.next_tick = tick.next();
    }

    fn step(&mut self, now: Duration, context: &mut Context, world: &mut dyn World) {
        if self.window.is_some() {
            return self.step_in_window(now, context, world);
        }
        let tick = self.next_tick;
        self.collect(context, world);
        world.step(tick, &self.inputs);
        let scene = world.scene();
        for client in self.clients.values_mut() {
            let mut bytes = Vec::new();
            let count = scene.write_events(&client.players, &mut bytes);
            if count > 0 {
                client.on_events(tick, count, bytes);
            }
        }
        world.confirm(tick, &self.inputs);
        self.next_tick = tick.next();
        self.settle();
        let second = u64::from(world.ticks_per_second().max(1));
        if self.next_tick.0.is_multiple_of(second) {
            let checksum = world.checksum();
            world.record_checksum(self.next_tick, checksum);
        }
    }

    /// Determines who takes part from the next tick on: who was present and is not any more is away while it has a place in the room.
    fn call_the_roll(&mut self, world: &mut dyn World) {
        world.scene().held_inputs(&mut self.held);
        let inherited = self.inherited.take();
        let mut attendance = inherited.unwrap_or_else(|| Attendance::clone(self.held.attendance()));
        for player in attendance.players.clone() {
            attendance.lose(player, self.next_tick);
        }
        // Whoever has the number of somebody who leaves takes part a tick later, so that the game sees that it is another.
        let released = core::mem::take(&mut self.released);
        let is_known = |player: &PlayerId| released.contains(*player) && attendance.knows(*player);
        let waiting: Vec<PlayerId> = self.present.iter().copied().filter(is_known).collect();
        let joining = self.present.iter();
        for player in joining.filter(|player| !waiting.contains(player)) {
            attendance.join(*player);
        }
        let placed = &self.placed;
        attendance
            .away
            .retain(|(player, _)| placed.contains(player) && !released.contains(*player));
        self.roster_changed = !waiting.is_empty();
        self.inputs.set_attendance(&Arc::new(attendance));
    }

    /// Collects everyone's inputs for the next tick.
    fn collect(&mut self, context: &Context, world: &mut dyn World) {
        let tick = self.next_tick;
        self.inputs.clear();
        self.inputs.set_replacement(self.replacement.take());
        if core::mem::take(&mut self.roster_changed) {
            self.call_the_roll(world);
        }
        for player in &self.present {
            if self.inputs.players().binary_search(player).is_err() {
                continue;
            }
            if let Some(queue) = self.local.get_mut(player) {
                if let Some(due) = queue.take(tick, world) {
                    self.inputs.push(*player, &due.input);
                    if context.is_mesh() {
                        self.own_log.on_taken(*player, tick, &due);
                    }
                }
                continue;
            }
            let of = |client: &&mut Client| client.players.contains(player);
            let Some(client) = self.clients.values_mut().find(of) else {
                continue;
            };
            let queue = client.queues.get_mut(player);
            let Some(due) = queue.and_then(|queue| queue.take(tick, world)) else {
                continue;
            };
            self.inputs.push(*player, &due.input);
            client.ledger.on_taken(*player, due.number, tick);
            let view_time = due.view_time;
            let view_time =
                view_time.filter(|view_time| is_plausible(context, client, tick, view_time));
            if let Some(view_time) = view_time.filter(|view_time| client.may_see(tick, view_time)) {
                self.inputs.set_view_time(*player, view_time);
            }
        }
    }

    /// Sends every client an update, with the state of the tick that they are told of if that is a new one.
    fn send_updates(&mut self, now: Duration, context: &mut Context, world: &mut dyn World) {
        let told = self.told(context.settings.snapshot.every);
        if let Some(told) = told {
            self.publish(told, world);
        }
        let passed = now.saturating_sub(self.published_at);
        let passed = passed.min(context.tick_time * context.settings.snapshot.every as u32 * 2);
        self.published_at = now;
        let peers: Vec<PeerId> = self.clients.keys().copied().collect();
        for peer in peers {
            self.send_update(now, passed, told.is_some(), context, world, peer);
        }
    }

    /// Publishes the state of a tick as a snapshot.
    fn publish(&mut self, told: Tick, world: &mut dyn World) {
        if self.published.is_some_and(|last| last >= told) {
            return;
        }
        let scene = world.scene();
        let held = self
            .window
            .as_ref()
            .and_then(|window| window.held_before(told));
        match held {
            Some(held) if scene.extract_at(told, &mut self.table) => self.held.clone_from(held),
            _ => {
                scene.extract(&mut self.table);
                scene.held_inputs(&mut self.held);
            }
        }
        self.kinds.fill(&mut self.table, &self.held);
        self.publisher.publish(told, &self.table);
        self.published = Some(told);
    }

    fn send_update(
        &mut self,
        now: Duration,
        passed: Duration,
        has_state: bool,
        context: &mut Context,
        world: &mut dyn World,
        peer: PeerId,
    ) {
        let Some(client) = self.clients.get_mut(&peer) else {
            return;
        };
        if client.given.is_some() {
            return;
        }
        let is_here = context.roster.as_ref().is_some_and(|it| it.me == peer);
        let budget = match client.budget(context.settings.snapshot.budget, passed) {
            _ if is_here => None,
            Budget::Unlimited => None,
            Budget::Bytes(bytes) => Some(bytes),
            Budget::Wait => return,
        };
        let (players, watches) = (client.players.clone(), client.watches);
        self.parts.clear();
        if has_state {
            let limited = self.set_interest(&players, world);
            let interest = limited.then_some(&self.interest);
            self.publisher
                .write(peer, interest, budget, &mut self.parts);
        }
        let Some(client) = self.clients.get_mut(&peer) else {
            return;
        };
        client.forget_refused(now);
        let (mut rewind, mut events_before) = (None, self.next_tick);
        if let Some(window) = &self.window {
            let (report, early_left) = client.rewind_report(window.length());
            rewind = Some(report);
            events_before = window.first().min(early_left.unwrap_or(window.first()));
        }
        let events = client.events(events_before);
        let event_bytes: usize = events
            .entries
            .iter()
            .map(|entry| entry.bytes.len() + 4)
            .sum();
        let (beside, rest) = match self.parts.split_first() {
            Some((first, rest)) if event_bytes <= BESIDE_PART => (&*first.bytes, rest),
            _ => (&[][..], &self.parts[..]),
        };
        let update = Message::Update(Update {
            epoch: client.epoch,
            tick: self.next_tick,
            schedule_offset: context.schedule_offset,
            acknowledged: client.acknowledged,
            beyond_compensation: is_beyond_compensation(context, client),
            slack: client.slack,
            rewind,
            events,
            part: beside,
        });
        let parts = rest
            .iter()
            .map(|part| Message::Part(client.epoch, &part.bytes));
        let (mut messages, mut bytes) = (0, 0);
        for message in core::iter::once(update).chain(parts) {
            let message = context.outgoing(peer, Delivery::Unreliable, &message);
            if is_here {
                self.to_loopback.push_back(message);
                continue;
            }
            messages += 1;
            bytes += message.bytes.len();
            send(&mut self.waiting, now, context, watches, message);
        }
        client.slack = None;
        client.on_sent(messages, bytes, budget.is_some());
        context.sent.messages += messages as u64;
        context.sent.bytes += bytes as u64;
    }

    /// Sends a message: at once, or when a spectator that sees the game later may have it.
    pub(super) fn send(
        &mut self,
        now: Duration,
        context: &mut Context,
        watches: bool,
        message: Outgoing,
    ) {
        send(&mut self.waiting, now, context, watches, message);
    }

    /// Interest management: determines what a program with these players may see. False if that is everything.
    fn set_interest(&mut self, players: &[PlayerId], world: &mut dyn World) -> bool {
        self.interest.reset();
        let published = self.published.unwrap_or(self.next_tick);
        let scene = world.scene();
        // Rows are counted in the state that is told, not in the present one.
        if published == self.next_tick || !scene.interest_at(published, players, &mut self.interest)
        {
            scene.interest(players, &mut self.interest);
        }
        if !self.interest.hides() {
            return !self.interest.is_everything();
        }
        // What others hold shows where they are going, and how many entities there are how many are hidden.
        if !self.interest.says_of(self.kinds.inputs()) {
            let mut inputs = self.interest.kind(self.kinds.inputs());
            inputs.all(Relevance::HIDDEN);
            for (row, player) in self.held.players().iter().enumerate() {
                if players.contains(player) {
                    inputs.row(row, Relevance::FULL);
                }
            }
        }
        if !self.interest.says_of(self.kinds.counters()) {
            let mut counters = self.interest.kind(self.kinds.counters());
            counters.all(Relevance::HIDDEN);
        }
        true
    }

    /// The tick with whose state a newcomer begins.
    pub(super) fn begin_tick(&self, context: &Context) -> Tick {
        let Some(window) = &self.window else {
            return self.next_tick;
        };
        let last = self.published.filter(|last| *last >= window.first());
        let told = self.told(context.settings.snapshot.every).or(last);
        told.unwrap_or(self.next_tick)
    }

    /// Everything that somebody may know, to begin with.
    pub(super) fn state_for(
        &mut self,
        context: &Context,
        newcomer: PeerId,
        world: &mut dyn World,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let told = self.begin_tick(context);
        put(&mut out, LAYOUT);
        put(&mut out, told.0);
        put(
            &mut out,
            context
                .start
                .map_or(0, |start| start.as_micros() as u64 + 1),
        );
        put(&mut out, context.schedule_offset.as_micros() as u64);
        put(&mut out, context.settings.snapshot.every);
        self.epochs = self.epochs.checked_add(1).unwrap_or(1);
        out.push(self.epochs);
        let before = self.clients.remove(&newcomer).map(|client| client.ledger);
        let before = self.former.remove(&newcomer).or(before).unwrap_or_default();
        before.accepted(newcomer, self.next_tick).write(&mut out);
        if context.is_mesh() && before.epoch() != 0 {
            // It may ask again, or another authority take over, before it has begun with this.
            self.former.insert(newcomer, before);
        }
        let member = context
            .roster
            .as_ref()
            .and_then(|roster| roster.member(newcomer));
        let Some(member) = member.cloned() else {
            put(&mut out, 0);
            return out;
        };
        self.publish(told, world);
        self.publisher.leave(newcomer);
        self.publisher.join(newcomer);
        let limited = self.set_interest(&member.players, world);
        let interest = limited.then_some(&self.interest);
        self.parts.clear();
        self.publisher
            .write(newcomer, interest, None, &mut self.parts);
        tracing::debug!(
            peer = newcomer.0,
            tick = self.next_tick.0,
            parts = self.parts.len(),
            "sending the whole state to a client"
        );
        put(&mut out, self.parts.len() as u64);
        for part in &self.parts {
            put(&mut out, part.bytes.len() as u64);
            out.extend_from_slice(&part.bytes);
        }
        let mut client = Client::new(&member, self.epochs, told);
        let (first, last) = (self.parts.first(), self.parts.last());
        client.given = first
            .zip(last)
            .map(|(first, last)| (first.number, last.number));
        self.clients.insert(newcomer, client);
        out
    }
}

/// See [`Host::send`].
fn send(
    waiting: &mut VecDeque<(Duration, Outgoing)>,
    now: Duration,
    context: &mut Context,
    watches: bool,
    message: Outgoing,
) {
    let delay = context.settings.snapshot.spectator_delay;
    if !watches || delay.is_zero() {
        return context.outbox.push(message);
    }
    waiting.push_back((now + delay, message));
    context.wake_at(now + delay);
}

/// Writes the events of the last step for every client: those confirmed at once are queued, the others wait with their tick.
fn write_events(
    tick: Tick,
    clients: &mut BTreeMap<PeerId, Client>,
    world: &mut dyn World,
    events: &mut Vec<(PeerId, usize, Vec<u8>)>,
) {
    let (scene, mut early) = (world.scene(), Vec::new());
    for (peer, client) in clients {
        scene.write_early_events(&client.players, &mut early);
        for event in early.drain(..) {
            client.on_early_event(tick, event);
        }
        let mut bytes = Vec::new();
        let count = scene.write_events(&client.players, &mut bytes);
        if count > 0 {
            events.push((*peer, count, bytes));
        }
    }
}

fn publisher(kinds: &Kinds, keep: u64) -> Publisher {
    let config = PublisherConfig {
        keep: keep as usize,
        part_bytes: PART_BYTES,
    };
    Publisher::new(kinds.schema(), config)
}

/// Whether a client's round trip is beyond lag compensation, so that its shots are judged by the present state.
fn is_beyond_compensation(context: &Context, client: &Client) -> bool {
    let prediction = context.settings.prediction.as_ref();
    let bound = prediction.and_then(|prediction| prediction.compensation);
    bound.is_some_and(|bound| client.round_trip > bound)
}

/// Whether a client's claim of the view time is possible, by the round trip and the delays that the authority knows.
fn is_plausible(context: &Context, client: &Client, tick: Tick, view_time: &ViewTime) -> bool {
    let prediction = context.settings.prediction.as_ref();
    let bound = prediction.and_then(|prediction| prediction.compensation);
    let Some(bound) = bound.filter(|bound| client.round_trip <= *bound) else {
        return false;
    };
    let ordered = view_time.before <= view_time.after && view_time.after <= tick;
    // What jitter adds to both ways is not in the round trip, and what is shown is late by that and by a snapshot or two.
    let shown_late = context.tick_time * (context.settings.snapshot.every * 4) as u32
        + context.settings.most_delay();
    let oldest = context.tick_time.as_micros() as u64 * tick.since(view_time.before);
    ordered && oldest <= (bound.min(client.round_trip) + shown_late).as_micros() as u64
}
