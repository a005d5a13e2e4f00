"""Patterns of failure messages mean here what they mean to JobSet; each answer below is that of Go's own matcher."""

import pytest

from trainplane.jobset.expressions import occurs

MESSAGE = "Job has reached the specified backoff limit"
FOUND = (
    *(
        "^Job has",
        "(?i)BACKOFF\\b",
        "limit$",
        "limit\\z",
        "\\AJob",
        "",
        "|",
        "has|zzz",
        "Job.has",
        "e{0,3}d",
        "a{,2}|Job",
    ),
    *("\\pL+ has \\x{72}", "\\p{Lu}ob", "\\PLhas", "[\\pL]has|J", "\\p{^L}", "\\x4a", "\\112ob", "\\QJob has\\E"),
    *("[[:alpha:]]+ has", "[[:^alpha:]]has", "[^]]", "[-J]ob", "(?P<n>Job)", "(?<n>Job)", "(?U)J.*b"),
    *(
        "Job(?i) HAS|zzz",
        "zzz|(?i)JOB",
        "x(?i)y|JOB",
        "(?i-s:JOB)",
        "(?m)^Job",
        "^?Job",
        "\\b{0,3}Job",
        "[\\d-z]{2}|J",
    ),
    *(
        "[[a-z]|Job",
        "[a&&b]|Job",
        "[--a]",
        "J(?i)+OB",
        "(?i)\\p{^L}",
        "[^\\D]|J",
        "\\Bh|\\bh",
        "(?s)Job.has",
        "(|J)ob",
        "(?P<a>J)(?P<a>o)",
        "Job()",
    ),
)
MISSED = (
    *("has$", "limit\\Z", "job", "[[:digit:]]", "\\pN", "[^\\PL]{20}", "a{,2}", "{2}", "\\d+", "(?s)Job.reached"),
    *("(?>Job)", "Job++", "(?#c)Job", "(?=Job)", "(?!zzz)Job", "(?<=J)o", "(J)\\1", "(?x)Job", "(?z)Job", "\\u004aob"),
    *(
        "(Job",
        "Job)",
        "[Job",
        "Job\\",
        "Jo**",
        "[[:foo:]]|Job",
        "J{1001}|J",
        "*",
        "[\\b]|Job",
        "\\p{",
    ),
    *(
        "[a--z]|Job",
        "(?i)^\\p{^Lu}",
        "Jo(?i)|*",
        "(a{40}){40}|Job",
        "J{2,1}|Job",
        "\\pQ|Job",
        "[[:alpha:]",
        "J\\vb",
        "\\é|Job",
    ),
)
MISERABLE = ("(.*)*!", "(\\w+\\s?)+!", "((.?)+)+!", "(J|o|b|.)*!", "(.{0,30}){30}!", "(((.+)+)+)+!")
"""What would keep a matcher busy for years that tries one way after the other."""


@pytest.mark.parametrize("pattern", FOUND)
def test_what_jobset_finds_is_found(pattern: str) -> None:
    assert occurs(pattern, MESSAGE)


@pytest.mark.parametrize("pattern", MISSED)
def test_what_jobset_does_not_find_or_cannot_read_is_not_found(pattern: str) -> None:
    assert not occurs(pattern, MESSAGE)


@pytest.mark.parametrize("pattern", MISERABLE)
def test_no_expression_takes_long(pattern: str) -> None:
    assert not occurs(pattern, MESSAGE)
    assert occurs(pattern, MESSAGE + "!")
