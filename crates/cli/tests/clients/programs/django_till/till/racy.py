"""A till as people write it first: look, compute, write."""

from django.db import transaction

from .models import Application, Product, Sale, Voucher


@transaction.atomic
def sell(product, amount):
    product = Product.objects.get(pk=product)
    product.stock -= amount
    product.save(update_fields=["stock"])
    # A block inside a transaction is a savepoint.
    with transaction.atomic():
        Sale.objects.create(product=product, amount=amount)


@transaction.atomic
def redeem(code, customer):
    voucher = Voucher.objects.get(code=code)
    if voucher.applications.count() < voucher.allowed:
        Application.objects.create(voucher=voucher, customer=customer)


def reserve(product, amount):
    """No transaction around it: each statement is one of its own."""
    stock = Product.objects.get(pk=product).stock
    if stock >= amount:
        Product.objects.filter(pk=product).update(stock=stock - amount)
