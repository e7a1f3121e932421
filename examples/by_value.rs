//! Arguments by value. The body runs once for each attempt, so an argument that it only borrows
//! needs nothing special. One that it consumes is listed in `clone(…)`: each attempt gets a copy. One
//! that it changes is listed there too, or in `carry(…)`: each attempt goes on with what is left.
//! Without that, it does not compile.

use std::time::Duration;

use retry_runtime::retry;

/// The outside world: a queue that accepts a message on the third try.
#[derive(Default)]
struct Queue {
    tries: u32,
    messages: Vec<Vec<u8>>,
}

impl Queue {
    async fn push(&mut self, message: Vec<u8>) -> Result<usize, String> {
        tokio::time::sleep(Duration::from_millis(1)).await; // the way there
        self.tries += 1;
        if self.tries < 3 {
            return Err(format!("queue is full (try {})", self.tries));
        }
        self.messages.push(message);
        Ok(self.messages.len())
    }
}

/// `queue` is borrowed mutably, `body` is consumed, `topic` is only read.
#[retry(
    initial_delay = "10ms",
    clone(body),
    on_retry = |event| println!("{topic}: {}", event.error().unwrap()),
)]
async fn publish(queue: &mut Queue, topic: String, body: Vec<u8>) -> Result<usize, String> {
    queue.push(body).await
}

/// Each attempt publishes only what the ones before it did not.
#[retry(attempts = 5, initial_delay = "10ms", carry(bodies))]
async fn publish_all(queue: &mut Queue, mut bodies: Vec<Vec<u8>>) -> Result<(), String> {
    while let Some(body) = bodies.last() {
        queue.push(body.clone()).await?;
        bodies.pop();
        queue.tries = 1; // the next message is accepted on the second try
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    let mut queue = Queue::default();
    let position = publish(&mut queue, "news".to_owned(), b"it works".to_vec()).await?;
    println!("published at position {position} after {} tries", queue.tries);
    println!("the message arrived whole: {}", String::from_utf8_lossy(&queue.messages[0]));

    let mut queue = Queue::default();
    publish_all(&mut queue, vec![b"second".to_vec(), b"first".to_vec()]).await?;
    println!("{} messages, none of them twice", queue.messages.len());
    Ok(())
}
