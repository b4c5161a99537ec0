use anyhow::{Context, bail};
use runtail_twin::script::Script;
use runtail_twin::{Difference, SIZES, Subject, compare, show};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const USAGE: &str = "runtail-twin OLD NEW [--script NAME]… [--size COLSxROWS]… [--jobs N] [--all]
runtail-twin BINARY --script NAME [--size COLSxROWS]     (prints what is seen after each step)";

struct Options {
    binaries: Vec<PathBuf>,
    scripts: Vec<String>,
    sizes: Vec<(u16, u16)>,
    jobs: usize,
    all: bool,
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options {
        binaries: Vec::new(),
        scripts: Vec::new(),
        sizes: Vec::new(),
        jobs: 4,
        all: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().context(USAGE);
        match word.as_str() {
            "--script" => options.scripts.push(value()?),
            "--size" => {
                let size = value()?;
                let (cols, rows) = size.split_once('x').context(USAGE)?;
                options.sizes.push((cols.parse()?, rows.parse()?));
            }
            "--jobs" => options.jobs = value()?.parse()?,
            "--all" => options.all = true,
            _ if word.starts_with('-') => bail!(USAGE),
            _ => options.binaries.push(PathBuf::from(word)),
        }
    }
    Ok(options)
}

fn main() -> anyhow::Result<ExitCode> {
    let options = options()?;
    let mut scripts = Script::all()?;
    scripts.retain(|script| options.scripts.is_empty() || options.scripts.contains(&script.name));
    let sizes = if options.sizes.is_empty() {
        &SIZES[..]
    } else {
        &options.sizes
    };
    let [old, new] = match &options.binaries[..] {
        [binary] => {
            for script in &scripts {
                show(script, *sizes.last().context("a size")?, binary, |line| {
                    println!("{line}")
                })?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        [old, new] => [old, new].map(|binary| Subject {
            binary,
            answers: "",
        }),
        _ => bail!(USAGE),
    };
    let sizes_of = |script: &Script| {
        if script.opens_dashboard() {
            sizes
        } else {
            &sizes[..1]
        }
    };
    let runs: Vec<_> = scripts
        .iter()
        .flat_map(|script| sizes_of(script).iter().map(move |size| (script, *size)))
        .collect();
    let (next, unsteady, found) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        Mutex::new(Vec::<Difference>::new()),
    );
    let work = || -> anyhow::Result<()> {
        while let Some((script, size)) = runs.get(next.fetch_add(1, Ordering::SeqCst)) {
            let mut differences = compare(script, *size, [old, new], options.all)?;
            if !differences.is_empty() {
                // A second run tells what the binaries cause from what a busy machine does.
                let again = compare(script, *size, [old, new], options.all)?;
                let once = differences
                    .extract_if(.., |one| again.iter().all(|other| other.place != one.place));
                for difference in once {
                    println!("only once: {difference}");
                    unsteady.fetch_add(1, Ordering::SeqCst);
                }
            }
            for difference in differences {
                println!("{difference}");
                found.lock().expect("no panics").push(difference);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("no panics"))
    })?;
    let found = found.into_inner()?.len();
    println!(
        "{} runs: {found} differences, {} only once",
        runs.len(),
        unsteady.into_inner()
    );
    Ok(if found == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
