"""The example client that reads text, as a newcomer runs it."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def test_the_text_of_an_image_is_read(server):
    page = ROOT / "examples" / "data" / "page.png"
    script = ROOT / "examples" / "clients" / "python" / "ocr.py"
    done = subprocess.run(
        [sys.executable, str(script), str(page), server.grpc, server.http], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    heads, lines = [], {}
    for line in done.stdout.splitlines():
        if not line.startswith(" "):
            heads.append(line)
            continue
        lines.setdefault(heads[-1].split()[0], []).append(line.split(maxsplit=1)[1])
    expected = page.with_suffix(".txt").read_text().splitlines()
    assert lines == {"ocr_stream": expected, "ocr": expected}
