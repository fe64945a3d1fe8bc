"""The annotations that the publication prints, and the records that they are about."""

from __future__ import annotations

LENS = """
$r = lower($r)
$c1 = is_in("canon", $r)                         # condition 1
$c2 = is_in("24-70", $r) | is_in("2470", $r)     # condition 2
$c3 = !is_in("24-105", $r)                       # condition 3
ret $c1 & $c2 & $c3
"""

AMAZON = """
$r = lower($r)
$c = is_in("cakewalk", $r)
$c = $c & is_in("sonar", $r)
ret $c
"""

GOOGLE_1 = """
$r = lower($r)
$c = is_in("cakewalk", $r)
$c = $c & is_in("sonar", $r)
$c = $c & is_in("6", $r)
$c = $c & is_in("studio", $r)
$c = $c & is_in("music", $r)
ret $c
"""

DBLP_1 = """
$r = lower($r)
$c = is_in("honey", $r)
$c = $c & is_in("i", $r)
$c = $c & is_in("shrunk", $r)
$c = $c & is_in("the", $r)
$c = $c & is_in("dbms", $r)
ret $c
"""

DBLP_2 = """
$r = lower($r)
$c = is_in("footprint", $r)
$c = $c & is_in("mobility", $r)
$c = $c & is_in("and", $r)
$c = $c & is_in("beyond", $r)
ret $c
"""

ACM_1 = """
$r = lower($r)
$c = is_in("honey", $r)
$c = $c & is_in("shrunk", $r)
$c = $c & is_in("the", $r)
$c = $c & is_in("footprint,", $r)
$c = $c & is_in("mobility,", $r)
$c = $c & is_in("and", $r)
$c = $c & is_in("beyond", $r)
"""

ACM_2 = ACM_1.replace('"footprint,"', '"footprint"') + '$c = $c & is_in("seshadri", $r)\nret $c\n'

AMAZON_RECORD = "cakewalk sonar 6 studio"
GOOGLE_RECORD = "cakewalk sonar 6 studio edition software music production software"
DBLP_RECORD = (
    '"Honey, I Shrunk the DBMS": Footprint, Mobility, and Beyond (Panel) | Praveen Seshadri | SIGMOD Conference | 1999'
)
ACM_RECORD = (
    "Honey, I shrunk the database: footprint, mobility, and beyond | Praveen Seshadri | "
    "International Conference on Management of Data | 1999"
)

PRINTED = {
    "the lens": LENS,
    "amazon, both rounds, and google, round 2": AMAZON,
    "google, round 1": GOOGLE_1,
    "dblp, round 1": DBLP_1,
    "dblp, round 2": DBLP_2,
    "acm, round 1": ACM_1 + "ret $c\n",  # printed without its last line
    "acm, round 2": ACM_2,
}
RECORDS = (
    "Canon 24-70 f2.8", "Canon 2470", "Canon 24-105mm USM", "Sony 24-70", AMAZON_RECORD, GOOGLE_RECORD, DBLP_RECORD,
    ACM_RECORD,
)  # fmt: skip

ANSWERED: list[tuple[str, str, bool]] = [
    (LENS, "Canon 24-70 f2.8", True),
    (LENS, "Canon 2470", True),
    (LENS, "Canon 24-105mm USM", False),
    (LENS, "Sony 24-70", False),
    (AMAZON, GOOGLE_RECORD, True),
    (GOOGLE_1, AMAZON_RECORD, False),
    (AMAZON, AMAZON_RECORD, True),
    (DBLP_1, ACM_RECORD, False),
    (DBLP_2, ACM_RECORD, True),
    (ACM_2, DBLP_RECORD, True),
]
"""Question, record and answer, as the publication says."""
