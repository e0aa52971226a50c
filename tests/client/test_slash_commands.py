"""The plugin's slash commands in the real client."""

import json
import re
import shlex
from dataclasses import replace

import pytest
from click import Context

from playbook_db.cli.main import cli
from tests.client.harness import World, is_turn, run_print, tool_results, turns, wait_until
from tests.client.ours import REPOSITORY, data_folder, fill, jobs, questions_of_the_worker, revisions, set_plugin_up
from tests.client.terminal import interactive
from tests.messages_api import Answer, MessagesApi, Rule, ToolCall
from tests.reading import read_chunks

POINT = "say why before how"
PROGRAM = REPOSITORY / "bin" / "playbook"
ODD = """don't say "so" $HOME $(touch made) `touch made2` !`touch made3` ; & | <b> \\ $1 $ARGUMENTS"""
COMMANDS = sorted(file.stem for file in (REPOSITORY / "commands").glob("*.md"))


@pytest.fixture
def ready(world: World) -> World:
    """A project with a point, and the plugin's own environment as if it had been set up."""
    fill(world, POINT)
    set_plugin_up(world)
    return world


def _text_of(name: str) -> str:
    return (REPOSITORY / "commands" / f"{name}.md").read_text()


def test_slash_commands_call_existing_commands() -> None:
    called = {name: {*re.findall(r'bin/playbook" (\w+)', _text_of(name))} for name in COMMANDS}

    expected = {**{name: {name} for name in COMMANDS}, "private": {"sessions"}}
    expected |= {"review": {"status", "review", "web"}, "web": {"web", "review"}}
    assert {name: words - {"list"} or words for name, words in called.items()} == expected
    assert {*COMMANDS} - {"private"} <= {*cli.list_commands(Context(cli))}
    pages = "".join(page.read_text() for page in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")))
    assert [name for name in COMMANDS if f"`{name}`" not in pages and f"`/playbook:{name}`" not in pages] == []


def test_arguments_reach_no_shell() -> None:
    for name in COMMANDS:
        for line in re.findall(r"^!`(.*)`$", _text_of(name), re.MULTILINE):
            assert "$" not in line.replace("${CLAUDE_PLUGIN_ROOT}", "")
            assert line.endswith(" || true")


def test_model_can_call_only_reading_commands(ready: World) -> None:
    kept = ("add", "private", "retire", "undo", "vote", "web")
    calls = [Answer(tools=(ToolCall("Skill", {"skill": f"playbook:{name}", "args": "oth-001"}),)) for name in kept]
    with MessagesApi(*[Rule(call, when=is_turn, times=1) for call in calls]) as api:
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "hello")

    first, last = turns(api)[0], turns(api)[-1]
    assert {*re.findall(r"playbook:(\w+): ", json.dumps(first.body))} == {*COMMANDS} - {*kept}
    assert all("due to disable-model-invocation" in result for result in tool_results(last))
    assert len(tool_results(last)) == len(kept)
    assert len(revisions(ready)) == 1


@pytest.mark.parametrize(("name", "is_set_up"), [*((name, True) for name in COMMANDS), ("list", False)])
def test_odd_arguments_run_nothing(world: World, name: str, is_set_up: bool) -> None:
    fill(world, POINT)
    if is_set_up:
        set_plugin_up(world)
    else:
        (data_folder(world) / "runtime.json").write_text('{"state": "working", "step": "installing", "at": 0}')

    run = run_print(world, "--plugin-dir", str(REPOSITORY), f"/playbook:{name} {ODD}")

    [asked] = world.api.messages()
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")
    assert "<command-args>" + ODD in asked.said
    assert is_set_up or "playbook's environment is being set up since" in asked.said
    assert [*world.project.glob("made*")] == []
    assert len(revisions(world)) == 1


@pytest.mark.parametrize(
    ("typed", "output"),
    [
        ("/playbook:list what we don't say", f"oth-001  0  0  {POINT}"),
        ('/playbook:log --since "2 days', "revision 1 "),
        ("/playbook:undo", "undid revision 1 "),
        ("/playbook:doctor", "database: "),
        ("/playbook:review", "to be learned from"),
    ],
)
def test_model_sees_the_commands_output(ready: World, typed: str, output: str) -> None:
    """`/playbook:undo` without a number undoes nothing."""
    run = run_print(ready, "--plugin-dir", str(REPOSITORY), typed)
    assert (run.code, run.err) == (0, "")
    assert output in json.dumps([request.body for request in ready.api.messages()])
    assert len(revisions(ready)) == 1


@pytest.mark.parametrize(
    ("typed", "command", "answer"),
    [
        ("/playbook:vote oth-001 helpful", f'"{PROGRAM}" vote oth-001 helpful', "1 helpful, 0 harmful"),
        ("/playbook:retire oth-001", f"\"{PROGRAM}\" retire oth-001 --reason 'it doesn'\\''t hold'", "it doesn't hold"),
        ("/playbook:undo 1", f'"{PROGRAM}" undo 1', "undid revision 1 "),
        ("/playbook:private off", f'"{PROGRAM}" sessions skip --off', "playbook will learn from session"),
        ("/playbook:vote oth-001 helpful", f'"{PROGRAM}" forget oth-001 --yes', "requires approval"),
        ("hello", "playbook list", "requires approval"),
    ],
)
def test_slash_command_permits_its_own_command(ready: World, typed: str, command: str, answer: str) -> None:
    chosen = json.loads(ready.settings_file.read_text())
    ready.settings_file.write_text(json.dumps({**chosen, "permissions": {"defaultMode": "default"}}))
    call = Answer(tools=(ToolCall("Bash", {"command": command, "description": "playbook"}),))
    with MessagesApi(Rule(call, times=1)) as api:
        run = run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), typed)

    assert (run.code, run.err) == (0, "")
    assert answer in tool_results(turns(api)[-1])[-1]


@pytest.mark.usefixtures("tmux")
@pytest.mark.parametrize("when", ["never", "after the setup", "before the setup"])
def test_private_session_is_not_learned_from(ready: World, when: str) -> None:
    runtime = data_folder(ready) / "runtime"
    with interactive(ready, "--plugin-dir", str(REPOSITORY)) as session:
        if when == "before the setup":
            runtime.rename(runtime.with_name("later"))
        if when != "never":
            session.say("/playbook:private")
        if when == "before the setup":
            runtime.with_name("later").rename(runtime)
        session.say("this is my plan")
        session.exit()
    if when == "never":
        wait_until(lambda: questions_of_the_worker(ready.api), "the worker's question")
        assert "this is my plan" in questions_of_the_worker(ready.api)[0].said
    else:
        wait_until(lambda: [job.state for job in jobs(ready)] == ["done"], "the worker to be done with the session")
        assert questions_of_the_worker(ready.api) == []
        line = f"playbook no longer learns from session {ready.transcripts()[0].stem}"
        assert line in turns(ready.api)[-1].said


@pytest.mark.smoke
def test_sessions_shell_has_the_command(ready: World) -> None:
    """What it writes has the session as its actor."""
    typed = "playbook list; playbook vote oth-001 helpful; playbook forget oth-001 --yes"
    call = Answer(tools=(ToolCall("Bash", {"command": typed, "description": "playbook"}),))
    with MessagesApi(Rule(call, times=1)) as api:
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "hello")

    said = tool_results(turns(api)[-1])[-1]
    assert POINT in said
    assert f"Run it in your own terminal: {shlex.quote(str(PROGRAM))} forget oth-001" in said
    assert revisions(ready)[-1] == (ready.transcripts()[0].stem, None)


@pytest.mark.usefixtures("tmux")
def test_users_command_works_in_a_session(ready: World) -> None:
    with interactive(ready, "--plugin-dir", str(REPOSITORY)) as session:
        session.type("!")
        session.send("playbook vote oth-001 helpful")
        wait_until(lambda: "oth-001: 1 helpful, 0 harmful" in session.screen, "the command's output")
        session.wait_idle()
    assert revisions(ready)[-1] == (ready.transcripts()[0].stem, None)


def test_shell_uses_the_sessions_project(ready: World) -> None:
    """The session's shell may have changed its folder."""
    (ready.project / ".claude").rmdir()
    typed = "mkdir -p deep; cd deep; playbook list; playbook add 'from below' --section others"
    calls = [
        Answer(tools=(ToolCall("Bash", {"command": each, "description": "x"}),)) for each in (typed, "playbook list")
    ]
    with MessagesApi(*[Rule(call, when=is_turn, times=1) for call in calls]) as api:
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "hello")
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "--continue", "/playbook:list")

    first, second = tool_results(turns(api)[2])
    assert POINT in first
    assert "from below" in second
    assert "oth-002  0  0  from below" in turns(api)[-1].said
    assert len(revisions(ready)) == 2


def test_playbook_and_memory_are_no_news(ready: World) -> None:
    remembered = ready.home / ".claude" / "projects" / "-home-dev-project" / "memory" / "testing.md"
    remembered.parent.mkdir(parents=True)
    remembered.write_text("the memory says tabs")
    calls = [
        ToolCall("Bash", {"command": "playbook list", "description": "x"}),
        ToolCall("Read", {"file_path": str(remembered)}),
        ToolCall("Bash", {"command": f"cat {remembered}", "description": "x"}),
        ToolCall("Bash", {"command": "echo some news", "description": "x"}),
    ]
    last = Answer('Done. <cc-memory filenames="testing.md">From memory: the memory says tabs.</cc-memory> [oth-001]')
    rules = [Rule(Answer(tools=(call,)), when=is_turn, times=1) for call in calls]
    with MessagesApi(*rules, Rule(last, when=is_turn)) as api:
        world = replace(ready, api=api)
        run_print(world, "--plugin-dir", str(REPOSITORY), "the user's words")
        run_print(world, "--plugin-dir", str(REPOSITORY), "--continue", "/playbook:list")
    [transcript] = world.transcripts()
    text = "".join(chunk.text for chunk in read_chunks(str(transcript), 0, 100_000))

    for old in POINT, "the memory says tabs":
        assert old in transcript.read_text()
        assert old not in text
    for news in "the user's words", "some news", "[oth-001]":
        assert news in text
