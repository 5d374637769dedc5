//! Actions take place exactly once everywhere, or are denied exactly once.

use std::collections::{BTreeMap, BTreeSet};

use samestep_session::RequestId;

/// An action, told from all others by its bytes.
pub type Action = Vec<u8>;

/// A session among those checked, counted by the caller; a restarted program is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(pub usize);

/// The confirmed actions of one room.
#[derive(Clone, Debug, Default)]
pub struct ConfirmedActions {
    /// The room's log, as far as anybody has seen it.
    log: BTreeMap<u64, Action>,
    places: BTreeMap<Action, u64>,
    denied: BTreeSet<Action>,
    asked: BTreeMap<(Part, RequestId), (Action, Option<Answer>)>,
    applied: BTreeMap<Part, BTreeSet<u64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Command,
    Included,
    Denied,
}

impl ConfirmedActions {
    /// Somebody asks for an action.
    pub fn on_request(&mut self, who: Part, request: RequestId, action: &[u8]) {
        self.asked.insert((who, request), (action.to_vec(), None));
    }

    /// Somebody is told that an action takes place.
    pub fn on_command(
        &mut self,
        who: Part,
        index: u64,
        request: Option<RequestId>,
        action: &[u8],
    ) -> Result<(), String> {
        if !self.applied.entry(who).or_default().insert(index) {
            return Err(format!("command {index} was applied twice"));
        }
        if let Some(other) = self.log.get(&index)
            && other != action
        {
            return Err(format!(
                "command {index} is {action:?} here and {other:?} elsewhere"
            ));
        }
        if self.denied.contains(action) {
            return Err(format!("{action:?} takes place although it was denied"));
        }
        self.log.insert(index, action.to_vec());
        if let Some(place) = self.places.insert(action.to_vec(), index)
            && place != index
        {
            return Err(format!(
                "{action:?} takes place at {place} and again at {index}"
            ));
        }
        match request {
            None => Ok(()),
            Some(request) => self.answer(who, request, Answer::Command, Some(action)),
        }
    }

    /// Somebody is told that its action was denied; `decided` unless the session ended before anybody decided.
    pub fn on_denied(
        &mut self,
        who: Part,
        request: RequestId,
        decided: bool,
    ) -> Result<(), String> {
        self.answer(who, request, Answer::Denied, None)?;
        let action = self.asked[&(who, request)].0.clone();
        if decided {
            if self.places.contains_key(&action) {
                return Err(format!("{action:?} was denied although it took place"));
            }
            self.denied.insert(action);
        }
        Ok(())
    }

    /// Somebody is told that its action took place within the state it was given.
    pub fn on_included(&mut self, who: Part, request: RequestId) -> Result<(), String> {
        self.answer(who, request, Answer::Included, None)
    }

    fn answer(
        &mut self,
        who: Part,
        request: RequestId,
        answer: Answer,
        action: Option<&[u8]>,
    ) -> Result<(), String> {
        let Some((asked, answered)) = self.asked.get_mut(&(who, request)) else {
            return Err(format!("{request:?} is answered, which it never asked"));
        };
        if let Some(before) = answered.replace(answer) {
            return Err(format!("{request:?}: {answer:?} after {before:?}"));
        }
        match action {
            Some(action) if action != *asked => Err(format!(
                "{request:?} asked for {asked:?} and got {action:?}"
            )),
            _ => Ok(()),
        }
    }

    /// When all is quiet: a session must have applied every command after `since` up to `until`, and every request
    /// of its own must have been answered.
    pub fn settled(&self, who: Part, since: u64, until: u64) -> Result<(), String> {
        let none = BTreeSet::new();
        let applied = self.applied.get(&who).unwrap_or(&none);
        for (index, action) in self.log.range(since + 1..until + 1) {
            if !applied.contains(index) {
                return Err(format!("command {index} ({action:?}) was not applied"));
            }
        }
        self.answered(who)
    }

    /// When all is quiet, or the session is over: every request of its own must have been answered.
    pub fn answered(&self, who: Part) -> Result<(), String> {
        let mine = (who, RequestId(0))..=(who, RequestId(u32::MAX));
        match self
            .asked
            .range(mine)
            .find(|(_, (_, answer))| answer.is_none())
        {
            Some(((_, request), (action, _))) => {
                Err(format!("{request:?} ({action:?}) was not answered"))
            }
            None => Ok(()),
        }
    }

    /// How many actions took place.
    pub fn commands(&self) -> usize {
        self.log.len()
    }
}

/// The unconfirmed actions of one room.
#[derive(Clone, Debug, Default)]
pub struct UnconfirmedActions {
    asked: BTreeMap<(Part, RequestId), Action>,
    acts: BTreeMap<Action, Act>,
}

#[derive(Clone, Debug)]
struct Act {
    by: Part,
    /// Who was there when it was done, and who was to judge.
    audience: BTreeSet<Part>,
    judge: Option<Part>,
    seen: BTreeSet<Part>,
    judged: Option<bool>,
    judges: BTreeSet<Part>,
    rejected: bool,
}

impl UnconfirmedActions {
    /// Somebody acts before all of these, itself among them; one of them is to judge.
    pub fn on_act(
        &mut self,
        who: Part,
        request: RequestId,
        action: &[u8],
        audience: BTreeSet<Part>,
        judge: Option<Part>,
    ) {
        self.asked.insert((who, request), action.to_vec());
        self.acts.insert(
            action.to_vec(),
            Act {
                by: who,
                audience,
                judge,
                seen: BTreeSet::new(),
                judged: None,
                judges: BTreeSet::new(),
                rejected: false,
            },
        );
    }

    /// Somebody is told that an action takes place.
    pub fn on_acted(
        &mut self,
        who: Part,
        request: Option<RequestId>,
        action: &[u8],
    ) -> Result<(), String> {
        let Some(act) = self.acts.get_mut(action) else {
            return Err(format!("{action:?} takes place, which nobody did"));
        };
        if !act.seen.insert(who) {
            return Err(format!("{action:?} takes place twice"));
        }
        if (act.by == who) != request.is_some() {
            return Err(format!("{action:?} takes place as {request:?}"));
        }
        if act.by != who && act.judged != Some(true) {
            return Err(format!("{action:?} takes place here before it was judged"));
        }
        Ok(())
    }

    /// An authority judged an action. Another authority may have to judge it again, to the same end.
    pub fn on_judged(&mut self, by: Part, action: &[u8], sound: bool) -> Result<(), String> {
        let Some(act) = self.acts.get_mut(action) else {
            return Err(format!("{action:?} was checked, which nobody did"));
        };
        if !act.judges.insert(by) {
            return Err(format!("{action:?} was checked twice"));
        }
        act.judged = Some(sound);
        Ok(())
    }

    /// Somebody is told to take its action back.
    pub fn on_rejected(&mut self, who: Part, request: RequestId) -> Result<(), String> {
        let Some(act) = self
            .asked
            .get(&(who, request))
            .and_then(|action| self.acts.get_mut(action))
        else {
            return Err(format!("{request:?} is rejected, which it never did"));
        };
        if std::mem::replace(&mut act.rejected, true) {
            return Err(format!("{request:?} is rejected twice"));
        }
        match act.judged {
            Some(true) => Err(format!("{request:?} is rejected although it was sound")),
            _ => Ok(()),
        }
    }

    /// When all is quiet, for sessions that were never interrupted: what was sound took place at each that was there, and
    /// what one did was judged, and taken back if it was not sound, unless its judge was lost.
    pub fn settled(&self, there: &BTreeSet<Part>, judge: Option<Part>) -> Result<(), String> {
        for (action, act) in &self.acts {
            if !there.contains(&act.by) {
                continue;
            }
            if !act.seen.contains(&act.by) {
                return Err(format!("{action:?} did not take place where it was done"));
            }
            let judged = act.judge == judge && judge.is_some_and(|judge| there.contains(&judge));
            let mut owed = act.audience.intersection(there);
            let missing = owed.find(|who| !act.seen.contains(*who));
            match act.judged {
                None if judged => return Err(format!("{action:?} was never checked")),
                Some(false) if judged && !act.rejected => {
                    return Err(format!("{action:?} was not sound and not taken back"));
                }
                Some(true) if judged && missing.is_some() => {
                    return Err(format!("{action:?} did not take place at {missing:?}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Part = Part(0);
    const B: Part = Part(1);
    const ONE: RequestId = RequestId(1);

    fn asked() -> ConfirmedActions {
        let mut actions = ConfirmedActions::default();
        actions.on_request(A, ONE, b"x");
        actions
    }

    #[test]
    fn once_everywhere_is_fine() {
        let mut actions = asked();
        actions.on_command(A, 5, Some(ONE), b"x").unwrap();
        actions.on_command(B, 5, None, b"x").unwrap();
        actions.settled(A, 0, 9).unwrap();
        actions.settled(B, 0, 9).unwrap();
    }

    #[test]
    fn twice_nowhere_differently_or_against_a_denial_is_found() {
        let mut actions = asked();
        assert!(actions.settled(A, 0, 9).is_err(), "never answered");
        actions.on_command(A, 5, Some(ONE), b"x").unwrap();
        assert!(actions.settled(B, 4, 9).is_err(), "not applied there");
        assert!(actions.settled(B, 5, 9).is_ok(), "joined after it");
        let again = |index, action: &[u8]| actions.clone().on_command(B, index, None, action);
        assert!(again(6, b"x").is_err(), "again at another place");
        assert!(again(5, b"y").is_err(), "another action at its place");
        assert!(actions.clone().on_command(A, 5, None, b"x").is_err());
        assert!(actions.clone().on_denied(A, ONE, true).is_err());
        let mut denied = asked();
        denied.on_denied(A, ONE, true).unwrap();
        assert!(denied.clone().on_denied(A, ONE, true).is_err(), "twice");
        assert!(denied.on_command(B, 5, None, b"x").is_err());
    }

    #[test]
    fn unconfirmed_actions_are_judged_and_take_place_or_are_taken_back() {
        let mut acts = UnconfirmedActions::default();
        let there = BTreeSet::from([A, B]);
        acts.on_act(A, ONE, b"x", there.clone(), Some(B));
        acts.on_acted(A, Some(ONE), b"x").unwrap();
        assert!(acts.settled(&there, Some(B)).is_err(), "never judged");
        assert!(acts.settled(&there, Some(A)).is_ok(), "its judge is lost");
        assert!(acts.clone().on_acted(B, None, b"x").is_err(), "unjudged");
        let mut bad = acts.clone();
        bad.on_judged(A, b"x", false).unwrap();
        assert!(bad.settled(&there, Some(B)).is_err(), "not taken back");
        bad.on_rejected(A, ONE).unwrap();
        assert!(bad.settled(&there, Some(B)).is_ok());
        assert!(bad.on_rejected(A, ONE).is_err(), "twice");
        acts.on_judged(A, b"x", true).unwrap();
        assert!(acts.settled(&there, Some(B)).is_err(), "not at B");
        acts.on_acted(B, None, b"x").unwrap();
        assert!(acts.settled(&there, Some(B)).is_ok());
        assert!(acts.clone().on_acted(B, None, b"x").is_err(), "twice");
        assert!(acts.on_rejected(A, ONE).is_err(), "it was sound");
    }
}
