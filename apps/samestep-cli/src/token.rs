//! `samestep token`: a lobby by hand. It makes a lobby's key, and connect tokens for those who may join a server that takes them.

use std::error::Error;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use samestep::keep_identity;
use samestep::proto::{
    MAX_TOKEN_LIFE_S, PublicKey, TokenClaims, TokenId, TokenIssuer, token_to_text,
};
use samestep_play::failure::{Failure, Kind};
use samestep_play::identity::{host_identity, player_identity};

#[derive(Subcommand)]
pub enum Command {
    /// Make the key of a lobby, which signs tokens; prints its public half, for --lobby-key
    NewKey(NewKeyArguments),
    /// Print your own keys: that of the games you open, and that with which you join where a lobby decides
    Keys(KeysArguments),
    /// Issue a token that lets one program join one server once; prints it, for --token-file
    Issue(IssueArguments),
}

#[derive(Args)]
pub struct NewKeyArguments {
    /// Where the secret half is kept; if the file is there, its key is printed
    file: PathBuf,
}

#[derive(Args)]
pub struct KeysArguments {
    /// Where the key is kept with which you join [default: a file in the user's state directory]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

#[derive(Args)]
pub struct IssueArguments {
    /// The file that `samestep token new-key` made
    #[arg(long, value_name = "FILE")]
    lobby_key_file: PathBuf,
    /// The server's key, as it stands behind the # of its address
    #[arg(long, value_name = "KEY")]
    server_key: PublicKey,
    /// The key of who may join, as `samestep token keys` prints it there
    #[arg(long, value_name = "KEY")]
    client_key: PublicKey,
    /// Which of the servers that share a key
    #[arg(long, value_name = "N", default_value_t = 0)]
    shard: u32,
    /// How long the token is good, at most 300
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=MAX_TOKEN_LIFE_S))]
    seconds: u64,
    /// An address from which it may be used; can be given several times [default: any]
    #[arg(long, value_name = "IP")]
    from: Vec<IpAddr>,
}

pub fn run(command: &Command) -> Result<ExitCode, Box<dyn Error>> {
    let nonsense = |words: String| Failure::new(Kind::Other, words);
    match command {
        Command::NewKey(arguments) => {
            println!("{}", issuer(&arguments.file)?.public_key());
        }
        Command::Keys(arguments) => {
            let host = host_identity().map_err(nonsense)?;
            let player = player_identity(arguments.key_file.as_deref()).map_err(nonsense)?;
            println!("games that you open:   {}", host.public_key());
            println!("you, where you join:   {}", player.public_key());
        }
        Command::Issue(arguments) => {
            if !arguments.lobby_key_file.exists() {
                let file = arguments.lobby_key_file.display();
                let words =
                    format!("there is no {file}: make it with samestep token new-key {file}");
                return Err(nonsense(words).into());
            }
            let token = issue(arguments)?;
            writeln!(std::io::stdout(), "{}", token_to_text(&token))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The lobby whose secret is kept in a file.
fn issuer(file: &std::path::Path) -> Result<TokenIssuer, Failure> {
    // A lobby's secret is 32 random bytes, as a program's is.
    let secret = keep_identity(file);
    let secret = secret.map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
    Ok(TokenIssuer::new(*secret.secret()))
}

fn issue(arguments: &IssueArguments) -> Result<Vec<u8>, Box<dyn Error>> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since
        .map_err(|_| "this machine's clock is wrong")?
        .as_secs();
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| format!("no randomness: {error}"))?;
    let claims = TokenClaims {
        id: TokenId(id),
        issued_unix_s: now,
        expires_unix_s: now + arguments.seconds,
        server: arguments.server_key,
        shard: arguments.shard,
        client: arguments.client_key,
        client_addresses: arguments.from.clone(),
        user_data: Vec::new(),
    };
    Ok(issuer(&arguments.lobby_key_file)?.issue(&claims)?)
}
