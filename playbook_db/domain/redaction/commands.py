"""Passwords on command lines: after the options of well-known commands, or in the place where one takes it.

By convention a command takes its password after a short option that means something else to the next one, so the
commands are named here, each with what stands between its name and the password.
"""

import re
from collections.abc import Iterator

from playbook_db.domain.redaction.entropy import is_a_word, is_invented, is_mixed, is_random, is_secret
from playbook_db.domain.redaction.escapes import Secret, Unescaped, word_of
from playbook_db.domain.redaction.token_patterns import WORD, Pattern

_ANY = r"[\s\"'](?:[^\n|;]{0,160}?[\s\"'])?"  # what may stand between a command and an option
_IS = r"(?:[ \t]{1,3}|=|[\"'], ?)"
_USER = r"[\"']?[\w.@+\\/-]{1,64}"
_QUOTED_USER = r"[\"'][\w.@+\\/-]{1,64}"
_QUOTED = r"([^\"'\\\n]{4,200})(?=(?:\\n)?\\{0,8}[\"'])"
_VALUE = (
    r"\\{0,8}[\"']?((?<=[\"'])[^\"'\\\n]{4,200}(?=(?:\\n)?\\{0,8}[\"'])"
    r"|(?<![\"'])(?!-)[^\s\"'\\<$|;&()](?:[^\s\"'\\<|;&()]|&(?=[^\s&])){3,200})"
)

# Commands, and what stands between one and the password; after these a password may be a plain word.
_SURE = (
    ("mysql|mariadb", rf"[a-z]{{0,10}}{_ANY}-p"),
    ("mysqladmin", rf"{_ANY}password "),
    ("redis-cli|valkey-cli|redis-benchmark|keydb-cli", rf"{_ANY}-a ?"),
    ("docker|podman|nerdctl|buildah|skopeo|helm|oras|az|oc|cf", rf"(?: registry)? login{_ANY}-p{_IS}"),
    ("sshpass", rf"{_ANY}-p(?:{_IS})?"),
    ("curl|pip", rf"{_ANY}(?:-[uU]|--user|--proxy-user)(?:{_IS})?{_USER}:"),
    ("http|https|xh", rf"{_ANY}(?:-a|--auth){_IS}{_USER}:"),
    ("identified by|IDENTIFIED BY|Identified by", r" (?:password |PASSWORD )?(?=\\{0,8}[\"'])"),
)
# After these, of whatever command, it has two digits, or a digit and a sign.
_OPTIONS = (
    (
        "-u |-U |--user |--username |--login |-n ",
        r"[\w.@\\/-]{1,64}(?:\s[^\s|;]{1,60}){0,6}?\s(?:-p|-P|--pass|--pw)[ =]",
    ),
    ("account: |login: |creds: |credentials: |admin: ", r"[\w.@-]{2,40}(?: ?/ ?|:)(?=\S*[0-9])"),
    ("-u |--user |--user=", rf"{_USER}:"),
    ("user = ", rf"{_USER}:"),
    ("-p ", r"(?=[\"'][^\s\"'/]{8,64}[\"'])"),
)
# After these it has a digit or a sign.
_PASSWORDS = (
    ("ldap", rf"[a-z]{{3,8}}{_ANY}-w ?"),
    ("mosquitto_|ipmitool|sqlcmd|bcp|osql|zip|unzip", rf"[a-z]{{0,6}}{_ANY}-P ?"),
    ("7z|7za|7zr|rar|unrar", rf"{_ANY}-h?p"),
    ("freerdp", rf"[0-9]?{_ANY}/p:"),
    ("schtasks", rf"[.ex]{{0,4}}{_ANY}/r?p "),
    (
        "mongo|cqlsh|influx|beeline|rabbitmqadmin",
        rf"[a-z]{{0,10}}(?=[^\n]{{0,160}}\s(?:-u|-n|--user)){_ANY}-p{_IS}",
    ),
    ("openssl", rf"{_ANY}(?:-[kK]|-pass(?:in|out)?) (?:pass:)?"),
    ("snmp", rf"[a-z]{{3,8}}{_ANY}-A "),
    ("snmp", rf"[a-z]{{3,8}}{_ANY}-X "),
    ("snmp", rf"[a-z]{{3,8}}{_ANY}-c "),
    ("smb|rpcclient|wmic|winexe|mount.cifs", rf"[a-z]{{0,8}}{_ANY}(?:-U ?|--user{_IS}){_USER}%"),
    ("lftp|ncftp", rf"{_ANY}-u {_USER},"),
    ("ssh-keygen", rf"{_ANY}-[NP] "),
    ("useradd|usermod", rf"{_ANY}-p "),
    ("security add-", rf"[a-z-]{{1,20}}{_ANY}-w "),
    ("SecureString", r" (?:-String )?(?=[\"'])"),
    ("creds ", r"(?:for [\w.-]{1,40}:? )?[\w.@-]{2,40}(?::| ?/ ?)(?=\S*[0-9])"),
    ("htpasswd", r" -[a-zA-Z0-9]{0,6}b[a-zA-Z0-9]{0,6} (?:[\w./-]{1,80} )?[\w.@-]{1,60} "),
    ("net use", r" (?:[A-Za-z*]:? )?\\{2,8}\S{1,120} (?:/user:\S{1,60} )?(?!/)"),
    ("net user", r" [\w.-]{1,60} (?!/)"),
    ("http-basic.", r"\S{1,80} \S{1,60} "),
    ("rabbitmqctl", r" (?:add_user|change_password|authenticate_user) \S{1,60} "),
    ("wpa_passphrase", r" (?:\"[^\"\n]{1,40}\"|\S{1,40}) "),
    ("sqlplus|expdp|impdp|exp|imp|rman|sqlldr", r"(?: -[A-Za-z]| target| [a-z]+id)?[ =]\"?[\w.]{1,60}/"),
    ("radius-server|tacacs-server|snmp-server", rf"{_ANY}(?:key|secret|md5|sha) (?:[0-9] )?"),
    ("snmp-server", rf"{_ANY}priv (?:aes|des|3des)(?: [0-9]{{3}})? "),
    ("username ", r"\S{1,40} (?:privilege [0-9]{1,2} )?(?:secret|password) (?:[0-9] )?"),
    ("PSK|EAP|XAUTH", r" (?=\\{0,8}\")"),
    ("auth-user-pass", r">?\n[^\n]{1,60}\n"),
    ("mc alias set|mc config host add", r" \S{1,40} \S{1,80} \S{1,60} "),
    ("impacket-", r"[a-z]{2,20} [\w.]{1,30}/[\w.]{1,30}:"),
    ("keybase", rf"{_ANY}--paperkey "),
    ("unlock-keychain", r" -p "),
    ("dscl", rf"{_ANY}-passwd \S{{1,60}} "),
    ("drush|wp user", r" (?:user:password|upwd) \S{1,40} "),
    ("bw unlock", r" "),
    ("bw login|isql", r" \S{1,60} (?:[a-z]{1,20} )?"),
    ("pass insert|kinit|lpass", r"[^\n|;]{0,60} <<< ?"),
    ("db2 connect", r" to \S{1,40} user \S{1,40} using "),
    ("USER '", r"[^'\n]{1,40}' USING (?=')"),
    ("/v ", r"\S{0,30}(?:[Pp]ass|[Ss]ecret|[Tt]oken)\S{0,20} (?:/t \S{1,20} )?/d "),
    ("chpasswd:", r"\s{1,10}list: ?\|?\s{1,10}[\w.-]{1,30}:"),
    ("az ", r"[a-z -]{2,40} -p "),
    ("PASSWORD ", r"\w{1,30} = "),
    ("passwd|cryptsetup|login", r"[^\n|;]{0,60} <<< ?"),
    ("> AUTH ", r"(?:[\w-]{1,40} )?"),
    ("snmp-server community|key-string|isakmp key", r" (?:[0-9] )?"),
    ("random_password|random_string", r"(?=\\{0,8}\")[^$]{0,400}?\\{0,8}\"result\\{0,8}\": ?(?=\\{0,8}\")"),
    ("kubectl get secret|get-secret-value|secrets versions access",
     r"[^\n]{0,200}(?:base64|SecretString|access)[^\n]{0,100}\n(?=[^\s{}]*[0-9][^\s{}]*(?:\n|$))"),
    ("vault kv put", r" \S{1,80} [\w.-]{1,40}="),
    ("<input ", r"[^<>]{0,120}?value=(?=[^<>]{0,200}type=[\"']?password)"),
    ("echo",
     r" (?:-[ne]{1,2} )?[\"']?(?:[\w.-]{1,40}:)?"
     r"(?=[^|\n]{4,80}\| ?(?:sudo -S|(?:sudo )?chpasswd|passwd --stdin|cryptsetup|kinit|[a-z ]{1,20} login))"),
    ("stringData|secret-string|SecretString",
     r"[^\n']{0,80}'?\{[^\n']{0,120}?\\{0,8}\"(?:p|pw|pass|conn|dsn|secret|value)\\{0,8}\": ?"),
    ("--from-literal", rf"{_IS}[\"']?[\w.-]{{1,60}}="),
    ("aws ssm put-parameter", rf"(?=[^\n]{{0,300}}SecureString){_ANY}--value{_IS}"),
    ("aws secretsmanager", rf"{_ANY}--secret-string{_IS}"),
    ("secret set", rf"{_ANY}(?:-b|--body|--value){_IS}"),
    ("IDENTIFIED WITH", r" \S{1,40} (?:by|BY|as|AS) (?=\\{0,8}[\"'])"),
    ("requirepass|masterauth|insecure-password|enable secret|enable password", r" (?:[0-9] )?"),
)  # fmt: skip
_TOKENS = (
    ("log in with |log in as |login with |sign in with | user=", r"[\w.@-]{2,40}(?::| ?/ ?| with )(?=\S*[0-9])"),
    ("snyk auth|IDENTIFY|\nAUTH", r" (?:PLAIN |[a-z]{1,20} )?"),
    ("--key", rf"{_IS}(?=[\w=-]{{20,}}(?![\w./]))"),
    ("response=", r""),
    ("nuget push", r" \S{1,80} (?!-)"),
    ("codecov", rf"{_ANY}-t "),
    ("secret:create|secrets create|secret create", rf"{_ANY}--value{_IS}"),
    ("pypi-token.", r"\S{1,40} "),
    ("community ", r""),
    (" login", r" (?:--relogin |-k |-t |--key |--with-token )?"),
    ("nuget", rf"{_ANY}(?:-k|-ApiKey|--api-key) "),
    (
        "lient(|init(|configure(|login(|authenticate(|API(|Api(|Fernet(|Stripe(|Bot(|Github(|Deepgram(|.run(|HMAC256(|GetBytes("
        "|KeySpec(|@Value(",
        r"(?:[\"'][^\"'\n]{1,60}[\"'], ?){0,2}b?(?=\\{0,8}[\"'][A-Za-z0-9_.+=-]{20,120}\\{0,8}[\"'])(?=\S{0,120}[0-9])",
    ),
    ("--token", rf"{_IS}(?=[a-z0-9]{{6}}\.[a-z0-9]{{16}}\b)"),
    ("Unseal Key |operator unseal", r"(?:[0-9]{1,2}:)? ?"),
    ("SAMLResponse", r"="),
    ("SecretID|secret_id|secretId", r"(?:\\{0,8}[\"'])?(?:[:=]\s{0,12}| )(?=[\"'\\]{0,4}[0-9a-f]{8}-)"),
    ("ignature", r"=(?=[\"']?[\w%~+/=-]{20,})"),
    ("ASP.NET_SessionId|PHPSESSID|JSESSIONID|connect.sid", r"=(?![0-9a-f]{8}-[0-9a-f]{4}-)(?=[\w%.-]{16,})"),
    ("?|&", r"(?:appid|app_key|key|sig|signature|code|subscription-key|auth|hapikey|access_key)=(?=[\w%-]{20,})"),
    ("api-key store", r" \S{1,60} "),
    ("oathtool", rf"{_ANY}(?:-b|--base32) "),
    ("sonar.login", r"[=:] ?"),
    ("otp|OTP", r"(?: (?:seed|secret|code))?\W{1,3}(?=[\"']?[A-Z2-7]{16,64}\b)"),
)


_PORTS = re.compile(r"[0-9.:-]+(?:/[a-z]{3})?")


def _is_password(value: str) -> bool:
    return is_secret(value, password=True, literal=True) and (value.isdigit() or not _PORTS.fullmatch(value))


def _is_sure(value: str) -> bool:
    return _is_password(value) or is_a_word(value)


def _commands() -> Iterator[Pattern]:
    for kind, rows, accepts in (
        ("password", _OPTIONS, is_invented),
        ("password", _SURE, _is_sure),
        ("password", _PASSWORDS, _is_password),
        ("token", _TOKENS, is_random),
    ):
        for anchors, between in rows:
            before = (
                (between + _VALUE, between.replace(_USER, _QUOTED_USER) + _QUOTED)
                if _USER in between
                else (between + _VALUE,)
            )
            for anchor in anchors.split("|"):
                for regex in before:
                    start = WORD if anchor.isalnum() and len(anchor) < 6 and kind == "password" else ""
                    yield Pattern(kind, anchor, re.compile(start + re.escape(anchor) + regex), accepts)


COMMANDS = tuple(_commands())

# Calls that take a password among their arguments, and calls that may.
_CALLS_WITH_PASSWORDS = (
    *("auth(", "auth=(", "asicAuth(", "mysqli_connect(", "getConnection(", "PDO(", "DBI->connect(", "Credentials("),
    *("Credential(", "PasswordAuthentication(", "login(", "Sequelize(", "simple_bind_s(", "FTP(", "createUser("),
    *("etPassword(", "et_password("),
)
_CALLS = (
    *("Auth(", "Login(", "connect(", "Connect(", "asic(", "uthentication(", "uthenticate(", "assword(", "Hmac("),
    *("hmac(", "sign(", "signWith(", "jwt.encode(", "Client(", "algoliasearch(", "access_token("),
)
_ARGUMENT = re.compile(
    r"\s{0,20}(?:[\w.]{1,40}\s?[:=]\s?)?(?:b|Some\(|\[|\()?"
    r"(?:\\{0,8}(?P<quote>[\"'])(?P<text>[^\"'\\\n]{0,200})\\{0,8}(?P=quote)|[\w.$@:>-]{1,60}(?:\(\))?|\{[^{}\n]{0,80}\})"
    r"(?:\.\w{1,20}\(\))?\)?\s{0,20}[,)\]]"
)


def calls(unescaped: Unescaped) -> Iterator[Secret]:
    """The passwords among the arguments of calls, but the first of them."""
    text = unescaped.text
    for call in (*_CALLS_WITH_PASSWORDS, *_CALLS):
        is_sure = call in _CALLS_WITH_PASSWORDS
        for place in unescaped.places(call, word_of(call)):
            at = place + len(call)
            for number in range(5):
                argument = _ARGUMENT.match(text, at)
                if argument is None:
                    break
                value = argument["text"] or ""
                if number and ((is_sure and is_invented(value)) or _is_key(value)):
                    yield *argument.span("text"), "password"
                at = argument.end()


def _is_key(value: str) -> bool:
    return is_random(value) and _is_password(value) and (len(value) > 23 or is_mixed(value))
