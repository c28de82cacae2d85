"""One customer, two browser windows: one deletes the only lamp in the cart, one adds a lamp. A third looks twice.

The calls are made one after the other. A database that races for us needs no threads; for others CART_THREADS=1 makes the two
changes at the same time.
"""

import os
import threading

import psycopg
import pytest

from cart import add_item, delete_item, items, open_cart


def connect(name):
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, application_name=name)


@pytest.fixture
def windows():
    with connect("shop") as shop:
        open_cart(shop, "ann", ["lamp"])
    with connect("phone") as phone, connect("laptop") as laptop, connect("viewer") as viewer:
        yield phone, laptop, viewer


def do(*calls):
    """Makes the calls in turn, or at once."""
    if os.environ.get("CART_THREADS") != "1":
        for call in calls:
            call()
        return
    ready = threading.Barrier(len(calls))
    threads = [threading.Thread(target=lambda call=call: (ready.wait(), call())) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_deleted_item_does_not_come_back_twice(windows):
    phone, laptop, viewer = windows
    do(lambda: delete_item(phone, "ann", "lamp"), lambda: add_item(laptop, "ann", "lamp"))
    first, second = items(viewer, "ann"), items(viewer, "ann")
    assert not (first == [] and second == ["lamp", "lamp"]), "the deleted lamp is back"
