//! The registry of models: whatever offers a choice of models takes it from here.
//!
//! A model lives in a file or folder of its own, where it implements [`Model`] and [`SwitchableModel`] and describes itself in a constant `KIND`. One line
//! of [`registry!`] below makes it known to programs, sandbox and lab.

use thiserror::Error;

use crate::switch::SwitchableModel;
use crate::{
    EventDelay, EventDelayConfig, Lockstep, LockstepConfig, Model, Rewind, RewindConfig, Rollback,
    RollbackConfig, Snapshot, SnapshotConfig, StateSync, StateSyncConfig,
};

/// How the programs of a room are connected, and who simulates for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomKind {
    /// A program without a player is the host.
    Dedicated,
    /// A player's program is the host.
    Hosted,
    /// Everyone is connected to everyone, and nobody is the host.
    Mesh,
}

/// What is known of a model before it runs: its names, and where it works.
#[derive(Clone, Copy, Debug)]
pub struct ModelKind {
    /// Its name in links, commands and files.
    pub name: &'static str,
    /// Its name on a screen.
    pub title: &'static str,
    /// What a player sees of it.
    pub sentence: &'static str,
    /// The rooms it works in.
    pub rooms: &'static [RoomKind],
    pub(crate) config: fn() -> ModelConfig,
}

impl PartialEq for ModelKind {
    fn eq(&self, other: &ModelKind) -> bool {
        self.name == other.name
    }
}

impl Eq for ModelKind {}

impl ModelKind {
    /// The model of that name.
    pub fn named(name: &str) -> Option<ModelKind> {
        Self::ALL.iter().find(|kind| kind.name == name).copied()
    }

    /// Whether it works in such a room.
    pub fn works_in(&self, room: RoomKind) -> bool {
        self.rooms.contains(&room)
    }

    /// Its default settings.
    pub fn config(&self) -> ModelConfig {
        (self.config)()
    }
}

/// Settings that a model refuses.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct ModelConfigError(String);

macro_rules! registry {
    ($($model:ident($config:ident)),* $(,)?) => {
        /// A model with its settings.
        #[derive(Clone, PartialEq, Debug)]
        pub enum ModelConfig {
            $(#[doc = concat!("[`", stringify!($model), "`](crate::", stringify!($model), ").")] $model($config),)*
        }

        impl ModelKind {
            /// Every model there is.
            pub const ALL: &'static [ModelKind] = &[$($model::KIND),*];
        }

        impl ModelConfig {
            /// What is known of the model.
            pub fn kind(&self) -> ModelKind {
                match self {
                    $(Self::$model(_) => $model::KIND,)*
                }
            }

            pub(crate) fn build_switchable(&self) -> Result<Box<dyn SwitchableModel>, ModelConfigError> {
                Ok(match self {
                    $(Self::$model(config) => Box::new(
                        $model::new(config.clone()).map_err(|error| ModelConfigError(error.to_string()))?,
                    ),)*
                })
            }
        }
    };
}

registry! {
    Lockstep(LockstepConfig),
    EventDelay(EventDelayConfig),
    Rollback(RollbackConfig),
    Snapshot(SnapshotConfig),
    StateSync(StateSyncConfig),
    Rewind(RewindConfig),
}

impl ModelConfig {
    /// The model, before its first tick. Refuses settings that make no sense.
    pub fn build(&self) -> Result<Box<dyn Model + Send>, ModelConfigError> {
        Ok(self.build_switchable()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_found_by_its_name_and_built_from_its_default_settings() {
        for kind in ModelKind::ALL {
            assert_eq!(ModelKind::named(kind.name), Some(*kind));
            assert_eq!(kind.config().kind(), *kind);
            assert!(kind.config().build().is_ok());
            assert!(kind.works_in(RoomKind::Dedicated) && kind.works_in(RoomKind::Hosted));
        }
        assert_eq!(ModelKind::named("telepathy"), None);
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_with_the_models_own_error() {
        let config = SnapshotConfig {
            every: 0,
            ..SnapshotConfig::default()
        };
        let expected = Snapshot::new(config.clone()).unwrap_err().to_string();
        let error = ModelConfig::Snapshot(config).build().err().unwrap();
        assert_eq!(error.to_string(), expected);
    }
}
