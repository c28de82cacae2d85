// Two threads take money out of one account over HikariCP's pool of JDBC connections; with FIXED=1 the account is locked.

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class HikariBank {
    static final String LOCK = "1".equals(System.getenv("FIXED")) ? " FOR UPDATE" : "";

    static HikariDataSource pool() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE"));
        config.setUsername(System.getenv("PGUSER"));
        config.setMaximumPoolSize(4);
        return new HikariDataSource(config);
    }

    static int balance(Connection connection, String lock) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT balance FROM account WHERE id = 1" + lock)) {
            rows.next();
            return rows.getInt(1);
        }
    }

    static int withdraw(HikariDataSource pool, int amount) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            int balance = balance(connection, LOCK);
            if (balance < amount) {
                connection.rollback();
                return 0;
            }
            try (PreparedStatement update = connection.prepareStatement("UPDATE account SET balance = ? WHERE id = 1")) {
                update.setInt(1, balance - amount);
                update.executeUpdate();
            }
            connection.commit();
            return amount;
        }
    }

    public static void main(String[] arguments) throws Exception {
        int paid = 0;
        int left;
        try (HikariDataSource pool = pool()) {
            try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)");
                statement.execute("INSERT INTO account VALUES (1, 100)");
            }
            var people = Executors.newFixedThreadPool(2);
            Callable<Integer> person = () -> withdraw(pool, 60);
            for (Future<Integer> amount : people.invokeAll(List.of(person, person))) {
                paid += amount.get();
            }
            people.shutdown();
            try (Connection connection = pool.getConnection()) {
                left = balance(connection, "");
            }
        }
        if (paid + left != 100) {
            System.err.println(paid + " paid out, and " + left + " of 100 left");
            System.exit(1);
        }
    }
}
