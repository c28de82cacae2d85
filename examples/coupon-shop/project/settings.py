"""A shop and nothing else; the database is the one that the PG* environment names."""

import os

from psycopg import IsolationLevel

SECRET_KEY = "only for tests"
INSTALLED_APPS = ["shop"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# SHOP_LEVEL=snapshot asks for what PostgreSQL calls repeatable read; with skew serve --level the server decides.
LEVELS = {"read-committed": IsolationLevel.READ_COMMITTED, "snapshot": IsolationLevel.REPEATABLE_READ,
          "serializable": IsolationLevel.SERIALIZABLE}

DATABASES = {"default": {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": os.environ["PGHOST"],
    "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"],
    "NAME": os.environ["PGDATABASE"],
    "OPTIONS": {"isolation_level": LEVELS[os.environ.get("SHOP_LEVEL", "read-committed")]},
}}
