# SPDX-License-Identifier: MIT
"""The input of the workload `link-parser`: English sentences of some ten to thirty words, put together at random."""
import random

SENTENCES = 500
NOUNS = "parser program river teacher letter garden engine farmer window story village doctor machine bird road".split()
ADJECTIVES = "old quick small heavy famous quiet broken careful green distant".split()
VERBS = "found repaired described watched remembered followed painted carried".split()
ADVERBS = "slowly often carefully never quietly usually".split()
PLACES = ["in the morning", "near the river", "behind the old house", "with a small hammer", "after the long war",
          "at the end of the road", "without any help", "on the first day of the year"]
THOUGHTS = ["the teacher said that", "nobody believed that", "everyone in the village knew that", "I think that"]
LINKS = ["and", "because", "although", "when", "but"]


def thing(chance, depth=0):
    words = [chance.choice(["the", "a", "every", "this"])]
    if chance.random() < 0.5:
        words.append(chance.choice(ADJECTIVES))
    words.append(chance.choice(NOUNS))
    if depth < 1 and chance.random() < 0.3:
        words += [chance.choice(["that", "which"]), chance.choice(VERBS), *thing(chance, depth + 1)]
    return words


def clause(chance):
    words = thing(chance)
    if chance.random() < 0.4:
        words.append(chance.choice(ADVERBS))
    words += [chance.choice(VERBS), *thing(chance)]
    if chance.random() < 0.7:
        words.append(chance.choice(PLACES))
    return words


def sentence(chance):
    words = clause(chance)
    if chance.random() < 0.3:
        words = [chance.choice(THOUGHTS), *words]
    if chance.random() < 0.5:
        words += [chance.choice(LINKS), *clause(chance)]
    text = " ".join(words)
    return text[0].upper() + text[1:] + "."


def text(scale):
    chance = random.Random(1991)
    return "".join(sentence(chance) + "\n" for _ in range(max(1, SENTENCES * scale // 100)))
