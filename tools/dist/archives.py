"""Archives whose bytes depend on the content of their files only."""

import gzip
import io
import lzma
import tarfile
from pathlib import Path


class Tree:
    """The entries of a tar archive: in the order of names, with one time, and owners by number."""

    def __init__(self, epoch):
        self.epoch, self.entries = epoch, {}

    def folder(self, name, mode=0o755, owner=0):
        """Adds a folder, and those above it."""
        for above in reversed(Path(name).parents[:-1]):
            self.entries.setdefault(str(above), self._folder(str(above), 0o755, 0))
        self.entries[name] = self._folder(name, mode, owner)

    def file(self, name, content, mode=0o644):
        """Adds a file with these bytes."""
        if "/" in name and str(Path(name).parent) not in self.entries:
            self.folder(str(Path(name).parent))

        entry = self._entry(name, mode, 0)
        entry.size = len(content)
        self.entries[name] = (entry, content)

    def copy(self, source, name):
        """Adds a file, or a folder with its files, from the disk. Of its mode, only `x` counts."""
        if source.is_dir():
            self.folder(name)
            for inner in sorted(source.iterdir()):
                self.copy(inner, f"{name}/{inner.name}")
            return

        is_program = source.stat().st_mode & 0o100
        self.file(name, source.read_bytes(), 0o755 if is_program else 0o644)

    def bytes(self):
        """The archive, uncompressed."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in sorted(self.entries):
                entry, content = self.entries[name]
                archive.addfile(entry, io.BytesIO(content))
        return out.getvalue()

    def _folder(self, name, mode, owner):
        entry = self._entry(name, mode, owner)
        entry.type = tarfile.DIRTYPE
        return entry, b""

    def _entry(self, name, mode, owner):
        entry = tarfile.TarInfo(name)
        entry.mode = mode
        entry.uid = entry.gid = owner
        entry.mtime = self.epoch
        return entry


def gzipped(data):
    # A file's name and time are part of the format; neither is given.
    return gzip.compress(data, compresslevel=9, mtime=0)


def xz(data):
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=9)
