//! [`Streams`]: the number of open event streams, limited by visitor and in all.
//!
//! Each stream holds a connection. There are fewer streams than connections, so that pages are
//! still served when all streams are taken: a page without a stream reloads itself.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use parking_lot::Mutex;

use crate::safety::identity::Identity;

/// The largest number of streams: half of the connections that `retry-workflow board` has.
pub(crate) const MAX_STREAMS: usize = 256;
/// The largest number of streams of a visitor. A browser needs one for all of its tabs.
pub(crate) const MAX_STREAMS_PER_VISITOR: usize = 64;

/// Counts the open streams of a board.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_visitor: HashMap<Visitor, usize>,
}

/// The name of a visitor, or else the address that the connection comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Visitor(String);

impl Visitor {
    /// Identifies the visitor of a request; `None` if there is neither a name nor an address.
    pub(crate) fn of(identity: &Identity, parts: &Parts) -> Option<Self> {
        let address = || {
            let ConnectInfo(peer) = parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
            Some(format!("address {}", peer.ip().to_canonical()))
        };
        identity.name.as_ref().map(|name| format!("name {name}")).or_else(address).map(Self)
    }
}

impl Streams {
    /// Counts a stream until the permit is dropped; `None` if there are too many.
    pub(crate) fn open(self: &Arc<Self>, visitor: Option<Visitor>) -> Option<StreamPermit> {
        let mut open = self.0.lock();
        if open.all >= MAX_STREAMS {
            return None;
        }
        if let Some(visitor) = &visitor {
            let own = open.by_visitor.entry(visitor.clone()).or_default();
            if *own >= MAX_STREAMS_PER_VISITOR {
                return None;
            }
            *own += 1;
        }
        open.all += 1;
        Some(StreamPermit { streams: Arc::clone(self), visitor })
    }
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    streams: Arc<Streams>,
    visitor: Option<Visitor>,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut open = self.streams.0.lock();
        open.all -= 1;
        if let Some(visitor) = &self.visitor
            && let Some(own) = open.by_visitor.get_mut(visitor)
        {
            *own -= 1;
            if *own == 0 {
                open.by_visitor.remove(visitor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(name: &str) -> Visitor {
        Visitor(name.to_owned())
    }

    #[test]
    fn one_visitor_leaves_streams_to_others() {
        let streams = Arc::<Streams>::default();
        let open = |name: &str| streams.open(Some(visitor(name)));
        let mut held: Vec<_> = (0..MAX_STREAMS_PER_VISITOR).filter_map(|_| open("a")).collect();
        assert_eq!(held.len(), MAX_STREAMS_PER_VISITOR);
        assert!(open("a").is_none() && open("b").is_some());
        held.pop();
        assert!(open("a").is_some());
        drop(held);
        let open = streams.0.lock();
        assert_eq!((open.all, open.by_visitor.len()), (0, 0));
    }

    #[test]
    fn streams_are_limited_below_the_number_of_connections() {
        let streams = Arc::<Streams>::default();
        let held: Vec<_> = (0..1_000)
            .filter_map(|number| streams.open(Some(visitor(&format!("{}", number % 9)))))
            .collect();
        assert_eq!(held.len(), MAX_STREAMS);
        assert!(streams.open(None).is_none());
        drop(held);
        let unknown: Vec<_> = (0..1_000).filter_map(|_| streams.open(None)).collect();
        assert_eq!(unknown.len(), MAX_STREAMS);
    }
}
