//! How fast the vector leg is, how much it finds and what it keeps, beside raw usearch in the same run.
//!
//! ```sh
//! cargo bench -p loom-index --bench vector -- path/to/folder 100000    # or LOOM_BENCH_MD=path/to/folder
//! ```
//!
//! The passages are cut from the Markdown in the folder, embedded with the built-in model's table (by the sum of the
//! pieces of their words, which is near enough), and asked for with eight words of a passage. Without a folder the
//! vectors are made up, in clusters. CPU times are of all threads, from the system; elsewhere than on Linux they are 0.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use loom_index::vector::VectorIndex;
use loom_index::{ChunkRange, Selection};
use loom_storage::{ChunkId, Seq};
use rayon::prelude::*;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/loom-static-256");
const DIM: usize = 256;
const ROWS_DEFAULT: usize = 100_000;
const PASSAGE_WORDS: usize = 45;
const QUERIES: usize = 500;
const QUERY_WORDS: usize = 8;
const DEPTH: usize = 50;
const RECALL_MIN: f64 = 0.98;
/// Each search is measured so often, and the quickest round counts: a busy machine only adds.
const ROUNDS: usize = 3;

type Outcome<T> = Result<T, Box<dyn Error>>;
type Vectors = Vec<Vec<f32>>;

/// The best ids for each query, best first.
type Found = Vec<Vec<u64>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let folder = arguments.next().map(PathBuf::from).or_else(|| std::env::var_os("LOOM_BENCH_MD").map(PathBuf::from));
    let rows = arguments.next().map_or(Ok(ROWS_DEFAULT), |rows| rows.parse())?;
    let (vectors, queries) = match &folder {
        Some(folder) => passages(folder, rows)?,
        None => made_up(rows),
    };
    say(&format!("{} vectors of {DIM} dimensions, {} queries\n", vectors.len(), queries.len()));
    let bytes = vectors.len() * DIM * size_of::<f32>();
    say(&format!("as f32: {:.1} MB\n", mb(bytes)));
    let truth = exact(&vectors, &queries, |_| true);
    let folder = tempfile::tempdir()?;
    let index = ours(folder.path(), &vectors, &queries, &truth)?;
    let raw = raw(&vectors, &queries, &truth)?;
    say("\nsearch                     recall@10  worst decile  worst  recall@50  CPU ms\n");
    let all = every(&vectors, 1)?;
    compare(&raw, &index, &queries, &truth, &all)?;
    for (name, nth) in [("ours, 1 in 100 allowed", 100), ("ours, 1 in 1000 allowed", 1000)] {
        let selection = every(&vectors, nth)?;
        let truth = exact(&vectors, &queries, |id| id % nth == 0);
        let (found, cpu) = search_ours(&index, &queries, DEPTH, Some(&selection))?;
        row(name, &found, &truth, cpu);
    }
    opening(folder.path(), &queries)
}

/// Builds and writes our index, saying what that takes.
fn ours(folder: &Path, vectors: &Vectors, queries: &Vectors, truth: &Found) -> Outcome<VectorIndex> {
    let (mut index, _) = VectorIndex::open(folder, "bench", DIM)?;
    let memory = resident();
    let start = cpu_s();
    for (id, vector) in (0..).zip(vectors) {
        index.add(ChunkId(id), vector)?;
    }
    say(&format!("\nours: {:.2} s CPU to add, {:.0} MB of memory\n", cpu_s() - start, resident() - memory));
    let (found, cpu) = search_ours(&index, queries, DEPTH, None)?;
    let (recalls, _) = recalls(&found, truth, 10);
    say(&format!("ours: scan of all, {cpu:.2} ms CPU a query, recall@10 {:.4}\n", mean(&recalls)));
    let start = cpu_s();
    while let Some(job) = index.plan_graph() {
        if let Some(graph) = job.run(&AtomicBool::new(false))? {
            index.install_graph(graph);
        }
    }
    let spent = cpu_s() - start;
    let each = spent * 1e3 / count(vectors.len());
    say(&format!("ours: graph, {spent:.1} s CPU, {each:.3} ms each; {:.0} MB with the rows\n", resident() - memory));
    let start = cpu_s();
    if let Some(flush) = index.freeze(Seq(1)) {
        let flushed = flush.run()?;
        index.install(flushed);
    }
    say(&format!("ours: {:.2} s CPU to write; files:", cpu_s() - start));
    let mut sizes = fs::read_dir(folder)?
        .map(|file| Ok((file.as_ref().map(fs::DirEntry::file_name).ok(), file?.metadata()?.len())))
        .collect::<Outcome<Vec<_>>>()?;
    sizes.sort();
    for (name, size) in sizes {
        say(&format!(" {} {:.1} MB", name.unwrap_or_default().display(), mb(usize::try_from(size)?)));
    }
    say("\n");
    Ok(index)
}

/// Raw usearch over the same unit vectors as floats, all but the measure (the cheapest that fits) at its default.
fn raw(vectors: &Vectors, queries: &Vectors, truth: &Found) -> Outcome<Index> {
    let options = IndexOptions {
        dimensions: DIM,
        metric: MetricKind::IP,
        quantization: ScalarKind::F32,
        connectivity: 0,
        expansion_add: 0,
        expansion_search: 0,
        multi: false,
    };
    let index = Index::new(&options)?;
    index.reserve_capacity_and_threads(vectors.len(), 1)?;
    let (memory, start) = (resident(), cpu_s());
    for (id, vector) in (0..).zip(vectors) {
        index.add(id, vector)?;
    }
    let spent = cpu_s() - start;
    let each = spent * 1e3 / count(vectors.len());
    say(&format!("\nraw usearch f32: graph, {spent:.1} s CPU, {each:.3} ms each; {:.0} MB, ", resident() - memory));
    say(&format!("{:.1} MB if written\n", mb(index.serialized_length())));
    for expansion in [64, 96, 128, 160, 200, 256, 320, 400, 512, 800, 1200] {
        index.change_expansion_search(expansion);
        let (found, _) = search_raw(&index, queries)?;
        let recall = mean(&recalls(&found, truth, 10).0);
        if recall >= RECALL_MIN {
            say(&format!(
                "raw usearch f32: ef {expansion} is the first with recall@10 of {RECALL_MIN} ({recall:.4})\n"
            ));
            break;
        }
    }
    Ok(index)
}

/// Raw and ours by turns, so that whatever else the machine does disturbs both.
fn compare(raw: &Index, index: &VectorIndex, queries: &Vectors, truth: &Found, all: &Selection) -> Outcome<()> {
    let mut results: Vec<(&str, Found, f64)> = Vec::new();
    for _ in 0..ROUNDS {
        let round = [
            ("raw usearch f32, top 50", search_raw(raw, queries)?),
            ("ours, top 50", search_ours(index, queries, DEPTH, None)?),
            ("ours, top 50, all allowed", search_ours(index, queries, DEPTH, Some(all))?),
            ("ours, top 10", search_ours(index, queries, 10, None)?),
        ];
        for (at, (name, (found, cpu))) in round.into_iter().enumerate() {
            match results.get_mut(at) {
                Some(earlier) => earlier.2 = earlier.2.min(cpu),
                None => results.push((name, found, cpu)),
            }
        }
    }
    for (name, found, cpu) in &results {
        row(name, found, truth, *cpu);
    }
    Ok(())
}

/// How long the written index takes to its first answer and to its graph.
fn opening(folder: &Path, queries: &Vectors) -> Outcome<()> {
    let mut walls: Vec<[f64; 3]> = Vec::new();
    let mut cpu = f64::INFINITY;
    for _ in 0..7 {
        let (wall, start) = (Instant::now(), cpu_s());
        let (mut index, _) = VectorIndex::open(folder, "bench", DIM)?;
        let opened = wall.elapsed().as_secs_f64() * 1e3;
        cpu = cpu.min((cpu_s() - start) * 1e3);
        index.search(&queries[0], DEPTH, None)?;
        let answered = wall.elapsed().as_secs_f64() * 1e3;
        if let Some(job) = index.plan_graph()
            && let Some(graph) = job.run(&AtomicBool::new(false))?
        {
            index.install_graph(graph);
        }
        walls.push([opened, answered, wall.elapsed().as_secs_f64() * 1e3]);
    }
    let quickest = |at: usize| walls.iter().map(|wall| wall[at]).fold(f64::INFINITY, f64::min);
    let (opened, answered, loaded) = (quickest(0), quickest(1), quickest(2));
    say(&format!(
        "\nopen: {opened:.1} ms ({cpu:.1} CPU); first answer after {answered:.1} ms; graph after {loaded:.1} ms\n"
    ));
    Ok(())
}

fn search_ours(
    index: &VectorIndex,
    queries: &Vectors,
    k: usize,
    selection: Option<&Selection>,
) -> Outcome<(Found, f64)> {
    let start = cpu_s();
    let hits = queries.iter().map(|query| index.search(query, k, selection)).collect::<Result<Vec<_>, _>>()?;
    let cpu = (cpu_s() - start) * 1e3 / count(queries.len());
    Ok((hits.iter().map(|hits| hits.iter().map(|hit| hit.chunk.0).collect()).collect(), cpu))
}

fn search_raw(index: &Index, queries: &Vectors) -> Outcome<(Found, f64)> {
    let start = cpu_s();
    let found = queries.iter().map(|query| Ok(index.search(query, DEPTH)?.keys)).collect::<Outcome<Found>>()?;
    Ok((found, (cpu_s() - start) * 1e3 / count(queries.len())))
}

/// The true best of what `allowed` lets through.
fn exact(vectors: &Vectors, queries: &Vectors, allowed: impl Fn(u64) -> bool + Sync) -> Found {
    let best = |query: &Vec<f32>| {
        let rows = (0..).zip(vectors).filter(|(id, _)| allowed(*id));
        let dot = |vector: &Vec<f32>| query.iter().zip(vector).map(|(left, right)| left * right).sum::<f32>();
        let mut all: Vec<(f32, u64)> = rows.map(|(id, vector)| (dot(vector), id)).collect();
        all.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        all.truncate(DEPTH);
        all.into_iter().map(|(_, id)| id).collect()
    };
    queries.par_iter().map(best).collect()
}

fn row(name: &str, found: &Found, truth: &Found, cpu: f64) {
    let (at_10, worst) = recalls(found, truth, 10);
    let at_50 = if found.iter().any(|ids| ids.len() > 10) {
        format!("{:9.4}", mean(&recalls(found, truth, DEPTH).0))
    } else {
        "        -".to_owned()
    };
    let decile = mean(&at_10[..at_10.len().div_ceil(10)]);
    say(&format!("{name:26} {:9.4}  {decile:12.3}  {worst:5.1}  {at_50}  {cpu:6.3}\n", mean(&at_10)));
}

/// Which share of the true best `k` each query finds, ascending, and the smallest.
fn recalls(found: &Found, truth: &Found, k: usize) -> (Vec<f64>, f64) {
    let one = |(found, truth): (&Vec<u64>, &Vec<u64>)| {
        let best = &truth[..k.min(truth.len())];
        let hits = found.iter().take(k).filter(|id| best.contains(id)).count();
        count(hits) / count(best.len().max(1))
    };
    let mut recalls: Vec<f64> = found.iter().zip(truth).map(one).collect();
    recalls.sort_by(f64::total_cmp);
    let worst = recalls.first().copied().unwrap_or_default();
    (recalls, worst)
}

/// Every `nth` chunk.
fn every(vectors: &Vectors, nth: u64) -> Outcome<Selection> {
    let chunks = (0..u64::try_from(vectors.len())?).filter(|id| id % nth == 0);
    Ok(Selection::new(chunks.map(|id| ChunkRange { first: ChunkId(id), count: 1 }).collect()))
}

/// Vectors around centres, and queries a little further from them.
fn made_up(rows: usize) -> (Vectors, Vectors) {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).unwrap_or_default()) / 32_768.0 - 1.0
    };
    let centres: Vectors = (0..=rows / 50).map(|_| (0..DIM).map(|_| random()).collect()).collect();
    let mut near = |at: usize, spread: f32| -> Vec<f32> {
        scaled(&centres[at % centres.len()].iter().map(|value| value + spread * random()).collect::<Vec<_>>())
    };
    ((0..rows).map(|at| near(at, 1.0)).collect(), (0..QUERIES).map(|at| near(at * 7, 1.5)).collect())
}

/// The vectors of `rows` passages of the Markdown in `folder`, taken from all over it, and those of some queries.
fn passages(folder: &Path, rows: usize) -> Outcome<(Vectors, Vectors)> {
    let mut files = BTreeSet::new();
    collect(folder, &mut files)?;
    let mut texts = Vec::new();
    for file in files {
        let text = String::from_utf8_lossy(&fs::read(file)?).to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        texts.extend(words.chunks(PASSAGE_WORDS).map(|words| words.join(" ")));
    }
    let table = Table::read()?;
    // A step without a common divisor with the count visits every passage.
    let order = (0..texts.len()).map(|at| &texts[at * 7919 % texts.len()]);
    let known = |text: &&String| table.embed(text).is_some();
    let order: Vec<&String> = order.filter(known).take(rows).collect();
    let vectors: Vectors = order.par_iter().filter_map(|text| table.embed(text)).collect();
    let query = |at: usize| {
        let words = order[at * 331 % order.len()].split(' ').skip(at % 20).take(QUERY_WORDS);
        table.embed(&words.collect::<Vec<_>>().join(" "))
    };
    Ok((vectors, (0..2 * QUERIES).filter_map(query).take(QUERIES).collect()))
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Outcome<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.insert(path);
        }
    }
    Ok(())
}

/// The built-in model's table: a scale and a row of bytes for each piece of a word.
struct Table {
    pieces: HashMap<String, usize>,
    scales: Vec<f32>,
    values: Vec<i8>,
}

impl Table {
    fn read() -> Outcome<Self> {
        let bytes = fs::read(Path::new(MODEL).join("embeddings.bin"))?;
        let text = fs::read_to_string(Path::new(MODEL).join("vocab.txt"))?;
        let pieces: HashMap<String, usize> = text.lines().map(str::to_owned).zip(0..).collect();
        let (_, rest) = bytes.split_at(16);
        let (scales, values) = rest.split_at(rest.len() - text.lines().count() * DIM);
        let scales = scales.as_chunks().0.iter().map(|scale| f32::from_le_bytes(*scale)).collect();
        Ok(Self { pieces, scales, values: values.iter().map(|value| value.cast_signed()).collect() })
    }

    /// The sum of the longest known pieces; `None` when none is known.
    fn embed(&self, text: &str) -> Option<Vec<f32>> {
        let mut sum = vec![0.0; DIM];
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty() && word.len() < 100) {
            let mut at = 0;
            while let Some((row, end)) = self.piece(word, at) {
                for (sum, value) in sum.iter_mut().zip(&self.values[row * DIM..]) {
                    *sum += self.scales[row] * f32::from(*value);
                }
                at = end;
            }
        }
        sum.iter().any(|value| *value != 0.0).then(|| scaled(&sum))
    }

    fn piece(&self, word: &str, at: usize) -> Option<(usize, usize)> {
        let mark = if at == 0 { "" } else { "##" };
        let mut ends = (at + 1..=word.len()).rev().filter(|end| word.is_char_boundary(*end));
        ends.find_map(|end| Some((*self.pieces.get(&format!("{mark}{}", &word[at..end]))?, end)))
    }
}

fn scaled(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / norm).collect()
}

/// CPU seconds of all threads there are.
fn cpu_s() -> f64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = |task: std::io::Result<fs::DirEntry>| -> Option<f64> {
        fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    tasks.filter_map(nanoseconds).sum::<f64>() / 1e9
}

/// Megabytes of memory in use, as the system counts them.
fn resident() -> f64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|pages| pages.split(' ').nth(1)?.parse::<usize>().ok());
    mb(pages.unwrap_or_default() * 4096)
}

fn mb(bytes: usize) -> f64 {
    count(bytes) / 1e6
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len().max(1))
}

#[expect(clippy::cast_precision_loss, reason = "nothing here is counted beyond 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::print_stdout, reason = "the figures are what this program is for")]
fn say(line: &str) {
    print!("{line}");
}
