//! The arguments of `retry-workflow board`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use http::HeaderName;

/// The address of the board, and the rights of its visitors.
#[derive(Clone, Debug, Args)]
pub(crate) struct BoardArguments {
    /// The address and the port; port 0 for any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Let visitors re-drive and purge dead letters, and pause and cancel jobs
    #[arg(long)]
    pub(crate) allow_actions: bool,
    #[arg(
        long,
        value_name = "FILE",
        help = "Require a token of at least 16 characters from each visitor: the contents of this \
                file; required if other machines can reach the address. For a team, one token per \
                line: NAME ROLE TOKEN, where the role is `act` or `read`"
    )]
    pub(crate) token_file: Option<PathBuf>,
    #[arg(
        long,
        value_name = "HEADER",
        requires = "proxy",
        help = "Read a visitor's name from this header, such as X-Forwarded-User, which the proxy \
                has to set for every request; a visitor without a name can only read"
    )]
    pub(crate) user_header: Option<HeaderName>,
    /// The IP address of the proxy: requests from other addresses cannot set the name
    #[arg(long, value_name = "ADDRESS", requires = "user_header")]
    pub(crate) proxy: Option<IpAddr>,
    /// Answer under this name as well, such as jobs.example.org; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    #[arg(
        long,
        value_name = "URL",
        help = "The address of the board in browsers, if a proxy changes the header Host, such as \
                https://ops.example.com/board"
    )]
    pub(crate) public_url: Option<String>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    let meant = match (port.parse::<u16>(), text.strip_prefix("localhost:")) {
        (Ok(port), _) => format!("127.0.0.1:{port}"),
        (_, Some(port)) => format!("127.0.0.1:{port}"),
        _ => "127.0.0.1:7878".to_owned(),
    };
    text.parse()
        .map_err(|_| format!("this is no IP address with a port: write one such as {meant}"))
}
