//! Every way to write a function's arguments, generics and return type.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use retry_runtime::retry;

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Debug)]
struct Body {
    head: String,
    rest: Vec<u8>,
}

fn send(body: Body) -> Result<usize, Error> {
    let Body { head, rest } = body;
    if head.is_empty() {
        return Err("no head".into());
    }
    Ok(head.len() + rest.into_boxed_slice().len())
}

#[retry]
async fn by_value(id: u64, name: String) -> Result<usize, Error> {
    let borrowed = &name;
    Ok(borrowed.len() + usize::try_from(id)?)
}

#[retry(clone(body))]
async fn consumed(body: Body) -> Result<usize, Error> {
    send(body)
}

#[retry(clone(body, counts), carry(more))]
async fn consumed_and_mutable(
    mut body: Body,
    counts: Vec<usize>,
    mut more: Vec<u8>,
) -> Result<usize, Error> {
    body.rest.push(0);
    more.push(1);
    let counts: usize = counts.into_iter().sum();
    Ok(send(body)? + counts + more.len())
}

#[retry]
async fn by_reference(body: &Body, seen: &mut Vec<String>) -> Result<usize, Error> {
    seen.push(body.head.clone());
    Ok(seen.len())
}

#[retry(clone(b, rest))]
async fn by_pattern(
    (a, mut b): (u8, u8),
    Body { head, rest }: Body,
    [c, ref d, ..]: [u16; 3],
    &e: &u32,
    whole @ (f, _): (u64, u64),
    _: String,
) -> Result<u64, Error> {
    b += a;
    let rest: Vec<u8> = rest.into_iter().collect();
    Ok(u64::from(b)
        + u64::from(c)
        + u64::from(*d)
        + u64::from(e)
        + f
        + whole.1
        + (head.len() + rest.len()) as u64)
}

#[retry(carry(rest))]
#[allow(clippy::toplevel_ref_arg)]
async fn by_ref_mut(ref mut rest: Vec<u8>, ref head: String) -> Result<usize, Error> {
    rest.push(1);
    Ok(rest.len() + head.len())
}

#[retry]
async fn generic<T, const N: usize>(items: [T; N], other: impl Display) -> Result<String, Error>
where
    T: Display + Send,
{
    let mut text = other.to_string();
    for item in &items {
        text += &item.to_string();
    }
    Ok(text)
}

#[retry]
async fn elided(text: &str) -> Result<&str, Error> {
    text.split('/').next().ok_or_else(|| "empty".into())
}

#[retry]
async fn named<'a, 'b: 'a>(text: &'a str, other: &'b str) -> Result<&'a str, Error> {
    if text.is_empty() {
        return Ok(other);
    }
    Ok(text)
}

#[retry]
async fn from_mutable(numbers: &mut [u8]) -> Result<u8, Error> {
    let first = numbers.first_mut().ok_or("empty")?;
    *first += 1;
    Ok(*first)
}

#[retry]
async fn returns_impl(upto: u32) -> Result<impl Iterator<Item = u32> + Send, Error> {
    Ok(0..upto)
}

#[retry]
async fn returns_boxed_trait(loud: bool) -> Result<Box<dyn Display + Send>, Error> {
    if loud {
        return Ok(Box::new("LOUD"));
    }
    Ok(Box::new('q'))
}

/// An argument that is called or pinned is `mut` without being changed from one attempt to the
/// next.
#[retry]
async fn callables<F, G: for<'a> FnMut(&'a u32) -> u32>(
    mut once_more: impl FnMut() -> u32,
    shared: &(dyn Fn(u32) -> u32 + Sync),
    mutable: &mut (dyn FnMut(u32) + Send),
    mut boxed: Box<dyn FnMut() -> u32 + Send>,
    mut required: F,
    mut declared: G,
    mut pinned: Pin<&mut (dyn Future<Output = u32> + Send)>,
) -> Result<u32, Error>
where
    F: AsyncFnMut() -> u32,
{
    mutable(shared(once_more()) + boxed() + required().await + declared(&0));
    Ok(pinned.as_mut().await)
}

#[retry(attempts = 1)]
async fn changed_once(mut count: u32) -> Result<u32, Error> {
    count += 1;
    Ok(count)
}

#[retry(carry(rest))]
async fn carried<'a>(mut rest: &'a mut [u8], skipped: usize) -> Result<usize, Error> {
    let all = std::mem::take(&mut rest);
    rest = all.get_mut(skipped..).ok_or("too short")?;
    Ok(rest.len())
}

#[retry]
async fn by_alternatives(
    (Ok(count) | Err(count)): Result<u32, u32>,
    _: String,
) -> Result<u32, Error> {
    Ok(count)
}

#[retry(clone(count))]
fn sync_by_alternatives((Ok(mut count) | Err(mut count)): Result<u32, u32>) -> Result<u32, Error> {
    count += 1;
    Ok(count)
}

#[retry]
async fn shadowed(id: u32, name: String) -> Result<String, Error> {
    let id = id + 1;
    let name = format!("{name}{id}");
    Ok(name)
}

/// The inner `Result` is an answer, of which the caller decides.
#[retry]
async fn returns_result_in_result(
    text: &str,
) -> std::io::Result<Result<u8, std::num::ParseIntError>> {
    Ok(text.parse())
}

#[retry]
async fn returns_option(text: &str) -> Option<char> {
    let first = text.chars().next()?;
    Some(first)
}

#[retry]
async fn returns_unit() -> Result<(), Error> {
    let _: u8 = "7".parse()?;
    Ok(())
}

#[retry]
async fn never_succeeds(text: &str) -> Result<std::convert::Infallible, Error> {
    Err(text.into())
}

#[retry]
fn sync(text: &str, seen: &mut Vec<String>) -> Result<u8, Error> {
    seen.push(text.to_owned());
    if text.is_empty() {
        return Err("empty".into());
    }
    Ok(text.parse()?)
}

#[retry(clone(body))]
fn sync_consumed(mut body: Body) -> Result<usize, Error> {
    body.rest.clear();
    send(body)
}

#[retry]
fn sync_elided(text: &str) -> Result<&str, Error> {
    text.split('/').next().ok_or_else(|| "empty".into())
}

#[retry]
fn sync_impl(upto: u32) -> Result<impl Iterator<Item = u32>, Error> {
    Ok(0..upto)
}

#[retry]
fn sync_boxed_trait() -> Result<Box<dyn Display>, Error> {
    Ok(Box::new("quiet"))
}

#[retry]
fn boxed_by_hand(id: u64) -> Pin<Box<dyn Future<Output = Result<u64, Error>> + Send>> {
    Box::pin(async move { Ok(id) })
}

struct Pool {
    items: Vec<u64>,
}

/// The result borrows from a `&mut` argument that the body only reads.
impl Pool {
    #[retry(attempts = 3)]
    async fn lends(&mut self, id: u64) -> Result<&u64, Error> {
        check(id).await?;
        self.items.first().ok_or_else(|| "empty".into())
    }

    #[retry(attempts = 3, timeout = "1s")]
    async fn lends_in_time(&mut self, id: u64) -> Result<&u64, Error> {
        check(id).await?;
        self.items.first().ok_or_else(|| "empty".into())
    }
}

#[retry(attempts = 3)]
async fn lent_by_argument<'a>(pool: &'a mut Pool, id: u64) -> Result<&'a u64, Error> {
    check(id).await?;
    pool.items.first().ok_or_else(|| "empty".into())
}

async fn check(id: u64) -> Result<(), Error> {
    std::future::ready(if id == 0 { Err("no id".into()) } else { Ok(()) }).await
}

/// As the crate `futures` has it.
type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[retry]
fn boxed_by_an_alias(id: &u64) -> BoxFuture<'_, Result<u64, Error>> {
    Box::pin(async move { Ok(*id) })
}

#[derive(Clone)]
struct Client {
    calls: u32,
}

impl Client {
    const ATTEMPTS: u32 = 5;

    #[retry(attempts = Self::ATTEMPTS)]
    async fn by_shared(&self) -> Result<u32, Error> {
        Ok(self.calls)
    }

    #[retry]
    async fn by_mutable(&mut self, by: u32) -> Result<u32, Error> {
        self.calls += by;
        Ok(self.calls)
    }

    #[retry]
    async fn by_value(self) -> Result<u32, Error> {
        Ok(self.calls)
    }

    #[retry(attempts = 1)]
    async fn by_mutable_value(mut self) -> Result<u32, Error> {
        self.calls += 1;
        Ok(self.calls)
    }

    #[retry]
    async fn by_arc(self: Arc<Self>) -> Result<u32, Error> {
        Ok(self.calls)
    }

    #[retry]
    async fn by_box(self: Box<Self>) -> Result<u32, Error> {
        Ok(self.calls)
    }

    #[retry]
    async fn by_pin(self: Pin<&mut Self>) -> Result<u32, Error> {
        Ok(self.calls)
    }

    #[retry]
    async fn by_mutable_pin(mut self: Pin<&mut Self>) -> Result<u32, Error> {
        self.as_mut().calls += 0;
        Ok(self.calls)
    }

    #[retry]
    async fn by_typed_mutable(self: &mut Self) -> Result<u32, Error> {
        self.calls += 1;
        self.calls -= 1;
        Ok(self.calls)
    }

    #[retry]
    async fn by_typed_shared(self: &Arc<Self>) -> Result<u32, Error> {
        Ok(Arc::clone(self).calls)
    }

    #[retry]
    async fn borrows_from_self(&self, other: &str) -> Result<&u32, Error> {
        if other.is_empty() { Err("empty".into()) } else { Ok(&self.calls) }
    }

    #[retry]
    async fn returns_borrowed(&mut self) -> Result<u32, Error> {
        let calls = &mut self.calls;
        *calls += 1;
        Ok(*calls)
    }

    #[retry(attempts = Self::ATTEMPTS)]
    fn sync(&mut self) -> Result<u32, Error> {
        self.calls += 1;
        Ok(self.calls)
    }

    #[retry]
    fn sync_by_value(self) -> Result<u32, Error> {
        Ok(self.calls)
    }
}

struct Sized<T, const N: u32>(T);

impl<T: Display, const N: u32> Sized<T, N> {
    #[retry(attempts = N)]
    async fn fetch(&self) -> Result<String, Error> {
        Ok(self.0.to_string())
    }
}

#[retry(attempts = MANY)]
async fn const_generic<const MANY: u32>() -> Result<u32, Error> {
    Ok(MANY)
}

#[retry(attempts = MANY + 1)]
fn sync_const_generic<const MANY: u32>() -> Result<u32, Error> {
    Ok(MANY)
}

#[test]
fn works() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(run()).unwrap();
}

async fn run() -> Result<(), Error> {
    let body = Body { head: "head".into(), rest: vec![1, 2] };
    let mut seen = Vec::new();
    assert_eq!(by_value(1, "ab".into()).await?, 3);
    assert_eq!(consumed(body.clone()).await?, 6);
    assert_eq!(consumed_and_mutable(body.clone(), vec![1], vec![]).await?, 9);
    assert_eq!(by_reference(&body, &mut seen).await?, 1);
    assert_eq!(by_pattern((1, 2), body.clone(), [1, 2, 3], &5, (6, 7), String::new()).await?, 30);
    assert_eq!(by_ref_mut(vec![1], "ab".into()).await?, 4);
    assert_eq!(generic([1, 2], "x").await?, "x12");
    assert_eq!(elided("a/b").await?, "a");
    assert_eq!(named("", "other").await?, "other");
    assert_eq!(from_mutable(&mut [1]).await?, 2);
    assert_eq!(returns_impl(3).await?.sum::<u32>(), 3);
    assert_eq!(returns_boxed_trait(true).await?.to_string(), "LOUD");
    assert_eq!(returns_boxed_trait(false).await?.to_string(), "q");
    assert_eq!(shadowed(1, "n".to_owned()).await?, "n2");
    let mut called = 0;
    let pinned = std::pin::pin!(async { 7 });
    let boxed = Box::new(|| 10);
    let (required, declared) = (async || 20, |n: &u32| n + 30);
    let mutable = &mut |n| called = n;
    assert_eq!(callables(|| 3, &|n| n + 1, mutable, boxed, required, declared, pinned).await?, 7);
    assert_eq!(called, 64);
    assert_eq!(changed_once(1).await?, 2);
    assert_eq!(carried(&mut [1, 2, 3], 1).await?, 2);
    assert_eq!(by_alternatives(Ok(1), String::new()).await?, 1);
    assert_eq!(sync_by_alternatives(Err(1))?, 2);
    assert_eq!(returns_option("seven").await, Some('s'));
    assert!(returns_result_in_result("seven").await?.is_err());
    returns_unit().await?;
    drop(never_succeeds("no"));
    assert_eq!(sync("7", &mut seen)?, 7);
    assert_eq!(sync_consumed(body)?, 4);
    assert_eq!(sync_elided("a/b")?, "a");
    assert_eq!(sync_impl(3)?.sum::<u32>(), 3);
    assert_eq!(sync_boxed_trait()?.to_string(), "quiet");
    assert_eq!(boxed_by_hand(7).await?, 7);
    assert_eq!(boxed_by_an_alias(&7).await?, 7);
    let mut pool = Pool { items: vec![7] };
    assert_eq!(pool.lends(1).await?, &7);
    assert_eq!(pool.lends_in_time(1).await?, &7);
    assert_eq!(lent_by_argument(&mut pool, 1).await?, &7);

    let mut client = Client { calls: 1 };
    assert_eq!(client.by_shared().await?, 1);
    assert_eq!(client.by_mutable(2).await?, 3);
    assert_eq!(client.by_typed_mutable().await?, 3);
    assert_eq!(Arc::new(client.clone()).by_typed_shared().await?, 3);
    assert_eq!(*client.borrows_from_self("x").await?, 3);
    assert_eq!(client.returns_borrowed().await?, 4);
    assert_eq!(client.clone().by_value().await?, 4);
    assert_eq!(client.clone().by_mutable_value().await?, 5);
    assert_eq!(Arc::new(client.clone()).by_arc().await?, 4);
    assert_eq!(Box::new(client.clone()).by_box().await?, 4);
    assert_eq!(Pin::new(&mut client).by_pin().await?, 4);
    assert_eq!(Pin::new(&mut client).by_mutable_pin().await?, 4);
    assert_eq!(client.sync()?, 5);
    assert_eq!(client.sync_by_value()?, 5);
    assert_eq!(Sized::<_, 3>(7).fetch().await?, "7");
    assert_eq!(const_generic::<4>().await?, 4);
    assert_eq!(sync_const_generic::<4>()?, 4);
    Ok(())
}
