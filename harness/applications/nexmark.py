"""Nexmark: four of the queries on the events of an auction site, and the generator of the events.

Tucker et al., NEXMark: a benchmark for queries over data streams (2002), as Apache Beam's Nexmark
defines it today: https://beam.apache.org/documentation/sdks/java/testing/nexmark/. Shares, ratios,
sizes, windows and ids are those of its defaults. Times are in order, and their rate is constant.

    q1  each bid, with its price in euros
    q2  the auction and the price of bids on each 123rd auction
    q5  the auctions with the most bids in the last 10 s, each 5 s
    q8  people who came and opened an auction within the same 10 s
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from typing import Any

from harness.applications.benchmark_job import BenchmarkJob, Generated
from harness.graph import Graph, Operator
from harness.graph.schema import Schema
from harness.operators.ready import each
from harness.operators.windows import aggregate, by_time, count, greatest, join, left, right

MILLISECOND = 1_000_000  # ns
SECOND = 1000 * MILLISECOND

PERSON = Schema(
    "person",
    {
        "time": "time",
        "id": "uint64",
        "name": "string[20]",
        "email": "string[20]",
        "credit_card": "string[20]",
        "city": "string[16]",
        "state": "string[4]",
        "extra": "string[180]",
    },
)
AUCTION = Schema(
    "auction",
    {
        "time": "time",
        "expires": "time",
        "id": "uint64",
        "seller": "uint64",
        "category": "uint64",
        "initial_bid": "uint64",
        "reserve": "uint64",
        "item": "string[20]",
        "description": "string[100]",
        "extra": "string[540]",
    },
)
BID = Schema(
    "bid",
    {
        "time": "time",
        "auction": "uint64",
        "bidder": "uint64",
        "price": "uint64",
        "extra": "string[84]",
    },
)


# -- the queries -----------------------------------------------------------------------------------

PRICE = Schema("price", {"auction": "uint64", "price": "uint64"})
NEW_USER = Schema("new_user", {"id": "uint64", "name": "string[20]", "reserve": "uint64"})
WINDOW, PERIOD = 10 * SECOND, 5 * SECOND


def in_euros(bid: Any, out: Any) -> bool:
    """Write the bid with its price in euros."""
    out.time, out.auction, out.bidder = bid.time, bid.auction, bid.bidder
    out.price = bid.price * 89 // 100
    out.extra = bid.extra
    return True


def q1(graph: Graph, bids: Operator) -> Operator:
    """Add the conversion of currencies."""
    euros = each(graph, "in euros", in_euros, BID, BID)
    graph.connect(bids, euros)
    return euros


def selected(bid: Any, out: Any) -> bool:
    """Write the auction and the price of a bid on each 123rd auction."""
    out.auction, out.price = bid.auction, bid.price
    return bid.auction % 123 == 0


def q2(graph: Graph, bids: Operator) -> Operator:
    """Add the selection of bids."""
    selection = each(graph, "selected", selected, BID, PRICE)
    graph.connect(bids, selection)
    return selection


def q5(graph: Graph, bids: Operator) -> Operator:
    """Add the search for hot items: all auctions that no other has more bids than."""
    counts = aggregate(graph, "bids", BID, by_time(WINDOW, PERIOD), {"bids": count()}, by="auction")
    counted = counts.typed.gives[0]
    # a window of the counts holds those of one window of bids, which end together
    ends = by_time(PERIOD, on="end")
    most = aggregate(graph, "most", counted, ends, {"most": greatest("bids")})
    hot = join(
        graph,
        "hot items",
        (counted, most.typed.gives[0]),
        within=1,
        values={name: left(name) for name in ("begin", "end", "auction", "bids")},
        by=[("end", "begin"), ("bids", "most")],
        times=("end", "begin"),
        jump=100 * PERIOD,
    )
    graph.connect(bids, counts)
    graph.connect(counts, hot.input(0))
    graph.chain(counts, most, hot.input(1))
    return hot


def in_one_window(pair: Any, out: Any) -> bool:
    """Write a new user whose auction began in the window in which the user came."""
    out.id, out.name, out.reserve = pair.id, pair.name, pair.reserve
    return pair.came // WINDOW == pair.began // WINDOW


def q8(graph: Graph, events: Operator) -> Operator:
    """Add the watch for new users who open auctions: people and auctions of a window, joined."""
    values = {
        "id": left("id"),
        "name": left("name"),
        "reserve": right("reserve"),
        "came": left("time"),
        "began": right("time"),
    }
    near = join(graph, "sellers", (PERSON, AUCTION), WINDOW, values, by=[("id", "seller")])
    users = each(graph, "new users", in_one_window, near.typed.gives[0], NEW_USER)
    graph.connect(events.output(0), near.input(0))
    graph.connect(events.output(1), near.input(1))
    graph.connect(near, users)
    return users


QUERIES = {
    "q1": (q1, (BID,)),
    "q2": (q2, (BID,)),
    "q5": (q5, (BID,)),
    "q8": (q8, (PERSON, AUCTION)),
}
"""Each query, and the schemas of the events that it takes, by port."""


# -- the generator ---------------------------------------------------------------------------------

PEOPLE, AUCTIONS, BIDS = 1, 3, 46
EPOCH = PEOPLE + AUCTIONS + BIDS  # events
FIRST_PERSON = FIRST_AUCTION = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
LEAD = 10  # ids ahead of those that there are
ACTIVE_PEOPLE = 1000  # who may sell and bid
AUCTIONS_IN_FLIGHT = 100  # which bids may be on
HOT_EVERY = 100  # one person, and one auction, of so many is hot
HOT_AUCTIONS, HOT_SELLERS, HOT_BIDDERS = 2, 4, 4  # all but one in so many are of a hot one
BYTES = {"person": 200, "auction": 500, "bid": 100}  # on average
EVENT = SECOND // 10_000  # time from event to event
BEGIN = 1_436_918_400 * SECOND  # 2015-07-15
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Seattle", "Cheyenne")
FIRST_NAMES = ("Ada", "Alan", "Barbara", "Donald", "Edsger", "Frances", "Grace", "Ken", "Niklaus")
LAST_NAMES = ("Allen", "Dijkstra", "Hopper", "Knuth", "Liskov", "Lovelace", "Turing", "Wirth")


def events(records: int, seed: int) -> Iterator[tuple[Schema, dict[str, Any]]]:
    """Yield events in the order of time: of 50, the first is a person, three are auctions and 46
    are bids.
    """
    draw = random.Random(seed)
    letters = "".join(draw.choices(string.ascii_lowercase, k=2**16))

    def text(least: int, most: int) -> str:
        begin = draw.randrange(len(letters) - most)
        return letters[begin : begin + draw.randint(least, most)]

    def extra(kind: str, size: int) -> str:
        rest = max(BYTES[kind] - size, 0)
        return text(rest - rest // 5, rest + rest // 5)

    def price() -> int:
        return round(100 * 10 ** (6 * draw.random()))

    def someone(last: int) -> int:
        active = min(last + 1, ACTIVE_PEOPLE)
        return last + 1 - active + draw.randrange(active + LEAD)

    for number in range(records):
        epoch, place = divmod(number, EPOCH)
        time = BEGIN + number * EVENT // MILLISECOND * MILLISECOND
        person = epoch * PEOPLE + min(place, PEOPLE - 1)  # the last one that there is
        auction = epoch * AUCTIONS + min(place - PEOPLE, AUCTIONS - 1)
        if place < PEOPLE:
            names = {
                "name": f"{draw.choice(FIRST_NAMES)} {draw.choice(LAST_NAMES)}",
                "email": f"{text(3, 7)}@{text(3, 5)}.com",
                "credit_card": " ".join(f"{draw.randrange(10_000):04}" for _ in range(4)),
                "city": draw.choice(CITIES),
                "state": draw.choice(STATES),
            }
            size = 8 + sum(map(len, names.values()))
            own = {"id": person + FIRST_PERSON, **names, "extra": extra("person", size)}
            yield PERSON, {"time": time, **own}
        elif place < PEOPLE + AUCTIONS:
            hot = draw.randrange(HOT_SELLERS) > 0
            seller = person // HOT_EVERY * HOT_EVERY if hot else someone(person)
            first, item, description = price(), text(3, 20), text(3, 100)
            horizon = AUCTIONS_IN_FLIGHT * EPOCH // AUCTIONS * EVENT // MILLISECOND
            yield (
                AUCTION,
                {
                    "time": time,
                    "expires": time + (1 + draw.randrange(2 * horizon)) * MILLISECOND,
                    "id": auction + FIRST_AUCTION,
                    "seller": seller + FIRST_PERSON,
                    "category": FIRST_CATEGORY + draw.randrange(CATEGORIES),
                    "initial_bid": first,
                    "reserve": first + price(),
                    "item": item,
                    "description": description,
                    "extra": extra("auction", 48 + len(item) + len(description)),
                },
            )
        else:
            if draw.randrange(HOT_AUCTIONS) > 0:
                on = auction // HOT_EVERY * HOT_EVERY
            else:
                least = max(auction - AUCTIONS_IN_FLIGHT, 0)
                on = least + draw.randrange(auction - least + 1 + LEAD)
            # hot bidders come after hot sellers, so that they are others
            hot = draw.randrange(HOT_BIDDERS) > 0
            bidder = person // HOT_EVERY * HOT_EVERY + 1 if hot else someone(person)
            yield (
                BID,
                {
                    "time": time,
                    "auction": on + FIRST_AUCTION,
                    "bidder": bidder + FIRST_PERSON,
                    "price": price(),
                    "extra": extra("bid", 32),
                },
            )


def generated(query: str, records: int, seed: int) -> Generated:
    """Return the events of a query as the input of a job."""
    takes = QUERIES[query][1]
    ports = {schema: port for port, schema in enumerate(takes)}
    tuples = (
        (ports[schema], values) for schema, values in events(records, seed) if schema in ports
    )
    return Generated(takes, tuples, records * EVENT)


def job(query: str, records: int, seed: int, cycles: int | None, keep: int = 0) -> BenchmarkJob:
    """Return the job of a query."""
    return BenchmarkJob(
        f"nexmark-{query}", generated(query, records, seed), QUERIES[query][0], cycles, keep
    )
