//! Folders that are not what they should be, and calls that end early.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use loom_transformer::testing::{HIDDEN, Head, Pieces, Tensor, safetensors, tensors, write};
use loom_transformer::{CrossEncoder, Error, Limits, SentenceEncoder, Side, WINDOW_TEXTS};
use serde_json::{Value, json};
use tempfile::TempDir;

fn later() -> Instant {
    Instant::now() + Duration::from_mins(5)
}

fn sentence_model() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), Pieces::Word, Head::Sentence, 1).expect("a model");
    folder
}

fn open(folder: &TempDir) -> Result<SentenceEncoder, Error> {
    SentenceEncoder::open(folder.path(), &Limits::default())
}

fn refusal(folder: &TempDir) -> String {
    match open(folder) {
        Ok(_) => panic!("it was taken"),
        Err(error) => error.to_string(),
    }
}

fn put(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

fn edited(folder: &TempDir, name: &str, edit: impl FnOnce(&mut Value)) {
    let read = fs::read(folder.path().join(name)).expect("a file");
    let mut value = serde_json::from_slice(&read).expect("JSON");
    edit(&mut value);
    put(folder, name, value.to_string());
}

fn vocabulary(folder: &TempDir) -> usize {
    let config: Value =
        serde_json::from_slice(&fs::read(folder.path().join("config.json")).expect("a file")).expect("JSON");
    usize::try_from(config["vocab_size"].as_u64().expect("a number")).expect("it is small")
}

fn with_weights(folder: &TempDir, edit: impl FnOnce(&mut Vec<Tensor>)) {
    let mut tensors = tensors(vocabulary(folder), Head::Sentence, 1);
    edit(&mut tensors);
    put(folder, "model.safetensors", safetensors(&tensors));
}

#[test]
fn a_missing_file_is_named() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = sentence_model();
        fs::remove_file(folder.path().join(name)).expect("it was there");
        let message = refusal(&folder);
        assert!(message.contains(name) && message.contains("a model folder holds"), "{message}");
    }
    let folder = sentence_model();
    fs::remove_file(folder.path().join("model.safetensors")).expect("it was there");
    put(&folder, "onnx/model.onnx", "");
    assert!(refusal(&folder).contains("ONNX files are not read"));
}

#[test]
fn a_configuration_out_of_bounds_is_refused_with_its_field() {
    for (field, value, said) in [
        ("model_type", json!("roberta"), "model_type is \"roberta\""),
        ("hidden_act", json!("relu"), "hidden_act"),
        ("position_embedding_type", json!("relative_key"), "position_embedding_type"),
        ("num_hidden_layers", json!(1_000_000_000), "num_hidden_layers is 1000000000; it must be 1 to 64"),
        ("hidden_size", json!(0), "hidden_size is 0"),
        ("hidden_size", json!(-1), "cannot be understood"),
        ("num_attention_heads", json!(5), "no multiple of num_attention_heads 5"),
        ("max_position_embeddings", json!(1_u64 << 40), "max_position_embeddings"),
        ("vocab_size", json!(u64::MAX), "vocab_size"),
        ("vocab_size", json!(20), "tokenizer.json: it has a token of the number"),
        ("layer_norm_eps", json!(-1.0), "layer_norm_eps"),
        ("intermediate_size", json!(128), "encoder.layer.0.intermediate.dense.weight has the shape [64, 32]"),
        ("num_hidden_layers", json!(3), "it has no tensor encoder.layer.2."),
    ] {
        let folder = sentence_model();
        edited(&folder, "config.json", |config| config[field] = value);
        let message = refusal(&folder);
        assert!(message.contains(said), "{field}: {message}");
    }
}

#[test]
fn files_of_sentence_transformers_that_ask_for_more_are_refused() {
    for (name, content, said) in [
        ("modules.json", r#"[{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]"#, "models.Dense"),
        ("modules.json", r#"[{"type": "x.Pooling", "path": "../../etc"}]"#, "no plain name"),
        ("modules.json", "{", "modules.json: it cannot be understood"),
        ("1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true}"#, "pool by [\"pooling_mode_max_tokens\"]"),
        ("1_Pooling/config.json", r#"{"pooling_mode": "lasttoken"}"#, "it asks to pool by"),
        (
            "1_Pooling/config.json",
            r#"{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}"#,
            "it asks to pool by",
        ),
        ("1_Pooling/config.json", r#"{"pooling_mode": "mean", "include_prompt": false}"#, "include_prompt"),
    ] {
        let folder = sentence_model();
        put(&folder, name, content);
        let message = refusal(&folder);
        assert!(message.contains(said), "{content}: {message}");
    }
}

#[test]
fn damaged_weights_are_refused_with_the_tensor() {
    let name = "encoder.layer.1.output.dense.bias";
    let folder = sentence_model();
    with_weights(&folder, |tensors| tensors.retain(|(known, ..)| known != name));
    assert!(refusal(&folder).contains(&format!("it has no tensor {name}")));
    with_weights(&folder, |tensors| {
        tensors.iter_mut().find(|(known, ..)| known == name).expect("it is there").2[3] = f32::NAN;
    });
    assert!(refusal(&folder).contains(&format!("the tensor {name} holds a number that is not finite")));
    with_weights(&folder, |tensors| {
        tensors.iter_mut().find(|(known, ..)| known == name).expect("it is there").1 = vec![HIDDEN + 1];
    });
    assert!(refusal(&folder).contains(&format!("the tensor {name} of the shape [33] has 128 bytes")));
    with_weights(&folder, |tensors| {
        tensors.iter_mut().find(|(known, ..)| known == name).expect("it is there").1 = vec![usize::MAX, 4];
    });
    assert!(refusal(&folder).contains("of the shape"));
}

#[test]
fn no_cut_of_a_file_is_taken_for_the_whole() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = sentence_model();
        let whole = fs::read(folder.path().join(name)).expect("a file");
        let mut cut = 0;
        while cut < whole.len() {
            put(&folder, name, &whole[..cut]);
            let message = refusal(&folder);
            assert!(message.contains(name), "{cut}: {message}");
            cut = cut * 3 / 2 + 1;
        }
    }
}

#[test]
fn a_list_of_tensors_that_lies_is_refused() {
    let header = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend([0; 8]);
        bytes
    };
    for (bytes, said) in [
        (vec![0xff; 64], "its list of tensors has 18446744073709551615 bytes"),
        (header("[]"), "cannot be understood"),
        (header(r#"{"embeddings.x": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}"#), "does not follow"),
        (header(r#"{"embeddings.x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 99]}}"#), "does not follow"),
        (header(r#"{"embeddings.x": {"dtype": "I8", "shape": [8], "data_offsets": [0, 8]}}"#), "is of I8"),
        (header(r#"{"embeddings.x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#), "4 bytes follow"),
        (
            header(
                r#"{"embeddings.x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                    "bert.embeddings.x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}"#,
            ),
            "is there twice",
        ),
    ] {
        let folder = sentence_model();
        put(&folder, "model.safetensors", bytes);
        let message = refusal(&folder);
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn a_file_over_its_limit_is_refused_unread() {
    let folder = sentence_model();
    let limits = Limits { weights_bytes_max: 1_000, ..Limits::default() };
    let Err(error) = SentenceEncoder::open(folder.path(), &limits) else { panic!("it was taken") };
    assert!(matches!(error, Error::TooLarge { bytes_max: 1_000, .. }), "{error}");
    put(&folder, "config.json", vec![b' '; 2 << 20]);
    assert!(matches!(open(&folder), Err(Error::TooLarge { .. })));
}

#[test]
fn other_tokenizers_and_broken_ones_are_refused() {
    let folder = sentence_model();
    edited(&folder, "tokenizer.json", |tokenizer| tokenizer["model"]["type"] = json!("BPE"));
    assert!(refusal(&folder).contains("its model is \"BPE\""));
    let folder = sentence_model();
    edited(&folder, "tokenizer.json", |tokenizer| {
        tokenizer["post_processor"]["special_tokens"]["[SEP]"]["ids"] = json!([4_000_000]);
    });
    assert!(refusal(&folder).contains("a token of the number 4000000"));
    let folder = sentence_model();
    edited(&folder, "tokenizer.json", |tokenizer| {
        tokenizer["post_processor"]["single"][1]["Sequence"]["type_id"] = json!(9);
    });
    assert!(refusal(&folder).contains("token types"));
}

#[test]
fn an_embedder_and_a_cross_encoder_are_told_apart() {
    let folder = sentence_model();
    let Err(error) = CrossEncoder::open(folder.path(), &Limits::default()) else { panic!("it was taken") };
    assert!(error.to_string().contains("no cross-encoder"), "{error}");
    write(folder.path(), Pieces::Word, Head::Cross, 3).expect("a model");
    assert!(refusal(&folder).contains("gives no vectors"));
}

#[test]
fn half_floats_give_nearly_the_same() {
    let folder = sentence_model();
    let exact = open(&folder).expect("it is sound").encode(&["the jar"], Side::Query, later()).expect("a vector");
    let mut bytes = fs::read(folder.path().join("model.safetensors")).expect("a file");
    let header_bytes = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().expect("eight"))).expect("it is small");
    let header = String::from_utf8(bytes[8..8 + header_bytes].to_vec()).expect("text");
    let mut header: Value = serde_json::from_str(&header).expect("JSON");
    for (_, entry) in header.as_object_mut().expect("a list").iter_mut().filter(|(name, _)| *name != "__metadata__") {
        entry["dtype"] = json!("BF16");
        let offsets = entry["data_offsets"].as_array().expect("two").iter();
        entry["data_offsets"] = offsets.map(|offset| json!(offset.as_u64().expect("a number") / 2)).collect();
    }
    let header = header.to_string();
    let upper = bytes.split_off(8 + header_bytes).chunks_exact(4).flat_map(|number| [number[2], number[3]]).collect();
    let data: Vec<u8> = upper;
    put(&folder, "model.safetensors", [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat());
    let near = open(&folder).expect("it is sound").encode(&["the jar"], Side::Query, later()).expect("a vector");
    let cosine: f32 = exact[0].iter().zip(&near[0]).map(|(a, b)| a * b).sum();
    assert!(cosine > 0.999 && exact != near, "{cosine}");
}

#[test]
fn the_fingerprint_follows_what_decides_about_vectors() {
    let folder = sentence_model();
    let first = open(&folder).expect("it is sound").fingerprint().to_owned();
    assert_eq!(open(&folder).expect("it is sound").fingerprint(), first);
    let mut seen = vec![first];
    let mut differs = |folder: &TempDir, limits: &Limits| {
        let encoder = SentenceEncoder::open(folder.path(), limits).expect("it is sound");
        assert!(!seen.contains(&encoder.fingerprint().to_owned()));
        seen.push(encoder.fingerprint().to_owned());
    };
    differs(&folder, &Limits { tokens_max: 16, ..Limits::default() });
    put(&folder, "config_sentence_transformers.json", r#"{"prompts": {"query": "query: "}}"#);
    differs(&folder, &Limits::default());
    put(&folder, "1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
    differs(&folder, &Limits::default());
    with_weights(&folder, |tensors| tensors[0].2[0] += 0.5);
    differs(&folder, &Limits::default());
    edited(&folder, "tokenizer.json", |tokenizer| tokenizer["normalizer"]["lowercase"] = json!(false));
    differs(&folder, &Limits::default());
}

#[test]
fn prefixes_are_put_before_the_side_they_are_for() {
    let folder = sentence_model();
    let plain = open(&folder).expect("it is sound");
    put(&folder, "config_sentence_transformers.json", r#"{"prompts": {"query": "query: ", "document": "passage: "}}"#);
    let prefixed = open(&folder).expect("it is sound");
    for (side, prefix) in [(Side::Query, "query: the jar"), (Side::Passage, "passage: the jar")] {
        let wanted = plain.encode(&[prefix], side, later()).expect("a vector");
        assert_eq!(prefixed.encode(&["the jar"], side, later()).expect("a vector"), wanted);
    }
}

#[test]
fn many_texts_of_all_lengths_keep_their_places() {
    let folder = sentence_model();
    let encoder = open(&folder).expect("it is sound");
    let texts: Vec<String> = (0..2 * WINDOW_TEXTS + 3)
        .map(|n| if n % 50 == 7 { " \n".to_owned() } else { format!("{n} {}", "river bank ".repeat(n % 9)) })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = encoder.encode(&texts, Side::Passage, later()).expect("vectors");
    assert_eq!(vectors.len(), texts.len());
    for (text, vector) in texts.iter().zip(&vectors).step_by(17) {
        assert_eq!(*vector, encoder.encode(&[text], Side::Passage, later()).expect("a vector")[0], "{text}");
        let length: f32 = vector.iter().map(|x| x * x).sum();
        let wanted = if text.trim().is_empty() { 0.0 } else { 1.0 };
        assert!((length - wanted).abs() < 1e-5, "{text}: {length}");
    }
    assert_eq!(encoder.encode(&[], Side::Query, later()).expect("nothing"), Vec::<Vec<f32>>::new());
}

#[test]
fn hostile_texts_are_read_to_the_longest_that_the_model_takes() {
    let folder = sentence_model();
    let encoder = open(&folder).expect("it is sound");
    let texts = ["a".repeat(1 << 20), "\u{301}".repeat(1 << 19), "\0 \u{202e}".repeat(1 << 16), "日本".repeat(1 << 17)];
    for text in &texts {
        let vectors = encoder.encode(&[text], Side::Passage, later()).expect("a vector");
        assert!(vectors[0].iter().all(|x| x.is_finite()));
    }
}

#[test]
fn calls_end_at_their_time_and_when_the_model_is_closed() {
    let folder = sentence_model();
    let encoder = open(&folder).expect("it is sound");
    let past = Instant::now().checked_sub(Duration::from_secs(1)).expect("the machine runs for longer");
    assert!(matches!(encoder.encode(&["the jar"; 3], Side::Query, past), Err(Error::Late)));
    assert!(encoder.noise_floor(later()).is_ok_and(|floor| (0.0..=1.0).contains(&floor)));
    encoder.close();
    assert!(matches!(encoder.encode(&["the jar"], Side::Query, later()), Err(Error::Closed)));
    write(folder.path(), Pieces::Word, Head::Cross, 3).expect("a model");
    let encoder = CrossEncoder::open(folder.path(), &Limits::default()).expect("it is sound");
    assert!(matches!(encoder.score("jar", &["the jar"], past), Err(Error::Late)));
    encoder.close();
    assert!(matches!(encoder.score("jar", &["the jar"], later()), Err(Error::Closed)));
}

#[test]
fn the_name_is_that_of_the_folder() {
    let outer = tempfile::tempdir().expect("a temporary folder");
    for (folder, name) in [("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"), ("möbel @ home", "m-bel---home")] {
        let path = outer.path().join(folder);
        fs::create_dir(&path).expect("a folder");
        write(&path, Pieces::Word, Head::Sentence, 1).expect("a model");
        let named =
            |path: &Path| SentenceEncoder::open(path, &Limits::default()).expect("it is sound").name().to_owned();
        assert_eq!(named(&path), name);
        assert_eq!(named(&path.join(".")), name);
        #[cfg(unix)]
        {
            let link = outer.path().join(format!("{folder}.link"));
            std::os::unix::fs::symlink(&path, &link).expect("a link");
            assert_eq!(named(&link), format!("{name}.link"));
        }
    }
}

/// Whatever a file says, a folder is taken or refused, and a text embedded or not; nothing panics.
#[test]
fn no_flipped_byte_is_more_than_an_error() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = sentence_model();
        let whole = fs::read(folder.path().join(name)).expect("a file");
        let (mut taken, mut state) = (0, 1_usize);
        for _ in 0..150 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut damaged = whole.clone();
            // Most of a file of weights is numbers; its list is what can lead astray.
            damaged[(state >> 33) % whole.len().min(8_000)] ^= 1 << (state >> 60 & 7);
            put(&folder, name, &damaged);
            if let Ok(encoder) = open(&folder) {
                taken += 1;
                if let Ok(vectors) = encoder.encode(&["the jar stands"], Side::Query, later()) {
                    assert!(vectors[0].iter().all(|x| x.is_finite()));
                }
            }
        }
        assert!(taken < 150, "{name}: no flip was noticed");
    }
}
