//! How much each subject may ask for: so many calls a minute, and so many at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::{AccessSettings, Caller};
use crate::error::{Code, Error};

/// The subjects that are remembered before those are forgotten that have all their calls left.
const SUBJECTS_MAX: usize = 10_000;

/// What the subjects of all tokens have used.
pub(crate) struct Subjects {
    per_minute: f64,
    at_once: u32,
    known: Mutex<HashMap<String, Used>>,
}

/// What one subject has used.
struct Used {
    /// The calls that it may begin now, as of `at`.
    left: f64,
    at: Instant,
    running: u32,
}

/// The right to run one call, until it is dropped.
pub(crate) struct Turn(Option<(Arc<Subjects>, String)>);

impl Subjects {
    pub fn new(settings: &AccessSettings) -> Self {
        Self {
            per_minute: f64::from(settings.calls_per_minute),
            at_once: settings.concurrent_calls,
            known: Mutex::default(),
        }
    }

    /// Begins a call of the caller at this time; the single user's are not counted.
    ///
    /// [`Code::RateLimited`] with the seconds to wait where the subject has used up its calls.
    pub fn begin(self: &Arc<Self>, caller: &Caller, now: Instant) -> Result<Turn, Error> {
        let Some(identity) = caller.identity() else { return Ok(Turn(None)) };
        let subject = format!("{}/{}", identity.org, identity.subject);
        let mut known = self.known.lock();
        if known.len() >= SUBJECTS_MAX && !known.contains_key(&subject) {
            known.retain(|_, used| used.running > 0 || self.left(used, now) < self.per_minute);
        }
        let fresh = Used { left: self.per_minute, at: now, running: 0 };
        let used = known.entry(subject.clone()).or_insert(fresh);
        if used.running >= self.at_once {
            let message = "this token's subject has as many calls running as LOOM_CONCURRENCY_PER_SUBJECT allows: \
                           wait for one to end";
            return Err(Error { retry_after_s: Some(1), ..Error::new(Code::RateLimited, message) });
        }
        if self.per_minute > 0.0 {
            let left = self.left(used, now);
            if left < 1.0 {
                let wait_s = ((1.0 - left) * 60.0 / self.per_minute).ceil();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 60")]
                let wait_s = wait_s.max(1.0) as u64;
                let message = "this token's subject has begun as many calls as LOOM_RATE_LIMIT_PER_MINUTE allows: \
                               repeat this one later";
                return Err(Error { retry_after_s: Some(wait_s), ..Error::new(Code::RateLimited, message) });
            }
            (used.left, used.at) = (left - 1.0, now);
        }
        used.running += 1;
        Ok(Turn(Some((Arc::clone(self), subject))))
    }

    fn left(&self, used: &Used, now: Instant) -> f64 {
        let waited = now.saturating_duration_since(used.at).as_secs_f64();
        (used.left + waited * self.per_minute / 60.0).min(self.per_minute)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((subjects, subject)) = self.0.take()
            && let Some(used) = subjects.known.lock().get_mut(&subject)
        {
            used.running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::access::{Identity, Roles};

    fn caller(subject: &str) -> Caller {
        let roles = Roles::default();
        Caller::of(Identity {
            subject: subject.into(),
            org: "dev".into(),
            roles,
            agent: None,
            user_id: None,
            session_id: None,
        })
    }

    fn subjects(calls_per_minute: u32, concurrent_calls: u32) -> Arc<Subjects> {
        Arc::new(Subjects::new(&AccessSettings { calls_per_minute, concurrent_calls, ..AccessSettings::default() }))
    }

    #[test]
    fn a_minutes_calls_come_back_with_time_and_are_each_subjects_own() {
        let (subjects, start) = (subjects(2, 9), Instant::now());
        let begin = |name: &str, after_s: u64| subjects.begin(&caller(name), start + Duration::from_secs(after_s));
        assert!(begin("a", 0).is_ok() && begin("a", 0).is_ok());
        let refused = begin("a", 1).err().expect("they are used up");
        assert_eq!((refused.code, refused.retry_after_s), (Code::RateLimited, Some(29)));
        assert!(begin("b", 1).is_ok() && begin("a", 30).is_ok() && begin("a", 31).is_err());
        assert!(subjects.begin(&Caller::local(), start).is_ok());
    }

    #[test]
    fn calls_at_once_are_bounded_until_one_ends() {
        let (subjects, now) = (subjects(0, 2), Instant::now());
        let held = subjects.begin(&caller("a"), now).expect("the first");
        let _other = subjects.begin(&caller("a"), now).expect("the second");
        assert_eq!(subjects.begin(&caller("a"), now).err().expect("the third").code, Code::RateLimited);
        drop(held);
        assert!(subjects.begin(&caller("a"), now).is_ok());
    }
}
