//! `loom token`: the keys that other programs and people call with.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::client::{Client, Missing};
use super::failure::Failure;
use super::screen::{Screen, harmless};
use super::settings::{Global, Identity};

/// Make, list and revoke the keys of a server that asks for them
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    identity: Identity,
}

#[derive(Subcommand)]
enum Action {
    /// Make a key and print it: it is shown this once
    Create {
        /// Whom it is for
        subject: String,
        /// Its role in a namespace, such as `notes=writer`, or `*=viewer` for all; again for each
        #[arg(long = "role", value_name = "NAMESPACE=ROLE", required = true)]
        roles: Vec<String>,
        /// The agent that writes with it
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// The person it acts for
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        /// The session it writes in
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// After how many days it is refused; without, never
        #[arg(long, value_name = "N")]
        days: Option<u32>,
        /// What it is for
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// List the keys, without their secrets
    List {
        /// Only those of this subject
        #[arg(long)]
        subject: Option<String>,
        /// Also those that are revoked or expired
        #[arg(long)]
        ended: bool,
    },
    /// Have a key refused from now on
    Revoke {
        /// Its id, as `loom token list` shows it
        token_id: String,
    },
}

pub fn run(global: &Global, args: &Args, screen: &mut Screen) -> Result<(), Failure> {
    let missing = if matches!(args.action, Action::Create { .. }) { Missing::Create } else { Missing::Refuse };
    let client = Client::open(global, &args.identity, missing)?;
    let done = match &args.action {
        Action::Create { subject, roles, agent, user, session, days, note } => {
            let input = json!({
                "subject": subject, "roles": parsed(roles)?, "token_agent": agent.as_deref().unwrap_or_default(),
                "token_user_id": user.as_deref().unwrap_or_default(),
                "token_session_id": session.as_deref().unwrap_or_default(),
                "expires_in_days": days, "note": note.as_deref().unwrap_or_default(),
            });
            created(&client.call("token.create", input)?, screen)
        }
        Action::List { subject, ended } => list(&client, subject.as_deref().unwrap_or_default(), *ended, screen),
        Action::Revoke { token_id } => revoked(&client.call("token.revoke", json!({ "token_id": token_id }))?, screen),
    };
    client.close();
    done
}

fn parsed(roles: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut parsed = Map::new();
    for role in roles {
        let Some((namespace, role)) = role.split_once('=') else {
            return Err(Failure::Usage(format!("--role {role}: give NAMESPACE=ROLE, such as notes=writer")));
        };
        parsed.insert(namespace.into(), role.into());
    }
    Ok(parsed)
}

fn created(answer: &Value, screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        return screen.json(answer);
    }
    screen.line(answer["token"].as_str().unwrap_or_default())?;
    let end = answer["expires_at"].as_str().map_or("it does not expire".into(), |end| format!("it expires at {end}"));
    let id = answer["token_id"].as_str().unwrap_or_default();
    screen.line(screen.faint(&format!("{end}; it is not shown again; `loom token revoke {id}` ends it")))
}

fn list(client: &Client, subject: &str, ended: bool, screen: &mut Screen) -> Result<(), Failure> {
    let mut tokens: Vec<Value> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let input = json!({ "subject": subject, "include_ended": ended, "limit": 500, "cursor": cursor });
        let answer = client.call("token.list", input)?;
        tokens.extend(answer["tokens"].as_array().into_iter().flatten().cloned());
        cursor = answer["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    if screen.is_json() {
        return screen.json(&json!({ "tokens": tokens }));
    }
    if tokens.is_empty() {
        return screen.line(screen.faint("no keys"));
    }
    for token in &tokens {
        let text = |name: &str| harmless(token[name].as_str().unwrap_or_default());
        let roles = token["roles"].as_object().into_iter().flatten();
        let roles: Vec<String> =
            roles.map(|(of, role)| format!("{of}={}", role.as_str().unwrap_or_default())).collect();
        screen.line(format!("{}  {}  {}", text("token_id"), screen.strong(&text("subject")), roles.join(" ")))?;
        let mut facts = format!("made {} by {}", text("created_at"), text("created_by"));
        for (name, words) in [("expires_at", "expires"), ("revoked_at", "revoked"), ("note", "for")] {
            if !text(name).is_empty() {
                facts.extend(["  ", words, " ", &text(name)]);
            }
        }
        screen.line(format!("    {}", screen.faint(&facts)))?;
    }
    Ok(())
}

fn revoked(answer: &Value, screen: &mut Screen) -> Result<(), Failure> {
    if screen.is_json() {
        return screen.json(answer);
    }
    let subject = harmless(answer["subject"].as_str().unwrap_or_default());
    let words = if answer["revoked"] == true { "revoked" } else { "was revoked before" };
    screen.line(format!("the key of {subject} {words}"))
}
