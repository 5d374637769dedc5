//! The variables of one group as the content of a sequence.

use samestep_wire::BitReader;

use super::message::{MAX_STATE, Refusal};
use super::sequence::Content;
use super::{ChangedBy, Exactness, VariableField};
use crate::fields::{SharedField, SharedFields};

/// Changes in one request.
const MAX_STEPS: u64 = 1024;

/// The variables of a struct that are in the group of this number.
pub(super) struct Group<'a, S: ?Sized> {
    pub fields: &'a mut S,
    pub number: u16,
}

impl<S: SharedFields + ?Sized> Group<'_, S> {
    /// Visits the fields of the group, with their numbers in it.
    pub(super) fn visit(&mut self, mut visit: impl FnMut(u64, &mut dyn SharedField)) {
        let (number, mut index) = (self.number, 0);
        self.fields.for_each(&mut |field| {
            if field.mark().declared.exactness != Exactness::Exact {
                return;
            }
            if field.variable().is_some_and(|v| v.link().group == number) {
                visit(index, field);
                index += 1;
            }
        });
    }

    fn variables(&mut self, mut visit: impl FnMut(&mut dyn VariableField)) {
        self.visit(|_, field| {
            if let Some(variable) = field.variable() {
                visit(variable);
            }
        });
    }

    fn try_changes(&mut self, change: &[u8], by_owner: bool) -> Result<(), Refusal> {
        let mut r = BitReader::new(change);
        let not_understood = |_| Refusal::NotUnderstood;
        let steps = r.read_varint().map_err(not_understood)?;
        if steps > MAX_STEPS {
            return Err(Refusal::NotUnderstood);
        }
        for _ in 0..steps {
            let wanted = r.read_varint().map_err(not_understood)?;
            let mut result = Err(Refusal::NotUnderstood);
            self.visit(|index, field| {
                if index != wanted {
                    return;
                }
                let by_all = field.mark().declared.changed_by == ChangedBy::All;
                if !by_owner && !by_all {
                    result = Err(Refusal::NotYours(field.owner()));
                } else if let Some(variable) = field.variable() {
                    result = variable.try_change(&mut r);
                }
            });
            result?;
        }
        r.finish().map_err(not_understood)?;
        match self.encode().is_some_and(|all| all.len() <= MAX_STATE) {
            true => Ok(()),
            false => Err(Refusal::DoesNotFit),
        }
    }

    fn encode(&mut self) -> Option<Vec<u8>> {
        let mut all = Some(Vec::new());
        self.variables(|variable| match (&mut all, variable.latest()) {
            (Some(all), Ok(bytes)) => all.extend(bytes),
            _ => all = None,
        });
        all
    }

    fn read(
        &mut self,
        values: &[u8],
        mut read: impl FnMut(&mut dyn VariableField, &mut BitReader<'_>) -> bool,
    ) -> bool {
        let mut r = BitReader::new(values);
        let mut is_good = true;
        self.variables(|variable| {
            is_good = is_good && read(variable, &mut r) && r.align().is_ok();
        });
        is_good && r.finish().is_ok()
    }
}

impl<S: SharedFields + ?Sized> Content for Group<'_, S> {
    fn change(&mut self, change: &[u8], by_owner: bool) -> Result<(), Refusal> {
        let result = self.try_changes(change, by_owner);
        self.variables(|variable| variable.decide(result.is_ok()));
        result
    }

    fn save(&mut self) -> Vec<u8> {
        self.encode()
            .expect("a value that was checked when it was changed can be encoded")
    }

    fn load(&mut self, values: &[u8]) -> bool {
        let is_good = self.read(values, |variable, r| variable.try_load(r).is_ok());
        self.variables(|variable| variable.decide(is_good));
        is_good
    }

    fn show(&mut self, values: Option<&[u8]>) {
        match values {
            None => self.variables(|variable| variable.show_newest()),
            Some(values) => {
                self.read(values, |variable, r| variable.show_former(r).is_ok());
            }
        }
    }
}
