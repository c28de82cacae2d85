"""What a till knows: products, sales, vouchers and who used them."""

from django.db import models


class Product(models.Model):
    name = models.CharField(max_length=40)
    stock = models.IntegerField()


class Sale(models.Model):
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="sales")
    amount = models.IntegerField()


class Voucher(models.Model):
    code = models.CharField(max_length=20, unique=True)
    allowed = models.IntegerField()


class Application(models.Model):
    """That a customer used a voucher. Nothing here says how often that may be."""

    voucher = models.ForeignKey(Voucher, on_delete=models.CASCADE, related_name="applications")
    customer = models.CharField(max_length=40)
