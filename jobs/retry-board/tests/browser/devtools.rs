//! [`DevTools`]: the protocol that controls Chromium: JSON requests and responses over a web
//! socket, with events in between.
//!
//! These tests use a dozen of its methods. The crates that cover all of it are generated code of
//! more than 100,000 lines, which would take longer to compile than these tests take to run.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// The longest time that a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection to the browser, or to one of its pages.
pub(crate) struct DevTools {
    socket: WebSocket<TcpStream>,
    asked: u64,
    /// Events that have not been looked at.
    events: Vec<Value>,
}

impl DevTools {
    pub(crate) fn connect(address: &str, path: &str) -> Self {
        let stream = TcpStream::connect(address).expect("DevTools listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit of time");
        let url = format!("ws://{address}{path}");
        let (socket, _) = tungstenite::client::client(url, stream).expect("a web socket");
        Self { socket, asked: 0, events: Vec::new() }
    }

    /// Calls a method, and returns its result.
    ///
    /// # Errors
    /// The error that the browser reports.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.asked += 1;
        let mut request = json!({ "id": self.asked, "method": method });
        request["params"] = parameters;
        self.socket.send(Message::text(request.to_string())).expect("the browser listens");
        loop {
            let mut answer = self.read(method);
            if answer["id"] == self.asked {
                return match &answer["error"] {
                    Value::Null => Ok(answer["result"].take()),
                    error => Err(format!("{method}: {error}")),
                };
            }
            self.events.push(answer);
        }
    }

    /// Takes the events that have not been looked at.
    pub(crate) fn take_events(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    fn read(&mut self, what_for: &str) -> Value {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).expect("JSON"),
                Ok(_) => {}
                Err(error) => panic!("{what_for}: {error}"),
            }
        }
    }
}
