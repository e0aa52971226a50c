"""The plugin's slash commands, as the client takes them: what they put before the model."""

import json
import re
import shlex
from dataclasses import replace

import pytest
from click import Context

from playbook_db.cli.main import cli
from tests.client.harness import World, is_turn, run_print, turns, wait_until
from tests.client.ours import (
    REPOSITORY,
    data_folder,
    fill,
    jobs,
    questions_of_the_worker,
    revisions,
    set_plugin_up,
)
from tests.client.terminal import interactive
from tests.messages_api import Answer, MessagesApi, Request, Rule, ToolCall
from tests.reading import read_chunks

POINT = "say why before how"
PROGRAM = REPOSITORY / "bin" / "playbook"
ODD = """don't say "so" $HOME $(touch made) `touch made2` !`touch made3` ; & | <b> \\ $1 $ARGUMENTS"""
RUN_BY_THE_MODEL = (
    "add",
    "retire",
    "search",
    "uninstall",
    "vote",
    "web",
    "why",
)  # nothing runs before the model has read them
COMMANDS = sorted(file.stem for file in (REPOSITORY / "commands").glob("*.md"))


@pytest.fixture
def ready(world: World) -> World:
    """A project with a point, and the plugin's own environment as if it had been set up."""
    fill(world, POINT)
    set_plugin_up(world)
    return world


def test_each_slash_command_calls_a_command_that_there_is() -> None:
    """And the README or a page of the docs names each."""
    called = {
        name: {*re.findall(r'bin/playbook" (\w+)', (REPOSITORY / "commands" / f"{name}.md").read_text())}
        for name in COMMANDS
    }

    expected = {**{name: {name} for name in COMMANDS}, "private": {"sessions"}}
    expected |= {"review": {"status", "review", "web"}, "web": {"web", "review"}}
    assert {name: words - {"list"} or words for name, words in called.items()} == expected
    assert {"list", "search", "status", "review", "web", "add"} <= {*COMMANDS}
    assert {*COMMANDS} - {"private"} <= {*cli.list_commands(Context(cli))}
    pages = "".join(page.read_text() for page in (REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")))
    assert [name for name in COMMANDS if f"`{name}`" not in pages and f"`/playbook:{name}`" not in pages] == []


def test_what_the_user_types_reaches_no_shell() -> None:
    """A quote in it would break the command, and the client shows the failure raw; the model quotes it."""
    for name in COMMANDS:
        for line in re.findall(r"^!`(.*)`$", _text_of(name), re.MULTILINE):
            assert "$" not in line.replace("${CLAUDE_PLUGIN_ROOT}", "")
            assert line.endswith(" || true")


def test_the_model_is_told_of_those_that_look_and_can_not_call_the_others(ready: World) -> None:
    """The client keeps both: a request names no other, and a call of one is refused."""
    kept = ("add", "private", "retire", "undo", "vote", "web")
    calls = [Answer(tools=(ToolCall("Skill", {"skill": f"playbook:{name}", "args": "oth-001"}),)) for name in kept]
    with MessagesApi(*[Rule(call, when=is_turn, times=1) for call in calls]) as api:
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "hello")

    first, last = turns(api)[0], turns(api)[-1]
    assert {*re.findall(r"playbook:(\w+): ", json.dumps(first.body))} == {*COMMANDS} - {*kept}
    assert all("due to disable-model-invocation" in result for result in _results(last))
    assert len(_results(last)) == len(kept)
    assert len(revisions(ready)) == 1


@pytest.mark.parametrize(
    ("name", "is_set_up"),
    [*((name, True) for name in COMMANDS), *((name, False) for name in COMMANDS if name not in RUN_BY_THE_MODEL)],
)
def test_whatever_is_typed_behind_a_slash_command_stands_in_the_prompt_and_runs_nothing(
    world: World, name: str, is_set_up: bool
) -> None:
    """Quotes, apostrophes, what a shell or the client would run; also while the plugin's set-up is at work."""
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


def _text_of(name: str) -> str:
    return (REPOSITORY / "commands" / f"{name}.md").read_text()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/playbook:list", f"oth-001\\t0\\t0\\tOTHERS\\t{POINT}"),
        ("/playbook:log", "revision 1 "),
        ("/playbook:list what we don't say", f"oth-001\\t0\\t0\\tOTHERS\\t{POINT}"),
        ('/playbook:log --since "2 days', "revision 1 "),
        ("/playbook:undo", "undid revision 1 "),
        ("/playbook:why don't", "The user wants to know where"),
        ("/playbook:doctor", "database: "),
        ("/playbook:status", "to be learned from"),
        ("/playbook:review", "to be learned from"),
        ("/playbook:review", f"{PROGRAM}"),
        ("/playbook:private", "no longer learns from session"),
    ],
)
def test_slash_command_puts_its_answer_before_the_model(ready: World, typed: str, told: str) -> None:
    """What the command prints stands in the prompt, whatever the user types; looking at an undo undoes nothing."""
    run = run_print(ready, "--plugin-dir", str(REPOSITORY), typed)

    asked = json.dumps([request.body for request in ready.api.messages()])
    assert (run.code, run.err) == (0, "")
    assert told in asked
    assert len(revisions(ready)) == 1


def test_while_its_environment_is_set_up_a_slash_command_says_so(world: World) -> None:
    """The command isn't there yet; before, the client showed a raw failure."""
    run = run_print(world, "--plugin-dir", str(REPOSITORY), "/playbook:list")

    asked = json.dumps([request.body for request in world.api.messages()])
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")
    assert "playbook's environment isn't set up yet; that begins with the next session" in asked


@pytest.mark.parametrize(
    ("typed", "command", "answer"),
    [
        ("/playbook:vote oth-001 helpful", f'"{PROGRAM}" vote oth-001 helpful', "1 helpful, 0 harmful"),
        ("/playbook:retire oth-001", f"\"{PROGRAM}\" retire oth-001 --reason 'it doesn'\\''t hold'", "it doesn't hold"),
        ("/playbook:why oth-001", f'"{PROGRAM}" why oth-001', POINT),
        ("/playbook:add x", f"\"{PROGRAM}\" add 'say \"what\", don'\\''t shout' --section others", "don't shout"),
        ("/playbook:log oth-001", f'"{PROGRAM}" log -n 10 oth-001', "revision 1 "),
        ("/playbook:search why", f'"{PROGRAM}" search --help', "WORDS"),
        ("/playbook:web", f'"{PROGRAM}" web --help', "--no-open"),
        ("/playbook:undo 1", f'"{PROGRAM}" undo 1', "undid revision 1 "),
        ("/playbook:private off", f'"{PROGRAM}" sessions skip --off', "playbook will learn from session"),
        ("/playbook:vote oth-001 helpful", f'"{PROGRAM}" forget oth-001 --yes', "requires approval"),
        ("hello", "playbook list", "requires approval"),
    ],
)
def test_a_slash_command_lets_the_model_run_its_command_unasked(
    ready: World, typed: str, command: str, answer: str
) -> None:
    """That one command with any arguments, and no other; without a slash command the client asks as ever."""
    chosen = json.loads(ready.settings_file.read_text())
    ready.settings_file.write_text(json.dumps({**chosen, "permissions": {"defaultMode": "default"}}))
    call = Answer(tools=(ToolCall("Bash", {"command": command, "description": "playbook"}),))
    with MessagesApi(Rule(call, times=1)) as api:
        run = run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), typed)

    assert (run.code, run.err) == (0, "")
    assert answer in _last_result(turns(api)[-1])


@pytest.mark.usefixtures("tmux")
@pytest.mark.parametrize("is_said", ["never", "when all is there", "while it is being set up"])
def test_a_private_session_is_not_learned_from(ready: World, is_said: str) -> None:
    """The worker that its end starts asks no model; otherwise it does. Also where that was said before the worker's
    environment was there."""
    runtime = data_folder(ready) / "runtime"
    with interactive(ready, "--plugin-dir", str(REPOSITORY)) as session:
        if is_said == "while it is being set up":
            runtime.rename(runtime.with_name("later"))
        if is_said != "never":
            session.say("/playbook:private")
        if is_said == "while it is being set up":
            runtime.with_name("later").rename(runtime)
        session.say("this is my plan")
        session.exit()
    if is_said == "never":
        wait_until(lambda: questions_of_the_worker(ready.api), "the worker's question")
    else:
        wait_until(lambda: [job.state for job in jobs(ready)] == ["done"], "the worker to be done with the session")

    asked = ["this is my plan" in request.said for request in questions_of_the_worker(ready.api)]
    assert asked[:1] == ([True] if is_said == "never" else [])
    told = f"playbook no longer learns from session {ready.transcripts()[0].stem}"
    assert (told in turns(ready.api)[-1].said) == (is_said != "never")


@pytest.mark.smoke
def test_claude_s_own_shell_has_the_command_and_writes_in_the_session_s_name(ready: World) -> None:
    """From the plugin's `bin/`: the actor is the session; nothing is forgotten there."""
    typed = "playbook list; playbook vote oth-001 helpful; playbook forget oth-001 --yes"
    call = Answer(tools=(ToolCall("Bash", {"command": typed, "description": "playbook"}),))
    with MessagesApi(Rule(call, times=1)) as api:
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "hello")

    said = _last_result(turns(api)[-1])
    assert POINT in said
    assert f"Run it in your own terminal: {shlex.quote(str(PROGRAM))} forget oth-001" in said
    assert revisions(ready)[-1] == (ready.transcripts()[0].stem, None)


@pytest.mark.usefixtures("tmux")
def test_the_user_s_own_command_in_a_session_is_there_too(ready: World) -> None:
    """`!playbook list`; what is written carries the session's id, and nothing is forgotten."""
    with interactive(ready, "--plugin-dir", str(REPOSITORY)) as session:
        for typed, shown in (
            ("playbook list", POINT),
            ("playbook vote oth-001 helpful", "oth-001: 1 helpful, 0 harmful"),
            ("playbook forget oth-001 --yes", "it doesn't work inside a session of Claude Code"),
        ):
            session.type("!")
            session.send(typed)
            wait_until(lambda: shown in " ".join(session.screen.split()), shown)  # noqa: B023 - it is waited for here
            session.wait_idle()

    assert revisions(ready)[-1] == (ready.transcripts()[0].stem, None)


def _last_result(request: Request) -> str:
    """What the last tool call of a conversation gave."""
    return _results(request)[-1]


def _results(request: Request) -> list[str]:
    """What the tool calls of a conversation gave."""
    return [
        str(block["content"])
        for message in request.body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "tool_result"
    ]


@pytest.mark.parametrize("launched_in", ["a repository's folder", "a folder that is none"])
def test_a_session_s_shell_means_the_session_s_own_project_wherever_it_has_gone(ready: World, launched_in: str) -> None:
    """The hooks go by where the session began, so the command does, though the client doesn't tell its shell."""
    (ready.project / ".claude").rmdir()
    if launched_in == "a repository's folder":
        (ready.project.parent / ".git").mkdir()
    typed = "mkdir -p deep; cd deep; playbook list; playbook add 'from below' --section others"
    calls = [
        Answer(tools=(ToolCall("Bash", {"command": each, "description": "x"}),)) for each in (typed, "playbook list")
    ]
    with MessagesApi(*[Rule(call, when=is_turn, times=1) for call in calls]) as api:
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "hello")
        run_print(replace(ready, api=api), "--plugin-dir", str(REPOSITORY), "--continue", "/playbook:list")

    first, second = _results(turns(api)[2])
    assert POINT in first
    assert "from below" in second
    assert "oth-002\t0\t0\tOTHERS\tfrom below" in turns(api)[-1].said
    assert len(revisions(ready)) == 2


def test_what_a_session_saw_of_the_playbook_and_of_the_built_in_memory_is_no_news(ready: World) -> None:
    """As the client writes it: our command's output, the slash command's prompt, a memory's file that was read."""
    remembered = ready.home / ".claude" / "projects" / "-home-dev-project" / "memory" / "testing.md"
    remembered.parent.mkdir(parents=True)
    remembered.write_text("the memory says tabs")
    calls = [
        ToolCall("Bash", {"command": "playbook list", "description": "x"}),
        ToolCall("Read", {"file_path": str(remembered)}),
        ToolCall("Bash", {"command": f"cat {remembered}", "description": "x"}),
        ToolCall("Bash", {"command": "echo some news", "description": "x"}),
    ]
    last = Answer(
        text='Done. <cc-memory filenames="testing.md">From memory: the memory says tabs.</cc-memory> [oth-001]'
    )
    rules = [Rule(Answer(tools=(call,)), when=is_turn, times=1) for call in calls]
    with MessagesApi(*rules, Rule(last, when=is_turn)) as api:
        world = replace(ready, api=api)
        run_print(world, "--plugin-dir", str(REPOSITORY), "the user's words")
        run_print(world, "--plugin-dir", str(REPOSITORY), "--continue", "/playbook:list")
    [transcript] = world.transcripts()
    text = "".join(chunk.text for chunk in read_chunks(str(transcript), 0, 100_000))

    assert POINT in transcript.read_text()
    assert "the memory says tabs" in transcript.read_text()
    assert POINT not in text
    assert "the memory says tabs" not in text
    assert "the user's words" in text
    assert "some news" in text
    assert "[oth-001]" in text
