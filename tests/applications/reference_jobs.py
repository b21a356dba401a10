"""Plain sequential programs for the jobs that other benchmarks know, written from the definitions
of their queries and not from our operators. Each takes all tuples in order.
"""

import re
from collections import Counter, defaultdict, deque
from fractions import Fraction

SECOND = 10**9


def q1(bids):
    """Nexmark query 1: SELECT auction, bidder, price in euros (0.89 to the dollar)."""
    return [{**bid, "price": int(bid["price"]) * 89 // 100} for bid in bids]


def q2(bids):
    """Nexmark query 2: SELECT auction, price WHERE auction is a multiple of 123."""
    return [
        {"auction": bid["auction"], "price": bid["price"]}
        for bid in bids
        if bid["auction"] % 123 == 0
    ]


def q5(bids):
    """Nexmark query 5: for each window of 10 s, each 5 s, the auctions that no other has more bids
    than, and how many those are.
    """
    if not bids:
        return []
    found = []
    last = max(bid["time"] for bid in bids)
    end = min(bid["time"] for bid in bids) // (5 * SECOND) * (5 * SECOND) + 5 * SECOND
    while end - 10 * SECOND <= last:
        begin = end - 10 * SECOND
        of_window = Counter(bid["auction"] for bid in bids if begin <= bid["time"] < end)
        for auction, number in of_window.items():
            if number == max(of_window.values()):
                found.append({"begin": begin, "end": end, "auction": auction, "bids": number})
        end += 5 * SECOND
    return found


def q8(people, auctions):
    """Nexmark query 8: people and auctions of which they are the sellers, in the same 10 s."""
    came = defaultdict(list)
    for person in people:
        came[person["id"], person["time"] // (10 * SECOND)].append(person)
    return [
        {"id": person["id"], "name": person["name"], "reserve": auction["reserve"]}
        for auction in auctions
        for person in came[auction["seller"], auction["time"] // (10 * SECOND)]
    ]


def word_count(texts):
    """Count the words: runs of letters, digits and underscores, and of what is not ASCII."""
    words = (word for text in texts for word in re.findall(rb"[A-Za-z0-9_\x80-\xff]+", text))
    return Counter(word[:60].decode(errors="replace") for word in words)


def spikes(readings):
    """Readings more than 3 % away from the mean of the sensor's last 1,000 readings."""
    window, total, found = defaultdict(deque), Counter(), []
    for reading in readings:
        sensor = reading["device"]
        window[sensor].append(Fraction(reading["value"]))
        total[sensor] += window[sensor][-1]  # exact
        if len(window[sensor]) > 1000:
            total[sensor] -= window[sensor].popleft()
        average = float(total[sensor] / len(window[sensor]))
        if abs(reading["value"] - average) > 0.03 * abs(average):
            found.append({**reading, "average": average})
    return found


def frauds(transactions, probabilities):
    """Customers whose last five transactions are unlikely: the mean, over their four steps, of the
    probability that the model gives to all other steps is above 0.96.
    """
    last, found = defaultdict(lambda: deque(maxlen=5)), []
    for each in transactions:
        states = last[each["customer"]]
        states.append(each["state"])
        if len(states) < 5:
            continue
        score = 0.0
        for before, after in zip(list(states), list(states)[1:], strict=False):
            others = (p for state, p in enumerate(probabilities[before]) if state != after)
            score += sum(others) / 4
        if score > 0.96:
            found.append({"customer": each["customer"], "number": each["number"], "score": score})
    return found
