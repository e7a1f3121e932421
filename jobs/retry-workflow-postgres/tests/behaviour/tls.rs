//! TLS connections: what they trust depends on the address and the options.

use std::path::Path;
use std::process::Command;

use retry_workflow::{Store, StoreError};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{OwnServer, give_to_server, server};

/// A self-signed certificate for 127.0.0.1, and its key; `None` without `openssl`.
fn certificate(folder: &Path) -> Option<()> {
    let extensions = "[req]\ndistinguished_name = name\nx509_extensions = more\n[name]\n[more]\n\
                      subjectAltName = IP:127.0.0.1\nbasicConstraints = CA:FALSE\n";
    std::fs::write(folder.join("openssl.cnf"), extensions).expect("written");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"])
        .args(["-config", "openssl.cnf", "-keyout", "server.key", "-out", "server.crt"])
        .current_dir(folder)
        .output();
    match made {
        Ok(made) => {
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
            Some(())
        }
        Err(_) => {
            eprintln!("skipped: there is no openssl");
            None
        }
    }
}

async fn is_encrypted(store: &PostgresStore) -> bool {
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let asked = store.server().run(sql, |client, sql, _| {
        Box::pin(async move { Ok(client.query_one(*sql, &[]).await?.get::<_, bool>(0)) })
    });
    asked.await.expect("an answer")
}

#[tokio::test]
async fn required_tls_is_verified_and_preferred_tls_encrypts() {
    let folder = tempfile::tempdir().expect("a folder");
    if server().is_none() || certificate(folder.path()).is_none() {
        return;
    }
    give_to_server(folder.path(), &["server.key", "server.crt"]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let settings = [
        "fsync=off".to_owned(),
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", path("server.crt")),
        format!("ssl_key_file={}", path("server.key")),
    ];
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    let Some((url, _server)) = OwnServer::start(&settings) else { return };
    let with = |mode: &str| url.replace("sslmode=disable", &format!("sslmode={mode}"));

    let store = PostgresStore::connect(&with("prefer")).await.expect("anybody is trusted");
    assert!(is_encrypted(&store).await);
    let store = PostgresStore::connect(&with("disable")).await.expect("in the open");
    assert!(!is_encrypted(&store).await);

    let error = PostgresStore::connect(&with("require")).await.unwrap_err();
    assert!(matches!(error, StoreError::Access { .. }), "{error:?}");
    let trusting = PostgresStore::options().root_certificates(path("server.crt"));
    let store = trusting.connect(&with("require")).await.expect("it is trusted");
    assert!(is_encrypted(&store).await);
    assert_eq!(store.cas("k", 0, "1").await, Ok(true));
    // The host name is verified as well.
    let other = with("require").replace("127.0.0.1", "localhost");
    assert!(trusting.connect(&other).await.is_err());
    let error = PostgresStore::options().root_certificates(path("none")).connect(&url).await;
    let error = error.unwrap_err();
    let why = error.to_string();
    assert!(why.contains("cannot read the certificates"), "{why}");
}
