//! `exchange-rates service.toml` serves; `exchange-rates service.toml refresh EUR USD …` runs the job.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use exchange_rates::config::Config;
use exchange_rates::refresh::refresh;
use exchange_rates::service::{Service, routes};
use metrics_exporter_prometheus::PrometheusBuilder;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: exchange-rates FILE [refresh CURRENCY…]")?;
    let config: Config = toml::from_str(&std::fs::read_to_string(file)?)?;

    let metrics = PrometheusBuilder::new().install_recorder()?;
    retry_runtime::metrics::describe();
    retry_runtime::metrics::register();

    let service = Arc::new(Service::new(config).await?);
    if arguments.next().as_deref() == Some("refresh") {
        println!("{}", refresh(service, arguments.collect()).await?);
        return Ok(());
    }
    let listener = tokio::net::TcpListener::bind(service.config.listen).await?;
    axum::serve(listener, routes(service, metrics)).await?;
    Ok(())
}
