//! Places of an annotated function, and attributes beside it.
#![deny(warnings, clippy::pedantic)]
#![deny(missing_docs, unreachable_pub)]

use retry_runtime::retry;

macro_rules! fetchers {
    ($($name:ident: $attempts:expr, $delay:literal, $ty:ty, $error:path, $value:expr;)*) => {$(
        /// Made by a macro.
        #[retry(attempts = $attempts, initial_delay = $delay, retry_on = [when(|_: &$error| true)])]
        async fn $name(id: $ty) -> Result<$ty, $error> {
            let _ = id;
            Ok($value)
        }
    )*};
}

fetchers! {
    first: 5, "1s", u32, std::io::Error, 7;
    second: 2 + 3, "500ms", Vec<u32>, std::fmt::Error, vec![7];
}

macro_rules! whole {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $ty:ty),*) -> $output:ty $body:block) => {
        $(#[$attribute])*
        #[retry]
        $visibility async fn $name($($argument: $ty),*) -> $output $body

        mod sync {
            use super::retry;

            #[retry]
            pub(super) fn $name($($argument: $ty),*) -> $output $body
        }
    };
}

whole! {
    /// The whole function is written by a macro.
    fn written(text: String, more: &mut Vec<u8>) -> Result<usize, String> {
        more.push(1);
        Ok(text.len())
    }
}

macro_rules! item {
    ($item:item) => {
        $item
    };
}

item! {
    #[retry]
    async fn as_an_item(text: String) -> Result<usize, String> {
        Ok(text.len())
    }
}

/// Documented above.
#[retry]
/// And below.
#[must_use = "below"]
#[cfg(not(any()))]
#[allow(clippy::unused_async)]
async fn attribute_above(id: u32) -> Result<u32, String> {
    Ok(id)
}

#[cfg(not(any()))]
#[allow(clippy::unused_async)]
#[doc = "Documented."]
#[retry]
async fn attribute_below(id: u32, #[allow(unused_variables)] unused: u32) -> Result<u32, String> {
    Ok(id)
}

#[cfg(any())]
#[retry(attempts = 0)]
async fn not_here() -> Nothing {}

#[retry]
pub(crate) async fn crate_wide() -> Result<u32, String> {
    Ok(7)
}

#[retry]
unsafe fn unsafe_fn(id: *const u32) -> Result<u32, String> {
    // SAFETY: the caller's promise.
    Ok(unsafe { *id })
}

#[retry]
async unsafe fn unsafe_async_fn(id: &u32) -> Result<u32, String> {
    Ok(*id)
}

#[retry]
#[allow(improper_ctypes_definitions)]
extern "C" fn extern_fn(id: u32) -> Option<u32> {
    Some(id)
}

mod outer {
    pub(super) mod inner {
        use retry_runtime::retry;

        #[retry]
        pub(in super::super) async fn nested_module() -> Result<u32, String> {
            Ok(7)
        }
    }
}

#[retry]
async fn outer_fn(id: u32) -> Result<u32, String> {
    #[retry(attempts = 2)]
    async fn inner_fn(id: u32) -> Result<u32, String> {
        Ok(id)
    }

    #[retry(attempts = 2)]
    fn inner_sync_fn(id: u32) -> Result<u32, String> {
        Ok(id)
    }

    let inner = inner_fn(id).await?;
    Ok(inner + inner_sync_fn(id)?)
}

#[retry]
async fn awaits_another(id: u32) -> Result<u32, String> {
    outer_fn(id).await
}

#[retry]
fn loops(ids: &[u32]) -> Result<u32, String> {
    for id in ids {
        if *id == 0 {
            continue;
        }
        if *id == 7 {
            return Ok(*id);
        }
        break;
    }
    Err("none".to_owned())
}

#[retry]
async fn closures(ids: Vec<u32>) -> Result<u32, String> {
    let sum = || ids.iter().sum();
    let later = async { Ok::<u32, String>(sum()) };
    later.await
}

#[tokio::main(flavor = "current_thread")]
#[retry]
async fn under_another_macro(id: u32) -> Result<u32, String> {
    tokio::task::yield_now().await;
    Ok(id)
}

#[retry]
#[tokio::main(flavor = "current_thread")]
async fn above_another_macro(id: u32) -> Result<u32, String> {
    tokio::task::yield_now().await;
    Ok(id)
}

#[deprecated]
#[retry]
async fn deprecated() -> Result<u32, String> {
    Ok(7)
}

#[test]
fn works() {
    assert_eq!(under_another_macro(7).unwrap(), 7);
    assert_eq!(above_another_macro(7).unwrap(), 7);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    #[allow(deprecated)]
    runtime.block_on(async {
        assert_eq!(first(1).await.unwrap(), 7);
        assert_eq!(second(vec![]).await.unwrap(), [7]);
        assert_eq!(written("ab".to_owned(), &mut vec![]).await.unwrap(), 2);
        assert_eq!(sync::written("ab".to_owned(), &mut vec![]).unwrap_or(2), 2);
        assert_eq!(as_an_item("ab".to_owned()).await.unwrap(), 2);
        assert_eq!(attribute_above(1).await.unwrap(), 1);
        assert_eq!(attribute_below(1, 2).await.unwrap(), 1);
        assert_eq!(crate_wide().await.unwrap(), 7);
        // SAFETY: a reference.
        assert_eq!(unsafe { unsafe_fn(&raw const SEVEN) }.unwrap(), 7);
        // SAFETY: a reference.
        assert_eq!(unsafe { unsafe_async_fn(&7) }.await.unwrap(), 7);
        assert_eq!(extern_fn(7).unwrap(), 7);
        assert_eq!(outer::inner::nested_module().await.unwrap(), 7);
        assert_eq!(awaits_another(3).await.unwrap(), 6);
        assert_eq!(loops(&[0, 7]).unwrap(), 7);
        assert_eq!(closures(vec![3, 4]).await.unwrap(), 7);
        assert_eq!(deprecated().await.unwrap(), 7);
    });
}

static SEVEN: u32 = 7;
