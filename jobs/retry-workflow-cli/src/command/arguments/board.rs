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
        help = "Ask each visitor for a token of at least 16 characters, which is in this file; an \
                address that other machines reach needs one. For a team, one token per line: NAME \
                ROLE TOKEN, where the role is `act` or `read`"
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
    /// The IP address of the proxy: the header of anybody else is ignored
    #[arg(long, value_name = "ADDRESS", requires = "user_header")]
    pub(crate) proxy: Option<IpAddr>,
    /// Answer under this name as well, such as jobs.example.org; may be given several times
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    #[arg(
        long,
        value_name = "URL",
        help = "Where browsers find the board behind a proxy that changes the header Host, such as \
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
