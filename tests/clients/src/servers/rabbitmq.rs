//! A real RabbitMQ, with the name service of Erlang that it needs.

use std::path::Path;

use retry_tests_support::ports::Port;

use super::{Process, folder, program};

pub struct RabbitMq {
    pub port: u16,
    _server: Process,
    _other_nodes: Port,
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
    let port = Port::find();
    let arguments = ["-address", "127.0.0.1", "-port", &port.number().to_string()];
    let arguments = arguments.map(str::to_owned);
    let names = Process::start(&names, &arguments, folder(), port).listening().await;

    let (folder, port, other_nodes) = (folder(), Port::find(), Port::find());
    let within = |name: &str| folder.path().join(name).display().to_string();
    let settings = [
        ("ERL_EPMD_PORT", names.port.to_string()),
        ("RABBITMQ_NODENAME", format!("retry{}@localhost", port.number())),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODE_PORT", port.number().to_string()),
        ("RABBITMQ_DIST_PORT", other_nodes.number().to_string()),
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
    let server = server.listening().await;
    Some(RabbitMq { port: server.port, _server: server, _other_nodes: other_nodes, _names: names })
}
