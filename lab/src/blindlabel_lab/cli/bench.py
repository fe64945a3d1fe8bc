"""`blindlabel bench`: measurements that the documentation quotes. One file a benchmark; here they are only
registered.
"""

from __future__ import annotations

import typer

from blindlabel_lab.cli import bench_gates, bench_packed, bench_scale, bench_server, bench_web

app = typer.Typer(
    name="bench",
    help="Measure blindlabel on this machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("packed")(bench_packed.packed)
app.command("scale")(bench_scale.scale)
app.command("server")(bench_server.server)
app.command("web")(bench_web.web)
app.command("gates")(bench_gates.gates)
app.command("compare")(bench_gates.compare)
