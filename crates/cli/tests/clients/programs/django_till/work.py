"""A day at a till, one customer after the other: `work.py racy` or `work.py careful`.

With `binding` values travel beside the SQL; with `commented` every statement says where it stands and which request it is for. Nothing goes
wrong on this day. What could is for whoever reads what was said to the database, which the PG* environment names.
"""

import importlib
import os
import sys
import traceback
import uuid

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["till"],
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ["PGHOST"],
        "PORT": os.environ["PGPORT"],
        "USER": os.environ["PGUSER"],
        "PASSWORD": os.environ.get("PGPASSWORD", ""),
        "NAME": os.environ["PGDATABASE"],
        "OPTIONS": {"server_side_binding": "binding" in sys.argv},
    }},
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from till.models import Product, Voucher  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
till = importlib.import_module(f"till.{sys.argv[1]}")


def commenting(route):
    """Comments as sqlcommenter writes them, with the line of the application as well."""
    trace = uuid.uuid4().hex

    def told(execute, sql, params, many, context):
        own = [frame for frame in traceback.extract_stack() if frame.filename.startswith(os.path.join(HERE, "till"))]
        file, line = os.path.relpath(own[-1].filename, HERE), own[-1].lineno
        comment = f"file='{file}',line='{line}',route='{route}',traceparent='00-{trace}-00f067aa0ba902b7-01'"
        return execute(f"{sql} /*{comment}*/", params, many, context)
    return told


def request(route, action, *values):
    if "commented" not in sys.argv:
        return action(*values)
    with connection.execute_wrapper(commenting(route)):
        return action(*values)


# The first rows come with the tables, as in a migration that fills what it makes.
with transaction.atomic():
    call_command("migrate", run_syncdb=True, verbosity=0)
    products = [Product.objects.create(name=name, stock=100) for name in ("tea", "milk", "bread")]
    for code, allowed in (("SPRING", 5), ("SUMMER", 7)):
        Voucher.objects.create(code=code, allowed=allowed)
for amount, product in enumerate(products, start=2):
    request("/sell", till.sell, product.pk, amount)
    request("/reserve", till.reserve, product.pk, amount + 3)
for customer, code in (("Ann", "SPRING"), ("Ben", "SUMMER"), ("Cleo", "SPRING")):
    request("/redeem", till.redeem, code, customer)
