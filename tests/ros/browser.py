# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A real browser without a screen, driven by its own debugging protocol."""

from __future__ import annotations

import base64
import io
import itertools
import json
from pathlib import Path
import shutil
import subprocess
import time
from typing import Any
import urllib.request

from node_processes import at_most_s
import numpy as np

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'chrome')


def find_browser() -> str | None:
    """Return the browser's program, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """
    One page in headless Chromium.

    :param folder: for its profile.
    :param url: the page.
    """

    def __init__(self, folder: Path, url: str) -> None:
        from websockets.sync.client import connect

        program = find_browser()
        assert program is not None
        self._process = subprocess.Popen(
            [
                program,
                '--headless=new',
                '--no-sandbox',
                '--no-first-run',
                '--use-angle=swiftshader',  # WebGL without a GPU
                '--enable-unsafe-swiftshader',
                '--ignore-gpu-blocklist',
                '--window-size=700,450',
                '--remote-debugging-port=0',
                f'--user-data-dir={folder}',
                url,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        port = self._await(lambda: (folder / 'DevToolsActivePort').read_text().split()[0])
        self._page = connect(self._await(lambda: self._address(port, url)), max_size=2**26)

    def text(self) -> str:
        """Return what the page says."""
        found = self._call('Runtime.evaluate', expression='document.body.innerText')
        return str(found['result'].get('value', ''))

    def picture(self, path: Path | None = None) -> np.ndarray:
        """Return what the page looks like, [H, W, 3]."""
        from PIL import Image

        data = base64.b64decode(self._call('Page.captureScreenshot')['data'])
        if path is not None:
            path.write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert('RGB')).astype(float)

    def close(self) -> None:
        """End it."""
        self._page.close()
        self._process.terminate()
        self._process.wait(timeout=at_most_s(10))

    def _call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        self._page.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        while True:
            answer = json.loads(self._page.recv(timeout=at_most_s(60)))
            if answer.get('id') == number:
                assert 'error' not in answer, answer
                return answer['result']

    @staticmethod
    def _address(port: str, url: str) -> str:
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/json', timeout=10) as answer:
            pages = json.load(answer)
        return next(p['webSocketDebuggerUrl'] for p in pages if p['url'].startswith(url))

    @staticmethod
    def _await(ask: Any) -> Any:
        until_s = time.monotonic() + at_most_s(30)
        while True:
            try:
                return ask()
            except (OSError, StopIteration, IndexError):
                assert time.monotonic() < until_s, 'the browser does not start'
                time.sleep(0.2)
