//! The folder for the temporary files of this process, which may hold secret values. It exists once
//! it is needed, and is removed at the end.
//!
//! A process that is killed leaves its folder behind. While it runs it holds a lock on the folder,
//! so that other processes can recognise what is left over.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Options that create files for their owner alone, as the store itself: they have data of items,
/// which may be secret.
pub(crate) fn for_owner() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The folder, if this process has one.
static FOLDER: Mutex<Option<Folder>> = Mutex::new(None);

struct Folder {
    path: PathBuf,
    /// Locked for as long as it is open.
    #[cfg(unix)]
    _lock: Option<fs::File>,
}

/// Removes the folder of this process when it is dropped.
pub(crate) struct Temporary;

impl Drop for Temporary {
    fn drop(&mut self) {
        remove();
    }
}

/// Removes the folder of this process.
pub(crate) fn remove() {
    if let Some(folder) = FOLDER.lock().take() {
        // Ignore errors: the system cleans up its temporary folder anyway.
        let _ = fs::remove_dir_all(&folder.path);
    }
}

/// Returns the path of the folder, which is created if it is missing.
pub(crate) fn folder() -> io::Result<PathBuf> {
    let mut folder = FOLDER.lock();
    // A cleaner of temporary files may have removed it.
    if let Some(folder) = folder.as_ref().filter(|folder| folder.path.is_dir()) {
        return Ok(folder.path.clone());
    }
    remove_left_over();
    Ok(folder.insert(Folder::create()?).path.clone())
}

/// Creates a file with this content, for this user alone.
pub(crate) fn file(text: &[u8]) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);

    let path = folder()?.join(format!("{}.json", COUNT.fetch_add(1, Ordering::Relaxed)));
    let mut file = for_owner().write(true).create_new(true).open(&path)?;
    if let Err(error) = io::Write::write_all(&mut file, text) {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

const PREFIX: &str = "retry-workflow-";
const SUFFIX: &str = ".tmp";

#[cfg(unix)]
impl Folder {
    fn create() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        use std::time::{SystemTime, UNIX_EPOCH};

        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{PREFIX}{}-{:x}{SUFFIX}", std::process::id(), now.as_nanos());
        let path = std::env::temp_dir().join(&name);
        // Under another name until it is locked: other processes take one without a lock for left
        // over.
        let unlocked = std::env::temp_dir().join(format!(".{name}"));
        fs::DirBuilder::new().mode(0o700).create(&unlocked)?;
        let lock = fs::File::open(&unlocked);
        // Without locks there, no process removes what is left over.
        let lock = lock.ok().filter(|lock| lock.try_lock().is_ok());
        if let Err(error) = fs::rename(&unlocked, &path) {
            let _ = fs::remove_dir(&unlocked);
            return Err(error);
        }
        Ok(Self { path, _lock: lock })
    }
}

#[cfg(not(unix))]
impl Folder {
    fn create() -> io::Result<Self> {
        let name = format!("{PREFIX}{}{SUFFIX}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path)?;
        Ok(Self { path })
    }
}

/// Removes the folders of this user's processes that were killed.
#[cfg(unix)]
pub(crate) fn remove_left_over() {
    use std::os::unix::fs::MetadataExt as _;

    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(is_name) {
            continue;
        }
        // Not the metadata of a link.
        let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == user;
        if !entry.metadata().is_ok_and(is_own) {
            continue;
        }
        if let Ok(folder) = fs::File::open(entry.path())
            && folder.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn remove_left_over() {}

/// Returns whether a folder of this name may be one of ours: `retry-workflow-17-18cb2f.tmp`.
#[cfg(unix)]
fn is_name(name: &str) -> bool {
    let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    let parts = middle.and_then(|middle| middle.split_once('-'));
    parts.is_some_and(|(process, time)| {
        let is = |part: &str, radix| !part.is_empty() && part.chars().all(|c| c.is_digit(radix));
        is(process, 10) && is(time, 16)
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_folders_of_this_kind_are_recognised() {
        assert!(is_name("retry-workflow-17-18cb2f.tmp"));
        for other in
            ["retry-workflow-17.tmp", "retry-workflow-17-.tmp", "retry-workflow-old.tmp", "x"]
        {
            assert!(!is_name(other), "{other}");
        }
    }
}
