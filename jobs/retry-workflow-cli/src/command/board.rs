//! `board`: serves the pages of `retry-board` for a store, until Ctrl-C.

mod pages;
mod serve;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use axum::extract::ConnectInfo;
use serde_json::json;
use tokio::net::TcpListener;

use self::pages::Pages;
use super::arguments::BoardArguments;
use super::outcome::CommandError;
use super::run::signals::{INTERRUPT, SignalSet, TERMINATE};
use super::screen::Screen;
use super::store::Address;
use crate::terminal::text::one_line;
use retry_board::{Board, Token};

pub(super) async fn board(
    address: &Address,
    arguments: &BoardArguments,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let BoardArguments { listen, allow_actions, token_file, hosts, public_url, .. } = arguments;
    let mut board = Board::new().set_by_options().command(format!("retry-workflow{}", screen.flag));
    if *allow_actions {
        board = board.allow_actions();
    }
    match token_file {
        Some(file) => board = tokens(file)?.into_iter().fold(board, Board::token),
        None if !listen.ip().is_loopback() => {
            return Err(CommandError::Usage(format!(
                "--listen {listen}: other machines reach this address: write a token into a file and \
                 name it with --token-file FILE, or listen on 127.0.0.1"
            )));
        }
        None => {}
    }
    if let (Some(header), Some(proxy)) = (arguments.user_header.clone(), arguments.proxy) {
        board = board.actor(move |request| {
            // Anybody else could write anything there.
            let ConnectInfo(peer) = request.extensions.get::<ConnectInfo<SocketAddr>>()?;
            let is_proxy = peer.ip().to_canonical() == proxy;
            let name = request.headers.get(&header).filter(|_| is_proxy)?;
            name.to_str().ok().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned)
        });
    }
    for host in hosts {
        board = board.host(host);
    }
    if let Some(url) = public_url {
        board = board
            .public_url(url)
            .map_err(|invalid| CommandError::Usage(format!("--public-url: {invalid}")))?;
    }
    // On a public address, other machines may reach the board under any host name; the token keeps
    // foreign pages out.
    if !listen.ip().is_loopback() && hosts.is_empty() {
        board = board.any_host();
    }
    let pages = Pages::open(board, address.clone(), *allow_actions).await?;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        CommandError::Usage(format!("--listen {listen} cannot be used: {error}"))
    })?;
    // Before it says that it is there: who reads that may end it at once.
    let mut signals = SignalSet::new(&[INTERRUPT, TERMINATE])?;
    let url = format!("http://{}/jobs", listener.local_addr()?);
    let what = if *allow_actions { "" } else { ", read-only" };
    screen.result(
        &json!({ "address": url }),
        format_args!("the board is at {url}{what}; Ctrl-C ends it"),
    )?;
    screen.flush()?;
    tokio::select! {
        () = serve::serve(listener, pages) => {}
        // Do not wait for pages that still listen for events: they reconnect by themselves.
        _ = signals.next() => {}
    }
    Ok(())
}

/// The tokens in a file: a single one, or a line for each with a name and a role.
fn tokens(file: &Path) -> Result<Vec<Token>, CommandError> {
    let name = || one_line(&file.display().to_string());
    let text = std::fs::read_to_string(file)
        .map_err(|error| CommandError::Usage(format!("{} cannot be read: {error}", name())))?;
    let wrong = |line: usize, why: &dyn std::fmt::Display| {
        CommandError::Usage(format!("{}:{line}: {why}", name()))
    };
    let lines = text.lines().map(str::trim).enumerate();
    let is_said = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    let lines: Vec<_> = lines.filter(is_said).collect();
    if lines.is_empty() {
        return Err(CommandError::Usage(format!("{} has no token: write one into it", name())));
    }
    let is_team = lines.len() > 1 || lines.iter().any(|(_, line)| role(line).is_some());
    if !is_team {
        let token = Token::new(lines[0].1);
        return token
            .map(|token| vec![token])
            .map_err(|error| CommandError::Usage(format!("{}: {error}", name())));
    }
    let mut owners = BTreeMap::new();
    let token = |(at, line)| {
        let (who, reads, token) = role(line).ok_or_else(|| {
            wrong(at + 1, &"write NAME ROLE TOKEN, where ROLE is `act` or `read`: ada act 6f1c…")
        })?;
        if let Some(owner) = owners.insert(token, who) {
            let owner = one_line(owner);
            return Err(wrong(at + 1, &format!("{owner} has the same token: give each their own")));
        }
        let token = Token::new(token).map_err(|error| wrong(at + 1, &error))?.named(who);
        Ok(if reads { token.reader() } else { token })
    };
    lines.into_iter().map(token).collect()
}

/// The name, whether it only reads, and the token of a line.
fn role(line: &str) -> Option<(&str, bool, &str)> {
    let mut words = line.split_whitespace();
    let (who, role, token) = (words.next()?, words.next()?, words.next()?);
    let reads = match role {
        "act" => false,
        "read" => true,
        _ => return None,
    };
    words.next().is_none().then_some((who, reads, token))
}
