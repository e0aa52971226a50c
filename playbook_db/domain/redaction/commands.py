"""Passwords on command lines: after the options of well-known commands, or in the place where one takes it.

By convention a command takes its password after a short option that means something else to the next one, so the
commands are named here, each with what stands between its name and the password.
"""

import re
from collections.abc import Iterator

from playbook_db.domain.redaction.entropy import is_random, is_secret
from playbook_db.domain.redaction.token_patterns import Pattern

_ANY = r"\s(?:[^\n|;]{0,160}?\s)?"  # what may stand between a command and an option
_IS = r"(?:[ \t]{1,3}|=)"
_USER = r"[\"']?[\w.@+\\/-]{1,64}"
_QUOTED_USER = r"[\"'][\w.@+\\/-]{1,64}"
_QUOTED = r"([^\"'\\\n]{4,200})(?=\\{0,8}[\"'])"
_VALUE = (
    r"\\{0,8}[\"']?((?<=[\"'])[^\"'\\\n]{4,200}(?=\\{0,8}[\"'])"
    r"|(?<![\"'])(?!-)[^\s\"'\\<$|;&()][^\s\"'\\<|;&()]{3,200})"
)

# Commands, and what stands between one and the password.
_PASSWORDS = (
    ("mysql|mariadb", rf"[a-z]{{0,10}}{_ANY}-p"),
    ("mysqladmin", rf"{_ANY}password "),
    ("redis-cli|valkey-cli|redis-benchmark|keydb-cli", rf"{_ANY}-a ?"),
    ("docker|podman|nerdctl|buildah|skopeo|helm|oras|az|oc|cf", rf"(?: registry)? login{_ANY}-p{_IS}"),
    ("ldap", rf"[a-z]{{3,8}}{_ANY}-w ?"),
    ("mosquitto_|ipmitool|sqlcmd|bcp|osql|zip|unzip", rf"[a-z]{{0,6}}{_ANY}-P ?"),
    ("7z|7za|7zr|rar", rf"{_ANY}-h?p"),
    ("freerdp", rf"[0-9]?{_ANY}/p:"),
    ("schtasks", rf"[.ex]{{0,4}}{_ANY}/r?p "),
    (
        "mongo|rdesktop|cqlsh|influx|evil-winrm|psexec|twine|rabbitmqadmin|ncftp|kadmin|cypher-shell",
        rf"[a-z]{{0,10}}(?=[^\n]{{0,160}}\s(?:-u|--user)){_ANY}-p{_IS}",
    ),
    ("pscp|plink", rf"{_ANY}-pw "),
    ("sshpass", rf"{_ANY}-p ?"),
    ("openssl", rf"{_ANY}(?:-[kK]|-pass(?:in|out)?) (?:pass:)?"),
    ("snmp", rf"[a-z]{{3,8}}{_ANY}-[AXc] "),
    ("smb|rpcclient|wmic|mount.cifs", rf"[a-z]{{0,8}}{_ANY}(?:-U ?|--user{_IS}){_USER}%"),
    ("lftp|ncftp", rf"{_ANY}-u {_USER},"),
    ("ssh-keygen", rf"{_ANY}-[NP] "),
    ("useradd|usermod", rf"{_ANY}-p "),
    ("nuget", rf"{_ANY}-p "),
    ("security add-", rf"[a-z-]{{1,20}}{_ANY}-w "),
    ("http |https |xh ", rf"{_ANY}(?:-a|--auth) {_USER}:"),
    ("curl|pip", rf"{_ANY}(?:-[uU]|--user|--proxy-user){_IS}{_USER}:"),
    ("SecureString", r" (?:-String )?(?=[\"'])"),
    ("Credential(", rf"{_USER}[\"']?, ?(?=[\"'])"),
    ("account: |login: |creds: |credentials: |admin: ", r"[\w.@-]{2,40} ?/ ?(?=\S*[0-9])"),
    ("-u |--user |--user=", rf"{_USER}:"),
    ("htpasswd", r" -[a-zA-Z0-9]{0,6}b[a-zA-Z0-9]{0,6} (?:[\w./-]{1,80} )?[\w.@-]{1,60} "),
    ("net use", r" (?:[A-Za-z*]:? )?\\{2,8}\S{1,120} (?:/user:\S{1,60} )?(?!/)"),
    ("net user", r" [\w.-]{1,60} (?!/)"),
    ("http-basic.", r"\S{1,80} \S{1,60} "),
    ("rabbitmqctl", r" (?:add_user|change_password|authenticate_user) \S{1,60} "),
    ("wpa_passphrase", r" (?:\"[^\"\n]{1,40}\"|\S{1,40}) "),
    ("nmcli", rf"{_ANY}password "),
    ("sqlplus", rf" (?:-[A-Za-z] ){{0,3}}{_USER}/"),
    ("echo", r" (?:-[ne]{1,2} )?[\"']?(?:[\w.-]{1,40}:)?"
             r"(?=[^|\n]{4,80}\| ?(?:sudo (?:-S|chpasswd)|chpasswd|passwd --stdin|cryptsetup|[a-z]+ login))"),
    ("--from-literal", rf"{_IS}[\"']?[\w.-]{{1,60}}="),
    ("aws ssm put-parameter", rf"(?=[^\n]{{0,300}}SecureString){_ANY}--value{_IS}"),
    ("aws secretsmanager", rf"{_ANY}--secret-string{_IS}"),
    ("secret set", rf"{_ANY}(?:-b|--body|--value){_IS}"),
    ("identified by|IDENTIFIED BY|Identified by", r" (?:password |PASSWORD )?(?=\\{0,8}[\"'])"),
    ("identified with|IDENTIFIED WITH", r" \S{1,40} (?:by|BY|as|AS) (?=\\{0,8}[\"'])"),
    ("requirepass|masterauth|insecure-password|enable secret|enable password", r" (?:[0-9] )?"),
)  # fmt: skip
_TOKENS = (
    (" login", r" (?:--relogin |-k |-t |--key |--with-token )?"),
    ("nuget", rf"{_ANY}(?:-k|-ApiKey|--api-key) "),
    (
        "lient(|init(|configure(|login(|authenticate(|API(|Api(",
        r"(?:[\"'][^\"'\n]{1,60}[\"'], ?){0,2}(?=\\{0,8}[\"'][A-Za-z0-9_]{32,64}\\{0,8}[\"'])",
    ),
    ("?|&", r"(?:appid|app_key|key|sig|signature|code|subscription-key|auth|hapikey|access_key)=(?=[\w%-]{20,})"),
    ("setApiKey", r" "),
    ("api-key store", r" \S{1,60} "),
    ("oathtool", rf"{_ANY}(?:-b|--base32) "),
    ("curl", rf"{_ANY}(?:-b|--cookie) [\"']?[\w.%-]{{1,40}}="),
    ("curl", rf"{_ANY}(?:-u|--user){_IS}[\"']?(?=[^\s\"':]{{16,200}}:[\s\"'])"),
    ("otp|OTP", r"(?: (?:seed|secret|code))?\W{1,3}(?=[\"']?[A-Z2-7]{16,64}\b)"),
)


_PORTS = re.compile(r"[0-9.:-]+(?:/[a-z]{3})?")


def _is_password(value: str) -> bool:
    return is_secret(value, password=True, literal=True) and (value.isdigit() or not _PORTS.fullmatch(value))


def _commands() -> Iterator[Pattern]:
    for kind, rows, accepts in (("password", _PASSWORDS, _is_password), ("token", _TOKENS, is_random)):
        for anchors, between in rows:
            before = (
                (between + _VALUE, between.replace(_USER, _QUOTED_USER) + _QUOTED)
                if _USER in between
                else (between + _VALUE,)
            )
            for anchor in anchors.split("|"):
                for regex in before:
                    yield Pattern(kind, anchor, re.compile(re.escape(anchor) + regex), accepts)


COMMANDS = tuple(_commands())
