//! The commands of the console.

use std::time::Duration;

/// A parsed line of input.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    Chat(String),
    /// A value, or none to remove it.
    Set(String, Option<String>),
    /// One value, or all.
    Get(Option<String>),
    Who,
    Stats,
    Ready(bool),
    Start,
    Name(String),
    Kick(String, String),
    Ban(String, String),
    /// The file of another password; empty for a new one.
    Password(String),
    /// Begins to send at this interval, ends (`None`), or shows what was measured.
    Beat(Option<Duration>),
    Spacing,
    Wait(Duration),
    Help,
    Quit(String),
}

impl Line {
    /// Whether it is allowed outside a room.
    pub fn is_for_outside(&self) -> bool {
        matches!(
            self,
            Line::Quit(_) | Line::Help | Line::Get(_) | Line::Who | Line::Stats
        )
    }
}

pub const HELP: &str = "\
anything else        say it to everyone
/set KEY VALUE       share a value with everyone; /unset KEY removes it
/get [KEY]           one value, or all of them
/who                 who is there: round trip, jitter, offset of the clock, loss, bytes
/stats               the connection to each peer: round trip, jitter, loss, rates out and in
/spacing on [MS]     send a message to everyone every MS milliseconds (100); /spacing off ends it
/spacing             how evenly such messages of the others arrive here
/ready, /unready     ready to start, or not
/start               start the game (only the one who opened the room)
/name NAME           change your name
/kick NAME [WHY]     send somebody away; /ban NAME [WHY]: for an hour at least (only the one who opened the room)
/password [FILE]     another password from now on: that in the file, or a new one (only the one who opened the room)
/wait SECONDS        do nothing before the next line, for scripts
/quit [WORDS]        leave
//TEXT               say something that begins with a slash
";

/// Reads a line; nothing for an empty one.
pub fn parse(line: &str) -> Result<Option<Line>, String> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(None);
    }
    let Some(command) = line.strip_prefix('/') else {
        return chat(line);
    };
    if command.starts_with('/') {
        return chat(command);
    }
    let (verb, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let rest = rest.trim();
    let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (first, more) = (first.to_string(), more.trim().to_string());
    let line = match verb {
        "set" if !more.is_empty() => Line::Set(key(first)?, Some(value(more)?)),
        "set" => return Err("/set takes a name and a value: /set score 3".into()),
        "unset" if !first.is_empty() => Line::Set(key(first)?, None),
        "unset" => return Err("/unset takes the name of a value".into()),
        "get" if first.is_empty() => Line::Get(None),
        "get" => Line::Get(Some(first)),
        "who" => Line::Who,
        "stats" => Line::Stats,
        "ready" => Line::Ready(true),
        "unready" => Line::Ready(false),
        "start" => Line::Start,
        "name" if !rest.is_empty() => Line::Name(rest.to_string()),
        "name" => return Err("/name takes your new name".into()),
        "kick" if !first.is_empty() => Line::Kick(first, more),
        "kick" => return Err("/kick takes a name or number from /who".into()),
        "ban" if !first.is_empty() => Line::Ban(first, more),
        "ban" => return Err("/ban takes a name or number from /who".into()),
        "password" => Line::Password(rest.to_string()),
        "spacing" => spacing(&first, &more)?,
        "wait" => Line::Wait(seconds(&first)?),
        "help" | "?" => Line::Help,
        "quit" | "exit" | "leave" => Line::Quit(rest.to_string()),
        other => return Err(format!("there is no /{other}; /help lists what there is")),
    };
    Ok(Some(line))
}

/// The maximum length of a line of chat, in bytes.
pub const MAX_CHAT_BYTES: usize = 1000;
/// The maximum length of the name of a value, in bytes.
pub const MAX_KEY_BYTES: usize = 64;
/// The maximum length of a value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1000;

fn chat(text: &str) -> Result<Option<Line>, String> {
    limited(text.to_string(), MAX_CHAT_BYTES, "a line").map(|text| Some(Line::Chat(text)))
}

fn key(text: String) -> Result<String, String> {
    limited(text, MAX_KEY_BYTES, "the name of a value")
}

fn value(text: String) -> Result<String, String> {
    limited(text, MAX_VALUE_BYTES, "a value")
}

fn limited(text: String, max: usize, what: &str) -> Result<String, String> {
    match text.len() {
        len if len > max => Err(format!("{what} has at most {max} bytes, this one {len}")),
        _ => Ok(text),
    }
}

fn spacing(word: &str, ms: &str) -> Result<Line, String> {
    match word {
        "" => Ok(Line::Spacing),
        "off" => Ok(Line::Beat(None)),
        "on" => {
            let ms = if ms.is_empty() { "100" } else { ms };
            let time = ms.trim_end_matches("ms").parse::<f64>().ok();
            let time = time.filter(|ms| (1.0..=60_000.0).contains(ms));
            let time =
                time.ok_or_else(|| format!("\"{ms}\" is no time: use 1 to 60000 milliseconds"))?;
            Ok(Line::Beat(Some(Duration::from_secs_f64(time / 1e3))))
        }
        _ => Err("/spacing takes on, off or nothing".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.trim_end_matches('s').parse::<f64>().ok();
    time.filter(|time| (0.0..=86_400.0).contains(time))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "/wait takes seconds: /wait 0.5".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_people_type_them() {
        let read = |line| parse(line).unwrap();
        assert_eq!(read("  "), None);
        assert_eq!(read(" hi there "), Some(Line::Chat("hi there".into())));
        assert_eq!(read("//me waves"), Some(Line::Chat("/me waves".into())));
        let set = |value: &str| Some(Line::Set("map".into(), Some(value.into())));
        assert_eq!(read("/set map  a big one"), set("a big one"));
        assert_eq!(read("/unset map"), Some(Line::Set("map".into(), None)));
        assert_eq!(read("/get"), Some(Line::Get(None)));
        assert_eq!(read("/get map"), Some(Line::Get(Some("map".into()))));
        assert_eq!(
            read("/kick Bob too loud"),
            Some(Line::Kick("Bob".into(), "too loud".into()))
        );
        let beat = |ms| Some(Line::Beat(Some(Duration::from_millis(ms))));
        assert_eq!(read("/spacing on"), beat(100));
        assert_eq!(read("/spacing on 8ms"), beat(8));
        assert_eq!(read("/spacing off"), Some(Line::Beat(None)));
        assert_eq!(read("/spacing"), Some(Line::Spacing));
        assert_eq!(
            read("/wait 0.5"),
            Some(Line::Wait(Duration::from_millis(500)))
        );
        assert_eq!(read("/quit"), Some(Line::Quit(String::new())));
    }

    #[test]
    fn mistakes_are_explained() {
        for (line, expected) in [
            ("/dance", "/help"),
            ("/set", "/set score 3"),
            ("/set lonely", "/set score 3"),
            ("/spacing on fast", "milliseconds"),
            ("/spacing on 0", "milliseconds"),
            ("/spacing maybe", "on, off"),
            ("/wait", "seconds"),
            ("/kick", "/who"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
        assert!(parse(&"x".repeat(1001)).unwrap_err().contains("1000"));
    }

    #[test]
    fn the_help_knows_every_command() {
        for line in HELP.lines().filter(|line| line.starts_with('/')) {
            let verb = line.split([' ', ',']).next().unwrap();
            let unknown = parse(verb).is_err_and(|error| error.contains("there is no"));
            assert!(!unknown, "{verb}");
        }
    }
}
