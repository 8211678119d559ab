"""The report: whole, safe to open, and seen by a browser."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tui_tuner.exports import ToldRun, told_run
from tui_tuner.exports.blocks import CodeBlock, Paragraph, Table, as_html, as_markdown
from tui_tuner.exports.run_report import plots_of, report_blocks, report_title, roofline_of
from tui_tuner.resources import samples_directory
from tui_tuner.session import events

HOSTILE = "<script>alert(1)</script> | [x](http://evil) @you `code` \x1b[31m</td>"


@pytest.fixture(scope="module")
def page(told: ToldRun) -> str:
    return as_html(report_title(told), report_blocks(told))


class Loads(HTMLParser):
    """What a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "link", "img", "object", "embed"):
            self.found.append((tag, ""))
        for name, value in attributes:
            if name.startswith("on") or (name in ("src", "href", "xlink:href") and not (value or "").startswith("#")):
                self.found.append((name, value or ""))


def loads(page: str) -> list[tuple[str, str]]:
    parser = Loads()
    parser.feed(page)
    return parser.found


@pytest.mark.slow
def test_a_report_is_one_file_that_loads_nothing(page: str, told: ToldRun) -> None:
    assert loads(page) == []
    assert "default-src 'none'" in page
    assert loads('<img src="http://x">') == [("img", ""), ("src", "http://x")], "such a page would be found out"
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len({*ids}), "several pictures in one page share no id"
    for part in ("What was tried", "Rewrite the kernel", "More work a thread.", "too many resources", "n=1000",
                 "Environment", "Fake GPU", "landlock", "launch failure", told.best.id):  # fmt: skip
        assert part in page, part
    assert "<ins>+    int per_thread = work_per_thread; int i =" in page


def test_words_of_a_model_stay_words(told: ToldRun) -> None:
    blocks = [Paragraph(HOSTILE), Table([HOSTILE], [[HOSTILE]]), CodeBlock(HOSTILE, f"````\n{HOSTILE}", "diff")]
    html, markdown = as_html(HOSTILE, blocks), as_markdown(HOSTILE, blocks)

    assert loads(html) == []
    assert "<script" not in html
    assert "\x1b" not in html + markdown
    outside = re.sub(r"`````diff.*?`````", "", markdown, flags=re.DOTALL)
    assert "<script" not in outside
    assert "@you" not in outside
    outside = re.sub(r"<summary>.*", "", outside)  # in which Markdown has no markup
    assert not re.search(r"(?<!\\)\[x|x\](?<!\\\])\(", outside)
    assert outside.count("\n| ") == 2, "a bar in a cell begins no cell"


def test_markdown_for_a_pull_request_has_the_tables_and_diffs(told: ToldRun) -> None:
    text = as_markdown(report_title(told), report_blocks(told, pictures=False))

    assert text.startswith(f"# scale.cu on Fake GPU: {told.outcome.speedup[0]:.2f}x")
    assert "| step | title | state | gain | why |\n|---|---|---|---|---|\n| 1 | " in text
    assert "```diff\n--- best\n+++ proposed" in text
    assert "<svg" not in text


@pytest.mark.slow
async def test_a_journal_alone_is_enough_and_a_roofline_is_drawn_where_its_ceilings_are_known() -> None:
    told = await told_run(samples_directory() / "recorded/autonomous-matmul")
    finished = told.told[-1]
    assert isinstance(finished, events.SessionFinished)

    assert told.outcome.speedup == finished.speedup
    assert told.outcome.paired_times == finished.times
    assert [plot.caption.split()[0] for plot in plots_of(told)] == ["Time", "Times", "Roofline"]
    device = told.device.model_copy(update={"memory_gbs": None})
    bare = dataclasses.replace(told, outcome=told.outcome.model_copy(update={"device": device}))
    assert roofline_of(bare) is None


@pytest.mark.slow
def test_evaluations_are_counted_in_whole_numbers_below_their_plot(told: ToldRun) -> None:
    """Of few evaluations as well, of which matplotlib would write halves."""
    measured = [event for event in told.told if isinstance(event, events.EvaluationFinished)]
    for few in (1, 2, 3):
        left = [event for event in told.told if event not in measured[few:]]
        svg = plots_of(dataclasses.replace(told, told=left))[0].svg
        ticks = re.findall(r'<g id="best-xtick_\d+">.*?<text[^>]*>([^<]+)</text>', svg, flags=re.DOTALL)
        assert len(ticks) > 1
        assert [tick for tick in ticks if not tick.removeprefix("\N{MINUS SIGN}").isdigit()] == []


def test_what_was_read_from_a_recording_is_not_called_verified(told: ToldRun) -> None:
    device = told.device.model_copy(update={"kind": "recorded"})
    read = dataclasses.replace(told, outcome=told.outcome.model_copy(update={"device": device}))
    text = as_markdown("", report_blocks(read, pictures=False))

    assert "Nothing was run: times and failures are those of the recording." in text
    assert "both as recorded" in text
    assert "poisoned" not in text
    assert "poisoned" in as_markdown("", report_blocks(told, pictures=False))


def test_a_browser_shows_the_plots(page: str, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome") or pytest.skip("there is no chromium")
    file = tmp_path / "report.html"
    measured = "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width > 300)"
    probe = f"<script>addEventListener('load', () => document.title = JSON.stringify({measured}))</script></body>"
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
    file.write_text(policy.sub("", page).replace("</body>", probe))  # our own probe is a script
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=900,1200", f"--user-data-dir={tmp_path}/u"]
    done = subprocess.run(
        [browser, *options, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "<title>[true,true]</title>" in done.stdout
