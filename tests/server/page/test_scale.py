"""Two thousand options and very many tells: shown at once, and smooth."""

import os
import time

import numpy as np
import pytest
from playwright.sync_api import expect

import surepick as sp

# The documentation has figures for 100,000 tells, which take ten seconds to make.
OPTIONS, TELLS = 2_000, int(os.environ.get("SUREPICK_TELLS", 20_000))


@pytest.fixture(scope="module")
def large(served):
    """A study with that many tells in its database, not finished."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(OPTIONS, 12))
    means = features @ rng.normal(size=12) * 0.01
    labels = [f"option {i:04d}" for i in range(OPTIONS)]
    study = sp.create_study(
        "large",
        sp.Problem(features, labels=labels, noise=1.0),
        sp.algorithms.get("pooled-peleg", delta=1e-6),
        served.storage,
    )
    told = 0
    while told < TELLS:
        pulls = study.ask(min(20_000, TELLS - told))
        arms = np.array([pull.arm for pull in pulls])
        rewards = means[arms] + rng.normal(size=len(arms))
        study.tell_many(list(zip([pull.id for pull in pulls], rewards.tolist())))
        told += len(pulls)
    assert not study.finished
    return study


@pytest.mark.validation
def test_a_large_study_shows_fast_and_stays_smooth(page, large):
    expect(page.get_by_role("link", name="large")).to_be_visible()
    seconds = []
    for _ in range(3):
        page.goto("/#/studies")
        page.get_by_role("link", name="large").wait_for()
        began = time.perf_counter()
        page.goto("/#/studies/large")
        page.locator(".grid-row .name").first.wait_for()
        seconds.append(time.perf_counter() - began)
    expect(page.locator(".headline")).to_contain_text(f"{TELLS:,} measurements")
    rows = page.locator(".grid-row")
    assert rows.count() < 60  # only those in sight exist
    frames = page.evaluate(_SCROLL)
    expect(page.get_by_role("table", name="Options")).to_have_attribute("aria-rowcount", "2001")
    began = time.perf_counter()
    page.get_by_label("Search options").fill("option 1999")
    expect(page.locator(".grid-row:visible")).to_have_count(1)
    search = time.perf_counter() - began
    print(
        f"\n{OPTIONS:,} options, {TELLS:,} tells: shown in {min(seconds):.2f} to "
        f"{max(seconds):.2f} s; search {search:.2f} s; scrolling: {frames['fps']:.0f} frames per "
        f"second, longest pause {frames['longest']:.0f} ms"
    )


# Scroll through the whole table, a screen per frame, and count the frames.
_SCROLL = """async () => {
  const box = document.querySelector(".grid-scroll");
  const began = performance.now();
  let frames = 0, last = began, longest = 0;
  while (box.scrollTop + box.clientHeight < box.scrollHeight - 1) {
    box.scrollTop += box.clientHeight;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    frames += 1;
  }
  return {fps: 1000 * frames / (performance.now() - began), longest};
}"""
