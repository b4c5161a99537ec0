//! The tour through the demo that the README shows. `UPDATE_PICTURE=1 cargo test --test pty tour` records it again.

use ratatui::buffer::Buffer;
use runtail_testkit::picture::{self, Ground};
use runtail_testkit::term::Term;
use std::time::Duration;

/// How often a screen that moves is recorded.
const FRAME: Duration = Duration::from_millis(250);

/// The recorded screens, each with the time for which it is shown.
struct Tour {
    term: Term,
    screens: Vec<(Buffer, Duration)>,
    /// Whether a picture is made, which takes as long as it is shown.
    is_recorded: bool,
}

impl Tour {
    fn start(is_light: bool, (cols, rows): (u16, u16), is_recorded: bool) -> Tour {
        // The theme follows the background that the terminal reports.
        let spawn = if is_light {
            Term::spawn_on_white
        } else {
            Term::spawn
        };
        Tour {
            term: spawn(&["--demo"], cols, rows),
            screens: Vec::new(),
            is_recorded,
        }
    }

    /// Records the current screen.
    fn show(&mut self, seconds: f64) {
        let (screen, time) = (self.term.buffer(), Duration::from_secs_f64(seconds));
        match self.screens.last_mut().filter(|(last, _)| *last == screen) {
            Some((_, shown)) => *shown += time,
            None => self.screens.push((screen, time)),
        }
    }

    /// Records the screen while it moves.
    fn watch(&mut self, seconds: f64) {
        let frames = if self.is_recorded {
            (seconds / FRAME.as_secs_f64()) as usize
        } else {
            1
        };
        for _ in 0..frames {
            self.show(FRAME.as_secs_f64());
            std::thread::sleep(if self.is_recorded {
                FRAME
            } else {
                Duration::ZERO
            });
        }
    }

    /// Presses a key and waits for what it shows.
    fn press(&mut self, key: &str, shows: &str) {
        self.term.keys(key);
        self.term.wait_for(shows);
        // The parts that are loaded next belong to the same screen.
        self.term.wait_for_quiet(Duration::from_millis(150));
    }

    /// Goes back from what shows this. A key right behind Esc would be read as Alt and that key.
    fn back(&mut self, from: &str, shows: &str) {
        self.term.keys("\x1b");
        self.term
            .wait_until("one step back", |term| !term.screen().contains(from));
        self.press("", shows);
    }

    fn play(&mut self) {
        self.term.wait_for("BUILD_FAILED");
        self.term.wait_for("WAIT");
        // The selection stays on the row that was first when the first region answered.
        self.term.keys("g");
        self.term
            .wait_until("the counters and the reason of the failure", |term| {
                let screen = term.screen();
                screen.contains("failed   ?") && screen.contains("build log, line")
            });
        self.watch(3.0);
        self.press("e", "What to do");
        self.show(3.0);
        self.back("What to do", "Revisions of");
        for letter in "/research".chars() {
            self.term.keys(&letter.to_string());
            self.show(0.12);
        }
        self.press("\r", "1 of 13");
        self.press("\r", "› threads");
        self.show(2.0);
        self.term.compose("research-deep");
        self.show(0.8);
        for word in ["Where ", "do ", "electric ", "ferries ", "run?"] {
            self.press(word, word.trim());
            self.show(0.25);
        }
        self.show(1.0);
        self.press("\x13", "Messages");
        self.watch(6.0);
        self.press("5", "VISITS");
        self.watch(3.0);
        self.press("4", "critical path");
        self.watch(3.0);
        self.press("i", "waiting first, then newe");
        self.show(2.5);
        self.press("A", "ctrl-s send");
        self.show(3.0);
        // The inbox is readable above the answers of the group.
        self.press("\x13", "answers sent");
        self.show(2.0);
        self.back("answers sent", "waiting first");
        self.watch(2.0);
        self.back("waiting first, then newe", "Timeline");
        self.press("1", "run 1 finished");
        self.watch(2.0);
    }
}

#[test]
fn tour_of_the_readme_can_be_recorded() {
    let is_recorded = std::env::var_os("UPDATE_PICTURE").is_some();
    let looks: &[(bool, &str, Ground)] = match is_recorded {
        true => &[(false, "", picture::DARK), (true, "-light", picture::LIGHT)],
        false => &[(true, "-light", picture::LIGHT)],
    };
    for (is_light, suffix, ground) in looks {
        let mut tour = Tour::start(*is_light, (140, 36), is_recorded);
        tour.play();
        let svg = picture::animated_svg(&tour.screens, *ground);
        assert!(
            svg.starts_with("<svg") && svg.contains("@keyframes") && svg.contains("invoice-agent"),
            "{svg:.200}"
        );
        let good = if *is_light { "#008700" } else { "#23d18b" };
        assert!(svg.contains(good), "the theme fits the background");
        if is_recorded {
            std::fs::write(format!("assets/tour{suffix}.svg"), svg).unwrap();
        }
    }
}
