//! Writes what happens into a replay.

use super::chunk::{Kind, MAGIC, append, crc};
use super::ticks::{MAX_TICKS, TicksWriter};
use super::{Divergence, Ending, ReplayHeader};
use crate::bytes::put;
use crate::{Tick, TickInputs};

/// What a [`Recorder`] may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderConfig {
    /// Bytes that may wait for [`Recorder::take_new`] (or for [`Recorder::bytes`], where nobody takes them). Beyond that the
    /// replay ends: what was recorded stays whole. Default 64 MiB: hours.
    pub limit: usize,
}

impl Default for RecorderConfig {
    fn default() -> Self {
        Self { limit: 64 << 20 }
    }
}

/// Bytes of a run of ticks after which it is closed, so that little is lost where a file is cut off.
const RUN_BYTES: usize = 16 << 10;

/// Records a game: a state to begin with, then the inputs of every tick that is final.
///
/// ```
/// use samestep_sync::{PlayerId, Recorder, Replay, ReplayHeader, Tick, TickInputs};
///
/// let header = ReplayHeader { game: "pong".into(), version: 1, ticks_per_second: 60 };
/// let mut recorder = Recorder::new(&header, Tick(0), b"the state at the beginning, encoded");
/// let mut inputs = TickInputs::new();
/// inputs.set_players(&[PlayerId(0), PlayerId(1)]);
/// for tick in 0..600 {
///     recorder.on_tick(Tick(tick), &inputs);
/// }
/// recorder.on_checksum(Tick(600), 0xfeed);
/// let replay = Replay::parse(recorder.bytes())?;
/// assert_eq!(replay.header(), &header);
/// assert_eq!(replay.end(), Tick(600));
/// # Ok::<(), samestep_sync::ReplayError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    config: RecorderConfig,
    header: ReplayHeader,
    /// What nobody has taken yet.
    file: Vec<u8>,
    /// Checksum of everything before the end of `file`, taken or not.
    check: u32,
    taken: bool,
    /// Whether any tick was recorded.
    begun: bool,
    ended: Option<Ending>,
    open: TicksWriter,
}

impl Recorder {
    /// A replay that begins at `first` with the state in `checkpoint`.
    pub fn new(header: &ReplayHeader, first: Tick, checkpoint: &[u8]) -> Self {
        Self::with_config(RecorderConfig::default(), header, first, checkpoint)
    }

    /// The same with limits of one's own.
    pub fn with_config(
        config: RecorderConfig,
        header: &ReplayHeader,
        first: Tick,
        checkpoint: &[u8],
    ) -> Self {
        let mut recorder = Self {
            config,
            header: header.clone(),
            file: Vec::new(),
            check: 0,
            taken: false,
            begun: false,
            ended: None,
            open: TicksWriter::new(first),
        };
        recorder.begin();
        recorder.on_checkpoint(first, checkpoint);
        recorder
    }

    /// The game that is recorded.
    pub fn header(&self) -> &ReplayHeader {
        &self.header
    }

    /// The tick that is recorded next.
    pub fn tick(&self) -> Tick {
        self.open.next()
    }

    /// Why nothing more is written; `None` while it is.
    pub fn ended(&self) -> Option<Ending> {
        self.ended
    }

    /// The inputs of a tick are final. Ticks come one after the other: one that was recorded already is passed over, and after a gap
    /// (a tick that nobody recorded) the replay ends, unless a [checkpoint](Self::on_checkpoint) bridges it.
    pub fn on_tick(&mut self, tick: Tick, inputs: &TickInputs) {
        if tick != self.open.next() {
            if tick > self.open.next() {
                self.end(Ending::Gap);
            }
            return;
        }
        self.begun = true;
        self.open.tick(inputs);
        let ticks = self.open.next().since(self.open.first());
        if self.open.len() >= RUN_BYTES || ticks >= MAX_TICKS {
            self.close_run();
        }
    }

    /// The checksum of the state at `tick`, which must not lie after the [next tick](Self::tick): there it is passed over.
    pub fn on_checksum(&mut self, tick: Tick, checksum: u64) {
        if tick <= self.open.next() {
            self.open.checksum(self.open.next().since(tick), checksum);
        }
    }

    /// The state was replaced (by a newcomer's first, or after a divergence): the replay goes on from there. What was recorded of this and later ticks
    /// counts no more.
    pub fn on_checkpoint(&mut self, tick: Tick, checkpoint: &[u8]) {
        if self.begun || self.taken || self.ended.is_some() {
            self.close_run();
        } else {
            // What was there to begin with never mattered.
            self.begin();
        }
        let mut body = Vec::with_capacity(checkpoint.len() + 10);
        put(&mut body, tick.0);
        body.extend_from_slice(checkpoint);
        self.append(Kind::Checkpoint, &body);
        self.open.begin(tick);
    }

    /// A divergence was found: keeps the report in the replay.
    pub fn on_divergence(&mut self, divergence: &Divergence) {
        self.close_run();
        self.append(Kind::Divergence, &divergence.encode());
    }

    /// The game is over. Nothing that comes later is recorded.
    pub fn finish(&mut self) {
        self.end(Ending::Finished);
    }

    /// The replay so far, less what was [taken](Self::take_new).
    pub fn bytes(&self) -> Vec<u8> {
        let mut copy = self.clone();
        copy.close_run();
        copy.file
    }

    /// What has been added since this was called last: for writing into a file as the game goes on. About 15 bytes are
    /// spent each time, so call it every second or so, not every tick.
    pub fn take_new(&mut self) -> Vec<u8> {
        self.close_run();
        self.taken = true;
        core::mem::take(&mut self.file)
    }

    /// The very first bytes.
    fn begin(&mut self) {
        self.file.clear();
        self.file.extend_from_slice(&MAGIC);
        self.check = crc(0, &MAGIC);
        let body = self.header.encode();
        self.append(Kind::Header, &body);
    }

    fn end(&mut self, ending: Ending) {
        self.close_run();
        if self.ended.is_none() {
            self.ended = Some(ending);
            self.check = append(&mut self.file, self.check, Kind::End, &[ending as u8]);
        }
    }

    fn append(&mut self, kind: Kind, body: &[u8]) {
        if self.ended.is_some() {
            return;
        }
        if self.file.len() + body.len() > self.config.limit {
            self.end(Ending::Full);
        } else {
            self.check = append(&mut self.file, self.check, kind, body);
        }
    }

    /// Closes the ticks that are open, if there are any.
    fn close_run(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let end = self.open.next();
        let body = self.open.finish().to_vec();
        self.open.begin(end);
        self.append(Kind::Ticks, &body);
    }
}

impl ReplayHeader {
    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let mut len = self.game.len().min(Self::MAX_NAME);
        while !self.game.is_char_boundary(len) {
            len -= 1;
        }
        put(&mut body, len as u64);
        body.extend_from_slice(&self.game.as_bytes()[..len]);
        put(&mut body, self.version.into());
        put(&mut body, self.ticks_per_second.into());
        body
    }
}
