//! tokio-modbus. That a device refused a request is a type of its own, beside what went wrong on
//! the way.

use tokio_modbus::client::tcp;
use tokio_modbus::prelude::{ExceptionCode, Reader as _};
use tokio_modbus::{Error, ProtocolError};

use super::REFUSED;
use crate::judged;
use crate::report::Decision::{self, Permanent, Transient, Undecided};
use crate::servers::modbus::{Answer, Modbus};
use crate::suite::{Suite, error};

judged!(Error);
judged!(ExceptionCode);
judged!(std::io::Error);

const EXCEPTIONS: [(&str, Decision, u8); 8] = [
    ("illegal function", Permanent, 1),
    ("illegal address", Permanent, 2),
    ("illegal value", Permanent, 3),
    ("device failure", Undecided, 4),
    ("device busy", Transient, 6),
    ("parity", Undecided, 8),
    ("no path of a gateway", Undecided, 10),
    ("no answer to a gateway", Transient, 11),
];

async fn read(address: std::net::SocketAddr) -> Result<Result<Vec<u16>, ExceptionCode>, Error> {
    let mut device = tcp::connect(address).await?;
    device.read_holding_registers(503, 2).await
}

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("tokio-modbus", "tokio-modbus", "0");
    for (failure, decision, code) in EXCEPTIONS {
        let fake = Modbus::start(Answer::Exception(code)).await;
        client
            .case(failure, decision, async || {
                error(read(fake.address).await.expect("an answer of the device"))
            })
            .await;
    }
    let hangup = Modbus::start(Answer::HangUp).await;
    client.case("hang-up", Transient, async || error(read(hangup.address).await)).await;
    let other = Modbus::start(Answer::AnotherFunction).await;
    client
        .case("an answer to another question", Undecided, async || {
            let failed = error(read(other.address).await);
            assert!(
                matches!(failed, Error::Protocol(ProtocolError::FunctionCodeMismatch { .. })),
                "{failed:?}",
            );
            failed
        })
        .await;
    client
        .case("refused port", Transient, async || {
            error(tcp::connect(REFUSED.parse().expect("an address")).await)
        })
        .await;
}
