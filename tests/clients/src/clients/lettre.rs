//! lettre, whose server says whether a failure lasts: 4xx passes, 5xx does not.

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{self, Permanent, Transient};
use crate::servers::lines::Lines;
use crate::suite::{Suite, error};

judged!(Error);

/// The answer to the recipient.
const REPLIES: [(&str, Decision, &str); 10] = [
    ("550 no such user timeout", Permanent, "550 5.1.1 No such user timeout"),
    ("550 blocked", Permanent, "550 5.7.1 Connection from 10.0.0.1 blocked, try again later"),
    ("554 spam", Permanent, "554 5.7.1 Transaction failed: message looks like spam"),
    ("552 too large", Permanent, "552 5.3.4 Message size exceeds the limit"),
    ("553 relaying", Permanent, "553 5.7.1 Relaying denied"),
    ("450 mailbox busy", Transient, "450 4.2.1 Mailbox busy"),
    ("451 greylisted", Transient, "451 4.7.1 Greylisted"),
    ("452 too many recipients", Transient, "452 4.5.3 Too many recipients"),
    ("421 closing", Transient, "421 4.3.2 Service not available, closing transmission channel"),
    ("450 in German", Transient, "450 4.2.0 Bitte etwas Geduld"),
];

async fn send(port: u16, password: bool) -> Result<(), Error> {
    let message = Message::builder()
        .from("a@example.com".parse().expect("an address"))
        .to("timeout@example.com".parse().expect("an address"))
        .body("rate limit".to_owned())
        .expect("a message");
    let mut transport =
        AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("127.0.0.1").port(port);
    if password {
        transport = transport.credentials(Credentials::new("timeout".into(), "wrong".into()));
    }
    transport.build().send(message).await.map(drop)
}

/// A server that answers the recipient so; without an answer, it hangs up.
async fn fake(reply: Option<&'static str>) -> Lines {
    Lines::start("220 mail.example ESMTP\r\n", move |line| {
        let command = line.split([' ', ':']).next().unwrap_or_default().to_uppercase();
        Some(match command.as_str() {
            "EHLO" => "250-mail.example\r\n250 AUTH PLAIN LOGIN\r\n".to_owned(),
            "AUTH" => "535 5.7.8 Authentication failed: connection timed out\r\n".to_owned(),
            "RCPT" => format!("{}\r\n", reply?),
            _ => "250 ok\r\n".to_owned(),
        })
    })
    .await
}

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("lettre", "lettre", "0.11");
    for (failure, decision, reply) in REPLIES {
        let fake = fake(Some(reply)).await;
        let port = fake.address.port();
        client.case(failure, decision, async || error(send(port, false).await)).await;
    }
    let hangup = fake(None).await;
    let port = hangup.address.port();
    client.case("535", Permanent, async || error(send(port, true).await)).await;
    client.case("hang-up", Transient, async || error(send(port, false).await)).await;
    let busy = Lines::start("421 4.3.2 too many connections\r\n", |_| None).await;
    let port = busy.address.port();
    client.case("421 as a greeting", Transient, async || error(send(port, false).await)).await;
    let refusing = Lines::start("554 5.7.1 no service for you\r\n", |_| None).await;
    let port = refusing.address.port();
    client.case("554 as a greeting", Permanent, async || error(send(port, false).await)).await;
    let other = Lines::start("SSH-2.0-OpenSSH_9.2 timeout\r\n", |_| None).await;
    let port = other.address.port();
    client.case("not an SMTP at all", Permanent, async || error(send(port, false).await)).await;
    let port = REFUSED.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    client.case("refused port", Transient, async || error(send(port, false).await)).await;
}
