"""Words that say little of what a text is about, as texts of every kind have them.

Pure, and without imports. Made by counting, not by trying: stems that stand in at least 1 in 2,000 turns of people's
talk (LoCoMo) and in 1 in 1,000 docstrings of Python's standard library, or in every hundredth and every thirtieth of
one of them; names of people are taken out. German ones were added by hand.
"""

_STEMS = """
    abl absolut accept acces account acros act action activ activity actual adapt add addition advanc advic affect
    afterward align aliv allow almost alon along already alway amaz amount anoth anyth anyway apart app application
    appreciat approach architectur area arg argument around arrang art articl ask aspect assignment attribut author
    auto avoid away awesom back background bad bar bas basic becom beginn believ belong best bett beyond big bit blast
    block blu body bond book break bring broken bug build built bunch button bye byt call calm captur car cas catch
    caught caus cent certain challeng chang channel charact character check child children chill choic choos circl clas
    class classic clean clear click clos cod collect collection color com combin combination comfort command common
    community comp complet comput congrat connect connection consid consider consol constant consum contain content
    continu control controll convention cook cooki cool corn couldn count cours cover creat creation current custom
    customiz cut danc dat data day de deal decid deep default defin definit design desir destination detail determin
    develop devic didn differenc different distanc doc doesn dog don draw drawn dream driv earli easi easy effect
    effectiv effort eith element els email empty encod encounter end engin enhanc enjoy enough ensur enter environment
    equality error escap especial essential even event eventual ever every everyon everyth exact exampl exception excit
    exhaust exist expand expect experienc explain explor express expression extra fac fall fals fami far fast favorit
    featur feel felt fetch field figur fil filenam fill fin final find finish first fit fiv fix flow focu follow forc
    forev form format forward found four fre friend front ful full fun function futur gam general generation giv given
    glad go goal goe going gonna good grab graphic great green group grow gues hand handl happen happy hard hasn haven
    head hear height hey hi hid high highlight hik hit hold hom hook hop host hour human idea impact implement
    implementation import important improv includ increas incredibl individual info information insid inspir instanc
    instead integ interest introduc involv isn issu item job join journey joy jump keep kept key kid kill kind knowledg
    known languag larg last lat launch lead learn least leav left les lett level library lif lik limit lin link list
    listen littl liv ll load local location logo long los lost lot lov low machin mad magic main major mak manag
    management many map mark match matt matter max mayb mean meaningful meant memori memory mention messag method middl
    min mind minor minut miss mix mod model modul moment month motivat mov movi much music myself nam natur natural
    near necessary network nev new next nic non normal notebook noth notic numb object offer often oh old one open
    option optional ord otherwis output outsid pack pag paint parent park pars part particular party pas pass passion
    past path peac peaceful peopl perform performanc perhap pet photo physical pic pick pictur piec plac plan platform
    play plu point pop pos positiv possibl post potential pow prepar presenc present pretty previou print probab
    problem proces produc program programm progres project prop proper proud provid pull pup purpos push put python
    question quick quit quot rais random rat rath re reach read ready real reason receiv recent recogniz recommend
    record red reduc reflect regular relat relax releas reliabl relief rememb remember remind represent requir
    requirement reset resourc respect rest restor result return reward right risk root rough round rout routin run runn
    saf satisfy sav say schedul screen script search second secur seek seem seen self send sens sent sequenc serv
    servic session set sett setup shap shar short shot shown sid sign similar simpl sinc singl sit situation skill
    sleep slow small someon someth sometim soon sorry sort sound sourc spac special specifi specific specifical spot
    standard start stat stay step still stop stor str stream stretch string strong studio stuff styl succes successful
    suit sun sup suppli support sur surround switch symbol system tag tail tak taken talk task team test text themselv
    thing think third though thre throw tip togeth took tool top total tough toward track trail transform transport tre
    treat tri trip tru tupl turn two typ understand unexpect uniqu unit updat useful user usual valu vari variou ve
    version view virtual visit visual wait wak walk wat watch way week weight welcom well went whatev whenev wheth whol
    widget window wish won word work world worth wow wrapp writ written yeah year yep yesterday yourself zon
"""
_GERMAN = """
    aber als auch auf aus bei beim bin bis bist bitte da danke das dass dem den der des die doch du ein eine einem
    einen einer er es etwas für habe haben hat hier ich ihr im in ist ja jetzt kann kein keine man mehr mein mich mir
    mit nach nein nicht noch nur oder schon sein sich sie sind so um und uns unter vom von vor war warum was weiter
    wenn wer werden wie wir wird wo zu zum zur über
"""
_ENDINGS = ("ing", "ed", "es", "ly", "er", "s")
_LEAST_STEM = 3  # letters


def is_common(word: str) -> bool:
    """Whether *word*, in small letters, says little wherever it stands."""
    return stem(word) in _COMMON or word in _COMMON


def stem(word: str) -> str:
    """*word* without its ending, roughly: only to look it up here."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > _LEAST_STEM and word.endswith("e") else word


_COMMON = frozenset(_STEMS.split() + _GERMAN.split())
