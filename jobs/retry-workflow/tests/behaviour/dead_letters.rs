//! Export and import with the library, on every store.

use std::io::{self, BufReader, Read};

use retry_workflow::dead_letters::{ImportError, Imported};
use retry_workflow::{DeadLetters, Filter, ItemState, Redrive, Signature, SqliteStore, Store};

/// A line as written by `export`.
fn line(id: &str) -> String {
    format!(
        r#"{{"job":"orders","id":"{id}","payload":{{"n":1}},"correlation":"orders/{id}","state":"dead","run":1,"attempt":2,"ended":"2026-11-21T08:00:00Z","failure":{{"class":"other","message":"m {id}","chain":["inner"],"signature":"m <n>"}},"history":[{{"run":0,"attempt":1,"started":"2026-11-21T07:00:00Z","duration":1.5,"wait":0,"worker":"host-1","outcome":"failed","failure":{{"class":"other","message":"m {id}","signature":"m <n>"}}}}]}}"#
    ) + "\n"
}

fn lines(count: usize) -> String {
    (0..count).map(|id| line(&id.to_string())).collect()
}

/// An export can be imported, and only once.
async fn goes_round(here: impl Store + Clone, there: impl Store + Clone) {
    let (here, there) = (DeadLetters::new(here), DeadLetters::new(there));
    let text = lines(450);
    let imported = here.import(text.as_bytes(), None).await.unwrap();
    assert_eq!((imported.new, imported.known), (450, 0));
    let mut first = Vec::new();
    assert_eq!(here.export(&Filter::job("orders"), &mut first).await.unwrap(), 450);
    there.import(first.as_slice(), None).await.unwrap();
    let again = there.import(first.as_slice(), None).await.unwrap();
    assert_eq!((again.new, again.known), (0, 450));
    let mut second = Vec::new();
    there.export(&Filter::default(), &mut second).await.unwrap();
    assert_eq!(String::from_utf8(first).unwrap(), String::from_utf8(second).unwrap());
    let item = there.show("orders", "7").await.unwrap().unwrap();
    assert_eq!((item.state, item.run, item.history.len()), (ItemState::Dead, 1, 1));
}

#[tokio::test]
async fn dead_letters_go_round_in_memory() {
    goes_round(SqliteStore::in_memory(), SqliteStore::in_memory()).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn dead_letters_go_round_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name| retry_workflow::SqliteStore::open(folder.path().join(name)).unwrap();
    goes_round(open("here.db"), open("there.db")).await;
    goes_round(SqliteStore::in_memory(), open("third.db")).await;
}

#[tokio::test]
async fn a_bad_line_is_reported_and_earlier_lines_stay() {
    let letters = DeadLetters::new(SqliteStore::in_memory());
    let text = lines(250) + "\n" + &line("bad").replace("dead", "ill") + &line("never");
    let error = letters.import(text.as_bytes(), None).await.unwrap_err();
    assert!(matches!(
        error,
        ImportError::Line { line: 252, before: Imported { new: 200, .. }, .. }
    ));
    assert!(error.to_string().contains("unknown variant `ill`"), "{error}");
    assert_eq!(letters.count(&Filter::default()).await.unwrap(), 200);
    assert!(DeadLetters::check(text.as_bytes()).is_err());
    assert_eq!(DeadLetters::check(lines(3).as_bytes()).unwrap(), 3);
}

#[tokio::test]
async fn lines_that_are_not_items_are_refused() {
    let letters = DeadLetters::new(SqliteStore::in_memory());
    for (text, says) in [
        ("{", "write items as `export` does"),
        (&line(""), "must not be empty"),
        (&line("x").replace(r#"{"n":1}"#, "nothing"), "expected ident at column 37"),
        ("[]", "line 1"),
    ] {
        let error = letters.import(text.as_bytes(), None).await.unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("nothing was imported"), "{error}");
    }
    let error = letters.import(&b"\xff\xfe\n"[..], None).await.unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
}

#[tokio::test]
async fn byte_order_marks_blank_lines_and_windows_line_ends_are_accepted() {
    let letters = DeadLetters::new(SqliteStore::in_memory());
    let text = format!("\u{feff}{}\r\n\r\n{}", line("a").trim_end(), line("b").trim_end());
    let imported = letters.import(text.as_bytes(), Some("there")).await.unwrap();
    assert_eq!(imported.new, 2);
    assert!(letters.show("there", "b").await.unwrap().is_some());
}

#[tokio::test]
async fn a_failing_reader_is_reported_with_its_line() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("unplugged"))
        }
    }
    let letters = DeadLetters::new(SqliteStore::in_memory());
    let text = line("a");
    let input = BufReader::new(text.as_bytes().chain(Fails));
    let error = letters.import(input, None).await.unwrap_err();
    assert_eq!(error.to_string(), "line 2 cannot be read");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "unplugged");
}

/// A signature may read like the beginning of another one's id.
#[tokio::test]
async fn a_signature_in_full_is_meant_before_an_id() {
    let letters = DeadLetters::new(SqliteStore::in_memory());
    let beginning = Signature::new("m <n>").id()[..4].to_owned();
    let text = line("1") + &line("2").replace("m <n>", &beginning);
    letters.import(text.as_bytes(), None).await.unwrap();
    for given in ["m <n>", &beginning] {
        let found = letters.signature(&Filter::default(), given).await.unwrap();
        assert_eq!(found.as_str(), given);
    }
}

#[tokio::test]
async fn one_filter_selects_as_a_list_of_one_and_takes_a_signature_from_a_group() {
    let letters = DeadLetters::new(SqliteStore::in_memory());
    letters.import(lines(3).as_bytes(), None).await.unwrap();
    let groups = letters.stats(&Filter::all()).await.unwrap();
    let [group] = &groups[..] else { panic!("{groups:?}") };
    let alike = Filter::all().signature(&group.signature).states(ItemState::Dead);
    assert_eq!(letters.count(&alike).await.unwrap(), 3);

    let (none, one) = (Redrive::new().max(0), Filter::job("orders").ids("1"));
    assert_eq!(letters.preview(&one, Redrive::new()).await.unwrap().items(), 1);
    assert_eq!(letters.retry(&alike, none).await.unwrap(), 0);
    assert_eq!(letters.retry(one, Redrive::new()).await.unwrap(), 1);
    assert_eq!(
        letters.retry([alike.clone(), Filter::job("none")], Redrive::new()).await.unwrap(),
        2
    );
    assert_eq!(letters.count(&alike).await.unwrap(), 0);
}
