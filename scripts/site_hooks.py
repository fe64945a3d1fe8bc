"""Puts the Mermaid that NiceGUI ships into the site, so that its diagrams are drawn without asking another host."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nicegui

_SHIPPED = Path(nicegui.__file__).parent / "elements" / "mermaid" / "dist"
_DRAWN = """import { mermaid } from "./mermaid/index.js";
const dark = document.body.dataset.mdColorScheme === "slate";
mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "default" });
mermaid.run({ querySelector: ".diagram" });
"""


def on_post_build(config: Any) -> None:
    """What a page needs to draw its diagrams, beside the other assets."""
    assets = Path(config["site_dir"]) / "assets"
    shutil.copytree(_SHIPPED, assets / "mermaid", dirs_exist_ok=True)
    (assets / "diagrams.js").write_text(_DRAWN, encoding="utf-8")
