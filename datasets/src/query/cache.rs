//! Columns that were read lately, kept in memory up to a bound.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use parking_lot::Mutex;

/// A column in batches.
#[derive(Clone)]
pub(super) struct Kept {
    pub of: DataType,
    pub batches: Arc<Vec<ArrayRef>>,
    pub bytes: usize,
}

/// A snapshot's id and the name of a column.
type Key = (String, String);

/// Columns that were read lately; the one not asked for longest goes first.
pub(super) struct Cache {
    bytes_max: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    columns: HashMap<Key, (Kept, u64)>,
    bytes: usize,
    asked: u64,
}

impl Cache {
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, held: Mutex::default() }
    }

    pub fn get(&self, snapshot: &str, column: &str) -> Option<Kept> {
        let mut held = self.held.lock();
        held.asked += 1;
        let now = held.asked;
        let (kept, asked) = held.columns.get_mut(&(snapshot.to_owned(), column.to_owned()))?;
        *asked = now;
        Some(kept.clone())
    }

    pub fn put(&self, snapshot: &str, column: &str, kept: &Kept) {
        if kept.bytes > self.bytes_max {
            return;
        }
        let mut held = self.held.lock();
        held.asked += 1;
        let now = held.asked;
        let before = held.columns.insert((snapshot.to_owned(), column.to_owned()), (kept.clone(), now));
        held.bytes = held.bytes + kept.bytes - before.map_or(0, |(kept, _)| kept.bytes);
        while held.bytes > self.bytes_max {
            let oldest = held.columns.iter().min_by_key(|(_, (_, asked))| *asked).map(|(key, _)| key.clone());
            let Some((kept, _)) = oldest.and_then(|key| held.columns.remove(&key)) else { break };
            held.bytes -= kept.bytes;
        }
    }

    pub fn clear(&self) {
        *self.held.lock() = Held::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let cache = Cache::new(100);
        let kept = |bytes| Kept { of: DataType::Null, batches: Arc::default(), bytes };
        cache.put("one", "a", &kept(40));
        cache.put("one", "b", &kept(40));
        assert!(cache.get("one", "a").is_some());
        cache.put("two", "a", &kept(40));
        let held = [("one", "a"), ("one", "b"), ("two", "a")].map(|(of, name)| cache.get(of, name).is_some());
        assert_eq!(held, [true, false, true]);
        cache.put("three", "a", &kept(101));
        assert!(
            cache.get("three", "a").is_none() && cache.get("one", "a").is_some(),
            "what never fits displaces nothing"
        );
        cache.clear();
        assert!(cache.get("one", "a").is_none());
    }
}
