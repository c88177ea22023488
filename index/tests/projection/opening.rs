//! Opening and closing: one of each, no more than there is room for, and never one that is in use.

use std::fs;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(unix)]
use std::thread;
use std::time::Instant;

use loom_index::{Bounds, Error, Progress, Source};
use loom_storage::contract::sample::{put, scope, vectors};
use loom_storage::{Scope, Write};

use super::{DIM, Place, in_an_hour, model, of, opened};

fn few(open_max: usize) -> Bounds {
    Bounds { open_max, ..Bounds::default() }
}

/// As many namespaces, each with one document.
fn namespaces(place: &Place, count: usize) -> Vec<Scope> {
    let scopes: Vec<Scope> = (0..count).map(|number| Scope::new("org", format!("n{number}"))).collect();
    for scope in &scopes {
        place.commit([put(scope, "a", "alpha", 1)]);
    }
    scopes
}

#[test]
fn the_least_recently_used_is_closed_for_the_next_and_opens_again_as_it_was() {
    let place = Place::new();
    let scopes = namespaces(&place, 5);
    let projections = place.bounded(few(2));
    for scope in scopes.iter().chain(&scopes) {
        assert_eq!(of(&projections, &place, scope, "m").totals().lexical_chunks, 1);
        assert!(projections.counts().open <= 2, "{:?}", projections.counts());
    }
    let counts = projections.counts();
    assert_eq!((counts.open, counts.opened_total, counts.closed_total), (2, 10, 8));
    // What is open is what was used last.
    for scope in &scopes[3..] {
        of(&projections, &place, scope, "m");
    }
    assert_eq!(projections.counts().opened_total, 10);
}

#[test]
fn a_projection_in_use_is_never_closed() {
    let place = Place::new();
    let scopes = namespaces(&place, 4);
    let projections = place.bounded(few(1));
    let held = of(&projections, &place, &scopes[0], "m");
    for scope in &scopes[1..] {
        of(&projections, &place, scope, "m");
    }
    assert!(Arc::ptr_eq(&held, &of(&projections, &place, &scopes[0], "m")), "there is one of each folder");
    projections.close_unused(in_an_hour());
    assert_eq!(projections.counts().open, 1);
    drop(held);
    projections.close_unused(in_an_hour());
    assert_eq!(projections.counts().open, 0);
}

#[test]
fn what_is_idle_is_closed_and_looking_at_it_is_no_use() {
    let place = Place::new();
    let scopes = namespaces(&place, 2);
    place.commit([put(&scopes[0], "long", &"beta\n".repeat(100), 2)]);
    let projections = place.projections();
    for scope in &scopes {
        of(&projections, &place, scope, "m");
    }
    projections.close_unused(Instant::now());
    assert_eq!(projections.counts().open, 2, "the idle time has not passed");
    let mut looked = 0;
    projections.each_open(|_| looked += 1);
    projections.flush(false).unwrap();
    projections.close_unused(Instant::now() + Bounds::default().idle);
    assert_eq!((looked, projections.counts().open), (2, 0));
    let written = place.folders().iter().filter(|folder| folder.join("lexical").is_dir()).count();
    assert_eq!(written, 1, "what is sooner followed again than written is not written");
    for (scope, chunks) in scopes.iter().zip([101, 1]) {
        assert_eq!(of(&projections, &place, scope, "m").totals().lexical_chunks, chunks);
    }
}

#[test]
fn memory_is_bounded_and_the_last_used_stays_however_large() {
    let place = Place::new();
    let scopes = namespaces(&place, 3);
    let projections = place.bounded(Bounds { bytes_max: 1, ..Bounds::default() });
    for scope in &scopes {
        of(&projections, &place, scope, "m");
        projections.close_unused(Instant::now());
        let counts = projections.counts();
        assert!(counts.open == 1 && counts.bytes > 1, "{counts:?}");
    }
    assert_eq!(projections.counts().opened_total, 3);
}

#[test]
fn a_namespace_between_two_models_stays_open() {
    let place = Place::new();
    let one: &[f32] = &[1.0; DIM];
    place.commit([vectors(&scope(), "old", &[("alpha", one)]), put(&scope(), "a", "alpha", 1)]);
    let projections = place.projections();
    opened(&projections, &place, "old").prepare_model(&place.store, &model("new"), &Progress::default()).unwrap();
    projections.close_unused(in_an_hour());
    assert_eq!(projections.counts().open, 1);
    place.commit([
        vectors(&scope(), "new", &[("alpha", one)]),
        Write::SwitchModel { scope: scope(), model: "new".into() },
    ]);
    assert_eq!(opened(&projections, &place, "new").model(), model("new"));
    projections.close_unused(in_an_hour());
    assert_eq!((projections.counts().open, projections.counts().opened_total), (0, 1));
}

/// A folder in which opening a projection waits until the test lets it go on: the file that says whose the folder is
/// is a pipe, which is read once somebody writes into it.
#[cfg(unix)]
struct Held(PathBuf);

#[cfg(unix)]
impl Held {
    fn new(folder: &Path) -> Self {
        let pipe = folder.join("namespace.txt");
        fs::remove_file(&pipe).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        Self(pipe)
    }

    fn release(self) {
        fs::write(self.0, "nobody's").unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_build_is_one_for_all_who_ask_and_goes_on_when_they_no_longer_wait() {
    let place = Place::new();
    let scopes = namespaces(&place, 2);
    of(&place.projections(), &place, &scopes[0], "m");
    let held = Held::new(&place.folders()[0]);
    let projections = place.projections();
    let source = || Ok::<_, Error>(Source { snapshot: place.snapshot(), model: model("m") });
    let ask = || projections.namespace(&scopes[0], place.snapshot().as_ref(), [Instant::now(); 2], source);
    for _ in 0..2 {
        assert!(matches!(ask().err(), Some(Error::Unready { percent: 0 })));
    }
    assert_eq!(of(&projections, &place, &scopes[1], "m").totals().lexical_chunks, 1, "the others go on");
    let counts = projections.counts();
    assert_eq!((counts.building, counts.open, counts.unready_total), (1, 1, 2));
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| of(&projections, &place, &scopes[0], "m"))).collect();
        held.release();
        let found: Vec<_> = waiting.into_iter().map(|waiting| waiting.join().unwrap()).collect();
        assert!(found.iter().all(|other| Arc::ptr_eq(other, &found[0])), "there is one of each folder");
        assert_eq!(found[0].totals().lexical_chunks, 1);
    });
    assert_eq!(projections.counts().opened_total, 2);
}

#[cfg(unix)]
#[test]
fn what_is_discarded_while_it_is_built_is_built_again() {
    let place = Place::new();
    let scopes = namespaces(&place, 1);
    of(&place.projections(), &place, &scopes[0], "m");
    let held = Held::new(&place.folders()[0]);
    let projections = place.projections();
    let source = || Ok::<_, Error>(Source { snapshot: place.snapshot(), model: model("m") });
    assert!(projections.namespace(&scopes[0], place.snapshot().as_ref(), [Instant::now(); 2], source).is_err());
    projections.discard(&scopes[0]).unwrap();
    held.release();
    assert_eq!(of(&projections, &place, &scopes[0], "m").totals().lexical_chunks, 1);
    let counts = projections.counts();
    assert_eq!((counts.open, counts.opened_total), (1, 1), "what was built first was never open");
}

#[test]
fn a_build_that_fails_tells_why_and_is_tried_again_when_asked() {
    let place = Place::new();
    let scopes = namespaces(&place, 1);
    let projections = place.projections();
    of(&projections, &place, &scopes[0], "m");
    let folder = place.folders().remove(0);
    projections.discard(&scopes[0]).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let source = || Ok::<_, Error>(Source { snapshot: place.snapshot(), model: model("m") });
    let failed = projections.namespace(&scopes[0], place.snapshot().as_ref(), [in_an_hour(); 2], source);
    assert!(matches!(failed.err(), Some(Error::Build(_))));
    fs::remove_file(&folder).unwrap();
    assert_eq!(of(&projections, &place, &scopes[0], "m").totals().lexical_chunks, 1);
}

#[test]
fn closed_projections_open_nothing_any_more() {
    let place = Place::new();
    let scopes = namespaces(&place, 2);
    let projections = place.projections();
    of(&projections, &place, &scopes[0], "m");
    projections.close().unwrap();
    let source = || Ok::<_, Error>(Source { snapshot: place.snapshot(), model: model("m") });
    let refused = projections.namespace(&scopes[1], place.snapshot().as_ref(), [in_an_hour(); 2], source);
    assert!(matches!(refused.err(), Some(Error::Stopped)));
}
