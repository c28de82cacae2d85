"""The same till with locks, and with what the database computes itself."""

from django.db import transaction
from django.db.models import F

from .models import Application, Product, Sale, Voucher


@transaction.atomic
def sell(product, amount):
    product = Product.objects.select_for_update().get(pk=product)
    product.stock -= amount
    product.save(update_fields=["stock"])
    with transaction.atomic():
        Sale.objects.create(product=product, amount=amount)


@transaction.atomic
def redeem(code, customer):
    voucher = Voucher.objects.select_for_update().get(code=code)
    if voucher.applications.count() < voucher.allowed:
        Application.objects.create(voucher=voucher, customer=customer)


def reserve(product, amount):
    Product.objects.filter(pk=product, stock__gte=amount).update(stock=F("stock") - amount)
