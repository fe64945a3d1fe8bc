"""`blindlabel owner accounts …`: who may sign in to the owner's web app when it is served to other machines; and ending
sessions, including those that began with a link.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Argument

from blindlabel.cli.output import JsonFlag, answer, group, say, with_noun
from blindlabel.cli.stores import WorkspaceFolder, workspace_at
from blindlabel.errors import InputError

accounts_app = group("accounts", "Who may sign in to the web app.")
PersonName = Annotated[str, Argument(help="The person's name.")]


@accounts_app.command("add")
def add_account(name: PersonName, *, at: WorkspaceFolder) -> None:
    """Make an account, or give it a new password, which ends its sessions. The password is prompted for, or read from
    the first line of standard input.
    """
    from blindlabel.storage.access import Access

    access = Access(workspace_at(at).database)
    if sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    say(f"{access.set_password(name, password)} can sign in.")


@accounts_app.command("list")
def list_accounts(*, at: WorkspaceFolder, json: JsonFlag = False) -> None:
    """List the accounts and how many open sessions each has."""
    from blindlabel.storage.access import Access

    found = Access(workspace_at(at).database).accounts()
    shown = (f"{name}: {with_noun(sessions, 'session', 'sessions')}" for name, sessions in found.items())
    answer(json, [{"name": name, "sessions": sessions} for name, sessions in found.items()], shown)


@accounts_app.command("remove")
def remove_account(name: PersonName, *, at: WorkspaceFolder) -> None:
    """Remove an account; its sessions end at once."""
    from blindlabel.storage.access import Access

    if not Access(workspace_at(at).database).remove(name):
        raise InputError(f"There is no account {name}. `blindlabel owner accounts list` has all.")
    say(f"{name} is signed out and can no longer sign in.")


@accounts_app.command("sign-out")
def sign_out(
    name: Annotated[str | None, Argument(help="The person's name. Default: everybody.")] = None, *, at: WorkspaceFolder
) -> None:
    """End the sessions of one person, or of everybody, at once, whether they began with a password or a link."""
    from blindlabel.storage.access import Access

    ended = Access(workspace_at(at).database).sign_out(name=name)
    say(f"{with_noun(ended, 'session', 'sessions')} ended.")
