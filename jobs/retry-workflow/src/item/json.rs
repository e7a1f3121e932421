//! The JSON form of items, for machines and for exchange: durations as seconds, and JSON as
//! JSON rather than as a string that contains it.

/// Returns whether a field is left out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A [`Duration`](std::time::Duration) as a number of seconds.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if duration.subsec_micros() == 0 {
            return serializer.serialize_u64(duration.as_secs());
        }
        // A single division: a sum of seconds and a fraction would be rounded twice.
        #[expect(clippy::cast_precision_loss, reason = "microseconds of 285 years are exact")]
        serializer.serialize_f64(duration.as_micros() as f64 / 1e6)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let seconds = Duration::try_from_secs_f64(f64::deserialize(deserializer)?);
        let whole_micros = |duration: Duration| {
            let micros = duration.as_nanos().saturating_add(500) / 1_000;
            Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
        };
        seconds.map(whole_micros).map_err(D::Error::custom)
    }
}

/// A text of JSON, written as that JSON. If it is empty, the caller leaves it out.
pub(crate) mod embedded {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use serde_json::value::RawValue;

    pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        // Line breaks between tokens become spaces; strings cannot contain any.
        let line = text.replace(['\n', '\r'], " ");
        match RawValue::from_string(line) {
            Ok(json) => json.serialize(serializer),
            // A program has stored something that is not JSON.
            Err(_) => serializer.serialize_str(text),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<String, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer).map_err(D::Error::custom)?;
        Ok(String::from(Box::<str>::from(json)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::item::clock::Timestamp;
    use crate::item::record::{AttemptOutcome, AttemptRecord, ItemRecord};

    fn round_trip(item: &ItemRecord) -> String {
        let text = serde_json::to_string(item).unwrap();
        assert_eq!(&serde_json::from_str::<ItemRecord>(&text).unwrap(), item, "{text}");
        text
    }

    #[test]
    fn a_payload_is_the_json_that_it_is_in_one_line() {
        let mut item = ItemRecord::new("j", "i", r#"{"n": 12345678901234567890123, "t": "a\nb"}"#);
        let text = round_trip(&item);
        assert!(
            text.contains(r#""payload":{"n": 12345678901234567890123, "t": "a\nb"}"#),
            "{text}"
        );

        item.payload = "{\n  \"n\": 1\r\n}".to_owned();
        let text = serde_json::to_string(&item).unwrap();
        assert!(text.contains(r#""payload":{   "n": 1  }"#), "{text}");
    }

    #[test]
    fn a_purged_item_has_no_payload() {
        let text = round_trip(&ItemRecord::new("j", "i", ""));
        assert!(!text.contains("payload"), "{text}");
    }

    #[test]
    fn durations_are_seconds_and_stay_exact() {
        let mut attempt =
            AttemptRecord::new("w", Timestamp::from_micros(1), AttemptOutcome::Failed);
        for micros in [0, 1, 999_999, 1_000_000, 1_500_000, 86_400_000_001, 31_536_000_123_457] {
            attempt.duration = Duration::from_micros(micros);
            let mut item = ItemRecord::new("j", "i", "1");
            item.history = vec![attempt.clone()];
            round_trip(&item);
        }
        (attempt.duration, attempt.wait) = (Duration::from_micros(2_648_585), Duration::ZERO);
        let text = serde_json::to_string(&attempt).unwrap();
        assert!(text.contains(r#""duration":2.648585,"wait":0"#), "{text}");
    }
}
