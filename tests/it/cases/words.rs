//! Words of the world: a document is found by its words in the forms in which people write them.

use crate::harness::{Folder, add, search, uris};

const DOCUMENTS: [(&str, &str); 13] = [
    ("ar", "زار الطلاب المكتبة القديمة وقرأوا كِتَابَ تاريخ المدينة."),
    ("he", "הילדים אמרו שָׁלוֹם למורה."),
    ("ru", "Новые книги стоят на полках городской библиотеки."),
    ("uk", "Школа стояла біля річки."),
    ("hi", "लड़के किताबें पढ़ते हैं।"),
    ("th", "แมวนอนหลับอยู่บนโซฟา"),
    ("ko", "서울에서 도서관을 방문했습니다."),
    ("el", "Ο ΛΌΓΟΣ του φιλοσόφου."),
    ("tr", "Işık kapatıldı, İstanbul karanlık."),
    ("de", "Die Datenbankverbindung wurde von den Mandanten nicht geschlossen und die Verträge sind ungültig."),
    ("fr", "Les journaux sont dans la bibliothèque et les élèves ne lisent pas."),
    ("wide", "Ｆｕｌｌ－ｗｉｄｔｈ ﾃﾞｰﾀ １２３"),
    ("ja", "彼はＡＰＩのデータを図書館で読む。"),
];

#[test]
fn words_are_found_in_their_forms() {
    let folder = Folder::new();
    let engine = folder.open();
    for (uri, text) in DOCUMENTS {
        add(&engine, uri, text);
    }
    for (query, uri) in [
        ("مكتبة", "ar"),
        ("كتاب", "ar"),
        ("كِتَاب", "ar"),
        ("والمدينه", "ar"),
        ("שלום", "he"),
        ("книга", "ru"),
        ("библиотека", "ru"),
        ("школи", "uk"),
        ("річкою", "uk"),
        ("किताब", "hi"),
        ("किताबों", "hi"),
        ("แมว", "th"),
        ("서울", "ko"),
        ("도서관", "ko"),
        ("λόγος", "el"),
        ("λογος", "el"),
        ("isik", "tr"),
        ("istanbul", "tr"),
        ("İSTANBUL", "tr"),
        ("Mandant", "de"),
        ("Vertrag", "de"),
        ("Vertra\u{308}ge", "de"),
        ("was ist mit dem Vertrag", "de"),
        ("journal", "fr"),
        ("bibliotheque", "fr"),
        ("full-width", "wide"),
        ("123", "wide"),
        ("図書", "ja"),
        ("読", "ja"),
        ("api", "ja"),
    ] {
        let found = search(&engine, "lexical", query, 5);
        assert_eq!(uris(&found).first(), Some(&uri), "{query}: {:?}", uris(&found));
    }
    for (query, uri) in [("Verbindung", "de"), ("カ", "ja")] {
        let found = search(&engine, "lexical", query, 13);
        assert!(!uris(&found).contains(&uri), "{query} is no word of {uri}");
    }
}

/// The signs that most leave out tell nothing against a document, and something for one that has them.
#[test]
fn signs_that_matter_rank() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "plain", "هذه كتب جديدة");
    add(&engine, "signs", "هذه كُتُب جديدة");
    for (query, first) in [("كُتُب", "signs"), ("كتب", "plain")] {
        let found = search(&engine, "lexical", query, 5);
        assert_eq!(uris(&found).len(), 2, "{query}");
        assert_eq!(uris(&found)[0], first, "{query}");
    }
}

/// A character counts beside the pairs, for less.
#[test]
fn a_passage_with_the_pair_is_before_one_with_its_characters() {
    let folder = Folder::new();
    let engine = folder.open();
    add(&engine, "apart", "库里没有数目和据点");
    add(&engine, "pair", "数据放在别的地方了");
    add(&engine, "neither", "今天天气很好我们走");
    let found = search(&engine, "lexical", "数据库", 5);
    assert_eq!(uris(&found), ["pair", "apart"]);
}
