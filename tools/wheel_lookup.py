"""Builds, serves and looks up with the installed package: `make wheels`."""

import tempfile
from pathlib import Path

import pypapir

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "words.papir"
    pypapir.build({"apple": "a fruit", "fern": "a plant"}, file)
    with pypapir.serve(file) as service:
        with pypapir.connect(service.url, state=folder, pin=False) as words:
            found = words.get("apple"), words.get("moss")

if found != (b"a fruit", None):
    raise SystemExit(f"found {found}: expected the value of apple, and none of moss")
print(f"pypapir {pypapir.__version__} of {Path(pypapir.__file__).parent}: looked up")
