//! The description of all that can be asked, in OpenAPI. `services/lobby/openapi.json` is what it was when it was last looked at.

use utoipa::OpenApi;

use super::{http, socket};
use crate::directory::ListMessage;
use crate::protocol::{Message, Numbered};

/// See the [module](self).
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Samestep lobby",
        description = "Rooms for people who know no address. docs/lobby.md tells how requests and messages go together.",
        version = "1",
        license(name = "MIT OR Apache-2.0")
    ),
    paths(
        http::list_rooms,
        http::create_room,
        http::join_room,
        http::describe,
        http::health,
        http::metrics,
        socket::be_member,
        socket::watch_rooms
    ),
    components(schemas(Numbered, Message, ListMessage))
)]
struct Description;

/// The description as JSON.
pub fn openapi() -> String {
    let mut text = Description::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// The same, made once.
pub fn text() -> &'static str {
    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(openapi);
    &TEXT
}
