"""English words of slots, of change and of time. Common knowledge, and ours."""

from __future__ import annotations

from ebbmem.slots.base import Wording

__all__ = ["ENGLISH"]

ENGLISH = Wording(
    names={
        "home": "live, live in, living in, live at, home address, address, hometown, home town, "
        "home city, flat, apartment, house, residence, reside, resident, street, postcode, "
        "zip code, landlord, neighbourhood, neighborhood, based in, calls home, call home, "
        "relocate, relocated to, settled in, rent, rented, mortgage, move house, moved house, "
        "studio flat, stay with, lodge, lodgings, crash at, roommate, flatmate, housemate",
        "work": "job, occupation, profession, career, for a living, a living, work as, works as, "
        "working as, employed as, trained as, job title, position at, earn, by trade, vocation",
        "employer": "employer, company, firm, work at, works at, work for, works for, "
        "working at, working for, employed by, employed at, hired by, joined the company, "
        "startup, corporation, workplace, office at, payroll, on staff at",
        "boss": "boss, manager, supervisor, line manager, report to, reports to, reporting to, "
        "answers to, answer to, team lead, team leader, in charge of, mentor, advisor, adviser, "
        "signs off, works under, head of department, chief",
        "team": "team, squad, department, plays for, play for, club, unit, division",
        "school": "school, university, college, kindergarten, academy, attend, attends, "
        "enrolled at, enrolled in, student at, studies at, study at, campus, pupil at",
        "major": "major, majoring, majors in, degree, degree in, subject, thesis, dissertation, "
        "field of study, specialise, specialize, phd",
        "car": "car, drive, drives, driving a, vehicle, truck, van, suv, sedan, hatchback, "
        "number plate, license plate, behind the wheel, commutes in a",
        "bike": "bike, bicycle, motorbike, motorcycle, scooter, moped, e-bike, ebike, cycles on",
        "commute": "commute, commutes, gets to work, get to work, goes to work by, "
        "go to work by, travels to work",
        "diet": "diet, dietary, mediterranean diet, fasting, meals are",
        "allergy": "allergy, allergic, intolerance, intolerant, anaphylaxis, epipen",
        "pet": "pet",
        "deadline": "deadline, due, due on, due date, due by, hand in, hands in, submit, "
        "submission, report, deliver by, turn in, turned in, ship by, ships on, launch date, "
        "release date",
        "meeting": "meeting, stand-up, standup, team call, weekly call, weekly, one-on-one, "
        "sync, appointment, rehearsal, lesson starts, class starts, check-in, office hours, "
        "call is at, meets the team, meet the team, meets at, stand up meeting, kickoff",
        "hobby": "hobby, hobbies, pastime, free time, spare time, leisure",
        "instrument": "instrument",
        "sport": "sport",
        "phone": "phone, smartphone, mobile, cell phone, handset, texts from, calls home on, "
        "carries a",
        "number": "phone number, telephone number, mobile number, extension, reach me at, "
        "call me at, dial",
        "email": "email, e-mail, email address, mail address, inbox",
        "laptop": "laptop, computer, notebook computer, desktop, workstation, pc",
        "os": "operating system, distro",
        "editor": "editor, ide, write code in, writes code in, codes in, programs with, edits with",
        "browser": "browser",
        "codelanguage": "programming language, written in, code base is in",
        "database": "database, db, data store, datastore, stores its data, stores data, data in, "
        "persists to, project runs on",
        "framework": "framework, frontend, front end",
        "cloud": "cloud, hosting, hosted on, deployed on, deploys to, server runs on, provider",
        "tool": "version control, issue tracker, ci, chat tool, note taking, notes app, "
        "todo app, task manager",
        "language": "learning, learn, language course, language lessons, language class, fluent, "
        "duolingo, speaks, takes lessons, practises, practices",
        "bank": "bank, banks with, bank account, current account, savings account, "
        "checking account, credit union, credit card, pays with",
        "doctor": "doctor, physician, gp, pediatrician, paediatrician, therapist, psychologist, "
        "psychiatrist, general practitioner, clinic, surgeon, physiotherapist, sees dr, vet",
        "dentist": "dentist, orthodontist, dental, teeth checked, teeth cleaned",
        "medicine": "medication, medicine, prescription, pill, tablets, dose, takes for",
        "gym": "gym, fitness studio, works out at, work out at, trains at, train at, crossfit, "
        "exercise at, personal trainer",
        "shift": "shift, night shift, day shift, early shift, late shift, working hours, "
        "work hours, office days, works nights, works days, schedule, roster, part time, "
        "full time",
        "status": "relationship, marital, dating, boyfriend, girlfriend, husband, wife, fiance, "
        "fiancee, partner, spouse, in a relationship, marital status",
        "food": "favourite food, favorite food, favourite dish, favorite dish, favourite meal, "
        "favorite meal, favourite cuisine, favorite cuisine, favourite snack, favorite snack, "
        "favourite restaurant, favorite restaurant, favourite dessert, favorite dessert, "
        "breakfast, usual lunch",
        "drink": "drink, drinks, favourite drink, favorite drink, beverage",
        "colour": "colour, color, favourite colour, favorite color, paint, painted",
        "music": "music, band, favourite singer, favorite singer, favourite song, favorite song, "
        "favourite artist, favorite artist, listens to, genre, album",
        "film": "favourite film, favorite film, favourite movie, favorite movie, favourite show, "
        "favorite show, series, tv show, watching, favourite actor, favorite actor",
        "book": "reading, favourite book, favorite book, novel, favourite author, favorite author",
        "game": "video game, game, console, board game",
        "budget": "budget, price, cost, costs, salary, wage, pay rise, rate, fee, spend, income, "
        "rent is, pays a month, hourly",
        "weight": "weigh, weighs, weight, kilos, kilograms, pounds, lbs, kg",
        "size": "shoe size, size, sizes, clothes size, dress size, shirt size, ring size, waist, "
        "shoes in",
        "age": "age, years old, turned, turns, birthday",
        "hair": "hair, haircut, hairstyle, beard, hair colour, hair color",
        "insurance": "insurance, insurer, insured, insured with, coverage, health plan",
        "subscription": "subscription, subscribe, subscribed, membership, streaming, phone plan, "
        "internet provider, carrier, newspaper, magazine",
        "wake": "wake, wakes, wake up, wakes up, get up, gets up, alarm, alarm clock, rises at, "
        "out of bed",
        "sleep": "bedtime, go to bed, goes to bed, asleep by, sleep at, sleeps at",
        "trip": "destination, holiday, vacation, trip, travel to, travelling to, traveling to, "
        "flight, flying to, honeymoon, itinerary, visiting next, cruise",
        "venue": "venue, location, takes place, held at, held in, room, conference room, "
        "wedding is, party is, seat, seated, gate, platform",
        "goal": "goal, aim, target, plan, resolution, saving for, saving up for, training for",
    },
    values={
        "work": "nurse, teacher, engineer, lawyer, accountant, chef, plumber, electrician, "
        "carpenter, pharmacist, journalist, librarian, welder, surveyor, barista, programmer, "
        "dentistry",
        "car": "toyota, honda, ford, skoda, volvo, subaru, renault, mazda, fiat, saab, tesla, "
        "bmw, audi, nissan, hyundai, kia, volkswagen, peugeot, chevrolet, mercedes, lexus, "
        "porsche, jeep, parks it",
        "diet": "vegan, vegetarian, keto, paleo, pescatarian, gluten, gluten-free, carnivore, "
        "low-carb, halal, kosher, omnivore, lactose, plant-based, flexitarian, low carb, "
        "gluten free, eats meat, eat meat",
        "pet": "dog, cat, puppy, kitten, parrot, hamster, rabbit, tortoise, turtle, goldfish, "
        "gecko, ferret, beagle, poodle, terrier, labrador, retriever, tabby, lizard, parakeet, "
        "budgie, canary, snake, pony, guinea pig, adopted a dog, adopted a cat",
        "hobby": "pottery, archery, chess, climbing, knitting, rowing, fencing, origami, "
        "birdwatching, photography, gardening, woodworking, surfing, sailing, fishing, "
        "calligraphy, juggling, baking, crochet, sculpting, football, soccer, tennis, "
        "basketball, badminton, swimming, volleyball, cycling, hiking, yoga, piano, "
        "guitar, violin, drums, dancing, singing, plays the, weekends on, "
        "unwinds with",
        "instrument": "violin, piano, guitar, cello, flute, drums, trumpet, ukulele, saxophone, "
        "clarinet",
        "sport": "football, soccer, tennis, basketball, badminton, swimming, volleyball, rugby, "
        "cricket, hockey, karate, judo, yoga, pilates, marathon, martial art",
        "phone": "iphone, pixel, galaxy, fairphone, xperia, nokia, android",
        "email": "gmail, outlook",
        "laptop": "macbook, thinkpad, chromebook, dell, surface",
        "os": "linux, windows, macos, ubuntu, fedora, debian",
        "editor": "vim, neovim, emacs, vscode, sublime, pycharm, intellij, helix, notepad, vs code",
        "browser": "firefox, chrome, safari, brave, opera, edge, vivaldi",
        "codelanguage": "python, rust, golang, typescript, javascript, java, kotlin, ruby, "
        "haskell, elixir, scala",
        "database": "mysql, postgres, postgresql, mongodb, mongo, cassandra, redis, duckdb, "
        "oracle, couchdb, sqlite, mariadb, dynamodb",
        "framework": "django, flask, fastapi, react, vue, svelte, angular, rails, nextjs, "
        "laravel, spring boot",
        "cloud": "aws, azure, gcp, heroku, vercel, hetzner, digitalocean",
        "tool": "jira, trello, notion, linear, slack, discord, zoom, teams channel",
        "language": "spanish, french, german, italian, japanese, korean, chinese, mandarin, "
        "arabic, portuguese, russian, finnish, greek, swahili, welsh, dutch, swedish, turkish, "
        "hindi, polish, hebrew, norwegian",
        "medicine": "antibiotic, insulin, antidepressant, inhaler",
        "status": "married, single, engaged, divorced, widowed, separated, lives as, "
        "seeing someone, broke up",
        "drink": "coffee, tea, espresso, cocoa, lemonade, matcha, juice, latte, cappuccino, "
        "wine, beer, soda, cola, kombucha, sips, a cup of",
        "game": "playstation, xbox, nintendo",
        "subscription": "netflix, spotify",
    },
    weak={
        "home": "moved to, moved into, moved in, moved from, moving to, move to, lane, road, "
        "avenue, place in, lives, letters for, left for, find in",
        "work": "started working, new job, promoted, promotion, quit, retired, pilot, baker, "
        "translator, chemist, designer, architect, farmer, writer, analyst, consultant, actor, "
        "switched careers",
        "employer": "joined, hired, recruited, left the company",
        "car": "sold the, traded, bought a car, a new ride",
        "pet": "adopted, adopted a, rescued, bird, fish, vet",
        "deadline": "postponed, extended, brought forward, pushed back, until, by monday, "
        "by tuesday, by wednesday, by thursday, by friday, by saturday, by sunday",
        "meeting": "am, pm, o'clock, rescheduled, reschedule",
        "hobby": "took up, take up, into, weekends, evenings, crazy about",
        "drink": "orders, asks for, thirsty",
        "diet": "eat, eats, gave up, meals, food",
        "database": "migrated, migrated to, migrated from, switched from",
        "language": "studies, study, course, class",
        "phone": "pictures with, carries, texts, pocket",
        "editor": "code, edit, programs, swears by",
        "boss": "leave, took over, new lead",
        "status": "proposed, wedding, ex",
        "trip": "going to, heading to, off to, fly to",
        "food": "loves to eat, likes to eat, dish",
        "shift": "works from, from home, mornings, nights",
        "budget": "dollars, euros, cheaper, raised to",
    },
    update="now, nowadays, moved, moving, switched, switch, changed, change, sold, replaced, "
    "replace, no longer, not anymore, anymore, any more, quit, started, dropped, recently, "
    "instead, used to, cancelled, canceled, postponed, these days, lately, since then, "
    "from now on, as of, became, gave up, stopped, left, new, migrated, swapped, swap, traded, "
    "upgraded, took over, took up, converted, relocated, update, updated, correction, actually, "
    "renamed, rescheduled, pushed back, brought forward, extended, raised, lowered, grew, "
    "turned, transferred, joined, promoted, went back to, not the, instead of, rather than, "
    "ditched, abandoned, bought, adopted, split up, broke up, married, retired, ended, cut out, "
    "put off, finally, ever since, at the moment, currently, meanwhile, by now, turned into, "
    "settled on",
    past=r"\b(did|was|were|had|used to|before|earlier|previous(ly)?|former(ly)?|originally|first|"
    r"ago|after|when (did|was|were|had)|last (week|month|year|night|time|summer|winter|spring|"
    r"fall|autumn)|yesterday|back then|at the time|in (19|20)\d\d|history|over time|"
    r"has .{0,80} ever|have .{0,80} ever|how long|how many times|since when)\b",
    present=r"\b(now|currently|nowadays|these days|at the moment|at present|today|still|latest|"
    r"most recent|up to date|current)\b",
    several=r"\b(what|which|whose) (?:[a-z'-]+ ){0,2}?(?:kinds?|types?|sorts?) of\b|"
    r"\b(what|which) (?:[a-z'-]+ )?[a-z]{2,}[^su'i ]s (do|does|are|has|have|is)\b|"
    r"\bwhat are\b|\blist\b|\ball the\b|\bhow (many|long|often)\b|^\W*(why|how (do|does|is|are|has|"
    r"have|can|could|would|will)\b)|\b(both|one of|each of|in common|would)\b",
    asking="use, uses, using, kind, type, name, called, current, currently, now, nowadays, "
    "today, still, latest, days, moment, present, please, tell, know, remember, like, go, new, "
    "get, make, take, sort, one, thing, time, favourite, favorite, day, recent",
)
