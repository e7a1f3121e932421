//! A real RabbitMQ, with the name service of Erlang that it needs.

use std::path::Path;

use super::{Process, folder, free_port, program};

pub struct RabbitMq {
    pub port: u16,
    _server: Process,
    _names: Process,
}

/// The script itself: the one on the path changes to a user of its own.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// Starts one; `None` if it is not installed.
pub async fn start() -> Option<RabbitMq> {
    let names = program("epmd")?;
    let server = Path::new(SERVER);
    if !server.is_file() {
        return None;
    }
    let names_port = free_port();
    let arguments = ["-address", "127.0.0.1", "-port", &names_port.to_string()];
    let names = Process::start(&names, &arguments.map(str::to_owned), folder(), names_port);
    names.until(async || connects(names_port).await).await;

    let (folder, port) = (folder(), free_port());
    let within = |name: &str| folder.path().join(name).display().to_string();
    let settings = [
        ("ERL_EPMD_PORT", names_port.to_string()),
        ("RABBITMQ_NODENAME", format!("retry{port}@localhost")),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODE_PORT", port.to_string()),
        ("RABBITMQ_DIST_PORT", free_port().to_string()),
        ("RABBITMQ_CONF_ENV_FILE", within("none")),
        ("RABBITMQ_CONFIG_FILE", within("none")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", within("plugins")),
        ("RABBITMQ_LOGS", "-".to_owned()),
        ("RABBITMQ_LOG_BASE", within("log.d")),
        ("RABBITMQ_MNESIA_BASE", within("data")),
        ("RABBITMQ_PID_FILE", within("pid")),
        ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1".to_owned()),
    ];
    // `env` sets them, so that starting a process is one function for all servers.
    let mut arguments: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    arguments.push(SERVER.to_owned());
    // It passes the signal on to Erlang, which is a process of its own.
    let server = Process::start(&program("env")?, &arguments, folder, port).ended_by("-TERM");
    server.until(async || connects(port).await).await;
    Some(RabbitMq { port, _server: server, _names: names })
}

async fn connects(port: u16) -> bool {
    tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok()
}
