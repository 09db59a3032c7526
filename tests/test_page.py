"""The HTML report in a browser: what people click, what hostile text must not do, and that nothing goes wrong quietly.

Needs Chromium (`apt-get install chromium`, or JAXAUDIT_CHROMIUM=PATH); without it these tests are skipped.
"""

import os
import re
import shutil

import pytest
from page_sample import HOSTILE, SHOWN, sample, write_page

from jaxaudit.reports.model import Report, Tool

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    pytest.skip("the page tests need playwright: pip install 'jaxaudit[dev]'", allow_module_level=True)

CHROMIUM = os.environ.get("JAXAUDIT_CHROMIUM") or next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
if not CHROMIUM:
    pytest.skip(
        "the page tests need Chromium: apt-get install chromium, or set JAXAUDIT_CHROMIUM", allow_module_level=True
    )

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def browser():
    # A busy machine may take long over a step; a page that never gets there still fails.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_page(sample(filler=3000), tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture
def opened(browser):
    """Open files; anything on the console, any refused request and any dialog fails the test."""
    trouble: list[str] = []
    contexts = []

    def watch(page):
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: trouble.append(request.url) if not local(request.url) else None)

    def open_(file, link="", **options):
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        )
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        watch(page)
        page.goto(f"file://{file}{link}")
        page.locator("main[data-ready=yes]").wait_for()
        return page

    yield open_
    for context in contexts:
        context.close()
    assert trouble == []


def local(url: str) -> bool:
    return url.startswith(("file:", "blob:", "data:"))


def test_an_issue_leads_through_its_steps_to_source_and_flow(opened, file):
    page = opened(file)
    card = page.locator("#issue-0001")
    expect(card.locator("h3")).to_have_text("key is used again")
    card.locator(".why-code").first.click()
    expect(page.locator(".line.chosen .line-code")).to_have_text("    h = x * 2")
    page.go_back()
    page.locator("#issue-0001 .why .flow-link").last.click()
    expect(page.locator(".inspector h3")).to_have_text("add")
    expect(page.locator(".leaf.chosen")).to_have_attribute("data-id", "s3")


def test_a_deep_link_opens_at_its_finding(opened, file):
    page = opened(file, "#issue-0002")
    expect(page.locator("#issue-0002.chosen")).to_be_in_viewport()
    page = opened(file, "#issue-0003")
    expect(page.locator("#warning-0003.chosen")).to_be_visible()


def test_boxes_open_and_fold(opened, file):
    page = opened(file, "#flow")
    box = page.locator('.leaf[data-id="s2"]')
    expect(box).to_have_attribute("aria-expanded", "false")
    box.click()
    expect(page.locator('.leaf[data-id="s3"]')).to_be_visible()
    head = page.locator('.box[data-id="s2"] .box-head')
    head.focus()
    page.keyboard.press("Enter")
    expect(page.locator('.leaf[data-id="s3"]')).to_have_count(0)
    page.locator('.leaf[data-id="s1"]').hover()
    expect(page.get_by_role("tooltip")).to_contain_text("f32[NUM_ENVS=8, OBS=4]")


def test_the_table_has_the_same_facts_as_the_graph(opened, file):
    page = opened(file, "#flow")
    page.get_by_role("button", name="table", exact=True).click()
    rows = page.locator(".flow-row")
    expect(rows).to_have_count(6)
    expect(rows.nth(3)).to_contain_text("inner_out f32[OBS=4]")
    page.get_by_role("button", name="Fold inner").click()
    expect(rows).to_have_count(5)
    rows.nth(1).click()
    expect(page.locator(".inspector h3")).to_have_text("multiply")


def test_an_axis_is_followed_alone(opened, file):
    page = opened(file, "#axes")
    expect(page.locator(".stop")).to_have_count(5)
    expect(page.locator(".rail-under")).not_to_have_count(0)
    page.locator(".axis-chip", has_text="NUM_ENVS").click()
    expect(page.locator(".about")).to_contain_text("has size 8 and comes from argument x, axis 0")
    expect(page.locator(".stop")).to_have_count(4)
    assert page.url.endswith("#axis-step%2FNUM_ENVS")
    page.locator(".axis-chip", has_text="NUM_ENVS").click()
    expect(page.locator(".stop")).to_have_count(5)


def test_search_goes_where_the_name_is(opened, file):
    page = opened(file)
    page.keyboard.press("/")
    page.keyboard.type("inner_out")
    expect(page.locator(".hits li")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator(".inspector")).to_have_attribute("data-step", "s3")
    page.locator("#search").fill("no such name")
    expect(page.locator(".hits")).to_contain_text("Nothing is called that.")


def test_keys_go_through_views_and_findings(opened, file):
    page = opened(file)
    for number, view in enumerate("issues warnings flow axes source boundaries verified coverage".split(), 1):
        page.keyboard.press(str(number))
        expect(page.locator("main")).to_have_attribute("data-view", view)
    page.keyboard.press("1")
    expect(page.locator("main")).to_have_attribute("data-view", "issues")
    page.keyboard.press("j")
    expect(page.locator("#issue-0001.chosen")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("#issue-0002.chosen")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_can_be_changed(opened, file, scheme):
    page = opened(file, color_scheme=scheme)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", scheme)
    page.keyboard.press("t")
    expect(root).to_have_attribute("data-theme", {"light": "dark", "dark": "light"}[scheme])


def test_text_of_the_user_is_shown_as_text(opened, file):
    page = opened(file, "#issue-0002")
    expect(page.locator("#issue-0002 h3")).to_have_text(SHOWN)
    assert page.locator("img").count() == 0
    page.goto(f"file://{file}#source-step.py:7")
    expect(page.locator(".line.chosen .line-code")).to_have_text(f"    return row + 1  # {SHOWN}")
    page.goto(f"file://{file}#source-step.py:8")
    line = page.locator(".line.chosen")
    expect(line).to_contain_text("more characters")
    assert line.bounding_box()["height"] < 60
    page.goto(f"file://{file}#boundaries")
    expect(page.locator(".crossings")).to_contain_text(SHOWN)
    page.goto(f"file://{file}#flow-0-2")
    expect(page.locator(".inspector")).to_contain_text(SHOWN)
    assert HOSTILE not in page.locator("body").inner_text()


def test_the_source_has_shapes_in_the_margin_and_findings_in_place(opened, file):
    page = opened(file, "#source-step.py:3")
    expect(page.locator(".line.chosen .ghost")).to_have_text("h f32[NUM_ENVS=8, OBS=4]")
    notes = page.locator(".note .rule")
    expect(notes).to_have_text(["key-reused", "unrolled-loop", "bare-squeeze"])
    notes.first.click()
    expect(page.locator("#issue-0001.chosen")).to_be_visible()


def test_boundaries_say_which_axis_crosses_how(opened, file):
    page = opened(file, "#boundaries")
    cells = page.locator(".crossings tbody tr").first.locator("td")
    expect(cells).to_have_text(["in", "row", "f32[NUM_ENVS=8, OBS=4]", "f32[OBS=4]", "mapped over axis 0"])
    cells.nth(2).get_by_role("link", name="NUM_ENVS=8").click()
    expect(page.locator(".about b")).to_have_text("NUM_ENVS")


def test_long_lists_draw_only_what_is_in_sight(opened, file):
    page = opened(file, "#verified")
    assert page.locator(".ledger-row").count() < 120
    page.locator(".ledger").hover()
    page.mouse.wheel(0, 200_000)
    expect(page.locator(".ledger-row").last).to_contain_text("fresh 2999")
    page.get_by_label("Filter what is verified").fill("fits")
    expect(page.locator(".ledger-row")).to_have_count(1)


def test_printing_draws_what_was_out_of_sight(opened, file):
    page = opened(file, "#verified")
    page.locator("#app").evaluate("app => { dispatchEvent(new Event('beforeprint')) }")
    expect(page.locator(".ledger-row")).to_have_count(2998)
    expect(page.locator(".list")).to_contain_text("3 more rows are left out of print.")
    page.locator("#app").evaluate("app => { dispatchEvent(new Event('afterprint')) }")
    expect(page.locator(".ledger-row").nth(200)).to_have_count(0)


def test_a_rule_says_why_it_speaks(opened, file):
    page = opened(file, "#issue-0001")
    reason = page.locator("#issue-0001 details")
    reason.locator("summary").click()
    expect(reason).to_contain_text("JAX's random functions are pure")


def test_coverage_tells_why_the_rest_is_open(opened, file):
    page = opened(file, "#coverage")
    expect(page.locator(".figure").first).to_contain_text("75%")
    expect(page.locator(".reasons").first).to_contain_text("the shape of x is not known")
    expect(page.locator(".tally tbody th").first).to_have_text("random")


def test_an_empty_report_says_so_in_every_view(opened, tmp_path):
    file = write_page(
        Report(1, Tool("jaxaudit", "0"), not_available=("data_flow", "boundaries")), tmp_path / "empty.html"
    )
    page = opened(file)
    expect(page.locator(".empty-title")).to_have_text("No issues found")
    for view, words in {
        "warnings": "No warnings",
        "axes": "No axes to follow",
        "source": "No source",
        "verified": "Nothing verified",
    }.items():
        page.goto(f"file://{file}#{view}")
        expect(page.locator(".empty-title")).to_have_text(words)
    page.goto(f"file://{file}#flow")
    expect(page.locator(".hint")).to_contain_text("needs exact shapes")


def test_a_narrow_screen_does_not_scroll_sideways(opened, file):
    page = opened(file, viewport={"width": 380, "height": 700})
    for view in ("issues", "flow", "axes", "source", "boundaries", "verified", "coverage"):
        page.goto(f"file://{file}#{view}")
        expect(page.locator("main")).to_have_attribute("data-view", view)
        assert page.locator("#app").evaluate("app => document.documentElement.scrollWidth <= innerWidth"), view


def test_nothing_but_its_own_script_may_run(browser, file):
    """The policy is in force: a script that is added later is refused."""
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(f"file://{file}")
    page.locator("main[data-ready=yes]").wait_for()
    page.locator("#app").evaluate(
        "app => { const made = document.createElement('script'); made.textContent = 'document.title = 1'; app.append(made) }"
    )
    page.wait_for_timeout(50)
    assert any(re.search("Content Security Policy", text) for text in refused)
    assert page.title() != "1"
    page.close()
