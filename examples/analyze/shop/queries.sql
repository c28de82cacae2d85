-- name: buy
BEGIN;
SELECT stock FROM product WHERE id = :product;
INSERT INTO purchase (id, product, amount) VALUES (:purchase, :product, :amount);
-- The application has computed the rest.
UPDATE product SET stock = :rest WHERE id = :product;
COMMIT;

-- name: rename_product :exec
UPDATE product SET name = $1 WHERE id = $2;

-- name: show_product
SELECT name, stock FROM product WHERE id = :product;
