"""Hooks of MkDocs for the documentation site (make site).

The Markdown in docs/ is written for GitHub. These hooks make the same files work as a site:

- Links to folders, and to files outside docs/, become links to the site's copy of that file, or
  links below the repository's address (`extra.repository`), or plain text if there is no address.
- Some files of the root are pages of the site (`ROOT_PAGES`).
- A line with a link to a section and `<!-- on the site: the section -->` becomes that section.
- `decisions/` in the navigation stands for all decisions, after their list by subject.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs"
# Files of the root → pages of the site.
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "CHANGELOG.md": "changelog.md",
}
# The start page has the README's sections.
ALIASES = {"README.md": "index.md", "docs/decisions": "decisions/README.md"}
DECISIONS = "decisions/"
# Pages whose tables need the width of the table of contents.
WIDE = {
    "anonymity.md",
    "attacks.md",
    "audit.md",
    "capacity.md",
    "compare.md",
    "costs.md",
    "evidence.md",
    "notes/all-schemes.md",
}

FENCE = re.compile(r"^(```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
SECTION = re.compile(r"^\[[^\]]*\]\(([^()\s]+)#([^()\s]+)\) <!-- on the site: the section -->$", re.MULTILINE)


def on_config(config):
    config.nav = [expanded(item) for item in config.nav]
    if repository := repository_of(config):
        link = {"icon": "fontawesome/brands/git-alt", "link": repository, "name": "Source code"}
        config.extra["social"] = [link]
    return config


def on_files(files, config):
    for source, page in ROOT_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=for_site(text, "", page, config)))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["toc"]
    if page.file.src_uri in ROOT_PAGES.values() or page.file.generated_by:
        return markdown
    folder = posixpath.join(DOCS, posixpath.dirname(page.file.src_uri))
    included = SECTION.sub(lambda found: section(found, folder, page.file.src_uri, config), markdown)
    return for_site(included, folder, page.file.src_uri, config)


def on_page_content(html, page, config, files):
    # A cell without text is no heading, and keyboards scroll only boxes that take the focus.
    html = re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", html)
    box = '<div class="scroll" role="group" aria-label="Table" tabindex="0">'
    return html.replace("<table>", f"{box}<table>").replace("</table>", "</table></div>")


def on_post_page(output, page, config):
    # The theme's dialog for searches has no name for screen readers.
    return output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)


def repository_of(config):
    return (config.extra.get("repository") or "").rstrip("/")


def expanded(item):
    """Replaces `decisions/` in an item of the navigation by the list of all decisions."""
    if isinstance(item, dict):
        return {title: whole(value) for title, value in item.items()}
    return item


def whole(value):
    if value == DECISIONS:
        return [DECISIONS + "README.md"] + [DECISIONS + path.name for path in decisions()]
    return [expanded(item) for item in value] if isinstance(value, list) else value


def decisions():
    return sorted((ROOT / DOCS / DECISIONS).glob("[0-9]*.md"))


def section(found, folder, page, config):
    """Returns a section of a file, without its heading, with links for `page`."""
    source = posixpath.normpath(posixpath.join(folder, found[1]))
    text = (ROOT / source).read_text(encoding="utf-8")
    headings = list(re.finditer(r"^(#+) (.+)$", without_fences(text), re.MULTILINE))
    for i, heading in enumerate(headings):
        if heading[2].lower().replace(" ", "-") == found[2]:
            after = (later.start() for later in headings[i + 1:] if len(later[1]) <= len(heading[1]))
            body = text[heading.end():next(after, len(text))]
            return for_site(body.strip(), posixpath.dirname(source), page, config)
    raise PluginError(f"{source} has no section #{found[2]}, which {DOCS}/{page} includes")


def without_fences(text):
    """Blanks fenced code, so that a comment in it is not taken for a heading."""
    return FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def for_site(text, folder, page, config):
    """Rewrites the links of Markdown from `folder` of the repository for a page of the site."""
    def link(found):
        image, label, target = found.groups()
        new = address(target, folder, page, config)
        return label if new is None else f"{image}[{LINK.sub(link, label)}]({new})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def address(target, folder, page, config):
    """Returns the site's address of a link's target, or None if it has none."""
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return target
    path = posixpath.normpath(posixpath.join(folder, path))
    place = ROOT_PAGES.get(path) or ALIASES.get(path)
    if place is None and path.startswith(DOCS + "/") and not (ROOT / path).is_dir():
        place = path.removeprefix(DOCS + "/")
    if place is not None:
        return posixpath.relpath(place, posixpath.dirname(page) or ".") + mark + anchor
    if path.startswith("..") or not (ROOT / path).exists():
        raise PluginError(f"{page} links to {target}, which does not exist")
    repository = repository_of(config)
    return f"{repository}/blob/HEAD/{path}{mark}{anchor}" if repository else None
