use std::cell::RefCell;
use std::rc::Rc;

use eframe::egui::{DroppedFileHandle, pos2};

use super::*;
use crate::platform::File;

const PING: Sound = Sound(&[Note::new(Wave::Sine, 900.0, 0.1)]);
const PONG: Sound = Sound(&[Note::new(Wave::Sine, 300.0, 0.1)]);

type Played = Rc<RefCell<Vec<(usize, f32)>>>;

/// A platform without a device that notes what would be heard, and remembers one text.
#[derive(Default)]
struct Deaf {
    played: Played,
    text: RefCell<Option<String>>,
}

struct Noting(Played);

impl Speaker for Noting {
    fn play(&mut self, samples: &Arc<[f32]>, volume: f32) {
        self.0.borrow_mut().push((samples.len(), volume));
    }
}

impl Platform for Deaf {
    fn set_link(&self, _link: &str) {}

    fn share_address(&self, link: &str) -> String {
        link.into()
    }

    fn save(&self, _name: &str, _bytes: &[u8]) -> Result<String, String> {
        Err("nowhere".into())
    }

    fn has_chooser(&self) -> bool {
        false
    }

    fn open_file(&self) {}

    fn read_dropped(&self, _file: DroppedFileHandle) {}

    fn opened(&self) -> Option<Result<File, String>> {
        None
    }

    fn seconds(&self) -> f64 {
        0.0
    }

    fn speaker(&self) -> Box<dyn Speaker> {
        Box::new(Noting(Rc::clone(&self.played)))
    }

    fn remember(&self, _name: &str, text: &str) {
        *self.text.borrow_mut() = Some(text.into());
    }

    fn remembered(&self, _name: &str) -> Option<String> {
        self.text.borrow().clone()
    }
}

fn cue(sound: &'static Sound, stage: EventStage, was_predicted: bool) -> Cue {
    Cue {
        heard: Heard::everywhere(sound),
        stage,
        was_predicted,
    }
}

fn predicted(sound: &'static Sound) -> Cue {
    cue(sound, EventStage::Predicted, false)
}

#[test]
fn an_event_is_heard_once_however_often_it_is_reported() {
    let platform = Deaf::default();
    let mut sounds = Sounds::new(&platform);
    let heard = || platform.played.borrow().len();
    sounds.take(0.0, predicted(&PING));
    assert_eq!(heard(), 1, "when it is predicted");
    sounds.take(0.1, cue(&PING, EventStage::Confirmed, true));
    assert_eq!(heard(), 1, "not again when it is confirmed");
    sounds.take(0.2, cue(&PONG, EventStage::Confirmed, false));
    assert_eq!(heard(), 2, "nobody had predicted this one");
    sounds.take(1.0, predicted(&PING));
    sounds.take(1.1, cue(&PING, EventStage::Cancelled, true));
    sounds.take(1.2, predicted(&PING));
    assert_eq!(heard(), 3, "predicted anew, it is the same event");
    sounds.take(1.3, predicted(&PING));
    assert_eq!(heard(), 4, "this is another one");
    sounds.take(2.0, cue(&PING, EventStage::Cancelled, true));
    sounds.take(2.6, predicted(&PING));
    assert_eq!(heard(), 5, "long after a cancelled one it is another");
}

#[test]
fn the_same_sound_at_once_is_heard_once() {
    let platform = Deaf::default();
    let mut sounds = Sounds::new(&platform);
    for _ in 0..20 {
        sounds.take(0.0, predicted(&PING));
    }
    sounds.take(0.0, predicted(&PONG));
    assert_eq!(platform.played.borrow().len(), 2);
    sounds.take(0.05, predicted(&PING));
    assert_eq!(platform.played.borrow().len(), 3);
}

#[test]
fn what_is_far_is_quieter_and_at_last_silent() {
    let at = |x: f32| Heard::from(&PING, pos2(x, 0.0), Some(pos2(0.0, 0.0)), 5.0).volume;
    assert_eq!((at(0.0), at(5.0)), (1.0, 0.5));
    assert!(at(15.0) < 0.11 && at(15.0) > at(30.0));
    assert_eq!(Heard::from(&PING, pos2(9.0, 0.0), None, 5.0).volume, 1.0);
    let platform = Deaf::default();
    let mut sounds = Sounds::new(&platform);
    let mut far = predicted(&PING);
    far.heard.volume = at(40.0);
    sounds.take(0.0, far);
    assert!(platform.played.borrow().is_empty());
}

#[test]
fn switch_and_volume_are_remembered() {
    let platform = Deaf::default();
    let mut sounds = Sounds::new(&platform);
    assert!(sounds.is_on());
    sounds.switch(&platform);
    assert_eq!(platform.text.borrow().as_deref(), Some("off 0.50"));
    let mut sounds = Sounds::new(&platform);
    assert!(!sounds.is_on());
    sounds.take(0.0, predicted(&PING));
    assert!(platform.played.borrow().is_empty());
    sounds.switch(&platform);
    sounds.take(1.0, predicted(&PING));
    let length = PING.render().len();
    assert_eq!(*platform.played.borrow(), [(length, 0.5)]);
    for nonsense in ["", "on", "on loud", "maybe 0.5", "on 7", "on NaN"] {
        assert_eq!(parse(nonsense), None, "{nonsense}");
    }
    assert_eq!(parse("off 0.25\n"), Some((false, 0.25)));
}
