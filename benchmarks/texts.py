"""The texts of the generated sets."""

from __future__ import annotations

from attrs import frozen

PEOPLE = ("Ada", "Boris", "Carmen", "David", "Elena", "Frank", "Grace", "Henry", "Irene", "Jacob", "Laura", "Martin")


@frozen
class Kind:
    """Something that is known of a person: how it is told at three times, what it was and became, how it is asked."""

    told: tuple[str, str, str]
    values: tuple[str, ...]
    question: str


KINDS = {
    "home": Kind(
        ("{} lives in {}", "{} moved to {}", "{} has settled in {}"),
        ("Lisbon", "Oslo", "Nairobi", "Kyoto", "Denver", "Prague", "Dublin"),
        "In which city does {} live?",
    ),
    "work": Kind(
        ("{} works as a {}", "{} took a job as a {}", "{} is now employed as a {}"),
        ("nurse", "carpenter", "teacher", "pilot", "librarian", "chemist", "baker"),
        "What job does {} have?",
    ),
}


def history(person: int, kind: str) -> tuple[str, ...]:
    """What was known of a person at three times, the first first."""
    values = KINDS[kind].values
    return tuple(
        told.format(PEOPLE[person], values[(person + 2 * version) % len(values)])
        for version, told in enumerate(KINDS[kind].told)
    )


EVENTS = {
    "The boiler in the cellar broke and the plumber replaced a valve": "What did the plumber do about the boiler?",
    "We signed the lease for the new office by the harbour": "Which lease did we sign?",
    "The database migration failed because the disk was full": "Why did the database migration fail?",
    "Grandmother's violin was sold at the auction": "What was sold at the auction?",
    "The hikers reached the glacier hut after a storm": "When did the hikers reach the glacier hut?",
    "A customer complained that the invoice was sent twice": "What did the customer say about the invoice?",
    "The choir rehearsed the requiem in the old church": "Where did the choir rehearse?",
    "Our cat was treated by the vet for an ear infection": "Why did the cat see the vet?",
}
"""What happened, and a question about it."""

PROCEDURES = {
    "To restart the print server, log in as operator and run the recovery job": "How do I restart the print server?",
    "To prune the apple tree, cut the inward branches in late winter": "How is the apple tree pruned?",
    "To publish a release, tag the commit and wait until the build is green": "How do we publish a release?",
    "To rescue a split sauce, whisk a spoon of hot water into it": "What helps when the sauce has split?",
    "To request vacation, fill in the form and ask the team lead": "How can I request vacation?",
    "To calibrate the scale, place the reference weight and hold the button": "How is the scale calibrated?",
    "To clean the espresso machine, rinse the group head with detergent": "How do I clean the espresso machine?",
    "To rotate the signing keys, create a new pair and revoke the old one": "How are the signing keys rotated?",
}
"""How something is done, and a question about it."""

CHATTER = (
    "Someone left an umbrella near the entrance",
    "The parking garage opens at six",
    "Lunch today was soup with noodles",
    "A new carpet was laid in the hallway",
    "The bus arrived ten minutes late",
    "There was confetti all over the stairs",
)
"""What has nothing to do with the questions."""

PARAPHRASES = {
    "Peanuts make my throat swell up": "Which food allergy should the cook know about?",
    "I gave up meat and fish years ago": "Is the guest a vegetarian?",
    "We are expecting a baby girl in March": "Who is pregnant?",
    "My rent went up by two hundred euros": "What happened to housing costs?",
    "He can't stand heights": "What scares him about climbing ladders?",
    "The doctor told me to avoid salt": "What dietary restriction is there?",
    "She plays the cello every evening": "Which musical instrument does she practise?",
    "Our spaniel is called Pepper": "What is the name of the dog?",
    "I commute on two wheels": "Does this person ride a bicycle to work?",
    "They tied the knot on a beach in Greece": "Where was the wedding?",
    "My brother builds bridges for a living": "Who in the family is a civil engineer?",
    "I get up before the sun rises": "Is the user an early riser in the morning?",
    "Coffee after noon keeps me awake all night": "When should caffeine be avoided?",
    "The car needs to be fixed before we can drive to Italy": "Why is the vehicle at the mechanic?",
    "I read thrillers on the train": "Which kind of books does the user like?",
    "We keep the spare key under the flower pot": "How can one enter the house when locked out?",
}
"""Facts, and questions that share almost no word with them."""
