use expect_test::expect;

use crate::contract::{Locator, RefusalCode};
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn cues_are_joined_by_speaker() {
    let source = "WEBVTT - The talk\nKind: captions\n\nNOTE\nnot said\n\n1\n00:00:01.000 --> 00:00:02.000 align:left\n<v Ana>Good\n\
                  <i>morning</i> &amp; welcome.</v>\n\n2\n00:00:02.000 --> 00:00:03.000\n<v Ana>Let us start.</v>\n\n\
                  00:03.000 --> 00:04.000\n<v Bo>2 < 3, I think.\n";
    let artifact = read_as("vtt", source.as_bytes()).expect("VTT");
    expect![[r"
        heading1: The talk
        paragraph: Ana: Good morning & welcome. Let us start.
        paragraph: Bo: 2 < 3, I think.
    "]]
    .assert_eq(&listed(&artifact));
    let Some(Locator::Lines { start, end, .. }) = artifact.blocks[1].locator else { panic!("a place") };
    assert_eq!((start, end), (9, 14));
    let srt = "1\r\n00:00:01,000 --> 00:00:02,000\r\n{\\an8}<b>Hello\r\nthere</b>\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\n12\r\n";
    expect![[r"
        paragraph: Hello there 12
    "]]
    .assert_eq(&listed(&read_as("vtt", srt.as_bytes()).expect("SRT")));
}

#[test]
fn silence_is_no_text() {
    assert_eq!(
        read_as("vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n\n").map_err(|refusal| refusal.code),
        Err(RefusalCode::NoText)
    );
}

#[test]
fn damage_is_survived() {
    survives("vtt", "WEBVTT é\n\n00:01.000 --> 00:02.000\n<v é>x</v> {\\a} <\n".as_bytes());
}
