"""The entry point: builds the command tree and turns every failure into a sentence and an exit code.

Exit codes: 0 done, 1 the user's input is wrong, 2 wrong usage, 3 something outside failed (or a bug, which says
so). No traceback is shown without --debug, which may stand anywhere on the line. Groups of commands that other
distributions add (the laboratory's `bench` and `experiment`) come by entry points of the group
`blindlabel.commands`.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from importlib.metadata import entry_points

import typer
from typer import Option

from blindlabel import __version__
from blindlabel.cli import coordinator_commands as coordinator
from blindlabel.cli import demo, export, language, suggest, trying
from blindlabel.cli import owner_commands as owner
from blindlabel.cli.output import AS_LOG, say
from blindlabel.errors import InputError, OutsideError

app = typer.Typer(
    name="blindlabel",
    help="Label pairs of records as match or no match without anybody seeing both.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("check")(trying.check)
app.command("try")(trying.try_)
app.command("language")(language.language)
app.command("practice")(demo.practice)
app.command("generate")(demo.generate)
app.command("suggest")(suggest.suggest)
app.command("export")(export.export)
app.command("merge")(export.merge)
app.command("explain")(trying.explain)
app.command("help")(language.help_)
app.command("completion")(language.completion)
app.command("deploy")(language.deploy)
app.add_typer(coordinator.app)
app.add_typer(owner.app)


def _elsewhere(context: typer.Context) -> None:
    raise InputError(f"`blindlabel {context.info_name}` comes with another package: pip install blindlabel-lab.")


_ADDED = entry_points(group="blindlabel.commands")
for added in sorted(_ADDED, key=lambda point: point.name):
    app.add_typer(added.load())
for missing in {"bench", "experiment"} - _ADDED.names:
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(missing, hidden=True, context_settings=anything)(_elsewhere)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"blindlabel {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = Option(False, "--version", callback=_version, is_eager=True, help="Print the version and stop."),
    debug: bool = Option(False, "--debug", help="Show tracebacks of failures (anywhere on the line)."),
) -> None:
    """Label pairs of records as match or no match without anybody seeing both."""


def _without_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without any --debug before a `--`, and whether there was one."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [argument for argument in arguments[:end] if argument != "--debug"]
    return kept + arguments[end:], len(kept) < end


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    arguments, debug = _without_debug(arguments)
    AS_LOG.set(False)
    debug = debug or os.environ.get("BLINDLABEL_DEBUG") == "1"
    if language.ASKED_BY_SHELL in os.environ:
        language.know_shells()
    try:
        app(args=arguments, prog_name="blindlabel", standalone_mode=True)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except InputError as error:
        return _failed(error, 1, debug)
    except (OutsideError, OSError) as error:
        return _failed(error, 3, debug)
    except KeyboardInterrupt:
        say("Stopped.")
        return 130
    except Exception as error:
        from blindlabel.engines.interface import EngineError, QuestionError, RecordError

        if isinstance(error, EngineError):
            return _failed(error, 1 if isinstance(error, (RecordError, QuestionError)) else 3, debug)
        if debug:
            traceback.print_exc()
        say(f"A defect in blindlabel: {type(error).__name__}: {error}")
        say("Please report it with what --debug prints, and remove any record content first.")
        return 3
    return 0


def _failed(error: Exception, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    say(f"blindlabel: {error}", level=logging.ERROR)
    return code


def main() -> None:
    """The `blindlabel` command."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has gone; that is no failure of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code)


if __name__ == "__main__":
    main()
