//! `loom mcp install`: the configuration of a client that starts `loom mcp`.

use std::env;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use directories::BaseDirs;
use serde_json::{Map, Value, json};

use super::super::failure::Failure;
use super::super::screen::Screen;
use super::super::settings::{Global, Place, setting};

/// Print what a client's configuration needs, or write it there
#[derive(clap::Args)]
pub struct Args {
    /// The client
    #[arg(value_enum)]
    client: Client,
    /// Write it into the client's own file; what else is in it stays, and a copy of it is kept beside it
    #[arg(long)]
    write: bool,
    /// The file, where it is not the client's usual one
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Windsurf,
    Zed,
    LmStudio,
    GeminiCli,
}

impl Client {
    /// The name of the object that lists servers in the client's file.
    fn list(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
            Self::ClaudeDesktop
            | Self::ClaudeCode
            | Self::Cursor
            | Self::Windsurf
            | Self::LmStudio
            | Self::GeminiCli => "mcpServers",
        }
    }

    /// The client's usual file: of the account, and for Claude Code and VS Code of the project in the current folder.
    fn file(self) -> Option<PathBuf> {
        let folders = BaseDirs::new()?;
        let home = folders.home_dir();
        Some(match self {
            Self::ClaudeDesktop => folders.config_dir().join("Claude").join("claude_desktop_config.json"),
            Self::ClaudeCode => PathBuf::from(".mcp.json"),
            Self::Cursor => home.join(".cursor").join("mcp.json"),
            Self::Vscode => Path::new(".vscode").join("mcp.json"),
            Self::Windsurf => home.join(".codeium").join("windsurf").join("mcp_config.json"),
            // Zed keeps to ~/.config on macOS too.
            Self::Zed if cfg!(windows) => folders.config_dir().join("Zed").join("settings.json"),
            Self::Zed => home.join(".config").join("zed").join("settings.json"),
            Self::LmStudio => home.join(".lmstudio").join("mcp.json"),
            Self::GeminiCli => home.join(".gemini").join("settings.json"),
        })
    }
}

pub fn run(global: &Global, mcp: &super::Args, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let entry = entry(global, mcp)?;
    let list = args.client.list();
    let file = args.file.clone().or_else(|| args.client.file());
    if !args.write {
        let config = json!({ (list): { "loom": entry } });
        if screen.is_json() {
            return screen.json(&json!({ "file": file, "config": config }));
        }
        screen.line(pretty(&config))?;
        let file = file.map_or_else(|| "the client's configuration".to_owned(), |file| file.display().to_string());
        return screen.line(screen.faint(&format!("belongs into {file}; --write puts it there")));
    }
    let file =
        file.ok_or_else(|| Failure::Usage("this account has no home folder: name the file with --file".into()))?;
    let kept = write(&file, list, entry)?;
    if screen.is_json() {
        return screen.json(&json!({ "written": file, "kept": kept }));
    }
    screen.line(format!("wrote {}", file.display()))?;
    match kept {
        Some(kept) => screen.line(screen.faint(&format!("what was there before is in {}", kept.display()))),
        None => Ok(()),
    }
}

/// How the client starts the server.
fn entry(global: &Global, mcp: &super::Args) -> Result<Value, Failure> {
    let program = env::current_exe().map_err(Failure::io("cannot tell where this program is"))?;
    let mut arguments = vec!["mcp".to_owned()];
    match global.place()? {
        Place::Server(address) => arguments.extend(["--server".into(), address]),
        // The client starts it without what this shell has set.
        Place::Folder(folder) if global.data.is_some() || setting("LOOM_DATA").is_some() => {
            let folder = std::path::absolute(&folder).map_err(Failure::io("cannot tell the folder's absolute path"))?;
            arguments.extend(["--data".into(), folder.display().to_string()]);
        }
        Place::Folder(_) => {}
    }
    if mcp.read_only {
        arguments.push("--read-only".into());
    }
    if mcp.toolset.is_some_and(|tools| matches!(tools, super::Tools::All)) {
        arguments.extend(["--toolset".into(), "all".into()]);
    }
    for (name, value) in mcp.identity.fields().filter(|(name, _)| *name == "namespace") {
        arguments.extend([format!("--{name}"), value.to_owned()]);
    }
    let program = program.to_str().ok_or_else(|| {
        Failure::Usage(format!("the path {} is not UTF-8, and no configuration can name it", program.display()))
    })?;
    Ok(json!({ "command": program, "args": arguments }))
}

fn pretty(config: &Value) -> String {
    serde_json::to_string_pretty(config).expect("a value is always JSON")
}

/// Puts the entry into the file's list, keeps what else is there, and answers where the earlier file is kept.
fn write(file: &Path, list: &str, entry: Value) -> Result<Option<PathBuf>, Failure> {
    // A link to where the file really is stays a link.
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let shown = file.display();
    let earlier = match fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(Failure::io(format!("cannot read {shown}"))(error)),
    };
    let config = merged(earlier.as_deref().unwrap_or_default(), list, entry)
        .map_err(|why| Failure::Usage(format!("{shown}: {why}: nothing was changed; add the entry by hand")))?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(Failure::io(format!("cannot make {}", folder.display())))?;
    }
    let beside = |ending: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let kept = match earlier {
        Some(_) => {
            let kept = beside(".before-loom");
            // With its permissions: such files hold keys.
            fs::copy(file, &kept).map_err(Failure::io(format!("cannot write {}", kept.display())))?;
            Some(kept)
        }
        None => None,
    };
    replace(file, &beside(".new"), &format!("{}\n", pretty(&config)))
        .map_err(Failure::io(format!("cannot write {shown}")))?;
    Ok(kept)
}

/// The configuration `earlier` with the entry in its list, or why it cannot be.
fn merged(earlier: &str, list: &str, entry: Value) -> Result<Value, String> {
    let mut config: Map<String, Value> = match earlier.trim() {
        "" => Map::new(),
        text => serde_json::from_str(text).map_err(|error| format!("it is no plain JSON object ({error})"))?,
    };
    let Value::Object(servers) = config.entry(list).or_insert_with(|| json!({})) else {
        return Err(format!("{list:?} in it is no object"));
    };
    servers.insert("loom".into(), entry);
    Ok(config.into())
}

/// Puts a text in the place of a file, whole or not at all, with the permissions that the file has.
fn replace(file: &Path, fresh: &Path, text: &str) -> io::Result<()> {
    let mut open = fs::File::create(fresh)?;
    if let Ok(earlier) = fs::metadata(file) {
        open.set_permissions(earlier.permissions())?;
    }
    open.write_all(text.as_bytes())?;
    open.sync_all()?;
    fs::rename(fresh, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_is_configured_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep").join("mcp.json");
        assert_eq!(write(&file, "mcpServers", json!({ "command": "loom" })).expect("it is new"), None);
        let other = r#"{"theme": "dark", "mcpServers": {"other": {"command": "x"}, "loom": {"command": "old"}}}"#;
        fs::write(&file, other).expect("it is written");
        let kept =
            write(&file, "mcpServers", json!({ "command": "loom" })).expect("it is merged").expect("it was there");
        assert_eq!(fs::read_to_string(kept).expect("it is kept"), other);
        let now: Value = serde_json::from_str(&fs::read_to_string(&file).expect("it is there")).expect("JSON");
        let wanted =
            json!({ "theme": "dark", "mcpServers": { "other": { "command": "x" }, "loom": { "command": "loom" } } });
        assert_eq!(now, wanted);
        for broken in ["{", "[]", r#"{"mcpServers": []}"#, "{} // a comment"] {
            fs::write(&file, broken).expect("it is written");
            assert!(write(&file, "mcpServers", json!({})).is_err(), "{broken}");
            assert_eq!(fs::read_to_string(&file).expect("it is there"), broken);
        }
    }
    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_private_file_private() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        fs::write(&real, "{}").expect("it is written");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).expect("it is ours");
        symlink(&real, &link).expect("it is linked");
        let kept = write(&link, "servers", json!({ "command": "loom" })).expect("it is merged").expect("it was there");
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
        for private in [&real, &kept] {
            assert_eq!(fs::metadata(private).expect("it is there").permissions().mode() & 0o777, 0o600);
        }
        assert!(fs::read_to_string(&real).expect("it is there").contains("loom"));
    }
}
