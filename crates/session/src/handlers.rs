//! Handlers for messages and actions.
