use retry_runtime::retry;

struct Message {
    text: String,
    urgent: bool,
}

async fn send(message: Message) -> std::io::Result<()> {
    drop(message);
    Ok(())
}

#[retry]
async fn notify(text: String, urgent: bool) -> std::io::Result<()> {
    send(Message { text, urgent }).await
}

fn main() {}
