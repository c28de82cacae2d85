"""A shop of django-oscar as its package is, and customers who buy in it through its own views, one after the other; for `oscar.py`.

Every statement of a customer's request has a comment as sqlcommenter writes it, with the innermost line of oscar's own code and the request.
"""

import datetime
import logging
import os
import sys
import traceback
import uuid
from decimal import Decimal

import django
import oscar
import oscar.defaults
from django.conf import settings
from django.core.management import call_command

HOME = os.path.dirname(os.path.dirname(oscar.__file__))
DJANGO = ["admin", "auth", "contenttypes", "sessions", "messages", "staticfiles", "sites", "flatpages"]
APPS = {"analytics": "Analytics", "checkout": "Checkout", "address": "Address", "shipping": "Shipping", "catalogue": "Catalogue",
        "catalogue.reviews": "CatalogueReviews", "communication": "Communication", "partner": "Partner", "basket": "Basket",
        "payment": "Payment", "offer": "Offer", "order": "Order", "customer": "Customer", "search": "Search", "voucher": "Voucher",
        "wishlists": "Wishlists", "dashboard": "Dashboard"}
DASHBOARD = ["reports", "users", "orders", "catalogue", "offers", "partners", "pages", "ranges", "reviews", "vouchers", "communications", "shipping"]
PROCESSORS = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
              "django.contrib.messages.context_processors.messages", "oscar.apps.search.context_processors.search_form",
              "oscar.apps.checkout.context_processors.checkout", "oscar.core.context_processors.metadata"]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
              "django.contrib.messages.middleware.MessageMiddleware", "oscar.apps.basket.middleware.BasketMiddleware"]

settings.configure(
    **{name: getattr(oscar.defaults, name) for name in dir(oscar.defaults) if name.startswith("OSCAR")},
    SECRET_KEY="only for a benchmark", SITE_ID=1, USE_TZ=True, ROOT_URLCONF=__name__, STATIC_URL="static/", MEDIA_URL="media/",
    ALLOWED_HOSTS=["*"], DEFAULT_AUTO_FIELD="django.db.models.AutoField", EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
    AUTHENTICATION_BACKENDS=["oscar.apps.customer.auth_backends.EmailBackend", "django.contrib.auth.backends.ModelBackend"],
    MIDDLEWARE=MIDDLEWARE,
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {"context_processors": PROCESSORS}}],
    INSTALLED_APPS=[f"django.contrib.{name}" for name in DJANGO] + ["oscar.config.Shop"]
    + [f"oscar.apps.{name}.apps.{title}Config" for name, title in APPS.items()]
    + [f"oscar.apps.dashboard.{name}.apps.{name.title()}DashboardConfig" for name in DASHBOARD]
    + ["widget_tweaks", "haystack", "treebeard", "django_tables2"],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
                           "USER": os.environ["PGUSER"], "NAME": os.environ["PGDATABASE"]}},
)
django.setup()
# Pictures are not what is sold here.
logging.getLogger("oscar.thumbnail").setLevel(logging.CRITICAL)

from django.apps import apps  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import include, path, reverse  # noqa: E402
from django.utils import timezone  # noqa: E402
from oscar.core.loading import get_model  # noqa: E402

urlpatterns = [path("i18n/", include("django.conf.urls.i18n")), path("", include(apps.get_app_config("oscar").urls[0]))]


def commenting(route):
    trace = uuid.uuid4().hex

    def told(execute, sql, params, many, context):
        own = [frame for frame in traceback.extract_stack() if frame.filename.startswith(os.path.join(HOME, "oscar"))]
        place = f"file='{os.path.relpath(own[-1].filename, HOME)}',line='{own[-1].lineno}'," if own else ""
        return execute(f"{sql} /*{place}route='{route}',traceparent='00-{trace}-00f067aa0ba902b7-01'*/", params, many, context)
    return connection.execute_wrapper(told)


def voucher(code, everything):
    """A voucher that may be used once."""
    offers, vouchers = (lambda name: get_model("offer", name)), get_model("voucher", "Voucher")
    condition = offers("Condition").objects.create(range=everything, type="Count", value=1)
    benefit = offers("Benefit").objects.create(range=everything, type="Percentage", value=20)
    offer = offers("ConditionalOffer").objects.create(name=code, offer_type="Voucher", condition=condition, benefit=benefit)
    day = datetime.timedelta(1)
    made = vouchers.objects.create(name=code, code=code, usage=vouchers.SINGLE_USE, start_datetime=timezone.now() - day, end_datetime=timezone.now() + day)
    made.offers.add(offer)


def buy(number):
    """From the product's page to the thanks."""
    from oscar.test.factories import create_product
    product = create_product(upc=f"upc{number}", price=Decimal("12.00"), num_in_stock=10, partner_name=f"partner {number}")
    name, code = f"customer{number}", f"SPRING{number}"
    voucher(code, get_model("offer", "Range").objects.get(name="everything"))
    User.objects.create_user(name, f"{name}@example.com", "secret")
    client = Client()
    assert client.login(username=name, password="secret")

    def visit(view, data=None, *values):
        with commenting(view):
            answer = client.post(reverse(view, args=values), data) if data else client.get(reverse(view, args=values))
        assert answer.status_code == 302 if data else answer.status_code in (200, 302), (view, answer.status_code)

    visit("basket:add", {"quantity": number + 1, "action": "add"}, product.pk)
    visit("basket:vouchers-add", {"code": code})
    visit("checkout:index")
    visit("checkout:shipping-address", {"first_name": "A", "last_name": "B", "line1": "1 Road", "line4": "Town", "postcode": "N1 9RT", "country": "GB"})
    for view in ("checkout:shipping-method", "checkout:payment-method", "checkout:preview"):
        visit(view)
    visit("checkout:preview", {"action": "place_order"})
    visit("checkout:thank-you")


if sys.argv[1] == "migrate":
    call_command("migrate", verbosity=0)
    get_model("address", "Country").objects.create(iso_3166_1_a2="GB", printable_name="United Kingdom", is_shipping_country=True)
    get_model("offer", "Range").objects.create(name="everything", includes_all_products=True)
else:
    for customer in range(1, int(sys.argv[2]) + 1):
        buy(customer)
    for order in get_model("order", "Order").objects.order_by("number"):
        sold = order.lines.first()
        print(f"order {order.number}: {sold.quantity} pieces, {order.total_incl_tax} {order.currency}, {sold.stockrecord.num_allocated} allocated")
