#!/usr/bin/env python3
"""Opens reports in Chromium and uses them as a person would: check_report.py PROGRAM MODELS [--pictures FOLDER]

With --pictures it also writes the screenshots of docs/report.md."""
import argparse
import pathlib
import tempfile

from playwright.sync_api import sync_playwright

import synthetic
from opened import EXAMPLES, Opened, Reports, check, failures

CHROMIUM = "/usr/bin/chromium"
HOSTILE = ["</script><script>window.hurt = 1</script>", "<img src=x onerror='window.hurt = 1'>", "a \"b\" 'c' & d", "Größe 張量 🚢\u2028"]


def first_screen(browser, page):
    with Opened(browser, page) as report:
        headline = report.text("#headline")
        peak = report.ask("page.plan.strings[page.plan.stepName[page.plan.peakStep]]")
        check(peak in headline, f"the headline names the operator of the peak: {headline!r}")
        largest = report.ask("page.plan.nameOf(page.plan.ownersAt(page.plan.peakStep, page.plan.mainRegion)[0])")
        check(largest in headline, f"the headline names the largest owner: {headline!r}")
        check("lower bound" in headline and "%" in headline, f"the headline tells the distance to the bound: {headline!r}")
        box = report.page.locator("#headline").bounding_box()
        check(box["y"] + box["height"] < 400, "the answer stands in the upper half of the first screen")
        live = report.ask("page.plan.live[page.plan.peakStep]")
        owned = report.ask("page.plan.ownersAt(page.plan.peakStep, page.plan.mainRegion).reduce((sum, t) => sum + page.plan.bytes[t], 0)")
        check(live == owned, f"the waterline at the peak, {live}, is the sum of its owners, {owned}")


def using_the_map(browser, page):
    with Opened(browser, page) as report:
        tensor = report.ask("page.plan.ownersAt(page.plan.peakStep, page.plan.mainRegion)[0]")
        name = report.ask("page.plan.nameOf(argument)", tensor)
        report.page.mouse.move(*report.place_of(tensor))
        report.settle()
        tip = report.text("#tip")
        for wanted in (name, "lives steps", "made by", "float32["):
            check(wanted in tip, f"hovering shows {wanted!r}: {tip!r}")
        report.page.mouse.click(*report.place_of(tensor))
        report.settle()
        check(report.ask("page.mark.pinned") == tensor, "a click pins")
        details = report.text("#side-panel")
        for wanted in (name, "read by", "bytes used before by", "why not more"):
            check(wanted in details, f"the panel shows {wanted!r}: {details!r}")
        dimmed = report.ask("Array.from({ length: page.plan.count }, (_, t) => t).filter((t) => page.maps[0].isDimmed(t))")
        wrong = report.ask("argument[1].filter((t) => page.plan.conflict(t, argument[0])).length", [tensor, dimmed])
        check(dimmed and wrong == 0, f"what never lives with it is dimmed, and only that: {len(dimmed)}, {wrong}")
        report.page.keyboard.press("Escape")
        check(report.ask("page.mark.pinned") == -1, "Escape unpins")
        span = report.ask("page.view.xEnd - page.view.xBegin")
        report.page.mouse.move(*report.place_of(tensor))
        report.page.mouse.wheel(0, -300)
        report.settle()
        zoomed = report.ask("page.view.xEnd - page.view.xBegin")
        check(zoomed < span, f"the wheel zooms: {span} to {zoomed}")
        begin = report.ask("page.view.xBegin")
        x, y = report.place_of(tensor)
        report.page.mouse.down()
        report.page.mouse.move(x - 120, y, steps=4)
        report.page.mouse.up()
        check(report.ask("page.view.xBegin") != begin and report.ask("page.mark.pinned") == -1, "dragging moves and pins nothing")
        report.page.locator("canvas.map").first.focus()
        begin = report.ask("page.view.xBegin")
        report.page.keyboard.press("ArrowLeft")
        check(report.ask("page.view.xBegin") < begin, "arrow keys move")
        report.page.keyboard.press("+")
        check(report.ask("page.view.xEnd - page.view.xBegin") < zoomed, "+ zooms")
        report.page.keyboard.press("0")
        check(report.ask("page.view.xEnd - page.view.xBegin") == span, "0 shows all")
        report.page.keyboard.press("n")
        check(report.ask("page.mark.pinned") == tensor, "n pins the largest owner of the moment")
        report.page.keyboard.press("Escape")
        report.page.keyboard.press("/")
        report.page.keyboard.type(name)
        report.settle()
        check("found" in report.text("#found") and report.ask("page.mark.found[argument]", tensor) == 1, "search finds by name")
        report.page.keyboard.press("Enter")
        check(report.ask("page.mark.pinned >= 0 && page.mark.found[page.mark.pinned] === 1"), "Enter goes to one found")


def using_the_waterline(browser, page):
    with Opened(browser, page) as report:
        box = report.page.locator("#waterline").bounding_box()
        report.page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + box["height"] / 2)
        report.settle()
        moment = report.ask("page.mark.moment")
        check(moment != report.ask("page.plan.peakStep"), "a click chooses another moment")
        check(f"At step {moment:,}" in report.text("#side-panel"), "its owners are listed")
        rows = report.page.locator("#side-panel tbody tr td:nth-child(2)").all_inner_texts()
        check(len(rows) == min(25, report.ask("page.plan.ownersAt(page.mark.moment, page.choice.region).length")), "each owner has a row")
        for tab in ("by operator", "by module"):
            report.tab(tab)
            check(report.page.locator("#side-panel tbody tr").count() > 0, f"owners {tab}")
        report.page.click("#to-peak")
        check("At the peak" in report.text("#side-panel"), "the button leads to the peak")
        report.page.select_option("#region", "-1")
        report.settle()
        check(report.ask("page.choice.region") == -1, "all regions can be shown")


def using_tables(browser, page):
    with Opened(browser, page) as report:
        column = "#table-panel tbody td:nth-child(2)"
        sizes = report.ask("page.plan.ownersAt(0, -1).length >= 0 && Array.from(page.plan.bytes).sort((a, b) => b - a)[0]")
        first = report.text(column + " >> nth=0")
        report.page.click("#table-panel th:nth-child(2) button")
        check(report.text(column + " >> nth=0") != first, "a click on a heading sorts the other way round")
        name = report.ask("page.plan.nameOf(page.plan.bytes.indexOf(argument))", sizes)
        report.page.fill("#table-panel input[type=search]", name)
        shown = report.page.locator("#table-panel tbody tr td:first-child").all_inner_texts()
        check(shown and all(name in text for text in shown[:1]), f"the filter keeps rows with {name}: {shown[:3]}")
        report.page.get_by_role("button", name="copy as CSV").last.click()
        report.page.locator("#table-panel [role=status]", has_text="copied").wait_for()
        copied = report.page.evaluate("() => navigator.clipboard.readText()")
        lines = copied.strip().splitlines()
        check(lines[0].startswith("tensor,bytes,") and name in copied and len(lines) == len(shown) + 1, f"the copy is CSV: {copied[:200]!r}")
        report.page.click("#table-panel tbody tr td:first-child button >> nth=0")
        check(report.ask("page.mark.pinned") >= 0, "a row pins its tensor")
        for tab in ("top operators", "reuse by technique", "zero copies refused", "regions and notes"):
            report.tab(tab)
            check(report.text("#table-panel").strip() != "", f"{tab} says something")


def themes_and_sizes(browser, page):
    for width, height, scheme in ((1280, 800, "light"), (3840, 2160, "dark"), (800, 1000, "light")):
        with Opened(browser, page, width, height, scheme) as report:
            check(report.page.evaluate("document.documentElement.dataset.theme") == scheme, f"the theme follows the system: {scheme}")
            report.page.click("#theme")
            check(report.page.evaluate("document.documentElement.dataset.theme") != scheme, "the button changes it")
            wide = report.page.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, f"nothing is cut off at {width} pixels: {wide}")
            letters = float(report.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)"))
            check(letters >= (24 if width == 3840 else 14), f"letters of {letters} pixels at {width}")
            check(len(report.page.pdf()) > 20000, "it prints")


def side_by_side(browser, page):
    with Opened(browser, page) as report:
        check(report.page.locator("canvas.map").count() == 2, "both maps are shown")
        check(report.page.locator("#plans tbody tr").count() == 2, "both have a line")
        check("lowest" in report.text("#plans"), "the lower peak is named")
        check(report.page.locator("#table-panel tbody tr").count() > 0, "what changed at the peak is listed")
        report.page.click("#plans tbody tr:nth-child(2) button")
        check(report.ask("page.active") == 1, "the other can be chosen")
        report.page.uncheck("#side-by-side")
        check(report.page.locator("canvas.map").count() == 1, "one map can be shown alone")


def times(browser, page):
    with Opened(browser, page) as report:
        check("100 MiB" in report.text("#headline"), f"the peak of the table: {report.text('#headline')!r}")
        report.page.select_option("#axis", "time")
        report.settle()
        check(report.ask("page.choice.byTime && page.view.xEnd > 1000"), "the axis is time")
        check("ends inside a row" in report.text("#tables") or report.tab("regions and notes") is None and
              "ends inside a row" in report.text("#tables"), "a note says that the file was cut off")


def recorded_runs(browser, reports):
    folder = reports.folder / "profile"
    reports.run("run", EXAMPLES / "tiny_cnn.onnx", "--shape", "image=2x3x64x64", "--repeat", 5, "--profile", folder)
    with Opened(browser, next(folder.glob("report_*.html"))) as report:
        report.page.select_option("#axis", "time")
        report.settle()
        check(report.ask("page.choice.byTime && page.view.xBegin === 0"), "the axis is time, from the first operator on")
        tensor = report.ask("page.plan.ownersAt(page.plan.peakStep, page.plan.mainRegion)[0]")
        report.page.mouse.click(*report.place_of(tensor))
        check(report.ask("page.mark.pinned") == tensor, "tensors of a run can be pinned")
        tip = report.text("#tip") + report.text("#side-panel")
        kernel = report.ask("page.plan.kernelOf(page.plan.producer[argument])", tensor)
        for wanted in (kernel, " read, ", " written", "of the roofline", "float32["):
            check(wanted and wanted in tip, f"what is pinned tells what its operator did, {wanted!r}: {tip!r}")
        report.page.mouse.move(0, 0)
        report.page.mouse.move(*report.place_of(tensor))
        report.settle()
        check("of the roofline" in report.text("#tip"), f"the pointer too: {report.text('#tip')!r}")
        report.tab("top operators")
        heads = report.page.locator("#table-panel th").all_inner_texts()
        check([head for head in heads if head in ("time", "kernel", "read", "written", "of the roofline")] ==
              ["time", "kernel", "read", "written", "of the roofline"], f"the table of operators has its columns: {heads}")
        report.page.click("#table-panel th:has-text('time') button")
        times = report.ask("Array.from(page.plan.took).sort((a, b) => b - a)")
        check(report.page.locator("#table-panel tbody tr").count() > 0 and times[0] > 0, "operators are sorted by time")
        longest = report.ask("page.plan.strings[page.plan.stepName[page.plan.took.indexOf(argument)]]", times[0])
        check(report.text("#table-panel tbody td >> nth=0") == longest, f"the longest comes first: {longest}")
        check("lower bound" in report.text("#headline") and "not known" not in report.text("#headline"), "a run knows the bound of its plan")
        regions = report.page.locator("#region option").all_inner_texts()
        check(any("weights" in region for region in regions), f"weights have a region: {regions}")
        bytes_held = report.ask("page.plan.ownersAt(page.plan.peakStep, page.plan.mainRegion).reduce((sum, t) => sum + page.plan.bytes[t], 0)")
        check(bytes_held == report.ask("page.plan.facts.peak"), "the owners of the peak are all of it")


def nothing_of_its_own(browser, reports):
    """Runs that took no memory of their own still show where their time went."""
    folder = reports.folder / "profile_of_nothing"
    reports.run("run", EXAMPLES / "reference_output.onnx", "--profile", folder)
    with Opened(browser, next(folder.glob("report_*.html"))) as report:
        report.tab("top operators")
        check(report.page.locator("#table-panel tbody tr").count() > 0, "operators are listed")


def policies(browser, reports):
    page = reports.plan("shufflenet_v2_x1_0.onnx", "every_policy", "--policy", "all")
    with Opened(browser, page) as report:
        check(report.page.locator("#plans tbody tr").count() == 4, "each policy has a line")
        names = report.page.locator("#plans tbody tr td:first-child").all_inner_texts()
        check([name.split("policy ")[1] for name in names] == ["0", "2", "3", "4"], f"and its name: {names}")
        check(report.page.locator("canvas.map").count() == 4, "each has its map, on the same axes")


def hostile(browser, reports, page):
    data = synthetic.data_of(page.read_text(encoding="utf-8"))
    plan = data["plans"][0]
    data["title"] = plan["name"] = HOSTILE[0]
    for i in range(len(plan["strings"])):
        plan["strings"][i] = HOSTILE[i % len(HOSTILE)] if i else ""
    plan["notes"] = [[text, text] for text in HOSTILE]
    plan["ports"] = [[text, True, False, text] for text in HOSTILE]
    plan["regions"][0][0] = HOSTILE[1]
    path = reports.write("hostile.html", synthetic.with_data(page.read_text(encoding="utf-8"), data))
    again = reports.report("hostile_again", path)
    for each in (path, again):
        with Opened(browser, each) as report:
            check(HOSTILE[0] in report.text("#title") or each is again, "a title is text")
            tensor = report.ask("page.plan.ownersAt(page.plan.peakStep, page.plan.mainRegion)[0]")
            report.page.mouse.move(*report.place_of(tensor))
            report.page.mouse.click(*report.place_of(tensor))
            for tab in ("top operators", "zero copies refused", "regions and notes"):
                report.tab(tab)
            check(HOSTILE[1] in report.text("#table-panel"), "names stay text in tables")
            check(report.page.evaluate("window.hurt") is None, "no name of the data runs")
            check(report.page.locator("img").count() == 0, "no name of the data becomes markup")


def panning_a_large_report(browser, reports, page):
    large = reports.write("large.html", synthetic.with_data(page.read_text(encoding="utf-8"), synthetic.large_report(100_000, 20_000)))
    for width, height in ((1280, 800), (3840, 2160)):
        with Opened(browser, large, width, height) as report:
            client = report.context.new_cdp_session(report.page)
            # Time of the page's own thread, so that a busy machine does not count.
            client.send("Performance.enable", {"timeDomain": "threadTicks"})

            def thread_seconds():
                return next(m["value"] for m in client.send("Performance.getMetrics")["metrics"] if m["name"] == "ThreadTime")

            report.ask("page.view.zoomX(0.4, 0.5)")
            frames, warm_up, spent = 40, 5, []
            for i in range(warm_up + frames):
                before = thread_seconds()
                report.page.evaluate("""(by) => { const page = window.plimsollPage; page.view.pan(by, by / 4); page.draw();
                                        page.maps[0].tensorAt(300, 100); }""", 0.02 if i % 20 < 10 else -0.02)
                spent.append(1000 * (thread_seconds() - before))
                drawn = report.ask("({ ...page.maps[0].drawn, area: page.maps[0].plotWidth * page.maps[0].plotHeight, all: page.plan.count })")
                # What a frame costs: each tensor once, and each pixel about once, however many tensors lie in it.
                check(0 < drawn["rectangles"] <= drawn["all"] and drawn["pixels"] <= 2 * drawn["area"] + drawn["rectangles"],
                      f"a frame fills {drawn}")
            spent = sorted(spent[warm_up:])
            print(f"100,000 tensors at {width}x{height}: {frames} frames, processor time {spent[frames // 2]:.1f} ms, at most {spent[-1]:.1f} ms; "
                  f"{drawn['rectangles']} rectangles and {drawn['pixels'] / drawn['area']:.2f} times the picture's pixels in the last")


def table_of_operators(rows):
    lines = ["Device_id,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),Allocation Total Reserved(KB),"
             "Release Total Allocated(KB),Release Total Reserved(KB),Device"]
    for i in range(rows):
        total = 1024 * (100 if i == rows // 2 else 50 + i % 40)
        lines.append(f'0,"op {i}, <b>",{512 * (1 + i % 7)}.000,{100 * i}.000,{150 + i % 900}.000,{total},131072,{total // 2},131072,CPU:0')
    return "\n".join(lines) + '\n0,"cut off'


def pictures(browser, reports, folder):
    folder.mkdir(parents=True, exist_ok=True)

    def shoot(page, name, act=None, **options):
        with Opened(browser, page, **{"width": 1280, "height": 800, **options}) as report:
            if act:
                act(report)
                report.settle()
            report.shoot(folder / f"{name}.webp")

    shoot(reports.plan("resnet50.onnx", "resnet50"), "report-resnet50")
    shoot(reports.plan("gpt_24_train.plan.onnx", "gpt_24_train"), "report-gpt-24-train")

    def pin(report):
        tensor = report.ask("page.plan.ownersAt(page.plan.peakStep, page.plan.mainRegion)[0]")
        report.page.mouse.click(*report.place_of(tensor))

    shoot(reports.plan("unet.onnx", "unet"), "report-unet-pinned", pin, scheme="dark")

    def by_module(report):
        report.tab("by module")
        report.page.select_option("#colour", "module")

    shoot(reports.plan("vit_b_16.onnx", "vit_b_16"), "report-vit-by-module", by_module)

    def times_of_operators(report):
        report.page.select_option("#axis", "time")
        report.tab("top operators")
        report.page.click("#table-panel th:has-text('time') button")
        report.page.locator("#table-tabs").scroll_into_view_if_needed()
        report.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")

    recorded = reports.folder / "recorded"
    reports.run("run", EXAMPLES / "tiny_cnn.onnx", "--shape", "image=16x3x64x64", "--profile", recorded)
    shoot(next(recorded.glob("report_*.html")), "report-run-operators", times_of_operators)


def questions(browser, reports, folder):
    """The questions that need two plans."""
    base = reports.plan("mobilenet_v2_dynamic.onnx", "batch_1", "--shape", "batch=1")
    larger = reports.plan("mobilenet_v2_dynamic.onnx", "batch_16", "--shape", "batch=16")
    both = reports.report("batches", base, larger)
    side_by_side(browser, both)
    plain = reports.plan("shufflenet_v2_x1_0.onnx", "none", "--memory-optimization-policy", "None")
    priority = reports.plan("shufflenet_v2_x1_0.onnx", "memory_priority", "--memory-optimization-policy", "MemoryPriority")
    optimised = reports.report("policies", plain, priority)
    side_by_side(browser, optimised)
    one = reports.plan("efficientnet_b0.onnx", "efficientnet_b0")
    other = reports.plan(reports.exported_otherwise("efficientnet_b0.onnx"), "other_export")
    exports = reports.report("exports", one, other)
    side_by_side(browser, exports)
    if folder:
        for page, name in ((both, "report-batch-16"), (optimised, "report-memory-priority"), (exports, "report-two-exports")):
            with Opened(browser, page) as report:
                report.shoot(folder / f"{name}.webp")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        reports = Reports(options.program.resolve(), options.models.resolve(), pathlib.Path(folder))
        page = reports.plan("resnet50.onnx", "page")
        first_screen(browser, page)
        first_screen(browser, reports.plan("gpt_24_train.plan.onnx", "train"))
        using_the_map(browser, page)
        using_the_waterline(browser, page)
        using_tables(browser, page)
        themes_and_sizes(browser, page)
        times(browser, reports.report("recorded", reports.write("operator_memory_1.csv", table_of_operators(2000))))
        recorded_runs(browser, reports)
        nothing_of_its_own(browser, reports)
        policies(browser, reports)
        hostile(browser, reports, page)
        panning_a_large_report(browser, reports, page)
        if options.pictures:
            pictures(browser, reports, options.pictures)
        questions(browser, reports, options.pictures)
        browser.close()
    for failure in failures:
        print("FAIL", failure)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
