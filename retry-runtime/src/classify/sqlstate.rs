//! The meaning of the codes of SQL databases: SQLSTATE, the numbers of `MySQL` and `MariaDB`, the
//! result codes of `SQLite`.
//!
//! A code means the same in every language that a server speaks, so both the clients that are
//! known by type and the texts that quote a code are read with these tables.

use super::Class;

const FINAL: Option<Class> = Some(Class::empty());

/// The class of a SQLSTATE; `None` if the code leaves it open.
///
/// Source: [PostgreSQL, appendix
/// A](https://www.postgresql.org/docs/current/errcodes-appendix.html), and the codes that `MySQL`
/// and `CockroachDB` use beyond it.
pub(super) fn sqlstate(code: &str) -> Option<Class> {
    match code {
        // A success, a warning, "no data"; and the general error of ODBC and `MySQL`.
        _ if code.starts_with("00") || code.starts_with("01") || code.starts_with("02") => None,
        // And a violation of the protocol, which is all that `PgBouncer` says: the text decides.
        // `MySQL` says `70100` of a statement that took too long, and of one that was killed.
        "HY000" | "08P01" | "70100" => None,
        // A statement was cancelled, by its time limit or by a user: see `with_message`.
        "57014" | "HYT00" | "HYT01" | "25P03" => Some(Class::TIMEOUT),
        // Lock not available.
        "55P03" => Some(Class::CONFLICT),
        // Permanent failures: a constraint that is checked at the end of the transaction is broken,
        // the disk is full, a limit of the configuration is reached.
        "40002" | "53100" | "53400" => FINAL,
        // The server or its administrator ended the connection.
        "57P01" | "57P02" | "57P05" => Some(Class::NETWORK),
        // The server admits no connections, has too many (`MySQL`), or failed by itself.
        "57P03" | "08004" | "58030" | "58000" | "XX000" => Some(Class::SERVER_ERROR),
        _ => match code.get(..2)? {
            "08" => Some(Class::NETWORK),
            "40" => Some(Class::CONFLICT),
            // Too many connections, out of memory.
            "53" => Some(Class::SERVER_ERROR),
            _ => FINAL,
        },
    }
}

/// [`sqlstate`], with the message to decide where one code has two meanings: Postgres cancels a
/// statement with `57014` at its timeout and at the wish of a user, who does not want it repeated.
#[cfg(any(feature = "tokio-postgres", feature = "sqlx-0_8", feature = "sqlx-0_9"))]
pub(super) fn with_message(code: &str, message: &str) -> Option<Class> {
    if code == "57014" && message.contains("user request") { FINAL } else { sqlstate(code) }
}

/// The class of an error of `MySQL` or `MariaDB`, by its number and SQLSTATE.
///
/// Source: [MySQL, server error
/// reference](https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html).
pub(super) fn mysql(number: u16, state: &str) -> Option<Class> {
    match number {
        // Lock wait timeout (the state is the general one), deadlock, `NOWAIT`.
        1205 | 1213 | 1614 | 3572 => Some(Class::CONFLICT),
        // Too many connections: of all, of this user.
        1040 | 1203 => Some(Class::SERVER_ERROR),
        // This user has asked too much in this hour.
        1226 => Some(Class::RATE_LIMIT),
        // The server shuts down.
        1053 => Some(Class::NETWORK.union(Class::SERVER_ERROR)),
        // The time of a statement was up, in MySQL and in MariaDB.
        3024 | 1969 => Some(Class::TIMEOUT),
        // A packet larger than the server allows; its state is the state of a lost connection.
        1153 => FINAL,
        // Reading from and writing to the connection, which may be killed; what clients say of it.
        1152 | 1158..=1161 | 1184 | 1927 | 2002 | 2003 | 2006 | 2013 | 2055 => Some(Class::NETWORK),
        _ => sqlstate(state),
    }
}

/// The class of a result code of `SQLite`, primary or extended.
///
/// Source: [SQLite, result codes](https://www.sqlite.org/rescode.html).
#[cfg(any(test, feature = "sqlx-0_8", feature = "sqlx-0_9"))]
pub(super) const fn sqlite(code: u32) -> Class {
    match code & 0xff {
        // `SQLITE_BUSY`, `SQLITE_LOCKED`, and `SQLITE_PROTOCOL`: a race for the locks of a WAL.
        5 | 6 | 15 => Class::CONFLICT,
        _ => Class::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_cured_by_repeating_the_transaction() {
        for code in ["40001", "40P01", "55P03"] {
            assert_eq!(sqlstate(code), Some(Class::CONFLICT), "{code}");
        }
        assert_eq!(sqlstate("40002"), FINAL);
        for number in [1205, 1213] {
            assert_eq!(mysql(number, "HY000"), Some(Class::CONFLICT), "{number}");
        }
        for code in [5, 6, 261, 517] {
            assert_eq!(sqlite(code), Class::CONFLICT, "{code}");
        }
    }

    #[test]
    fn a_state_of_a_class_that_is_not_listed_is_final() {
        for code in ["42P01", "23505", "22P02", "28P01", "3D000", "0A000", "53100"] {
            assert_eq!(sqlstate(code), FINAL, "{code}");
        }
    }

    #[test]
    fn an_unspecific_sqlstate_is_classified_by_text() {
        for code in ["00000", "01000", "02000", "HY000", "08P01", "", "4"] {
            assert_eq!(sqlstate(code), None, "{code:?}");
        }
    }
}
