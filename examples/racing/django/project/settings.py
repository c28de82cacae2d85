"""A club and nothing else; the database is the one that the PG* environment names."""

import os

SECRET_KEY = "only for tests"
INSTALLED_APPS = ["club"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": os.environ["PGHOST"],
    "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"],
    "NAME": os.environ["PGDATABASE"],
}}
