//! Bodies that do not move the values that the next attempt needs.
#![deny(warnings)]
#![allow(dead_code, missing_docs)]
// Methods and patterns that could move a value, and do not.
#![allow(clippy::into_iter_on_ref, clippy::iter_count, clippy::toplevel_ref_arg)]
#![allow(clippy::useless_vec, clippy::wrong_self_convention)]

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::Arc;

use retry_runtime::{retry, retrying};

#[derive(Clone, Copy)]
pub struct Id(u64);

pub struct Job {
    id: u64,
    name: String,
    tags: Option<String>,
}

pub struct Connection(u32);

type Lent<'a> = &'a mut Connection;

async fn read(connection: &mut Connection, id: Id) -> io::Result<u32> {
    connection.0 += 1;
    Ok(connection.0 + u32::from(id.0 == 7))
}

async fn send(text: String) -> io::Result<()> {
    drop(text);
    Ok(())
}

fn number(value: u64) -> u64 {
    value
}

fn spawn(future: impl Future) {
    drop(future);
}

async fn lookup(id: Id) -> io::Result<u64> {
    Ok(id.0)
}

async fn ping(connection: &mut Connection) -> io::Result<u32> {
    Ok(connection.0)
}

impl Id {
    #[retry]
    pub async fn copied_self(self) -> io::Result<u64> {
        lookup(self).await
    }

    #[retry]
    pub async fn part_of_self(self) -> io::Result<u64> {
        Ok(number(self.0))
    }
}

impl Connection {
    #[retry]
    pub async fn reborrowed_self(self: &mut Self) -> io::Result<u32> {
        ping(self).await
    }
}

#[retry]
pub async fn copied(id: Id, connection: Lent<'_>) -> io::Result<u32> {
    read(connection, id).await
}

#[retry]
pub async fn bound_again(text: String, names: Vec<String>, job: Job) -> io::Result<()> {
    let text = text.clone();
    send(text).await?;
    for name in &names {
        let name = name.clone();
        send(name).await?;
    }
    match job.tags.clone() {
        Some(tags) => send(tags).await,
        None => async move { send(number(job.id).to_string()).await }.await,
    }
}

#[retry]
pub async fn spawned(db: Arc<String>, names: Vec<u64>) -> io::Result<u64> {
    {
        let db = Arc::clone(&db);
        spawn(async move { db.len() });
    }
    Ok(names.iter().map(|names| number(*names)).sum())
}

#[retry(clone(once))]
pub fn called_once<F: FnOnce() -> u64 + Clone>(
    once: F,
    again: impl FnOnce() -> u64 + Copy,
) -> Option<u64> {
    Some(once() + again())
}

impl Job {
    #[retry]
    pub async fn run(self, times: u64) -> io::Result<()> {
        send(format!("{} {}", number(self.id), number(times))).await?;
        send(self.name.clone()).await
    }
}

pub async fn block(connection: Lent<'_>, id: Id, names: Vec<u64>) -> io::Result<u32> {
    let times = 4;
    retrying!(name = "block", attempts = 3, async |cx| -> io::Result<u32> {
        #[cfg(unix)]
        number(times);
        let inner = number(times);
        number(inner);
        number(u64::from(cx.number()));
        for name in names.iter() {
            number(*name);
        }
        read(connection, id).await
    })
    .await
}

/// An inner function has a context of its own.
#[retry(attempts = 2)]
pub async fn inner() -> io::Result<u32> {
    fn attempt_of(cx: &retry_runtime::Attempt) -> u32 {
        cx.number()
    }
    let of = attempt_of;
    Ok(u32::try_from(size_of_val(&of)).unwrap_or_default())
}

/// Methods that often take `self`, and here do not.
pub struct Shared {
    body: String,
    size: usize,
}

impl Shared {
    fn build(&self) -> usize {
        self.size
    }

    fn into_size(&self) -> usize {
        self.size
    }

    fn send(&self) -> io::Result<usize> {
        Ok(self.size)
    }

    #[deprecated]
    fn finish(&self) -> usize {
        self.size
    }

    #[must_use]
    fn close(&self) -> usize {
        self.size
    }

    #[retry]
    pub async fn methods_of_self(self) -> io::Result<usize> {
        let Shared { size, .. } = self;
        std::fs::read(&self.body)?;
        Ok(self.build() + self.into_size() + self.send()? + self.close() + size)
    }
}

impl Id {
    fn build(self) -> u64 {
        self.0
    }

    fn into_number(self) -> u64 {
        self.0
    }
}

#[retry]
#[allow(deprecated)]
pub async fn methods_that_borrow(shared: Shared) -> io::Result<usize> {
    std::fs::read("missing")?;
    Ok(shared.build() + shared.into_size() + shared.send()? + shared.finish() + shared.close())
}

#[retry]
pub fn methods_that_copy(id: Id, size: Option<usize>, bytes: [u8; 3]) -> io::Result<usize> {
    std::fs::read("missing")?;
    let size = size.map_or(1, |size| size + 1) + size.unwrap_or_default() + size.expect("a size");
    let count = usize::from(id.build() == id.into_number());
    Ok(size + count + bytes.into_iter().count())
}

#[retry]
pub async fn methods_of_a_reference(
    path: std::path::PathBuf,
    values: &mut Vec<u8>,
) -> io::Result<usize> {
    std::fs::read("missing")?;
    Ok(path.into_iter().count() + values.into_iter().count())
}

#[retry]
pub async fn patterns_that_borrow(
    shared: Shared,
    id: Id,
    size: Option<usize>,
) -> io::Result<usize> {
    let Shared { size: own, .. } = shared;
    let Id(number) = id;
    let ref body = shared.body;
    let copy = id;
    let typed: Id = id;
    if let Some(size) = size {
        std::fs::read(size.to_string())?;
    }
    let Some(size) = size else {
        return Err(io::Error::other("no size"));
    };
    std::fs::read(body)?;
    Ok(own + size + usize::from(number == copy.0 + typed.0))
}

#[retry]
pub async fn method_of_one_target(shared: Shared) -> io::Result<usize> {
    #[cfg(target_os = "none")]
    shared.into_a_method_of_this_target();
    std::fs::read(&shared.body)?;
    Ok(shared.size)
}

#[retry(hedge = "10ms")]
pub async fn methods_of_hedges(shared: Shared, sizes: impl Fn() -> usize) -> io::Result<usize> {
    let sizes = &sizes;
    std::fs::read(&shared.body)?;
    Ok(shared.build() + sizes())
}

pub struct Borrower<'a> {
    connection: &'a mut Connection,
    name: String,
    id: u64,
    tag: Option<String>,
}

pub enum Task {
    Wait(u64),
    Print { copies: u64, text: String },
    Stop,
}

fn ping_now(connection: &mut Connection, id: u64) -> io::Result<u64> {
    Ok(u64::from(connection.0) + id)
}

#[retry]
pub async fn fields(borrower: Borrower<'_>, job: Arc<Job>, number: u64) -> io::Result<u64> {
    let own = borrower.id;
    let shared = job.id;
    let tag = match borrower.tag {
        Some(ref tag) => tag.len(),
        None => 0,
    };
    ping_now(borrower.connection, number)?;
    ping_now(borrower.connection, borrower.id)?;
    println!("{}", job.name);
    let longest = (borrower.name).len().max(tag);
    Ok(own + shared + u64::try_from(longest).unwrap_or_default())
}

#[retry]
pub fn expressions(id: Id, number: u64, time: std::time::Duration, task: Task) -> io::Result<u64> {
    std::fs::read("missing")?;
    let list = vec![number, 7];
    let pair = (id, [number, number]);
    let twice = time + time;
    let some = Some(id);
    let add = move |other: u64| other + number;
    let waited = match task {
        Task::Wait(time) => time,
        Task::Print { copies, .. } if copies > number => copies,
        Task::Print { ref text, .. } => number + u64::from(text.is_empty()),
        Task::Stop => number,
    };
    let is_same = some.is_some_and(|some| some.0 == pair.0.0);
    Ok(add(list[0]) + twice.as_secs() + waited + u64::from(is_same))
}

#[retry(on_retry = |event| {
    let text = event.to_string();
    spawn(async move { send(text).await });
})]
pub async fn on_retry_spawns(id: Id) -> io::Result<u64> {
    lookup(id).await
}

#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    Idle,
    Busy,
}

#[retry]
pub fn matched(mode: Mode, count: Option<u32>) -> io::Result<HashMap<String, u32>> {
    const REST: Mode = Mode::Idle;
    let map = match count {
        Some(n) => (0..n).map(|i| (i.to_string(), i)).collect::<HashMap<String, u32>>(),
        None => HashMap::new(),
    };
    match mode {
        REST => Ok(map),
        _ => Ok(HashMap::<String, u32>::new()),
    }
}

mod api {
    pub async fn request() -> u32 {
        1
    }

    pub fn route(route: &str) -> u32 {
        u32::try_from(route.len()).unwrap_or_default()
    }
}

#[retry]
pub async fn captured(request: String, id: String) -> io::Result<u32> {
    let length = request.len() + id.len();
    let work = async move {
        tracing::info!(request = length, id = length, "{{id}} saved");
        api::request().await + api::route("/users/{id}")
    };
    Ok(work.await + u32::try_from(request.len() + id.len()).unwrap_or_default())
}

#[retry(hedge = "100ms")]
pub async fn called_by_a_clone<F: FnMut() -> u32 + Clone>(f: F) -> io::Result<u32> {
    let mut f = f.clone();
    Ok(f())
}
