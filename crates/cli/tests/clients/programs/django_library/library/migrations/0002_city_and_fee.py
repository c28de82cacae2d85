"""The changes that tables go through: a new column, a new name, a wider type, an index that comes and goes, rows that change."""

from django.db import migrations, models


def add_reader(apps, schema_editor):
    reader = apps.get_model("library", "Reader")
    reader.objects.create(name="The house", email="house@example.org", debt=3)


def remove_reader(apps, schema_editor):
    apps.get_model("library", "Reader").objects.filter(email="house@example.org").delete()


class Migration(migrations.Migration):
    dependencies = [("library", "0001_initial")]

    operations = [
        migrations.RunPython(add_reader, remove_reader),
        migrations.AddField("reader", "city", models.CharField(max_length=20, null=True)),
        migrations.RunSQL("UPDATE library_reader SET city = 'nowhere' WHERE city IS NULL", migrations.RunSQL.noop),
        migrations.AlterField("reader", "city", models.CharField(default="nowhere", max_length=40)),
        migrations.RenameField("reader", "debt", "fee"),
        migrations.AlterField("reader", "fee", models.IntegerField(default=0)),
        migrations.AddIndex("reader", models.Index(fields=["city", "-fee"], name="reader_city")),
        migrations.RemoveIndex("reader", name="reader_city"),
    ]
