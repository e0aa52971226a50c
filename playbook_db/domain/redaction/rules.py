"""What secrets look like: the rules as data. To mask another tool's password or provider's token, add a row or a word.

In a regular expression `<name>` stands for one of PARTS: <any> for other arguments, <is> for the sign between an option
and its value, <user> for a user's name.
"""

# ruff: noqa: E501, SIM905
# fmt: off

PARTS = {
    "uuid": '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    # No word may touch a token on its left, but the end of an escape may: \n, %3D, \u0022, ESC[0m.
    "left": r'(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9a-fA-F]{4})|(?<=\[[0-9]m)|(?<=\[[0-9]{2}m))',
    "right": '(?![A-Za-z0-9])',
    "key_lines": r'''[A-Za-z0-9+/]{16,}={0,2}(?:(?:\\{1,8}[nrt]|[\s"'+>|#,*\\]){1,40}[A-Za-z0-9+/]{20,}={0,2}){0,200}(?:(?:\\{1,8}[nrt]|[\s"'+>|#,*\\]){1,40}(?!(?:[A-Z]?[a-z]+|[A-Z]{1,4})(?![A-Za-z0-9+/=]))[A-Za-z0-9+/]{1,19}={0,2}(?=["'\s\\]|$))?''',
    "told": r"""["'\\]{0,9}(?:(?:,? (?!(?:line|port|id|version|error|status|postal|zip|country|area|exit)\b)[^\s\d:;.,]{1,20}){0,6}? ?(?:[:=]| is| ist| lautet| est| es| è| jest)(?: the| die| der)?|(?= [0-9]))[: ]{0,3}["'`\\]{0,9}""",
    "number": '((?:[0-9]{4,8}|[0-9]{3}[ -][0-9]{3})(?![A-Za-z0-9_%-]|[.,:][0-9]))',
    "any": r'''[\s"'](?:[^\n|;]{0,160}?[\s"'])?''',
    "is": r'''(?:[ \t]{1,3}|=|["'], ?)''',
    "user": r'''["']?[\w.@+\\/-]{1,64}''',
}

# A row: the kind, prefixes, a regular expression for the rest of a token, and a check of the token.
PREFIXED = (
    ('Anthropic key', 'sk-ant-', '[A-Za-z0-9_-]{20,}', 'real'),
    ('OpenAI key', 'sk-proj- sk-svcacct- sk-admin-', '[A-Za-z0-9_-]{20,}', 'real'),
    ('API key', 'sk-', '(?!ssh-|ecdsa-)(?:[a-z0-9]{2,10}-){0,2}[A-Za-z0-9_-]{20,}', 'random'),
    ('GitHub token', 'ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9_]{30,}', 'real'),
    ('GitHub token', 'github_pat_', '[A-Za-z0-9_]{22,}', 'real'),
    ('GitLab token', 'glpat- gldt- glrt- glcbt- glptt- glsoat- gloas- glagent- glft- glimt- glffct- GR1348941', '[A-Za-z0-9_.-]{18,}', 'real'),
    ('Slack token', 'xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxe. xoxc- xoxd- xoxo- xapp-', '[A-Za-z0-9.%-]{10,}', 'real'),
    ('Stripe key', 'sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ whsec_', '[A-Za-z0-9+/=]{10,}', 'real'),
    ('Google key', 'AIza', '[A-Za-z0-9_-]{35}(?![A-Za-z0-9_+/-])', 'real'),
    ('Google token', 'GOCSPX- ya29. 1//0', '[A-Za-z0-9_-]{20,}', 'random'),
    ('SendGrid key', 'SG.', r'[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}', 'real'),
    ('Twilio key', 'SK', '[0-9a-f]{32}<right>', 'real'),
    ('token', '''
     npm_ pypi- hf_ api_org_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_ dckr_pat_ dckr_oat_ gsk_ xai- r8_
     pplx- hvs. hvb. hvr. ATATT3 ATCTT3 glsa_ glc_ sntrys_ sntryu_ NRAK- PMAK- lin_api_ lin_oauth_ ntn_ figd_
     pscale_tkn_ pscale_pw_ pscale_oauth_ sbp_ sb_secret_ dp.pt. dp.st. dp.sa. dp.ct. tskey- sq0csp- sq0atp- rubygems_
     AGE-SECRET-KEY-1 rnd_ pul- nvapi- tfp_ pnu_ pnb_ pcsk_ lsv2_pt_ lsv2_sk_ ls__ tvly- jina_ tgp_v1_ fw_ xkeysib-
     xsmtpsib- re_ mlsn. phx_ dt0c01. dt0s01. CFPAT- HRKU- fo1_ nfp_ nfc_ napi_ ATBB BBDC- CCIPAT_ CCIPRJ_
     bkua_ bkct_ sqp_ squ_ sqa_ CLOJARS_ ops_eyJ A3- KGAT_ wandb_v1_ APP_USR- duffel_live_ duffel_test_ shippo_live_
     shippo_test_ FLWSECK- FLWSECK_TEST- snyk_uat. snyk_sat. rdme_ zpka_ fc- csk- sl. sl.u. sgp_ v1.0- NRII- sk.eyJ
     mfa. eyJrIjoi eyJhdXRocyI6 syt_ npg_ sha256~''', '[A-Za-z0-9_-]{20,}(?:[.+/=][A-Za-z0-9_-]+)*={0,2}', 'random'),
    ('token', 'EZAK EZTK AKCp EAA sess- secret_', '[A-Za-z0-9]{30,}', 'random'),
    ('token', 'fm1r_ fm2_', '[A-Za-z0-9+/=]{40,}(?:,fm[12]r?_[A-Za-z0-9+/=]{40,})*', 'random'),
    ('token', 'pk_', '[0-9]{5,12}_[A-Z0-9]{20,}', 'real'),
    ('token', 'dapi key- cio oy2 sk_', '[A-Za-z0-9]{32,}(?:-[0-9])?<right>', 'random'),
    ('token', 'sdk- api- pat-na1- pat-eu1- pat-na2- access-production- access-sandbox- access-development-', '<uuid>', 'real'),
    ('token', 'pat', r'[A-Za-z0-9]{14}\.[a-f0-9]{60,}', 'real'),
    ('Alibaba key', 'LTAI', '[A-Za-z0-9]{16,24}<right>', 'random'),
)
# A row: the kind, anchors separated by |, a regular expression that begins at an anchor, and a check of the secret.
FORMS = (
    ('private key', '-----BEGIN |---- BEGIN ', r'''(-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN [\w -]{0,30}[kK]ey(?: V1)?) ?-{4,5}(?:(?=(?:[^B-]|B(?!EGIN )|-(?!---)){0,2000}?[A-Za-z0-9+/]{24})(?>(?:[^B-]{1,2000}+|B(?!EGIN )|-(?!---)){1,2000})-{4,5} ?END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN [\w -]{0,30}[kK]ey(?: V1)?) ?-{4,5}|(?:(?:(?:\\{1,8}[nrt]|[\s"'+>|#,*\\]|[0-9]{1,6}[→\t|:]){1,80}(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\n\\]{0,100}|=)?){1,6})(?=[A-Za-z0-9+/=]{16})<key_lines>))''', 'any'),
    ('AWS key', 'AKIA|ASIA|ABIA|ACCA', r'''<left>((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?:[\s:,;|/"']{1,5}(?:[0-9T:+-]{16,25}\s)?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=]))?)<right>''', 'aws'),
    ('JWT', 'eyJ', r'(?<![_-])<left>(eyJ[A-Za-z0-9_-]{8,}\.(?:(?:eyJ)?[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){1,3}|[A-Za-z0-9_-]{20,}))', 'real'),
    ('password hash', '$', r'''(?:(?<=:)|(?<=[0-9] )|(?<=[d:] ["']))(\$(?:[1567y]|2[aby]|apr1|argon2[a-z0-9]{0,2})\$(?:[\w./=,+-]{1,40}\$){0,3}[A-Za-z0-9./+]{22,100})''', 'real'),
    ('webhook', '/hooks/catch/|/with/key/|/hooks/|/hook/|make.com/|/reset/|/verify/|/invite/|/magic/|/confirm/|/activate/|/join/', r'[\w./]{1,40}?/((?:[0-9]{4,12}/)?(?:[A-Za-z0-9_-]{16,64}|(?<=[0-9]/)[a-z0-9]{6,12}))<right>', 'id'),
    ('private key', 'priv:|privateExponent:|prime1:|prime2:', r'[a-zA-Z0-9]+:((?:(?:\s|\\n){0,20}[0-9a-f]{2}:(?:[0-9a-f]{2}:?){0,31}){1,40})', 'real'),
    ('private key', 'kty', r'kty[^{}]{0,200}?\\{0,8}"[dk]\\{0,8}"\s?:\s?\\{0,8}"([A-Za-z0-9_-]{20,800})', 'real'),
    ('private key', 'MII|MHcCAQE|MHQCAQE|MC4CAQA|MFMCAQE|MFECAQE|MIG|MIH|b3BlbnNzaC1rZXktdjE', '<left>((?:MII[A-Za-z0-9+/]{2}[AQgw]IBA[A-D]|MI[GH][A-Za-z0-9+/]AgE[AB]|b3BlbnNzaC1rZXktdjE|MH[cQ]CAQE|MC4CAQA|MF[ME]CAQE)<key_lines>)', 'real'),
    ('private key', 'LS0tLS1CRUdJTi', '<left>(LS0tLS1CRUdJTi<key_lines>)', 'key in base64'),
    ('password', 'dsn|DSN|Open(', r'''[^\n]{0,20}?["'][\w.-]{1,40}:([^\s"'@]{4,80})@(?:tcp|unix)?\(''', 'word'),
    ('Slack webhook', 'hooks.slack.com/', r'hooks\.slack\.com/[a-z]{5,12}/([A-Za-z0-9/_+-]{20,})', 'real'),
    ('Teams webhook', '/IncomingWebhook/', r'/IncomingWebhook/([0-9a-f]{20,40}/[\w/-]{20,80})', 'real'),
    ('Terraform token', '.atlasv1.', r'(?<=[A-Za-z0-9]{14})\.atlasv1\.([A-Za-z0-9_=-]{60,})', 'real'),
    ('Discord webhook', '/api/webhooks/', '/api/webhooks/([0-9]{10,25}/[A-Za-z0-9_-]{40,})', 'real'),
    ('Telegram token', ':A', '(?<=[0-9]{8}):(A[A-Za-z0-9_-]{34})(?![A-Za-z0-9_-])', 'random'),
    ('Azure secret', 'Q~', '(?<=[A-Za-z0-9_~.]{3}[0-9])(Q~[A-Za-z0-9_~.-]{31,34})(?![A-Za-z0-9_~.-])', 'real'),
    ('Discord token', '', r'([MNO](?=[A-Za-z0-9_-]{22})(?:(?<![A-Za-z0-9_.-].)|(?<=\\[nrt].)|(?<=\[[0-9]m.)|(?<=\[[0-9]{2}m.))[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45})(?![A-Za-z0-9_-])', 'real'),
)
# The same columns, for secrets after a header or another word.
HEADED = (
    ('password', '://', r'''://[^\s/:"'<>\\?#]{0,128}:(?![0-9]{1,5}[,?#])([^\s/"'<>\\`]{1,2000})@(?=[\w\[$%{.*-])''', 'url password'),
    ('token', '://', r'://([A-Za-z0-9_-]{20,128})(?::[^\s/@]{0,128})?@(?=[\w\[])', 'random'),
    ('token', 'earer |EARER ', r'[Ee](?i:arer)[\s\\]+([A-Za-z0-9._~+/-]{12,}={0,2})', 'random'),
    ('credential', 'asic |ASIC ', r'(?i:asic)\s+([A-Za-z0-9+/]{8,}={0,2})(?![A-Za-z0-9+/=])', 'basic'),
    ('token', 'uthorization|UTHORIZATION|-key|-Key|-Api|-Token', r'''(?<!ocket)(?<!tency)(?<!ache)[A-Za-z-]{4,14}\\{0,8}["']?\]?[ ]?[:=,][ ]?\\{0,8}["']?(?:[A-Za-z-]{1,16}[ ])?(?:token=)?([A-Za-z0-9._~+/=-]{20,})''', 'random'),
    ('cookie', 'ookie|OOKIE', r'''(?i:ookie)(?:\\{0,8}["'])?\]?\s?[:=]\s?(?:\\{0,8}["'])?([\w.%$!-]{1,64}=(?:\[masked:\s[A-Za-z ]{1,30}\]|[^\s;"'\\]){1,4096}(?:;\s?(?:\[masked:\s[A-Za-z ]{1,30}\]|[^;"'\\\n]){1,4096}){0,50})''', 'cookie'),
    ('password', 'login |machine ', r'''(?:login|machine)[ \t]+[\w@.+-]{1,200}(?:\s|\\n){1,20}(?:account\s+\S{1,200}(?:\s|\\n){1,20})?password[ \t]+([^\s"'\\]{4,200})''', 'word'),
    ('password', 'New value: ', r'New value: ([A-Za-z0-9*_=+-]{12,64})(?=\s|$|\\n)', 'random'),
    ('private key', 'Private-Lines: ', r'Private-Lines: [0-9]+((?:(?:\s|\\r|\\n){1,4}[A-Za-z0-9+/=]{4,64}(?![\w-])){1,200})', 'real'),
    ('password', 'WIFI:|wifi:', r'''(?i:wifi):[^\n"']{0,80}?P:([^;\s"']{4,80});''', 'word'),
    ('password', 'jdbc:oracle', r'''jdbc:oracle:[a-z0-9]{1,8}:[\w.]{1,60}/([^@\s"']{4,200})@''', 'word'),
    ('password', '', r''':(?:[0-9]{4,5}|\*):(?![0-9]+:)[^\s:"'\\]{1,63}:[^\s:"'\\]{1,63}:(?!/)([^\s:"'\\]{4,200})(?=\s|$|\\n|["'])''', 'no address'),
    ('PIN', 'PIN|Pin|pin|PUK|OTP|otp|TOTP|totp', '(?<![A-Za-z])[A-Za-z]{3,4}(?:[- _]?[cCkK]od[a-z]{0,4})?<told><number>', 'pin'),
    ('PIN', 'code|Code', r'(?:(?<=erification )|(?<=ne-time )|(?<=ecurity )|(?<=ogin )|(?<=uth )|(?<=uthentication )|(?<=2FA )|(?<=MFA )|(?<=SMS )|(?<=SMS-)|(?<=ccess )|(?<=onfirmation )|(?<=oor )|(?<=ate )|(?<=larm )|(?<=ungs)|(?<=heits)|(?<=gangs)|(?<=pass)|(?<=otp_)|(?<=_2fa_)|(?<=mfa_)|(?<=verification_)|(?<=-Time ))[cC]ode<told><number>', 'pin'),
    ('PIN', '', r'(?<![\w.])(?:[A-Z]-)?([0-9]{4,8}) (?:is|ist) (?:your|Ihr|dein) [\w -]{0,30}[cC]ode', 'pin'),
    ('private key', 'accounts|rivate key|rivateKey|allet', r'''[^\n\\]{0,30}?(?:\n|\\n)?["' \[]{0,4}(0x[0-9a-f]{64})<right>''', 'real'),
    ('password', '$ |% |cat |Get-Content ', r'''[$%a-zA-Z-]+ (?!git |grep |rg )[^\n\\]{0,160}?(?:[Pp]ass|[Ss]ecret|[Tt]oken|cred|pwgen|openssl rand|genpsk|api-?_?key|privatekey|pass show|generic-password|op read|bw get|access-token|tokens? create|\.key|[_/]key|/auth|\bpw\b|kms)[^\n\\]{0,80}(?:\n|\\n)(?:[a-z][\w.@-]{1,30}(?:\n|\\n))?([!-~]{8,3000}?)(?=\s*(?:\n|$|\\n))''', 'invented'),
    ('credential', 'ncoded|base64|b64', r'''[\w\\"']{0,16}\]?[ ]?[:=][ ]?[\\"']{0,9}([A-Za-z0-9+/]{12,400}={0,2})(?![\w+/=])''', 'basic'),
)
# Prefixes of ids, which aren't secret.
IDS = frozenset("sha1 sha256 sha384 sha512 md5 chatcmpl resp msg cs pi seti rs file run req toolu call pk".split())

# A row: commands, or other text before a secret, and a regular expression from there to the secret.
# The secret may be a plain word.
PASSWORD_COMMANDS = (
    ('mysql|mariadb', '[a-z]{0,10}<any>-p'),
    ('redis-cli|valkey-cli|redis-benchmark|keydb-cli', '<any>-a ?'),
    ('docker|podman|nerdctl|buildah|skopeo|helm|oras|az|oc|cf', '(?: registry)? login<any>-p<is>'),
    ('sshpass', '<any>-p(?:<is>)?'),
    ('curl|pip', '<any>(?:-[uU]|--user|--proxy-user)(?:<is>)?<user>:'),
    ('PASSWORD ', "(?=')"),
    ('identified by|IDENTIFIED BY|Identified by', r''' (?:password |PASSWORD )?(?=\\{0,8}["'])'''),
    ('ldap', '[a-z]{3,8}<any>-w ?'),
    ('mosquitto_|ipmitool|sqlcmd|bcp|osql|zip|unzip', '[a-z]{0,6}<any>-P ?'),
    ('smb|rpcclient|wmic|winexe|mount.cifs', '[a-z]{0,8}<any>(?:-U ?|--user<is>)<user>%'),
    ('SecureString', ''' (?:-String )?(?=["'])'''),
    ('htpasswd', r'(?= [^\n]{0,20}-[a-zA-Z]{0,6}b)(?: -[a-zA-Z0-9]{1,12}){1,5} (?:[\w./-]{1,80} )?[\w.@-]{1,60} '),
    ('net use', r' (?:[A-Za-z*]:? )?\\{2,8}\S{1,120} (?:/user:\S{1,60} )?(?!/)'),
    ('rabbitmqctl', r' (?:add_user|change_password|authenticate_user) \S{1,60} '),
    ('echo|printf', r''' (?:-[ne]{1,2} |["']?%s(?:\\{1,4}n)?["']? )?["']?(?:[\w.-]{1,40}:)?(?=[^|\n]{4,80}\| ?(?:sudo -S|(?:sudo )?\w{0,8}passwd|cryptsetup|kinit|[\w .=-]{1,60}(?: login|secret|stdin|password)))'''),
    ('7z|7za|7zr|rar|unrar', '<any>-h?p'),
    ('mongo|cqlsh|influx|beeline|rabbitmqadmin', r'[a-z]{0,10}(?=[^\n]{0,160}\s(?:-u|-n|--user))<any>-p<is>'),
    ('openssl', '<any>(?:-[kK]|-pass(?:in|out)?) (?:pass:)?'),
    ('snmp', '[a-z]{3,8}<any>-[Ac] '),
    ('lftp|ncftp', '<any>-u <user>,'),
    ('snmp', '[a-z]{3,8}<any>-X '),
    ('ssh-keygen', '<any>-[NP] '),
    ('useradd|usermod|unlock-keychain', '<any>-p '),
    ('wd={|assword={', ''),
    ('net user', r' [\w.-]{1,60} (?!/)'),
    ('sqlplus|expdp|impdp|exp|imp|rman|sqlldr', r'(?: -[A-Za-z]| target| [a-z]+id)?[ =]"?[\w.]{1,60}/'),
    ('passwd|cryptsetup|login|pass insert|kinit|lpass', r'[^\n|;]{0,60} <<< ?'),
    ('aws ssm put-parameter', r'(?=[^\n]{0,300}SecureString)<any>--value<is>'),
    ('secret set', '<any>(?:-b|--body|--value)<is>'),
)
# Options of any command. The secret has two digits, or a digit and a sign.
OPTIONS = (
    ('-u |-U |--user |--username |--login |-n ', r'[\w.@\\/-]{1,64}(?:\s[^\s|;]{1,60}){0,6}?\s(?:-p|-P|--pass|--pw)[ =]'),
    ('root|admin|postgres|ubuntu|deploy|oracle|elastic|ftpadmin|administrator', r'''(?:@[\w.-]{1,30})?["'`]?(?: / |:|\||, ?)(?=["']?[^\s/:|]{0,40}[A-Z])(?=["']?[^\s/:|]{0,40}[a-z])(?=["']?[^\s/:|]{0,40}[0-9])'''),
    ('-u |--user |--user=|-A |-a |-U |-l |--auth |--auth=|--creds |--creds=|--credentials |--login |--userpass ', '<user>:'),
)
# The secret is random.
TOKEN_COMMANDS = (
    (' login', ' (?:--relogin |-k |-t |--key |--with-token )?'),
    ('lient(|init(|configure(|login(|authenticate(|API(|Api(|Fernet(|Stripe(|Bot(|Github(|Deepgram(|.run(|HMAC256(|GetBytes(|KeySpec(|@Value(|Wallet(|importprivkey ', r'''(?:["'][^"'\n]{1,60}["'], ?){0,2}b?(?=\\{0,8}["'][A-Za-z0-9_.+=-]{20,120}\\{0,8}["'])(?=\S{0,120}[0-9])'''),
    ('Unseal Key |operator unseal', '(?:[0-9]{1,2}:)? ?'),
    ('ignature', r'''=(?=["']?[\w%~+/=-]{20,})'''),
    ('ASP.NET_SessionId|PHPSESSID|JSESSIONID|connect.sid', r'''\\{0,8}["']?(?:=|: ?)(?=["'\\]{0,9}[\w%.-]{16,})(?!["'\\]{0,9}[0-9a-f]{8}-[0-9a-f]{4}-)'''),
    ('?|&', r'(?:appid|app_key|key|sig|signature|payload|sso|ticket|assertion|SAMLResponse|code|subscription-key|auth|hapikey|access_key|t|k|token)=(?=[\w%-]{20,})'),
    ('service install|tunnel run', r'[^\n]{0,40}? (?=eyJ)'),
    ('sonar.login', '[=:] ?'),
    ('otp|OTP', r'''(?: (?:seed|secret|code))?\W{1,3}(?=["']?[A-Z2-7]{16,64}\b)'''),
)

# Calls that take a password, but not as their first argument.
CALLS = (
    "Auth(", "Login(", "connect(", "Connect(", "asic(", "uthentication(", "uthenticate(", "assword(", "Hmac(", "hmac(",
    "sign(", "signWith(", "SignedString(", "jwt.encode(", "Client(", "Handler(", "algoliasearch(", "access_token(", "auth=(", "auth = (",
    "asicAuth(", "Credentials(", "Credential(", "PasswordAuthentication(", "login(", "simple_bind_s(", "jwt.sign(",
    "Credentials.basic(", "_pw_set(", "mysqli_connect(", "mysqli(", "getConnection(", "PDO(", "DBI->connect(",
    "Sequelize(", "FTP(", "pymysql.connect(", "MySQLdb.connect(", "ldap_bind(", "imap_open(", "auth(", "createUser(",
    "etPassword(", "et_password(", "database(", "Database(",
)
# Each name of a secret contains one of these stems, or a word of the next two lists.
STEMS = frozenset("pass pw psk secret salt token key credential cookie auth jwt _pat -pat session psw creds keymaterial".split())
# Words for "password" in other languages; * stands for other endings.
FOREIGN_PASSWORDS = (
    "passwort", "kennwort", "wachtwoord*", "wachtzin", "passord*", "lösenord*", "losenord", "adgangskode*", "kodeord*", "salasana*",
    "contraseñ*", "contrasenya", "mot_de_passe", "motdepasse", "mdp", "senha*", "palavra-passe", "clave", "parola", "parolă", "hasł*",
    "haslo", "hesl*", "jelsz*", "lozink*", "geslo*", "slaptažod*", "parool*", "şifre*", "lykilorð", "парол*", "лозинк*", "κωδικ*", "密码",
    "密碼", "口令", "パスワード", "パスコード", "暗証番号", "合言葉", "비밀번호", "암호", "비번", "패스워드", "סיסמה", "รหัสผ่าน", "पासवर्ड", "mot de passe",
    "palavra passe", "parola chiave", "parola d'ordine", "parola d’ordine", "mật khẩu", "kata sandi", "كلمة المرور", "رمز عبور",
    "pass phrase", "phrase de passe", "phrase secrète", "кодовая фраза", "code segreto", "codice segreto",
)
# Words for "secret", "token" and "secret key" in other languages; * stands for other endings.
FOREIGN_SECRETS = (
    "geheimnis", "geheim", "zugangsdaten", "schlüssel", "api-schlüssel", "wlan-schlüssel", "secreto", "chiave_segreta", "chiave_api",
    "segreto", "chave_secreta", "chave_api", "segredo", "clé_secrète", "cle_secrete", "clé_api", "hemlighet", "hemlig_nyckel",
    "hemmelighet", "salaisuus", "sekret", "klucz_api", "tajemstvi", "tajny_klic", "gizli_anahtar", "titok", "секрет*", "токен*",
    "api-ключ*", "密钥", "密鑰", "秘钥", "令牌", "秘密鍵", "トークン", "アクセスキー", "シークレット", "비밀키", "토큰", "액세스키", "chiave segreta", "chiave api",
    "chave secreta", "chave api", "chave de api", "clé secrète", "clé api", "clé d'api", "jeton d'accès", "jeton", "klucz api",
    "api-sleutel", "api-nyckel", "ключ апи", "апи ключ", "api ключ", "ключ api", "ключ доступ*", "anahtar*", "apiキー", "api密钥", "api키",
    "chave de acesso", "sleutel", "tajny klucz", "klucz dostępu", "chave da api", "キー",
)
# A name that ends with one of these words describes a secret, but isn't one: `token_count`.
ABOUT = frozenset("""
count type url uri name names ref refs path file field fields id ids length len limit hash expiry expires expire expired ttl var class
provider service store policy arn regex pattern label placeholder input prompt filter prefix suffix template scheme attribute timeout
interval age days attempts retries encryption hashing hasher rotation period duration cost rounds iterations history complexity lifetime
delay column header headers hint error errors reset manager generator validator handler helper factory callback algorithm alg method mode
endpoint required enabled disabled idx index size sizes format usage budget form view screen page button text title message msg rules rule
strength min max at by from with node kind version stream ring word board press chain frame map set list func function fn dir folder host
server user username email accessor status state level scope scopes audience issuer source backend model schema table query param params
parameter arg args attr option options config settings bits checksum digest fingerprint sha md public pub less izer ize mgr ptr cb stdin
""".split())
# These words at the end of a name are ignored: `password_prod`.
AFTERTHOUGHTS = frozenset("""
prod production dev test testing staging live local default old new current plain plaintext value string base b encoded ident main primary
secondary backup v raw db github gitlab aws
""".split())
# A key is secret after one of these words: `signing_key`.
KEYED = frozenset("""
api access private secret encryption encrypt signing sign account master auth shared client ssh hmac jwt session storage admin service
deploy license app application security webhook aes rsa gpg stripe sendgrid twilio mailgun openai anthropic azure aws google gcp maps cohere
groq mistral deepseek datadog algolia cipher crypto decryption subscription functions routing integration preshared pre write read ingest
cookie field wallet signer merchant in nonce hub connection sas wireguard wg network psk serial consumer instrumentation hash recovery
tenant
""".split())
# A key isn't secret after one of these words: `primary_key`.
PUBLIC_KEYS = frozenset("public cache primary foreign partition sort object publishable site idempotency row index".split())
# A name that contains one of these words names no secret, unless it is sure: `token_hash_of_ci`.
NO_SECRETS = PUBLIC_KEYS | frozenset("pub hash digest checksum fingerprint sha etag id ids uuid version url uri path file certificate wrong error invalid incorrect missing weak forgot reset confirm change mismatch".split())
# A name means a password, or a key, if one of its words has one of these endings.
PASSWORDS = frozenset("password passwd passphrase passcode passwrd pwd passwords pw psw pswd authtok keymaterial".split())
GLUED_KEYS = frozenset("""
apikey accesskey secretkey privatekey accountkey authkey masterkey signingkey presharedkey encryptionkey sharedkey sessionkey
routingkey licensekey privkey tenantkey networkkey recoverykey appkey
""".split())
# The 140 pairs of letters that make up 78 % of the words in source code and its documentation.
COMMON_PAIRS = frozenset("""
ab ac ad ag ai al am an ap ar as at ba bl ca ce ch ck cl co cr ct da de di do ea ec ed ee ef el em en ep er es et ev ex fi fo ge ha he hi ho
ia ic id ie ig il im in io ir is it ke la le li ll lo ls lu ly ma me mi mm mo mp na nc nd ne nf ng ni no ns nt oc od ol om on oo op or os ot
ou ow pa pe pl po pr pt ra re ri rm ro rr rs rt sc se sh si so sp ss st su ta te th ti to tr ts tt tu ty ul un up ur us ut va ve xe xt yp
""".split())
# Words that replace or describe a password, or of sentences. A text with one of these isn't a passphrase.
TALK = frozenset("""
account admin all always and another any anything app are argon bad basic bcrypt bearer been blank boolean but button can cannot caption
change changed changeit changeme char characters chars code column common config confirm correct current data default dialog did different
digest disabled does dummy each editor email empty enabled encrypted enter environment erforderlich error errors example expired external
failed failure falsch false field fields file for forgot forgotten form forms from geandert geheim geheimzahl generated guest has hash
hashed have help here hidden hide hint how ignore incorrect inherit input insecure integer internal into invalid irrelevant is key keychain
keyring label least less link local login long manual masked match medium mismatch missing modal model mongo more must mysql name never new
no nobody none not null oauth object old only optional our page passphrase passwd password passwords path payload per pin placeholder plain
plaintext please policy postgres private profile prompt props public random redacted redis remember removed replace required reset root same
sample scram scrypt secret sent set settings short should show signin signup something state stdin store stored str strict string strong
success test testing text than that the then there this title token too tooltip true type undefined ungultig unique unknown unset update use
user username validation value varchar variable vault vergessen via viewer visible warning was weak what whatever when where who will with
wrong you your
""".split())
# The links from a name to its value, in the order in which they are tried. Each row: the link, a regular expression.
LINKS = (
    # A value below its name: in YAML, or after a fence.
    ("below", r'''[\\"'`\]*]{0,4}(?:[ ][\w']{1,20}){0,4}[ ]?[:=][ ]?(?:[|>][-+]?)?(?:\r?\n|\\{1,4}n)(?:```\w{0,10}(?:\n|\\n)|[ \t]{1,40})(?:-[ ])?(?=[^\s"'\\:=]{6,400}(?:\r?\n|\\{1,4}n|$))'''),
    ("set", r'''[\\"'`]{0,4},?(?:\s|\\n){0,30}[\\"']{0,4}[vV]alue[\\"']{0,4}[ ]?[=:][ ]?'''),
    ("set", r'''[\\"'`]{0,4}[ ]?[=:]?[ ]?\{[^{}]{0,160}?(?:[vV]alue|default|current|result|plaintext)[\\"']{0,4}[ ]?[=:][ ]?'''),
    # After a sign, perhaps with a type in between, or as a default.
    ("set", r'''[\\"'`\]\)*]{0,5}(?:[ ]?:[ ]?[\w.\[\]<>, |&']{1,60}?(?=[ ]?=[^=>])|[ ]As[ ]String|[ ]\{[ ]get;[^{}]{0,20}\}|[ ]?\[[^\[\]\n]{0,20}\])?[ \t]{0,40}(?:=>|<-|:=|\?=|\+=|\|\|=|\?\?=|[=!]==?|=|:(?![:?])|;s:[0-9]{1,4}:|[ ]REG_SZ[ ])(?:(?:\s|\\{1,4}[nrt]){0,30}(?=\\{0,8}["'`])|[ \t]{0,20}(?:[›❯>][ ]|&\w{1,20}[ ]|\*{0,2}[ \t]{0,20}))'''),
    ("set", r'''[\\"'`\]\)*]{0,5}[ ]?(?:\|\||\?\?|\?:|:-|or[ ]|,[ ]?default(?:_value)?[ ]?=)[ ]?(?=\\{0,8}["'])'''),
    ("set", r'''[\\"'`*]{0,4}[ ]{1,40}\|[ ]{1,40}(?=\S{6,400}[ ]{0,40}(?:\||\n|\\n|$))'''),
    ("tag", r'''(?:[ ][\w:.-]{1,40}=(?:"[^"<>]{0,160}"|'[^'<>]{0,80}')){0,4}>\s{0,20}(?:<[vV]alue>|<!\[CDATA\[)?|</\w{1,20}>\s{0,20}<\w{1,20}>'''),
    ("argument", r'''\\{0,8}["'`]?(?:,[ ]{0,20}|\((?=))(?=\\{0,8}["'`])'''),
    # In a sentence: "password for the database is ...".
    ("said", r'''["'`]?(?:[ ][\w@./:'’()-]{1,30}){0,6}?(?:[ ](?:is|are|was|be|to|it's|ist|war|lautet|heißt|est|es|è|é|är|er|jest|to|это|is[ ]now|ist[ ]jetzt)|[ ]?[:=])[:]?[ ]{1,3}(?=["'`]{0,2}\S{6})|[ ]?[:=]?[ ]?[是为為はがをに는은이가를을](?=[!-~]{4,80})|(?<=[぀-ヿ一-鿿가-힣])(?=[!-~]{6,80})'''),
    ("beside", r'''[ \t]{1,20}(?=\S{6})'''),
)
