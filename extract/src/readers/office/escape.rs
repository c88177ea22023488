//! Characters that office programs write as `_x000D_`, because XML cannot hold them or they look like such.

/// The text with each escaped character in its place: line ends as one `\n`, other control characters left out.
pub fn xml_escaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let code = rest.get(at + 2..at + 6).filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = code.filter(|_| rest[at + 6..].starts_with('_')).and_then(|code| u32::from_str_radix(code, 16).ok());
        let Some(code) = code else {
            plain.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        };
        plain.push_str(&rest[..at]);
        rest = &rest[at + 7..];
        match char::from_u32(code) {
            Some('\r') if rest.starts_with('\n') => {}
            Some('\r') => plain.push('\n'),
            Some(character) if !character.is_control() || matches!(character, '\n' | '\t') => plain.push(character),
            Some(_) | None => {}
        }
    }
    plain.push_str(rest);
    plain
}
