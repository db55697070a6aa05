"""What the site has beyond the files of docs: the start page, links to files of the repository, and Mermaid.

mkdocs calls these functions by their names (mkdocs.yml, hooks). A warning fails the build, which is strict.
"""

import logging
import os
import posixpath
import re

from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

log = logging.getLogger("mkdocs.hooks.joiner")
REPOSITORY = "https://github.com/joiner-sh/joiner/blob/main/"
START = {"index.md": "README.md"}  # pages of the site that are files of the repository's root
MERMAID = "assets/mermaid.min.js"
STYLES = "assets/wide.css"
# Tables are as wide as the page. ARNs in them may break, and names in the first column do not.
WIDE = """.md-grid { max-width: 76rem; }
.md-typeset table:not([class]) { display: table; }
.md-typeset table:not([class]) td { min-width: 5.5rem; }
.md-typeset table:not([class]) td code { word-break: normal; overflow-wrap: anywhere; }
.md-typeset table:not([class]) td:first-child code { white-space: nowrap; }
.md-typeset .mermaid { overflow-x: auto; }
"""


def root(config):
    return os.path.dirname(config.config_file_path)


def on_files(files, config):
    for page, source in START.items():
        files.append(File.generated(config, page, abs_src_path=os.path.join(root(config), source)))
    files.append(File.generated(config, STYLES, content=WIDE))
    files.append(File.generated(config, MERMAID, abs_src_path=os.environ["JOINER_MERMAID"]))
    return files


LINK = re.compile(r"(\]\(|\bsrc=\"|\bsrcset=\"|\bhref=\"|^\[[^\]]+\]:\s+)([^)\s\"]+)")


def on_page_markdown(markdown, page, config, files):
    """Links are relative to the file in the repository. Those to pages become links of the site, the others links to the repository."""
    here = page.file.src_uri
    source = START.get(here, "docs/" + here)
    lines, fence = markdown.split("\n"), None
    for i, line in enumerate(lines):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or mark[1].startswith(fence)):
            fence = mark[1] if fence is None else None
        elif fence is None:
            lines[i] = LINK.sub(lambda link: link[1] + moved(link[2], source, here, config), line)
    return "\n".join(lines)


def moved(link, source, here, config):
    path, hash, anchor = link.partition("#")
    if not path or re.match(r"[a-z]+:", path) or path.startswith("/"):
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    for page, start in START.items():
        if target == start:
            target = "docs/" + page
    if target.startswith("docs/"):
        return posixpath.relpath(target[len("docs/"):], posixpath.dirname(here) or ".") + hash + anchor
    if target.startswith("..") or not os.path.exists(os.path.join(root(config), target)):
        log.warning("%s links to %s, which the repository does not have", source, link)
    return REPOSITORY + target + hash + anchor


def on_post_page(output, page, config):
    """Pages with a diagram load Mermaid from the site. The theme loads it from a host where no script of the page has."""
    if '<pre class="mermaid">' not in output:
        return output
    script = '<script src="%s"></script>' % get_relative_url(MERMAID, page.url)
    return output.replace("</head>", script + "</head>", 1)
