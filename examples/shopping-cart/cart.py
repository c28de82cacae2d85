"""A shopping cart as the MonkeyDB paper draws it (Fig. 1): one row per customer, which holds everything that is in the cart."""

import os

SCHEMA = "CREATE TABLE IF NOT EXISTS cart (customer text PRIMARY KEY, items text[] NOT NULL)"
# With CART_FIXED=1 whoever reads a cart in order to change it keeps it until the change is there.
LOCK = " FOR UPDATE" if os.environ.get("CART_FIXED") == "1" else ""


def open_cart(connection, customer, items):
    """A new cart in place of the old one."""
    with connection.transaction():
        connection.execute(SCHEMA)
        connection.execute("DELETE FROM cart WHERE customer = %s", (customer,))
        connection.execute("INSERT INTO cart VALUES (%s, %s)", (customer, items))


def items(connection, customer):
    """What is in the cart."""
    with connection.transaction():
        return connection.execute("SELECT items FROM cart WHERE customer = %s", (customer,)).fetchone()[0]


def add_item(connection, customer, item):
    """One more of an item."""
    with connection.transaction():
        found = connection.execute(f"SELECT items FROM cart WHERE customer = %s{LOCK}", (customer,)).fetchone()[0]
        connection.execute("UPDATE cart SET items = %s WHERE customer = %s", ([*found, item], customer))


def delete_item(connection, customer, item):
    """No more of an item, however often it is in the cart."""
    with connection.transaction():
        found = connection.execute(f"SELECT items FROM cart WHERE customer = %s{LOCK}", (customer,)).fetchone()[0]
        left = [other for other in found if other != item]
        connection.execute("UPDATE cart SET items = %s WHERE customer = %s", (left, customer))
