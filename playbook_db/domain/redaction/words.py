"""Words in secrets and in their names, all in lower case."""

# ruff: noqa: E501, SIM905
# fmt: off

# Each name of a secret contains one of these stems, or a word of the next two lists.
STEMS = frozenset("pass pw psk secret salt token key credential cookie auth jwt _pat -pat session psw creds keymaterial".split())
# Words for "password" in other languages; * stands for other endings.
FOREIGN_PASSWORDS = (
    "passwort", "kennwort", "wachtwoord*", "wachtzin", "passord*", "lösenord*", "losenord", "adgangskode*", "kodeord*",
    "salasana*", "contraseñ*", "contrasena", "contrasenya", "mot_de_passe", "motdepasse", "mdp", "senha*",
    "palavra-passe", "clave", "parola", "parolă", "parolas*", "hasł*", "haslo", "hesl*", "jelsz*", "lozink*", "geslo*",
    "slaptažod*", "parool*", "şifre*", "lykilorð", "ww", "парол*", "лозинк*", "κωδικ*", "密码", "密碼", "口令", "パスワード",
    "パスコード", "暗証番号", "合言葉", "비밀번호", "암호", "비번", "패스워드", "סיסמה", "รหัสผ่าน", "पासवर्ड", "mot de passe", "palavra passe",
    "parola chiave", "parola d'ordine", "parola d’ordine", "mật khẩu", "kata sandi", "كلمة المرور", "رمز عبور",
    "pass phrase", "phrase de passe", "m0t de passe", "phrase secrète", "кодовая фраза", "code segreto", "codice segreto",
)
# Words for "secret", "token" and "secret key" in other languages; * stands for other endings.
FOREIGN_SECRETS = (
    "geheimnis", "geheim", "zugangsdaten", "schlüssel", "api-schlüssel", "wlan-schlüssel", "clave_secreta", "clave_api",
    "secreto", "chiave_segreta", "chiave_api", "segreto", "chave_secreta", "chave_api", "segredo", "clé_secrète",
    "cle_secrete", "clé_api", "hemlighet", "hemlig_nyckel", "hemmelighet", "salaisuus", "sekret", "klucz_api",
    "tajemstvi", "tajny_klic", "gizli_anahtar", "titok", "секрет*", "токен*", "api-ключ*", "密钥", "密鑰", "秘钥", "令牌",
    "秘密鍵", "秘密の鍵", "トークン", "アクセスキー", "シークレット", "비밀키", "토큰", "액세스키", "clave secreta", "clave api", "clave de api",
    "chiave segreta", "chiave api", "chave secreta", "chave api", "chave de api", "clé secrète", "clé api", "clé d'api",
    "jeton d'accès", "jeton", "klucz api", "api-sleutel", "api-nyckel", "ключ апи", "апи ключ", "api ключ", "ключ api",
    "ключ доступ*", "anahtar*", "apiキー", "api密钥", "api키", "chave de acesso", "sleutel", "토큰값", "tajny klucz", "klucz dostępu", "chave da api", "キー",
)
# A name that ends with one of these words describes a secret, but isn't one: `token_count`.
ABOUT = frozenset("""
count type url uri name names ref refs path file field fields id ids length len limit hash expiry expires expire expired
ttl var class provider service store policy arn regex pattern label placeholder input prompt filter prefix suffix
template scheme attribute timeout interval age days attempts retries encryption hashing hasher rotation period duration
cost rounds iterations history complexity lifetime delay column header headers hint error errors reset manager generator
validator handler helper factory callback algorithm alg method mode endpoint required enabled disabled idx index size sizes
format usage budget form view screen page button text title message msg rules rule strength min max at by from with node
kind version stream ring word board press chain frame map set list func function fn dir folder host server user username
email accessor status state level scope scopes audience issuer source backend model schema table query param params parameter arg
args attr option options config settings bits checksum digest fingerprint sha md public pub less izer ize mgr ptr cb
""".split())
# These words at the end of a name are ignored: `password_prod`.
AFTERTHOUGHTS = frozenset("""
prod production dev test testing staging live local default old new current plain plaintext value string base b encoded
ident main primary secondary backup v raw db github gitlab aws
""".split())
# A key is secret after one of these words: `signing_key`.
KEYED = frozenset("""
api access private secret encryption encrypt signing sign account master auth shared client ssh hmac jwt session storage
admin service deploy license app application security webhook aes rsa gpg stripe sendgrid twilio mailgun openai
anthropic azure aws google gcp maps cohere groq mistral deepseek datadog algolia cipher crypto decryption subscription
functions routing integration preshared pre write read ingest cookie field wallet signer merchant in nonce hub
connection sas wireguard wg network psk serial consumer instrumentation hash recovery tenant
""".split())
# A key isn't secret after one of these words: `primary_key`.
PUBLIC_KEYS = frozenset("public cache primary foreign partition sort object publishable site idempotency row index".split())
# One of these words anywhere in a name may mean a secret: `TOKEN_FOR_CI`.
SECRET_WORDS = frozenset("password passwd secret secrets token tokens key keys credential credentials auth authorization session".split())
# Such a name is harmless if it also contains one of these words, or a word of `public_keys`.
NO_SECRETS = frozenset("""
pub hash digest checksum fingerprint sha etag id ids uuid version url uri path file
wrong bad err error invalid incorrect missing weak forgot reset confirm change mismatch
""".split())
# A name means a password, or a key, if one of its words has one of these endings.
PASSWORDS = frozenset("password passwd passphrase passcode passwrd pwd passwords pw psw pswd authtok".split())
GLUED_KEYS = frozenset("""
apikey accesskey secretkey privatekey accountkey authkey masterkey signingkey keymaterial presharedkey encryptionkey
sharedkey sessionkey routingkey licensekey privkey tenantkey networkkey recoverykey appkey
""".split())
# The 140 pairs of letters that make up 78 % of the words in source code and its documentation.
COMMON_PAIRS = frozenset("""
ab ac ad ag ai al am an ap ar as at ba bl ca ce ch ck cl co cr ct da de di do ea ec ed ee ef el em en ep er es et ev ex
fi fo ge ha he hi ho ia ic id ie ig il im in io ir is it ke la le li ll lo ls lu ly ma me mi mm mo mp na nc nd ne nf ng
ni no ns nt oc od ol om on oo op or os ot ou ow pa pe pl po pr pt ra re ri rm ro rr rs rt sc se sh si so sp ss st su ta
te th ti to tr ts tt tu ty ul un up ur us ut va ve xe xt yp
""".split())
# Words in all lists of common passwords that rarely mean anything else. Most passwords with digits need no list.
COMMON_PASSWORDS = frozenset("""
qwerty qwertz azerty qwertyuiop asdfgh asdfghjkl zxcvbn zxcvbnm letmein welcome monkey dragon football baseball
basketball sunshine princess iloveyou trustno superman batman starwars shadow master hunter ranger soccer hockey pepper
ginger summer winter spring autumn cheese computer internet whatever freedom cookie chocolate butterfly flower matrix
silver golden diamond phoenix merlin purple orange banana pokemon thunder rainbow google administrator passw0rd
p@ssw0rd p@ssword secret123
""".split())
# Words that replace or describe a password.
NO_PASSWORDS = frozenset("""
password passwd secret token user username login stdin prompt string str text none null true false required optional
missing invalid incorrect wrong expired changed hidden masked redacted removed encrypted hashed hash plain plaintext
bcrypt argon scrypt scram digest empty blank default generated random disabled enabled unset unknown example sample
dummy placeholder changeme changeit replace your email name value field input button label error warning weak strong
medium short always never visible forgotten forgot reset confirm current new old same different file varchar char
boolean integer object any admin root guest test testing local postgres mysql redis mongo oauth basic bearer
public private internal external manual keychain keyring vault environment variable undefined str strict inherit unique
success failure ignore mismatch correct insecure irrelevant policy column remember viewer editor another
geheimzahl nobody something anything whatever vergessen erforderlich ungultig falsch geandert geheim
""".split())
# Words of sentences. A text with one of these isn't a passphrase.
SENTENCE_WORDS = frozenset("""
the and for with that this not are was you from should must into has have can will use enter type your our new old
please forgot reset change update confirm too short long match least characters chars password passwords passphrase
token secret key user login email field value set show hide only when then than via per all any each more less same does
did but who how what where been stored sent file path name link page here there
""".split())
# Words about passphrases. A quoted text with one of these isn't a passphrase.
ABOUT_PASSWORDS = frozenset("""
your enter please must should type password passphrase characters least here forgot reset incorrect wrong invalid
required empty cannot failed does not no bad is are for pin code payload config settings
form forms fields title hint help tooltip caption page dialog modal button signup signin account profile common
validation errors app data model props state store
""".split())
