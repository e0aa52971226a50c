"""The command web."""

import click

from playbook_db.cli.context import database_and_folder, notify
from playbook_db.cli.main import cli
from playbook_db.errors import MissingExtraError


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; any that is free by default.")
@click.option("--no-open", is_flag=True, help="Only print the address; don't open a browser.")
def web(port: int, no_open: bool) -> None:
    """Look at the playbook and correct it in a browser.

    The pages are served on this machine alone, to the browser that opens the address on the first line. It works once.
    The command ends with Ctrl-C, or when no page was asked for in 30 minutes.
    """
    try:
        from playbook_db.web import serve
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "playbook_db"):
            raise
        raise MissingExtraError("playbook web", package, extra="web") from None

    import webbrowser  # late: it brings what the help has no use for
    from urllib.parse import urlsplit

    def opened(address: str) -> None:
        click.echo(address)
        entrance = urlsplit(address)._replace(path="/").geturl()  # all users can see how a browser was started
        if not no_open and not webbrowser.open(entrance):
            notify(["no browser could be opened; open the address above"])

    url, folder = database_and_folder()
    serve.serve(url, folder, port=port, opened=opened)
