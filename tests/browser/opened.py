"""Pages made by the program, and opened in a browser."""
import base64
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = TOP / "examples"
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


class Reports:
    """Makes pages with the program, in a folder of their own."""

    def __init__(self, program, models, folder):
        self.program, self.models, self.folder = program, models, folder

    def run(self, *arguments):
        subprocess.run([self.program, *map(str, arguments)], check=True, capture_output=True, timeout=120)

    def plan(self, model, name, *options):
        page = self.folder / f"{name}.html"
        self.run("plan", self.models / model, "--html", page, *options)
        return page

    def exported_otherwise(self, model):
        """A model as another exporter has it. Python's environment of the other tests has onnx."""
        made = self.folder / f"other_{model}"
        subprocess.run([TOP / "build/venv/bin/python", TOP / "tests/browser/other_export.py", self.models / model, made], check=True, timeout=120)
        return made

    def report(self, name, *files):
        page = self.folder / f"{name}.html"
        self.run("report", *files, "-o", page)
        return page

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


class Opened:
    """A report in a browser. Every message on the console and every request beside the page is a failure."""

    def __init__(self, browser, path, width=1280, height=800, scheme="light"):
        self.name = path.name
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme,
                                           permissions=["clipboard-read", "clipboard-write"])
        self.page = self.context.new_page()
        self.page.on("console", lambda message: failures.append(f"{self.name}: console: {message.text}"))
        self.page.on("pageerror", lambda error: failures.append(f"{self.name}: {error}"))
        self.page.on("request", lambda asked: check(asked.url == path.as_uri(), f"{self.name}: asked for {asked.url}"))
        self.page.goto(path.as_uri())
        self.settle()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def settle(self):
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def ask(self, script, argument=None):
        return self.page.evaluate("(argument) => { const page = window.plimsollPage; return (" + script + "); }", argument)

    def text(self, selector):
        return self.page.inner_text(selector)

    def place_of(self, tensor):
        """The middle of a tensor's rectangle, in the window."""
        x, y, width, height = self.ask("page.maps[0].rectangleOf(argument).map((value) => value / (window.devicePixelRatio || 1))", tensor)
        box = self.page.locator("canvas.map").first.bounding_box()
        return box["x"] + x + width / 2, box["y"] + y + height / 2

    def shoot(self, path):
        """A screenshot as WebP, which the browser itself encodes."""
        png = base64.b64encode(self.page.screenshot()).decode()
        blank = self.context.new_page()
        encoded = blank.evaluate("""async (png) => {
          const picture = await createImageBitmap(await (await fetch('data:image/png;base64,' + png)).blob());
          const canvas = new OffscreenCanvas(picture.width, picture.height);
          canvas.getContext('2d').drawImage(picture, 0, 0);
          const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/webp', quality: 0.9 })).arrayBuffer());
          return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
        }""", png)
        blank.close()
        path.write_bytes(base64.b64decode(encoded))

    def tab(self, name):
        self.page.get_by_role("tab", name=name, exact=True).click()
