import java.math.BigDecimal;
import java.sql.*;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/** PostgreSQL's JDBC driver: statements that turn from text to binary, batches, keys, savepoints, metadata, large objects as bytes. */
public class JdbcClient {
    static void check(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    static void equal(Object expected, Object found) {
        check(expected == null ? found == null : expected.equals(found), "expected " + expected + ", found " + found);
    }

    interface Action {
        void run() throws SQLException;
    }

    static void refused(String state, Action action) throws SQLException {
        try {
            action.run();
        } catch (SQLException error) {
            equal(state, error.getSQLState());
            return;
        }
        throw new AssertionError("not refused with " + state);
    }

    static void schema(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE thing (id serial PRIMARY KEY, words varchar(100) NOT NULL, large bigint, money numeric(12, 3),"
                + " day date, stamp timestamp, instant timestamptz, flag boolean, ratio double precision, blob bytea, token uuid, names text[])");
            statement.execute("CREATE TABLE part (id int PRIMARY KEY, thing_id int REFERENCES thing (id), name text UNIQUE)");
        }
    }

    static void everyType(Connection connection) throws SQLException {
        byte[] blob = new byte[70000];
        for (int index = 0; index < blob.length; index++) {
            blob[index] = (byte) index;
        }
        UUID token = new UUID(1, 2);
        OffsetDateTime instant = OffsetDateTime.of(2024, 2, 29, 23, 59, 59, 0, ZoneOffset.UTC);
        LocalDateTime stamp = LocalDateTime.of(1999, 12, 31, 23, 59, 59, 123456000);
        String insert = "INSERT INTO thing (words, large, money, day, stamp, instant, flag, ratio, blob, token, names) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        try (PreparedStatement statement = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            statement.setString(1, "Übung ✓ 🐘");
            statement.setLong(2, Long.MAX_VALUE);
            statement.setBigDecimal(3, new BigDecimal("-123456.789"));
            statement.setObject(4, LocalDate.of(2024, 2, 29));
            statement.setObject(5, stamp);
            statement.setObject(6, instant);
            statement.setBoolean(7, true);
            statement.setDouble(8, 0.1);
            statement.setBytes(9, blob);
            statement.setObject(10, token);
            statement.setArray(11, connection.createArrayOf("text", new String[] {"a", null, "c d"}));
            equal(1, statement.executeUpdate());
            try (ResultSet keys = statement.getGeneratedKeys()) {
                check(keys.next() && keys.getInt(1) == 1, "the generated key");
            }
        }
        // From its fifth execution on the driver keeps a statement on the server, and from then on it asks for binary.
        try (PreparedStatement statement = connection.prepareStatement("SELECT * FROM thing WHERE id = ?")) {
            for (int turn = 0; turn < 8; turn++) {
                statement.setInt(1, 1);
                try (ResultSet row = statement.executeQuery()) {
                    check(row.next(), "a row");
                    equal("Übung ✓ 🐘", row.getString("words"));
                    equal(Long.MAX_VALUE, row.getLong("large"));
                    equal(new BigDecimal("-123456.789"), row.getBigDecimal("money"));
                    equal(LocalDate.of(2024, 2, 29), row.getObject("day", LocalDate.class));
                    equal(stamp, row.getObject("stamp", LocalDateTime.class));
                    equal(instant.toInstant(), row.getObject("instant", OffsetDateTime.class).toInstant());
                    equal(true, row.getBoolean("flag"));
                    equal(0.1, row.getDouble("ratio"));
                    check(Arrays.equals(blob, row.getBytes("blob")), "the blob");
                    equal(token, row.getObject("token"));
                    equal(Arrays.asList("a", null, "c d"), Arrays.asList((Object[]) row.getArray("names").getArray()));
                    check(!row.next(), "one row");
                }
            }
        }
    }

    static void nothings(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO thing (words, large, money, day, flag, blob) VALUES (?, ?, ?, ?, ?, ?)")) {
            statement.setString(1, "");
            int[] types = {Types.BIGINT, Types.NUMERIC, Types.DATE, Types.BOOLEAN, Types.BINARY};
            for (int index = 0; index < types.length; index++) {
                statement.setNull(index + 2, types[index]);
            }
            equal(1, statement.executeUpdate());
        }
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery("SELECT large, money, blob, words FROM thing WHERE large IS NULL")) {
            check(row.next() && row.getLong(1) == 0 && row.wasNull(), "a number that is not there");
            equal(null, row.getBigDecimal(2));
            equal(null, row.getBytes(3));
            equal("", row.getString(4));
        }
    }

    static void batches(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement statement = connection.prepareStatement("INSERT INTO part VALUES (?, ?, ?)")) {
            for (int number = 1; number <= 200; number++) {
                statement.setInt(1, number);
                statement.setInt(2, 1);
                statement.setString(3, "part " + number);
                statement.addBatch();
            }
            int[] counts = statement.executeBatch();
            check(Arrays.stream(counts).allMatch(count -> count == 1) && counts.length == 200, "the counts of the batch");
        }
        connection.commit();
        // A fetch size inside of a transaction makes a portal that is read in steps.
        try (PreparedStatement statement = connection.prepareStatement("SELECT id FROM part ORDER BY id")) {
            statement.setFetchSize(30);
            int expected = 1;
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    equal(expected++, rows.getInt(1));
                }
            }
            equal(201, expected);
        }
        connection.commit();
    }

    static int count(Connection connection, String table) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery("SELECT count(*) FROM " + table)) {
            row.next();
            return row.getInt(1);
        }
    }

    static void transactions(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            equal(200, statement.executeUpdate("DELETE FROM part"));
            connection.rollback();
            equal(200, count(connection, "part"));
            Savepoint savepoint = connection.setSavepoint("here");
            refused("23505", () -> statement.executeUpdate("INSERT INTO part VALUES (1, 1, 'again')"));
            refused("25P02", () -> statement.executeQuery("SELECT 1"));
            connection.rollback(savepoint);
            equal(1, statement.executeUpdate("UPDATE part SET name = 'first' WHERE id = 1"));
            connection.commit();
            refused("23503", () -> statement.executeUpdate("DELETE FROM thing WHERE id = 1"));
            connection.rollback();
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            try (ResultSet row = statement.executeQuery("SELECT name FROM part WHERE id = 1 FOR UPDATE")) {
                check(row.next() && row.getString(1).equals("first"), "what was committed");
            }
            connection.commit();
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            connection.setReadOnly(true);
            refused("25006", () -> statement.executeUpdate("DELETE FROM part"));
            connection.rollback();
            connection.setReadOnly(false);
            connection.setAutoCommit(true);
            refused("42P01", () -> statement.executeQuery("SELECT * FROM nowhere"));
            check(statement.execute("SELECT 1; SELECT 2") && statement.getMoreResults(), "two results");
        }
    }

    static void metadata(Connection connection) throws SQLException {
        DatabaseMetaData metadata = connection.getMetaData();
        equal("PostgreSQL", metadata.getDatabaseProductName());
        List<String> found = new ArrayList<>();
        try (ResultSet tables = metadata.getTables(null, "public", "%", new String[] {"TABLE"})) {
            while (tables.next()) {
                found.add(tables.getString("TABLE_NAME"));
            }
        }
        equal(List.of("part", "thing"), found);
        found.clear();
        try (ResultSet columns = metadata.getColumns(null, "public", "part", "%")) {
            while (columns.next()) {
                found.add(columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME") + " " + columns.getString("IS_NULLABLE"));
            }
        }
        equal(List.of("id int4 NO", "thing_id int4 YES", "name text YES"), found);
        try (ResultSet keys = metadata.getPrimaryKeys(null, "public", "part")) {
            check(keys.next() && keys.getString("COLUMN_NAME").equals("id"), "the primary key");
        }
        try (ResultSet keys = metadata.getImportedKeys(null, "public", "part")) {
            check(keys.next() && keys.getString("PKTABLE_NAME").equals("thing"), "the foreign key");
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT id, words, money FROM thing WHERE id > ?")) {
            equal(3, statement.getMetaData().getColumnCount());
            equal("words", statement.getMetaData().getColumnName(2));
            equal(Types.NUMERIC, statement.getMetaData().getColumnType(3));
            equal(Types.INTEGER, statement.getParameterMetaData().getParameterType(1));
        }
    }

    public static void main(String[] arguments) throws SQLException {
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE")
            + "?user=" + System.getenv("PGUSER") + "&ApplicationName=jdbc";
        try (Connection connection = DriverManager.getConnection(url)) {
            schema(connection);
            everyType(connection);
            nothings(connection);
            batches(connection);
            transactions(connection);
            metadata(connection);
        }
        System.out.println("ok JDBC");
    }
}
