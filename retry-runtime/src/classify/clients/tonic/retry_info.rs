//! [`RetryInfo`](https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto):
//! the wait that a gRPC server asks for, in the details of its status.
//!
//! Three messages of three fields are read here by hand, so that no code generator and no runtime
//! of it comes along:
//!
//! ```text
//! Status    { 3: repeated Any details }
//! Any       { 1: string type_url, 2: bytes value }
//! RetryInfo { 1: Duration { 1: int64 seconds, 2: int32 nanos } }
//! ```

use core::time::Duration;

const TYPE: &[u8] = b"google.rpc.RetryInfo";

/// The wait that a `google.rpc.Status` asks for; `None` without one, or if the bytes are not valid.
pub(super) fn in_details(status: &[u8]) -> Option<Duration> {
    messages(status, 3).find_map(|any| {
        let url = messages(any, 1).last()?;
        if !url.ends_with(TYPE) {
            return None;
        }
        let delay = messages(messages(any, 2).last()?, 1).last()?;
        let seconds = numbers(delay, 1).last().unwrap_or_default();
        let nanos = numbers(delay, 2).last().unwrap_or_default();
        // A negative number has its highest bit set: not a wait.
        if seconds.max(nanos) > i64::MAX as u64 {
            return None;
        }
        Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos)))
    })
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// The fields of a message, until its end or the first byte that is not valid.
fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    core::iter::from_fn(move || {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)?),
            1 => skip(&mut bytes, 8)?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Value::Bytes(value)
            }
            5 => skip(&mut bytes, 4)?,
            _ => return None,
        };
        Some((key >> 3, value))
    })
}

fn messages(bytes: &[u8], field: u64) -> impl Iterator<Item = &[u8]> {
    fields(bytes).filter_map(move |(number, value)| match value {
        Value::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    })
}

fn numbers(bytes: &[u8], field: u64) -> impl Iterator<Item = u64> {
    fields(bytes).filter_map(move |(number, value)| match value {
        Value::Number(value) if number == field => Some(value),
        _ => None,
    })
}

fn skip<'a>(bytes: &mut &'a [u8], count: usize) -> Option<Value<'a>> {
    *bytes = bytes.get(count..)?;
    Some(Value::Other)
}

/// A number of up to ten bytes, seven bits each, the lowest first.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap();
        [&[number << 3 | 2, length], bytes].concat()
    }

    fn status(type_url: &str, delay: &[u8]) -> Vec<u8> {
        let any = [field(1, type_url.as_bytes()), field(2, &field(1, delay))].concat();
        // code: 8, message: "slow down"
        [vec![8, 8], field(2, b"slow down"), field(3, &any)].concat()
    }

    const URL: &str = "type.googleapis.com/google.rpc.RetryInfo";

    #[test]
    fn the_delay_is_seconds_and_nanoseconds() {
        assert_eq!(in_details(&status(URL, &[8, 7])), Some(Duration::from_secs(7)));
        // 500,000,000 ns.
        let half = [16, 0x80, 0xca, 0xb5, 0xee, 0x01];
        assert_eq!(in_details(&status(URL, &half)), Some(Duration::from_millis(500)));
        let both = [&[8, 2], &half[..]].concat();
        assert_eq!(in_details(&status(URL, &both)), Some(Duration::from_millis(2_500)));
        assert_eq!(in_details(&status(URL, &[])), Some(Duration::ZERO));
    }

    #[test]
    fn other_details_request_no_wait() {
        assert_eq!(in_details(&status("type.googleapis.com/google.rpc.Help", &[8, 7])), None);
        assert_eq!(in_details(&[]), None);
    }

    #[test]
    fn a_negative_delay_is_none() {
        let minus_one = [8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(in_details(&status(URL, &minus_one)), None);
    }

    #[test]
    fn bytes_that_are_cut_off_never_panic() {
        let whole = status(URL, &[8, 7]);
        for end in 0..whole.len() {
            let _ = in_details(&whole[..end]);
            let mut changed = whole.clone();
            changed[end] = 0xff;
            let _ = in_details(&changed);
        }
    }
}
