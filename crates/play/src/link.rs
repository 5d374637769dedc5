//! The options that describe an impaired link, the same for every command.

use clap::Args;
use samestep::netem::{LinkConfig, NetworkProfile, Path};

/// How the network behaves, in each direction.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Link")]
pub struct LinkArguments {
    /// Start from a named profile (see `samestep proxy --list-profiles`)
    #[arg(long, value_name = "NAME", value_parser = setting("profile"))]
    pub profile: Option<String>,
    /// Smallest one-way delay: 50 or 50ms
    #[arg(long, value_name = "MS", value_parser = setting("latency"))]
    pub latency: Option<String>,
    /// Random delay on top: 5 or 5ms
    #[arg(long, value_name = "MS", value_parser = setting("jitter"))]
    pub jitter: Option<String>,
    /// Share of datagrams lost: 0.05 or 5%
    #[arg(long, value_name = "SHARE", value_parser = setting("loss"))]
    pub loss: Option<String>,
    /// Mean length of a burst of loss
    #[arg(long, value_name = "MS", value_parser = setting("burst"))]
    pub burst: Option<String>,
    /// Share of datagrams delivered twice
    #[arg(long, value_name = "SHARE", value_parser = setting("duplicate"))]
    pub duplicate: Option<String>,
    /// Share of datagrams held back so that later ones overtake
    #[arg(long, value_name = "SHARE", value_parser = setting("reorder"))]
    pub reorder: Option<String>,
    /// Rate limit in kbit/s
    #[arg(long, value_name = "KBPS", value_parser = setting("rate_kbps"))]
    pub rate: Option<String>,
    /// Longest wait for the rate limit before a datagram is dropped
    #[arg(long, value_name = "MS", value_parser = setting("queue"))]
    pub queue: Option<String>,
    /// Seed of the link's randomness
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Accepts what the link model understands for this key, and its words where it does not.
fn setting(
    key: &'static str,
) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    move |text| {
        let mut path = Path::default();
        path.set(key, text)
            .map(|()| text.to_string())
            .map_err(|error| error.to_string())
    }
}

impl LinkArguments {
    /// The path these options describe, starting from a perfect one.
    pub fn path(&self) -> Result<Path, String> {
        self.path_from(Path::default())
    }

    /// The path these options describe, starting from `path` unless a profile is named.
    pub fn path_from(&self, mut path: Path) -> Result<Path, String> {
        let settings = [
            ("profile", &self.profile),
            ("latency", &self.latency),
            ("jitter", &self.jitter),
            ("loss", &self.loss),
            ("burst", &self.burst),
            ("duplicate", &self.duplicate),
            ("reorder", &self.reorder),
            ("rate_kbps", &self.rate),
            ("queue", &self.queue),
        ];
        for (key, value) in settings {
            if let Some(value) = value {
                path.set(key, value).map_err(|error| error.to_string())?;
            }
        }
        Ok(path)
    }

    /// One line about the path for people.
    pub fn describe(&self, path: &Path) -> String {
        let name = self
            .profile
            .as_ref()
            .map(|name| format!("{name}: "))
            .unwrap_or_default();
        if path.up == path.down {
            return format!("{name}{}", line(&path.up));
        }
        format!("{name}up {}; down {}", line(&path.up), line(&path.down))
    }
}

fn line(link: &LinkConfig) -> String {
    format!("latency {link}")
}

/// The named profiles, a line each.
pub fn profiles() -> String {
    let width = NetworkProfile::list()
        .iter()
        .map(|profile| profile.name.len())
        .max()
        .unwrap_or(0);
    let line =
        |profile: &NetworkProfile| format!("{:width$}  {}\n", profile.name, profile.description);
    NetworkProfile::list().iter().map(line).collect()
}
