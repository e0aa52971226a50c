"""The tools that were held out: written before the rules for shortening, their misses not looked at since.

What is found of these says what to expect of a tool that nobody thought of.
"""

# ruff: noqa: E501
from benchmarks.quality.tool_output import Kind

KINDS = (
    Kind(
        "maven",
        """
[INFO] Running com.shop.{w}.{w}ErrorTest
[INFO] Tests run: {n}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: {n}.{n} s -- in com.shop.{w}.{w}Test
[INFO] Downloaded from central: https://repo.maven.apache.org/maven2/{f}/{w}-{n}.pom (2.1 kB at {n} kB/s)
[INFO] --- compiler:3.11.0:compile (default-compile) @ {w}-{w} ---
""",
        (
            """
!com.shop.{w1}.{w2}Test.{w3} -- Time elapsed: 0.{n} s <<< FAILURE!
!java.lang.AssertionError: expected:<{n1}> but was:<{n2}>
        at org.junit.Assert.fail(Assert.java:89)
!        at com.shop.{w1}.{w2}Test.{w3}({w2}Test.java:{n3})
""",
            """
[INFO] -------------------------------------------------------------
[ERROR] COMPILATION ERROR :
[INFO] -------------------------------------------------------------
!/home/dev/shop/src/main/java/{f1}.java:[{n1},{n2}] cannot find symbol
!  symbol:   class {w1}Factory
!  location: package com.shop.{w2}
""",
        ),
        """
[WARNING] /home/dev/shop/src/main/java/{f}.java: {w} has been deprecated
10:{n}:{n}.{n} [main] ERROR com.shop.{w}.{w} - rejected {w} {h} on purpose
        at com.shop.{w}.{w}({w}.java:{n})
""",
        """
[INFO] BUILD FAILURE
[INFO] Total time:  {n}.{n} s
[ERROR] -> [Help 1] http://cwiki.apache.org/confluence/display/MAVEN/MojoFailureException
""",
    ),
    Kind(
        "rspec",
        """
  {w} returns an error for {w}
  .........................*...................
    when {w} is {w}
      does not raise an exception
Fabricating {w} {n}
""",
        (
            """
  {n}) {w1} adds {w2} to the {w3}
!     Failure/Error: expect({w1}.{w2}).to eq({n1})

!       expected: {n1}
!            got: {n2}

       (compared using ==)
!     # ./spec/{f1}_spec.rb:{n3}:in `block (3 levels) in <top (required)>'
""",
            """
!     NoMethodError:
!       undefined method `{w1}' for nil:NilClass
!     # ./app/models/{f1}.rb:{n1}:in `{w2}'
""",
        ),
        """
DEPRECATION WARNING: {w} is deprecated and will be removed from Rails {n}.{n} (called from {w} at /app/{f}.rb:{n})
E, [2026-11-20T10:{n}] ERROR -- : {w} could not be sent, queued again
""",
        """
{n} examples, 1 failure, {n} pending
""",
    ),
    Kind(
        "phpunit",
        """
...............................................................  {n} / {n} ( {n}%)
 ✔ {w} throws exception when {w}
Generating autoload files for {w}/{w}-error-handler
  - Installing {w}/{w} (v{n}.{n}.{n}): Extracting archive
""",
        (
            """
!1) Tests\\Unit\\{w1}Test::test_{w2}_{w3}
!Failed asserting that {n1} matches expected {n2}.

!/home/dev/shop/tests/Unit/{f1}Test.php:{n3}
""",
            """
!PHP Fatal error:  Uncaught TypeError: {w1}(): Argument #1 must be of type int, string given in /home/dev/shop/{f1}.php:{n1}
Stack trace:
!#0 /home/dev/shop/{f1}.php({n2}): {w1}()
#1 {main}
""",
        ),
        """
PHP Deprecated:  Creation of dynamic property {w}::${w} is deprecated in /home/dev/vendor/{f}.php on line {n}
[2026-11-20 10:{n}:{n}] testing.ERROR: {w} failed {"{w}":{n}}
""",
        """
FAILURES!
Tests: {n}, Assertions: {n}, Failures: 1.
""",
    ),
    Kind(
        "dotnet",
        """
  Determining projects to restore...
  Restored /home/dev/shop/{f}/{w}.csproj (in {n} ms).
  Passed Shop.Tests.{w}Tests.Throws_Error_On_{w} [{n} ms]
  {w}.Error -> /home/dev/shop/{f}/bin/Debug/net9.0/{w}.dll
""",
        (
            """
!/home/dev/shop/{f1}.cs({n1},{n2}): error CS1061: '{w1}' does not contain a definition for '{w2}' [/home/dev/shop/Shop.csproj]
""",
            """
!  Failed Shop.Tests.{w1}Tests.{w2}_{w3} [{n} ms]
  Error Message:
!   Assert.Equal() Failure: Values differ
!Expected: {n1}
!Actual:   {n2}
  Stack Trace:
!     at Shop.Tests.{w1}Tests.{w2}_{w3}() in /home/dev/shop/{f1}.cs:line {n3}
""",
        ),
        """
/home/dev/shop/{f}.cs({n},{n}): warning CS8618: Non-nullable property '{w}' must contain a non-null value [/home/dev/shop/Shop.csproj]
fail: Shop.{w}[{n}] could not deliver {w} {n}, trying again
""",
        """
    {n} Warning(s)
    1 Error(s)
""",
    ),
    Kind(
        "swift",
        """
[{n}/{n}] Compiling {w} {w}.swift
Test Case '-[ShopTests.{w}Tests test{w}Error]' passed (0.{n} seconds).
CompileSwift normal arm64 /Users/dev/shop/{f}/ErrorView.swift (in target 'Shop')
    cd /Users/dev/shop/{f}
""",
        (
            """
!/Users/dev/shop/{f1}.swift:{n1}:{n2}: error: cannot find '{w1}' in scope
        {w1}.{w2}()
        ^~~~~~
""",
            """
!/Users/dev/shop/{f1}.swift:{n1}: error: -[ShopTests.{w1}Tests test{w2}] : XCTAssertEqual failed: ("{n2}") is not equal to ("{n3}")
""",
            """
!{w1}/{w2}.swift:{n1}: Fatal error: Unexpectedly found nil while unwrapping an Optional value
""",
        ),
        """
/Users/dev/shop/{f}.swift:{n}:{n}: warning: initialization of immutable value '{w}' was never used
/Users/dev/shop/{f}.swift:{n}:{n}: note: add '{w}' to silence this error
""",
        """
** TEST FAILED **
""",
    ),
    Kind(
        "terraform",
        """
aws_{w}.{w}: Refreshing state... [id={w}-{h}]
module.{w}.aws_{w}.error_{w}: Still creating... [{n}s elapsed]
module.{w}.aws_{w}.{w}: Creation complete after {n}s [id={h}]
  <esc>32m+<esc>0m {w}_on_error = true
""",
        (
            """
╷
!│ Error: creating EC2 {w1}: InvalidParameterValue: {w2} is not available in {w3}-{n1}
│
!│   with module.{w1}.aws_{w2}.{w3},
!│   on {f1}.tf line {n2}, in resource "aws_{w2}" "{w3}":
""",
            """
!<esc>31m│<esc>0m <esc>1mError: <esc>0mReference to undeclared resource "{w1}_{w2}"
""",
        ),
        """
│ Warning: Argument is deprecated: use {w} instead of {w}
module.{w}.null_resource.{w} (local-exec): curl: retry {n} after timeout
""",
    ),
    Kind(
        "webpack",
        """
asset {w}.{h}.js {n} KiB [emitted] [immutable] [minimized] (name: {w})
  ./src/{f}/ErrorBoundary.jsx {n} bytes [built] [code generated]
<s> [webpack.Progress] {n}% building {n}/{n} modules {w}
  modules by path ./node_modules/{w}-error/ {n} KiB
""",
        (
            """
!ERROR in ./src/{f1}.jsx {n1}:0-{n2}
!Module not found: Error: Can't resolve './{w1}' in '/home/dev/shop/src/{w2}'
 @ ./src/index.js {n}:0-{n}
""",
            """
![vite]: Rollup failed to resolve import "{w1}/{w2}" from "/home/dev/shop/src/{f1}.vue".
""",
            """
!✘ [ERROR] Could not resolve "{w1}-{w2}"

!    src/{f1}.ts:{n1}:{n2}:
!      {n1} │ import {w3} from "{w1}-{w2}"
""",
        ),
        """
WARNING in ./src/{f}.scss: Deprecation {w}: use math.div
(node:{n}) [DEP0{n}] DeprecationWarning: {w} is deprecated
""",
        """
webpack compiled with 1 error and {n} warnings in {n} ms
""",
    ),
    Kind(
        "mypy",
        """
shop/{f}.py:{n}: note: By default the bodies of untyped functions are not checked  [annotation-unchecked]
LOG:  Parsing /home/dev/shop/{f}.py ({w}.errors)
LOG:  Metadata fresh for {w}.{w}: file /home/dev/lib/{f}.py
TRACE: Priorities for {w}.{w}: builtins:{n} {w}:{n}
""",
        (
            """
!shop/{f1}.py:{n1}: error: Argument 1 to "{w1}" has incompatible type "str"; expected "int"  [arg-type]
""",
            """
!shop/{f1}.py:{n1}:{n2}: F821 Undefined name `{w1}`
""",
        ),
        """
shop/{f}.py:{n}: note: Revealed type is "builtins.{w}"
LOG:  Error cache of {w} is stale
""",
        """
Found 1 error in 1 file (checked {n} source files)
""",
    ),
    Kind(
        "psql",
        """
INSERT 0 {n}
CREATE INDEX
 {n} | {w} | {w}@example.com | error-{h}
psql:{f}.sql:{n}: NOTICE:  relation "{w}" already exists, skipping
UPDATE {n}
""",
        (
            """
!psql:{f1}.sql:{n1}: ERROR:  column "{w1}_{w2}" does not exist
!LINE 1: SELECT {w1}_{w2} FROM {w3}
               ^
!HINT:  Perhaps you meant to reference the column "{w3}.{w1}".
""",
            """
!ERROR:  duplicate key value violates unique constraint "{w1}_{w2}_key"
!DETAIL:  Key ({w1})=({n1}) already exists.
""",
        ),
        """
WARNING:  there is no transaction in progress
psql:{f}.sql:{n}: WARNING:  {w} {n} has failed checks before
""",
    ),
    Kind(
        "ansible",
        """
TASK [{w} : ensure {w} is present on error] *****************************
ok: [{w}{n}.example.com]
changed: [{w}{n}.example.com] => (item={w})
skipping: [{w}{n}.example.com]
{w}{n}.example.com : ok={n} changed={n} unreachable=0 failed=0 skipped={n} rescued=0 ignored=0
""",
        (
            """
!TASK [{w1} : install {w2}] ***********************************************
!fatal: [{w3}{n1}.example.com]: FAILED! => {"changed": false, "msg": "No package matching '{w2}' is available"}
""",
            """
!ERROR! the role '{w1}.{w2}' was not found in /home/dev/{f1}/roles
""",
        ),
        """
[WARNING]: Could not match supplied host pattern, ignoring: {w}
...ignoring
[DEPRECATION WARNING]: {w} is deprecated. Use {w} instead.
""",
    ),
    Kind(
        "sanitizer",
        """
[ RUN      ] {w}Test.{w}Error
[       OK ] {w}Test.{w}Error ({n} ms)
[----------] {n} tests from {w}FailTest ({n} ms total)
I1120 10:{n}:{n}.{n} {n} {w}.cc:{n}] {w} error={n}
""",
        (
            """
!{f1}_test.cc:{n1}: Failure
Expected equality of these values:
!  {w1}.{w2}()
!    Which is: {n2}
!  {n3}
![  FAILED  ] {w1}Test.{w3} (2 ms)
""",
            """
=================================================================
!=={n}==ERROR: AddressSanitizer: heap-use-after-free on address 0x{h} at pc 0x{h}
!READ of size {n1} at 0x{h} thread T0
!    #0 0x{h} in {w1}::{w2} /home/dev/shop/{f1}.cc:{n2}
""",
            """
!Segmentation fault (core dumped)
""",
        ),
        """
W1120 10:{n}:{n}.{n} {n} {w}.cc:{n}] failed to open {w}, using defaults
E1120 10:{n}:{n}.{n} {n} {w}.cc:{n}] {w} lost, connecting again
""",
        """
 1 FAILED TEST
""",
    ),
    Kind(
        "mix test",
        """
  * test {w} returns error tuple ({n}.{n}ms) [L#{n}]
Compiling {n} files (.ex)
Generated {w}_error app
10:{n}:{n}.{n} [debug] QUERY OK source="{w}" db={n}.{n}ms
""",
        (
            """
!  {n}) test {w1} is {w2} (Shop.{w3}Test)
!     test/{f1}_test.exs:{n1}
     Assertion with == failed
!     code:  assert {w1}.total == {n2}
!     left:  {n3}
!     right: {n2}
""",
            """
!** (UndefinedFunctionError) function Shop.{w1}.{w2}/{n1} is undefined (module Shop.{w1} is not available)
""",
        ),
        """
warning: variable "{w}" is unused (if the variable is not meant to be used, prefix it with an underscore)
10:{n}:{n}.{n} [error] GenServer #PID<0.{n}.0> terminating as asked by the test
  lib/{f}.ex:{n}: Shop.{w}.{w}/{n}
""",
        """
{n} tests, 1 failure
""",
    ),
    Kind(
        "node service",
        """
{"level":"info","time":{n},"msg":"{w} handled","req":{"id":"{h}","url":"/{f}"},"errors":0}
GET /{f}/error {n} {n}.{n} ms - {n}
[{w}] listening on {n}
webpack-hmr {w} {n}ms
""",
        (
            """
/home/dev/shop/{f1}.js:{n1}
    const total = {w1}.{w2}.length;
                            ^

!TypeError: Cannot read properties of undefined (reading '{w2}')
!    at {w3} (/home/dev/shop/{f1}.js:{n1}:{n2})
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
""",
            """
!Error: listen EADDRINUSE: address already in use :::{n1}
    at Server.setupListenHandle [as _listen2] (node:net:1800:16)
""",
            """
<--- Last few GCs --->
!FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
""",
        ),
        """
{"level":"error","time":{n},"msg":"{w} failed, trying again","attempt":{n}}
(node:{n}) MaxListenersExceededWarning: Possible EventEmitter memory leak detected.
    at {w} (/home/dev/shop/node_modules/{f}.js:{n}:{n})
""",
    ),
    Kind(
        "pip",
        """
Collecting {w}-{w}=={n}.{n}.{n} (from -r requirements.txt (line {n}))
  Downloading {w}_errors-{n}.{n}-py3-none-any.whl ({n} kB)
Requirement already satisfied: {w}>={n} in /usr/lib/python3/site-packages (from {w}) ({n}.{n})
  creating build/lib/{f}
""",
        (
            """
!ERROR: Could not find a version that satisfies the requirement {w1}-{w2}=={n1}.{n2} (from versions: 0.1, 0.2)
!ERROR: No matching distribution found for {w1}-{w2}=={n1}.{n2}
""",
            """
!ERROR: Cannot install {w1}=={n1}.0 and {w2}=={n2}.0 because these package versions have conflicting dependencies.
The conflict is caused by:
!    {w1} {n1}.0 depends on {w3}<{n3}
!    {w2} {n2}.0 depends on {w3}>{n4}
""",
            """
  × Building wheel for {w1} (pyproject.toml) did not run successfully.
  │ exit code: 1
!      fatal error: {w1}/{w2}.h: No such file or directory
""",
        ),
        """
WARNING: Retrying (Retry(total={n}, connect=None)) after connection broken by 'ReadTimeoutError("{w} timed out")': /simple/{w}/
   ━━━━━━━━━━━━ {n}.{n}/{n}.{n} MB {n}.{n} MB/s<cr>   ━━━━━━━━━━━━━━━━ {n}.{n}/{n}.{n} MB {n}.{n} MB/s
  DEPRECATION: {w} is using the legacy setup.py, which fails from pip {n} on
""",
    ),
    Kind(
        "bazel and git",
        """
[{n} / {n}] Compiling {f}.cc; {n}s linux-sandbox
INFO: From Compiling {f}/error_{w}.cc:
Auto-merging {f}.py
 create mode 100644 {f}/{w}_error.py
remote: Counting objects:  {n}% ({n}/{n})<cr>remote: Counting objects: {n}% ({n}/{n})
//{f}:{w}_error_test                        PASSED in {n}.{n}s
""",
        (
            """
!ERROR: /home/dev/shop/{f1}/BUILD:{n1}:11: no such target '//{w1}:{w2}': target '{w2}' not declared in package '{w1}'
""",
            """
!CONFLICT (content): Merge conflict in {f1}.py
""",
            """
!error: pathspec '{w1}-{w2}' did not match any file(s) known to git
""",
            """
! ! [rejected]        {w1} -> {w1} (non-fast-forward)
""",
        ),
        """
DEBUG: Rule '{w}' indicated that a canonical reproducible form can be obtained
warning: LF will be replaced by CRLF in {f}.py
WARNING: {f}/BUILD:{n}:{n}: target '{w}' is deprecated: fails with {w}
""",
    ),
    Kind(
        "go build, one cause",
        """
{f}.go:{n}:{n}: could not import example.com/shop/{w} (invalid package name: "")
{f}.go:{n}:{n}: missing go.sum entry for module providing package golang.org/x/text; to add: go mod download golang.org/x/text
# example.com/shop/{f}
FAIL    example.com/shop/{f} [setup failed]
ok      example.com/shop/{f}    {n}.{n}s
""",
        (
            """
!--- FAIL: Test{w1}_{w2} (0.01s)
!    {w1}_test.go:{n1}: {w2}() = {n2}, want {n3}
""",
        ),
        """
level=WARN msg="{w} failed, retrying" {w}={n}
""",
        "FAIL",
        ("missing go.sum entry for module providing package golang.org/x/text",),
    ),
    Kind(
        "playwright, one cause",
        """
  {n}) [chromium] › {f}.spec.ts:{n}:{n} › {w} › {w} {w}
    Error: page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000/
      at {w} (/home/dev/shop/tests/{f}.spec.ts:{n}:{n})
    {n} |   await page.goto("/{w}");
  ✘  {n} [chromium] › {f}.spec.ts:{n}:{n} › {w} {w} ({n}ms)
  ✓  {n} [chromium] › {f}.spec.ts:{n}:{n} › {w} {w} ({n}ms)
""",
        (
            """
!    Error: expect(locator).toHaveText(expected) failed
!    Expected string: "{w1} {n1}"
!    Received string: "{w2} {n2}"
""",
        ),
        """
[WebServer] {w} {w} is deprecated, use {w}
""",
        """
  {n} failed
  {n} passed ({n}.{n}m)
""",
        ("page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000/",),
    ),
)
