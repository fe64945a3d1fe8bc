"""The owner's app behind a proxy with TLS: people on other machines sign in, write, and are out when they are to be."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from blindlabel.cli.main import run
from blindlabel.storage.access import Access
from blindlabel.storage.workspace import Workspace
from blindlabel.web.local_study import Rehearsal, Wanted
from support.egress import certificate, tls_in_front
from support.study_parties import free_port
from support.web_app import new_context, running


def test_person_signs_in_through_the_proxy_and_is_out_when_the_account_is(browser: Browser, tmp_path: Path) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=4))
    study.begin()
    folder = study.workspace("anna").folder
    Access(Workspace.open(folder).database).set_password("Ada Byron", "difference engine")
    port = free_port()
    with tls_in_front(*certificate(tmp_path, "localhost"), port) as outside:
        address = f"https://localhost:{outside}"
        with running(folder, "--serve", address, "--port", str(port)):
            context = new_context(browser, ignore_https_errors=True)
            page = context.new_page()
            page.goto(address)
            page.get_by_label("Name").fill("Ada Byron")
            page.get_by_label("Password").fill("something else")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")
            page.get_by_label("Name").fill("Ada Byron")
            page.get_by_label("Password").fill("difference engine")
            page.get_by_role("button", name="Sign in").click()
            expect(page.locator(".head")).to_contain_text("Ada Byron for anna")
            page.get_by_role("button", name="Keys").click()
            expect(page.get_by_role("heading", name="Looking through many")).to_be_visible()
            page.get_by_role("button", name="Close").click()
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            page.get_by_label("Name").fill("Ada Byron")
            page.get_by_label("Password").fill("difference engine")
            page.get_by_role("button", name="Sign in").click()
            expect(page.locator(".head")).to_contain_text("Ada Byron for anna")
            assert run(["owner", "accounts", "remove", "Ada Byron", "--at", str(folder)]) == 0
            page.reload()
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            context.close()
