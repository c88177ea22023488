//! How LaTeX writes the signs, functions and accents of equations.

use std::fmt::Write as _;

/// Signs and what LaTeX calls them.
const SIGNS: [(char, &str); 100] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "varepsilon"),
    ('ϵ', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('ϑ', "vartheta"),
    ('ι', "iota"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('π', "pi"),
    ('ϖ', "varpi"),
    ('ρ', "rho"),
    ('ϱ', "varrho"),
    ('σ', "sigma"),
    ('ς', "varsigma"),
    ('τ', "tau"),
    ('υ', "upsilon"),
    ('φ', "varphi"),
    ('ϕ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
    ('Γ', "Gamma"),
    ('Δ', "Delta"),
    ('Θ', "Theta"),
    ('Λ', "Lambda"),
    ('Ξ', "Xi"),
    ('Π', "Pi"),
    ('Σ', "Sigma"),
    ('Υ', "Upsilon"),
    ('Φ', "Phi"),
    ('Ψ', "Psi"),
    ('Ω', "Omega"),
    ('∞', "infty"),
    ('∂', "partial"),
    ('∇', "nabla"),
    ('ℏ', "hbar"),
    ('ℓ', "ell"),
    ('×', "times"),
    ('÷', "div"),
    ('±', "pm"),
    ('∓', "mp"),
    ('⋅', "cdot"),
    ('·', "cdot"),
    ('∘', "circ"),
    ('∗', "ast"),
    ('≤', "leq"),
    ('≥', "geq"),
    ('≠', "neq"),
    ('≈', "approx"),
    ('≡', "equiv"),
    ('≅', "cong"),
    ('∼', "sim"),
    ('∝', "propto"),
    ('≪', "ll"),
    ('≫', "gg"),
    ('∈', "in"),
    ('∉', "notin"),
    ('∋', "ni"),
    ('⊂', "subset"),
    ('⊃', "supset"),
    ('⊆', "subseteq"),
    ('⊇', "supseteq"),
    ('∪', "cup"),
    ('∩', "cap"),
    ('∅', "emptyset"),
    ('∀', "forall"),
    ('∃', "exists"),
    ('¬', "neg"),
    ('∧', "wedge"),
    ('∨', "vee"),
    ('⊕', "oplus"),
    ('⊗', "otimes"),
    ('⊥', "perp"),
    ('∥', "parallel"),
    ('→', "rightarrow"),
    ('←', "leftarrow"),
    ('↔', "leftrightarrow"),
    ('⇒', "Rightarrow"),
    ('⇐', "Leftarrow"),
    ('⇔', "Leftrightarrow"),
    ('↦', "mapsto"),
    ('…', "ldots"),
    ('⋯', "cdots"),
    ('⋮', "vdots"),
    ('⋱', "ddots"),
    ('′', "prime"),
    ('⟨', "langle"),
    ('⟩', "rangle"),
    ('⌊', "lfloor"),
    ('⌋', "rfloor"),
    ('⌈', "lceil"),
    ('⌉', "rceil"),
];
/// Operators over what follows them.
const OPERATORS: [(char, &str); 14] = [
    ('∑', "sum"),
    ('∏', "prod"),
    ('∐', "coprod"),
    ('∫', "int"),
    ('∬', "iint"),
    ('∭', "iiint"),
    ('∮', "oint"),
    ('∯', "oiint"),
    ('∰', "oiiint"),
    ('⋃', "bigcup"),
    ('⋂', "bigcap"),
    ('⋀', "bigwedge"),
    ('⋁', "bigvee"),
    ('⨁', "bigoplus"),
];
/// Functions that LaTeX knows by name.
const FUNCTIONS: [&str; 28] = [
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp", "gcd", "inf",
    "ker", "lim", "ln", "log", "max", "min", "Pr", "sec", "sin", "sinh", "sup", "tan", "tanh",
];
/// Accents by the character that programs name them with, combining or not.
const ACCENTS: [(char, &str); 16] = [
    ('\u{300}', "grave"),
    ('\u{301}', "acute"),
    ('\u{302}', "hat"),
    ('^', "hat"),
    ('\u{303}', "tilde"),
    ('~', "tilde"),
    ('\u{304}', "bar"),
    ('\u{305}', "overline"),
    ('¯', "bar"),
    ('\u{306}', "breve"),
    ('\u{307}', "dot"),
    ('\u{308}', "ddot"),
    ('\u{30C}', "check"),
    ('\u{20D7}', "vec"),
    ('→', "vec"),
    ('\u{20DB}', "dddot"),
];

/// Characters with the names of signs for signs. A name ends with a space, which parts it from a letter behind it.
pub fn signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match named(&SIGNS, c).or_else(|| named(&OPERATORS, c)) {
            Some(name) => write!(out, "\\{name} ").unwrap_or_default(),
            None if matches!(c, '{' | '}' | '#' | '%' | '$') => out.extend(['\\', c]),
            // Where lines are aligned.
            None if c == '&' => {}
            // The minus of typesetting, and spaces of all widths.
            None if c == '−' => out.push('-'),
            None if c.is_whitespace() => out.push(' '),
            // What applies a function, multiplies or parts without being seen.
            None if ('\u{2061}'..='\u{2064}').contains(&c) => {}
            None => out.push(c),
        }
    }
    out
}

/// A delimiter, such as `\{`; a blank one is none, which LaTeX writes as a dot.
pub fn delimiter(text: &str) -> String {
    let signs = signs(text);
    if signs.trim().is_empty() { ".".to_owned() } else { signs }
}

/// A function's name, upright: `\cos`, `\operatorname{argmax}`. What stands behind the letters stays behind them.
pub fn function(name: &str) -> String {
    let name = name.trim();
    let end = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    let (letters, rest) = name.split_at(end);
    match letters.len() {
        0 | 1 => name.to_owned(),
        _ if FUNCTIONS.contains(&letters) => format!("\\{letters}{rest}"),
        _ => format!("\\operatorname{{{letters}}}{rest}"),
    }
}

/// A base under an accent.
pub fn accented(accent: &str, base: &str) -> String {
    let name = accent.chars().next().and_then(|c| named(&ACCENTS, c)).unwrap_or("hat");
    format!("\\{name}{{{}}}", base.trim())
}

/// What a function or operator is applied to behind it, with a space where both are letters.
pub fn applied(name: &str, base: &str) -> String {
    let is_letter = |c: char| c.is_alphabetic();
    let space = if name.ends_with(is_letter) && base.starts_with(is_letter) { " " } else { "" };
    format!("{name}{space}{base}")
}

fn named(names: &'static [(char, &'static str)], c: char) -> Option<&'static str> {
    // No sign is of ASCII.
    names.iter().find(|(sign, _)| *sign == c).map(|(_, name)| *name)
}
