//! Which system calls a confined process may make.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// What an extractor needs: its pipes, memory, time, and its own end. The rest fails with `EPERM`.
const ALLOWED: [libc::c_long; 26] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getrandom,
    libc::SYS_gettid,
];

/// What a program of the system that draws and reads pages has no use for.
const DENIED: [libc::c_long; 31] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_open_by_handle_at,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_kill,
    libc::SYS_tkill,
];

/// Allows what an extractor needs and nothing else.
pub fn allow_few() -> Result<(), String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.into_iter().map(|call| (call, Vec::new())).collect();
    let executable = u64::try_from(libc::PROT_EXEC).map_err(|error| error.to_string())?;
    // Memory that is not to be run.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![when(2, SeccompCmpOp::MaskedEq(executable), 0)?]);
    }
    // Limits may be read, which needs no place for new ones.
    rules.insert(libc::SYS_prlimit64, vec![when(2, SeccompCmpOp::Eq, 0)?]);
    // A signal to itself, as `abort` sends.
    rules.insert(libc::SYS_tgkill, vec![when(0, SeccompCmpOp::Eq, u64::from(std::process::id()))?]);
    rules.insert(libc::SYS_getpid, Vec::new());
    apply(rules, refused(), SeccompAction::Allow)
}

/// Denies what reaches beyond the process, and allows the rest.
pub fn deny_many() -> Result<(), String> {
    let rules = DENIED.into_iter().map(|call| (call, Vec::new())).collect();
    apply(rules, SeccompAction::Allow, refused())
}

fn refused() -> SeccompAction {
    SeccompAction::Errno(libc::EPERM.unsigned_abs())
}

fn when(argument: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompRule, String> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, is, value);
    condition.and_then(|condition| SeccompRule::new(vec![condition])).map_err(|error| error.to_string())
}

fn apply(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<(), String> {
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let filter = SeccompFilter::new(rules, otherwise, matched, machine).map_err(|error| error.to_string())?;
    let filter = BpfProgram::try_from(filter).map_err(|error| error.to_string())?;
    seccompiler::apply_filter(&filter).map_err(|error| error.to_string())
}
