//! A disk that goes wrong at the n-th write or sync, for every n of a script that uses each kind of write: what was
//! acknowledged is there afterwards, what was refused is not, and what nobody knows is whole or absent.

mod disk;
mod script;

use std::collections::BTreeMap;

use disk::{At, Disk, Fault, Lost};
use loom_storage::{Error, Store as _};
use script::{Commits, Done, Machine, Step, is_clear_of_a_full_disk, script};

/// More operations than the script needs.
const OPERATIONS_MAX: u64 = 10_000;

/// How often it went wrong in which step, by writes and syncs.
#[derive(Default)]
struct Table(BTreeMap<usize, [u64; 2]>);

impl Table {
    fn count(&mut self, step: usize, at: At) {
        let [writes, syncs] = self.0.entry(step).or_default();
        match at {
            At::Write(_) => *writes += 1,
            At::Sync(_) => *syncs += 1,
        }
    }

    /// Prints the table; every step must have been hit.
    fn print(&self, title: &str) {
        eprintln!("{title}: injected and held, by step\n{:>16} {:>7} {:>7}", "step", "writes", "syncs");
        let names: Vec<_> = script().into_iter().map(|(name, _)| name).chain(["close"]).collect();
        for (step, [writes, syncs]) in &self.0 {
            eprintln!("{:>16} {writes:>7} {syncs:>7}", names[*step]);
        }
        let total = self.0.values().fold([0, 0], |sum, [writes, syncs]| [sum[0] + writes, sum[1] + syncs]);
        eprintln!("{:>16} {:>7} {:>7}", "all", total[0], total[1]);
        for (step, name) in names.iter().enumerate().take(names.len() - 1) {
            assert!(self.0.get(&step).is_some_and(|[writes, _]| *writes > 0), "no write of {name} went wrong");
        }
    }
}

/// A disk with an empty store, made before anything went wrong.
fn made() -> Disk {
    let machine = Machine::on(Disk::new());
    drop(machine.open(Commits::Logged).expect("it opens"));
    machine.disk.after_power_loss(Lost::Nothing)
}

/// Calls `round` with a fresh machine for the n-th write, then sync, until the script no longer comes so far.
fn at_every_operation(mut round: impl FnMut(&Machine, At) -> bool) {
    let made = made();
    for kind in [At::Write, At::Sync] {
        let last = (1..OPERATIONS_MAX)
            .find(|number| !round(&Machine::on(made.after_power_loss(Lost::Nothing)), kind(*number)));
        assert!(last.is_some_and(|last| last > 10), "the script had {last:?} operations");
    }
}

/// The disk goes wrong for good in a step: the process ends or is killed there, and the power may go too.
fn it_ends_there(fault: Fault, commits: Commits) {
    let mut table = Table::default();
    let steps = script();
    at_every_operation(|machine, at| {
        let store = machine.open(commits).expect("it opens");
        machine.disk.break_at(fault, at);
        let mut done = Done::default();
        let mut reached = steps.len();
        for (index, (_, step)) in steps.iter().enumerate() {
            if done.step(&store, step).is_err() {
                if matches!(fault, Fault::Freeze | Fault::ShortThenFreeze) {
                    done.killed_in(step);
                }
                reached = index;
                break;
            }
        }
        drop(store);
        if !machine.disk.fired() {
            return false;
        }
        table.count(reached, at);
        for lost in [Lost::Nothing, Lost::Everything, Lost::EveryOther] {
            let place = format!("{fault:?} at {at:?} in step {reached}, {lost:?} lost");
            let after = Machine::on(machine.disk.after_power_loss(lost));
            let store = after.open(commits).unwrap_or_else(|error| panic!("{place}: {error}"));
            // The harshest loss stands for the others where every page is read.
            done.check(&store, &place, matches!(lost, Lost::EveryOther));
        }
        true
    });
    table.print(&format!("{fault:?}, {commits:?}"));
}

/// The disk recovers: the same store answers reads meanwhile, and goes on afterwards as if nothing had been.
fn it_goes_on(fault: Fault, commits: Commits) {
    let mut table = Table::default();
    let steps = script();
    at_every_operation(|machine, at| {
        let store = machine.open(commits).expect("it opens");
        machine.disk.break_at(fault, at);
        let mut done = Done::default();
        for (index, (name, step)) in steps.iter().enumerate() {
            let place = format!("{fault:?} at {at:?} in {name}");
            let Err(error) = done.step(&store, step) else { continue };
            table.count(index, at);
            if fault == Fault::Full {
                assert!(is_clear_of_a_full_disk(&error), "{place}: {error:?}");
            }
            done.check_readable(&store, &place);
            machine.disk.mend();
            store.ready().unwrap_or_else(|error| panic!("{place}: it does not recover: {error}"));
            done.check(&store, &place, false);
            if !matches!(step, Step::Group) && done.is_settled() {
                done.step(&store, step).unwrap_or_else(|error| panic!("{place}, again: {error}"));
            }
            done.settle(&store);
        }
        done.check(&store, "after the script", true);
        if !machine.disk.fired() {
            return false;
        }
        machine.disk.mend();
        drop(store);
        for lost in [Lost::Nothing, Lost::Everything] {
            let after = Machine::on(machine.disk.after_power_loss(lost));
            done.check(
                &after.open(commits).expect("it opens"),
                &format!("{fault:?} at {at:?}, then {lost:?} lost"),
                false,
            );
        }
        true
    });
    table.print(&format!("{fault:?}, {commits:?}"));
}

#[test]
fn a_disk_that_fails() {
    it_ends_there(Fault::Fail, Commits::Logged);
    it_ends_there(Fault::Fail, Commits::LogFull);
}

#[test]
fn a_disk_that_fails_under_commits_to_the_main_file() {
    it_ends_there(Fault::Fail, Commits::Unlogged);
}

#[test]
fn a_disk_that_fails_under_quickly_repaired_commits() {
    it_ends_there(Fault::Fail, Commits::QuicklyRepaired);
}

#[test]
fn a_disk_that_freezes_until_the_process_is_killed() {
    it_ends_there(Fault::Freeze, Commits::LogFull);
}

#[test]
fn a_write_that_is_cut_short_before_the_disk_fails() {
    it_ends_there(Fault::ShortThenFail, Commits::LogFull);
}

#[test]
fn a_write_that_is_cut_short_before_the_process_is_killed() {
    it_ends_there(Fault::ShortThenFreeze, Commits::Logged);
    it_ends_there(Fault::ShortThenFreeze, Commits::QuicklyRepaired);
}

#[test]
fn an_operation_that_fails_once() {
    it_goes_on(Fault::FailOnce, Commits::Logged);
    it_goes_on(Fault::FailOnce, Commits::LogFull);
}

#[test]
fn a_disk_that_is_full_for_a_while() {
    it_goes_on(Fault::Full, Commits::Logged);
    it_goes_on(Fault::Full, Commits::LogFull);
}

#[test]
fn a_disk_that_fails_while_a_store_is_opened() {
    let made = made();
    for kind in [At::Write, At::Sync] {
        for number in 1..OPERATIONS_MAX {
            let machine = Machine::on(made.after_power_loss(Lost::Nothing));
            machine.disk.break_at(Fault::Fail, kind(number));
            let opened = machine.open(Commits::Logged).map(drop);
            if !machine.disk.fired() {
                break;
            }
            if let Err(error) = opened {
                assert!(matches!(error, Error::Backend { .. } | Error::Halted), "{error:?}");
            }
            for lost in [Lost::Nothing, Lost::Everything, Lost::EveryOther] {
                let after = Machine::on(machine.disk.after_power_loss(lost));
                Done::default().check(
                    &after.open(Commits::Logged).expect("it opens"),
                    &format!("{number}, {lost:?} lost"),
                    true,
                );
            }
        }
    }
}
