"""Which names mean a secret: of settings, variables, options, fields and columns; one list for every rule."""

import re
from functools import lru_cache

from playbook_db.domain.redaction.escapes import MARKER, Unescaped, places_of, word_of

# Password in other languages, as it is written in lower case.
_FOREIGN_NAMES = (
    "passwort|kennwort|wachtwoord|passord|l\u00f6senord|losenord|adgangskode|salasana|contrase\u00f1a|contrasena|"
    "contrasenya|mot de passe|mot_de_passe|motdepasse|mdp|senha|palavra-passe|palavra passe|"
    "clave|parola chiave|parola d'ordine|parola d\u2019ordine|parola|parol\u0103|has\u0142o|haslo|heslo|"
    "jelsz\u00f3|jelszo|lozinka|geslo|slapta\u017eodis|parool|\u015fifre|lykilor\u00f0|m\u1eadt kh\u1ea9u|kata sandi|"
    "\u043f\u0430\u0440\u043e\u043b\u044c|\u043f\u0430\u0440\u043e\u043b\u0430|"
    "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2|\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4|"
    "\u30d1\u30b9\u30ef\u30fc\u30c9|\u6697\u8a3c\u756a\u53f7|\ube44\ubc00\ubc88\ud638|\u05e1\u05d9\u05e1\u05de\u05d4|"
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631|\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19"
)
# Secret, token and secret key, the same way.
_FOREIGN_SECRETS = (
    "geheimnis|zugangsdaten|api-schl\u00fcssel|wlan-schl\u00fcssel|clave_secreta|clave secreta|clave_api|"
    "secreto|chiave_segreta|chiave segreta|chiave_api|segreto|chave_secreta|chave secreta|chave_api|segredo|"
    "cl\u00e9_secr\u00e8te|cl\u00e9 secr\u00e8te|cle_secrete|cl\u00e9_api|hemlighet|hemlig_nyckel|hemmelighet|"
    "salaisuus|sekret|klucz_api|tajemstvi|tajny_klic|gizli_anahtar|titok|\u0441\u0435\u043a\u0440\u0435\u0442|"
    "\u0442\u043e\u043a\u0435\u043d|\u5bc6\u94a5|\u5bc6\u9470|\u79d8\u94a5|\u4ee4\u724c|\u79d8\u5bc6\u9375|"
    "\u79d8\u5bc6\u306e\u9375|\u30c8\u30fc\u30af\u30f3|\ube44\ubc00\ud0a4|\ud1a0\ud070"
)
NAME_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_STEMS = {  # what all names of secrets have in them, each with its word
    stem: word_of(stem)
    for stem in f"pass|pw|psk|secret|salt|token|key|credential|cookie|auth|jwt|_pat|-pat|session|psw|creds|"
    f"keymaterial|{_FOREIGN_NAMES}|{_FOREIGN_SECRETS}".split("|")
}
_FOREIGN = re.compile(rf"(?<![^\W\d_])(?:{_FOREIGN_NAMES})(?![^\W\d_])|passwort|kennwort|wachtwoord|l\u00f6senord")
_FOREIGN_SECRET = re.compile(rf"(?<![^\W\d_])(?:{_FOREIGN_SECRETS})(?![^\W\d_])|schl\u00fcssel(?![^\W\d_])")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A name with one of these words at its end is about a secret: `token_count`.
_ABOUT = _words(
    "count type url uri name names ref refs path file field fields id ids length len limit hash expiry expires "
    "expire expired ttl var class provider service store policy arn regex pattern label placeholder input prompt "
    "filter prefix suffix template scheme attribute timeout interval age days attempts retries encryption hashing "
    "hasher rotation period duration cost rounds iterations history complexity lifetime delay column header "
    "headers hint error errors reset manager generator validator handler helper factory callback algorithm alg "
    "method mode endpoint required enabled disabled idx index size format usage budget form view screen page "
    "button text title message msg rules rule strength min max at by from with node kind version stream ring word "
    "board press chain frame map set list func function fn dir folder host server user username email status "
    "state level scope scopes audience issuer source backend model schema table query param params parameter arg "
    "args attr option options config settings bits checksum digest fingerprint sha md public pub less izer ize "
    "mgr ptr cb"
)
_AFTERTHOUGHTS = _words(
    "prod production dev test testing staging live local default old new current plain plaintext value string base "
    "b encoded ident main primary secondary backup v raw db github gitlab aws"
)
_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "passwrd", "pwd", "passwords", "pw", "psw", "pswd")
_KEYED = _words(
    "api access private secret encryption encrypt signing sign account master auth shared client ssh hmac jwt "
    "session storage admin service deploy license app application security webhook aes rsa gpg stripe sendgrid "
    "twilio mailgun openai anthropic azure aws google gcp maps cohere groq mistral deepseek datadog algolia cipher "
    "crypto decryption subscription functions routing integration preshared pre write read ingest cookie field wallet "
    "signer merchant in nonce hub connection sas wireguard wg network psk serial consumer instrumentation hash"
)
_PUBLIC_KEYS = _words("public cache primary foreign partition sort object publishable site idempotency row index")
_GLUED_KEYS = (
    *("apikey", "accesskey", "secretkey", "privatekey", "accountkey", "authkey", "masterkey", "signingkey"),
    *("keymaterial", "presharedkey", "encryptionkey", "sharedkey", "sessionkey", "routingkey", "licensekey"),
)
_SECRET_WORDS = _words(
    "password passwd secret secrets token tokens key keys credential credentials auth authorization session"
)
_NO_SECRETS = _PUBLIC_KEYS | _words(
    "pub hash digest checksum fingerprint sha etag id ids uuid version url uri path file"
)
_PLURALS = {"keys": "key", "tokens": "token", "secrets": "secret", "apikeys": "apikey"}


def stems(unescaped: Unescaped) -> list[tuple[int, int]]:
    """Where names that mean a secret may be in the text of *unescaped*, by what all such names have in them."""
    text = MARKER.sub(lambda marker: " " * len(marker[0]), unescaped.text)
    text, words = (text.replace("\u0130", "i").lower() for text in (text, unescaped.words))  # that letter would grow
    present = (stem for stem, word in _STEMS.items() if word in words)
    return sorted((place, place + len(stem)) for stem in present for place in places_of(stem, text))


def may_name_a_key(word: str) -> bool:
    """Whether *word* before a bare `key` makes it a secret: `API key`."""
    return word.lower() in _KEYED


@lru_cache(maxsize=1024)
def has_word_of_secrets(whole: str) -> bool:
    """Whether the name *whole* has such a word in it and none of what is no secret: `TOKEN_FOR_CI`."""
    words = {word.lower() for word in _WORD.findall(whole)}
    return not _SECRET_WORDS.isdisjoint(words) and _NO_SECRETS.isdisjoint(words)


@lru_cache(maxsize=1024)
def kind_of_name(whole: str) -> str | None:
    """The kind of secret that the name *whole* means; None for none."""
    folded = whole.lower()
    if _FOREIGN.search(folded):
        return "password"
    if _FOREIGN_SECRET.search(folded) or whole == "PAT":
        return "secret"
    kind = _kind_of([word.lower() for word in _WORD.findall(_spelled(whole))])
    if kind is None and whole.isupper() and whole.rstrip("0123456789").endswith("_KEY"):
        kind = None if _PUBLIC_KEYS & set(whole.lower().split("_")) else "key"
    return "AWS key" if kind in ("secret", "token", "key") and "aws" in whole.lower() else kind


def _spelled(name: str) -> str:
    """*name* with `pass_word` and the like as one word."""
    return re.sub("(?i)key_?material", "psk", re.sub("(?i)pass[_-]word", "password", name))


def _kind_of(words: list[str]) -> str | None:
    """The same for the words of the name."""
    while len(words) > 1 and words[-1] in _AFTERTHOUGHTS:
        words = words[:-1]
    if not words or words[-1] in _ABOUT or words[0] == "public":
        return None
    words[-1] = _PLURALS.get(words[-1], words[-1])
    for place, word in enumerate(words):
        if word.endswith(_PASSWORDS) or word == "pw":
            return "password"
        if word.endswith("pass") and word not in ("bypass", "compass", "overpass"):
            return "password"
        if word.endswith("secret") or word.startswith("secretkey"):
            return "secret"
        if word.endswith("token"):
            return "token"
        if word.endswith(_GLUED_KEYS) or (word in ("key", "salt") and place and words[place - 1] in _KEYED):
            return "key"
        if word in ("credential", "credentials", "creds"):
            return "credential"
    if words[-1] in ("auth", "authorization"):
        return "credential"
    if words[-1] == "psk":
        return "password"
    return "token" if words[-1] in ("pat", "jwt", "cookie") and len(words) > 1 else None
