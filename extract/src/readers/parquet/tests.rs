//! Files that are written here by the library's own writer, read again.

use std::sync::Arc;
use std::time::Duration;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
    Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use super::read;
use crate::contract::CellType::{Bool, Date, Datetime, Number};
use crate::contract::{
    Artifact, ArtifactLimits, CONTRACT_VERSION, CellType, Refusal, RefusalCode, Request, check, lost,
};
use crate::readers::{Bounds, Context, NoOcr};

/// Writes the columns of a row group.
type WriteGroup<'a> = dyn Fn(&mut SerializedRowGroupWriter<'_, Vec<u8>>) + 'a;

/// A file of one row group for each of `groups`.
fn file(schema: &str, compression: Compression, groups: &[&WriteGroup<'_>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).expect("a writer");
    for group in groups {
        let mut rows = writer.next_row_group().expect("a row group");
        group(&mut rows);
        rows.close().expect("it is whole");
    }
    writer.into_inner().expect("it is whole")
}

/// Writes the next column.
fn column<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = group.next_column().expect("a writer").expect("a column");
    column.typed::<T>().write_batch(values, definitions, repetitions).expect("it is written");
    column.close().expect("it is whole");
}

fn read_within(bytes: &[u8], bounds: Bounds) -> Result<Artifact, Refusal> {
    let mut artifact = read(bytes, &Request::default(), &Context { bounds, ocr: &NoOcr })?;
    (artifact.contract, artifact.format) = (CONTRACT_VERSION, "parquet".into());
    check(&mut artifact, "parquet", &ArtifactLimits::default()).expect("what is read keeps to the contract");
    Ok(artifact)
}

fn read_whole(bytes: &[u8]) -> Artifact {
    read_within(bytes, Bounds::within(Duration::from_mins(1))).expect("the file is read")
}

fn shown(artifact: &Artifact) -> Vec<Vec<String>> {
    artifact.tables[0].rows.iter().map(|row| row.1.iter().map(|cell| cell.shown().to_owned()).collect()).collect()
}

const SCALARS: &str = "message m {
    required int64 id; optional binary name (UTF8); required boolean yes; required double ratio;
    required int32 day (DATE); required int64 at (TIMESTAMP(NANOS,true)); required int96 old;
    required int32 price (DECIMAL(9,2)); required fixed_len_byte_array(16) wide (DECIMAL(38,0));
    required int64 big (INTEGER(64,false));
}";

fn scalars() -> Vec<u8> {
    let wide = |value: i128| FixedLenByteArray::from(ByteArray::from(value.to_be_bytes().to_vec()));
    let mut noon = Int96::new();
    noon.set_data(0, 0, 2_440_589);
    file(
        SCALARS,
        Compression::SNAPPY,
        &[&|group| {
            column::<Int64Type>(group, &[9_007_199_254_740_993, -1], None, None);
            column::<ByteArrayType>(group, &[ByteArray::from("Ada")], Some(&[1, 0]), None);
            column::<BoolType>(group, &[true, false], None, None);
            column::<DoubleType>(group, &[0.1, f64::NAN], None, None);
            column::<Int32Type>(group, &[0, -1], None, None);
            column::<Int64Type>(group, &[1, -1], None, None);
            column::<Int96Type>(group, &[noon, noon], None, None);
            column::<Int32Type>(group, &[1050, -5], None, None);
            column::<FixedLenByteArrayType>(group, &[wide(10_i128.pow(37)), wide(10_i128.pow(37) + 1)], None, None);
            column::<Int64Type>(group, &[-1, 0], None, None);
        }],
    )
}

#[test]
fn values_are_typed_and_keep_every_digit() {
    let artifact = read_whole(&scalars());
    assert_eq!(
        shown(&artifact),
        [
            [
                "9007199254740993",
                "Ada",
                "TRUE",
                "0.1",
                "1970-01-01",
                "1970-01-01T00:00:00.000000001Z",
                "1970-01-02T00:00:00Z",
                "10.50",
                "10000000000000000000000000000000000000",
                "18446744073709551615",
            ],
            [
                "-1",
                "",
                "FALSE",
                "NaN",
                "1969-12-31",
                "1969-12-31T23:59:59.999999999Z",
                "1970-01-02T00:00:00Z",
                "-0.05",
                "10000000000000000000000000000000000001",
                "0",
            ],
        ]
    );
    let table = &artifact.tables[0];
    let types: Vec<CellType> = table.columns.iter().map(|column| column.column_type).collect();
    assert_eq!(types, [Number, CellType::String, Bool, Number, Date, Datetime, Datetime, Number, Number, Number]);
    assert_eq!((table.header_rows, table.numbered, table.rows[1].0, table.total_rows), (0, true, 2, 2));
    assert!(artifact.coverage.is_complete());
}

#[test]
fn nested_values_are_json_with_what_is_missing_and_what_is_empty_told_apart() {
    let schema = "message m {
        optional group list (LIST) { repeated group list { optional int32 element; } }
        optional group map (MAP) { repeated group key_value { required binary key (UTF8); optional int32 value; } }
        required group pair { required int32 one; optional group two { repeated int64 three; } }
    }";
    let bytes = file(
        schema,
        Compression::ZSTD(ZstdLevel::default()),
        &[&|group| {
            column::<Int32Type>(group, &[1, 2], Some(&[3, 2, 3, 1, 0]), Some(&[0, 1, 1, 0, 0]));
            column::<ByteArrayType>(group, &["a".into(), "b".into()], Some(&[2, 2, 0, 1]), Some(&[0, 1, 0, 0]));
            column::<Int32Type>(group, &[7], Some(&[3, 2, 0, 1]), Some(&[0, 1, 0, 0]));
            column::<Int32Type>(group, &[4, 5, 6], None, None);
            column::<Int64Type>(group, &[1, i64::MAX], Some(&[2, 2, 1, 0]), Some(&[0, 1, 0, 0]));
        }],
    );
    assert_eq!(
        shown(&read_whole(&bytes)),
        [
            ["[1,null,2]", r#"{"a":7,"b":null}"#, r#"{"one":4,"two":{"three":[1,"9223372036854775807"]}}"#],
            ["[]", "", r#"{"one":5,"two":{"three":[]}}"#],
            ["", "{}", r#"{"one":6,"two":null}"#],
        ]
    );
}

#[test]
fn bytes_are_left_out_where_they_are_not_text() {
    let schema = "message m { required binary text; required binary bytes; }";
    let bytes = file(
        schema,
        Compression::UNCOMPRESSED,
        &[&|group| {
            column::<ByteArrayType>(group, &["old".into(), "text".into()], None, None);
            column::<ByteArrayType>(group, &[ByteArray::from(vec![0xff, 0]), "x".into()], None, None);
        }],
    );
    let artifact = read_whole(&bytes);
    assert_eq!(shown(&artifact), [["old", ""], ["text", "x"]]);
    assert_eq!(artifact.coverage.lost, [lost::BINARY_VALUES]);
    assert!(artifact.warnings[0].contains("\"bytes\""), "{:?}", artifact.warnings);
}

#[test]
fn rows_go_on_from_group_to_group_and_are_cut_at_the_bound_of_cells() {
    let schema = "message m { required int32 a; required int32 b; }";
    let group = |from: i32| {
        move |group: &mut SerializedRowGroupWriter<'_, Vec<u8>>| {
            let values: Vec<i32> = (from..from + 1500).collect();
            column::<Int32Type>(group, &values, None, None);
            column::<Int32Type>(group, &values, None, None);
        }
    };
    let bytes = file(schema, Compression::SNAPPY, &[&group(0), &group(1500)]);
    let artifact = read_whole(&bytes);
    let last = artifact.tables[0].rows.last().expect("rows");
    assert_eq!((last.0, last.1[1].shown(), artifact.coverage.total), (3000, "2999", 3000));
    let bounds = Bounds { cells: 4001, ..Bounds::within(Duration::from_mins(1)) };
    let cut = read_within(&bytes, bounds).expect("the file is read in part");
    assert_eq!((cut.tables[0].rows.len(), cut.tables[0].total_rows, cut.coverage.failed), (2000, 3000, 1000));
    assert_eq!(cut.coverage.lost, [lost::TABLES]);
}

#[test]
fn a_column_that_unpacks_to_too_much_is_left_out_and_a_file_that_does_is_refused() {
    let schema = "message m { required binary long (UTF8); required int32 short; }";
    let bytes = file(
        schema,
        Compression::ZSTD(ZstdLevel::default()),
        &[&|group| {
            column::<ByteArrayType>(group, &[ByteArray::from(vec![b'a'; 4_000_000])], None, None);
            column::<Int32Type>(group, &[7], None, None);
        }],
    );
    assert!(bytes.len() < 100_000);
    let within =
        |inflated_bytes| read_within(&bytes, Bounds { inflated_bytes, ..Bounds::within(Duration::from_mins(1)) });
    let artifact = within(8_000_000).expect("the other column is read");
    assert_eq!(
        (shown(&artifact), artifact.coverage.lost),
        (vec![vec![String::new(), "7".into()]], vec![lost::TABLES.to_owned()])
    );
    assert_eq!(within(64_000_000).expect("all is read").tables[0].rows[0].1[0].shown().len(), 4_000_000);
    let bounds = Bounds { text_bytes: 1000, ..Bounds::within(Duration::from_mins(1)) };
    let cut = read_within(&bytes, bounds).expect("nothing of it fits");
    assert_eq!((cut.tables[0].rows.len(), cut.coverage.failed), (0, 1));
    let many = "message m { required binary a (UTF8); required binary b (UTF8); required binary c (UTF8); required binary d (UTF8); required binary e (UTF8); }";
    let bytes = file(
        many,
        Compression::ZSTD(ZstdLevel::default()),
        &[&|group| {
            for _ in 0..5 {
                column::<ByteArrayType>(group, &[ByteArray::from(vec![b'a'; 1_000_000])], None, None);
            }
        }],
    );
    let bounds = Bounds { inflated_bytes: 4_100_000, ..Bounds::within(Duration::from_mins(1)) };
    assert_eq!(read_within(&bytes, bounds).map_err(|refusal| refusal.code), Err(RefusalCode::ResourceLimit));
}

#[test]
fn what_cannot_be_read_is_refused_by_its_kind() {
    let good = scalars();
    let mut encrypted = good.clone();
    let end = encrypted.len();
    encrypted[end - 4..].copy_from_slice(b"PARE");
    encrypted[..4].copy_from_slice(b"PARE");
    for (bytes, code, word) in [
        (&b""[..], RefusalCode::Corrupt, "empty"),
        (b"a,b\n1,2\n", RefusalCode::FormatMismatch, "no Parquet"),
        (&good[..good.len() - 1], RefusalCode::Corrupt, "damaged"),
        (&good[..8], RefusalCode::Corrupt, "damaged"),
        (&encrypted, RefusalCode::Corrupt, "encrypted"),
    ] {
        let refusal = read_within(bytes, Bounds::within(Duration::from_mins(1))).expect_err("it is refused");
        assert_eq!(refusal.code, code);
        assert!(refusal.message.contains(word), "{refusal}");
    }
}

#[test]
fn a_file_cut_anywhere_is_corrupt() {
    let good = scalars();
    for end in (4..good.len()).step_by(7) {
        let mut cut = good[..end].to_vec();
        cut.extend_from_slice(&good[good.len() - 8..]);
        let refused = read_within(&cut, Bounds::within(Duration::from_mins(1))).expect_err("it is refused");
        assert_eq!(refused.code, RefusalCode::Corrupt, "{end}");
    }
}

proptest! {
    #[test]
    fn damage_never_breaks_the_contract(at in 4_usize..4000, to in any::<u8>(), second in 4_usize..4000, more in any::<u8>()) {
        let mut bytes = scalars();
        let length = bytes.len();
        bytes[at % length] = to;
        bytes[second % length] = more;
        // Whatever comes of it is checked in there; a panic of the library is caught, one of ours is not wanted.
        let _ = read_within(&bytes, Bounds::within(Duration::from_secs(5)));
    }
}
