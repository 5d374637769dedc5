//! The arcade in a page.
//!
//! The page's script calls [`play`] with a canvas. For tests, `samestep_report()` there answers what the program shows; `samestep_failed` is
//! called if it cannot go on.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use eframe::egui::{self, DroppedFileHandle};
use eframe::{WebOptions, WebRunner};
use js_sys::{Array, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    Blob, Document, HtmlAnchorElement, HtmlCanvasElement, HtmlInputElement, Storage, Url, Window,
};

use crate::app::{Arcade, Opening};
use crate::platform::{File, Platform};
use crate::sound::{PageSpeaker, Speaker};

#[wasm_bindgen]
extern "C" {
    /// Has the page say that the program has stopped, and why.
    #[wasm_bindgen(js_name = samestep_failed)]
    fn failed(words: &str);
}

/// Starts the arcade on a canvas. What it begins with is after the `#` of the page's address.
#[wasm_bindgen]
pub async fn play(canvas: HtmlCanvasElement) -> Result<(), JsValue> {
    std::panic::set_hook(Box::new(|panic| failed(&panic.to_string())));
    let runner = WebRunner::new();
    let begin: eframe::AppCreator<'static> = Box::new(|cc| {
        let page = Page {
            inbox: Inbox {
                ctx: cc.egui_ctx.clone(),
                files: Rc::default(),
            },
        };
        Ok(Box::new(Arcade::new(
            cc,
            Opening::Link(hash()),
            Box::new(page),
        )))
    });
    // It is noise that nobody sees, and takes long where pages are drawn without a graphics card.
    let options = WebOptions {
        dithering: false,
        ..WebOptions::default()
    };
    runner.start(canvas, options, begin).await?;
    follow_address(runner.clone())?;
    offer_report(runner)
}

/// Opens another link as soon as the address has one.
fn follow_address(runner: WebRunner) -> Result<(), JsValue> {
    let follow = Closure::<dyn Fn()>::new(move || {
        if let Some(mut arcade) = runner.app_mut::<Arcade>() {
            arcade.open(Opening::Link(hash()));
        }
    });
    let follow = follow.into_js_value();
    window().add_event_listener_with_callback("hashchange", follow.unchecked_ref())
}

/// Lets scripts ask what is shown.
fn offer_report(runner: WebRunner) -> Result<(), JsValue> {
    let report = Closure::<dyn Fn() -> Option<String>>::new(move || {
        let arcade = runner.app_mut::<Arcade>()?;
        Some(arcade.report())
    });
    Reflect::set(
        &window(),
        &"samestep_report".into(),
        &report.into_js_value(),
    )?;
    Ok(())
}

fn window() -> Window {
    web_sys::window().expect("it runs in a page")
}

fn document() -> Document {
    window().document().expect("it runs in a page")
}

/// What is after the `#` of the address.
fn hash() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.trim_start_matches('#').into()
}

/// The page around the program.
struct Page {
    inbox: Inbox,
}

/// Files that have been read.
#[derive(Clone)]
struct Inbox {
    ctx: egui::Context,
    files: Rc<RefCell<VecDeque<Result<File, String>>>>,
}

impl Inbox {
    fn put(&self, name: String, bytes: Result<Vec<u8>, String>) {
        let file = match bytes {
            Ok(bytes) => Ok(File { name, bytes }),
            Err(error) => Err(format!("{name} could not be read: {error}")),
        };
        self.files.borrow_mut().push_back(file);
        self.ctx.request_repaint();
    }
}

impl Platform for Page {
    fn set_link(&self, link: &str) {
        let history = window().history();
        let change = history.and_then(|history| {
            history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{link}")))
        });
        // A browser refuses that if it happens too often; the next change brings it up to date.
        drop(change);
    }

    fn share_address(&self, link: &str) -> String {
        let address = window().location().href().unwrap_or_default();
        let page = address.split('#').next().unwrap_or_default();
        format!("{page}#{link}")
    }

    fn save(&self, name: &str, bytes: &[u8]) -> Result<String, String> {
        download(name, bytes).map_err(|error| format!("{name} was not saved: {error:?}"))?;
        Ok(format!("downloaded as {name}"))
    }

    fn has_chooser(&self) -> bool {
        true
    }

    fn open_file(&self) {
        let input = document().create_element("input").ok();
        let Some(input) = input.and_then(|input| input.dyn_into::<HtmlInputElement>().ok()) else {
            return;
        };
        input.set_type("file");
        let (inbox, chooser) = (self.inbox.clone(), input.clone());
        let take = Closure::once_into_js(move || {
            let Some(file) = chooser.files().and_then(|files| files.get(0)) else {
                return;
            };
            spawn_local(async move { inbox.put(file.name(), read(&file).await) });
        });
        input.set_onchange(Some(take.unchecked_ref()));
        input.click();
    }

    fn read_dropped(&self, file: DroppedFileHandle) {
        let inbox = self.inbox.clone();
        spawn_local(async move {
            let bytes = file.bytes_async().await;
            inbox.put(file.path().display().to_string(), bytes);
        });
    }

    fn opened(&self) -> Option<Result<File, String>> {
        self.inbox.files.borrow_mut().pop_front()
    }

    fn seconds(&self) -> f64 {
        let clock = window().performance();
        clock.map_or(0.0, |clock| clock.now() / 1e3)
    }

    fn speaker(&self) -> Box<dyn Speaker> {
        Box::new(PageSpeaker::new())
    }

    fn remember(&self, name: &str, text: &str) {
        if let Some(storage) = storage() {
            // A full or forbidden storage remembers nothing.
            drop(storage.set_item(&stored(name), text));
        }
    }

    fn remembered(&self, name: &str) -> Option<String> {
        storage()?.get_item(&stored(name)).ok()?
    }
}

/// What the browser keeps for this page.
fn storage() -> Option<Storage> {
    window().local_storage().ok()?
}

/// The name of something in a storage that other programs of the same address may share.
fn stored(name: &str) -> String {
    format!("samestep-{name}")
}

async fn read(file: &web_sys::File) -> Result<Vec<u8>, String> {
    match JsFuture::from(file.array_buffer()).await {
        Ok(buffer) => Ok(Uint8Array::new(&buffer).to_vec()),
        Err(error) => Err(format!("{error:?}")),
    }
}

fn download(name: &str, bytes: &[u8]) -> Result<(), JsValue> {
    let parts = Array::of1(&Uint8Array::from(bytes));
    let blob = Blob::new_with_u8_array_sequence(&parts)?;
    let address = Url::create_object_url_with_blob(&blob)?;
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(&address);
    link.set_download(name);
    link.click();
    Url::revoke_object_url(&address)
}
