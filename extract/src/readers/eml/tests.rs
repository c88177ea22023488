use expect_test::expect;

use crate::contract::RefusalCode;
use crate::readers::testing::{listed, read_as, survives};

#[test]
fn a_mail_has_fields_and_its_text() {
    let source = "From: \"Ana B\" <ana@example.org>\r\nTo: bo@example.org, Cy <cy@example.org>\r\nSubject: =?utf-8?q?Caf=C3=A9?= plan\r\n\
                  Date: Tue, 1 Dec 2026 10:00:00 +0100\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\
                  Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
                  Gr=FC=DFe\r\nAna\r\n\r\n> earlier\r\n> words\r\n--x\r\nContent-Type: application/pdf\r\n\
                  Content-Disposition: attachment; filename=plan.pdf\r\n\r\nxx\r\n--x--\r\n";
    let artifact = read_as("eml", source.as_bytes()).expect("a mail");
    expect![[r"
        heading1: Café plan
        field: From: Ana B <ana@example.org>
        field: To: bo@example.org, Cy <cy@example.org>
        field: Date: 2026-12-01T10:00:00+01:00
        paragraph: Grüße\nAna
        quote: earlier\nwords
    "]]
    .assert_eq(&listed(&artifact));
    assert_eq!(artifact.warnings, ["1 attachments were not read: plan.pdf"]);
}

#[test]
fn html_is_read_where_there_is_no_text() {
    let source = b"From: a@example.org\nSubject: S\nContent-Type: text/html\n\n<p>Hello</p><table><tr><th>a<th>b<tr><td>1<td>2</table>";
    expect![[r"
        heading1: S
        field: From: a@example.org
        paragraph: Hello
        table: 
          a | b
          2 1 | 2
    "]]
    .assert_eq(&listed(&read_as("eml", source).expect("a mail")));
}

#[test]
fn what_is_no_mail_is_told() {
    for source in [&b""[..], b"just words", b"%PDF-1.7"] {
        assert_eq!(
            read_as("eml", source).map_err(|refusal| refusal.code),
            Err(RefusalCode::FormatMismatch),
            "{source:?}"
        );
    }
}

#[test]
fn damage_is_survived() {
    survives("eml", b"From: a@b.c\nContent-Type: multipart/alternative; boundary=y\n\n--y\nContent-Type: text/html\n\n<p>x\n--y--\n");
}
