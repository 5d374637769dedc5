//! The agreement of rooms, alone: its promises checked in every order of messages for two and three members, and over random schedules in virtual time.

mod counterexamples;
mod explore;
mod fault;
mod hosted;
mod hostile;
mod oracle;
mod random;
mod world;
