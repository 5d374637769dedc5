//! Passwords of rooms.

use std::fmt;

use zeroize::Zeroizing;

/// The password of a room. `Debug` does not show it, and it is erased from memory when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Zeroizing<String>);

impl Password {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Password {
    fn from(password: String) -> Self {
        Self(Zeroizing::new(password))
    }
}

impl From<&str> for Password {
    fn from(password: &str) -> Self {
        Self::from(password.to_owned())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use crate::{JoinTo, Password, Role, SessionConfig};

    #[test]
    fn settings_show_no_password() {
        let config = SessionConfig::new("test", 1).password("sesame");
        let role = Role::Client(JoinTo {
            password: Some(Password::from("sesame")),
            ..JoinTo::new(([127, 0, 0, 1], 1).into())
        });
        let shown = format!("{config:?} {role:?}");
        assert!(
            shown.contains("Password(..)") && !shown.contains("sesame"),
            "{shown}"
        );
    }
}
