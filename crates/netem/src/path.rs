use crate::{Link, LinkConfig, LinkError, NetworkProfile, Rng};

/// Both directions of a path: `up` from the client to the server, `down` back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Client to server.
    pub up: LinkConfig,
    /// Server to client.
    pub down: LinkConfig,
}

impl Path {
    /// The same settings in both directions; what happens to the datagrams is still independent.
    pub fn symmetric(config: LinkConfig) -> Path {
        Path {
            up: config.clone(),
            down: config,
        }
    }

    /// Sets one of [`LinkConfig::KEYS`] in both directions, or with the prefix `up.` or `down.` in one.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), LinkError> {
        if let Some(key) = key.strip_prefix("up.") {
            self.up.set(key, value)
        } else if let Some(key) = key.strip_prefix("down.") {
            self.down.set(key, value)
        } else if key == "profile" {
            let profile = NetworkProfile::find(value)?;
            (self.up, self.down) = (profile.up, profile.down);
            Ok(())
        } else {
            self.up.set(key, value)?;
            self.down.set(key, value)
        }
    }

    /// The links of the two directions, `(up, down)`, each with its own seed derived from `seed`.
    pub fn links(&self, seed: u64) -> Result<(Link, Link), LinkError> {
        let mut rng = Rng::new(seed);
        let up = Link::new(self.up.clone(), rng.next_u64())?;
        let down = Link::new(self.down.clone(), rng.next_u64())?;
        Ok((up, down))
    }
}

impl From<NetworkProfile> for Path {
    fn from(profile: NetworkProfile) -> Path {
        Path {
            up: profile.up,
            down: profile.down,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn keys_reach_the_direction_they_name() {
        let mut path = Path::default();
        path.set("latency", "30").unwrap();
        path.set("up.rate_kbps", "64").unwrap();
        assert_eq!(path.down.latency, Duration::from_millis(30));
        assert_eq!((path.up.rate_bps, path.down.rate_bps), (Some(64_000), None));
        path.set("profile", "broadband").unwrap();
        assert_ne!(path.up.rate_bps, path.down.rate_bps);
        assert!(path.set("sideways.loss", "0").is_err());
    }
}
