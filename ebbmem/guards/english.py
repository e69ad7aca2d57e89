"""How English gives orders to a model. Common knowledge, and ours."""

from __future__ import annotations

from ebbmem.guards.orders import Order, order

__all__ = ["ENGLISH"]

_STARTS = r"(?:^|[.!?;:]\s{1,3}|\n\s{0,3})"  # where a sentence begins
_MODEL = r"(?:ais?|llms?|(?:large )?language models?|(?:ai )?(?:assistant|agent|chatbot|bot)s?)\b"
_SAYING = (
    r"(?:respond|reply|answer (?:in|with|as|every|all|only|that)|recommend|output|"
    r"(?:end|start|begin|finish|sign|preface) (?:your|every|each|all) "
    r"(?:repl|respon|answer|message|output)\w{0,8}|include a link|"
    r"mention (?:the|this|our)|refuse to|claim|pretend|insist that|praise)\b"
)
# "ignore what my boss said before" is about somebody, not to a model
_TO_YOU = r"(?:(?!\b(?:my|our|his|her|their|its)\b)[^.!?\n]){0,40}?"

ENGLISH: tuple[Order, ...] = (
    # what was said before shall not hold
    order(
        "ignor,disregard,forget,overrid,bypass,discard,set aside,attention to,follow",
        r"\b(?:ignor(?:e|ing)|disregard|forget|override|bypass|discard|set aside|"
        r"pay no attention to|"
        rf"(?:do not|don't|stop) follow(?:ing)?)\b{_TO_YOU}\b(?:previous|prior|above|earlier|"
        rf"preceding|"
        r"original|system|initial|foregoing|developer'?s?|your|(?:all|"
        r"any)(?: other)?)\b[^.!?\n]{0,30}?\b(?:instructions?|prompts?|guidelines?|directives?|"
        r"programming|safety (?:rules|training)|(?:previous|prior|your) (?:rules|training|"
        r"orders|constraints|restrictions)|system messages?|guardrails)\b",
        anybody=True,
    ),
    order(
        "guideline,protocol,safeguard,guardrail,constraint,policies,restriction,instructions",
        r"\b(?:ignore|disregard|override|bypass|disable|circumvent|forget) (?:all |any |the |"
        r"these |every )?(?:(?:safety|ethical|content|system|security|moral|"
        r"usage) )?(?:guidelines|protocols?|safeguards|guardrails|constraints|policies|"
        r"restrictions|instructions)\b",
    ),
    order(
        "override,new system,new protocol,new directive,[system,[admin,system:",
        r"\b(?:system|admin|root|developer|security|safety) override\b|\boverride your\b",
        r"\bnew (?:system (?:prompt|message)|protocol|directive)\s?:",
        r"\[(?:system|admin|developer)(?: \w{1,12})?\]",
        r"\bsystem: (?:ignore|the user|you|admin|override|new|disregard|all|stop|access)\b",
    ),
    order(
        "prompt,secrets,api key,credentials,source code,database,confidential",
        r"\b(?:output|print|reveal|show|repeat|dump|return) (?:the |your )?(?:original|initial|"
        r"system|hidden) (?:prompt|instructions)\b",
        r"\b(?:reveal|tell me|dump|leak|reply with|print|disclose|expose|output) (?:all |the |"
        r"your |any )?(?:your |the |of the )?(?:secrets|api keys?|credentials)\b",
        r"\b(?:send|e-?mail|post|upload|exfiltrate) (?:all |the |your |any |"
        r"full )?(?:the |user )?(?:source code|database(?: contents)?|confidential (?:data|"
        r"files)|financial records)\b",
    ),
    order(
        "of your,your ,treat,every,all ",
        r"\b(?:print|show|dump|output|reveal|list|send) (?:me )?(?:all )?your (?:configuration|"
        r"config|environment variables|settings|memory|memories|tools|instructions)\b",
        r"\b(?:contents?|copy|summary) of your (?:memory|context|prompt|instructions)\b",
        r"\btreat (?:everything|all|this|the following|it)\b[^.\n]{0,40}? as (?:if )?(?:coming |"
        r"it came |sent )?(?:from )?(?:the |an? )?(?:system|admin|developer|trusted|operator)",
        rf"{_STARTS}answer (?:every|all) (?:further |other |following |future )?questions? with\b",
    ),
    order(
        "you are now,everything",
        r"\byou are now (?:an? |the )?(?:\w{1,12} )?(?:admin(?:istrator)?|root|hacker|ai|"
        r"assistant|chatbot|bot|language model|unbounded|rogue|evil)\b",
        r"\b(?:forget|ignore|disregard) everything[^.\n]{0,12}?[,;.] ?(?:you are|this is your|"
        r"your)\b",
    ),
    order(
        "previous,prior,above,earlier,told",
        r"\b(?:ignore|disregard|forget|override) (?:all |any |the |"
        r"every )?(?:of the )?(?:previous|prior|above|earlier) (?:directions|orders|rules|text|"
        r"content|context|commands|requests?)\b",
        r"\b(?:your|all|any|the) (?:previous|prior|earlier|old|original|"
        r"existing) (?:instructions?|guidelines|directives|prompts?|rules|orders) (?:is|are|"
        r"no longer|do not|don't|have been|has been|were)\b[^.\n]{0,20}?\b(?:void|outdated|"
        r"obsolete|revoked|replaced|cancel\w{0,6}|invalid|apply|superseded|suspended|wrong)\b",
        r"\beverything you (?:were|have been|had been) (?:told|taught|given)\b",
    ),
    order(
        "everything,anything,all that",
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all that) (?:above|before this|"
        r"(?:you (?:were|have been) (?:told|given|instructed)))",
        anybody=True,
    ),
    # what the model was told shall come out
    order(
        "prompt,instructions,above,system message",
        r"\b(?:reveal|print|show|output|repeat|display|leak|disclose|expose|dump|tell me|"
        r"give me|send|quote|write out|recite|translate|"
        r"summari[sz]e)\b[^.!?\n]{0,40}?\b(?:system (?:prompt|message|instructions)|(?:your|"
        r"the) (?:initial|original|secret|full|exact|hidden|developer|"
        r"internal) (?:system )?(?:prompts?|instructions?)|your (?:prompts?|instructions)\b|"
        r"(?:everything|the (?:text|words?)) above)",
        anybody=True,
    ),
    # it shall be another
    order(
        "you are,you have no,anything now,restrict,uncensored,unfiltered,jailbr, dan",
        r"\b(?:you (?:are|will be|become|act as)|pretend (?:that )?you are|pretend to be|become|"
        r"(?:act|behave|respond|answer|role-?play) as) (?:now )?(?:dan\b|"
        r"(?:an? )?(?:\w{1,12} )?(?:unrestricted|uncensored|unfiltered|jailbroken))",
        r"[(\[]do anything now[)\]]",
        r"\byou are no longer (?:bound|restricted|limited|required|an? (?:ai|assistant|chatbot))",
        r"\b(?:you have|as if you had|pretend (?:that )?you have) no (?:rules|restrictions|"
        r"guidelines|filters|limits|ethical)",
        anybody=True,
    ),
    # behind the user's back
    order(
        "user,these instructions,this instruction,this message",
        r"\b(?:do not|don't|never|without|must not|not) (?:tell|telling|inform(?:ing)?|"
        r"alert(?:ing)?|notify(?:ing)?|warn(?:ing)?|ask(?:ing)?|show(?:ing)?|"
        r"let(?:ting)?) (?:the|this|your) users?\b",
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge|repeat|"
        r"discuss)[^.\n]{0,20}?\b(?:these instructions|this (?:instruction|prompt|directive|"
        r"note))\b",
        r"\b(?:hide|conceal|secret|hidden|confidential)\b[^.\n]{0,20}?\bfrom (?:the|"
        r"your) users?\b",
        anybody=True,
    ),
    # what is private shall go to an address
    order(
        "http,www.,@",
        r"\b(?:send|post|upload|forward|e-?mail|transmit|exfiltrate|leak|deliver|submit|"
        r"copy)\b[^.!?\n]{0,60}?\b(?:conversations?|chat (?:history|log)s?|api keys?|passwords?|"
        r"credentials|secrets|private (?:data|keys?)|users?'?s? (?:data|messages|details|"
        r"address|files)|memories|personal (?:data|information|details)|"
        r"contacts)\b[^!?\n]{0,40}?\b(?:to|at|via)\b[^\n]{0,20}?(?:https?://|www\.|"
        r"[\w.+-]{1,40}@)",
        anybody=True,
    ),
    # what only a person may ask for
    order(
        "you must,you should,you shall,you will,you are to,you need to,you have to,required to,"
        "always,"
        "never,only",
        r"\byou (?:must|should|shall|will|are to|need to|have to|are required to)"
        rf"(?: now| always| never| only| not| immediately| therefore| also){{0,2}} {_SAYING}",
        rf"(?:{_STARTS}|\bplease |\bimportant: )(?:always|never|only) {_SAYING}",
    ),
    order(
        "from now on,henceforth,going forward,from this point",
        r"\b(?:from now on|henceforth|going forward|from this point (?:on|forward))\b[^.\n]{0,4}?"
        rf" (?:you (?:are an?|act|obey|speak)|{_SAYING}|act as|treat (?:this|all|every)|"
        rf"(?:you )?(?:must|will|should|shall)(?: always| never| only)? {_SAYING}|"
        rf"always {_SAYING}|never {_SAYING})",
    ),
    order(
        "user,customer,human,anyone,somebody,someone",
        r"\b(?:when(?:ever)?|if|next time|once|as soon as) (?:(?:the|a|this|any|your) (?:user|"
        r"customer|human|client)s?|anyone|someone|somebody) (?:ever )?(?:asks?|says?|mentions?|"
        r"requests?|wants?|types?|inquires?|writes?|opens?|logs)\b[^.\n]{0,80}?(?:, ?|"
        r" then )(?:you |please )?(?:must |should |always |never |do not |don't |first |"
        r"instead |simply )*(?:say|tell|respond|reply|answer|recommend|send|call|run|give|"
        r"direct|claim|refuse|insist|approve|point|use|write|offer|forward)",
    ),
    order(
        "ai,llm,model,assistant,agent,bot",
        r"\b(?:note|message|instructions?) (?:for|to) the model\b[^.\n]{0,30}?:",
        r"\b(?:attention|note|message|instructions?|important|notice|reminder)\b[^.\n]{0,20}?"
        rf"\b(?:to|for)?:? ?(?:all |any |the |every )?{_MODEL}[^.\n]{{0,30}}?[:,!]",
        rf"\bif you are an? {_MODEL}",
        rf"\b(?:any|all|every|the) {_MODEL} (?:(?:reading|processing|that reads?|summari[sz]ing|"
        rf"parsing) "
        r"[^.\n]{0,40}?)?(?:must|shall|should|is (?:instructed|required|ordered|to)|"
        r"are (?:instructed|required"
        rf"|ordered|to)|has to|have to)(?: now| always| never| only| not)? (?:{_SAYING}|ignore|"
        rf"call|send|"
        r"follow|treat|approve|tell|state|rate|rank|e-?mail|forward|mark|open|fetch|delete|"
        r"transfer|pay)\b",
        rf"{_STARTS}(?:dear |hey |hello |hi )?{_MODEL}[,:] (?:please |you |now |stop |ignore |"
        rf"do |send |call "
        r"|approve |run |forget |tell |skip |answer |mark |give |rate |write |open |fetch |"
        r"respond |reply )",
        r"\bas (?:the|an?) (?:ai|llm|(?:language )?model|assistant|agent) (?:that |"
        r"who )?(?:read|summari|process|handl|review|pars)\w{2,6}\b",
    ),
    order(
        "verbatim,word for word,what it says,what they say,what the,as the next",
        r"\b(?:output|print|repeat|write|recite)\b[^.\n]{0,40}?\b(?:verbatim(?! cop)|"
        r"word for word)\b",
        r"\b(?:carry out|do|follow|execute|run|obey|perform) (?:exactly )?(?:what(?:ever)?|"
        r"as) (?:it|they|the (?:next|following|text|line|page)[^.\n]{0,12}?) (?:says?|asks?|"
        r"tells?|reads?)\b",
    ),
    order(
        "before ,confirmation,permission,approval,the user has,the user already",
        r"\bbefore (?:you (?:reply|answer|respond)|replying|answering|"
        r"responding)(?: to (?:the user|this))?, (?:you |please |first )*(?:fetch|open|visit|"
        r"run|call|send|read|download|go|click|use|load|must)\b",
        r"\b(?:do not|don't|never|without|no need to) (?:ask|request|"
        r"wait)(?:ing)?(?: for)? (?:any )?(?:user )?(?:confirmation|permission|approval|"
        r"consent)\b",
        r"\bthe user (?:has )?(?:already )?(?:consented|pre-?approved|approved|authori[sz]ed|"
        r"agreed to (?:all|every|this)|given (?:full )?(?:permission|consent))\b",
    ),
    order(
        "remember,store,save,memori,keep in",
        r"\b(?:remember|store|save|memori[sz]e|keep in mind|"
        r"record)\b[^.\n]{0,40}?\b(?:for (?:all|every|any) (?:later|future|following|other)|"
        r"as a (?:permanent|trusted|verified|core) (?:fact|memory|rule|preference)|"
        r"in (?:your |long-term |permanent ){1,2}memory|permanently|across (?:all )?(?:sessions|"
        r"conversations))\b",
    ),
    order(
        "every,each,all replies,your next,your answer,your repl,your response,your summary,"
        "your output,your final",
        rf"{_STARTS}(?:begin|start|end|finish|sign|preface|prefix) (?:every|each|all|"
        rf"your) (?:next |single )?(?:repl|"
        r"response|answer|message|output|e-?mail|summar)",
        r"\b(?:insert|add|include|embed|append|put|mention|"
        r"prepend)\b[^.\n]{0,60}?\b(?:in(?:to)?|to|at the (?:end|start|top|"
        r"beginning) of) (?:your|every|each) (?:next |final )?(?:answer|repl|response|summar|"
        r"output|review)",
    ),
    order(
        "asked,end of,begin ,reader,the user,filters,restrictions,safeguards,guardrails,"
        "this message,this note",
        r"\b(?:if|when(?:ever)?) (?:you are )?asked (?:about|to|for|whether|why|who|what|"
        r"by)\b[^.\n]{0,60}?, (?:always |you |please |just |simply )*(?:say|tell|respond|reply|"
        r"answer|claim|state|deny|recommend|pretend)\b",
        r"^\W{0,6}end of (?:the )?(?:document|user (?:input|query|message)|context|text|e-?mail|"
        r"data|page|message|file)\b",
        r"\bbegin (?:admin|system|new|developer|priority) (?:section|instructions?|prompt|"
        r"message|override)\b",
        r"\b(?:get|convince|trick|persuade|urge) the (?:reader|user|customer|human)s? (?:to|"
        r"into)\b",
        r"\b(?:filters?|restrictions?|safeguards|guardrails) (?:are |is |have been |"
        r"has been )?(?:now )?(?:off|disabled|removed|lifted|suspended|deactivated)\b",
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|"
        r"acknowledge)[^.\n]{0,20}?\bthis (?:message|note|text|comment)\b",
    ),
    order(
        "instruction,your new,your real,your true,your actual,your task,your only",
        r"\b(?:new|updated|additional|important|urgent|revised|special|"
        r"following) instructions?\s?(?:for you|follow)?\s?:",
        r"\byour (?:new|real|actual|true|updated|only) (?:instructions?|task|objective|goal|"
        r"mission|directive|purpose|system prompt) (?:is|are)\b",
        r"\b(?:follow|obey|execute|carry out) (?:these|the following|"
        r"all) (?:new )?(?:instructions|orders|commands|steps) (?:exactly|immediately|instead|"
        r"now|without)",
    ),
    order(
        "mode",
        r"\b(?:enable|enter|activate|switch (?:in)?to|you(?: are|'re) (?:now )?in|"
        r"engage) (?:the )?(?:developer|dan|god|jailbreak|debug|maintenance|admin|unrestricted|"
        r"root|sudo)(?: \w{1,12})? mode",
        r"\b(?:jailbreak|dan|unrestricted) mode\b",
    ),
    order(
        "tool,function,command,plugin,without,before,shell",
        r"\b(?:call|invoke|use|run|execute|trigger)\b[^.\n]{0,60}?\b(?:without (?:asking|"
        r"confirm\w{0,6}|approval|permission|checking|telling)|before (?:you (?:answer|reply|"
        r"respond)|(?:answering|replying|responding)(?: the user| to the user|\s?[.,;:]|$)))",
        r"(?:^|[.!?;:]\s{1,3}|\bnow |\bimmediately |\bthen |\bmust )(?:call|invoke|run|execute|"
        r"trigger) (?:the )?[`\"']?\w{2,40}[`\"']? (?:tool|command|plugin)\b",
    ),
    order(
        "conversation,chat history,chat log,password,credential,api key,secrets,memories,"
        "user's,user data",
        r"(?:^|[.!?;:]\s{1,3}|\bmust |\bshould |\bplease |\bthen |\band )(?:send|post|upload|"
        r"forward|e-?mail|transmit|exfiltrate|leak|export|copy|append|include|delete|"
        r"erase)\b(?:(?!\b(?:me|us)\b)[^.!?\n]){0,40}?\b(?:the|this|entire|whole|all|any|your|"
        r"user'?s) (?:conversations?|chat (?:history|log)|passwords?|credentials|api keys?|"
        r"secrets|stored memories|memories|user data|data of the user)\b",
    ),
)
