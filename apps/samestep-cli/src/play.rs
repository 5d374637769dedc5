//! `samestep play`: the arcade, as a page that is served to a browser on this machine, or in a window.

mod browser;
mod server;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc;

use clap::Args;

use samestep_play::failure::{Failure, Kind};

#[derive(Args)]
pub struct Arguments {
    /// What to begin with: what an address of the page has after its #; for the window also a recorded file
    #[arg(value_name = "LINK")]
    opening: Option<String>,
    /// Open a window instead of a page
    #[arg(long, conflicts_with_all = ["port", "no_open", "page"])]
    native: bool,
    /// The page's port; a free one unless given
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,
    /// Print the address, but open no browser
    #[arg(long)]
    no_open: bool,
    /// The folder with the page, if it is not where it is built
    #[arg(long, value_name = "FOLDER")]
    page: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let opening = arguments.opening.as_deref();
    if arguments.native {
        return window(opening);
    }
    if let Some(file) = opening.filter(|opening| Path::new(opening).is_file()) {
        let words = format!("{file} is a file: drop it on the page, or open it with --native");
        return Err(Failure::new(Kind::Other, words).into());
    }
    let page = find_page(arguments.page.as_deref())?;
    let listener = listen(arguments.port)?;
    let link = opening.map(|link| format!("#{}", link.trim_start_matches('#')));
    let address = format!(
        "http://{}/{}",
        listener.local_addr()?,
        link.unwrap_or_default()
    );
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        let _ = stop.send(());
    })?;
    std::thread::spawn(move || server::serve(&listener, &page));
    println!("the arcade is at {address}");
    match !arguments.no_open && browser::open(&address) {
        true => println!("opening it in the browser; Ctrl-C ends this"),
        false => println!("open that in a browser on this machine; Ctrl-C ends this"),
    }
    stopped.recv()?;
    println!("ended");
    Ok(ExitCode::SUCCESS)
}

fn listen(port: u16) -> Result<TcpListener, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::new(
            Kind::PortTaken,
            format!("port {port} is taken: give another, or none for a free one"),
        ),
        _ => Failure::new(Kind::Other, format!("port {port}: {error}")),
    })
}

/// The folder with the page: the one that was named, or where it is built, `target/page`, seen from this program in `target/release`.
fn find_page(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let page = match named {
        Some(named) => named.to_path_buf(),
        None => itself()?.join("..").join("page"),
    };
    let found = page.canonicalize().ok();
    found
        .filter(|page| page.join("index.html").is_file())
        .ok_or_else(|| {
            let words = format!(
                "there is no page in {}: `make play` builds and plays it, `scripts/page` only builds it, --page names another folder",
                page.display()
            );
            Failure::new(Kind::Other, words)
        })
}

/// Where this program is.
fn itself() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(
            Kind::Other,
            format!("where this program is cannot be known: {error}"),
        )
    })?;
    Ok(program.parent().map(Path::to_path_buf).unwrap_or_default())
}

/// The program with the window, which is next to this one.
pub fn window_program() -> Result<PathBuf, Failure> {
    let name = format!("samestep-arcade{}", std::env::consts::EXE_SUFFIX);
    let program = itself()?.join(name);
    if !program.is_file() {
        let words = format!(
            "there is no {}: `make window` builds and opens it",
            program.display()
        );
        return Err(Failure::new(Kind::Other, words));
    }
    Ok(program)
}

fn window(opening: Option<&str>) -> Result<ExitCode, Box<dyn Error>> {
    let status = Command::new(window_program()?).args(opening).status()?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Kind::Other.code()),
    })
}
