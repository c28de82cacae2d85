// Two goroutines take money out of one account over the pool of database/sql; with FIXED=1 the account is locked.
package main

import (
	"database/sql"
	"log"
	"os"

	_ "github.com/lib/pq"
)

func withdraw(db *sql.DB, amount int, lock string) (int, error) {
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	var balance int
	if err := tx.QueryRow("SELECT balance FROM account WHERE id = 1" + lock).Scan(&balance); err != nil {
		return 0, err
	}
	if balance < amount {
		return 0, nil
	}
	if _, err := tx.Exec("UPDATE account SET balance = $1 WHERE id = 1", balance-amount); err != nil {
		return 0, err
	}
	return amount, tx.Commit()
}

func main() {
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)"); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO account VALUES (1, 100)"); err != nil {
		log.Fatal(err)
	}
	lock := ""
	if os.Getenv("FIXED") == "1" {
		lock = " FOR UPDATE"
	}
	amounts := make(chan int)
	for person := 0; person < 2; person++ {
		go func() {
			amount, err := withdraw(db, 60, lock)
			if err != nil {
				log.Fatal(err)
			}
			amounts <- amount
		}()
	}
	paid := <-amounts + <-amounts
	var left int
	if err := db.QueryRow("SELECT balance FROM account WHERE id = 1").Scan(&left); err != nil {
		log.Fatal(err)
	}
	if paid+left != 100 {
		log.Fatalf("%d paid out, and %d of 100 left", paid, left)
	}
}
