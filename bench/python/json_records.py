"""Records through JSON and dataclasses."""
import dataclasses
import json
import sys


@dataclasses.dataclass
class Order:
    number: int
    customer: str
    price: float
    tags: list
    address: dict


def orders(count):
    return [Order(i, f"customer {i % 97}", i * 1.25, [f"tag{k}" for k in range(i % 5)],
                  {"street": f"street {i}", "zip": str(10000 + i)}) for i in range(count)]


for turn in range(int(sys.argv[1])):
    text = json.dumps([dataclasses.asdict(order) for order in orders(400)])
    back = [Order(**fields) for fields in json.loads(text)]
    assert len(back) == 400 and sum(order.price for order in back) == 99750
