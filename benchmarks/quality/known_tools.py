"""The tools whose output the rules for shortening were written with: their misses may be looked at."""

# ruff: noqa: E101, E501, W291
from benchmarks.quality.tool_output import Kind

KINDS = (
    Kind(
        "pytest",
        """
tests/{f}/test_{w}.py::test_{w}_{w} PASSED                         [ {n}%]
tests/{f}/test_{w}.py::test_{w}_is_raised_on_{w} PASSED            [ {n}%]
tests/{f}/test_{w}.py::test_{w}[{w}-{n}] <esc>32mPASSED<esc>0m     [ {n}%]
tests/{f}/test_{w}.py::test_{w}_without_{w} SKIPPED (needs {w})    [ {n}%]
tests/{f}/test_{w}.py ..............................s......        [ {n}%]
""",
        (
            """
____________________________ test_{w1}_{w2} ____________________________

    def test_{w1}_{w2}() -> None:
        {w3} = load("{w1}", {n})
!>       assert {w3}.total == {n1}
!E       AssertionError: assert {n2} == {n1}
E        +  where {n2} = <{w3} at 0x{h}>.total

!tests/{f1}/test_{w1}.py:{n3}: AssertionError
""",
            """
___________________ ERROR at setup of test_{w1} ___________________

    @pytest.fixture
    def {w2}(tmp_path):
>       return Store(tmp_path / "x.db", {w3}=True)
!E       TypeError: Store.__init__() got an unexpected keyword argument '{w3}'

!tests/conftest.py:{n1}: TypeError
""",
            """
!FAILED tests/{f1}/test_{w1}.py::test_{w2} - ValueError: {w3} must not be negative, got -{n1}
""",
        ),
        """
  /usr/lib/python3/site-packages/{f}.py:{n}: DeprecationWarning: {w}() is deprecated, use {w}_{w}() instead
ERROR    app.{w}:{w}.py:{n} could not reach {w}-{n}, trying again
tests/{f}/test_{w}.py::test_{w}_error_{w} PASSED
WARNING  {w}.{w}:base.py:{n} {w} failed once, {n} attempts left
""",
        """
=========================== short test summary info ============================
{n} passed, {n} skipped, {n} warnings in {n}.{n}s
""",
    ),
    Kind(
        "traceback",
        """
2026-11-20 10:{n}:{n},{n} INFO  app.{w} handled {w} {h} in {n} ms
2026-11-20 10:{n}:{n},{n} DEBUG app.{w} {w}={n} {w}={h} errors=0
2026-11-20 10:{n}:{n},{n} INFO  app.{w} no {w} left, sleeping {n} s
processed {n} of {n} files in {f}
""",
        (
            """
Traceback (most recent call last):
  File "/home/dev/shop/main.py", line {n}, in <module>
    run(sys.argv)
  File "/home/dev/shop/{f}.py", line {n}, in run
    return self.{w}(order)
!  File "/home/dev/shop/{f1}.py", line {n1}, in {w1}
!    return rates[{w2}] * {n}
           ~~~~~^^^^^^^
!KeyError: '{w3}-{n2}'
""",
            """
Traceback (most recent call last):
!  File "/home/dev/shop/{f1}.py", line {n1}, in connect
    sock.connect((host, port))
!ConnectionRefusedError: [Errno 111] Connection refused

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/dev/shop/main.py", line {n}, in <module>
    main()
!shop.{w1}.NoDatabase: could not reach {w2}:{n2} after {n} tries
""",
        ),
        """
2026-11-20 10:{n}:{n},{n} WARNING app.{w} {w} is slow: {n} ms
2026-11-20 10:{n}:{n},{n} ERROR app.{w} {w} {h} refused, trying again
{n}%|#########6        | {n}/{n} [00:{n}<00:{n}, {n}.{n}it/s]<cr>{n}%|##########        | {n}/{n} [00:{n}<00:{n}]
""",
    ),
    Kind(
        "tsc",
        """
Files:              {n}
/home/dev/shop/node_modules/@types/{w}/{f}.d.ts
File '/home/dev/shop/src/{f}.ts' exists - use it as a name resolution result.
======== Resolving module './{w}-{w}' from '/home/dev/shop/src/{f}.ts'. ========
Module resolution kind is not specified, using 'Bundler'. {w}
""",
        (
            """
!src/{f1}.ts({n1},{n2}): error TS2345: Argument of type '{w1}' is not assignable to parameter of type '{w2}'.
!  Property '{w3}' is missing in type '{w1}' but required in type '{w2}'.
""",
            """
!<esc>96msrc/{f1}.ts<esc>0m:<esc>93m{n1}<esc>0m:<esc>93m{n2}<esc>0m - <esc>91merror<esc>0m<esc>90m TS2304: <esc>0mCannot find name '{w1}'.

<esc>7m{n1}<esc>0m     return {w1}.of({w2});
<esc>7m  <esc>0m <esc>91m           ~~~~~<esc>0m
""",
            """
!error TS5083: Cannot read file '/home/dev/shop/{f1}/tsconfig.base.json'.
""",
        ),
        """
src/{f}.ts({n},{n}): warning TS6133: '{w}' is declared but its value is never read.
File '/home/dev/shop/node_modules/{w}/{f}.ts' does not exist.
File name '/home/dev/shop/src/{w}.ts' was not found in error cache.
""",
        """
Found 1 error in the same file, starting at: src/main.ts
""",
    ),
    Kind(
        "cargo build",
        """
   Compiling {w}-{w} v{n}.{n}.{n}
   Compiling thiserror-{w} v1.0.{n}
       Fresh anyhow-{w} v{n}.{n}.{n}
  Downloaded {w}-error v{n}.{n}.{n}
    Checking failure-{w} v0.{n}.{n} (/home/dev/shop/crates/{f})
""",
        (
            """
!error[E0308]: mismatched types
!  --> crates/{f1}.rs:{n1}:{n2}
    |
{n1} |     let {w1}: u32 = {w2}.len();
    |              ---   ^^^^^^^^^^ expected `u32`, found `usize`
""",
            """
!error: failed to run custom build command for `{w1}-sys v{n1}.{n2}.0`

Caused by:
!  process didn't exit successfully: `/home/dev/shop/target/debug/build/{w1}-sys-{h}/build-script-build` (exit status: 101)
  --- stderr
!  Could not find directory of {w2} installation
""",
            """
!error[E0432]: unresolved import `crate::{w1}::{w2}`
!  --> src/{f1}.rs:{n1}:5
""",
        ),
        """
warning: unused variable: `{w}`
warning: `{w}` (lib) generated {n} warnings
   --> crates/{f}.rs:{n}:{n}
    = note: `#[warn(unused_variables)]` on by default
    |         ^^^^^ help: if this is intentional, prefix it with an underscore: `_{w}`
""",
        """
For more information about this error, try `rustc --explain E0308`.
error: could not compile `shop` (lib) due to 1 previous error; {n} warnings emitted
""",
    ),
    Kind(
        "cargo test",
        """
test {w}::{w}::tests::{w}_{w} ... ok
test {w}::error::tests::{w}_is_an_error ... ok
test {w}::tests::{w}_should_panic - should panic ... ok
test src/{f}.rs - {w}::{w} (line {n}) ... ignored
""",
        (
            """
!test {w1}::{w2}::tests::{w3}_adds_up ... FAILED

failures:

---- {w1}::{w2}::tests::{w3}_adds_up stdout ----
!thread '{w1}::{w2}::tests::{w3}_adds_up' panicked at src/{f1}.rs:{n1}:{n2}:
!assertion `left == right` failed: {w3} is off
!  left: {n3}
! right: {n4}
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
""",
            """
!thread 'main' panicked at src/{f1}.rs:{n1}:{n2}:
!called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }
""",
        ),
        """
warning: unused import: `{w}::{w}`
[{w}] ERROR {w}: simulated outage {n}, as the test wants it
test result: ok. {n} passed; 0 failed; {n} ignored; 0 measured; 0 filtered out; finished in {n}.{n}s
""",
        """
error: test failed, to rerun pass `-p shop --lib`
""",
    ),
    Kind(
        "go test",
        """
=== RUN   Test{w}_{w}/{w}_{n}
--- PASS: TestError{w} (0.{n}s)
    --- PASS: Test{w}_{w}/returns_error_on_{w} (0.00s)
ok      example.com/shop/{f}    {n}.{n}s
?       example.com/shop/{f}    [no test files]
""",
        (
            """
!--- FAIL: Test{w1}_{w2} (0.{n}s)
!    {w1}_test.go:{n1}: {w2}() = {n2}, want {n3}
FAIL
FAIL    example.com/shop/{f1}   {n}.{n}s
""",
            """
!panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x{h}]

goroutine {n} [running]:
!example.com/shop/{f1}.(*{w1}).{w2}(0x0)
!        /home/dev/shop/{f1}.go:{n1} +0x1c
""",
            """
# example.com/shop/{f1}
!{f1}.go:{n1}:{n2}: undefined: {w1}.{w2}
""",
            """
    --- FAIL: Test{w1}/{w2} (0.00s)
        {w1}_test.go:{n1}: 
            	Error Trace:	/home/dev/shop/{f1}_test.go:{n1}
!            	Error:      	Not equal: 
!            	            	expected: {n2}
!            	            	actual  : {n3}
""",
        ),
        """
2026/11/20 10:{n}:{n} ERROR {w}: {w} not reachable err="dial tcp: i/o timeout" attempt={n}
time=2026-11-20T10:{n} level=WARN msg="{w} failed, retrying" {w}={n}
    {w}_test.go:{n}: got {w} {n} as expected
""",
        """
FAIL
""",
    ),
    Kind(
        "gradle",
        """
{w}Test > {w} on {w}() PASSED
ExceptionMapperTest > maps {w} to error {n}() PASSED
> Task :{w}:{w}Test UP-TO-DATE
> Task :{w}:compileJava NO-SOURCE
Download https://repo.maven.apache.org/maven2/{f}/{n}.{n}/{w}-{n}.jar
""",
        (
            """
!{w1}ServiceTest > {w2} {w3}() FAILED
!    org.opentest4j.AssertionFailedError: expected: <{n1}> but was: <{n2}>
        at org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:55)
!        at com.shop.{w1}ServiceTest.{w2}({w1}ServiceTest.java:{n3})
""",
            """
> Task :{w1}:compileJava FAILED
!/home/dev/shop/src/main/java/{f1}.java:{n1}: error: cannot find symbol
        {w2}.{w3}();
          ^
!  symbol:   method {w3}()
!  location: variable {w2} of type {w1}
""",
            """
!java.lang.IllegalStateException: Failed to load ApplicationContext for {w1}
        at org.springframework.test.context.Default.load(Default.java:{n})
        at org.junit.jupiter.Foo.run(Foo.java:{n})
!Caused by: org.postgresql.util.PSQLException: Connection to localhost:{n1} refused.
""",
        ),
        """
2026-11-20 10:{n}  WARN {n} --- [main] o.s.{w} : {w} overrides {w}
2026-11-20 10:{n} ERROR {n} --- [pool-{n}] c.s.{w} : could not send {w}, will retry
        at org.gradle.{w}.{w}({w}.java:{n})
Note: /home/dev/shop/{f}.java uses unchecked or unsafe operations.
""",
        """
FAILURE: Build failed with an exception.

* Try:
> Run with --stacktrace option to get the stack trace.
BUILD FAILED in {n}s
""",
    ),
    Kind(
        "npm",
        """
npm http fetch GET 200 https://registry.npmjs.org/{w}-{w} {n}ms (cache miss)
npm sill placeDep ROOT {w}@{n}.{n}.{n} OK for: {w}@{n}.{n}.{n} want: ^{n}.{n}
npm timing idealTree:#root Completed in {n}ms
added {w}-error@{n}.{n}.{n}
""",
        (
            """
!npm error code ERESOLVE
npm error ERESOLVE unable to resolve dependency tree
npm error
!npm error Found: {w1}@{n1}.{n2}.{n3}
npm error node_modules/{w1}
!npm error Could not resolve dependency:
!npm error peer {w1}@"^{n4}.0.0" from {w2}@{n5}.{n6}.0
""",
            """
!npm ERR! code ELIFECYCLE
npm ERR! errno 1
!npm ERR! shop@1.0.0 build: `{w1} build --{w2}`
!npm ERR! Exit status {n1}
""",
            """
> shop@1.0.0 build
> {w1} build

!sh: 1: {w1}: not found
""",
        ),
        """
npm warn deprecated {w}@{n}.{n}.{n}: this version has known errors, use {w} instead
npm WARN EBADENGINE Unsupported engine { package: '{w}@{n}', required: { node: '>={n}' } }
[{n}/{n}] Fetching packages... {w}<cr>[{n}/{n}] Linking dependencies... {w}
""",
        """
npm error A complete log of this run can be found in: /home/dev/.npm/_logs/2026-11-20T10_{n}-debug-0.log
""",
    ),
    Kind(
        "make",
        """
[ {n}%] Building C object src/CMakeFiles/{w}.dir/{f}.c.o
gcc -Wall -Wextra -Werror=format -O2 -I./include -DHAVE_{w}=1 -c src/{f}.c -o build/{f}.o
gcc -Wall -fno-exceptions -O2 -c src/error_{w}.c -o build/error_{w}.o
  CC      drivers/{f}.o
make[{n}]: Entering directory '/home/dev/shop/{f}'
checking for {w}... no
""",
        (
            """
src/{f1}.c: In function '{w1}':
!src/{f1}.c:{n1}:{n2}: error: '{w2}' undeclared (first use in this function); did you mean '{w3}'?
   {n1} |     {w2} = 1;
      |     ^~~~~
make: *** [Makefile:{n}: build/{f1}.o] Error 1
""",
            """
!/usr/bin/ld: build/{f1}.o: in function `{w1}':
!src/{f1}.c:{n1}: undefined reference to `{w2}_{w3}'
!collect2: error: ld returned 1 exit status
""",
            """
!make: *** No rule to make target '{f1}.h', needed by 'build/{w1}.o'.  Stop.
""",
            """
!src/{f1}.c:{n1}:10: fatal error: {w1}/{w2}.h: No such file or directory
compilation terminated.
""",
        ),
        """
src/{f}.c:{n}:{n}: warning: unused variable '{w}' [-Wunused-variable]
src/{f}.c:{n}:{n}: note: each undeclared identifier is reported only once
      |         ~~~~^~~~~~
   {n} |     int {w} = {w}({n});
/usr/bin/ld: warning: {w}.o: missing .note.GNU-stack section implies executable stack
""",
        """
make[1]: *** [Makefile:{n}: all] Error 2
make: *** [all] Error 2
""",
    ),
    Kind(
        "eslint",
        """

/home/dev/shop/src/{f}.js
   {n}:{n}   warning  '{w}' is assigned a value but never used     no-unused-vars
  {n}:{n}  warning  Unexpected console statement                no-console
  {n}:{n}  warning  Missing return type on function             @typescript-eslint/error-{w}
""",
        (
            """

!/home/dev/shop/src/{f1}.js
  {n}:{n}  warning  Unexpected console statement                no-console
!  {n1}:{n2}  error    '{w1}' is not defined                        no-undef
""",
            """

!/home/dev/shop/src/{f1}.ts
!  {n1}:{n2}  error  Parsing error: Unexpected token {w1}
""",
        ),
        """
  {n}:{n}  warning  Async function '{w}' has no error handling    {w}/no-unhandled
""",
        """
✖ {n} problems (1 error, {n} warnings)
""",
    ),
    Kind(
        "docker",
        """
#{n} [{n}/{n}] RUN apt-get install -y {w}-{w}
#{n} {n}.{n} Get:{n} http://deb.debian.org/debian bookworm/main amd64 lib{w}-error-perl all {n} [{n} kB]
#{n} {n}.{n} Setting up lib{w}{n} ({n}.{n}-{n}) ...
#{n} sha256:{h}{h}{h}{h} {n}.{n}MB / {n}.{n}MB {n}.{n}s
#{n} {n}.{n} Selecting previously unselected package {w}-{w}.
#{n} CACHED
""",
        (
            """
!#{n1} {n}.{n} E: Unable to locate package {w1}-{w2}
!#{n1} ERROR: process "/bin/sh -c apt-get install -y {w1}-{w2}" did not complete successfully: exit code: 100
""",
            """
!#{n1} ERROR: failed to calculate checksum of ref {h}::{h}: "/{f1}.json": not found
""",
            """
!#{n1} {n}.{n} /bin/sh: 1: {w1}-{w2}: not found
!#{n1} ERROR: process "/bin/sh -c {w1}-{w2} --all" did not complete successfully: exit code: 127
""",
        ),
        """
#{n} {n}.{n} debconf: delaying package configuration, since apt-utils is not installed
#{n} {n}.{n} update-alternatives: warning: skip creation of /usr/share/man/{w}.gz because {w} doesn't exist
#{n} {n}.{n} WARNING: Running pip as the 'root' user can result in broken permissions
#{n} transferring context: {n}.{n}MB<cr>#{n} transferring context: {n}.{n}MB
""",
        """
------
Dockerfile:{n}
------
ERROR: failed to solve: see above
""",
    ),
    Kind(
        "jest",
        """
PASS src/{f}.test.ts ({n}.{n} s)
  <esc>32m✓<esc>0m throws an error when {w} is {w} ({n} ms)
  ✓ {w} {w} does not fail ({n} ms)
    ✓ renders {w} ({n} ms)
  ○ skipped {w} {w}
""",
        (
            """
FAIL src/{f1}.test.ts
!  ● {w1} › adds {w2} to {w3}

!    expect(received).toBe(expected) // Object.is equality

!    Expected: {n1}
!    Received: {n2}

      {n3} |     expect({w1}.total).toBe({n1});
         |                     ^
!      at Object.<anonymous> (src/{f1}.test.ts:{n3}:{n})
""",
            """
!  ● Test suite failed to run

!    Cannot find module '../{f1}' from 'src/{w1}.test.ts'
""",
        ),
        """
  console.error
    Warning: An update to {w} inside a test was not wrapped in act(...).
      at {w} (node_modules/{f}.js:{n}:{n})
      at console.error [as {w}] (node_modules/react-dom/{w}.js:{n}:{n})
  console.warn {w} is deprecated
""",
        """
Test Suites: 1 failed, {n} passed, {n} total
Tests:       1 failed, {n} passed, {n} total
Time:        {n}.{n} s
Ran all test suites.
""",
    ),
    Kind(
        "pytest, one cause",
        """
________________________ ERROR at setup of test_{w}_{w}[{w}-{n}] ________________________
________________________ ERROR at setup of test_{w}[{'{w}': {n}}-[{n}, {n}]] ________________________
>       server = start(port={n})
E       FileNotFoundError: [Errno 2] No such file or directory: '/usr/lib/postgresql/bin/initdb'
tests/conftest.py:84: FileNotFoundError
/usr/lib/python3/subprocess.py:{n}: FileNotFoundError
ERROR tests/{f}/test_{w}.py::test_{w}[{w}-{n}] - FileNotFoundError: [Errno 2]...
E           {w}=<{w} at 0x{h}>
    def _execute_child(self, args, executable, {w}, {w}):
tests/{f}/test_{w}.py::test_{w}_{w} PASSED                         [ {n}%]
""",
        (
            """
!E       AssertionError: assert {n2} == {n1}

!tests/{f1}/test_{w1}.py:{n3}: AssertionError
""",
        ),
        """
  /usr/lib/python3/site-packages/{f}.py:{n}: DeprecationWarning: {w}() is deprecated, use {w}_{w}() instead
""",
        """
=========================== short test summary info ============================
{n} failed, {n} passed, {n} errors in {n}.{n}s
""",
        ("FileNotFoundError: [Errno 2] No such file or directory: '/usr/lib/postgresql/bin/initdb'",),
    ),
    Kind(
        "gcc, one cause",
        """
In file included from src/{f}.c:{n}:
include/shop/all.h:12:10: fatal error: zlib.h: No such file or directory
make[{n}]: *** [Makefile:{n}: build/{f}.o] Error 1
compilation terminated.
gcc -Wall -Wextra -O2 -I./include -DHAVE_{w}=1 -c src/{f}.c -o build/{f}.o
   12 | #include <zlib.h>
""",
        (
            """
!src/{f1}.c:{n1}:{n2}: error: '{w2}' undeclared (first use in this function)
""",
        ),
        """
src/{f}.c:{n}:{n}: warning: unused variable '{w}' [-Wunused-variable]
""",
        "",
        ("fatal error: zlib.h: No such file or directory",),
    ),
)
