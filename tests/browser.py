"""Chromium without a screen, driven through chromedriver by HTTP, with the standard library alone."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]


def available() -> bool:
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One window; scripts return what they `return`, and may await."""

    def __init__(self, address: str, session: str) -> None:
        self.address = f"{address}/session/{session}"

    def open(self, path: Path, fragment: str = "") -> None:
        call("POST", f"{self.address}/url", {"url": path.resolve().as_uri() + fragment})

    def run(self, script: str):
        body = f"const done = arguments[arguments.length - 1]; (async () => {{ {script} }})().then(done);"
        return call("POST", f"{self.address}/execute/async", {"script": body, "args": []})

    def devtools(self, command: str, **parameters):
        return call("POST", f"{self.address}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def wait(self, condition: str, seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({condition});"):
            assert time.monotonic() < end, f"{condition} did not come true"
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def dark(self, on: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])

    def offline(self) -> None:
        self.devtools("Network.enable")
        self.devtools(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=0,
            uploadThroughput=0,
        )

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in call("POST", f"{self.address}/se/log", {"type": "browser"})]

    def press(self, key: str) -> None:
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        call("POST", f"{self.address}/actions", {"actions": [keyboard]})

    def click(self, x: float, y: float) -> None:
        moves = [
            {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        call("POST", f"{self.address}/actions", {"actions": [mouse]})

    def screenshot(self, path: Path, whole: bool = False) -> None:
        found = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def chromium():
    """A browser, gone afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        session = _session(address)
        yield Browser(address, session)
        call("DELETE", f"{address}/session/{session}")
    finally:
        driver.terminate()
        with suppress(subprocess.TimeoutExpired):
            driver.wait(10)


def call(method: str, url: str, body: dict | None = None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with LOCAL.open(request, timeout=60) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from None


def _session(address: str) -> str:
    chosen = {
        "browserName": "chrome",
        "goog:chromeOptions": {"args": FLAGS, "binary": shutil.which("chromium")},
        "goog:loggingPrefs": {"browser": "ALL"},
        "timeouts": {"script": 30000},
    }
    for _ in range(100):
        try:
            found = call("POST", f"{address}/session", {"capabilities": {"alwaysMatch": chosen}})
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return found["sessionId"]
    raise AssertionError("chromedriver did not answer")
