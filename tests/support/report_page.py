"""A page object for the HTML report, or the page of a history, in a browser."""

from __future__ import annotations

from importlib.metadata import files
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import quote

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from pathlib import Path

    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

AXE_VIOLATIONS = """
const done = arguments[0];
axe.run({ resultTypes: ["violations"], iframes: false }).then(
  ({ violations }) => done(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))),
  (error) => done([String(error)]));
"""

SHOWS_UNPRINTABLE_TEXT = r"""
return /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)
"""

LOADS = count()

TEXTS = """
const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const elements = [...document.querySelectorAll(arguments[0])];
return elements.map((element) => (isShown(element) ? element.innerText.trim() : ""));
"""

VISIT = """
const [address, done] = arguments;
if (location.hash === address) done();
addEventListener("hashchange", () => setTimeout(done), { once: true });
location.hash = address;
"""

ROW = "#matrix .rows .row:not(.group)"


class ReportPage:
    """A page in a file that is open in a browser."""

    def __init__(self, driver: Chrome, path: Path) -> None:
        self.driver = driver
        self.url = path.as_uri()
        self.is_emulating = False
        self.earlier_requests: list[str] = []
        driver.get_log("browser")  # type: ignore[no-untyped-call]

    def go(self, address: str) -> None:
        """Load the page again at an address such as `#view=matrix`.

        The query differs each time, because the browser does not load a page again if only the fragment differs.
        """
        self.driver.get(f"{self.url}?{next(LOADS)}{address}")

    def visit(self, address: str) -> None:
        """Show what a load of this address shows. Only the matrix, which keeps its focus, is loaded for it."""
        if "view=matrix" in address:
            self.earlier_requests = self.requests()
            self.go(address)
        else:
            self.driver.execute_async_script(VISIT, address)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return self.one(selector).text

    def texts(self, selector: str) -> list[str]:
        """Return the shown texts of all elements of the selector, by one command."""
        return list(self.driver.execute_script(TEXTS, selector))

    @property
    def address(self) -> str:
        return str(self.driver.execute_script("return location.hash"))

    @property
    def cases(self) -> list[str]:
        """Ids of the cases in the matrix, from top to bottom."""
        return self.texts(f"{ROW} .title code")

    @property
    def heading(self) -> str:
        return next(element.text for element in self.all("h1") if element.is_displayed())

    def row(self, case: str) -> WebElement:
        return self.all(ROW)[self.cases.index(case)]

    def cells(self, case: str) -> list[str]:
        return [cell.text.replace("\n", " ") for cell in self.row(case).find_elements(By.CSS_SELECTOR, "[role=cell]")]

    def search(self, text: str) -> None:
        field = self.one("#search")
        field.clear()
        field.send_keys(text)

    def choose(self, choice: str) -> None:
        """Press the button of a filter, such as `verdict=fail`."""
        self.one(f'[data-choice="{choice}"]').click()

    def evidence(self, subject: str) -> WebElement:
        found = (box for box in self.all("#case details.evidence") if box.get_attribute("data-subject") == subject)
        return next(found)

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_until(self, selector: str, limit: int = 200) -> WebElement:
        """Press Tab until the focus is on an element of the selector."""
        for _ in range(limit):
            if self.driver.execute_script("return document.activeElement.matches(arguments[0])", selector):
                return self.driver.switch_to.active_element
            self.press(Keys.TAB)
        raise AssertionError(f"{limit} times Tab did not reach {selector}")

    def resize(self, width: int, *, mobile: bool = False) -> None:
        """Set the width of the window until `restore`."""
        self.is_emulating = True
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)

    def prefer(self, scheme: str) -> None:
        """Set the preferred color scheme until `restore`."""
        self.is_emulating = True
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def restore(self) -> None:
        """Set the first size and color scheme again."""
        if not self.is_emulating:
            return
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def settle(self) -> None:
        """Wait until the page has handled a click or a key."""
        self.driver.execute_async_script("setTimeout(arguments[0], 50)")

    def wait(self, selector: str) -> None:
        WebDriverWait(self.driver, 5).until(lambda _: any(element.is_displayed() for element in self.all(selector)))

    def overflow(self) -> int:
        """Return how many pixels the page is wider than the window."""
        root = "document.documentElement"
        return int(self.driver.execute_script(f"return {root}.scrollWidth - {root}.clientWidth"))

    def shows_unprintable_text(self) -> bool:
        """Return whether the page shows control characters, or characters that change the direction of text."""
        return bool(self.driver.execute_script(SHOWS_UNPRINTABLE_TEXT))

    def axe_violations(self) -> list[str]:
        """Return what axe-core finds in the page; only the JavaScript file of axe-playwright-python is used."""
        if not self.driver.execute_script("return 'axe' in window"):
            (file,) = (file for file in files("axe-playwright-python") or () if file.name == "axe.min.js")
            self.driver.execute_script(file.read_text(encoding="utf-8"))
        return list(self.driver.execute_async_script(AXE_VIOLATIONS))

    def violations(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]

    def requests(self) -> list[str]:
        names = "return performance.getEntriesByType('resource').map((e) => e.name)"
        return [*self.earlier_requests, *self.driver.execute_script(names)]


def case_address(case: str) -> str:
    return f"#case={quote(case, safe='')}"
