//! The same measurements over real sockets.
use samestep_netem::Path;
use samestep_proto::ChannelKind;
use crate::stream::{StreamConfig, StreamLog};
pub fn stream_udp(_: &Path, _: ChannelKind, _: StreamConfig, _: u64) -> Result<StreamLog, String> { Err("not yet".into()) }
pub fn stream_tcp(_: &Path, _: ChannelKind, _: StreamConfig, _: u64) -> Result<StreamLog, String> { Err("not yet".into()) }
