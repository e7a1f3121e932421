//! The part of each program that is the same: its call sites, and `main`, which makes a call at each.

use std::pin::Pin;
use std::process::ExitCode;

use tokio::runtime::Builder;

/// A call; its output is whether it succeeded.
pub type Call = Pin<Box<dyn Future<Output = bool>>>;

/// Makes the calls.
///
/// # Panics
///
/// Panics if no runtime can be built.
pub fn run(calls: Vec<Call>) -> ExitCode {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut all_succeeded = true;
        for call in calls {
            all_succeeded &= call.await;
        }
        if all_succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

/// Writes the call sites and `main`. `$site!(name, address)` writes the function of a site, which
/// connects to its own address, so that no two functions can be merged.
#[cfg(not(feature = "twenty"))]
#[macro_export]
macro_rules! sites {
    ($site:ident) => {
        $crate::program!($site: f1 "127.0.0.1:9001");
    };
}

/// See the other one.
#[cfg(feature = "twenty")]
#[macro_export]
macro_rules! sites {
    ($site:ident) => {
        $crate::program! { $site:
            f1 "127.0.0.1:9001" f2 "127.0.0.1:9002" f3 "127.0.0.1:9003" f4 "127.0.0.1:9004"
            f5 "127.0.0.1:9005" f6 "127.0.0.1:9006" f7 "127.0.0.1:9007" f8 "127.0.0.1:9008"
            f9 "127.0.0.1:9009" f10 "127.0.0.1:9010" f11 "127.0.0.1:9011" f12 "127.0.0.1:9012"
            f13 "127.0.0.1:9013" f14 "127.0.0.1:9014" f15 "127.0.0.1:9015" f16 "127.0.0.1:9016"
            f17 "127.0.0.1:9017" f18 "127.0.0.1:9018" f19 "127.0.0.1:9019" f20 "127.0.0.1:9020"
        }
    };
}

/// Writes a site for each name, and `main`.
#[macro_export]
macro_rules! program {
    ($site:ident: $($name:ident $address:literal)+) => {
        $( $site!($name, $address); )+

        fn main() -> std::process::ExitCode {
            $crate::run(vec![$( Box::pin(async { $name().await.is_ok() }) ),+])
        }
    };
}
