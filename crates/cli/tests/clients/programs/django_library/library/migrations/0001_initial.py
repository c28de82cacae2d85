"""The tables as they were at first."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Reader',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('email', models.EmailField(max_length=254, unique=True)),
                ('active', models.BooleanField(default=True)),
                ('debt', models.SmallIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Tag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=30, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name='Title',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(db_index=True, max_length=200)),
                ('printed', models.DateField(blank=True, null=True)),
                ('price', models.DecimalField(blank=True, decimal_places=2, max_digits=8, null=True)),
                ('details', models.JSONField(blank=True, default=dict)),
                ('cover', models.BinaryField(null=True)),
                ('token', models.UUIDField(null=True, unique=True)),
                ('rating', models.FloatField(null=True)),
                ('added', models.DateTimeField(auto_now_add=True)),
                ('tags', models.ManyToManyField(blank=True, to='library.tag')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Loan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateField()),
                ('returned', models.DateField(null=True)),
                ('reader', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='loans', to='library.reader')),
                ('title', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='loans', to='library.title')),
            ],
        ),
        migrations.AddConstraint(
            model_name='title',
            constraint=models.CheckConstraint(condition=models.Q(('price__gte', 0)), name='price_is_not_negative'),
        ),
        migrations.AddConstraint(
            model_name='loan',
            constraint=models.UniqueConstraint(condition=models.Q(('returned__isnull', True)), fields=('title',), name='lent_once'),
        ),
    ]
