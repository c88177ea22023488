//! `loom service`: the server as a service of this account.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use directories::BaseDirs;
use serde_json::json;

use super::failure::Failure;
use super::screen::Screen;
use super::settings::{self, Global};

/// Run the server as a service of this account
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write the unit that starts `loom serve` with the account: systemd's on Linux, launchd's on macOS
    Install {
        /// Print it instead
        #[arg(long)]
        print: bool,
    },
}

/// A unit: where it belongs, what is in it, what starts it.
struct Unit {
    file: PathBuf,
    text: String,
    start: String,
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let Action::Install { print } = args.action;
    let unit = unit(global)?;
    if print {
        return if screen.is_json() {
            screen.json(&json!({ "file": unit.file, "text": unit.text, "start": unit.start }))
        } else {
            screen.text(&unit.text)
        };
    }
    if let Some(folder) = unit.file.parent() {
        fs::create_dir_all(folder).map_err(Failure::io(format!("cannot make {}", folder.display())))?;
    }
    fs::write(&unit.file, &unit.text).map_err(Failure::io(format!("cannot write {}", unit.file.display())))?;
    if screen.is_json() {
        return screen.json(&json!({ "written": unit.file, "start": unit.start }));
    }
    screen.line(format!("wrote {}", unit.file.display()))?;
    screen.line(format!("start it with: {}", unit.start))
}

fn unit(global: &Global) -> Result<Unit, Failure> {
    let program = env::current_exe().map_err(Failure::io("cannot tell where this program is"))?;
    let data = global.folder()?;
    let data = std::path::absolute(&data).map_err(Failure::io("cannot tell the folder's absolute path"))?;
    let folders =
        BaseDirs::new().ok_or_else(|| Failure::Usage("this account has no home folder for a service".into()))?;
    if cfg!(target_os = "macos") {
        let file = folders.home_dir().join("Library/LaunchAgents/org.loom.serve.plist");
        let start = format!("launchctl load -w {}", file.display());
        return Ok(Unit { text: launchd(&program, &data), file, start });
    }
    if cfg!(target_os = "linux") {
        let file = folders.config_dir().join("systemd/user/loom.service");
        let text = systemd(&program, &data, settings::file().as_deref());
        return Ok(Unit { text, file, start: "systemctl --user enable --now loom".into() });
    }
    Err(Failure::Usage("services are written for systemd and launchd: start `loom serve` by other means here".into()))
}

/// A unit of systemd. Each value is quoted as the format asks, so that no path becomes an option.
fn systemd(program: &Path, data: &Path, file: Option<&Path>) -> String {
    let quoted = |path: &Path| {
        let text = path.display().to_string();
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
    };
    let environment = file.map_or_else(String::new, |file| {
        format!("EnvironmentFile=-{}\n", file.display().to_string().replace('%', "%%"))
    });
    format!(
        "[Unit]\nDescription=Loom, documents to look things up in\n\n[Service]\n{environment}ExecStart={} serve --data {}\n\
         Restart=on-failure\nLimitCORE=0\nTimeoutStopSec=30\n\n[Install]\nWantedBy=default.target\n",
        quoted(program),
        quoted(data)
    )
}

/// A property list of launchd.
fn launchd(program: &Path, data: &Path) -> String {
    let escaped =
        |path: &Path| path.display().to_string().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n  <key>Label</key><string>org.loom.serve</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n    <string>{}</string>\n    <string>serve</string>\n    <string>--data</string>\n    \
         <string>{}</string>\n  </array>\n  <key>RunAtLoad</key><true/>\n  <key>KeepAlive</key><true/>\n</dict>\n</plist>\n",
        escaped(program),
        escaped(data)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_as_each_format_asks() {
        let unit = systemd(Path::new("/opt/a \"b\"/loom"), Path::new("/srv/50%"), Some(Path::new("/etc/l.env")));
        assert!(unit.contains("ExecStart=\"/opt/a \\\"b\\\"/loom\" serve --data \"/srv/50%%\"\n"), "{unit}");
        assert!(unit.contains("EnvironmentFile=-/etc/l.env\n") && unit.contains("LimitCORE=0"), "{unit}");
        let list = launchd(Path::new("/opt/a&b/loom"), Path::new("/srv/<x>"));
        assert!(list.contains("<string>/opt/a&amp;b/loom</string>") && list.contains("/srv/&lt;x&gt;"), "{list}");
    }
}
