//! Logs on standard error, for programs that have no `tracing` subscriber of their own.

use std::io;

use tracing_subscriber::EnvFilter;

/// Begins to log on standard error what `filter`, or else the environment variable `RUST_LOG`, asks for; without both nothing is logged.
///
/// `samestep=debug` shows all parts of the toolkit, `samestep_session=info,samestep_proto=trace` some of them. The levels: `error` is
/// a broken promise, `warn` a desync or a refusal, `info` who joins and leaves, `debug` the steps of it, `trace` every packet.
pub fn init(filter: Option<&str>) -> io::Result<()> {
    let environment = std::env::var("RUST_LOG").ok();
    let Some(filter) = filter.map(str::to_string).or(environment) else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        let message = format!("the log filter `{filter}` is none: {error}; try `samestep=debug`");
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter);
    // A subscriber that the program has installed before stays.
    let _ = subscriber.with_writer(io::stderr).try_init();
    Ok(())
}
