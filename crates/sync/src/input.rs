//! What players do: with types for games, without them for models.

use core::fmt;
use std::sync::Arc;

use samestep_wire::{BitReader, Wire};

use crate::{Confirmation, Effect, PlayerId, ViewTime};

/// An instant of the simulation: `Tick(t)` is the moment before step `t`, so `Tick(0)` is the beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default, Wire)]
pub struct Tick(#[wire(varint)] pub u64);

impl Tick {
    /// The instant after the next step.
    pub fn next(self) -> Tick {
        Tick(self.0 + 1)
    }

    /// Steps from `earlier` to here; none if it is not earlier.
    pub fn since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl core::ops::Add<u64> for Tick {
    type Output = Tick;

    fn add(self, ticks: u64) -> Tick {
        Tick(self.0 + ticks)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What one player does in one tick. The default is to do nothing.
///
/// For an action game it is the state of the controls, for a strategy game a command:
///
/// ```
/// use samestep_sync::{Input, Wire};
///
/// #[derive(Clone, Default, PartialEq, Debug, Wire)]
/// struct Controls {
///     left: bool,
///     right: bool,
///     fire: bool,
/// }
///
/// impl Input for Controls {
///     fn predict(&self) -> Self {
///         Self { fire: false, ..self.clone() }
///     }
///
///     fn merge(&mut self, late: &Self) -> bool {
///         self.fire |= late.fire;
///         true
///     }
/// }
/// ```
pub trait Input: Wire + Clone + Default + PartialEq + fmt::Debug + 'static {
    /// The input to assume for the next tick if none is given: held keys stay, edges (a shot, a command) drop.
    ///
    /// An input that equals its prediction is not sent.
    fn predict(&self) -> Self;

    /// Folds an input that came too late for its own tick into this one, so that neither is lost: for controls, what was pressed is pressed
    /// now. False if both cannot be done in one tick: then this one waits for the next, which is the default.
    fn merge(&mut self, _late: &Self) -> bool {
        false
    }
}

/// How an input was given, which decides what becomes of it if its own tick cannot take it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputKind {
    /// What is held and pressed: it may be [merged](Input::merge) with other controls.
    Controls,
    /// A command: it has a tick of its own, exactly once.
    Command,
}

/// Whether a player takes part, as the rules see it: the same in the same tick everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlayerPresence {
    /// It plays.
    Present,
    /// Its connection is lost. It may come back: its place in the room is kept for a while.
    Away {
        /// The first tick in which it was not present.
        since: Tick,
    },
    /// It has left, was kicked, was away for too long, or has never been here.
    Gone,
}

/// What the players do in one tick, as the game reads it.
///
/// A player whose connection is lost is [away](Self::away) until it comes back with the same [`PlayerId`], or is gone. A game that keeps
/// characters through an absence removes them when their player is gone:
///
/// ```
/// use samestep_sync::{Inputs, PlayerId, Tick};
///
/// let mut scores = vec![(PlayerId(1), 30), (PlayerId(2), 20), (PlayerId(4), 10)];
/// let away = [(PlayerId(2), Tick(7))];
/// let inputs = Inputs::new(Tick(9), &[PlayerId(1)], &["left"], &[]).with_away(&away);
///
/// scores.retain(|(player, _)| !inputs.is_gone(*player));
/// assert_eq!(scores, [(PlayerId(1), 30), (PlayerId(2), 20)]);
/// ```
#[derive(Debug)]
pub struct Inputs<'a, I> {
    tick: Tick,
    players: &'a [PlayerId],
    away: &'a [(PlayerId, Tick)],
    inputs: &'a [I],
    given: &'a [u16],
    window: UpdateWindow,
}

impl<'a, I> Inputs<'a, I> {
    /// The inputs of `players`, which are in ascending order; `given` are the places of those who said something for
    /// this very tick.
    ///
    /// # Panics
    /// If there are not as many inputs as players, or a place is none of theirs.
    pub fn new(tick: Tick, players: &'a [PlayerId], inputs: &'a [I], given: &'a [u16]) -> Self {
        assert_eq!(players.len(), inputs.len(), "one input for each player");
        let in_bounds = given.iter().all(|at| usize::from(*at) < players.len());
        assert!(in_bounds, "places of players");
        Self {
            tick,
            players,
            away: &[],
            inputs,
            given,
            window: UpdateWindow::default(),
        }
    }

    /// The same with players that are away, in ascending order, and since when.
    pub fn with_away(self, away: &'a [(PlayerId, Tick)]) -> Self {
        Self { away, ..self }
    }

    /// The same in a tick that the authority may still change.
    pub fn with_window(self, window: UpdateWindow) -> Self {
        Self { window, ..self }
    }

    /// The tick that is simulated.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Who is present, in ascending order. Joining, leaving and losing the connection show here, in the same tick for everyone.
    pub fn players(&self) -> &'a [PlayerId] {
        self.players
    }

    /// Who is away and may come back, in ascending order, and the first tick of each absence.
    pub fn away(&self) -> impl Iterator<Item = (PlayerId, Tick)> + use<'a, I> {
        self.away.iter().copied()
    }

    /// Whether a player is present, away or gone.
    pub fn presence(&self, player: PlayerId) -> PlayerPresence {
        if self.players.binary_search(&player).is_ok() {
            return PlayerPresence::Present;
        }
        match self.away.binary_search_by_key(&player, |away| away.0) {
            Ok(at) => PlayerPresence::Away {
                since: self.away[at].1,
            },
            Err(_) => PlayerPresence::Gone,
        }
    }

    /// When the rules apply an effect of this kind that is decided in this tick. [`Now`](Effect::Now) under every model but
    /// [`Rewind`](crate::Rewind).
    ///
    /// ```
    /// use samestep_sync::{Confirmation, Effect, Inputs, Tick, UpdateWindow};
    ///
    /// let inputs = Inputs::<u8>::new(Tick(9), &[], &[], &[]);
    /// assert_eq!(inputs.effect(Confirmation::WindowEnd), Effect::Now);
    ///
    /// let window = UpdateWindow { ticks: 6, predicting: true };
    /// let inputs = inputs.with_window(window);
    /// assert_eq!(inputs.effect(Confirmation::WindowEnd), Effect::After(6));
    /// assert_eq!(inputs.effect(Confirmation::AtOnce), Effect::Elsewhere);
    /// assert_eq!(inputs.effect(Confirmation::Predicted), Effect::Now);
    /// ```
    pub fn effect(&self, confirmation: Confirmation) -> Effect {
        match confirmation {
            Confirmation::WindowEnd if self.window.ticks > 0 => {
                Effect::After(self.window.ticks.into())
            }
            Confirmation::AtOnce if self.window.predicting => Effect::Elsewhere,
            _ => Effect::Now,
        }
    }

    /// Whether a player is gone for good: neither present nor away.
    pub fn is_gone(&self, player: PlayerId) -> bool {
        self.presence(player) == PlayerPresence::Gone
    }

    /// What a player does; `None` if it is not present.
    pub fn of(&self, player: PlayerId) -> Option<&'a I> {
        let at = self.players.binary_search(&player).ok()?;
        self.inputs.get(at)
    }

    /// What everyone does, in the order of the players.
    pub fn iter(&self) -> impl Iterator<Item = (PlayerId, &'a I)> + use<'a, I> {
        self.players.iter().copied().zip(self.inputs)
    }

    /// What those do who said something for this very tick: for a strategy game, the commands.
    pub fn given(&self) -> impl Iterator<Item = (PlayerId, &'a I)> + use<'a, I> {
        let (players, inputs) = (self.players, self.inputs);
        let at = self.given.iter().map(|at| usize::from(*at));
        at.map(move |at| (players[at], &inputs[at]))
    }
}

/// For how long the authority may change a tick after it was simulated, and on which side this program is. The default is no window: what is
/// simulated for good or predicted as a whole, under every model but [`Rewind`](crate::Rewind).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UpdateWindow {
    /// The number of ticks during which inputs for this tick are still accepted.
    pub ticks: u16,
    /// Whether this program only predicts what the authority will decide.
    pub predicting: bool,
}

/// Who takes part in a tick, in ascending order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attendance {
    pub(crate) players: Vec<PlayerId>,
    /// Who is away and may come back, and since when.
    pub(crate) away: Vec<(PlayerId, Tick)>,
}

impl Attendance {
    /// Whether a player is present or away.
    pub(crate) fn knows(&self, player: PlayerId) -> bool {
        self.players.contains(&player) || self.away.iter().any(|away| away.0 == player)
    }

    /// A player plays from now on.
    pub(crate) fn join(&mut self, player: PlayerId) {
        self.away.retain(|away| away.0 != player);
        if let Err(at) = self.players.binary_search(&player) {
            self.players.insert(at, player);
        }
    }

    /// A player that is present is away from a tick on.
    pub(crate) fn lose(&mut self, player: PlayerId, since: Tick) {
        if let Ok(at) = self.players.binary_search(&player) {
            self.players.remove(at);
            let at = self.away.partition_point(|away| away.0 < player);
            self.away.insert(at, (player, since));
        }
    }

    /// A player is gone for good.
    pub(crate) fn leave(&mut self, player: PlayerId) {
        self.players.retain(|known| *known != player);
        self.away.retain(|away| away.0 != player);
    }
}

/// The inputs of one tick without their types: what models carry and replays keep.
///
/// A player that is present but not listed goes on as [predicted](Input::predict).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TickInputs {
    /// Shared by the ticks in which the same take part.
    attendance: Arc<Attendance>,
    entries: Vec<(PlayerId, u32)>,
    /// The encoded inputs, and some zeros behind: reading is fastest away from the end.
    bytes: Vec<u8>,
    /// The view times of players to whom lag compensation applies.
    view_times: Vec<(PlayerId, ViewTime)>,
    replacement: Option<Arc<[u8]>>,
    window: UpdateWindow,
}

/// Zeros behind the inputs.
const ROOM: usize = 8;

impl TickInputs {
    /// Nobody present.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nobody present, and room for as much as another tick holds.
    pub(crate) fn with_room_of(other: &TickInputs) -> Self {
        let more = |len: usize| len + len / 4;
        Self {
            entries: Vec::with_capacity(more(other.entries.len())),
            bytes: Vec::with_capacity(more(other.bytes.len())),
            ..Self::default()
        }
    }

    /// Removes all inputs; who takes part stays.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.view_times.clear();
        self.replacement = None;
    }

    /// The [checkpoint](crate::World::checkpoint) whose state takes the place of the present one before this tick is simulated. What the players
    /// hold stays.
    pub fn replacement(&self) -> Option<&[u8]> {
        self.replacement.as_deref()
    }

    /// Sets whose state takes the place of the present one.
    pub(crate) fn set_replacement(&mut self, checkpoint: Option<Arc<[u8]>>) {
        self.replacement = checkpoint;
    }

    /// For how long the authority may change this tick.
    pub fn window(&self) -> UpdateWindow {
        self.window
    }

    /// Sets for how long the authority may change this tick.
    pub fn set_window(&mut self, window: UpdateWindow) {
        self.window = window;
    }

    /// Who is present, in ascending order.
    pub fn players(&self) -> &[PlayerId] {
        &self.attendance.players
    }

    /// Who is away, in ascending order, and the first tick of each absence.
    pub fn away(&self) -> &[(PlayerId, Tick)] {
        &self.attendance.away
    }

    /// Sets who is present.
    pub fn set_players(&mut self, players: &[PlayerId]) {
        if self.players() == players {
            return;
        }
        let mut sorted = players.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        Arc::make_mut(&mut self.attendance).players = sorted;
    }

    /// Sets who is away, and the first tick of each absence.
    pub fn set_away(&mut self, away: &[(PlayerId, Tick)]) {
        if self.away() == away {
            return;
        }
        let mut sorted = away.to_vec();
        sorted.sort_unstable();
        sorted.dedup_by_key(|away| away.0);
        Arc::make_mut(&mut self.attendance).away = sorted;
    }

    /// Sets who takes part to those of another tick.
    pub(crate) fn share_attendance(&mut self, other: &TickInputs) {
        self.set_attendance(&other.attendance);
    }

    /// Sets who takes part to what ticks share.
    pub(crate) fn set_attendance(&mut self, attendance: &Arc<Attendance>) {
        if !Arc::ptr_eq(&self.attendance, attendance) {
            self.attendance = attendance.clone();
        }
    }

    /// Who takes part, as shared by ticks.
    pub(crate) fn attendance(&self) -> &Arc<Attendance> {
        &self.attendance
    }

    /// Adds a player's input, encoded. Call it in ascending order of the players, at most once for each.
    pub fn push(&mut self, player: PlayerId, input: &[u8]) {
        let start = self.entries.last().map_or(0, |(_, end)| *end as usize);
        self.bytes.truncate(start);
        self.bytes.extend_from_slice(input);
        self.entries.push((player, self.bytes.len() as u32));
        self.bytes.extend_from_slice(&[0; ROOM]);
    }

    /// Adds a player's input.
    pub fn give<I: Input>(&mut self, player: PlayerId, input: &I) {
        let bytes = samestep_wire::encode_to_vec(input).unwrap_or_default();
        self.push(player, &bytes);
    }

    /// Adds a player's input in the order of players; an input that is there already stays.
    pub(crate) fn insert(&mut self, player: PlayerId, input: &[u8]) {
        if self.entries.last().is_none_or(|(last, _)| *last < player) {
            return self.push(player, input);
        }
        let Err(at) = self.entries.binary_search_by_key(&player, |entry| entry.0) else {
            return;
        };
        let start = match at {
            0 => 0,
            _ => self.entries[at - 1].1,
        };
        let range = start as usize..start as usize;
        self.bytes.splice(range, input.iter().copied());
        self.entries.insert(at, (player, start));
        for entry in &mut self.entries[at..] {
            entry.1 += input.len() as u32;
        }
    }

    /// Visits the inputs, decoded; one that does not decode counts as the default.
    pub(crate) fn decode<I: Input>(&self, mut visit: impl FnMut(PlayerId, I)) {
        let mut start = 0;
        for &(player, end) in &self.entries {
            let end = end as usize;
            // Reading is fastest away from the end of the bytes. What reads on beyond its own must be read from those alone.
            let mut r = BitReader::new(&self.bytes[start..]);
            let input = match I::decode(&mut r) {
                Ok(input) if r.bit_len() <= (end - start) * 8 => input,
                _ => I::decode(&mut BitReader::new(&self.bytes[start..end])).unwrap_or_default(),
            };
            visit(player, input);
            start = end;
        }
    }

    /// The players with an input in this tick, and the inputs encoded.
    pub fn entries(&self) -> impl Iterator<Item = (PlayerId, &[u8])> {
        let starts = core::iter::once(0).chain(self.entries.iter().map(|(_, end)| *end));
        let ranges = self.entries.iter().zip(starts);
        ranges.map(|(&(player, end), start)| (player, &self.bytes[start as usize..end as usize]))
    }

    /// Sets the view time of a player's input.
    pub fn set_view_time(&mut self, player: PlayerId, view_time: ViewTime) {
        match self.view_times.binary_search_by_key(&player, |seen| seen.0) {
            Ok(at) => self.view_times[at].1 = view_time,
            Err(at) => self.view_times.insert(at, (player, view_time)),
        }
    }

    /// The view time of a player's input, if lag compensation applies to it.
    pub fn view_time(&self, player: PlayerId) -> Option<ViewTime> {
        let at = self.view_times.binary_search_by_key(&player, |seen| seen.0);
        at.ok().map(|at| self.view_times[at].1)
    }

    /// The view times of all players to whom lag compensation applies, in ascending order.
    pub fn view_times(&self) -> &[(PlayerId, ViewTime)] {
        &self.view_times
    }

    /// The number of players with an input.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no player has an input.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_as_pushed() {
        let mut inputs = TickInputs::new();
        inputs.set_players(&[PlayerId(2), PlayerId(0), PlayerId(2)]);
        inputs.push(PlayerId(0), b"");
        inputs.push(PlayerId(2), b"abc");
        assert_eq!(inputs.players(), [PlayerId(0), PlayerId(2)]);
        let entries: Vec<_> = inputs.entries().collect();
        assert_eq!(entries, [(PlayerId(0), &b""[..]), (PlayerId(2), b"abc")]);
    }

    #[test]
    fn an_absent_player_has_no_input() {
        let players = [PlayerId(1), PlayerId(4)];
        let inputs = Inputs::new(Tick(3), &players, &["a", "b"], &[1]);
        assert_eq!(inputs.of(PlayerId(4)), Some(&"b"));
        assert_eq!(inputs.of(PlayerId(2)), None);
        assert_eq!(inputs.given().collect::<Vec<_>>(), [(PlayerId(4), &"b")]);
    }

    #[test]
    fn a_player_is_present_away_or_gone() {
        let (players, away) = (
            [PlayerId(1)],
            [(PlayerId(3), Tick(2)), (PlayerId(5), Tick(8))],
        );
        let inputs = Inputs::new(Tick(9), &players, &[()], &[]).with_away(&away);
        let since = Tick(8);
        assert_eq!(inputs.presence(PlayerId(1)), PlayerPresence::Present);
        assert_eq!(inputs.presence(PlayerId(5)), PlayerPresence::Away { since });
        assert!(inputs.is_gone(PlayerId(4)) && !inputs.is_gone(PlayerId(3)));
        assert_eq!(inputs.away().collect::<Vec<_>>(), away);
    }

    #[test]
    fn only_who_was_present_is_away_and_who_joins_is_not() {
        let mut attendance = Attendance::default();
        attendance.join(PlayerId(4));
        attendance.join(PlayerId(2));
        attendance.lose(PlayerId(4), Tick(7));
        attendance.lose(PlayerId(4), Tick(9));
        attendance.lose(PlayerId(5), Tick(9));
        assert_eq!(attendance.players, [PlayerId(2)]);
        assert_eq!(attendance.away, [(PlayerId(4), Tick(7))]);
        attendance.join(PlayerId(4));
        attendance.leave(PlayerId(2));
        assert_eq!(attendance.players, [PlayerId(4)]);
        assert!(attendance.away.is_empty());
    }
}
